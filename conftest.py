"""Modules whose doctests need an extra that is not installed are not collected."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore = [] if find_spec("river") else ["src/novikoff/river/classifier.py"]
