"""Hypothesis without deadlines: the first call of a compiled function may have to compile it."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("novikoff", deadline=None)
settings.load_profile("novikoff")
