"""Served models: registry, learning, predicting, certificates."""
