"""Explanations of predictions: the contribution of each feature to the score, `novikoff.explain`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.base import internals
from novikoff.base.raw_rows import encode_example
from novikoff.base.scoring import copy_scratch
from novikoff.base.single_example import build_row, parse_known_terms
from novikoff.core.column_scaling import N_ROWS, N_VISITED, VALUE
from novikoff.core.loop import score_rows_with_updater
from novikoff.core.updaters import stacked_learners as stacked
from novikoff.data.feature_maps import MapSpec
from novikoff.data.labels.binary_labels import to_plain_label
from novikoff.errors import InputError
from novikoff.linear.auto import FORECAST_NAMES, BinaryAuto
from novikoff.multiclass.internals import class_scores_of, has_columns, weights_of

UNSEEN_FEATURES = "(features never seen)"
ROUNDING = 1e-9
"""Relative difference between the sum of the contributions and the model's score beyond which a score is not linear."""

Numbers = NDArray[np.float64]


class Contribution(NamedTuple):
    """What one feature adds to the score: value × weight."""

    feature: str | int
    """A name, or a column number if columns have no names."""
    value: float
    weight: float
    contribution: float


class LearnerScore(NamedTuple):
    """What one member of Auto says: `weight` × `score` is a part of the log-odds of the forecast from the scores."""

    name: str
    weight: float
    score: float


class Forecast(NamedTuple):
    """One of the two forecasts of Auto; the probability that it predicts is a mean of theirs with these weights."""

    name: str
    weight: float
    log_odds: float


@dataclass(frozen=True)
class Explanation:
    """Why a model gives one row its score: the bias and the contributions add up to it."""

    predicted: Any
    """The predicted label, or list of labels; None for a ranking."""
    label: Any
    """The class that positive contributions speak for; None for a ranking."""
    against: Any
    """The class that negative contributions speak for; None for a ranking, or for one of several labels."""
    score: float
    bias: float
    """What no feature of the row contributes. For Auto also the contributions of frequent features that are 0 in this
    row, and what its other forecast changes."""
    contributions: list[Contribution]
    """The largest first, by absolute value; features whose value or weight is 0 are left out."""
    probability: float | None = None
    """The probability of `label`, where the model has one."""
    members: list[LearnerScore] = field(default_factory=list)
    """The scores of the members of Auto; empty for other models."""
    forecasts: list[Forecast] = field(default_factory=list)
    """The forecasts of Auto; empty for other models."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, without what the model does not have."""
        shown = {name: value for name, value in vars(self).items() if value is not None}
        for name in ("contributions", "members", "forecasts"):
            shown[name] = [entry._asdict() for entry in shown[name]]
        for name in ("members", "forecasts"):  # only Auto has them
            if not shown[name]:
                del shown[name]
        return shown


class _Linear(NamedTuple):
    """A score as a sum over the terms of one row."""

    bias: float
    weights: Numbers
    label: Any
    against: Any
    score: float
    """As the model computes it."""
    members: list[LearnerScore]
    forecasts: list[Forecast]


def explain(model: Any, x: Any, *, label: Any = None) -> Explanation:
    """Return the contribution of each feature of one row to the score.

    Parameters
    ----------
    model : estimator
        A fitted model whose score is linear: a linear learner, Auto with two classes, or a multiclass scheme whose
        class scores are sums of w·x.
    x : dict, sequence of feature names, text or 1-D array
        One example, as `predict_one` takes it.
    label : optional
        The class to explain. With two classes the default is the positive one, with more classes the predicted class
        against its highest rival. Another class is explained against the predicted one.

    Returns
    -------
    explanation : Explanation
        `contributions`, `bias` and `score`; InputError for models without a linear score.

    Examples
    --------
    >>> from novikoff import Perceptron, explain
    >>> model = Perceptron(passes=5).fit([[0, 1], [1, 0], [2, 1], [0, 3]], ["up", "right", "right", "up"])
    >>> found = explain(model, {0: 0.0, 1: 2.0})
    >>> found.predicted, found.score == found.bias + sum(c.contribution for c in found.contributions)
    ('up', True)
    """
    working = _check_model(model)
    state = internals.require_state(working)
    return explain_terms(model, *parse_known_terms(working, state, encode_example(state, x)), label=label)


def explain_terms(model: Any, columns: NDArray[np.uint32], values: NDArray[Any], *, label: Any = None) -> Explanation:
    """Explain a row that is given as columns and values, as a reader has them."""
    working = _check_model(model)
    columns, values = _merge_terms(columns, values)
    row = build_row(columns, values.astype(internals.require_state(working).kind))
    scores = internals.build_scorer(working, known=True)(row)
    predicted = _predict(working, scores)
    if isinstance(working, BinaryAuto):
        found = _read_auto(working, row, label)
    elif has_columns(working):
        found = _read_columns(working, columns, scores, predicted, label)
    else:
        found = _read_binary(working, columns, float(scores.reshape(-1)[0]), label)
    values = row.values.astype(np.float64)
    products = values * found.weights
    score = math.fsum([found.bias, *products.tolist()])
    size = abs(found.bias) + float(np.abs(products).sum())
    if not abs(score - found.score) <= ROUNDING * max(size, abs(found.score)):
        raise _build_no_linear_score_error(model)
    return Explanation(
        predicted=predicted,
        label=found.label,
        against=found.against,
        score=score,
        bias=found.bias,
        contributions=_list_contributions(working, columns, values, found.weights),
        probability=_find_probability(working, found, scores),
        members=found.members,
        forecasts=found.forecasts,
    )


def _predict(model: Any, scores: Numbers) -> Any:
    """Return the predicted label, or the list of labels; None for a ranking."""
    if hasattr(model, "rank"):
        return None
    found = internals.decide_labels(model, scores)[0]
    return found if isinstance(found, list) else to_plain_label(found)


def _check_model(model: Any) -> Any:
    """Return the model that does the work; InputError where its score is not linear."""
    working = internals.working_model_of(model) if internals.is_facade(model) else model
    internals.require_state(working)
    many_auto = has_columns(working) and isinstance(internals.inner_learner_of(working), BinaryAuto)
    if many_auto:
        raise InputError(
            f"{type(model).__name__} combines learners by their probabilities for more than two classes: its scores are"
            " logarithms of them, and no sums over features. Use Kesler(AROW()), on the command line --learner arow, to"
            " get contributions."
        )
    if not hasattr(working, "coef_"):
        raise _build_no_linear_score_error(model)
    return working


def _build_no_linear_score_error(model: Any) -> InputError:
    return InputError(
        f"The score of this {type(model).__name__} is not a sum of value × weight: it has no contributions of features."
        " Use a linear learner such as AROW, SGD or Perceptron; for several classes with Kesler or OneVsAll."
    )


def _merge_terms(columns: NDArray[np.uint32], values: NDArray[Any]) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Return the terms in the order of the columns; equal columns are summed and zeros left out."""
    distinct, inverse = np.unique(np.asarray(columns, np.uint32), return_inverse=True)
    sums = np.bincount(inverse, weights=values, minlength=len(distinct)) if len(distinct) else np.zeros(0)
    kept = sums != 0.0
    return distinct[kept], sums[kept]


# --- Two classes, and rankings ---


def _read_binary(model: Any, columns: NDArray[np.uint32], score: float, label: Any) -> _Linear:
    weights, state = model.coef_.reshape(-1), internals.require_state(model)
    chosen = _pick(weights, columns, float(internals.unseen_weight_of(model, state)))
    bias = float(np.asarray(model.intercept_).reshape(-1)[0])
    if hasattr(model, "rank"):
        if label is not None:
            raise InputError("A ranking has no classes: its score is explained as a whole.")
        return _Linear(bias, chosen, None, None, score, [], [])
    return _turn_to(model, _Linear(bias, chosen, None, None, score, [], []), label)


def _pick(weights: Numbers, columns: NDArray[np.uint32], unseen: float) -> Numbers:
    known = columns < len(weights)
    return np.where(known, weights[np.where(known, columns, 0)] if len(weights) else 0.0, unseen)


def _turn_to(model: Any, found: _Linear, label: Any) -> _Linear:
    """Return the score for `label`, the positive class by default; turned round for the negative class."""
    classes = [to_plain_label(value) for value in model.classes_]
    index = len(classes) - 1 if label is None else _find_class(model, classes, label)
    other = classes[1 - index] if len(classes) == 2 else None
    if index == len(classes) - 1:
        return found._replace(label=classes[index], against=other)
    members = [member._replace(score=-member.score) for member in found.members]
    forecasts = [forecast._replace(log_odds=-forecast.log_odds) for forecast in found.forecasts]
    return _Linear(-found.bias, -found.weights, classes[index], other, -found.score, members, forecasts)


def _find_class(model: Any, classes: list[Any], label: Any) -> int:
    texts = [internals.format_label(model, value) for value in classes]
    if label not in classes and str(label) not in texts:
        shown = ", ".join(texts[:20]) + (" …" if len(texts) > 20 else "")
        raise InputError(f"The model has no class {label!r}. Its classes are {shown}.")
    return classes.index(label) if label in classes else texts.index(str(label))


FEATURE_NAMES = ("arow, mean", "arow, last", "logistic, mean", "discriminant")


def _read_auto(model: BinaryAuto, row: Any, label: Any) -> _Linear:
    """Return the score of Auto: the forecast from the scores of its members is linear in the features of the row."""
    state = internals.require_state(model)
    updater, out = copy_scratch(state.updater), np.zeros(1)
    score_rows_with_updater(updater, row, state.features + 1, True, out)
    stack, notes, slots = updater.stack, updater.notes, updater.example_slots[: int(updater.notes[N_VISITED])]
    scaled = updater.example[: len(slots), VALUE]
    terms = _member_terms(updater, slots.astype(np.int64), scaled)
    scores = notes[stacked.SCORES : stacked.SCORES + stacked.N_FEATURES]
    shown = notes[stacked.FEATURE_VALUES : stacked.FEATURE_VALUES + stacked.N_FEATURES]
    weights = stack[stacked.FORECAST_WEIGHTS : stacked.FORECAST_PRECISION]
    units = np.divide(shown, scores, out=np.zeros(len(scores)), where=scores != 0.0)
    products = terms @ (weights[: stacked.N_FEATURES] * units)
    in_row = np.isin(slots, row.indices.astype(np.int64) + 1)
    score = float(out[0])
    constant = math.fsum([score, *(-products[in_row]).tolist()])
    values = row.values.astype(np.float64)
    in_units = np.divide(products[in_row], values, out=np.zeros(len(values)), where=values != 0.0)
    members = [
        LearnerScore(name, float(weight), float(one))
        for name, weight, one in zip(FEATURE_NAMES, weights, shown, strict=False)
    ]
    side = 1.0 if notes[stacked.SCORES + stacked.DRIFT_LAST] >= 0.0 else -1.0
    drift = stack[stacked.DRIFT_WEIGHTS] * side + stack[stacked.DRIFT_WEIGHTS + 1]
    shares = stack[stacked.MIXTURE : stacked.FORECAST_LOSS].tolist()
    odds = float(weights @ np.append(shown, 1.0)), float(drift)
    forecasts = [Forecast(*one) for one in zip(FORECAST_NAMES, shares, odds, strict=True)]
    return _turn_to(model, _Linear(constant, in_units, None, None, score, members, forecasts), label)


def _member_terms(updater: Any, slots: NDArray[np.int64], scaled: Numbers) -> Numbers:
    """Return what each visited column adds to each of the scores that are features of the forecast."""
    t = max(1.0, float(updater.totals[N_ROWS]))
    last = updater.weights[slots, stacked.AROW_WEIGHT].astype(np.float64)
    mean = last - updater.sums[slots, stacked.AROW_SUM] / stacked.arow_power.function(t)
    logistic = updater.weights[slots, stacked.LOGISTIC_WEIGHT].astype(np.float64)
    logistic = logistic - updater.sums[slots, stacked.LOGISTIC_SUM] / stacked.logistic_power.function(t)
    weights, constants = _discriminant_weights(updater, slots)
    return np.column_stack([mean * scaled, last * scaled, logistic * scaled, weights * scaled + constants])


def _discriminant_weights(updater: Any, slots: NDArray[np.int64]) -> tuple[Numbers, Numbers]:
    """Return the weights of these columns in the score of the discriminant of two classes, and their constants."""
    sums, squares = updater.sums[slots, stacked.CLASS_SUM], updater.statistics[slots, stacked.SQUARES]
    totals = np.stack([updater.statistics[slots, stacked.NEGATIVE_SUM], sums])
    counts = np.array([[updater.statistics[0, stacked.NEGATIVE_SUM]], [updater.sums[0, stacked.CLASS_SUM]]])
    below, above = totals / (counts + 1.0)
    within = squares - (totals * totals / np.where(counts > 0.0, counts, 1.0)).sum(axis=0)
    weights = counts.sum() * (above - below) / (np.maximum(within, 0.01 * squares) + 0.1)
    return weights, -0.5 * (above + below) * weights


# --- More classes ---


def _read_columns(model: Any, columns: NDArray[np.uint32], scores: Numbers, predicted: Any, label: Any) -> _Linear:
    """Return the score of a class less that of its rival. Class scores must be linear in the scores of the columns."""
    mixing = _class_scores(model, np.eye(scores.shape[1]))
    class_scores = _class_scores(model, scores)[0]
    for factor in (1.0, 2.0, -1.0):
        expected = factor * scores[0] @ mixing
        size = float(np.abs(scores[0]) @ np.abs(mixing).max(axis=1, initial=0.0)) or 1.0
        if not np.allclose(_class_scores(model, factor * scores)[0], expected, rtol=0.0, atol=ROUNDING * size):
            raise _build_no_linear_score_error(model)
    classes = [to_plain_label(value) for value in internals.require_state(model).labels.known()]
    index, rival = _choose_classes(model, classes, class_scores, predicted, label)
    direction = mixing[:, index] - (0.0 if rival is None else mixing[:, rival])
    weights = weights_of(model)
    combined = weights @ direction[: weights.shape[1]]
    unseen = float(internals.unseen_weight_of(model, internals.require_state(model))) * float(
        direction[: weights.shape[1]].sum()
    )
    score = float(class_scores[index] - (0.0 if rival is None else class_scores[rival]))
    against = None if rival is None else classes[rival]
    chosen = _pick(combined[1:], columns, unseen)
    return _Linear(float(combined[0]), chosen, classes[index], against, score, [], [])


def _class_scores(model: Any, scores: Numbers) -> Numbers:
    found, _ = class_scores_of(model, np.ascontiguousarray(scores))
    return found


def _choose_classes(
    model: Any, classes: list[Any], scores: Numbers, predicted: Any, label: Any
) -> tuple[int, int | None]:
    """Return the class to explain and its rival; None where each label is decided by itself."""
    order = [int(c) for c in np.argsort(-scores, kind="stable")]
    several = not internals.predicts_one_label(model)
    winner = order[0] if several or predicted not in classes else classes.index(predicted)
    index = winner if label is None else _find_class(model, classes, label)
    if several or len(classes) < 2:
        return index, None
    return index, winner if index != winner else next(c for c in order if c != winner)


# --- Names and probabilities ---


def _list_contributions(
    model: Any, columns: NDArray[np.uint32], values: Numbers, weights: Numbers
) -> list[Contribution]:
    name, features = build_feature_namer(model), internals.require_state(model).features
    found = [
        Contribution(name(column) if column < features else UNSEEN_FEATURES, value, weight, value * weight)
        for column, value, weight in zip(columns.tolist(), values.tolist(), weights.tolist(), strict=True)
        if weight != 0.0
    ]
    return sorted(found, key=lambda one: -abs(one.contribution))


def build_feature_namer(model: Any) -> Callable[[int], str | int]:
    """Return a function from columns to the names of features: of the table, the dictionary or the feature map."""
    state = internals.require_state(model)
    slots: dict[int, str] = getattr(state, "slot_names", None) or {}
    columns = None if state.names is None else list(state.names.columns)
    products = _find_product_map(getattr(state, "reading", None)) if columns is None else None

    def name(column: int) -> str | int:
        if products is not None:
            return products.name(column)
        return slots.get(column, column) if columns is None else columns[column]

    return name


def _find_product_map(reading: dict[str, Any] | None) -> MapSpec | None:
    """Return the feature map of numbered features; None if features are hashed or not mapped."""
    if reading is None or reading.get("feature_map") is None or reading["feature_map_bits"] or reading.get("hash_bits"):
        return None
    return MapSpec.parse(reading["feature_map"])


def _find_probability(model: Any, found: _Linear, scores: Numbers) -> float | None:
    """Return the probability of the explained label; None for models without probabilities."""
    if found.label is None or internals.explain_missing_probabilities(model) is not None:
        return None
    known = [to_plain_label(label) for label in model.classes_]
    probabilities = internals.to_probabilities(model, scores)[0]
    return float(probabilities[known.index(to_plain_label(found.label))])
