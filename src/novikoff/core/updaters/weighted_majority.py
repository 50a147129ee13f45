"""Weighted majority of several learners over one stream: the updater of `Auto`.

Every example is scaled by statistics of the stream, so that the units of its columns do not matter: with s_j the
largest |x_j| and ℓ the mean of Σ (x_j/s_j)², both up to and including this example, x̃_j = x_j/(s_j·√ℓ); of the bias,
x̃ = 1/√ℓ. From x̃ learn

    0  AROW, which votes by its mean (core/updaters/arow.py)
    1  AdaGrad on the hinge loss, by its mean (core/updaters/adagrad.py)
    2  both: the sum of the scores of 0 and 1, each in units of how large it has been
    3  the Perceptron, by its last hypothesis, which follows a changing stream fastest

Each has a vote, which is multiplied by β when it errs; the label with the most votes is predicted. After a mistake a
fixed share of all votes is redistributed uniformly, so that every learner can recover.

A row of `weights` has the scale s_j, AROW's weight and variance, AdaGrad's weight and G, and the Perceptron's weight; a
row of `sums` the sums for the means of the first two (core/averaging.py).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from novikoff._compiled import buffers
from novikoff._compiled.jit import compiled
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.core.averaging import averaged_weight, step_power
from novikoff.core.losses import HINGE, SQUARED_HINGE, Loss, gradient
from novikoff.core.updaters.adagrad import AdaGrad
from novikoff.core.updaters.arow import ArowState
from novikoff.core.updaters.base import effective_sq_norm, final_bias, final_weight, predicted_score, score, update
from novikoff.data.rows import Rows, ScaledRow, end_term, first_term, row_sq_norm, weight_slot
from novikoff.schema import INFINITY, MAX_COUNT, REAL, SLOTS, ArraySpec, Constraint, InRange, NotNaN, Schema

N_MEMBERS = 4
AROW, ADAGRAD, COMBINED, PERCEPTRON = 0, 1, 2, 3
FEATURE_SCALE, AROW_WEIGHT, VARIANCE, ADAGRAD_WEIGHT, SQUARED_GRADIENTS, PERCEPTRON_WEIGHT = 0, 1, 2, 3, 4, 5
SLOT_FIELDS = 6
# Entries of WeightedMajority.scalars: the examples seen, Σ Σ (x_j/s_j)² over them, and of each member its vote,
# its mistakes and the sum of the squares of its scores.
N_STEPS, TOTAL_SQ_LENGTH, VOTES, ERRORS, SCORE_SQUARES = 0, 1, 2, 6, 10
N_SCALARS = SCORE_SQUARES + N_MEMBERS
# What is noted of an example until it is learned: the scores of last hypotheses and of means, what it adds to
# TOTAL_SQ_LENGTH, ‖x̃‖² with the bias, the bias in its scale, what was predicted, what each member says, and a
# number of AdaGrad's.
AROW_LAST, AROW_MEAN, ADAGRAD_LAST, ADAGRAD_MEAN, PERCEPTRON_LAST = 0, 1, 2, 3, 4
N_SCORES = 5
SQ_LENGTH, SCALED_SQ_NORM, SCALED_BIAS, PREDICTED, MEMBER_PREDICTIONS, ADAGRAD_MAX_ABS = 5, 6, 7, 8, 9, 13
N_NOTES = ADAGRAD_MAX_ABS + 1
OUTVOTED_SHARE = 2.0**-20
"""The factor of a sum of scores whose sign is that of the fewer votes."""
MIN_VOTE = 1e-300  # a score or a vote that is not 0 is not to become 0


class WeightedMajority(NamedTuple):
    weights: NDArray[np.floating]
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


WEIGHTED_MAJORITY_SCHEMA = Schema(
    {
        "weights": ArraySpec(
            REAL,
            SLOTS,
            SLOT_FIELDS,
            checks=[
                NotNaN(),
                InRange(0.0, INFINITY, column=FEATURE_SCALE),
                InRange(0.0, INFINITY, column=SQUARED_GRADIENTS),
            ],
        ),
        "sums": ArraySpec("float64", SLOTS, 2, checks=[NotNaN()]),
        "scalars": ArraySpec("float64", N_SCALARS, checks=[InRange(0.0, INFINITY)]),
    },
    [
        Constraint(
            "steps and errors are counts",
            lambda arrays, _: bool(
                max(arrays["scalars"][N_STEPS], arrays["scalars"][ERRORS : ERRORS + N_MEMBERS].max()) <= MAX_COUNT
            ),
        ),
        Constraint(
            "votes are above 0 and at most 1",
            lambda arrays, _: InRange(MIN_VOTE, 1.0).problem(arrays["scalars"][VOTES : VOTES + N_MEMBERS], {}) is None,
        ),
    ],
)
"""The schema of this state in a model file."""


def build_weighted_majority(slots: int, dtype: Any, *, bias: bool, **settings: float) -> WeightedMajority:
    empty = WeightedMajority(
        weights=buffers.zeros((slots, SLOT_FIELDS), dtype),
        sums=buffers.zeros((slots, 2)),
        scalars=buffers.zeros(N_SCALARS),
        example=buffers.zeros(slots, dtype),
        notes=buffers.zeros(N_NOTES),
        bias=float(bias),
        **settings,
    )
    empty.weights[:] = empty.fresh
    empty.scalars[VOTES : VOTES + N_MEMBERS] = 1.0 / N_MEMBERS
    return empty


# --- The scale ---


@compiled
def scale_example(updater: WeightedMajority, rows: Rows, i: int, stride: int) -> None:
    """Write x̃ of row i to `example`; note what it adds to the scale, and ‖x̃‖². Nothing else is changed."""
    start, stop = first_term(rows, i), end_term(rows, i)
    length = 0.0
    for k in range(start, stop):
        x = np.float64(rows.values[k])
        x /= max(np.float64(updater.weights[weight_slot(rows, i, k) * stride, FEATURE_SCALE]), abs(x))
        updater.example[k - start] = x
        length += x * x
    total = updater.scalars[TOTAL_SQ_LENGTH] + length
    by = math.sqrt((updater.scalars[N_STEPS] + 1.0) / total) if total > 0.0 else 1.0
    updater.notes[SCALED_BIAS] = by * updater.bias
    sq_norm = updater.notes[SCALED_BIAS] * updater.notes[SCALED_BIAS]
    for k in range(stop - start):
        updater.example[k] = np.float64(updater.example[k]) * by
        x = np.float64(updater.example[k])  # as it was stored: just this number is learned
        sq_norm += x * x
    updater.notes[SQ_LENGTH] = length
    updater.notes[SCALED_SQ_NORM] = sq_norm


@compiled
def update_scale(updater: WeightedMajority, rows: Rows, i: int, stride: int, n_columns: int) -> None:
    """Include row i in the scale, which is stored in each of `n_columns` columns."""
    for k in range(first_term(rows, i), end_term(rows, i)):
        j, size = weight_slot(rows, i, k) * stride, abs(np.float64(rows.values[k]))
        if size > np.float64(updater.weights[j, FEATURE_SCALE]):
            for c in range(n_columns):
                updater.weights[j + c, FEATURE_SCALE] = size
    updater.scalars[TOTAL_SQ_LENGTH] += updater.notes[SQ_LENGTH]
    updater.scalars[N_STEPS] += 1.0


@effective_sq_norm.of(WeightedMajority)
def _effective_sq_norm_weighted_majority(updater: WeightedMajority, sq_norm: float) -> float:
    return updater.notes[SCALED_SQ_NORM]


# --- The members ---


@compiled
def arow_view(updater: WeightedMajority) -> ArowState:
    slots = updater.weights[:, AROW_WEIGHT : VARIANCE + 1]
    return ArowState(slots, updater.sums[:, 0], updater.notes[SCALED_BIAS], updater.r, updater.arow_tail)


@compiled
def adagrad_view(updater: WeightedMajority) -> AdaGrad:
    slots, sums = updater.weights[:, ADAGRAD_WEIGHT : SQUARED_GRADIENTS + 1], updater.sums[:, 1]
    nothing, reached, bias = updater.notes[:0], updater.notes[ADAGRAD_MAX_ABS:], updater.notes[SCALED_BIAS]
    return AdaGrad(slots, nothing, sums, reached, bias, updater.rate, 0.0, 0.0, updater.adagrad_tail)


@compiled
def perceptron_step(updater: WeightedMajority, at: ScaledRow, i: int, amount: float) -> None:
    """Take the Perceptron's step."""
    for k in range(first_term(at, i), end_term(at, i)):
        j = weight_slot(at, i, k)
        w = np.float64(updater.weights[j, PERCEPTRON_WEIGHT])
        updater.weights[j, PERCEPTRON_WEIGHT] = w + amount * np.float64(at.values[k])
    w = np.float64(updater.weights[at.at, PERCEPTRON_WEIGHT])
    updater.weights[at.at, PERCEPTRON_WEIGHT] = w + amount * updater.notes[SCALED_BIAS]


@compiled
def add_score_term(
    updater: WeightedMajority, j: int, x: float, notes: NDArray[np.float64], at: int, stride: int
) -> None:
    """Add one term to the scores of a column, which are noted from `at` on; of means, the part to be divided by t^p."""
    notes[at + stride * AROW_LAST] += x * np.float64(updater.weights[j, AROW_WEIGHT])
    notes[at + stride * AROW_MEAN] += x * updater.sums[j, 0]
    notes[at + stride * ADAGRAD_LAST] += x * np.float64(updater.weights[j, ADAGRAD_WEIGHT])
    notes[at + stride * ADAGRAD_MEAN] += x * updater.sums[j, 1]
    notes[at + stride * PERCEPTRON_LAST] += x * np.float64(updater.weights[j, PERCEPTRON_WEIGHT])


@compiled
def score_example(updater: WeightedMajority, rows: Rows, i: int) -> None:
    """Add all terms of row i to the scores of one column; local sums are faster than sums in memory."""
    start, bias = first_term(rows, i), updater.notes[SCALED_BIAS]
    a, b, c, d, e = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(start, end_term(rows, i)):
        x, j = np.float64(updater.example[k - start]), weight_slot(rows, i, k)
        a += x * np.float64(updater.weights[j, AROW_WEIGHT])
        b += x * updater.sums[j, 0]
        c += x * np.float64(updater.weights[j, ADAGRAD_WEIGHT])
        d += x * updater.sums[j, 1]
        e += x * np.float64(updater.weights[j, PERCEPTRON_WEIGHT])
    updater.notes[AROW_LAST] = a
    updater.notes[AROW_MEAN] = b
    updater.notes[ADAGRAD_LAST] = c
    updater.notes[ADAGRAD_MEAN] = d
    updater.notes[PERCEPTRON_LAST] = e
    add_score_term(updater, 0, bias, updater.notes, 0, 1)


@compiled
def finish_averages(
    updater: WeightedMajority, notes: NDArray[np.float64], at: int, stride: int, n_columns: int
) -> None:
    t = max(1.0, updater.scalars[N_STEPS])
    by_arow, by_adagrad = step_power(t, updater.arow_tail), step_power(t, updater.adagrad_tail)
    for c in range(at, at + n_columns):
        notes[c + stride * AROW_MEAN] = notes[c + stride * AROW_LAST] - notes[c + stride * AROW_MEAN] / by_arow
        notes[c + stride * ADAGRAD_MEAN] = (
            notes[c + stride * ADAGRAD_LAST] - notes[c + stride * ADAGRAD_MEAN] / by_adagrad
        )


@compiled
def score_unit(updater: WeightedMajority, member: int) -> float:
    """Return the factor that brings the scores of this member to the scale of the others."""
    spread = updater.scalars[SCORE_SQUARES + member]
    return math.sqrt(updater.scalars[N_STEPS] / spread) if spread > 0.0 else 0.0


@compiled
def member_score(updater: WeightedMajority, member: int, notes: NDArray[np.float64], at: int, stride: int) -> float:
    """Return the score of a member in a column, from the notes."""
    if member == PERCEPTRON:
        return score_unit(updater, PERCEPTRON) * notes[at + stride * PERCEPTRON_LAST]
    both = 0.0
    if member != ADAGRAD:
        both += score_unit(updater, AROW) * notes[at + stride * AROW_MEAN]
    if member != AROW:
        both += score_unit(updater, ADAGRAD) * notes[at + stride * ADAGRAD_MEAN]
    return both


@compiled
def update_votes(updater: WeightedMajority, y: float, is_known_label: bool) -> None:
    """Multiply the votes of members that err by β, and redistribute a share where the majority errs.

    `is_known_label` says whether y was seen before: otherwise no member can have predicted it.
    """
    scalars, notes, total = updater.scalars, updater.notes, 0.0
    for member in range(N_MEMBERS):
        if not is_known_label or notes[MEMBER_PREDICTIONS + member] != y:
            scalars[ERRORS + member] += 1.0
            scalars[VOTES + member] *= updater.shrink
        total += scalars[VOTES + member]
    share = updater.share if not is_known_label or notes[PREDICTED] != y else 0.0
    for member in range(N_MEMBERS):
        vote = (1.0 - share) * (scalars[VOTES + member] / total) + share / N_MEMBERS
        scalars[VOTES + member] = max(MIN_VOTE, vote)  # one that became 0 would never come back


# --- Two labels ---


@score.of(WeightedMajority)
def _score_weighted_majority(updater: WeightedMajority, rows: Rows, i: int) -> tuple[float, float]:
    """Return Σ vote·z over the members, z the member's score, with the sign of the side that has more votes.

    Where the sum has the other sign, its size says little: it is made small.
    """
    sq_norm, notes = row_sq_norm(rows, i), updater.notes
    if not sq_norm < math.inf:
        return 0.0, sq_norm
    scale_example(updater, rows, i, 1)
    score_example(updater, rows, i)
    finish_averages(updater, notes, 0, 1, 1)
    votes, total = 0.0, 0.0
    for member in range(N_MEMBERS):
        z, vote = member_score(updater, member, notes, 0, 1), updater.scalars[VOTES + member]
        side = 1.0 if z >= 0.0 else -1.0
        notes[MEMBER_PREDICTIONS + member] = side
        votes += side * vote
        total += vote * z
    winner = 1.0 if votes >= 0.0 else -1.0
    notes[PREDICTED] = winner
    s = total if total * winner > 0.0 else winner * OUTVOTED_SHARE * abs(total)
    if s == 0.0 and winner < 0.0:
        s = -MIN_VOTE
    return s, sq_norm + updater.bias * updater.bias


@predicted_score.of(WeightedMajority)
def _predicted_score_weighted_majority(
    updater: WeightedMajority, rows: Rows, i: int, last_score: float, tie: float, t: int
) -> float:
    return last_score


@update.of(WeightedMajority)
def _update_weighted_majority(updater: WeightedMajority, rows: Rows, i: int, g: float, t: int) -> None:
    y, weight, notes, scalars = math.copysign(1.0, g), abs(g), updater.notes, updater.scalars
    update_votes(updater, y, True)
    scalars[SCORE_SQUARES + AROW] += notes[AROW_MEAN] * notes[AROW_MEAN]
    scalars[SCORE_SQUARES + ADAGRAD] += notes[ADAGRAD_MEAN] * notes[ADAGRAD_MEAN]
    scalars[SCORE_SQUARES + PERCEPTRON] += notes[PERCEPTRON_LAST] * notes[PERCEPTRON_LAST]
    update_scale(updater, rows, i, 1, 1)
    at, step = ScaledRow(rows, updater.example, 1, 0), int(scalars[N_STEPS])
    member_gradient = gradient(Loss(SQUARED_HINGE, 0.0), notes[AROW_LAST], y, False, 0.0)
    if member_gradient != 0.0:
        update(arow_view(updater), at, i, weight * member_gradient, step)
    member_gradient = gradient(Loss(HINGE, 0.0), notes[ADAGRAD_LAST], y, False, 0.0)
    if member_gradient != 0.0:
        update(adagrad_view(updater), at, i, weight * member_gradient, step)
    if y * notes[PERCEPTRON_LAST] < 0.0 or (notes[PERCEPTRON_LAST] == 0.0 and y < 0.0):
        perceptron_step(updater, at, i, weight * y)


# --- The weights that are shown: those of member 2, in the units of the user ---


@compiled
def combined_weight(updater: WeightedMajority, j: int) -> float:
    t = int(updater.scalars[N_STEPS])
    first = averaged_weight(np.float64(updater.weights[j, AROW_WEIGHT]), updater.sums[j, 0], t, updater.arow_tail)
    second = averaged_weight(
        np.float64(updater.weights[j, ADAGRAD_WEIGHT]), updater.sums[j, 1], t, updater.adagrad_tail
    )
    return score_unit(updater, AROW) * first + score_unit(updater, ADAGRAD) * second


@final_weight.of(WeightedMajority)
def _final_weight_weighted_majority(updater: WeightedMajority, j: int, t: int) -> float:
    scale = np.float64(updater.weights[j, FEATURE_SCALE])
    return final_bias(updater, j, t) / scale if scale > 0.0 else 0.0


@final_bias.of(WeightedMajority)
def _final_bias_weighted_majority(updater: WeightedMajority, j: int, t: int) -> float:
    lengths = updater.scalars[TOTAL_SQ_LENGTH]
    by = math.sqrt(updater.scalars[N_STEPS] / lengths) if lengths > 0.0 else 1.0
    return by * combined_weight(updater, j)
