"""One file = one algorithm. `learner.py` is what they have in common."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

COMMON = (
    "classed",
    "consistent",
    "dual",
    "dual_run",
    "estimator",
    "events",
    "fitted",
    "following",
    "judged",
    "kernelised",
    "lane",
    "learner",
    "linear",
    "one_example",
    "score_lane",
    "slotted",
    "state",
    "weighed",
)

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {"winnow-r": ("winnow", {"floor": 0.5})}
"""Learners that are known by another name with certain settings."""


def names() -> list[str]:
    """The learners by their command-line names, which are those of their files: a new file is a new learner."""
    files = (m.name.replace("_", "-") for m in iter_modules(__path__) if m.name not in COMMON)
    return sorted([*files, *VARIANTS])


def learner_class(name: str) -> Any:
    """The class of a learner by its command-line name; only its own file is imported."""
    name, _ = VARIANTS.get(name, (name, {}))
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    return getattr(module, module.__all__[0])


def variant_settings(name: str) -> dict[str, Any]:
    """The settings that a name stands for, beside its class."""
    return VARIANTS.get(name, (name, {}))[1]


def name_of(learner: type) -> str:
    return learner.__module__.rpartition(".")[2].replace("_", "-")
