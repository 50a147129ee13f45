"""The learners that are used where the user names none."""

from __future__ import annotations

from typing import Any

from novikoff.base.internals import inner_learner_of
from novikoff.learner_registry import name_of

DEFAULT_LEARNER = "auto"
FALLBACK_LEARNER = "arow"
"""Used where Auto can't run: in schemes whose columns learn by themselves, and on a cluster."""
STABLE_LEARNER = "perceptron"
"""Used where one of the learner's hypotheses is chosen: those of a learner that always changes never last."""


def find_default_learner(scheme: Any, settings: dict[str, Any]) -> str:
    """Return the name of the default learner inside this class of scheme with these settings of the scheme."""
    return name_of(type(inner_learner_of(scheme(**settings))))
