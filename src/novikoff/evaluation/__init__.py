"""Evaluation of a model on labelled data: metrics, intervals, curves and comparisons."""
