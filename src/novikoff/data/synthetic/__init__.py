"""Implementation of generated streams; `concepts.py` and `adversarial.py` are the public modules."""
