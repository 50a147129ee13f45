"""Column names: make them unique, and list them in messages."""

from __future__ import annotations

from collections.abc import Sequence

from novikoff.errors import InputError

MAX_LISTED_NAMES = 12


def join_names(names: Sequence[str], most: int = MAX_LISTED_NAMES) -> str:
    """Join names; those beyond the first `most` are only counted."""
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def make_names_unique(names: Sequence[str], title: str) -> tuple[str, ...]:
    """Name unnamed columns by their number from 1; raise InputError where two columns have the same name."""
    filled = [name or str(k + 1) for k, name in enumerate(names)]
    first: dict[str, int] = {}
    for k, name in enumerate(filled):
        if first.setdefault(name, k) != k:
            raise InputError(f"{title}: columns {first[name] + 1} and {k + 1} are both named {name!r}: rename one.")
    return tuple(filled)
