"""Raw rows (dicts, texts, data frames) and the encoding that turns them into features."""
