"""Settings of a learner that is made of another one: its own, and those of the learner inside."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from novikoff.base.estimator import BaseEstimator
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
    def inner(self) -> Any:
        """The learner inside, whose settings count; it learns nothing itself."""
        return self._default_learner() if self.estimator is None else self.estimator.inner

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
        inside = {f"estimator__{name}": value for name, value in self.inner._run_settings().items()}
        return {"estimator": type(self.inner).__name__, **inside}

    def _plain_settings(self) -> dict[str, Any]:
        inner = {"name": name_of(type(self.inner)), "settings": self.inner._plain_settings()}
        return {**super()._plain_settings(), "estimator": inner}

    @classmethod
    def _from_settings(cls, settings: dict[str, Any]) -> Any:
        name, inside = parse_inner_settings(settings.get("estimator"))
        return cls(**{**settings, "estimator": learner_class(name)._from_settings(inside)})

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
        isinstance(learner, MetaEstimator) or not isinstance(getattr(learner, "inner", None), OnlineClassifier)
    ):
        raise InputError(
            f"{scheme} is made of a binary learner of this package, such as Perceptron(), but {learner!r} came."
        )
    return learner


def check_preference_learner(stack: MetaEstimator, update: str, *, rivals: bool = False) -> None:
    """Raises InputError where the learner inside does not take examples x_i − x_j, all of them positive; `rivals` says
    that each is the preference of a class to its highest rival."""
    inner, mine = stack.inner, type(stack).__name__
    low, high = inner._feature_range()
    if (
        inner._multiclass_support == "no"
        or (inner._multiclass_support == "rivals" and not rivals)
        or low != -high
        or getattr(inner, "threshold", 0.0) != 0.0
    ):
        raise InputError(
            f"{mine} takes learners for examples of either sign and without a threshold, such as Perceptron,"
            f" MarginPerceptron, SGD, AROW, PNormPerceptron and BalancedWinnow, but {inner!r} came."
        )
    if update == "proportional" and required_margin(inner._build_loss()) == np.inf:
        raise InputError(
            f"update='proportional' needs a learner that is content at some score, but {inner!r} never is."
        )
