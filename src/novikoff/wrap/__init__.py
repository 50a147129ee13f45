"""A learner made of learners."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any

from novikoff import learners

COMMON = (
    "around",
    "choosing",
    "default_learner",
    "growing",
    "many",
    "members",
    "one_lane",
    "out_of_bag",
    "preferring",
    "promises",
    "reducing",
    "replicates",
    "resampling",
    "solved",
    "stack",
    "table",
    "taking",
    "voting",
)


def names() -> list[str]:
    """The schemes by their command-line names, which are those of their files."""
    return sorted(learners.modules(__path__[0], COMMON))


def model_class(name: str) -> Any:
    """The class of a learner or scheme by its name; None where there is none of that name."""
    return _model_class(name) if isinstance(name, str) else None


@lru_cache
def _model_class(name: str) -> Any:
    """Files are looked for once: a cluster asks for every message."""
    if name in learners.names():
        return learners.learner_class(name)
    return scheme_class(name) if name in names() else None


def scheme_class(name: str) -> Any:
    """The class of a scheme by its command-line name."""
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    return getattr(module, module.__all__[0])
