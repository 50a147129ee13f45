"""The memory of a geometry, by its arrays: what grows with slots and columns, and what does not."""

from __future__ import annotations

from typing import Any

from novikoff.memory_limit import bytes_per_row, count_bytes
from novikoff.core.updaters.base import APPENDED, DERIVED, PER_SLOT


def bytes_per_slot(geometry: Any, across: int = 1) -> int:
    """Return the bytes of one slot with `across` columns of weights."""
    per_row = ((name, bytes_per_row(getattr(geometry, name, None))) for name in PER_SLOT)
    return sum(size if name in DERIVED else size * across for name, size in per_row)


def other_bytes(geometry: Any, examples: int = 0, terms: int = 0) -> int:
    """Return the bytes of what does not grow with slots. Lists of examples count without their spare room, and with
    `examples` more, which have `terms` terms in all."""
    fields = {name: value for name, value in geometry._asdict().items() if name not in PER_SLOT}
    if "ends" in fields and "sizes" in fields:
        kept, used = (int(count) for count in fields["sizes"][:2])
        values = fields["values"]
        lists = (kept + examples) * (8 + 8 + fields["signs"].itemsize) + (used + terms) * (4 + values.itemsize)
        return lists + count_bytes(tuple(value for name, value in fields.items() if name not in APPENDED))
    return count_bytes(tuple(fields.values()))
