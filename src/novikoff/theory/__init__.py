"""Pure formulas: named numbers in, a number out; and what is decided by exact computation.

Mistakes: `mistake_bounds`, `winnow_bounds`, `boolean_bounds`, `regret`, and by name `mistake_calculator`. From a
stream to new data: `online_to_batch`, and in words `guarantee`. Sample sizes: `consistent`, `agnostic`, `capacity`,
`deviation`, `lower_bound`, `hoeffding`, `binomial`, and by name `sample_size`. Sizes of classes: `hypothesis_classes`,
`vc_dimension`. Shattering: `vc`, `radon`. Votes: `boosting`, `majority`. Live
streams: `anytime_bounds`, `change_detection`.

Modules are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

MODULES = {
    "agnostic": "samples.agnostic",
    "anytime_bounds": "streams.anytime_bounds",
    "binomial": "binomial",
    "boolean_bounds": "boolean_bounds",
    "boosting": "boosting",
    "bounds": "bounds",
    "capacity": "samples.capacity",
    "change_detection": "streams.change_detection",
    "consistent": "samples.consistent",
    "deviation": "samples.deviation",
    "guarantee": "samples.guarantee",
    "hoeffding": "samples.hoeffding",
    "hypothesis_classes": "hypothesis_classes",
    "lower_bound": "samples.lower_bound",
    "majority": "majority",
    "mistake_bounds": "mistake_bounds",
    "mistake_calculator": "mistake_calculator",
    "online_to_batch": "online_to_batch",
    "radon": "geometry.radon",
    "regret": "regret",
    "sample_size": "samples.sample_size",
    "vc": "vc",
    "vc_dimension": "vc_dimension",
    "winnow_bounds": "winnow_bounds",
}
"""The public modules, and where they are."""


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return import_module(f"{__name__}.{MODULES[name]}")
    raise AttributeError(f"module 'novikoff.theory' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *MODULES])
