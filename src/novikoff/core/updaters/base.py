"""Updaters: the protocol that each one follows, and the functions that have a body per updater.

An updater is a NamedTuple: the weights w with the other arrays of its state, and its settings. It implements functions
of this module by registering a body for its class: `@update_weight.of(AdaGrad)`. In the loop (core/loop.py), for the
example x = x_t with the gradient g:

| function            | formula                          | default                                 |
|---------------------|----------------------------------|-----------------------------------------|
| `update_weight`     | w_j ← U(w_j, r·x_j, t)           | must be implemented, or `update` instead |
| `update`            | w ← U(w, g·x, t)                 | `update_weight` for each term of x and the bias |
| `scale_step`        | r = r(g, t)                      | r = g                                   |
| `score`             | s = w·x + b, and ‖x‖²            | a dot product                           |
| `add_bias`          | s = dot + b                      | b = bias · w_0                          |
| `apply_pending`     | w_j of step t, before `score`    | nothing is pending                      |
| `end_step`          | w ← E(w, t), updated or not      | nothing                                 |
| `accepts_row`       | is x in the domain of U          | all finite x                            |
| `norm`              | ‖w‖                              | 0; for losses that depend on it         |
| `effective_sq_norm` | ‖x‖² in the space of the bound   | ‖x‖²                                    |
| `bias_sq_norm`      | the term of the bias in ‖x‖²     | bias²                                   |
| `final_weight`      | w_j of the hypothesis after t    | w_j                                     |
| `final_bias`        | b of the hypothesis after t      | `final_weight` of slot 0                |
| `predicted_score`   | s of the hypothesis after t      | by `final_weight`                       |

Bodies are inlined into the loop, so that a default costs nothing.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from novikoff._compiled import buffers
from novikoff._compiled.jit import compiled, compiled_read_only, generic
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.dot import all_in_range, get_unchecked
from novikoff.data.rows import (
    Rows,
    RowView,
    bias_slot,
    dot_and_sq_norm,
    end_term,
    first_term,
    is_term,
    row_sq_norm,
    weight_slot,
)

PER_SLOT_FIELDS = ("weights", "seen", "sums", "members", "pulls", "marks", "touched")
"""Fields with one entry per slot and column of weights, or none where the settings don't need them."""
SCRATCH_FIELDS = ("example", "example_slots")
"""Buffers for one example, with one entry per slot, whatever the number of columns."""
PER_FEATURE_FIELDS = ("statistics", "dense_slots", *SCRATCH_FIELDS)
"""Fields with one entry per slot, whatever the number of columns of weights."""
APPENDED_FIELDS = ("ends", "born", "signs", "indices", "values")
"""Fields to which entries are only ever added."""
DERIVED_FIELDS = ("table", "mirror", "columns", "lows", "highs", "flips", "notes", *SCRATCH_FIELDS)
"""Fields that follow from the settings, and are not saved."""
G = TypeVar("G", bound=Any)
ALL_FEATURES = buffers.zeros(0, "uint32")


class Updater(Protocol):
    """The fields that every updater has."""

    @property
    def weights(self) -> NDArray[np.floating]:
        """Slot 0 is that of the bias, slot j + 1 that of feature j. Some updaters keep several numbers per slot, of
        which w_j is the first."""

    @property
    def bias(self) -> float:
        """The value of the bias feature: 1, or 0 for none."""


@compiled
def max_sq_norm(weights: NDArray[np.floating]) -> float:
    """Return the limit of squared lengths, so far below the largest number of the type that no update exceeds that."""
    return 1e300 if weights.itemsize == 8 else 1e36


# --- The functions of an updater ---


@generic
def update_weight(updater: Updater, j: int, x: float, scaled_step: float, t: int) -> None:
    """Update the weight in slot j, whose feature has the value x, at step t; `scaled_step` is r."""


@generic
def update(updater: Updater, rows: RowView, i: int, gradient: float, t: int) -> None:
    """Update the weights of all terms of row i, then that of the bias."""
    update_weights(updater, rows, i, gradient, t)


@generic
def scale_step(updater: Updater, gradient: float, t: int) -> float:
    """Return r, the factor of the update at step t that all weights share."""
    return gradient


@generic
def score(updater: Updater, rows: RowView, i: int) -> tuple[float, float]:
    """Return (s, ‖x‖²) of row i, bias included, with the weights of this moment.

    A row whose ‖x‖² is not below `max_sq_norm` will be rejected: it must not change the state.
    """
    apply_pending(updater, rows, i)
    dot, sq_norm = dot_and_sq_norm(rows, i, updater.weights)
    return add_bias(updater, dot, bias_slot(rows)), sq_norm + bias_sq_norm(updater)


@generic
def add_bias(updater: Updater, dot: float, j: int) -> float:
    """Return s, from the dot product of the features and the weight of the bias, which is in slot j."""
    return dot + updater.bias * np.float64(updater.weights[j])


@generic
def apply_pending(updater: Updater, rows: RowView, i: int) -> None:
    """Apply to the weights of row i the changes that `end_step` deferred; not for a row that will be rejected."""


@generic
def end_step(updater: Updater, t: int) -> None:
    """Change all weights at the end of step t, updated or not. Such changes must be deferred to `apply_pending`."""


@generic
def accepts_row(updater: Updater, rows: RowView, i: int) -> bool:
    """Return whether the updater takes the values of row i."""
    return True


@generic
def norm(updater: Updater) -> float:
    """Return ‖w‖, for losses that depend on it."""
    return 0.0


@generic
def effective_sq_norm(updater: Updater, sq_norm: float) -> float:
    """Return ‖x‖² of the example that was scored last, in the space in which the bound of the learner holds."""
    return sq_norm


@generic
def bias_sq_norm(updater: Updater) -> float:
    """Return the term of the bias in ‖x‖²."""
    return updater.bias * updater.bias


@generic
def final_weight(updater: Updater, j: int, t: int) -> float:
    """Return the weight in slot j of the hypothesis that predicts after t steps."""
    return np.float64(updater.weights[j])


@generic
def final_bias(updater: Updater, j: int, t: int) -> float:
    """Return the constant term of that hypothesis, from the weight of the bias, which is in slot j."""
    return final_weight(updater, j, t)


@generic
def predicted_score(updater: Updater, rows: RowView, i: int, last_score: float, tie: float, t: int) -> float:
    """Return the score of row i by the hypothesis that predicts after t steps; `last_score` is s of the last weights.

    The terms are added one after another, so that zeros make no difference.
    """
    total = 0.0
    for k in range(first_term(rows, i), end_term(rows, i)):
        x = np.float64(get_unchecked(rows.values, k))
        if is_term(rows, x):
            total += x * final_weight(updater, weight_slot(rows, i, k), t)
    return total + updater.bias * final_bias(updater, bias_slot(rows), t)


# --- Functions made of them ---


@compiled
def is_valid_row(updater: Updater, rows: Rows, i: int) -> bool:
    """Return whether row i can be learned: finite, not too large, without zeros, and taken by the updater."""
    return row_sq_norm(rows, i) < max_sq_norm(updater.weights) and accepts_row(updater, rows, i)


@compiled
def values_in_range(rows: Rows, i: int, least: float, most: float) -> bool:
    """Return whether all values of row i but zeros are from `least` to `most`."""
    return all_in_range(rows.values, first_term(rows, i), end_term(rows, i), least, most)


@compiled
def first_out_of_range(rows: Rows, count: int, least: float, most: float) -> int:
    """Return the first row with a value that is not from `least` to `most`, or the number of rows."""
    for i in range(count):
        if not values_in_range(rows, i, least, most):
            return i
    return count


@compiled
def update_weights(updater: Updater, rows: RowView, i: int, gradient: float, t: int) -> None:
    """Update the weight of each term of row i, then that of the bias."""
    scaled_step = scale_step(updater, gradient, t)
    for k in range(first_term(rows, i), end_term(rows, i)):
        x = np.float64(get_unchecked(rows.values, k))
        if is_term(rows, x):
            update_weight(updater, weight_slot(rows, i, k), x, scaled_step, t)
    if updater.bias != 0.0:
        update_weight(updater, bias_slot(rows), updater.bias, scaled_step, t)


@compiled_read_only
def write_final_weights(
    updater: Updater,
    stride: int,
    n_columns: int,
    times: NDArray[np.int64],
    indices: NDArray[np.uint32],
    out: NDArray[np.float64],
) -> None:
    """Write the weights of the hypothesis that predicts: the constants, then those of the features in `indices`.

    Without indices these are all features. The weights are a table of `stride` columns, of which the first `n_columns`
    are read; one weight vector is a table of one column. Features without slots are skipped.
    """
    slots, all_features = len(updater.weights) // stride, len(indices) == 0
    for c in range(n_columns):
        out[c] = final_bias(updater, c, times[c])
        for k in range(1, len(out) // stride):
            j = k if all_features else int(indices[k - 1]) + 1
            if j < slots:
                out[k * stride + c] = final_weight(updater, j * stride + c, times[c])


def allocate_filled(shape: tuple[int, ...], fill: Any, dtype: Any) -> NDArray[Any]:
    """Return an array of one value. The system provides zeroed memory on first use, which costs nothing here."""
    return buffers.zeros(shape, dtype) if fill == 0.0 else buffers.full(shape, fill, dtype)


def resize_updater(updater: G, slots: int) -> G:
    """Return the updater with `slots` slots: new weights are 0 or the field `fresh`; surplus slots are dropped."""
    changes = {}
    for name in (*PER_SLOT_FIELDS, *PER_FEATURE_FIELDS):
        array = getattr(updater, name, None)
        if array is not None and len(array):
            fill = getattr(updater, "fresh", 0.0) if name == "weights" else 0.0
            changes[name] = resize_array(array, slots, fill)
    return updater._replace(**changes)


def resize_array(array: NDArray[Any], rows: int, fill: Any = 0.0) -> NDArray[Any]:
    """Return a copy with this number of rows; new ones are `fill`."""
    resized = allocate_filled((rows, *array.shape[1:]), fill, array.dtype)
    n_kept = min(rows, len(array))
    resized[:n_kept] = array[:n_kept]
    return resized


def state_arrays(updater: Any) -> dict[str, NDArray[Any]]:
    """Return the arrays of an updater that are saved, by field. Its numbers are settings."""
    n_kept = ((name, value) for name, value in updater._asdict().items() if name not in DERIVED_FIELDS)
    return {name: value for name, value in n_kept if buffers.is_array(value)}
