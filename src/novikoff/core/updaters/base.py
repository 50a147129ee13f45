"""What a geometry is: a NamedTuple of arrays and numbers, and its own bodies for some of the functions below.

Most geometries only say how one weight moves (`move`) and what weight the final hypothesis has (`read`). Every geometry
has the fields `slots` (slot 0: the bias; slot j + 1: feature j) and `bias` (the value of the bias feature: 1, or 0 for
none). Arrays named in PER_SLOT have one entry per slot, or none at all where the settings don't need them; to those
named in APPENDED entries are only ever added; those named in DERIVED follow from the settings, and are in no file.
"""

from __future__ import annotations

from typing import Any, TypeVar

from novikoff._compiled import buffers
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.jit import compiled, compiled_reader, generic
from novikoff._compiled.simd.dot import element, in_range
from novikoff.data.rows import (Rows, Seen, first, is_term, last, measure, origin, slot)

PER_SLOT = ("slots", "seen", "sums", "members", "example", "pulls", "marks", "touched")
APPENDED = ("ends", "born", "signs", "indices", "values")
DERIVED = ("table", "mirror", "example", "columns", "lows", "highs", "flips", "notes")
G = TypeVar("G", bound=Any)
ALL_FEATURES = buffers.zeros(0, "uint32")


@compiled
def limit(slots: NDArray[np.floating]) -> float:
    """Where squared lengths end: far enough below the largest number of the weights' type that no update leaves it."""
    return 1e300 if slots.itemsize == 8 else 1e36


@generic
def score(geometry: Any, rows: Seen, i: int) -> tuple[float, float]:
    """(w·x, ‖x‖²) of row i, bias included, with the weights of this moment; a row whose ‖x‖² is not below the limit
    will be refused, and must find everything as it was."""
    settle(geometry, rows, i)
    dot, square = measure(rows, i, geometry.slots)
    return finished(geometry, dot, origin(rows)), square + bias_square(geometry)


@generic
def score_two(geometry: Any, rows: Rows, i: int, count: int) -> tuple[float, float, float, float, bool]:
    """The same of row i and, where that takes hardly longer, of the next one of `count` rows, with the same weights; at
    the end whether that was done. For geometries whose weights change only by updates."""
    s, square = score(geometry, rows, i)
    return s, square, 0.0, 0.0, False


@generic
def settle(geometry: Any, rows: Seen, i: int) -> None:
    """Brings the weights that row i touches up to date, where that was put off; not for a row that will be refused."""


@generic
def finished(geometry: Any, dot: float, j: int) -> float:
    """The score, from the sum over the features and the bias's weight, which is in slot j."""
    return dot + geometry.bias * np.float64(geometry.slots[j])


@generic
def fits(geometry: Any, rows: Seen, i: int) -> bool:
    """Whether the values of row i are such as this geometry takes; all finite numbers are, by default."""
    return True


@generic
def pull(geometry: Any, signal: float, t: int) -> float:
    """What of an update at step t is the same for all weights: by default the signal as it came."""
    return signal


@generic
def move(geometry: Any, j: int, x: float, pulled: float, t: int) -> None:
    """Moves the weight in slot j, whose feature has the value x, at step t."""


@generic
def update(geometry: Any, rows: Seen, i: int, signal: float, t: int) -> None:
    """Moves every weight that row i touches, the bias last."""
    move_all(geometry, rows, i, signal, t)


@generic
def tick(geometry: Any, t: int) -> None:
    """What happens to all weights at the end of step t, updated or not; to be done lazily."""


@generic
def norm(geometry: Any) -> float:
    """‖w‖, for rules that ask for it."""
    return 0.0


@generic
def span(geometry: Any, square: float) -> float:
    """‖x‖² of the example that was just scored, in the space that the weights really see."""
    return square


@generic
def read(geometry: Any, j: int, t: int) -> float:
    """The weight in slot j of the hypothesis that predicts after t steps."""
    return np.float64(geometry.slots[j])


@generic
def read_constant(geometry: Any, j: int, t: int) -> float:
    """The constant term of that hypothesis, from the bias's weight, which is in slot j."""
    return read(geometry, j, t)


@generic
def bias_square(geometry: Any) -> float:
    """What the bias feature adds to ‖x‖²."""
    return geometry.bias * geometry.bias


@compiled
def within(rows: Rows, i: int, least: float, most: float) -> bool:
    """Whether the values of row i are from least to most; a value of 0 is no term, and always right."""
    return in_range(rows.values, first(rows, i), last(rows, i), least, most)


@compiled
def first_outside(rows: Rows, count: int, least: float, most: float) -> int:
    """The first row with a value that is not from least to most; the number of rows where there is none."""
    for i in range(count):
        if not within(rows, i, least, most):
            return i
    return count


@compiled
def move_all(geometry: Any, rows: Seen, i: int, signal: float, t: int) -> None:
    pulled = pull(geometry, signal, t)
    for k in range(first(rows, i), last(rows, i)):
        x = np.float64(element(rows.values, k))
        if is_term(rows, x):
            move(geometry, slot(rows, i, k), x, pulled, t)
    if geometry.bias != 0.0:
        move(geometry, origin(rows), geometry.bias, pulled, t)


@compiled_reader
def read_weights(
    geometry: Any,
    across: int,
    columns: int,
    times: NDArray[np.int64],
    indices: NDArray[np.uint32],
    out: NDArray[np.float64],
) -> None:
    """Write the weights of the hypothesis that predicts: the constants, then those of these features, in their order;
    without indices those of all slots. The weights stand in a table of this many columns, of which the first are read;
    one weight vector is a table of one column. Features without slots are passed over."""
    slots, every = len(geometry.slots) // across, len(indices) == 0
    for c in range(columns):
        out[c] = read_constant(geometry, c, times[c])
        for k in range(1, len(out) // across):
            j = k if every else int(indices[k - 1]) + 1
            if j < slots:
                out[k * across + c] = read(geometry, j * across + c, times[c])


def filled(shape: tuple[int, ...], fill: Any, kind: Any) -> NDArray[Any]:
    """Zeros are memory as the system gives it, which costs nothing before it is written."""
    return buffers.zeros(shape, kind) if fill == 0.0 else buffers.full(shape, fill, kind)


def resized(geometry: G, slots: int) -> G:
    """The same state with room for `slots` slots: new weights are 0, or what the geometry says in `fresh`; surplus ones
    are cut off."""
    changes = {}
    for name in PER_SLOT:
        array = getattr(geometry, name, None)
        if array is not None and len(array):
            fill = getattr(geometry, "fresh", 0.0) if name == "slots" else 0.0
            changes[name] = filled((slots, *array.shape[1:]), fill, array.dtype)
            kept = min(slots, len(array))
            changes[name][:kept] = array[:kept]
    return geometry._replace(**changes)


def arrays(geometry: Any) -> dict[str, NDArray[Any]]:
    """The state of a geometry by field; its numbers are settings."""
    kept = ((name, value) for name, value in geometry._asdict().items() if name not in DERIVED)
    return {name: value for name, value in kept if buffers.is_array(value)}
