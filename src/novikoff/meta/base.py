"""Settings of a learner that is made of another one: its own, and those of the learner inside."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from novikoff.base.estimator import BaseEstimator
from novikoff.base.internals import (
    build_from_settings,
    build_loss,
    feature_range_of,
    inner_learner_of,
    multiclass_support_of,
    plain_settings_of,
    run_settings_of,
)
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.core.losses import required_margin
from novikoff.errors import InputError
from novikoff.learner_registry import learner_class, name_of
from novikoff.linear.arow import AROW
from novikoff.schema import check_dict, check_text


class MetaEstimator(BaseEstimator):
    """Abstract. `estimator` is the binary learner inside; None stands for the default."""

    estimator: Any

    @property
    def _inner_learner(self) -> Any:
        """The learner inside, whose settings count; it learns nothing itself."""
        return self._default_learner() if self.estimator is None else inner_learner_of(self.estimator)

    def _default_learner(self) -> OnlineClassifier:
        """Return the learner that is used where none is given."""
        return AROW()

    def _scheme_info(self) -> dict[str, Any]:
        return {"multiclass": name_of(type(self))}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        params = super().get_params(deep)
        if deep and isinstance(self.estimator, BaseEstimator):
            params |= {f"estimator__{name}": value for name, value in self.estimator.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        inside = {name.removeprefix("estimator__"): params.pop(name) for name in list(params) if "__" in name}
        super().set_params(**params)
        if inside:
            if not isinstance(self.estimator, BaseEstimator):
                raise InputError(f"estimator has no settings {sorted(inside)}: it is {self.estimator!r}.")
            self.estimator.set_params(**inside)
        return self

    def _inner_settings(self) -> dict[str, Any]:
        """Those of the learner inside that shape a run, and which learner it is."""
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
        return type(self)(**{**super().get_params(deep=False), "estimator": learner})


def parse_inner_settings(inner: Any) -> tuple[str, dict[str, Any]]:
    """Return the name and the settings of a learner inside another, as a file has them."""
    inner = check_dict("the learner inside", inner)
    return check_text("the name of the learner inside", inner.get("name")), check_dict(
        "the settings of the learner inside", inner.get("settings")
    )


def check_binary_learner(learner: Any, scheme: str) -> Any:
    """The learner, as it is; InputError for anything but a binary learner of this package, or None."""
    if learner is not None and (
        isinstance(learner, MetaEstimator) or not isinstance(getattr(learner, "_inner_learner", None), OnlineClassifier)
    ):
        raise InputError(
            f"{scheme} is made of a binary learner of this package, such as Perceptron(), but {learner!r} came."
        )
    return learner


def check_preference_learner(stack: MetaEstimator, update: str, *, rivals: bool = False) -> None:
    """Raises InputError where the learner inside does not take examples x_i − x_j, all of them positive; `rivals` says
    that each is the preference of a class to its highest rival."""
    inner, mine = inner_learner_of(stack), type(stack).__name__
    low, high = feature_range_of(inner)
    if (
        multiclass_support_of(inner) == "no"
        or (multiclass_support_of(inner) == "rivals" and not rivals)
        or low != -high
        or getattr(inner, "threshold", 0.0) != 0.0
    ):
        raise InputError(
            f"{mine} takes learners for examples of either sign and without a threshold, such as Perceptron,"
            f" MarginPerceptron, SGD, AROW, PNormPerceptron and BalancedWinnow, but {inner!r} came."
        )
    if update == "proportional" and required_margin(build_loss(inner)) == np.inf:
        raise InputError(
            f"update='proportional' needs a learner that is content at some score, but {inner!r} never is."
        )
