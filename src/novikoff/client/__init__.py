"""The client of the server."""
