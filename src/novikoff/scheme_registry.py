"""Names of multiclass schemes and ensembles, and the lookup of learners and schemes by name.

Like a learner, a scheme is known by its file: `multiclass/one_vs_all.py` defines `one-vs-all` on the command line and
the class `OneVsAll`.
"""

from __future__ import annotations

from functools import cache, lru_cache
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
    """Return the command-line names of all schemes and ensembles."""
    return sorted(learner_registry.modules(FOLDERS, COMMON))


def model_class(name: str) -> Any:
    """Return the class of a learner or scheme by its command-line name; None for an unknown name."""
    return _model_class(name) if isinstance(name, str) else None


@lru_cache
def _model_class(name: str) -> Any:
    """Return the class for a text. Cached, because a cluster looks a name up for every message."""
    if name in learner_registry.names():
        return learner_registry.learner_class(name)
    return scheme_class(name) if name in names() else None


def scheme_class(name: str) -> Any:
    """Return the class of a scheme by its command-line name."""
    module = import_module(learner_registry.modules(FOLDERS, COMMON)[name])
    return getattr(module, module.__all__[0])


def find_class(name: str) -> Any:
    """Return the learner or scheme with this class name; None if there is none. Only its own module is imported.

    >>> find_class("PNormPerceptron").__module__
    'novikoff.linear.p_norm_perceptron'
    """
    path = _modules_of_classes().get(name.lower())
    module = None if path is None else import_module(path)
    return getattr(module, name) if module is not None and name in module.__all__ else None


@cache
def class_names() -> list[str]:
    """Return the class names of all learners and schemes that `novikoff` exports, without importing them.

    A module exports a class that is named like its file. `linear/auto.py` has `BinaryAuto`, a part of `novikoff.Auto`.
    """
    import re
    from pathlib import Path

    found = []
    for name, path in _modules_of_classes().items():
        text = Path(__file__).parent.joinpath(*path.split(".")[1:]).with_suffix(".py").read_text(encoding="utf-8")
        declared = re.search(r'^__all__ = \["(\w+)"', text, re.MULTILINE)
        if declared is None:
            raise AssertionError(f"{path} has no __all__: declare its class, or add the module to COMMON.")
        if declared[1].lower() == name:
            found.append(declared[1])
    return sorted(found)


@cache
def _modules_of_classes() -> dict[str, str]:
    """Return the modules of learners and schemes by the names of their classes in lower case."""
    found = {
        **learner_registry.modules(learner_registry.FOLDERS, learner_registry.COMMON),
        **learner_registry.modules(FOLDERS, COMMON),
    }
    return {name.replace("-", ""): path for name, path in found.items()}
