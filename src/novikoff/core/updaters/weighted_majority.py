"""Several learners over one stream, and the weighted majority of them: the geometry of `Auto`.

Every example is seen in a scale that the stream itself sets, so that the units of its columns don't count: with s_j the
largest |x_j| and ℓ the mean of Σ (x_j/s_j)², both up to and including this example, x̃_j = x_j/(s_j·√ℓ); of the bias,
x̃ = 1/√ℓ. From x̃ learn

    0  AROW, which votes by its mean (parts/confident.py)
    1  AdaGrad on the hinge loss, by its mean (parts/adagrad.py)
    2  both: the sum of the scores of 0 and 1, each in units of how large it has been
    3  the Perceptron, by its last hypothesis: where the world changes, it is the quickest to follow

Each has a vote, which shrinks to β of it when it errs; the label with the most votes is predicted. Where that errs, a
share of all votes is dealt out again evenly, so that nobody is ever out of the game.

A row of `slots` has the scale s_j, AROW's weight and variance, AdaGrad's weight and G, and the Perceptron's weight; a
row of `sums` what the means of the first two are made of (parts/averages.py).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from novikoff._compiled import buffers
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.jit import compiled
from novikoff.core.updaters.adagrad import AdaGrad
from novikoff.core.averaging import mean, raised
from novikoff.core.updaters.arow import Confident
from novikoff.core.updaters.base import (read, read_constant, score, span, update)
from novikoff.core.losses import (HINGE, SHORTFALL, Loss, signal)
from novikoff.schema import INFINITY, MAX_COUNT, REAL, SLOTS, Array, Between, NotNaN, Rule, Schema
from novikoff.data.rows import (Rows, Scaled, first, last, slot, squared)

MEMBERS = 4
AROW, ADAGRAD, BOTH, PERCEPTRON = 0, 1, 2, 3
SCALE, AROW_WEIGHT, VARIANCE, ADAGRAD_WEIGHT, GRADIENTS, PERCEPTRON_WEIGHT = 0, 1, 2, 3, 4, 5
PARTS = 6
# Where each number lives in Council.scalars: the examples seen, Σ Σ (x_j/s_j)² over them, and of each member its vote,
# its mistakes and the sum of the squares of its scores.
STEPS, LENGTHS, VOTES, ERRORS, SPREADS = 0, 1, 2, 6, 10
SCALARS = SPREADS + MEMBERS
# What is noted of an example until it is learned: the scores of last hypotheses and of means, what it adds to LENGTHS,
# ‖x̃‖² with the bias, the bias in its scale, what was predicted, what each member says, and a number of AdaGrad's.
AROW_LAST, AROW_MEAN, ADAGRAD_LAST, ADAGRAD_MEAN, LAST = 0, 1, 2, 3, 4
SCORES = 5
LENGTH, SPAN, CONSTANT, PREDICTED, SAID, REACHED = 5, 6, 7, 8, 9, 13
NOTES = REACHED + 1
LEAST = 1e-300  # a score or a vote that is not 0 is not to become 0


class Council(NamedTuple):
    slots: NDArray[np.floating]
    sums: NDArray[np.float64]
    scalars: NDArray[np.float64]
    example: NDArray[np.floating]
    """Room for the values of one example in its scale."""
    notes: NDArray[np.float64]
    bias: float
    shrink: float
    """β"""
    share: float
    r: float
    rate: float
    arow_tail: float
    adagrad_tail: float

    @property
    def fresh(self) -> tuple[float, ...]:
        return 0.0, 0.0, 1.0, 0.0, 0.0, 0.0


SCHEMA = Schema(
    {
        "slots": Array(
            REAL,
            SLOTS,
            PARTS,
            checks=[NotNaN(), Between(0.0, INFINITY, column=SCALE), Between(0.0, INFINITY, column=GRADIENTS)],
        ),
        "sums": Array("float64", SLOTS, 2, checks=[NotNaN()]),
        "scalars": Array("float64", SCALARS, checks=[Between(0.0, INFINITY)]),
    },
    [
        Rule(
            "steps and errors are counts",
            lambda arrays, _: bool(
                max(arrays["scalars"][STEPS], arrays["scalars"][ERRORS : ERRORS + MEMBERS].max()) <= MAX_COUNT
            ),
        ),
        Rule(
            "votes are above 0 and at most 1",
            lambda arrays, _: Between(LEAST, 1.0).problem(arrays["scalars"][VOTES : VOTES + MEMBERS], {}) is None,
        ),
    ],
)
"""What a model file may hold of this state."""


def council(slots: int, kind: Any, *, bias: bool, **settings: float) -> Council:
    empty = Council(
        slots=buffers.zeros((slots, PARTS), kind),
        sums=buffers.zeros((slots, 2)),
        scalars=buffers.zeros(SCALARS),
        example=buffers.zeros(slots, kind),
        notes=buffers.zeros(NOTES),
        bias=float(bias),
        **settings,
    )
    empty.slots[:] = empty.fresh
    empty.scalars[VOTES : VOTES + MEMBERS] = 1.0 / MEMBERS
    return empty


# --- The scale ---


@compiled
def scaled(geometry: Council, rows: Rows, i: int, across: int) -> None:
    """Puts x̃ of row i into `example`; what it adds to the scale, and ‖x̃‖², are noted. Nothing else is changed."""
    start, stop = first(rows, i), last(rows, i)
    length = 0.0
    for k in range(start, stop):
        x = np.float64(rows.values[k])
        x /= max(np.float64(geometry.slots[slot(rows, i, k) * across, SCALE]), abs(x))
        geometry.example[k - start] = x
        length += x * x
    total = geometry.scalars[LENGTHS] + length
    by = math.sqrt((geometry.scalars[STEPS] + 1.0) / total) if total > 0.0 else 1.0
    geometry.notes[CONSTANT] = by * geometry.bias
    square = geometry.notes[CONSTANT] * geometry.notes[CONSTANT]
    for k in range(stop - start):
        geometry.example[k] = np.float64(geometry.example[k]) * by
        x = np.float64(geometry.example[k])  # as it was stored: just this number is learned
        square += x * x
    geometry.notes[LENGTH] = length
    geometry.notes[SPAN] = square


@compiled
def keep_scale(geometry: Council, rows: Rows, i: int, across: int, columns: int) -> None:
    """From now on row i is a part of the scale, which stands in each of so many columns."""
    for k in range(first(rows, i), last(rows, i)):
        j, size = slot(rows, i, k) * across, abs(np.float64(rows.values[k]))
        if size > np.float64(geometry.slots[j, SCALE]):
            for c in range(columns):
                geometry.slots[j + c, SCALE] = size
    geometry.scalars[LENGTHS] += geometry.notes[LENGTH]
    geometry.scalars[STEPS] += 1.0


@span.of(Council)
def _(geometry: Council, square: float) -> float:
    return geometry.notes[SPAN]


# --- The members ---


@compiled
def arow(geometry: Council) -> Confident:
    slots = geometry.slots[:, AROW_WEIGHT : VARIANCE + 1]
    return Confident(slots, geometry.sums[:, 0], geometry.notes[CONSTANT], geometry.r, geometry.arow_tail)


@compiled
def adagrad(geometry: Council) -> AdaGrad:
    slots, sums = geometry.slots[:, ADAGRAD_WEIGHT : GRADIENTS + 1], geometry.sums[:, 1]
    nothing, reached, bias = geometry.notes[:0], geometry.notes[REACHED:], geometry.notes[CONSTANT]
    return AdaGrad(slots, nothing, sums, reached, bias, geometry.rate, 0.0, 0.0, geometry.adagrad_tail)


@compiled
def add(geometry: Council, at: Scaled, i: int, amount: float) -> None:
    """The Perceptron's step."""
    for k in range(first(at, i), last(at, i)):
        j = slot(at, i, k)
        w = np.float64(geometry.slots[j, PERCEPTRON_WEIGHT])
        geometry.slots[j, PERCEPTRON_WEIGHT] = w + amount * np.float64(at.values[k])
    w = np.float64(geometry.slots[at.at, PERCEPTRON_WEIGHT])
    geometry.slots[at.at, PERCEPTRON_WEIGHT] = w + amount * geometry.notes[CONSTANT]


@compiled
def add_term(geometry: Council, j: int, x: float, notes: NDArray[np.float64], at: int, apart: int) -> None:
    """One term of the scores of a column, which are noted from `at` on; of means, what is to be divided by t^p."""
    notes[at + apart * AROW_LAST] += x * np.float64(geometry.slots[j, AROW_WEIGHT])
    notes[at + apart * AROW_MEAN] += x * geometry.sums[j, 0]
    notes[at + apart * ADAGRAD_LAST] += x * np.float64(geometry.slots[j, ADAGRAD_WEIGHT])
    notes[at + apart * ADAGRAD_MEAN] += x * geometry.sums[j, 1]
    notes[at + apart * LAST] += x * np.float64(geometry.slots[j, PERCEPTRON_WEIGHT])


@compiled
def add_terms(geometry: Council, rows: Rows, i: int) -> None:
    """The same for all terms of row i, of one column; sums that are not in memory are quicker."""
    start, bias = first(rows, i), geometry.notes[CONSTANT]
    a, b, c, d, e = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(start, last(rows, i)):
        x, j = np.float64(geometry.example[k - start]), slot(rows, i, k)
        a += x * np.float64(geometry.slots[j, AROW_WEIGHT])
        b += x * geometry.sums[j, 0]
        c += x * np.float64(geometry.slots[j, ADAGRAD_WEIGHT])
        d += x * geometry.sums[j, 1]
        e += x * np.float64(geometry.slots[j, PERCEPTRON_WEIGHT])
    geometry.notes[AROW_LAST] = a
    geometry.notes[AROW_MEAN] = b
    geometry.notes[ADAGRAD_LAST] = c
    geometry.notes[ADAGRAD_MEAN] = d
    geometry.notes[LAST] = e
    add_term(geometry, 0, bias, geometry.notes, 0, 1)


@compiled
def finish_means(geometry: Council, notes: NDArray[np.float64], at: int, apart: int, columns: int) -> None:
    t = max(1.0, geometry.scalars[STEPS])
    by_arow, by_adagrad = raised(t, geometry.arow_tail), raised(t, geometry.adagrad_tail)
    for c in range(at, at + columns):
        notes[c + apart * AROW_MEAN] = notes[c + apart * AROW_LAST] - notes[c + apart * AROW_MEAN] / by_arow
        notes[c + apart * ADAGRAD_MEAN] = notes[c + apart * ADAGRAD_LAST] - notes[c + apart * ADAGRAD_MEAN] / by_adagrad


@compiled
def unit(geometry: Council, member: int) -> float:
    """What a score of this member is to be multiplied by, so that all members' scores are of a size."""
    spread = geometry.scalars[SPREADS + member]
    return math.sqrt(geometry.scalars[STEPS] / spread) if spread > 0.0 else 0.0


@compiled
def said(geometry: Council, member: int, notes: NDArray[np.float64], at: int, apart: int) -> float:
    """What a member says of a column, from what is noted."""
    if member == PERCEPTRON:
        return unit(geometry, PERCEPTRON) * notes[at + apart * LAST]
    both = 0.0
    if member != ADAGRAD:
        both += unit(geometry, AROW) * notes[at + apart * AROW_MEAN]
    if member != AROW:
        both += unit(geometry, ADAGRAD) * notes[at + apart * ADAGRAD_MEAN]
    return both


@compiled
def follow(geometry: Council, y: float, met: bool) -> None:
    """Votes shrink where a member errs, and are dealt out anew where the vote does; `met` says whether y was known
    before: otherwise nobody can have predicted it."""
    scalars, notes, total = geometry.scalars, geometry.notes, 0.0
    for member in range(MEMBERS):
        if not met or notes[SAID + member] != y:
            scalars[ERRORS + member] += 1.0
            scalars[VOTES + member] *= geometry.shrink
        total += scalars[VOTES + member]
    share = geometry.share if not met or notes[PREDICTED] != y else 0.0
    for member in range(MEMBERS):
        vote = (1.0 - share) * (scalars[VOTES + member] / total) + share / MEMBERS
        scalars[VOTES + member] = max(LEAST, vote)  # one that became 0 would never come back


# --- Two labels ---


@score.of(Council)
def _(geometry: Council, rows: Rows, i: int) -> tuple[float, float]:
    """The side with more votes, and how clearly those who vote for it say so."""
    square, notes = squared(rows, i), geometry.notes
    if not square < math.inf:
        return 0.0, square
    scaled(geometry, rows, i, 1)
    add_terms(geometry, rows, i)
    finish_means(geometry, notes, 0, 1, 1)
    votes, against, clear, unclear = 0.0, 0.0, 0.0, 0.0
    for member in range(MEMBERS):
        z, vote = said(geometry, member, notes, 0, 1), geometry.scalars[VOTES + member]
        notes[SAID + member] = 1.0 if z >= 0.0 else -1.0
        if z >= 0.0:
            votes, clear = votes + vote, clear + vote * z
        else:
            against, unclear = against + vote, unclear - vote * z
    s = clear if votes >= against else -max(unclear, LEAST)
    notes[PREDICTED] = 1.0 if votes >= against else -1.0
    return s, square + geometry.bias * geometry.bias


@update.of(Council)
def _(geometry: Council, rows: Rows, i: int, g: float, t: int) -> None:
    y, weight, notes, scalars = math.copysign(1.0, g), abs(g), geometry.notes, geometry.scalars
    follow(geometry, y, True)
    scalars[SPREADS + AROW] += notes[AROW_MEAN] * notes[AROW_MEAN]
    scalars[SPREADS + ADAGRAD] += notes[ADAGRAD_MEAN] * notes[ADAGRAD_MEAN]
    scalars[SPREADS + PERCEPTRON] += notes[LAST] * notes[LAST]
    keep_scale(geometry, rows, i, 1, 1)
    at, step = Scaled(rows, geometry.example, 1, 0), int(scalars[STEPS])
    pull = signal(Loss(SHORTFALL, 0.0), notes[AROW_LAST], y, False, 0.0)
    if pull != 0.0:
        update(arow(geometry), at, i, weight * pull, step)
    pull = signal(Loss(HINGE, 0.0), notes[ADAGRAD_LAST], y, False, 0.0)
    if pull != 0.0:
        update(adagrad(geometry), at, i, weight * pull, step)
    if y * notes[LAST] < 0.0 or (notes[LAST] == 0.0 and y < 0.0):
        add(geometry, at, i, weight * y)


# --- The weights that are shown: those of member 2, in the units of the user ---


@compiled
def both_weights(geometry: Council, j: int) -> float:
    t = int(geometry.scalars[STEPS])
    first = mean(np.float64(geometry.slots[j, AROW_WEIGHT]), geometry.sums[j, 0], t, geometry.arow_tail)
    second = mean(np.float64(geometry.slots[j, ADAGRAD_WEIGHT]), geometry.sums[j, 1], t, geometry.adagrad_tail)
    return unit(geometry, AROW) * first + unit(geometry, ADAGRAD) * second


@read.of(Council)
def _(geometry: Council, j: int, t: int) -> float:
    scale = np.float64(geometry.slots[j, SCALE])
    return read_constant(geometry, j, t) / scale if scale > 0.0 else 0.0


@read_constant.of(Council)
def _(geometry: Council, j: int, t: int) -> float:
    lengths = geometry.scalars[LENGTHS]
    by = math.sqrt(geometry.scalars[STEPS] / lengths) if lengths > 0.0 else 1.0
    return by * both_weights(geometry, j)
