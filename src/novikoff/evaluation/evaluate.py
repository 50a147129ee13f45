"""Evaluation of a model on arrays or raw rows: `novikoff.evaluate`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.data import validation
from novikoff.data.labels.binary_labels import to_plain_label
from novikoff.errors import InputError
from novikoff.evaluation.evaluators import DEFAULT_DELTA, ClassificationEvaluator, Codes, LabelIndex, LabelSetEvaluator
from novikoff.evaluation.ranking import find_query_starts, measure_ranking, validate_grades
from novikoff.evaluation.results import RankingResult, Result


def evaluate(model: Any, X: Any, y: Any, *, qid: Any = None, delta: float = DEFAULT_DELTA, by: Any = None) -> Result:
    """Measure how well a fitted model predicts y.

    Parameters
    ----------
    model : estimator
        A fitted classifier, multi-label model or ranking model; any classifier with scikit-learn's interface will do.
    X : array, sparse matrix, DataFrame, or list of dicts or texts
        Examples that the model has not learned from.
    y : array or list
        Their labels; sets of labels for a multi-label model, grades for a ranking model.
    qid : array, optional
        The query of each row, for a ranking model.
    delta : float
        Probability that an interval misses the true value; its confidence is 1 − delta.
    by : array, optional
        A value for each row: the error is also given for the rows of each value.

    Returns
    -------
    result : ClassificationResult, LabelSetResult or RankingResult
        Its figures are attributes; `to_dict()` returns all of them.

    Examples
    --------
    >>> from novikoff import Perceptron, evaluate
    >>> model = Perceptron(passes=5).fit([[0, 1], [1, 0], [2, 1], [0, 3]], ["up", "right", "right", "up"])
    >>> result = evaluate(model, [[1, 4], [3, 1], [4, 3]], ["up", "right", "up"])
    >>> round(result.accuracy, 4), result.confusion
    (0.6667, [[1, 0], [1, 1]])
    """
    if not 0.0 < delta < 1.0:
        raise InputError(f"delta must be between 0 and 1, but is {delta!r}.")
    if qid is not None or not hasattr(model, "classes_"):
        return _evaluate_ranking(model, X, y, qid)
    predicted = model.predict(X)
    if isinstance(predicted, list) or np.ndim(predicted) == 2:
        return _evaluate_label_sets(model, predicted, y, delta)
    classes = [to_plain_label(label) for label in model.classes_]
    index = LabelIndex([str(label) for label in classes])
    true = encode_labels(validation.validate_y(y, len(predicted)), index)
    with ClassificationEvaluator(index, delta) as evaluator:
        evaluator.add(
            true,
            encode_labels(np.asarray(predicted), index),
            scores=_binary_scores(model, X) if evaluator.is_binary else None,
            probabilities=model.predict_proba(X) if hasattr(model, "predict_proba") else None,
            slices=None if by is None else [str(value) for value in validation.validate_y(by, len(predicted))],
        )
        return evaluator.result()


def encode_labels(labels: NDArray[Any], index: LabelIndex) -> Codes:
    """Return the number of each label; each distinct one is looked up once."""
    distinct, inverse = np.unique(labels, return_inverse=True)
    return index.encode([str(to_plain_label(label)) for label in distinct.tolist()])[inverse]


def _binary_scores(model: Any, X: Any) -> NDArray[np.float64] | None:
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), np.float64)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), np.float64)[:, 1]
    return None


def _evaluate_ranking(model: Any, X: Any, y: Any, qid: Any) -> RankingResult:
    scores = np.asarray(model.decision_function(X), np.float64)
    queries = np.zeros(len(scores)) if qid is None else validation.validate_y(qid, len(scores))
    found = measure_ranking(scores, validate_grades(y, len(scores)), find_query_starts(queries))
    return RankingResult(found.queries, found.ndcg, found.map)


def _evaluate_label_sets(model: Any, predicted: Any, y: Any, delta: float) -> Result:
    classes = [str(label) for label in model.classes_]
    evaluator = LabelSetEvaluator(LabelIndex(classes), delta)
    true = _to_sets(y, classes)
    validation.check_same_length(len(predicted), len(true))
    evaluator.add(true, _to_sets(predicted, classes))
    return evaluator.result()


def _to_sets(y: Any, classes: Sequence[str]) -> list[list[str]]:
    """Return sets of labels as lists of texts, also those of a matrix of 0 and 1."""
    if hasattr(y, "toarray") or hasattr(y, "to_numpy"):
        y = y.toarray() if hasattr(y, "toarray") else y.to_numpy()
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] != len(classes):
        raise InputError(f"y must have a column for each of the {len(classes)} labels, but has {y.shape[1]} columns.")
    if isinstance(y, np.ndarray) and y.ndim == 2:
        return [[classes[c] for c in np.flatnonzero(row).tolist()] for row in y]
    return [sorted({str(to_plain_label(label)) for label in labels}) for labels in y]
