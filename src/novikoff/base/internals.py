"""The internal interface of models: functions by which other packages use a model beyond its public methods.

Hooks of the estimator classes are private, so that `dir(model)` shows public members only. Packages other than
`base` reach them by these functions only; `scripts/check_style.py` checks that. Classes that inherit a hook call or
override it directly. Hooks of some models only have modules of their own beside their classes:

- `novikoff.meta.internals`: models that are fitted to all data at once (`BatchEstimator`)
- `novikoff.multiclass.internals`: models with a column of weights for each class (`MulticlassClassifier`)

`model` is an estimator of this package, `learner_type` a class of them. States are documented in `base/model_state.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # commands import this module before they know whether they need more
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from novikoff._compiled.lazy_numpy import NDArray, np
    from novikoff.base.learner_spec import LearnerSpec
    from novikoff.base.model_state import ModelState
    from novikoff.core.feature_sample import FeatureSample
    from novikoff.data.rows import Rows
    from novikoff.memory_limit import Growth
    from novikoff.schema import Schema
    from novikoff.theory.bound_declaration import Bound


# --- State ---


def state_of(model: Any) -> Any:
    """Return the state of the model; None before the first example."""
    return model._state


def require_state(model: Any) -> Any:
    """Return the state of the model; raise NotFittedError before the first example."""
    return model._require_fitted()


def checked_state_of(model: Any) -> Any:
    """Return the state of the model; raise InputError if its settings have changed since."""
    return model._checked_state()


def build_state(model: Any, features: int, dtype: Any, names: list[str] | None, labels: Any) -> Any:
    """Return the state of a run with no examples."""
    return model._build_state(features, dtype, names, labels)


def set_state(model: Any, state: Any) -> None:
    """Replace the state of the model, and drop its fast paths."""
    model._set_state(state)


def ensure_capacity(model: Any, state: Any, features: int) -> None:
    """Allocate weights for this number of features; raise InputError if the learner needs a fixed number."""
    model._ensure_capacity(state, features)


def estimate_memory(model: Any, growth: Growth) -> int:
    """Return the bytes that the model needs after such growth."""
    return model._memory_needed(growth)


def estimate_state_bytes(model: Any, state: Any, growth: Growth) -> int:
    """Return the bytes that this state of the model needs after such growth."""
    return model._bytes_needed(state, growth)


def build_feature_sample(model: Any, dtype: Any) -> FeatureSample:
    """Return an empty sample of features, from which their deviations are estimated."""
    return model._fresh_sample(dtype)


def has_encoding(model: Any) -> bool:
    """Return whether the model has the encoding of the rows or files to which it was fitted."""
    if not model.__sklearn_is_fitted__():
        return False
    working = model._working_model() if is_facade(model) else model
    return getattr(working._state, "reading", None) is not None


def working_model_of(model: Any) -> Any:
    """Return the learner that does the work: the model itself, unless it is a facade such as Auto."""
    return model._working_model()


def is_facade(model: Any) -> bool:
    """Return whether another learner does the work of this model."""
    from novikoff.base.estimator import BaseEstimator

    return isinstance(model, BaseEstimator) and type(model)._working_model is not BaseEstimator._working_model


# --- Settings ---


def setting_defaults_of(learner_type: Any) -> Mapping[str, Any]:
    """Return the names of the settings and their defaults, REQUIRED for one that must be given."""
    return learner_type._setting_defaults()


def plain_settings_of(model: Any) -> dict[str, Any]:
    """Return the settings as plain values, lists and dicts, as a file has them."""
    return model._plain_settings()


def build_from_settings(learner_type: Any, settings: dict[str, Any]) -> Any:
    """Return a model with settings from `plain_settings_of`."""
    return learner_type._from_settings(settings)


def build_unfitted(model: Any) -> Any:
    """Return an unfitted model with the class and the settings of this one."""
    return type(model)._from_settings(model._plain_settings())


def run_settings_of(model: Any) -> dict[str, Any]:
    """Return the settings that must not change during a run."""
    return model._run_settings()


def check_settings(model: Any) -> None:
    """Raise InputError if a setting is not valid."""
    model._check_all()


def check_settings_unchanged(model: Any, state: Any) -> None:
    """Raise InputError if settings are not those with which the run began."""
    model._check_settings_unchanged(state)


def inner_learner_of(model: Any) -> Any:
    """Return the inner binary learner of the model; a model without one is returned itself."""
    return getattr(model, "_inner_learner", model)


def scheme_info_of(model: Any) -> dict[str, Any]:
    """Return how the model reduces several classes to columns of weights; empty for two labels."""
    return model._scheme_info()


# --- Properties of a learner ---


def spec_of(model: Any) -> LearnerSpec:
    """Return the algorithm of the model with its settings."""
    return model._spec()


def is_multiclass(model: Any) -> bool:
    """Return whether the model, or class, supports more than two classes without a scheme."""
    return bool(model._is_multiclass)


def is_estimator(model: Any) -> bool:
    """Return whether this is an estimator of this package."""
    from novikoff.base.estimator import BaseEstimator

    return isinstance(model, BaseEstimator)


def accepts_multiclass(model: Any) -> bool:
    """Return whether the model, or class, takes more than two classes, by itself or as a scheme."""
    return bool(model._accepts_multiclass)


def takes_sample_weight(model: Any) -> bool:
    """Return whether examples of the model may have weights."""
    return hasattr(model, "_learn_weighted_example")


def needs_two_classes(model: Any) -> bool:
    """Return whether the targets of the model, or class, are labels, of which there must be at least two."""
    return bool(model._needs_two_classes)


def predicts_one_label(model: Any) -> bool:
    """Return whether the model predicts one label for each example; batch models do."""
    return bool(getattr(model, "_predicts_one_label", True))


def has_weights(model: Any) -> bool:
    """Return whether the model has `coef_`."""
    return bool(model._spec().has_weights)


def has_fixed_length(model: Any) -> bool:
    """Return whether the length of the run is independent of its outcome."""
    return bool(model._has_fixed_length)


def outcome_type_of(model: Any) -> str:
    """Return the role of examples in the theorems: sides, preferences, columns, queries or kernel."""
    return model._outcome_type


def feature_range_of(model: Any) -> tuple[float, float]:
    """Return the least and the largest value of a feature that the learner takes."""
    return model._spec().feature_range


def fixed_width_reason_of(model: Any) -> str | None:
    """Return why the number of features must be known in advance; None where it need not be."""
    return model._spec().fixed_width_reason


def unseen_weight_of(model: Any, state: Any) -> float:
    """Return the weight of unseen features."""
    return model._spec().unseen_weight_in(state)


def weight_scale_of(model: Any) -> float:
    """Return the factor by which weights and scores are multiplied when they are shown."""
    return model._spec().weight_scale


def uses_linear_loop(model: Any) -> bool:
    """Return whether the model uses the shared loop of linear learners."""
    from novikoff.base.linear_classifier import LinearClassifier

    return type(model)._run_loop is LinearClassifier._run_loop


def scores_by_weights(model: Any) -> bool:
    """Return whether the score of an example is w·x with the weights of the state."""
    return model._spec().scores_by_weights


def build_updater(model: Any, slots: int, dtype: Any) -> Any:
    """Return a new updater, from the settings."""
    return model._spec().build_updater(slots, dtype)


# --- Labels ---


def build_empty_labels(model: Any) -> Any:
    """Return the labels that are known before the first example."""
    return model._empty_labels()


def build_label_reader(model: Any, labels: Any, left_out: Any) -> Any:
    """Return an encoder of labels in files; `left_out` counts examples without a label."""
    return model._label_reader(labels, left_out)


def label_for_score(model: Any, score: float) -> Any:
    """Return the label that a binary model predicts for a score."""
    return model._label_for_score(score)


def positive_scores_of(model: Any, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for which scores of a model of two classes the positive one is predicted."""
    return model._is_positive(scores)


def is_calibrated(model: Any) -> bool:
    """Return whether the probabilities of the model are calibrated online."""
    from novikoff.base.online_classifier import OnlineClassifier

    return isinstance(model, OnlineClassifier) and model._is_calibrated()


def decides_by_score(model: Any) -> bool:
    """Return whether the sign of one score, or a threshold on it, decides between two classes."""
    from novikoff.base.online_classifier import OnlineClassifier

    return isinstance(model, OnlineClassifier) and model._decides_by_score


def decide_labels(model: Any, scores: NDArray[np.float64]) -> Any:
    """Return the labels that the model predicts for these scores."""
    return model._decide(scores)


def format_label(model: Any, label: Any) -> str:
    """Return a label, predicted or given, as a text."""
    return model._format_label(label)


# --- Learning ---


def fit_rows(model: Any, X: Any, y: Any, *sample_weight: Any, **more: Any) -> int:
    """Fit the model; return the mistakes of the first pass."""
    return model._fit_rows(X, y, *sample_weight, **more)


def build_file_trainer(model: Any, reading: Any, *, positive: str | None = None) -> Any:
    """Return a trainer that feeds files to the model (`base/file_training.py`)."""
    return model._build_file_trainer(reading, positive=positive)


def run_pass(
    model: Any, state: Any, rows: Rows, codes: Any, weights: NDArray[np.float64], *, known: bool = False
) -> int:
    """Learn these rows once; return how many were learned. `known` says that a reader has checked them."""
    return model._run_pass(state, rows, codes, weights, known=known)


def learn_weighted_example(model: Any, x: Any, y: Any, weight: float) -> None:
    """Learn one example with a weight above 0, in a model that `takes_sample_weight`."""
    model._learn_weighted_example(x, y, weight)


def check_rows(model: Any, state: Any, rows: Rows) -> None:
    """Raise InputError if a row can't be learned."""
    model._check_rows(state, rows)


def iter_encoded_arrays(model: Any, X: Any, y: Any, qid: Any = None) -> Iterator[tuple[Rows, Any]]:
    """Yield rows and labels of arrays as the loop takes them."""
    return model._iter_encoded_arrays(X, y, qid)


def iter_encoded_files(model: Any, reading: Any) -> Iterator[tuple[Rows, Any]]:
    """Yield rows and labels of files as the loop takes them."""
    return model._iter_encoded_files(reading)


def silence_order_warnings(model: Any) -> None:
    """Suppress SortedLabelsWarning, in runs that the user did not start."""
    model._warns_of_sorted_labels = False


def run_linear_loop(
    model: Any, state: Any, rows: Rows, signs: Any, weights: NDArray[np.float64], canonical: bool
) -> int:
    """Learn rows by the shared loop of linear learners, whatever the model overrides."""
    from novikoff.base.linear_classifier import LinearClassifier

    return LinearClassifier._run_loop(model, state, rows, signs, weights, canonical)


# --- Predicting ---


def build_scorer(model: Any, *, known: bool = False) -> Callable[[Rows], NDArray[np.float64]]:
    """Return a function of rows to scores, with the current hypothesis."""
    return model._build_scorer(known=known)


def build_loop_scorer(model: Any, state: Any) -> Callable[[Rows, bool, NDArray[np.float64]], int]:
    """Return a function that writes the scores of canonical rows to an array."""
    return model._build_loop_scorer(state)


def display_scores(model: Any, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scores as they are shown beside predictions, one row for each example."""
    return model._display_scores(scores)


def to_probabilities(model: Any, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of each class for the scores of `build_scorer`, one row for each example."""
    if getattr(model, "_has_probabilities", False):
        return model._to_probabilities(scores)
    shares = model._display_scores(scores)
    return shares / shares.sum(axis=1, keepdims=True)


def explain_missing_probabilities(model: Any) -> str | None:
    """Return why the model has no probabilities; None if it has."""
    from novikoff.base import probabilities

    working = working_model_of(model) if is_facade(model) else model
    if hasattr(working, "predict_proba"):
        return None
    return probabilities.explain_missing_probabilities(working) or probabilities.NO_PROBABILITIES


def hypothesis_of(model: Any, state: Any) -> NDArray[np.float64]:
    """Return the weights, bias first; raise AttributeError if there is no weight vector."""
    return model._hypothesis(state)


# --- Theorems ---


def preference_bounds_of(model: Any, state: Any, *, variables: int, top: bool) -> Sequence[Bound]:
    """Return the theorems for examples that are preferences between columns."""
    return model._preference_bounds(state, variables=variables, top=top)


def column_bounds_of(model: Any, state: Any, *, variables: int) -> Sequence[Bound]:
    """Return the theorems for one of several columns that learns on its own."""
    return model._column_bounds(state, variables=variables)


def count_min_errors(model: Any, rows: Rows, signs: Any) -> int | None:
    """Return the errors of the best hypothesis of the class on these rows; None if unknown."""
    return model._min_errors(rows, signs)


def run_facts_of(model: Any) -> dict[str, Any]:
    """Return the facts of the run that a certificate reports beside the ledger."""
    return model._run_facts()


def describe_guarantee(model: Any, *args: Any, **more: Any) -> dict[str, Any] | None:
    """Return the guarantee for new data; None if no theorem applies."""
    return model._describe_guarantee(*args, **more)


# --- Model files ---


def schema_of(model: Any, features: int) -> Schema:
    """Return the schema of the updater in a model file with this number of features."""
    return model._spec().build_schema(features)


def extra_schemas_of(model: Any, features: int, present: Collection[str]) -> dict[str, Schema]:
    """Return the schemas of the arrays beside the updater, by prefix; `present` are the names in the file."""
    return model._extra_schemas(features, present)


def columns_in_file(model: Any, labels: Any) -> int:
    """Return how many columns of weights a file with these labels holds."""
    return model._columns_in_file(labels)


def labels_from_file(model: Any, listed: list[Any], *, rest: str) -> Any:
    """Return the labels that a file lists."""
    return model._labels_from_file(listed, rest=rest)


def trim_state(model: Any, state: Any) -> Any:
    """Return the updater without spare capacity, for a model file."""
    return model._trim_state(state)


def extra_arrays_of(model: Any, state: Any) -> dict[str, NDArray[Any]]:
    """Return the arrays of a model file beside the updater."""
    return model._extra_arrays(state)


def state_from_file(model: Any, state: ModelState, tensors: dict[str, NDArray[Any]]) -> ModelState:
    """Return the state, completed with the extra arrays of a file."""
    return model._state_from_file(state, tensors)
