"""What a model tells of what it has learned, or that it has learned nothing yet."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic, TypeVar

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.base.estimator import BaseEstimator
from novikoff.data import validation
from novikoff.errors import build_not_fitted_error

S = TypeVar("S", bound=Any)


class StatefulEstimator(BaseEstimator, Generic[S]):
    """Abstract. A state has features, their names where they have any, and labels."""

    _state: S | None = None

    def _require_fitted(self) -> S:
        if self._state is None:
            raise build_not_fitted_error(type(self).__name__)
        return self._state

    def _require_attribute(self, name: str) -> S:
        """The same for an attribute, which is not there before."""
        if self._state is None:
            raise AttributeError(f"{type(self).__name__} has no {name} before it has learned something.")
        return self._state

    def __sklearn_is_fitted__(self) -> bool:
        return self._state is not None

    @property
    def n_features_in_(self) -> int:
        """How many features there are so far."""
        return self._require_attribute("n_features_in_").features

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the features, where they have names."""
        names = self._require_attribute("feature_names_in_").names
        if names is None:
            raise AttributeError(f"The features of this {type(self).__name__} have no names.")
        return np.array(list(names.columns), object)

    def _check_features(self, batch: validation.ValidatedBatch) -> None:
        """InputError where a batch has other features than those that were learned."""
        state = self._require_fitted()
        names = None if state.names is None else list(state.names.columns)
        validation.check_features(type(self).__name__, state.features, names, batch)

    @abstractmethod
    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose label is predicted."""
        predicted = self.predict(X)
        return float(np.average(predicted == validation.validate_y(y, len(predicted)), weights=sample_weight))
