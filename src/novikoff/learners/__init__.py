"""One file = one algorithm. `learner.py` is what they have in common."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import Any

from novikoff.errors import InputError

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
    "model_lock",
    "one_example",
    "raw_rows",
    "score_lane",
    "slotted",
    "state",
    "weighed",
)

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "averaged-perceptron": ("perceptron", {"average": True}),
    "winnow-r": ("winnow", {"floor": 0.5}),
}
"""Learners that are known by another name with certain settings."""


def names() -> list[str]:
    """The learners by their command-line names, which are those of their files: a new file is a new learner."""
    return sorted([*modules(__path__[0], COMMON), *VARIANTS])


@cache
def modules(folder: str, others: tuple[str, ...]) -> tuple[str, ...]:
    """The modules in a folder, without those that are not one of many, as the command line calls them."""
    files = (name.removesuffix(".py") for name in os.listdir(folder) if name.endswith(".py"))
    return tuple(name.replace("_", "-") for name in files if name not in ("__init__", *others))


def learner_class(name: str) -> Any:
    """The class of a learner by its command-line name; only its own file is imported."""
    if name not in names():
        raise InputError(f"There is no learner {name!r}: there are {', '.join(names())}.")
    name, _ = VARIANTS.get(name, (name, {}))
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    return getattr(module, module.__all__[0])


def variant_settings(name: str) -> dict[str, Any]:
    """The settings that a name stands for, beside its class."""
    return VARIANTS.get(name, (name, {}))[1]


def name_of(learner: type) -> str:
    return learner.__module__.rpartition(".")[2].replace("_", "-")
