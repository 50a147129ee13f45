"""Durability: journal, checkpoints, recovery, backup, erasure."""
