"""What a geometry is: a NamedTuple of arrays and numbers, and its own bodies for some of the functions below.

Most geometries only say how one weight moves (`update_weight`) and what weight the final hypothesis has
(`final_weight`). Every updater has the fields `weights` (slot 0: the bias; slot j + 1: feature j) and `bias` (the
value of the bias feature: 1, or 0 for none). Arrays named in PER_SLOT_FIELDS have one entry per slot, or none at all
where the settings don't need them; to those named in APPENDED_FIELDS entries are only ever added; those named in
DERIVED_FIELDS follow from the settings, and are in no file.
"""

from __future__ import annotations

from typing import Any, TypeVar

from novikoff._compiled import buffers
from novikoff._compiled.jit import compiled, compiled_read_only, generic
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.dot import all_in_range, get_unchecked
from novikoff.data.rows import Rows, RowView, bias_slot, dot_and_sq_norm, end_term, first_term, is_term, weight_slot

PER_SLOT_FIELDS = ("weights", "seen", "sums", "members", "example", "pulls", "marks", "touched")
APPENDED_FIELDS = ("ends", "born", "signs", "indices", "values")
DERIVED_FIELDS = ("table", "mirror", "example", "columns", "lows", "highs", "flips", "notes")
G = TypeVar("G", bound=Any)
ALL_FEATURES = buffers.zeros(0, "uint32")


@compiled
def max_sq_norm(slots: NDArray[np.floating]) -> float:
    """Where squared lengths end: far enough below the largest number of the weights' type that no update leaves it."""
    return 1e300 if slots.itemsize == 8 else 1e36


@generic
def score(updater: Any, rows: RowView, i: int) -> tuple[float, float]:
    """(w·x, ‖x‖²) of row i, bias included, with the weights of this moment; a row whose ‖x‖² is not below the limit
    will be refused, and must find everything as it was."""
    apply_pending(updater, rows, i)
    dot, sq_norm = dot_and_sq_norm(rows, i, updater.weights)
    return add_bias(updater, dot, bias_slot(rows)), sq_norm + bias_sq_norm(updater)


@generic
def score_two_rows(updater: Any, rows: Rows, i: int, count: int) -> tuple[float, float, float, float, bool]:
    """The same of row i and, where that takes hardly longer, of the next one of `count` rows, with the same weights; at
    the end whether that was done. For geometries whose weights change only by updates."""
    s, sq_norm = score(updater, rows, i)
    return s, sq_norm, 0.0, 0.0, False


@generic
def apply_pending(updater: Any, rows: RowView, i: int) -> None:
    """Brings the weights that row i touches up to date, where that was put off; not for a row that will be refused."""


@generic
def add_bias(updater: Any, dot: float, j: int) -> float:
    """The score, from the sum over the features and the bias's weight, which is in slot j."""
    return dot + updater.bias * np.float64(updater.weights[j])


@generic
def accepts_row(updater: Any, rows: RowView, i: int) -> bool:
    """Whether the values of row i are such as this geometry takes; all finite numbers are, by default."""
    return True


@generic
def scale_step(updater: Any, gradient: float, t: int) -> float:
    """What of an update at step t is the same for all weights: by default the signal as it came."""
    return gradient


@generic
def update_weight(updater: Any, j: int, x: float, scaled_step: float, t: int) -> None:
    """Moves the weight in slot j, whose feature has the value x, at step t."""


@generic
def update(updater: Any, rows: RowView, i: int, gradient: float, t: int) -> None:
    """Moves every weight that row i touches, the bias last."""
    update_weights(updater, rows, i, gradient, t)


@generic
def end_step(updater: Any, t: int) -> None:
    """What happens to all weights at the end of step t, updated or not; to be done lazily."""


@generic
def norm(updater: Any) -> float:
    """‖w‖, for rules that ask for it."""
    return 0.0


@generic
def effective_sq_norm(updater: Any, sq_norm: float) -> float:
    """‖x‖² of the example that was just scored, in the space that the weights really see."""
    return sq_norm


@generic
def final_weight(updater: Any, j: int, t: int) -> float:
    """The weight in slot j of the hypothesis that predicts after t steps."""
    return np.float64(updater.weights[j])


@generic
def final_bias(updater: Any, j: int, t: int) -> float:
    """The constant term of that hypothesis, from the bias's weight, which is in slot j."""
    return final_weight(updater, j, t)


@generic
def bias_sq_norm(updater: Any) -> float:
    """What the bias feature adds to ‖x‖²."""
    return updater.bias * updater.bias


@compiled
def values_in_range(rows: Rows, i: int, least: float, most: float) -> bool:
    """Whether the values of row i are from least to most; a value of 0 is no term, and always right."""
    return all_in_range(rows.values, first_term(rows, i), end_term(rows, i), least, most)


@compiled
def first_out_of_range(rows: Rows, count: int, least: float, most: float) -> int:
    """The first row with a value that is not from least to most; the number of rows where there is none."""
    for i in range(count):
        if not values_in_range(rows, i, least, most):
            return i
    return count


@compiled
def update_weights(updater: Any, rows: RowView, i: int, gradient: float, t: int) -> None:
    scaled_step = scale_step(updater, gradient, t)
    for k in range(first_term(rows, i), end_term(rows, i)):
        x = np.float64(get_unchecked(rows.values, k))
        if is_term(rows, x):
            update_weight(updater, weight_slot(rows, i, k), x, scaled_step, t)
    if updater.bias != 0.0:
        update_weight(updater, bias_slot(rows), updater.bias, scaled_step, t)


@compiled_read_only
def write_final_weights(
    updater: Any,
    stride: int,
    n_columns: int,
    times: NDArray[np.int64],
    indices: NDArray[np.uint32],
    out: NDArray[np.float64],
) -> None:
    """Write the weights of the hypothesis that predicts: the constants, then those of these features, in their order;
    without indices those of all slots. The weights stand in a table of this many columns, of which the first are read;
    one weight vector is a table of one column. Features without slots are passed over."""
    slots, all_features = len(updater.weights) // stride, len(indices) == 0
    for c in range(n_columns):
        out[c] = final_bias(updater, c, times[c])
        for k in range(1, len(out) // stride):
            j = k if all_features else int(indices[k - 1]) + 1
            if j < slots:
                out[k * stride + c] = final_weight(updater, j * stride + c, times[c])


def allocate_filled(shape: tuple[int, ...], fill: Any, dtype: Any) -> NDArray[Any]:
    """Zeros are memory as the system gives it, which costs nothing before it is written."""
    return buffers.zeros(shape, dtype) if fill == 0.0 else buffers.full(shape, fill, dtype)


def resize_updater(updater: G, slots: int) -> G:
    """The same state with room for `slots` slots: new weights are 0, or what the geometry says in `fresh`; surplus ones
    are cut off."""
    changes = {}
    for name in PER_SLOT_FIELDS:
        array = getattr(updater, name, None)
        if array is not None and len(array):
            fill = getattr(updater, "fresh", 0.0) if name == "weights" else 0.0
            changes[name] = allocate_filled((slots, *array.shape[1:]), fill, array.dtype)
            n_kept = min(slots, len(array))
            changes[name][:n_kept] = array[:n_kept]
    return updater._replace(**changes)


def state_arrays(updater: Any) -> dict[str, NDArray[Any]]:
    """The state of a geometry by field; its numbers are settings."""
    n_kept = ((name, value) for name, value in updater._asdict().items() if name not in DERIVED_FIELDS)
    return {name: value for name, value in n_kept if buffers.is_array(value)}
