"""The dot product in the documented order of summation, in plain Python."""

from __future__ import annotations

from typing import Any


def dot_in_order(a: Any, b: Any) -> float:
    """Sum in the documented order: eight lanes, the rest in the last lanes, then a tree; fewer than eight terms in
    sequence; zeros are skipped."""
    terms = [float(x) * float(w) for x, w in zip(a, b, strict=True) if x != 0]
    if len(terms) < 8:
        total = 0.0
        for term in terms:
            total += term
        return total
    rest = len(terms) % 8
    lanes = [0.0] * 8
    for k, term in enumerate(terms):
        lanes[k % 8 if k < len(terms) - rest else 8 - (len(terms) - k)] += term
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))
