"""Certificates: witnesses, measuring, documents that anyone can check."""
