"""The HTML diagram of an estimator in notebooks, drawn by scikit-learn where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class HtmlRepr:
    """`_repr_html_` of estimators: missing without scikit-learn, or if its option `display` is not "diagram"."""

    def __get__(self, model: Any, owner: type[Any]) -> Any:
        if model is None:
            return self
        try:
            from sklearn import get_config
            from sklearn.utils import estimator_html_repr
        except ImportError:
            raise AttributeError("_repr_html_ needs scikit-learn.") from None
        if get_config()["display"] != "diagram":
            raise AttributeError("_repr_html_ needs scikit-learn's option display='diagram'.")
        render: Callable[[], str] = lambda: estimator_html_repr(model)  # noqa: E731 - a method without arguments
        return render


class BorrowedMethod:
    """A method of scikit-learn's base class that its diagram calls, in versions that have it."""

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.name = name

    def __get__(self, model: Any, owner: type[Any]) -> Any:
        try:
            from sklearn.base import BaseEstimator

            return getattr(BaseEstimator, self.name).__get__(model, owner)
        except (ImportError, AttributeError):
            raise AttributeError(f"{self.name} needs a newer version of scikit-learn.") from None
