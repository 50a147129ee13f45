"""Operation: limits, logs, metrics, audit, maintenance."""
