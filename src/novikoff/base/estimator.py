"""Base class of all estimators: settings as scikit-learn expects them, without importing it, and fitted attributes."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

from novikoff._compiled.lazy_numpy import ArrayLike
from novikoff.base.class_weights import to_weights_by_name
from novikoff.base.model_lock import ModelLock, shared_lock, wrap_methods
from novikoff.data import validation
from novikoff.errors import InputError, build_not_fitted_error

REQUIRED = object()
"""Stands for the default of a setting that must be given."""


class BaseEstimator:
    """An object whose settings are the keyword arguments of `__init__`. They are checked when it learns."""

    __slots__ = ("__dict__", "__weakref__", "_model_lock")  # scikit-learn does not see the lock as an attribute

    _not_copied: ClassVar[tuple[str, ...]] = ()
    """Attributes that copies and pickles leave out: fast paths, which are built again when needed."""
    _accepts_multiclass: ClassVar[bool] = False
    """Whether the estimator takes more than two classes, for scikit-learn."""
    _state: Any = None
    """The learned state: at least features, their names or None, and labels."""

    _model_lock: ModelLock

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:  # noqa: ARG004 - settings, which __init__ takes
        model = super().__new__(cls)
        model._model_lock = ModelLock()
        return model

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        wrap_methods(cls)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes for a pickle: a snapshot without the lock, because another thread may learn
        meanwhile."""
        return self._snapshot({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        memo[id(self)] = model = type(self).__new__(type(self))
        model.__dict__.update(self._snapshot(memo))
        return model

    def __copy__(self) -> Self:
        """Return a deep copy: two models with separate locks must not share learned state."""
        return copy.deepcopy(self)

    def _snapshot(self, memo: dict[int, Any]) -> dict[str, Any]:
        """Return a deep copy of all attributes but the fast paths, taken while no thread learns."""
        with shared_lock(self):
            attributes = {name: value for name, value in self.__dict__.items() if name not in self._not_copied}
            return copy.deepcopy(attributes, memo)

    def _close_fast_path(self, learns: bool) -> None:
        """Make the fast path for learning refuse examples; with `learns`, those for predicting too."""

    def _open_fast_path(self) -> None:
        """Undo `_close_fast_path`."""

    @classmethod
    @functools.cache
    def _setting_defaults(cls) -> Mapping[str, Any]:
        """Return the settings with their defaults; REQUIRED stands for a missing default.

        `inspect` would give the same result, but importing it takes longer than learning a small file.
        """
        function: Any = cls.__init__
        while hasattr(function, "__wrapped__"):  # a decorated __init__ may take any arguments
            function = function.__wrapped__
        code, by_place, by_name = function.__code__, function.__defaults__ or (), function.__kwdefaults__ or {}
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        last = names[code.co_argcount - len(by_place) : code.co_argcount]
        found = dict.fromkeys(names[1:], REQUIRED) | dict(zip(last, by_place, strict=True)) | by_name
        return MappingProxyType(found)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        params = {name: getattr(self, name) for name in sorted(self._setting_defaults())}
        inner: Any = params.get("estimator")
        if deep and hasattr(inner, "get_params") and not isinstance(inner, type):
            params |= {f"estimator__{name}": value for name, value in inner.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        allowed, inner = self._setting_defaults(), dict[str, Any]()
        if "estimator" in allowed:
            prefix = "estimator__"
            inner = {name.removeprefix(prefix): params.pop(name) for name in list(params) if name.startswith(prefix)}
        for name, value in params.items():
            if name not in allowed:
                raise InputError(
                    f"Invalid parameter {name!r} for estimator {type(self).__name__}."
                    f" Valid parameters are: {sorted(allowed)}."
                )
            setattr(self, name, value)
        if inner:
            estimator: Any = getattr(self, "estimator", None)
            if not hasattr(estimator, "set_params"):
                raise InputError(f"estimator has no settings {sorted(inner)}: it is {estimator!r}.")
            estimator.set_params(**inner)
        return self

    def _plain_settings(self) -> dict[str, Any]:
        """Return the settings as plain values, lists and dicts, for a model file."""
        return {name: to_plain_setting(value) for name, value in self.get_params(deep=False).items()}

    @classmethod
    def _from_settings(cls, settings: dict[str, Any]) -> Any:
        """Return an estimator with settings from `_plain_settings`."""
        return cls(**settings)

    def _working_model(self) -> Any:
        """Return the learner that does the work: this one, unless it is a facade such as Auto."""
        return self

    def _describe_guarantee(self, examples: int | None = None, delta: float = 0.05) -> dict[str, Any] | None:
        """Return the guarantee for the error on new data of the hypothesis that predicts, after `examples` distinct
        examples; None where no theorem applies."""
        return None

    def __repr__(self) -> str:
        settings, defaults = self.get_params(deep=False), self._setting_defaults()
        changed = [
            f"{name}={value!r}" for name, value in settings.items() if not is_same_setting(value, defaults[name])
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    # --- Fitted attributes ---

    def _require_fitted(self) -> Any:
        """Return the learned state; raise NotFittedError before the first example."""
        if self._state is None:
            raise build_not_fitted_error(type(self).__name__)
        return self._state

    def _require_attribute(self, name: str) -> Any:
        """Return the learned state for an attribute; raise AttributeError before the first example."""
        if self._state is None:
            raise AttributeError(f"{type(self).__name__} has no {name} before it has learned something.")
        return self._state

    def __sklearn_is_fitted__(self) -> bool:
        return self._state is not None

    def _check_features(self, batch: validation.ValidatedBatch) -> None:
        """Raise InputError if a batch has other features than the learned ones."""
        state = self._require_fitted()
        names = None if state.names is None else list(state.names.columns)
        validation.check_features(type(self).__name__, state.features, names, batch)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True, single_output=True),
            classifier_tags=ClassifierTags(multi_class=self._accepts_multiclass),
            input_tags=InputTags(sparse=True),
        )


class SampleWeightMixin(BaseEstimator):
    """A learner that takes weights of examples; precedes the other base class."""

    def fit(self: Any, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Forget what was learned, then learn (X, y) `passes` times, in random order unless `shuffle` is False.

        An example of weight c makes one step c times as long (for multiplicative learners, of exponents).
        """
        self._fit_rows(X, y, sample_weight)
        return self

    def partial_fit(self: Any, X: Any, y: Any, classes: Any = None, sample_weight: ArrayLike | None = None) -> Any:
        """Continue learning with one pass over these rows; `classes` names all labels at the first call."""
        return self._partial_fit(X, y, classes, sample_weight)

    def _learn_weighted_example(self: Any, x: Any, y: Any, weight: float) -> None:
        """Learn one example, as `learn_one` takes it, with a weight above 0."""
        from novikoff.base.single_example import learn_as_batch

        learn_as_batch(self, x, y, weight)


def is_same_setting(a: Any, b: Any) -> bool:
    """Return whether two settings are equal; values that can't be compared, such as arrays, count as different."""
    return a is b or (type(a) is type(b) and isinstance(a, bool | int | float | str) and a == b)


def to_plain_setting(value: Any) -> Any:
    """Return a NumPy number or array as Python numbers and lists, and weights of labels by the texts of the labels."""
    return value.tolist() if hasattr(value, "tolist") else to_weights_by_name(value)


def check_positive(**settings: float) -> None:
    for name, value in settings.items():
        if not (_is_number(value) and 0.0 < value < float("inf")):
            raise InputError(f"{name} must be a number above 0, but is {value!r}.")


def check_non_negative(**settings: float) -> None:
    for name, value in settings.items():
        if not (_is_number(value) and 0.0 <= value < float("inf")):
            raise InputError(f"{name} must be a number of at least 0, but is {value!r}.")


def check_finite(**settings: float) -> None:
    for name, value in settings.items():
        if not (_is_number(value) and abs(value) < float("inf")):
            raise InputError(f"{name} must be a finite number, but is {value!r}.")


def check_above_one(**settings: float) -> None:
    for name, value in settings.items():
        if not (_is_number(value) and 1.0 < value < float("inf")):
            raise InputError(f"{name} must be a number above 1, but is {value!r}.")


def check_range(least: float, most: float, **settings: float) -> None:
    for name, value in settings.items():
        if not (_is_number(value) and least <= value <= most):
            raise InputError(f"{name} must be a number from {least:g} to {most:g}, but is {value!r}.")


def check_choice(choices: tuple[str, ...], **settings: str) -> None:
    for name, value in settings.items():
        if value not in choices:
            raise InputError(f"{name} must be one of {', '.join(choices)}, but is {value!r}.")


def check_positive_int(**settings: int) -> None:
    for name, value in settings.items():
        if not (_is_number(value) and 1 <= value < 2**53 and value == int(value)):
            raise InputError(f"{name} must be a whole number of at least 1, but is {value!r}.")


def check_seed(**settings: int) -> None:
    for name, value in settings.items():
        if not (hasattr(type(value), "__index__") and not isinstance(value, bool) and 0 <= value < 2**63):
            raise InputError(f"{name} must be a whole number from 0 to 2^63 - 1, but is {value!r}.")


def check_bool(**settings: bool) -> None:
    for name, value in settings.items():
        if value not in (True, False):
            raise InputError(f"{name} must be True or False, but is {value!r}.")


def _is_number(value: Any) -> bool:
    try:
        return float(value) == float(value) and not isinstance(value, str)
    except (TypeError, ValueError, OverflowError):
        return False
