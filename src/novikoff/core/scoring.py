"""The score of one example, with just the weights that it needs: the same sum in the same order as `loop.scores`.

Whatever is not usual (a value that is out of range, too large or not finite, a column number that can't be one) is
answered with NaN: the way around, `OneByOne._score_around`, then says what is wrong.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from novikoff._compiled.jit import compiled, compiled_read_only_with_gil
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.dot import dense_dot_and_sq_norm, unpack_block
from novikoff.core.updaters.base import final_bias, final_weight, max_sq_norm
from novikoff.data.rows import Sparse
from novikoff.data.validation import MAX_INDEX
from novikoff.ledger import EXAMPLES, LedgerCounters

FAST_PATH_CLOSED = -1  # as the number of features: no score may be read now
FEATURES_OFFSET = -4  # the place of the number of features in a packed `ScoringContext`
MAX_ABS_VALUE = 1e150  # numbers whose squares are past every limit


class ScoringContext(NamedTuple):
    """The arguments that the scores of single examples share; packed into a block."""

    updater: Any
    book: LedgerCounters
    features: int
    """Features in use, for which there may be more slots than that."""
    unseen: float
    """The weight of features that were never seen; where it is 0, they are left out."""
    least: float
    most: float
    """Which values the learner takes."""


@compiled
def score_terms(
    context: ScoringContext,
    indices: NDArray[np.uint32],
    offset: int,
    count: int,
    given: NDArray[np.floating],
    values: NDArray[np.floating],
    weights: NDArray[np.float64],
) -> float:
    """Return the score of the terms from `offset` on; `values` and `weights` have room for them and one more weight.

    `values` may be the array `given`. Without indices, these are the values of all features.
    """
    if context.features == FAST_PATH_CLOSED:
        return math.nan
    t, n_terms, sq_norm = context.book.counts[EXAMPLES], 0, 0.0
    for k in range(count):
        x, column = np.float64(given[offset + k]), k
        if len(indices) > 0:
            column = int(indices[offset + k])
        if not abs(x) < MAX_ABS_VALUE or column >= MAX_INDEX or (x != 0.0 and (x < context.least or x > context.most)):
            return math.nan
        sq_norm += x * x
        seen = column < context.features
        if x != 0.0 and (seen or context.unseen != 0.0):
            values[n_terms] = given[offset + k]
            weights[n_terms + 1] = final_weight(context.updater, column + 1, t) if seen else context.unseen
            n_terms += 1
    # Half of what is allowed: summed in another order the squares may come to a little more.
    if not sq_norm < 0.5 * max_sq_norm(context.updater.weights):
        return math.nan
    weights[0] = final_bias(context.updater, 0, t)
    dot, _ = dense_dot_and_sq_norm(values, 0, n_terms, weights)
    return dot + context.updater.bias * weights[0]


@compiled_read_only_with_gil
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
    context = unpack_block(block, like)
    if len(indices) == 0 and (given.size != context.features or given.strides[0] != given.itemsize):
        return math.nan
    return score_terms(context, indices, 0, len(given), given, values, weights)


@compiled
def score_each_row(
    context: ScoringContext,
    rows: Sparse,
    values: NDArray[np.floating],
    weights: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the score of each row as a single example; `values` and `weights` have room for the longest row."""
    for i in range(len(out)):
        first = rows.starts[i]
        out[i] = score_terms(context, rows.indices, first, rows.starts[i + 1] - first, rows.values, values, weights)
