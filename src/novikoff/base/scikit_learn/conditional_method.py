"""Methods that a model has or lacks, depending on its settings."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class ConditionalMethod:
    """A method that exists only if `condition(model)` holds, so that `hasattr` tells; as scikit-learn's `available_if`,
    without importing scikit-learn."""

    def __init__(self, function: Callable[..., Any], condition: Callable[[Any], str | None]) -> None:
        """`condition` returns why the model lacks the method, or None if it has it."""
        self.function, self.condition = function, condition
        functools.update_wrapper(self, function)  # type: ignore[arg-type]

    def __get__(self, model: Any, owner: Any = None) -> Any:
        if model is None:
            return self.function
        reason = self.condition(model)
        if reason is not None:
            raise AttributeError(f"{type(model).__name__} has no {self.function.__name__}: {reason}")
        return self.function.__get__(model, owner)


def available_if(condition: Callable[[Any], str | None]) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for methods of models for which `condition` returns None; otherwise it returns the reason."""
    return lambda function: ConditionalMethod(function, condition)
