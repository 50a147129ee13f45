"""Auto for any number of classes: the default learner.

Two classes are learned by `BinaryAuto` (linear/auto.py), more by Kesler's construction of it. The number of classes of
a stream need not be known: it is learned as a binary problem until a third label arrives. The state is then converted
without changing any prediction (`to_multiclass`), and learning continues with a column of weights for each class.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from novikoff.base.estimator import BaseEstimator
from novikoff.base.internals import (
    check_rows,
    fit_rows,
    inner_learner_of,
    learn_weighted_example,
    require_state,
    run_settings_of,
    set_state,
    state_of,
)
from novikoff.base.model_lock import exclusive_lock, lock_free
from novikoff.base.probabilities import explain_missing_probabilities
from novikoff.base.scikit_learn.conditional_method import available_if
from novikoff.core.multiclass.loop import N_CLASSES, VIOLATIONS
from novikoff.core.updaters.stacked_learners import (
    AROW_SUM,
    AROW_WEIGHT,
    BIAS,
    BIAS_FEATURE,
    CLASS_SUM,
    DRIFT_WEIGHT,
    DRIFT_WEIGHTS,
    FORECAST_INVERSE,
    FORECAST_PRECISION,
    FORECAST_WEIGHTS,
    LOGISTIC_SUM,
    LOGISTIC_WEIGHT,
    N_FEATURES,
    NEGATIVE_SUM,
    SCORE_SQUARES,
)
from novikoff.data import validation
from novikoff.data.labels.class_labels import ClassLabels
from novikoff.errors import ModelReplacedError, TooManyLabelsError, build_not_fitted_error, find_user_stacklevel
from novikoff.linear.auto import BinaryAuto
from novikoff.multiclass.kesler import Kesler
from novikoff.multiclass.state import MulticlassState
from novikoff.theory.bound_declaration import Bound

__all__ = ["Auto"]

TWO_CLASS_EXAMPLES = "two_class_examples"
"""The entry of `State.more` with the number of examples that were learned before a third class arrived."""


def delegate_attribute(name: str) -> property:
    """Return a property that delegates to the learner that does the work."""
    return property(lambda auto: getattr(auto._require_model(name), name))


@final
class Auto(BaseEstimator):
    """Four learners, combined to one probability: the default for unknown data.

    The units and origins of features don't matter, so no scaler is needed. After a change in the stream the prediction
    moves to the learner that follows it. It supports two or more classes; in a stream, new classes may arrive at any
    time. Probabilities are learned along with the weights.

    Parameters
    ----------
    fixed_share : float
        α, from 0 to 0.1: the share of the weights of both forecasts that is redistributed evenly after each example.
    fit_intercept : bool
        Add a feature that is always 1, the bias.
    class_weight : dict, "balanced" or None
        Weights of examples by their label. "balanced" weighs an example of class c by n/(k·n_c), for n examples of k
        classes so far, n_c of them of class c. None: all examples count alike.
    passes : int
        How often fit goes over the data.
    shuffle : bool
        Whether fit learns the rows in random order, a new one in each pass. Otherwise in the given order.
    random_state : int
        The seed of the random order.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.
    coef_, intercept_
        The weights of the forecast from the scores, in the units of the data, as far as it is linear.
    forecast_weights_ : dict
        The weights of the two forecasts: the one from the scores of three learners, and that of the learner that
        follows changes.
    ledger_ : Ledger
        Examples, mistakes, updates and radius of the run.

    Examples
    --------
    >>> from novikoff import Auto
    >>> X, y = [[0, 1000], [0.1, 0], [0.2, 1000], [0, 3000]], ["up", "right", "right", "up"]
    >>> Auto(passes=3).fit(X, y).predict([[0.3, 1000], [0, 2000]]).tolist()
    ['right', 'up']
    >>> stream = Auto()
    >>> for words, label in [("win money", "spam"), ("see you", "private"), ("your invoice", "work")] * 3:
    ...     _ = stream.learn_one(words.split(), label)
    >>> stream.predict_one(["money"]), stream.predict_one(["invoice"])
    ('spam', 'work')
    """

    _accepts_multiclass = True
    tie = "positive"
    _model: Any = None
    """The learner that does the work, after the first example: BinaryAuto, or Kesler around it."""

    def __init__(
        self,
        *,
        fixed_share: float = 0.0003,
        fit_intercept: bool = True,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        passes: int = 1,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> None:
        self.fixed_share = fixed_share
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    @classmethod
    def _from_model(cls, model: Any) -> Any:
        """Return a fitted Auto around a BinaryAuto, or around Kesler's construction of it."""
        auto = cls(**inner_learner_of(model).get_params())
        auto._model = model
        return auto

    @property
    def _inner_learner(self) -> BinaryAuto:
        """Return an unfitted binary learner with these settings."""
        return BinaryAuto(**self.get_params())

    def set_params(self, **params: Any) -> Self:
        super().set_params(**params)
        if self._model is not None:
            inner_learner_of(self._model).set_params(**params)
        return self

    # --- Learning ---

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Forget what was learned, then learn (X, y) `passes` times, in random order unless `shuffle` is False."""
        self._fit_rows(X, y, sample_weight)
        return self

    def _fit_rows(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, classes: Any = None) -> int:
        """Do what fit does, with all of `classes` known where given; return the mistakes of the first pass."""
        model: Any = self._inner_learner
        try:
            mistakes: int = fit_rows(model, X, y, sample_weight, classes=classes)
        except TooManyLabelsError:
            model = Kesler(model)
            mistakes = fit_rows(model, X, y, sample_weight, classes=classes)
        self._model = model
        return mistakes

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Continue learning with one pass over these rows, in their order.

        `classes` lists all classes in the first call, if they are known. Otherwise new ones may arrive at any time.
        """
        model = self._inner_learner if self._model is None else self._model
        try:
            model.partial_fit(X, y, classes, sample_weight)
        except TooManyLabelsError:
            with exclusive_lock(model):
                many = self._partial_fit_with_third_label(model, X, y, classes, sample_weight)
                model.replace()
                model = many
        self._model = model
        return self

    def _partial_fit_with_third_label(self, model: Any, X: Any, y: Any, classes: Any, weights: Any) -> Any:
        """Learn rows among which a third label arrives; return the model of many classes."""
        if classes is not None and state_of(model) is None:
            return Kesler(model).partial_fit(X, y, classes, weights)
        y = validation.validate_y(y)
        start = 0 if classes is not None else find_third_label(y, model)
        if start:
            model = copy.deepcopy(model)  # if a later row is refused, nothing is learned
            model.partial_fit(slice_any_rows(X, 0, start), y[:start], None, slice_any_rows(weights, 0, start))
        many = to_multiclass(model)
        if start:
            check_rows(
                many, require_state(many), validation.validate_batch(X, kind=require_state(many).kind).rows
            )  # with the row number in all of X
        return many.partial_fit(
            slice_any_rows(X, start, None), y[start:], classes, slice_any_rows(weights, start, None)
        )

    @lock_free
    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn one example: x is a dict of feature → number, a sequence of feature names, or a 1-D array.

        Features are names (a new one is a new feature) or column numbers. A refused example changes nothing.
        """
        model = self._model
        if model is None:
            self._learn_slow_path(x, y)
            return self
        try:
            model.learn_one(x, y)
        except (TooManyLabelsError, ModelReplacedError):
            self._learn_slow_path(x, y)
        return self

    def _learn_slow_path(self, x: Any, y: Any) -> None:
        """Learn the first example, or the first one of a third label; the caller holds the lock."""
        model = self._inner_learner if self._model is None else self._model
        try:
            model.learn_one(x, y)
        except TooManyLabelsError:
            with exclusive_lock(model):
                many = to_multiclass(model).learn_one(x, y)
                model.replace()
                model = many
        self._model = model

    def _learn_weighted_example(self, x: Any, y: Any, weight: float) -> None:
        """Learn one example, as `learn_one` takes it, with a weight above 0; the caller holds the lock."""
        model = self._inner_learner if self._model is None else self._model
        try:
            learn_weighted_example(model, x, y, weight)
        except TooManyLabelsError:
            with exclusive_lock(model):
                many = to_multiclass(model)
                learn_weighted_example(many, x, y, weight)
                model.replace()
                model = many
        self._model = model

    # --- Predicting ---

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row."""
        return np.asarray(self._working_model().predict(X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the log-odds of classes_[1] for each row; for more than two classes the log-probability of each."""
        return np.asarray(self._working_model().decision_function(X))

    @available_if(
        lambda auto: explain_missing_probabilities(auto._inner_learner if auto._model is None else auto._model)
    )
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class for each row, in the order of classes_."""
        return np.asarray(self._working_model().predict_proba(X))

    @available_if(
        lambda auto: explain_missing_probabilities(auto._inner_learner if auto._model is None else auto._model)
    )
    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return the probability of each label for one example; empty before anything was learned."""
        return {} if self._model is None else self._model.predict_proba_one(x)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on (X, y)."""
        return float(self._working_model().score(X, y, sample_weight))

    @lock_free
    def predict_one(self, x: Any) -> Any:
        """Return the label of one example; None before anything was learned."""
        return None if self._model is None else self._model.predict_one(x)

    @lock_free
    def score_one(self, x: Any) -> Any:
        """Return the score of one example; for more than two classes a dict of class → log-probability."""
        return self._working_model().score_one(x)

    def bounds(self) -> Sequence[Bound]:
        """Return the theorems that hold for the run so far."""
        found: Sequence[Bound] = self._working_model().bounds()
        return found

    # --- What was learned ---

    @property
    def forecast_weights_(self) -> dict[str, float]:
        """The weight of each forecast in the mixture."""
        return self._inner_learner.weights_of_forecasts(state_of(self._require_model("forecast_weights_")))

    # Delegated attributes. __getattr__ would slow down access to all attributes.
    classes_ = delegate_attribute("classes_")
    coef_ = delegate_attribute("coef_")
    intercept_ = delegate_attribute("intercept_")
    feature_importances_ = delegate_attribute("feature_importances_")
    feature_names_in_ = delegate_attribute("feature_names_in_")
    feature_std_ = delegate_attribute("feature_std_")
    ledger_ = delegate_attribute("ledger_")
    mistake_rows_ = delegate_attribute("mistake_rows_")
    n_features_in_ = delegate_attribute("n_features_in_")

    def _require_model(self, name: str) -> Any:
        if self._model is None:
            raise AttributeError(f"{type(self).__name__} has no {name} before it has learned something.")
        return self._model

    def _working_model(self) -> Any:
        if self._model is None:
            raise build_not_fitted_error(type(self).__name__)
        return self._model

    def __sklearn_is_fitted__(self) -> bool:
        return self._model is not None


def as_auto(model: Any) -> Any:
    """Return an Auto around this model if Auto learned it, any other model itself."""
    binary = isinstance(model, BinaryAuto)
    many = isinstance(model, Kesler) and isinstance(inner_learner_of(model), BinaryAuto) and model.update == "top"
    return Auto._from_model(model) if binary or many else model


def to_multiclass(model: BinaryAuto) -> Kesler:
    """Return Kesler's construction in the state of a binary learner, which is not changed.

    A weight w becomes w/2 in the column of the positive class and −w/2 in that of the negative one, so the
    difference of a member's two scores equals its old score. Both columns get the variances and sums of squares. The
    discriminant has the sums of both classes. The recorded size of scores becomes their variance over the columns:
    (z/2)² in place of z². The features of a forecast then differ by twice what they were, so that their weights are
    halved; the bias of the forecasts goes on as a feature of these two classes.
    """
    many = Kesler(BinaryAuto(**model.get_params()))
    old = require_state(model).copy()
    state: Any = MulticlassState(
        **{**vars(old), "labels": ClassLabels(old.labels.known()), "settings": run_settings_of(many)}
    )
    state.feature_sample = old.feature_sample.copy()
    state.label_order = None if old.label_order is None else old.label_order.with_class_numbers()
    state.more[TWO_CLASS_EXAMPLES] = np.array([state.ledger.examples])
    state.ensure_columns(2)
    updater = state.updater
    weights, sums = (array.reshape(-1, state.stride, array.shape[1]) for array in (updater.weights, updater.sums))
    weights[:, 1], sums[:, 1] = weights[:, 0], sums[:, 0]
    sums[:, 0, CLASS_SUM] = updater.statistics[:, NEGATIVE_SUM]
    updater.statistics[:, NEGATIVE_SUM] = 0.0
    for column, sign in ((0, -0.5), (1, 0.5)):
        weights[:, column, [AROW_WEIGHT, LOGISTIC_WEIGHT, DRIFT_WEIGHT]] *= sign
        sums[:, column, [AROW_SUM, LOGISTIC_SUM]] *= sign
    updater.stack[SCORE_SQUARES : SCORE_SQUARES + N_FEATURES] /= 4.0
    updater.stack[FORECAST_WEIGHTS : FORECAST_WEIGHTS + N_FEATURES] /= 2.0
    scale = np.full(N_FEATURES + 1, 2.0)
    scale[BIAS] = 1.0
    squares = np.outer(scale, scale).reshape(-1)
    updater.stack[FORECAST_PRECISION:FORECAST_INVERSE] *= squares
    updater.stack[FORECAST_INVERSE:DRIFT_WEIGHTS] /= squares
    updater.stack[BIAS_FEATURE] = 0.5
    if state.threshold is not None:
        warnings.warn(
            "A third class has arrived: the decision threshold, which is for two classes, is dropped.",
            stacklevel=find_user_stacklevel(),
        )
        state.threshold = None
    state.column_counters.counts[N_CLASSES], state.column_counters.counts[VIOLATIONS] = 2, state.ledger.mistakes
    state.column_counters.times[:2] = state.ledger.examples
    set_state(many, state)
    return many


def find_third_label(y: NDArray[Any], model: Any) -> int:
    """Return the first row with a third label, counting the labels that the model knows."""
    known = [] if state_of(model) is None else state_of(model).labels.known()
    values, first = np.unique(y, return_index=True)
    new = sorted(int(row) for value, row in zip(values.tolist(), first, strict=True) if value not in known)
    return new[2 - len(known)]


def slice_any_rows(rows: Any, start: int, stop: int | None) -> Any:
    """Return the rows start … stop − 1 of an array, a sparse matrix, a data frame or a list; None stays None."""
    if rows is None or (np.ndim(rows) == 0 and not hasattr(rows, "shape")):
        return rows
    if hasattr(rows, "tocsr"):
        rows = rows.tocsr()
    return rows.iloc[start:stop] if hasattr(rows, "iloc") else rows[start:stop]
