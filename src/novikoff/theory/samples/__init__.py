"""Sample sizes: numbers of examples that are enough for a given error and confidence."""
