"""Labels: encoding of the users' values as codes, and decoding."""
