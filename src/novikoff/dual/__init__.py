"""Kernel learners: the dual form of the Perceptron."""
