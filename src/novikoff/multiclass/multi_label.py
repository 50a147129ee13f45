"""Multi-label classification: each label independently, or all of them by preferences.

Predict   each: all labels c with w_c·x > 0; otherwise those with w_c·x > w_0·x, where column 0 is a threshold
Update    each: for every label a binary learner whose positive examples are those with the label
          top, uniform, proportional: label ≻ threshold ≻ other label, and label ≻ other label are preferences, learned
          as in Kesler's construction
Bound     each: every learner's own, and M ≤ Σ_c M_c
          otherwise the binary learner's own, in R^{(k+1)n}, for the examples that change the weights; every example
          whose set was not predicted is one of these
Source    Har-Peled, Roth and Zimak 2002; Fürnkranz, Hüllermeier, Loza Mencía and Brinker 2008 (threshold as a label)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import NDArray

from novikoff.base.class_weights import refuse_class_weight
from novikoff.base.estimator import check_choice
from novikoff.base.online_classifier import TIE_SIGNS, OnlineClassifier
from novikoff.base.probabilities import to_label_probabilities
from novikoff.core.multiclass.pairwise_gradients import UPDATE_NAMES
from novikoff.core.multiclass.schemes import BINARY_RELEVANCE, NO_INDICES, THRESHOLDED_LABELS, Scheme, Targets
from novikoff.data import validation
from novikoff.data.labels.binary_labels import to_plain_label
from novikoff.data.labels.class_labels import ClassLabels, LabelSets, sort_labels
from novikoff.errors import InputError, LabelError
from novikoff.meta.base import check_preference_learner
from novikoff.multiclass.base import MulticlassClassifier, check_column_learner
from novikoff.multiclass.column_bounds import ONE_PER_MISTAKE
from novikoff.multiclass.pairwise_bounds import build_preference_bounds
from novikoff.theory.bound_declaration import Bound

__all__ = ["MultiLabel"]

BOUND_NOTE = "it bounds examples whose set is not predicted whole, not the Hamming loss; ‖x_ij‖² = 2‖x‖²"


class IndicatorSets(list[list[int]]):
    """The sets of labels of a matrix of 0 and 1: the numbers of the columns with a 1, for each row."""

    def __init__(self, matrix: NDArray[Any]) -> None:
        super().__init__(np.flatnonzero(row).tolist() for row in matrix)
        self.columns = matrix.shape[1]


def parse_label_sets(y: Any) -> list[list[Any]]:
    """Return the labels of each row: y has lists of them, or is a matrix of 0 and 1."""
    if y is None:
        raise InputError("requires y to be passed, but the target y is None: give a set of labels for each row.")
    if hasattr(y, "toarray") or hasattr(y, "to_numpy"):
        y = y.toarray() if hasattr(y, "toarray") else y.to_numpy()
    if isinstance(y, np.ndarray) and y.dtype != object:
        if y.ndim != 2 or not np.isin(y, (0, 1)).all():
            raise InputError("y must be a list of sets of labels, or a matrix of 0 and 1 with a column for each label.")
        return IndicatorSets(y)
    return [parse_label_set(labels) for labels in y]


def parse_label_set(labels: Any) -> list[Any]:
    """Return the labels of one row. Labels of a set, which has no order, are sorted, so that their numbers are
    reproducible."""
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
        raise LabelError(f"A set of labels must be a list or a set, got {labels!r}: write [{labels!r}].")
    return sort_labels(labels) if isinstance(labels, set | frozenset) else list(labels)


class SetLabels(ClassLabels):
    """Labels, any number of which each example has."""

    is_indicator = False
    """Whether the model was fitted to a matrix of 0 and 1, whose columns are the labels: it predicts such a matrix."""
    is_new = False
    """Whether these labels were declared, and no example has been encoded with them yet."""

    def copy(self) -> Self:
        twin = super().copy()
        twin.is_indicator = self.is_indicator
        return twin

    def named(self, classes: Any) -> Self:
        found = super().named(classes)
        found.is_indicator, found.is_new = self.is_indicator, len(self) == 0
        return found

    @classmethod
    def of_columns(cls, columns: int) -> Self:
        """Return the labels of a matrix with this number of columns."""
        found = cls(range(columns))
        found.is_indicator = True
        return found

    def of_matrix(self, columns: int) -> Self:
        """Return the labels that examples with a matrix of this number of columns can be encoded with; InputError if
        the columns are not those that are known."""
        if len(self) == 0 or (self.is_new and self.known() == list(range(columns))):
            return self.of_columns(columns)
        if self.is_indicator and self.known() != list(range(columns)):
            raise InputError(
                f"y has {columns} columns, but the model has learned {len(self)} labels: bring a column for each of"
                " classes_, in that order."
            )
        return self

    @staticmethod
    def parse(y: Any, examples: int) -> list[list[Any]]:
        """Return the labels of each example."""
        sets = parse_label_sets(y)
        validation.check_same_length(examples, len(sets))
        return sets

    @classmethod
    def found(cls, y: list[list[Any]]) -> tuple[LabelSets, Self]:
        """Return the numbers of the labels of each example, and the sorted labels; y contains all labels."""
        if isinstance(y, IndicatorSets):
            return cls.of_columns(y.columns).encode_sets(y)
        return cls(sort_labels({to_plain_label(label) for labels in y for label in labels})).encode(y)

    def encode(self, y: list[list[Any]]) -> tuple[LabelSets, Self]:
        """Return the numbers of the labels of each example, and the labels known after that."""
        known = self.of_matrix(y.columns) if isinstance(y, IndicatorSets) else self
        return known.encode_sets(y)

    def encode_one(self, label: Any) -> tuple[LabelSets, Self]:
        """Return the numbers of the labels of one example, and the labels known after that."""
        return self.encode_sets([parse_label_set(label)])

    def build_encoder(self, left_out: Any) -> Any:
        """Return an encoder of labels in files; `left_out` counts examples without a label."""
        from novikoff.data.labels.label_encoding import MultilabelEncoder

        return MultilabelEncoder(self, leave_out=left_out)

    def format(self, label: Any) -> str:
        """Return a set of labels, predicted or given, as a text."""
        return ",".join(sorted(map(str, label if isinstance(label, list) else [label])))


@final
class MultiLabel(MulticlassClassifier):
    """Classifier that predicts any number of labels for an example, including none.

    y is a list of sets or lists of labels, one for each row, or a matrix of 0 and 1 with a column for each label. A
    model that was fitted to a matrix predicts a matrix.

    Parameters
    ----------
    estimator : estimator
        The binary learner, by default AROW(). Its settings are settings of the whole model.
    update : str
        each (every label independently), or which of the violated preferences are learned: top, uniform or
        proportional.

    Examples
    --------
    >>> from novikoff import MultiLabel, Perceptron
    >>> X, y = [[1, 0], [0, 1], [1, 1], [0, 0]], [["wet"], ["cold"], ["wet", "cold"], []]
    >>> MultiLabel(Perceptron(passes=20)).fit(X, y).predict([[1, 0], [1, 1], [0, 0]])
    [['wet'], ['cold', 'wet'], []]
    """

    _label_type = SetLabels
    _predicts_one_label = False

    def __init__(
        self,
        estimator: OnlineClassifier | None = None,
        *,
        update: Literal["each", "top", "uniform", "proportional"] = "each",
    ) -> None:
        self.estimator = estimator
        self.update = update

    def _check_settings(self) -> None:
        check_choice(("each", *UPDATE_NAMES), update=self.update)

    def _check_learner(self) -> None:
        refuse_class_weight(self, "an example has several labels")
        if self.update == "each":
            check_column_learner(self)
        else:
            check_preference_learner(self, self.update)

    def _scheme(self, classes: ClassLabels) -> Scheme:
        if self.update == "each":
            return Scheme(BINARY_RELEVANCE, TIE_SIGNS[self._inner_learner.tie])
        return Scheme(THRESHOLDED_LABELS, update=UPDATE_NAMES.index(self.update))

    def _encode_targets(self, codes: Any) -> Targets:
        return Targets(NO_INDICES, codes.starts, codes.members)

    def _decide(self, scores: NDArray[np.float64]) -> Any:
        known = self._require_fitted().labels.known()
        return [[known[c] for c in np.flatnonzero(row)] for row in self._find_members(scores)]

    def _find_members(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which labels are predicted, one row for each example."""
        shown, _ = self._class_scores(scores)
        ties = self.update == "each" and TIE_SIGNS[self._inner_learner.tie] > 0.0
        return np.asarray(shown >= 0.0 if ties else shown > 0.0)

    def _scores_are_log_odds(self) -> bool:
        return self.update == "each" and self._spec().scores_are_log_odds

    def _to_probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of each label for these scores; labels don't exclude each other."""
        tie = TIE_SIGNS[self._inner_learner.tie] if self.update == "each" else -1.0
        return to_label_probabilities(self, self._class_scores(scores)[0] / self._spec().weight_scale, tie)

    def _column_names(self) -> list[str]:
        return super()._column_names() if self.update == "each" else ["(threshold)", *super()._column_names()]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of each label, in the order of classes_. A label is predicted if its score is above 0."""
        return self._class_scores(OnlineClassifier.decision_function(self, X))[0]

    def predict(self, X: Any) -> Any:
        """Return the list of labels of each row; a matrix of 0 and 1 if the model was fitted to one."""
        scores = OnlineClassifier.decision_function(self, X)
        if getattr(self._require_fitted().labels, "is_indicator", False):
            return self._find_members(scores).astype(np.int64)
        return self._decide(scores)

    def predict_one(self, x: Any) -> Any:
        """Return the labels of one example, or None before the first example was learned."""
        return None if self._state is None else self._decide(self._score_columns(x))[0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose set of labels is predicted exactly."""
        predicted = self._decide(OnlineClassifier.decision_function(self, X))
        true_sets = parse_label_sets(y)
        validation.check_same_length(len(predicted), len(true_sets))
        right = [set(a) == set(b) for a, b in zip(predicted, true_sets, strict=True)]
        return float(np.average(right, weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    @property
    def _outcome_type(self) -> str:  # type: ignore[override]
        return "columns" if self.update == "each" else "preferences"

    def bounds(self) -> Sequence[Bound]:
        return super().bounds() if self.update == "each" else build_preference_bounds(self, BOUND_NOTE)

    def _mistakes_per_column(self) -> tuple[float, str] | None:
        return ONE_PER_MISTAKE if self.update == "each" else None
