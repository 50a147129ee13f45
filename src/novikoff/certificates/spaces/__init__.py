"""Spaces in which witnesses are searched and measured: binary, per column, pairwise, ranking, kernel."""
