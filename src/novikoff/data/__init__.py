"""Examples: where they come from, and the form in which everything after works with them."""
