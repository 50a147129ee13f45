"""Names of learners on the command line, in model files and in Python, and the classes behind them.

A learner is known by its file: `linear/margin_perceptron.py` defines `margin-perceptron` on the command line and the
class `MarginPerceptron`, which is the first name in its `__all__`.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import Any

from novikoff.errors import InputError

FOLDERS = ("linear", "boolean", "dual", "neural")
"""Packages with one learner per file."""
COMMON = ("sample_check", "kernel_base", "kernel_state", "kernel_training")
"""Files in them that are not learners."""

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "averaged-perceptron": ("perceptron", {"average": True}),
    "winnow-r": ("winnow", {"floor": 0.5}),
}
"""Names that stand for a learner with certain settings."""


def names() -> list[str]:
    """Return the command-line names of all learners and variants."""
    return sorted([*modules(FOLDERS, COMMON), *VARIANTS])


@cache
def modules(folders: tuple[str, ...], others: tuple[str, ...]) -> dict[str, str]:
    """Return the modules in these packages by their command-line names, except those in `others`."""
    found = {}
    for folder in folders:
        for file in os.listdir(os.path.join(os.path.dirname(__file__), folder)):
            name = file.removesuffix(".py")
            if file.endswith(".py") and name not in ("__init__", *others):
                found[name.replace("_", "-")] = f"novikoff.{folder}.{name}"
    return found


def learner_class(name: str) -> Any:
    """Return the class of a learner by its command-line name. Only its own module is imported."""
    if name not in names():
        raise InputError(f"There is no learner {name!r}: there are {', '.join(names())}.")
    name, _ = VARIANTS.get(name, (name, {}))
    module = import_module(modules(FOLDERS, COMMON)[name])
    return getattr(module, module.__all__[0])


def variant_settings(name: str) -> dict[str, Any]:
    """Return the settings that a variant adds to those of its learner; none for other names."""
    return VARIANTS.get(name, (name, {}))[1]


def name_of(learner: type) -> str:
    """Return the command-line name of a class: that of its file."""
    return learner.__module__.rpartition(".")[2].replace("_", "-")
