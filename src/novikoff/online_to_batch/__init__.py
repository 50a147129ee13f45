"""From an online run to one hypothesis with a bound on its error."""
