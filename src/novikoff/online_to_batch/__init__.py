"""Online-to-batch conversion: one hypothesis of an online run, with a bound for its error."""
