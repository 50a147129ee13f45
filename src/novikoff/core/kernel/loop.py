"""The loop of the dual form: K with what is kept, scores, labels, and what is kept of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.kernels.support_set import (put_row, same, scatter, single, unscatter)
from novikoff.kernels.bytecode import Program, evaluate
from novikoff.ledger import ENERGY, EXAMPLES, SQUARED_RADIUS, UPDATES, WEIGHTED, Book, note_mistake
from novikoff.core.kernel.expansion import (END, ENTRIES, FRESH, KEPT, KNOWN, NEW, TERMS, Dual, Ways, scores_of)
from novikoff.data.rows import Sparse

LARGEST = 1e300


@compiled
def found(dual: Dual, rows: Sparse, i: int, square: float) -> int:
    """Which kept example row i is; −1 where it is none."""
    for q in range(dual.counts[KEPT]):
        if dual.kept.squares[q] == square and same(dual.kept, q, rows, i):
            return q
    return -1


@compiled
def add_entry(dual: Dual, q: int, c: int, amount: float, t: int, apart: bool) -> None:
    """So much of kept example q in column c; as an entry of its own (apart), or added to the one that is there."""
    last = dual.counts[ENTRIES]
    e = last
    if not apart:
        e = 0
        while e < last and not (dual.rows[e] == q and dual.into[e] == c):
            e += 1
    if e == last:
        dual.rows[e], dual.into[e], dual.amounts[e], dual.moments[e], dual.born[e] = q, c, 0.0, 0.0, t
        dual.counts[ENTRIES] += 1
    dual.amounts[e] += amount
    dual.moments[e] += amount * t


@compiled
def keep(dual: Dual, stored: Sparse, i: int, square: float, own: float, t: int) -> int:
    """One more kept example, row i of what is to be stored; returns its number."""
    q = dual.counts[KEPT]
    put_row(dual.kept, q, stored, i, dual.counts[END])
    dual.kept.squares[q] = square
    dual.own[q] = own
    dual.first[q] = t
    dual.counts[KEPT] += 1
    dual.counts[TERMS] += stored.starts[i + 1] - stored.starts[i]
    dual.counts[END] += stored.starts[i + 1] - stored.starts[i]
    dual.fresh[dual.counts[FRESH]] = q
    dual.counts[FRESH] += 1
    return q


@compiled
def fill(
    dual: Dual,
    program: Program,
    rows: Sparse,
    i: int,
    square: float,
    example: NDArray[np.float64],
    given: NDArray[np.float64],
    stack: NDArray[np.float64],
    bits: NDArray[np.int64],
    K: NDArray[np.float64],
) -> None:
    """K of row i, which stands in `example`, with what was kept since the block was computed."""
    for f in range(dual.counts[FRESH]):
        q = dual.fresh[f]
        if q < dual.counts[KEPT]:
            K[q] = single(dual.kept, q, rows, i, example)
            evaluate(program, 1, K, q, square, dual.kept.squares, given, stack, bits, K)


@compiled
def full(dual: Dual, ways: Ways, terms: int) -> bool:
    """Whether one more example would take more memory than there may be."""
    used = dual.counts[KEPT] * ways.per_row + (dual.counts[TERMS] + terms) * ways.per_term
    return used + ways.per_row + (dual.counts[ENTRIES] + len(dual.since)) * ways.per_entry > ways.memory


@compiled
def side_of(y: int, c: int, columns: int) -> float:
    """On which side of column c an example of class y is; the only column of two labels is for number 1."""
    return 1.0 if y == (c if columns > 1 else 1) else -1.0


@compiled
def is_wrong(score: float, side: float, tie: float) -> bool:
    return side * score < 0.0 or (score == 0.0 and side * tie < 0.0)


@compiled
def moves(ways: Ways, scores: NDArray[np.float64], y: int, known: int) -> bool:
    """Whether any column that is there learns from an example with these scores."""
    for c in range(min(len(scores), known)):
        side = side_of(y, c, len(scores))
        if is_wrong(scores[c], side, ways.tie) or side * scores[c] < ways.margin:
            return True
    return False


@compiled
def is_mistake(ways: Ways, scores: NDArray[np.float64], y: int, before: int) -> bool:
    """Whether another label was predicted, given the classes that were known; the first of equal scores is."""
    if len(scores) == 1:
        return is_wrong(scores[0], side_of(y, 0, 1), ways.tie)
    best = 0
    for c in range(1, before):
        best = c if scores[c] > scores[best] else best
    return y >= before or best != y


@compiled
def are_numbers(own: float, scores: NDArray[np.float64]) -> bool:
    """Whether these are finite, and K(x, x) is not negative."""
    good = 0.0 <= own < LARGEST
    for c in range(len(scores)):
        good = good and abs(scores[c]) < LARGEST
    return good


@compiled
def learn_columns(dual: Dual, ways: Ways, scores: NDArray[np.float64], y: int, q: int, weight: float, t: int) -> int:
    """Updates the columns that want it with kept example q; returns how many did."""
    updated, apart = 0, ways.vote or dual.first[q] == t  # what was kept just now has no entries yet
    for c in range(min(len(scores), dual.counts[KNOWN])):
        side = side_of(y, c, len(scores))
        wrong = is_wrong(scores[c], side, ways.tie)
        dual.errors[c] += wrong
        if wrong or side * scores[c] < ways.margin:
            add_entry(dual, q, c, side * weight, t, apart)
            updated += 1
    return updated


@compiled
def follow(
    dual: Dual,
    program: Program,
    ways: Ways,
    rows: Sparse,
    stored: Sparse,
    squares: NDArray[np.float64],
    own: NDArray[np.float64],
    labels: NDArray[np.int64],
    weights: NDArray[np.float64],
    begin: int,
    block: NDArray[np.float64],
    given: NDArray[np.float64],
    example: NDArray[np.float64],
    stack: NDArray[np.float64],
    bits: NDArray[np.int64],
    scores: NDArray[np.float64],
    book: Book,
) -> int:
    """Learns rows from number `begin` on, K of which with what was kept before is in `block`; labels below 0 are left
    out. Returns where it stopped: at the end, before a row that is refused, or after one that is one too many to keep.
    With two labels there is one column, else one for each class."""
    for i in range(begin, len(labels)):
        y, weight = labels[i], weights[i] if len(weights) > 0 else 1.0
        if y < 0 or weight == 0.0:
            continue
        scatter(rows, i, example)
        fill(dual, program, rows, i, squares[i], example, given, stack, bits, block[i])
        unscatter(rows, i, example)
        scores_of(dual, block[i], scores)
        before = dual.counts[KNOWN]
        known = max(before, y + 1)
        learns = moves(ways, scores, y, known)
        q = found(dual, stored, i, squares[i]) if learns else -1
        if not are_numbers(own[i], scores) or (
            learns and q < 0 and full(dual, ways, stored.starts[i + 1] - stored.starts[i])
        ):
            return i
        book.counts[EXAMPLES] += 1
        t = book.counts[EXAMPLES]
        book.counts[WEIGHTED] += weight != 1.0
        book.sums[SQUARED_RADIUS] = max(book.sums[SQUARED_RADIUS], own[i])
        if is_mistake(ways, scores, y, before):
            note_mistake(book)
        for c in range(max(before, 2), known):
            dual.since[c] = t - 1
        dual.counts[KNOWN] = known
        dual.counts[NEW] += len(scores) > 1 and known > before
        if learns:
            q = keep(dual, stored, i, squares[i], own[i], t) if q < 0 else q
            book.counts[UPDATES] += 1
            book.sums[ENERGY] += learn_columns(dual, ways, scores, y, q, weight, t) * weight * weight * own[i]
            if 0 < ways.budget < dual.counts[KEPT]:
                return i + 1
    return len(labels)
