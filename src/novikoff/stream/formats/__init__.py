"""Text formats: one parser a file."""
