"""Base classes of estimators: parameters, online and batch learning, fast paths for single examples."""
