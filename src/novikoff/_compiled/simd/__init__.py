"""Vectorised primitives: sums of products in one fixed order, weight updates, parsing."""
