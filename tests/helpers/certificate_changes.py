"""Single changes of a certificate, to test that verification finds them."""

from __future__ import annotations

import math
from typing import Any


def iter_leaves(document: Any, path: tuple[Any, ...] = ()) -> Any:
    """Yield the path and the value of every leaf."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from iter_leaves(value, (*path, key))
    elif isinstance(document, list):
        for key, value in enumerate(document):
            yield from iter_leaves(value, (*path, key))
    else:
        yield path, document


def change_leaf(value: Any) -> Any:
    """Return a value that differs as little as possible."""
    if isinstance(value, bool) or value is None:
        return "changed"
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return math.nextafter(value, math.inf)
    return value[:-2] + ("A" if value[-2:-1] != "A" else "B") + value[-1:] if len(value) > 2 else value + "x"
