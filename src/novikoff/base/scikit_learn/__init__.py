"""Conventions of scikit-learn that estimators follow without its base classes: it is imported only on use."""
