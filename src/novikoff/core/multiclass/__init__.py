"""The loop for many columns of weights, and the multiclass schemes that it runs."""
