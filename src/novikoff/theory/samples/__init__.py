"""Sample sizes: how many examples are enough."""
