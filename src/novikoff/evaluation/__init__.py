"""How good a model is on labelled data: metrics, intervals, curves and comparisons."""
