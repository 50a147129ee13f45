"""The linear scores of a model: what an export holds. Models that score in other ways are refused.

Two classes have one score, w·x + b; more classes have one each, and the largest wins. That the scores of a model are
these is checked: by random scores of columns, and by random rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.base import internals
from novikoff.base.decision_threshold import DecisionThreshold
from novikoff.base.online_classifier import TIE_SIGNS, OnlineClassifier
from novikoff.base.probabilities import ProbabilityType, probability_type_of
from novikoff.core import calibration
from novikoff.data.labels.binary_labels import to_plain_label
from novikoff.data.rows import Sparse
from novikoff.errors import InputError
from novikoff.linear.auto import BinaryAuto
from novikoff.multiclass.internals import class_scores_of, has_columns, weights_of

ROUNDING = 1e-9
"""Largest relative difference between the scores of the model and those of the weights."""
N_PROBES, PROBE_TERMS = 16, 8

Numbers = NDArray[np.float64]


class Calibration(NamedTuple):
    """The numbers that turn scores into probabilities: see docs/commands/export.md for the formulas."""

    unit: float
    """The factor that divides scores by their root mean square."""
    intercept: float
    slope: float
    log_slope: float


class LinearScores(NamedTuple):
    """A fitted model as weights, one column for each score."""

    model: Any
    """The model of novikoff."""
    classes: list[Any]
    weights: Numbers
    """One row for each feature."""
    intercepts: Numbers
    scale: float
    """The factor by which scores are larger than those that become probabilities."""
    tie_is_positive: bool
    """Whether a score of 0 predicts the second of two classes."""
    threshold: DecisionThreshold | None
    probability_type: ProbabilityType
    calibration: Calibration | None

    @property
    def is_binary(self) -> bool:
        """Whether one score decides between two classes."""
        return len(self.intercepts) == 1


def read_linear_scores(model: Any) -> LinearScores:
    """Return the scores of a fitted model; raise InputError if they are not linear."""
    if not internals.is_estimator(model):
        raise InputError(f"Only models of novikoff can be exported, not {model!r}.")
    if internals.is_facade(model) or isinstance(internals.inner_learner_of(model), BinaryAuto):
        raise InputError(
            f"{type(model).__name__} mixes the probabilities of four learners, which is not a linear score: it can't be"
            " exported. Train AROW, SGD or Perceptron, on the command line by --learner arow, for several classes"
            " with --multiclass kesler."
        )
    if not isinstance(model, OnlineClassifier):
        raise InputError(
            f"{type(model).__name__} cannot be exported: only linear online learners, and Kesler and OneVsAll around"
            " them, can."
        )
    internals.require_state(model)
    if not internals.predicts_one_label(model) or hasattr(model, "rank"):
        raise InputError(f"{type(model).__name__} does not predict one class for each row: it cannot be exported.")
    if not hasattr(model, "coef_"):
        raise build_not_linear_error(model)
    weights, classes = _read_weights(model), [to_plain_label(label) for label in model.classes_]
    if len(classes) < 2:
        raise InputError(f"The model knows the class {classes[0]!r} alone: let it learn a second one.")
    _probe_rows(model, weights)
    kind = _find_probability_type(model)
    return LinearScores(
        model=model,
        classes=classes,
        weights=weights[1:],
        intercepts=weights[0],
        scale=internals.weight_scale_of(model),
        tie_is_positive=TIE_SIGNS[model.tie] > 0.0,
        threshold=internals.state_of(model).threshold,
        probability_type=kind,
        calibration=_read_calibration(model) if kind == "calibrated" else None,
    )


def build_not_linear_error(model: Any) -> InputError:
    return InputError(
        f"The scores of this {type(model).__name__} are not sums of value × weight of which the largest wins: it cannot"
        " be exported. Use a linear learner such as AROW, SGD or Perceptron; for several classes with Kesler or"
        " OneVsAll."
    )


def _read_weights(model: Any) -> Numbers:
    """Return the weights, those of the bias first, with a column for each score."""
    if has_columns(model):
        return _combine_columns(model)
    rows = np.asarray(model.coef_, np.float64)
    if rows.ndim != 2 or len(rows) != 1:
        raise build_not_linear_error(model)
    return np.concatenate([np.asarray(model.intercept_, np.float64).reshape(1, 1), rows.T])


def _combine_columns(model: Any) -> Numbers:
    """Return the weights of the classes, as sums of columns. Classes must be linear in columns, and the largest win."""
    own = weights_of(model)
    used, stride = own.shape[1], int(internals.require_state(model).stride)
    unit = np.zeros((used, stride))
    unit[:, :used] = np.eye(used)
    mixing, _ = class_scores_of(model, unit)
    scores = np.zeros((N_PROBES, stride))
    scores[:, :used] = np.random.default_rng(0).normal(size=(N_PROBES, used))
    found, winners = class_scores_of(model, scores)
    if not np.allclose(found, scores[:, :used] @ mixing, rtol=0.0, atol=ROUNDING * (1.0 + np.abs(found).max())):
        raise build_not_linear_error(model)
    if not np.array_equal(winners, found.argmax(axis=1)):
        raise build_not_linear_error(model)
    combined: Numbers = own @ mixing
    return combined


def _probe_rows(model: Any, weights: Numbers) -> None:
    """Raise InputError unless the model scores rows by these weights."""
    state = internals.require_state(model)
    if state.features == 0:
        return
    rng, terms = np.random.default_rng(0), min(PROBE_TERMS, state.features)
    columns = np.array([np.sort(rng.choice(state.features, terms, replace=False)) for _ in range(N_PROBES)])
    least, most = internals.feature_range_of(model)
    values = rng.uniform(max(least, -2.0), min(most, 2.0), columns.shape).astype(state.kind)
    rows = Sparse(np.arange(N_PROBES + 1) * terms, columns.reshape(-1).astype(np.uint32), values.reshape(-1))
    scores = internals.build_scorer(model)(rows)
    found = class_scores_of(model, scores)[0] if has_columns(model) else scores.reshape(N_PROBES, -1)
    products = values.astype(np.float64)[:, :, None] * weights[1:][columns]
    expected = products.sum(axis=1) + weights[0]
    sizes = np.abs(products).sum(axis=1) + np.abs(weights[0])
    if found.shape != expected.shape or not (np.abs(found - expected) <= ROUNDING * (sizes + 1e-300)).all():
        raise build_not_linear_error(model)


def _find_probability_type(model: Any) -> ProbabilityType:
    return "none" if internals.explain_missing_probabilities(model) is not None else probability_type_of(model)


def _read_calibration(model: Any) -> Calibration:
    state = internals.require_state(model).ledger.book.calibration
    slope, log_slope = calibration.monotone_slopes.function(state)
    intercept = 0.0 if has_columns(model) else float(state[calibration.INTERCEPT])
    return Calibration(float(calibration.score_unit.function(state)), intercept, float(slope), float(log_slope))
