"""Decide whether a hyperplane separates the classes, with a proof in both cases."""
