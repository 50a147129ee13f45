"""Feature names: hashing, dictionaries, and the names that a model shows."""
