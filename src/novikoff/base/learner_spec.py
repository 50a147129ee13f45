"""Record with which a learner's file describes its algorithm to the shared code."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from novikoff.schema import Schema

MulticlassSupport = Literal["no", "each", "whole", "rivals"]

BOOLEAN_VALUES = (1.0, 1.0)
"""The range of Boolean features: explicit zeros are dropped, so 1 is the only remaining value."""


class LearnerSpec(NamedTuple):
    """An algorithm with given settings: the loss says when and how far weights move, the updater how they move."""

    build_updater: Callable[[int, Any], Any]
    """Build an updater that has learned nothing, from the number of slots and the dtype of the weights."""
    build_schema: Callable[[int], Schema]
    """Build the schema of the updater in a model file, from the number of features."""
    loss: Any = None
    """The loss; None for models with a loop of their own."""

    feature_range: tuple[float, float] = (-math.inf, math.inf)
    """The least and the largest value that a feature may have."""
    fixed_width_reason: str | None = None
    """Why the number of features must be known before the first example; None where features may be added."""
    unseen_weight: Callable[[Any], float] | None = None
    """Return the weight of a feature that was never seen, from the state of the model. Without it the weight is 0."""
    weight_scale: float = 1.0
    """The factor by which weights and scores are multiplied when they are shown."""

    has_weights: bool = True
    """Whether there is one weight for each feature, `coef_`."""
    scores_by_weights: bool = True
    """Whether the score is w·x. Otherwise the updater scores examples, or the model has a scorer of its own."""

    scores_are_log_odds: bool = False
    """Whether the score estimates ln(p/(1 − p)) of the positive class, as that of the logistic loss does. Scores of
    several classes are then log-probabilities for `multiclass_support` "rivals"."""

    multiclass_support: MulticlassSupport = "no"
    """How columns of weights can be learned side by side: `each` independently, as one long vector (`whole`), as
    preferences of a class over its highest rival (`rivals`), or `no`."""
    scratch_columns: int = 0
    """How many numbers an example needs beside each column of weights."""

    learns_dense_rows: bool = True
    """Whether the loop is compiled for dense rows. Otherwise they are converted to sparse rows."""
    learns_dense_examples: bool = True
    """Whether `learn_one` is compiled for arrays. Otherwise they are converted to sparse rows."""
    learns_dense_columns: bool = True
    """Whether the loop over several columns of weights is compiled for dense rows."""
    scores_dense_rows: bool = True
    """Whether predicting is compiled for dense rows."""

    def unseen_weight_in(self, state: Any) -> float:
        """Return the weight that a model in this state gives to an unseen feature."""
        return 0.0 if self.unseen_weight is None else self.unseen_weight(state)
