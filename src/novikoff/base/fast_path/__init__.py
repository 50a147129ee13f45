"""Fast paths of linear models for single examples."""
