"""Compute the memory of an updater from its arrays: the part that grows with slots and columns, and the rest."""

from __future__ import annotations

from typing import Any

from novikoff.core.updaters.base import APPENDED_FIELDS, DERIVED_FIELDS, PER_SLOT_FIELDS
from novikoff.memory_limit import bytes_per_row, count_bytes


def bytes_per_slot(updater: Any, stride: int = 1) -> int:
    """Return the bytes of one slot with `across` columns of weights."""
    per_row = ((name, bytes_per_row(getattr(updater, name, None))) for name in PER_SLOT_FIELDS)
    return sum(size if name in DERIVED_FIELDS else size * stride for name, size in per_row)


def fixed_bytes(updater: Any, examples: int = 0, terms: int = 0) -> int:
    """Return the bytes of what does not grow with slots. Lists of examples count without their spare room, and with
    `examples` more, which have `terms` terms in all."""
    fields = {name: value for name, value in updater._asdict().items() if name not in PER_SLOT_FIELDS}
    if "ends" in fields and "sizes" in fields:
        n_examples, n_terms = (int(count) for count in fields["sizes"][:2])
        values = fields["values"]
        lists = (n_examples + examples) * (8 + 8 + fields["signs"].itemsize) + (n_terms + terms) * (4 + values.itemsize)
        return lists + count_bytes(tuple(value for name, value in fields.items() if name not in APPENDED_FIELDS))
    return count_bytes(tuple(fields.values()))
