"""Learning theory as pure functions: mistake bounds, sample sizes, VC dimensions and guarantees on new data.

- Mistake bounds: `mistake_bounds`, `winnow_bounds`, `boolean_bounds` and `regret`; `mistake_calculator` finds them by
  name.
- Error on new data from a stream: `online_to_batch`; `guarantee` writes it as a sentence.
- Sample sizes: `consistent`, `agnostic`, `capacity`, `deviation`, `lower_bound`, `hoeffding` and `binomial`;
  `sample_size` finds them by name.
- Sizes of hypothesis classes: `hypothesis_classes` and `vc_dimension`.
- Shattering: `vc` and `radon`.
- Votes: `boosting` and `majority`.
- Live streams: `anytime_bounds` and `change_detection`.

Modules are imported on first use.
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
"""Public modules by name, with the paths that hold them."""


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return import_module(f"{__name__}.{MODULES[name]}")
    raise AttributeError(f"module 'novikoff.theory' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *MODULES])
