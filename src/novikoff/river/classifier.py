"""River's `Classifier` around a classifier of novikoff."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any

from novikoff.base import internals
from novikoff.errors import InputError, import_optional
from novikoff.river.encoding import encode_features

RiverClassifier: Any = import_optional("river.base", "river", "novikoff.river").Classifier


class Classifier(RiverClassifier):
    """A River classifier that learns and predicts with a classifier of novikoff.

    Strings are categories: `{"job": "nurse"}` is the feature `job=nurse`, as in raw rows. None, NaN and the strings
    that are missing values in tables are left out. A learner that was fitted to raw rows or files keeps its encoding.

    Parameters
    ----------
    learner
        A classifier of novikoff that learns single examples: a binary learner such as `AROW()`, a multiclass scheme
        such as `Kesler(AROW())`, or `Auto()`. It is copied, not changed. A fitted learner is continued; clones have
        its settings and have learned nothing.
    categorical
        The names of features whose numbers are categories.

    Attributes
    ----------
    model
        The classifier of novikoff that learns. It can be saved, inspected and certified.

    Examples
    --------

    >>> from novikoff import AROW
    >>> from novikoff.river import Classifier
    >>> from river import datasets, evaluate, metrics, preprocessing

    >>> model = preprocessing.StandardScaler() | Classifier(AROW())
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.47%

    """

    def __init__(self, learner: Any, categorical: tuple[str, ...] | None = None) -> None:
        _check_learner(learner)
        self.model = copy.deepcopy(learner)
        self.learner = _copy_unfitted(learner) if _is_fitted(learner) else learner
        self.categorical = _check_categorical(categorical)
        self._has_own_encoding = internals.has_encoding(learner)  # that of the rows or files to which it was fitted
        if self.categorical and self._has_own_encoding:
            raise InputError(
                "The learner was fitted to rows with columns, and keeps their encoding: leave categorical out."
            )

    # --- Learning ---

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one example with the label y. An example of weight w makes one step w times as long, one of weight 0
        is left out."""
        if w == 1.0:
            self.model.learn_one(self._encode(x), y)
            return
        if not internals.takes_sample_weight(self.model):
            raise InputError(
                f"{type(self.model).__name__} takes no weights of examples: leave w out, or use a learner that does,"
                " such as AROW, SGD, Perceptron or Auto."
            )
        weight = _check_weight(w)
        if weight > 0.0:
            internals.learn_weighted_example(self.model, self._encode(x), y, weight)

    # --- Predicting ---

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Return the label of one example; None before the first example was learned."""
        return self.model.predict_one(self._encode(x))

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each known label; empty before the first example was learned.

        Labels have equal shares until an example has calibrated the scores; the predicted one is the first then.
        NotImplementedError, as River expects it, if the learner has no probabilities.
        """
        encoded = self._encode(x)
        try:
            predict = self.model.predict_proba_one
        except AttributeError as problem:
            if not self._awaits_calibration():
                raise NotImplementedError(str(problem)) from None
            return self._share_equally(self.model.predict_one(encoded))
        found: dict[Any, float] = predict(encoded)
        return found

    def _awaits_calibration(self) -> bool:
        """Return whether further examples will calibrate the scores of the model."""
        if not _is_fitted(self.model):
            return False
        working = internals.working_model_of(self.model) if internals.is_facade(self.model) else self.model
        return internals.is_calibrated(working)

    def _share_equally(self, predicted: Any) -> dict[Any, float]:
        labels = self.model.classes_.tolist()
        return {label: 1.0 / len(labels) for label in dict.fromkeys([predicted, *labels])}

    def _encode(self, x: dict[Any, Any]) -> Any:
        return x if self._has_own_encoding else encode_features(x, self.categorical or ())

    # --- River's protocol ---

    @property
    def _multiclass(self) -> bool:
        return internals.accepts_multiclass(self.learner)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from novikoff.auto import Auto

        yield {"learner": Auto()}

    def _unit_test_skips(self) -> set[str]:
        # The check wants True and False before any label was seen, but labels can be of any type here.
        return {"check_predict_proba_one_binary"}


def _check_learner(learner: Any) -> None:
    if not internals.is_estimator(learner) or isinstance(learner, type):
        hint = f" Use {learner.__name__}()." if isinstance(learner, type) else ""
        raise InputError(f"Classifier needs a classifier of novikoff, such as AROW(), not {learner!r}.{hint}")
    name = type(learner).__name__
    if not hasattr(learner, "learn_one"):
        raise InputError(f"{name} learns no single examples: use a learner with learn_one, such as AROW() or Auto().")
    if not internals.predicts_one_label(learner):
        raise InputError(f"{name} predicts several labels for one example, but River's classifiers predict one.")


def _check_categorical(names: Any) -> tuple[Any, ...] | None:
    if names is None:
        return None
    if isinstance(names, str) or not isinstance(names, tuple | list | set | frozenset):
        raise InputError(f"categorical must be a tuple of names, such as ('zip',), but is {names!r}.")
    return tuple(names) or None  # River takes the first entry of each tuple


def _check_weight(w: Any) -> float:
    try:
        weight = math.nan if isinstance(w, str | bytes) else float(w)
    except (TypeError, ValueError, OverflowError):
        weight = math.nan
    if not 0.0 <= weight < math.inf:
        raise InputError(f"w must be a finite number of at least 0, but is {w!r}.")
    return weight


def _is_fitted(learner: Any) -> bool:
    return bool(learner.__sklearn_is_fitted__())


def _copy_unfitted(learner: Any) -> Any:
    """Return an unfitted learner with the same settings."""
    return type(learner)(**copy.deepcopy(learner.get_params(deep=False)))
