"""Updaters: how a scaled gradient changes the weights, one per file."""
