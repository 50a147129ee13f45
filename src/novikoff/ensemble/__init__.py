"""Ensembles that are fitted to all data at once: boosting, bagging, forests."""
