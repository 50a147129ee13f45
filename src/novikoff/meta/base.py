"""Base class of models around a binary learner: their settings include those of the learner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from novikoff.base.estimator import BaseEstimator
from novikoff.base.internals import build_from_settings, inner_learner_of, plain_settings_of, run_settings_of, spec_of
from novikoff.base.learner_spec import LearnerSpec
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.base.scikit_learn.metadata_routing import copy_requests
from novikoff.core.losses import required_margin
from novikoff.errors import InputError
from novikoff.learner_registry import learner_class, name_of
from novikoff.linear.arow import AROW
from novikoff.schema import check_dict, check_text


def inner_setting(name: str, convert: Callable[[Any], Any]) -> Any:
    """Return a property that is a setting of the inner learner."""
    return property(lambda model: convert(getattr(model._inner_learner, name)))


class MetaEstimator(BaseEstimator):
    """An abstract model around a binary learner, `estimator`; None stands for the default learner."""

    estimator: Any

    @property
    def _inner_learner(self) -> Any:
        """The inner learner. It provides settings and the algorithm; its own state stays empty."""
        return self._default_learner() if self.estimator is None else inner_learner_of(self.estimator)

    def _default_learner(self) -> OnlineClassifier:
        """Return the default inner learner."""
        return AROW()

    def _scheme_info(self) -> dict[str, Any]:
        return {"multiclass": name_of(type(self))}

    # --- Settings of the inner learner ---

    fit_intercept: Any = inner_setting("fit_intercept", bool)
    passes: Any = inner_setting("passes", int)
    shuffle: Any = inner_setting("shuffle", bool)

    @property
    def _shuffle_seed(self) -> int:
        return int(self._inner_learner.random_state)

    def _spec(self) -> LearnerSpec:
        """Return the algorithm of the inner learner."""
        return spec_of(self._inner_learner)

    def _run_settings(self) -> dict[str, Any]:
        """Return the settings that determine the run: those of the model and of the inner learner."""
        mine = {name: value for name, value in self.get_params(deep=False).items() if name != "estimator"}
        return {**mine, **self._inner_settings()}

    def _inner_settings(self) -> dict[str, Any]:
        """Return the settings of the inner learner that determine the run, and its name."""
        inside = {f"estimator__{name}": value for name, value in run_settings_of(self._inner_learner).items()}
        return {"estimator": type(self._inner_learner).__name__, **inside}

    def _plain_settings(self) -> dict[str, Any]:
        inner = {"name": name_of(type(self._inner_learner)), "settings": plain_settings_of(self._inner_learner)}
        return {**super()._plain_settings(), "estimator": inner}

    @classmethod
    def _from_settings(cls, settings: dict[str, Any]) -> Any:
        name, inside = parse_inner_settings(settings.get("estimator"))
        return cls(**{**settings, "estimator": build_from_settings(learner_class(name), inside)})

    def __sklearn_clone__(self) -> Self:
        learner = None if self.estimator is None else type(self.estimator)(**self.estimator.get_params())
        return copy_requests(self, type(self)(**{**self.get_params(deep=False), "estimator": learner}))


def parse_inner_settings(inner: Any) -> tuple[str, dict[str, Any]]:
    """Return the name and the settings of an inner learner from a file."""
    inner = check_dict("the learner inside", inner)
    return check_text("the name of the learner inside", inner.get("name")), check_dict(
        "the settings of the learner inside", inner.get("settings")
    )


def check_binary_learner(learner: Any, scheme: str) -> Any:
    """Return the learner; raise InputError for anything but a binary learner of this package, or None."""
    if learner is not None and (
        isinstance(learner, MetaEstimator) or not isinstance(getattr(learner, "_inner_learner", None), OnlineClassifier)
    ):
        raise InputError(f"{scheme} needs a binary learner of this package, such as Perceptron(), not {learner!r}.")
    return learner


def check_preference_learner(stack: MetaEstimator, update: str, *, rivals: bool = False) -> None:
    """Raise InputError if the inner learner does not support positive examples x_i − x_j.

    `rivals` says that each is the preference of a class over its highest rival.
    """
    inner, mine = inner_learner_of(stack), type(stack).__name__
    spec = spec_of(inner)
    low, high = spec.feature_range
    if (
        spec.multiclass_support == "no"
        or (spec.multiclass_support == "rivals" and not rivals)
        or low != -high
        or getattr(inner, "threshold", 0.0) != 0.0
    ):
        raise InputError(
            f"{mine} takes learners for examples of either sign and without a threshold, such as Perceptron,"
            f" MarginPerceptron, SGD, AROW, PNormPerceptron and BalancedWinnow, not {inner!r}."
        )
    if update == "proportional" and required_margin(spec.loss) == np.inf:
        raise InputError(
            f"update='proportional' needs a learner that is content at some score, but {inner!r} never is."
        )
