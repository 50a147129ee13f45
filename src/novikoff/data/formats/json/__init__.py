"""The parser for JSON lines."""
