"""What generated streams are made of: `data/synthetic/concepts.py` and `data/synthetic/adversarial.py` are their
faces."""
