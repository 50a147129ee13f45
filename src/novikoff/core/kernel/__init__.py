"""The loop of kernel learners."""
