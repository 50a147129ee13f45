"""Operations: limits, logs, metrics, the audit log and maintenance."""
