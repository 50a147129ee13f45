"""Label ranking: learns for each example which labels are preferred to which.

Predict   the labels in the order of w_c·x, highest first
Update    the preferences i ≻ j of an example, learned as in Kesler's construction
Bound     the binary learner's own, in R^{kn}, for the examples that change the weights; every example with a
          violated preference is one of these. It bounds such examples, not preferences: an example may have many
Source    Har-Peled, Roth and Zimak, Constraint classification, 2002
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import NDArray

from novikoff.base.class_weights import refuse_class_weight
from novikoff.base.estimator import check_choice
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.core.multiclass.pairwise_gradients import UPDATE_NAMES
from novikoff.core.multiclass.schemes import LABEL_RANKING, NO_INDICES, Scheme, Targets
from novikoff.data import validation
from novikoff.data.labels.binary_labels import to_plain_label
from novikoff.data.labels.class_labels import ClassLabels, LabelSets, sort_labels
from novikoff.errors import InputError, LabelError
from novikoff.meta.base import check_preference_learner
from novikoff.multiclass.base import MulticlassClassifier
from novikoff.multiclass.pairwise_bounds import build_preference_bounds
from novikoff.theory.bound_declaration import Bound

__all__ = ["LabelRanking"]

BOUND_NOTE = "it bounds examples with a preference that is not met, not such preferences; ‖x_ij‖² = 2‖x‖²"

PreferencePairs = list[tuple[Any, Any]]


def parse_preferences(one: Any) -> PreferencePairs:
    """Return the preferences of one example, as pairs."""
    try:
        return _parse_pairs(one)
    except TypeError:
        raise LabelError(
            f"Preferences are a list of labels, a dict of label → grade or a set of pairs, got {one!r}."
        ) from None


def _parse_pairs(one: Any) -> PreferencePairs:
    if isinstance(one, dict):
        return [(a, b) for a in one for b in one if one[a] > one[b]]
    if isinstance(one, str | bytes):
        raise TypeError
    # A set has no order: sorting makes the numbers of labels reproducible.
    preferences = sorted(one) if isinstance(one, set | frozenset) else list(one)
    if preferences and all(isinstance(pair, tuple) and len(pair) == 2 for pair in preferences):
        stated_pairs = set(preferences)
        for a, b in preferences:
            if (b, a) in stated_pairs:
                raise LabelError(f"A label can't be preferred both ways, as in {(a, b)}.")
        return preferences
    if isinstance(one, set | frozenset) and preferences:
        raise LabelError(f"A set must be of pairs (i, j), i preferred to j, got {one!r}: a ranking is a list.")
    if len(set(preferences)) < len(preferences):
        raise LabelError(f"A label can't be in a ranking twice: {preferences!r}.")
    return list(combinations(preferences, 2))


class PreferenceLabels(ClassLabels):
    """Labels, some of which each example prefers to others."""

    @staticmethod
    def parse(y: Any, examples: int) -> list[PreferencePairs]:
        """Return the preferences of each example, as pairs."""
        if y is None:
            raise InputError("requires y to be passed, but the target y is None: give preferences for each row.")
        preferences = [parse_preferences(one) for one in y]
        validation.check_same_length(examples, len(preferences))
        return preferences

    @classmethod
    def found(cls, y: list[PreferencePairs]) -> tuple[LabelSets, Self]:
        """Return the pairs of each example as numbers, and the sorted labels; y contains all labels."""
        labels = {to_plain_label(label) for pairs in y for pair in pairs for label in pair}
        return cls(sort_labels(labels)).encode(y)

    def encode(self, y: list[PreferencePairs]) -> tuple[LabelSets, Self]:
        """Return the pairs of each example as numbers, two for each, and the labels known after that."""
        known, starts, members = self.copy(), [0], list[int]()
        for pairs in y:
            for pair in pairs:
                members += [known.number(label) for label in pair]
            starts.append(len(members))
        return LabelSets(np.array(starts, np.int64), np.array(members, np.int64)), known

    def encode_one(self, label: Any) -> tuple[LabelSets, Self]:
        """Return the pairs of one example as numbers, and the labels known after that."""
        return self.encode([parse_preferences(label)])

    def format(self, label: Any) -> str:
        """Return a ranking, predicted or given, as a text."""
        return " > ".join(map(str, label))


@final
class LabelRanking(MulticlassClassifier):
    """Ranks labels, learning from examples with preferences between labels.

    The preferences of an example are a list of labels, the best first; a dict of label → grade, higher grades preferred
    to lower ones; or a set of pairs (i, j), i preferred to j. Labels that are not mentioned are not compared.

    Parameters
    ----------
    estimator : estimator
        The binary learner, by default AROW(). Its settings are settings of the whole model.
    update : str
        Which of the violated preferences are learned: top, uniform or proportional.

    Examples
    --------
    >>> from novikoff import LabelRanking, Perceptron
    >>> X, y = [[1, 0], [0, 1]], [["tea", "milk", "wine"], {"wine": 2, "milk": 1, "tea": 1}]
    >>> model = LabelRanking(Perceptron(passes=20)).fit(X, y)
    >>> model.predict([[1, 0]]), model.predict_one({1: 1.0})[0]
    ([['tea', 'milk', 'wine']], 'wine')
    """

    _outcome_type = "preferences"
    _label_type = PreferenceLabels
    _predicts_one_label = False
    _has_probabilities = False

    def __init__(
        self,
        estimator: OnlineClassifier | None = None,
        *,
        update: Literal["top", "uniform", "proportional"] = "uniform",
    ) -> None:
        self.estimator = estimator
        self.update = update

    def _check_settings(self) -> None:
        check_choice(UPDATE_NAMES, update=self.update)

    def _check_learner(self) -> None:
        refuse_class_weight(self, "an example has several labels")
        check_preference_learner(self, self.update)

    def _scheme(self, classes: ClassLabels) -> Scheme:
        return Scheme(LABEL_RANKING, update=UPDATE_NAMES.index(self.update))

    def _scratch_size(self, state: Any) -> int:
        return max(super()._scratch_size(state), len(state.labels) ** 2)

    def _encode_targets(self, codes: Any) -> Targets:
        return Targets(NO_INDICES, codes.starts, codes.members)

    def _decide(self, scores: NDArray[np.float64]) -> Any:
        shown, _ = self._class_scores(scores)
        known = self._require_fitted().labels.known()
        return [[known[c] for c in np.argsort(-row, kind="stable")] for row in shown]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of each label, in the order of classes_."""
        return self._class_scores(OnlineClassifier.decision_function(self, X))[0]

    def predict(self, X: Any) -> Any:
        """Return all labels for each row, the highest score first."""
        return self._decide(OnlineClassifier.decision_function(self, X))

    def predict_one(self, x: Any) -> Any:
        """Return all labels, the highest score first, or None before the first example was learned."""
        return None if self._state is None else self._decide(self._score_columns(x))[0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean share of preferences that are met, over the rows that have any."""
        known = self._require_fitted().labels.known()
        scores, preferences, shares = self.decision_function(X), list(y), []
        validation.check_same_length(len(scores), len(preferences))
        for row, one in zip(scores, preferences, strict=True):
            grades, pairs = dict(zip(known, row, strict=True)), parse_preferences(one)
            met = [grades.get(a, -np.inf) > grades.get(b, -np.inf) for a, b in pairs]
            shares.append(float(np.mean(met)) if met else np.nan)
        counts = ~np.isnan(shares)
        weights = None if sample_weight is None else np.asarray(sample_weight)[counts]
        return float(np.average(np.array(shares)[counts], weights=weights)) if counts.any() else np.nan

    def bounds(self) -> Sequence[Bound]:
        return build_preference_bounds(self, BOUND_NOTE)
