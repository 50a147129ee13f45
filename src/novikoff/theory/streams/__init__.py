"""Guarantees for live streams: bounds that hold at all times, and alarms."""
