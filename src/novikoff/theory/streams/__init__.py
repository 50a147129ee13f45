"""Guarantees for live streams: anytime-valid bounds and change detection."""
