"""Networks of sigmoid units."""
