"""Groups of command-line options that several commands share, and the values they yield."""
