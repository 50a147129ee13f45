"""Record a run: examples, mistakes, updates, radius, and at which examples the mistakes were made.

The numbers live in two arrays that the compiled loop writes to; `Ledger` gives users and files access to them. Mistakes
are listed by the number of the example (from 1) as long as there are fewer than MAX_LISTED_MISTAKES of them. After
that every second entry is dropped and from then on only every second mistake is listed, then every fourth, and so
on: memory stays constant however long the stream, and the curve of mistakes is known to within `stride` everywhere.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from novikoff._compiled import buffers
from novikoff._compiled.jit import compiled
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.schema import EXAMPLES as EXAMPLE_COUNT
from novikoff.schema import INFINITY, MAX_COUNT, ArraySpec, Constraint, Entries, FreeSize, InRange, Schema

MAX_LISTED_MISTAKES = 4096
# Where each number lives in LedgerCounters.counts; the list of mistakes follows from FIRST_LISTED on.
EXAMPLES, MISTAKES, UPDATES, WEIGHTED, N_LISTED, STRIDE, FIRST_LISTED = 0, 1, 2, 3, 4, 5, 6
CALIBRATED_NEXT = FIRST_LISTED + MAX_LISTED_MISTAKES
"""The entry with the number of the next example that calibrates probabilities; not saved."""
N_COUNTS = CALIBRATED_NEXT + 1
NEVER_CALIBRATED = 2**62
"""The number of an example that is never reached."""
# … and in LedgerCounters.sums.
SQUARED_RADIUS, ENERGY, LOSS = 0, 1, 2


MAX_STRIDE = 2**40
LEDGER_SCHEMA = Schema(
    {
        "counts": ArraySpec(
            "int64",
            FreeSize("ledger counts"),
            checks=[
                Entries(
                    examples=(0, MAX_COUNT),
                    mistakes=(0, EXAMPLE_COUNT),
                    updates=(0, MAX_COUNT),
                    weighted=(0, MAX_COUNT),
                    listed_mistakes=(0, MAX_LISTED_MISTAKES - 1),
                    stride=(1, MAX_STRIDE),
                )
            ],
        ),
        "sums": ArraySpec("float64", 3, checks=[InRange(0.0, INFINITY)]),
    },
    [
        Constraint(
            "as many mistakes are listed as are counted",
            lambda arrays, sizes: len(arrays["counts"]) == FIRST_LISTED + sizes["listed_mistakes"],
        ),
        Constraint("the stride is a power of 2", lambda _, sizes: sizes["stride"].bit_count() == 1),
        Constraint(
            "listed mistakes ascend, and fall on examples",
            lambda arrays, sizes: is_ascending(arrays["counts"][FIRST_LISTED:], 0, sizes["examples"]),
        ),
    ],
)
"""The schema of a ledger in a model file."""


class LedgerCounters(NamedTuple):
    """The arrays of a ledger, for the loop."""

    counts: NDArray[np.int64]
    sums: NDArray[np.float64]
    calibration: NDArray[np.float64]
    """The state of the calibration of probabilities (core/calibration.py); empty where there is none."""
    class_weights: NDArray[np.float64]
    """The weights of classes (core/class_weights.py); empty where there are none."""

    def copy(self) -> LedgerCounters:
        return LedgerCounters(self.counts.copy(), self.sums.copy(), self.calibration.copy(), self.class_weights.copy())


@compiled
def count_example(counters: LedgerCounters, sq_norm: float) -> int:
    """Count an example with ‖x‖² = `sq_norm`; return its number t, from 1."""
    t = int(counters.counts[EXAMPLES]) + 1
    counters.counts[EXAMPLES] = t
    if sq_norm > counters.sums[SQUARED_RADIUS]:  # noqa: PLR1730 - a branch: most rows write nothing here
        counters.sums[SQUARED_RADIUS] = sq_norm
    return t


@compiled
def count_loss(counters: LedgerCounters, loss: float) -> None:
    """Add the loss of the example that was counted last."""
    if loss != 0.0:
        counters.sums[LOSS] += loss


@compiled
def count_update(counters: LedgerCounters, energy: float) -> None:
    """Count an update along the gradient g·x; `energy` is ‖g·x‖²."""
    counters.counts[UPDATES] += 1
    counters.sums[ENERGY] += energy


@compiled
def count_sample_weight(counters: LedgerCounters, weight: float) -> None:
    """Count the example as a weighted one unless its weight is 1."""
    if weight != 1.0:
        counters.counts[WEIGHTED] += 1


@compiled
def count_mistake(counters: LedgerCounters) -> None:
    """Count a mistake on the example that was counted last, and list it in the curve of mistakes."""
    counts = counters.counts
    counts[MISTAKES] += 1
    if counts[MISTAKES] & (counts[STRIDE] - 1) != 0:  # a power of two
        return
    counts[FIRST_LISTED + counts[N_LISTED]] = counts[EXAMPLES]
    counts[N_LISTED] += 1
    if counts[N_LISTED] == MAX_LISTED_MISTAKES:
        for k in range(MAX_LISTED_MISTAKES // 2):
            counts[FIRST_LISTED + k] = counts[FIRST_LISTED + 2 * k + 1]
        counts[N_LISTED] = MAX_LISTED_MISTAKES // 2
        counts[STRIDE] *= 2


def is_ascending(times: NDArray[np.int64], low: int, high: int) -> bool:
    """Return whether no number is smaller than the one before it, and all are from `low` to `high`."""
    return not len(times) or bool((times[1:] >= times[:-1]).all() and low <= times[0] and times[-1] <= high)


class Ledger:
    """The record of a run; it goes on counting over partial_fit, learn_one and resume.

    >>> ledger = Ledger()
    >>> ledger
    Ledger(examples=0, mistakes=0, updates=0, radius=0.0)
    """

    def __init__(self, counters: LedgerCounters | None = None) -> None:
        if counters is None:
            counters = LedgerCounters(
                buffers.zeros(N_COUNTS, "int64"), buffers.zeros(3), buffers.zeros(0), buffers.zeros(0)
            )
            counters.counts[STRIDE] = 1
            counters.counts[CALIBRATED_NEXT] = NEVER_CALIBRATED
        self.book = counters

    @property
    def examples(self) -> int:
        """Return m, the number of examples."""
        return int(self.book.counts[EXAMPLES])

    @property
    def mistakes(self) -> int:
        """Return M, the number of examples that the weights before the update put in the wrong class."""
        return int(self.book.counts[MISTAKES])

    @property
    def updates(self) -> int:
        """Return U, the number of examples that changed the weights."""
        return int(self.book.counts[UPDATES])

    @property
    def weighted(self) -> int:
        """Return the number of examples with a weight other than 1: sample weight times class weight.

        The theorems for plain runs do not apply to runs that have any.
        """
        return int(self.book.counts[WEIGHTED])

    @property
    def progressive_error(self) -> float:
        """Return M/m, the share of wrong predictions, each made before its example was learned.

        It is about the run, not about the model at its end.
        """
        return self.mistakes / self.examples if self.examples else 0.0

    @property
    def radius(self) -> float:
        """Return R = max‖x_t‖ in the space that the learner works in, bias included."""
        return math.sqrt(self.book.sums[SQUARED_RADIUS])

    @property
    def energy(self) -> float:
        """Return Σ‖g_t‖² over the updates: for the Perceptron Σ‖x_t‖² over its mistakes."""
        return float(self.book.sums[ENERGY])

    @property
    def loss(self) -> float:
        """Return Σ ℓ_t(w_t), for learners that follow a loss."""
        return float(self.book.sums[LOSS])

    @property
    def stride(self) -> int:
        """Return the number of mistakes per listed one: 1 until MAX_LISTED_MISTAKES mistakes were made."""
        return int(self.book.counts[STRIDE])

    @property
    def mistake_times(self) -> NDArray[np.int64]:
        """Return the example numbers (from 1) of every stride-th mistake."""
        return self.book.counts[FIRST_LISTED : FIRST_LISTED + int(self.book.counts[N_LISTED])].copy()

    def copy(self) -> Ledger:
        return Ledger(self.book.copy())

    def as_dict(self) -> dict[str, Any]:
        return {
            "examples": self.examples,
            "mistakes": self.mistakes,
            "updates": self.updates,
            "progressive_error": self.progressive_error,
            "radius": self.radius,
        }

    def __repr__(self) -> str:
        return (
            f"Ledger(examples={self.examples}, mistakes={self.mistakes}, updates={self.updates}, radius={self.radius})"
        )
