"""The internal interface of models with columns of weights; see `novikoff.base.internals`.

`inner_column_bounds_of` also takes a `KernelPerceptron`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from novikoff.theory.bound_declaration import Bound


def has_columns(model: Any) -> bool:
    """Return whether the model has named columns of weights."""
    return hasattr(model, "_column_names")


def column_names_of(model: Any) -> list[str]:
    """Return the names of the columns: classes, pairs of them, or bits of a code."""
    return model._column_names()


def count_used_columns(model: Any, state: Any) -> int:
    """Return how many columns of weights are in use."""
    return model._n_used_columns(state)


def weights_of(model: Any) -> NDArray[np.float64]:
    """Return the weights of all columns, those of the bias first."""
    return model._weights()


def scheme_of(model: Any, labels: Any) -> Any:
    """Return the record of the multiclass scheme for these labels, as the loop takes it."""
    return model._scheme(labels)


def encode_targets(model: Any, codes: Any) -> Any:
    """Return the codes of labels as the loop takes them."""
    return model._encode_targets(codes)


def has_single_labels(model: Any) -> bool:
    """Return whether the model learns one label for each example by the shared loop."""
    return bool(model._has_single_labels)


def class_scores_of(model: Any, scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the score of each class, and the predicted class, for scores of columns."""
    return model._class_scores(scores)


def column_sides_of(model: Any, codes: Any, column: int) -> NDArray[np.int8]:
    """Return the label of each example in the binary problem of a column: −1, 1, or 0 for not learned."""
    return model._column_sides(codes, column)


def inner_column_bounds_of(model: Any) -> Sequence[Bound]:
    """Return the theorems of the inner learner for each of the columns."""
    return model._inner_column_bounds()


def edge_counter_of(model: Any) -> Callable[[Any, Any], int] | None:
    """Return the function that counts edges between two labels of a tree; None without a tree."""
    return getattr(model, "_count_edges", None)
