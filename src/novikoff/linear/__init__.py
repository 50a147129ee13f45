"""Linear learners, one algorithm per file."""
