"""Pure formulas: named numbers in, a number out; and what is decided by exact computation.

Mistakes: `mistakes`, `winnow`, `concepts`, `regret`, and by name `mistake_laws`. From a stream to new data:
`conversion`, and in words `promise`. Sample sizes: `consistent`, `agnostic`, `capacity`, `deviation`, `lower`,
`hoeffding`, `binomial`, and by name `laws`. Sizes of classes: `classes`, `dimensions`. Shattering: `vc`, `radon`.
Votes: `boosting`, `majority`.

Modules are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

MODULES = (
    "agnostic",
    "binomial",
    "boosting",
    "bounds",
    "capacity",
    "classes",
    "concepts",
    "consistent",
    "conversion",
    "deviation",
    "dimensions",
    "hoeffding",
    "laws",
    "lower",
    "majority",
    "mistake_laws",
    "mistakes",
    "promise",
    "radon",
    "regret",
    "vc",
    "winnow",
)


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'novikoff.theory' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *MODULES])
