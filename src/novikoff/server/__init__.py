"""The service: predicts now, learns when the label comes, loses nothing that it has acknowledged.

request → gate (who may come in) → app (routes) → house (models) → journal (safe on the disk) → served (learned)
"""
