"""Multiclass, multilabel and ranking schemes, one per file."""
