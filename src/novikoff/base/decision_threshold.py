"""The decision threshold of a model of two classes: from which probability or score on it predicts the positive class.

Without one, the sign of the score decides. A threshold changes predictions only: learning, and the mistakes in the
ledger, go by the sign of the score.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.base.probabilities import explain_missing_probabilities

GIVEN = "given"
"""The rule of a threshold that was given as a number."""


class DecisionThreshold(NamedTuple):
    value: float
    scale: Literal["probability", "score"]
    """What is compared with the value."""
    rule: str
    """How it was chosen: given, or a rule of evaluation/thresholds.py, such as f1."""

    def __str__(self) -> str:
        chosen = "" if self.rule == GIVEN else f", chosen for {self.rule}"
        return f"{self.value:.6g} ({self.scale} of the positive class{chosen})"


def is_positive(model: Any, threshold: DecisionThreshold, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which of these scores of two classes reach the threshold."""
    if threshold.scale == "score":
        return np.asarray(scores >= threshold.value)
    return np.asarray(model._to_probabilities(scores)[:, 1] >= threshold.value)


def natural_scale(model: Any) -> Literal["probability", "score"]:
    """Return what users mean by a threshold of this model: a probability, if it has any."""
    return "probability" if explain_missing_probabilities(model) is None else "score"
