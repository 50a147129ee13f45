"""Compiled kernels of all learners: losses (when and how far to update), updaters (how weights move) and the loops."""
