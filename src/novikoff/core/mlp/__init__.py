"""Multilayer networks: forward pass, back-propagation, initial weights."""
