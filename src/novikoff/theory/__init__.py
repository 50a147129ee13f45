"""Pure formulas: named numbers in, a number out."""
