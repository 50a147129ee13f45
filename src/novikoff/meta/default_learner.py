"""The learners that are used where the user names none."""

from __future__ import annotations

from typing import Any

from novikoff.learner_registry import name_of

DEFAULT = "auto"
FALLBACK = "arow"
"""Used where Auto can't run: in schemes whose columns learn by themselves, and on a cluster."""
CHANGES_SELDOM = "perceptron"
"""Used where one of the learner's hypotheses is chosen: those of a learner that always changes never last."""


def default_inside(scheme: Any, settings: dict[str, Any]) -> str:
    """Return the name of the default learner inside this class of scheme with these settings of the scheme."""
    return name_of(type(scheme(**settings).inner))
