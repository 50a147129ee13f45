"""Names of multiclass schemes and ensembles on the command line and in model files, and the classes behind them."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any

from novikoff import learner_registry

FOLDERS = ("multiclass", "ensemble", "online_to_batch")
"""Packages with one scheme per file."""
COMMON = (
    "base",
    "bootstrap",
    "column_bounds",
    "fast_path",
    "guarantees",
    "internals",
    "members",
    "online_ensemble",
    "out_of_bag",
    "pairwise_bounds",
    "sklearn_trees",
    "state",
    "training",
)
"""Files in them that are not schemes."""


def names() -> list[str]:
    """Return the schemes by their command-line names, which are those of their files."""
    return sorted(learner_registry.modules(FOLDERS, COMMON))


def model_class(name: str) -> Any:
    """Return the class of a learner or scheme by its name; None where there is none of that name."""
    return _model_class(name) if isinstance(name, str) else None


@lru_cache
def _model_class(name: str) -> Any:
    """Files are looked for once: a cluster asks for every message."""
    if name in learner_registry.names():
        return learner_registry.learner_class(name)
    return scheme_class(name) if name in names() else None


def scheme_class(name: str) -> Any:
    """Return the class of a scheme by its command-line name."""
    module = import_module(learner_registry.modules(FOLDERS, COMMON)[name])
    return getattr(module, module.__all__[0])
