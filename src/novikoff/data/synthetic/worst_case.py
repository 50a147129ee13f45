"""Fixed worst-case sequences, each made against one algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.data.rows import Sparse
from novikoff.data.synthetic.base import FixedStream
from novikoff.data.synthetic.checks import check_integer
from novikoff.data.synthetic.ground_truth import ConceptPhase, GroundTruth
from novikoff.errors import InputError


def orthonormal(n: int = 100) -> FixedStream:
    """x_t = e_t, y_t = −1 for t = 1 … n: the Perceptron without bias errs each time, and (R/γ)² is n.

    >>> from novikoff import Perceptron
    >>> Perceptron(fit_intercept=False).partial_fit(*orthonormal(7).to_arrays(), classes=[-1, 1]).ledger_.mistakes
    7
    """
    check_integer("n, the number of attributes,", n, 1, 2**31 - 2)
    separator = np.concatenate([[0.0], np.full(n, -1.0)])
    rule = "never"
    truth = GroundTruth("orthonormal", rule, n, 0, n, (ConceptPhase(0, ()),), 1.0, _freeze(separator), 1.0)
    return FixedStream(_build_single_attribute_rows(np.arange(n)), np.full(n, -1, np.int8), truth)


def irrelevant(n: int = 100, k: int = 5) -> FixedStream:
    """A disjunction of the last k attributes. Each other attribute occurs once, alone and negative; a relevant one
    follows.

    The Perceptron must see every irrelevant attribute to learn that it is irrelevant: n − k mistakes, without bias and
    with a score of 0 counted as positive. Winnow starts with small weights and only has to raise k of them from 1 to θ.

    >>> from novikoff import Perceptron
    >>> X, y = irrelevant(n=100, k=5).to_arrays()
    >>> Perceptron(fit_intercept=False).partial_fit(X, y, classes=[-1, 1]).ledger_.mistakes
    95
    """
    check_integer("n, the number of attributes,", n, 2, 2**31 - 2)
    check_integer("k, the number of relevant literals,", k, 1, n - 1)
    columns = np.empty(2 * (n - k), np.int64)
    columns[::2] = np.arange(n - k)
    columns[1::2] = n - k + np.arange(n - k) % k
    y = np.tile(np.array([-1, 1], np.int8), n - k)
    separator = np.full(n + 1, -1.0)
    separator[0], separator[n - k + 1 :] = 0.0, 1.0
    phases = (ConceptPhase(0, tuple((j,) for j in range(n - k + 1, n + 1))),)
    rule = "at least one literal is true"
    truth = GroundTruth("irrelevant", rule, n, k, len(y), phases, 1.0, _freeze(separator), 1.0)
    return FixedStream(_build_single_attribute_rows(columns), y, truth)


def drifting_disjunction(n: int = 256, k: int = 5, drift: int = 25) -> FixedStream:
    """A disjunction of one literal that changes `drift` times, made against Winnow with α = 2 and θ = n = 2^L.

    Attribute 1 is the bait, 2 … k + 1 are the victims. The bait is relevant first, shown alone L − 1 times, so that its
    weight is n/2. Then drift − k helpers are relevant, one after another, each for L − 1 rounds of two examples:

        bait + helper, positive    the helper weighs too little: both are promoted, the bait to n
        bait + victims, negative   the bait weighs n: it is demoted to n/2, and the victims with it

    At last each victim becomes relevant and is shown alone. Winnow has to undo (drift − k)(L − 1) demotions for each of
    them and errs every time; Winnow-R, whose weights stay at ½ or above, L + 1 times. The cost c is 1 + drift.
    """
    check_integer("n, the number of attributes,", n, 4, 2**31 - 2)
    if n & (n - 1):
        raise InputError(f"n, the number of attributes, must be a power of 2 for this stream, but is {n}.")
    check_integer("k, the number of literals that are demoted,", k, 1, n - 3)
    check_integer("drift, the number of changes,", drift, k + 1, n - 2)
    rounds, helpers = n.bit_length() - 2, drift - k
    shown = helpers * rounds + rounds + 1
    bait, victims = np.zeros(1, np.int64), np.arange(1, k + 1)
    parts = [([bait], [1], rounds)]
    for helper in range(k + 1, k + 1 + helpers):
        parts.append(([np.array([0, helper]), np.concatenate([bait, victims])], [1, -1], rounds))
    parts += [([victim], [1], shown) for victim in victims[:, None]]
    literals = [1, *range(k + 2, k + 2 + helpers), *range(2, k + 2)]
    starts = np.cumsum([0] + [len(labels) * times for _, labels, times in parts]).tolist()
    phases = tuple(ConceptPhase(start, ((literal,),)) for start, literal in zip(starts[:-1], literals, strict=True))
    rule = "at least one literal is true"
    truth = GroundTruth("drifting-disjunction", rule, n, 1, starts[-1], phases, float(k + 1))
    return FixedStream(*_repeat_parts(parts), truth)


WORST_CASE_STREAMS: dict[str, Any] = {
    "orthonormal": orthonormal,
    "irrelevant": irrelevant,
    "drifting-disjunction": drifting_disjunction,
}


def _repeat_parts(parts: list[tuple[list[NDArray[np.int64]], list[int], int]]) -> tuple[Sparse, NDArray[np.int8]]:
    """Concatenate parts; each repeats its rows and labels the given number of times."""
    columns = np.concatenate([np.tile(np.concatenate(rows), times) for rows, _, times in parts])
    lengths = np.concatenate([np.tile([len(row) for row in rows], times) for rows, _, times in parts])
    y = np.concatenate([np.tile(labels, times) for _, labels, times in parts])
    return _build_rows(columns, lengths), y.astype(np.int8)


def _build_single_attribute_rows(columns: NDArray[np.int64]) -> Sparse:
    """Return one row for each column, in which only that column is active."""
    return _build_rows(columns, np.ones(len(columns), np.int64))


def _build_rows(columns: NDArray[np.int64], lengths: NDArray[np.int64]) -> Sparse:
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return Sparse(starts, columns.astype(np.uint32), np.ones(len(columns), np.float32))


def _freeze(separator: NDArray[np.float64]) -> NDArray[np.float64]:
    separator.setflags(write=False)
    return separator
