"""Benchmarks: novikoff beside its peers, in one run, alternately. `python -m benchmarks` prints the tables."""
