"""What generated streams are made of: `stream/concepts.py` and `stream/adversary.py` are their faces."""
