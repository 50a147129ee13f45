"""Worst-case sequences: adversaries that react to a learner, and (from `worst_case.py`) fixed sequences.

Whatever a deterministic learner predicts, the adversary gives the opposite label, as long as some concept of the class
agrees with all labels so far. On points that the class shatters it can do so to the end: the learner makes as many
mistakes as there are points, though one concept is right on all of them. So every learner makes at least VCdim mistakes
on some sequence.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

from novikoff._compiled.lazy_numpy import ArrayLike, NDArray, np
from novikoff.data.synthetic.checks import check_integer
from novikoff.data.synthetic.worst_case import WORST_CASE_STREAMS, drifting_disjunction, irrelevant, orthonormal
from novikoff.errors import InputError

__all__ = [
    "SHATTERED_SETS",
    "WORST_CASE_STREAMS",
    "FiniteClass",
    "conjunctions",
    "disjunctions",
    "drifting_disjunction",
    "half_spaces",
    "halving_worst_case",
    "intervals",
    "irrelevant",
    "orthonormal",
    "rectangles",
    "vc_adversary",
]


def vc_adversary(learner: Any, points: ArrayLike, hypotheses: ArrayLike | None = None) -> NDArray[np.int8]:
    """Teach the learner these points, each with the label that it does not expect; return the labels.

    The expected label is the one that adds no mistake to the ledger, found by trying on a copy: some learners (averaged
    ones) predict differently from how they learn. For a learner without a ledger it is the result of `predict`, and +1
    as long as that fails. `hypotheses` is a finite class, with the labels of one member per row: a label that no
    remaining member agrees with is not given. Without it all labels are possible, as for shattered `points`.

    >>> from novikoff import Perceptron
    >>> learner = Perceptron()
    >>> labels = vc_adversary(learner, half_spaces(3))
    >>> learner.ledger_.mistakes, labels.tolist()
    (4, [-1, 1, -1, 1])
    """
    points = np.asarray(points, np.float64)
    left = None if hypotheses is None else np.asarray(hypotheses, np.int8)
    if points.ndim != 2 or (left is not None and (left.ndim != 2 or left.shape[1] != len(points) or not len(left))):
        raise InputError("points must be a table, and hypotheses one with a column for each point and at least a row.")
    labels = np.empty(len(points), np.int8)
    for t in range(len(points)):
        labels[t] = _find_unexpected_label(learner, points[t : t + 1])
        if left is not None:
            if not (left[:, t] == labels[t]).any():
                labels[t] = -labels[t]
            left = left[left[:, t] == labels[t]]
        _teach_example(learner, points[t : t + 1], labels[t : t + 1])
    return labels


def _teach_example(learner: Any, point: NDArray[np.float64], label: NDArray[np.int8]) -> None:
    learner.partial_fit(point, label, classes=[-1, 1])


def _find_unexpected_label(learner: Any, point: NDArray[np.float64]) -> int:
    known = hasattr(learner, "ledger_")
    if known or hasattr(type(learner), "ledger_"):
        trial = copy.deepcopy(learner)
        _teach_example(trial, point, np.array([-1], np.int8))
        return -1 if trial.ledger_.mistakes > (learner.ledger_.mistakes if known else 0) else 1
    try:
        return -int(learner.predict(point)[0])
    except (ValueError, AttributeError):  # scikit-learn's NotFittedError is both
        return -1


# --- Shattered sets: points on which a class has every labelling ---


def half_spaces(d: int) -> NDArray[np.float64]:
    """Return the origin and e_1 … e_d: d + 1 points, shattered by half-spaces in R^d with a bias."""
    check_integer("d, the dimension,", d, 1)
    return np.vstack([np.zeros(d), np.eye(d)])


def disjunctions(n: int) -> NDArray[np.float64]:
    """Return e_1 … e_n, shattered by monotone disjunctions: take the attributes of the positive points."""
    check_integer("n, the number of attributes,", n, 1)
    return np.eye(n)


def conjunctions(n: int) -> NDArray[np.float64]:
    """Return n rows of ones with one 0 each, shattered by monotone conjunctions: take the zeros of negative points."""
    check_integer("n, the number of attributes,", n, 1)
    return 1.0 - np.eye(n)


def intervals() -> NDArray[np.float64]:
    """Return two points of the line, shattered by intervals."""
    return np.array([[0.0], [1.0]])


def rectangles(d: int) -> NDArray[np.float64]:
    """Return ±e_1 … ±e_d: 2d points, shattered by axis-parallel rectangles around positive points and the origin."""
    check_integer("d, the dimension,", d, 1)
    return np.vstack([np.eye(d), -np.eye(d)])


SHATTERED_SETS: dict[str, Any] = {
    "half-spaces": half_spaces,
    "disjunctions": disjunctions,
    "conjunctions": conjunctions,
    "intervals": intervals,
    "rectangles": rectangles,
}


class FiniteClass(NamedTuple):
    """Points, and the labels that each hypothesis gives them."""

    points: NDArray[np.float64]
    """The unit vectors, one per row."""
    hypotheses: NDArray[np.int8]
    """Row i is the monotone disjunction of those attributes that are +1 in it."""


def halving_worst_case(size: int) -> FiniteClass:
    """Return a class of `size` hypotheses on which the majority errs ⌊log₂ size⌋ times, against `vc_adversary`.

    Hypothesis i labels point j positive if bit j of i is set. Among 0 … h−1 the odd numbers are the minority, ⌊h/2⌋ of
    them, and without their last bit they are 0 … ⌊h/2⌋−1 again: each mistake halves the class and leaves a similar one.

    >>> halving_worst_case(3).hypotheses.tolist()
    [[-1, -1], [1, -1], [-1, 1]]
    """
    check_integer("size, the number of hypotheses,", size, 1, 2**24)
    count = (size - 1).bit_length()
    bits = np.arange(size)[:, None] >> np.arange(count) & 1
    return FiniteClass(np.eye(count), np.where(bits == 1, 1, -1).astype(np.int8))
