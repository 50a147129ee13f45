"""Shattering, decided by computation on given points."""
