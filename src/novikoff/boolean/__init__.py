"""Learners of Boolean concepts, one algorithm per file."""
