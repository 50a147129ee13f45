"""The score of one example, with just the weights that it needs: the same sum in the same order as `loop.scores`.

Whatever is not usual (a value that is out of range, too large or not finite, a column number that can't be one) is
answered with NaN: the way around, `OneByOne._score_around`, then says what is wrong.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.jit import compiled, compiled_brief_reader
from novikoff._compiled.simd.dot import dense_sums, unpacked
from novikoff.ledger import EXAMPLES, Book
from novikoff.core.updaters.base import limit, read, read_constant
from novikoff.data.validation import LARGEST_INDEX
from novikoff.data.rows import Sparse

CLOSED = -1  # as the number of features: no score may be read now
FEATURES_AT = -4  # the place of the number of features in a packed `Asked`
HUGE = 1e150  # numbers whose squares are past every limit


class Asked(NamedTuple):
    """What the scores of single examples have in common; packed into a block."""

    geometry: Any
    book: Book
    features: int
    """Features in use, for which there may be more slots than that."""
    unseen: float
    """The weight of features that were never seen; where it is 0, they are left out."""
    least: float
    most: float
    """Which values the learner takes."""


@compiled
def gather(
    asked: Asked,
    indices: NDArray[np.uint32],
    at: int,
    count: int,
    given: NDArray[np.floating],
    values: NDArray[np.floating],
    weights: NDArray[np.float64],
) -> float:
    """The score of the terms from `at` on; `values` and `weights` are room for so many, and one weight more. `values`
    may be those that are `given`. Without indices, these are the values of all features."""
    if asked.features == CLOSED:
        return math.nan
    t, kept, square = asked.book.counts[EXAMPLES], 0, 0.0
    for k in range(count):
        x, column = np.float64(given[at + k]), k
        if len(indices) > 0:
            column = int(indices[at + k])
        if not abs(x) < HUGE or column >= LARGEST_INDEX or (x != 0.0 and (x < asked.least or x > asked.most)):
            return math.nan
        square += x * x
        seen = column < asked.features
        if x != 0.0 and (seen or asked.unseen != 0.0):
            values[kept] = given[at + k]
            weights[kept + 1] = read(asked.geometry, column + 1, t) if seen else asked.unseen
            kept += 1
    # Half of what is allowed: summed in another order the squares may come to a little more.
    if not square < 0.5 * limit(asked.geometry.slots):
        return math.nan
    weights[0] = read_constant(asked.geometry, 0, t)
    dot, _ = dense_sums(values, 0, kept, weights)
    return dot + asked.geometry.bias * weights[0]


@compiled_brief_reader
def score_one(
    block: Any,
    like: Any,
    indices: NDArray[np.uint32],
    given: NDArray[np.floating],
    values: NDArray[np.floating],
    weights: NDArray[np.float64],
) -> float:
    """Return the score of one example: the features that are there, with `values` the same array as `given`, or without
    indices the values of all features. The other two arrays are room for as many terms."""
    asked = unpacked(block, like)
    if len(indices) == 0 and (given.size != asked.features or given.strides[0] != given.itemsize):
        return math.nan
    return gather(asked, indices, 0, len(given), given, values, weights)


@compiled
def score_rows(
    asked: Asked, rows: Sparse, values: NDArray[np.floating], weights: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """The score of each row as if it had come alone; `values` and `weights` are room for the longest."""
    for i in range(len(out)):
        first = rows.starts[i]
        out[i] = gather(asked, rows.indices, first, rows.starts[i + 1] - first, rows.values, values, weights)
