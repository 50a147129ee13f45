"""Out-of-bag statistics: an estimate of the vote's error, and a proven bound."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.errors import InputError
from novikoff.theory import majority

BLOCK_ROWS = 4096  # examples that are counted together
ASSUMPTIONS = (
    "the examples are drawn independently from one distribution, and so is new data; all labels were known in advance"
)
UNPROVEN_NOTE = (
    "the out-of-bag error is an estimate: votes of different examples depend on each other, and no inequality for"
    " independent examples is shown to hold for it"
)


class OutOfBagStatistics(NamedTuple):
    """Counts over the examples out of each member's bag."""

    examples: int
    judged: int
    """The number of examples that are out of some bag."""
    errors: int
    """The number of these examples on which the vote of the members that have not drawn them is wrong."""
    mean: float
    """The members' errors, each on the examples out of its bag."""
    fewest: int
    """The number of examples out of a bag."""
    pair_mean: float
    """The share of examples out of both bags on which both members err, over all pairs of members."""
    fewest_of_pair: int

    @property
    def error(self) -> float:
        """Return the out-of-bag estimate; NaN if no example is out of a bag."""
        return self.errors / self.judged if self.judged else float("nan")


class VoteErrorBound(NamedTuple):
    """A bound for the error of the vote on new data."""

    value: float
    delta: float
    statement: str
    assumes: str = ASSUMPTIONS
    not_shown: str = UNPROVEN_NOTE


def count_out_of_bag(
    predictions: NDArray[Any], bags: NDArray[np.bool_], codes: NDArray[np.int64], classes: int
) -> OutOfBagStatistics:
    """Return the statistics from the predictions of each member for each example, and its bag: a row for each
    member."""
    members, examples = predictions.shape
    both, wrong_both = np.zeros((members, members)), np.zeros((members, members))
    judged = errors = 0
    for start in range(0, examples, BLOCK_ROWS):
        part = slice(start, min(start + BLOCK_ROWS, examples))
        out, labels = ~bags[:, part], codes[part]
        votes = np.stack([((predictions[:, part] == c) & out).sum(axis=0) for c in range(classes)])
        there = votes.sum(axis=0) > 0
        judged += int(there.sum())
        errors += int((votes.argmax(axis=0) != labels)[there].sum())
        wrong = (out & (predictions[:, part] != labels)).astype(np.float64)
        seen = out.astype(np.float64)
        both += seen @ seen.T
        wrong_both += wrong @ wrong.T
    alone, wrong_alone = both.diagonal(), wrong_both.diagonal()
    return OutOfBagStatistics(
        examples,
        judged,
        errors,
        float((wrong_alone / np.maximum(alone, 1.0)).mean()),
        int(alone.min()),
        float((wrong_both / np.maximum(both, 1.0)).mean()),
        int(both.min()),
    )


def bound_vote_error(found: OutOfBagStatistics, delta: float) -> VoteErrorBound:
    """Return the smaller of two bounds, each with half of the failure probability."""
    if not 0.0 < delta < 1.0:
        raise InputError(f"delta must be between 0 and 1, but is {delta}.")
    half = delta / 2.0
    first = majority.single(seen=found.mean, examples=found.fewest, delta=half)
    second = majority.pairs(seen=found.pair_mean, examples=found.fewest_of_pair, delta=half)
    if second < first:
        return VoteErrorBound(
            second, delta, "error of the vote ≤ 4·(mean share where both of a pair err + √(ln(2/δ)/(2m)))"
        )
    return VoteErrorBound(first, delta, "error of the vote ≤ 2·(mean error of the members + √(ln(2/δ)/(2m)))")
