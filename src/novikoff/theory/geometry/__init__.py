"""Exact geometry of points: shattering, Radon partitions and an exact simplex method."""
