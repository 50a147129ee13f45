"""Public function `separable`: find a separator or a proof that none exists.

`search.py` searches for the proof, `proofs.py` defines and checks it.
"""

from __future__ import annotations

from typing import Any

from novikoff.base.estimator import check_bool, check_positive, check_positive_int
from novikoff.certificates.separability.proof_text import proof_from
from novikoff.certificates.separability.proofs import DataDescription, NotSeparable, Proof, Separable, Undecided
from novikoff.certificates.separability.search import ProgressPrinter, SeparabilitySearch
from novikoff.certificates.separability.signed_rows import SignedExamples, encode_signs
from novikoff.data.labels.binary_labels import BinaryLabels

__all__ = ["NotSeparable", "Proof", "Separable", "Undecided", "decide", "proof_from", "separable"]

DEFAULT_PASSES = 1000
DEFAULT_TIME_LIMIT_SECONDS = 60.0


def separable(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    passes: int = DEFAULT_PASSES,
    time_limit: float = DEFAULT_TIME_LIMIT_SECONDS,
    tell: ProgressPrinter | None = None,
) -> Separable | NotSeparable | Undecided:
    """Decide whether some u has y·u·x > 0 for all examples, with a proof that can be checked independently.

    Parameters
    ----------
    X, y : examples and labels, as for fit
        The larger of the two labels is +1, the other −1.
    fit_intercept : bool
        Add a feature that is always 1, whose weight comes first in the witness.
    passes : int
        Maximum number of passes of the Perceptron, which is tried first.
    time_limit : float
        Seconds after which no further method is started.
    tell : function
        Receives a line of text for each method that is tried.

    Returns
    -------
    Separable, NotSeparable or Undecided
        `separable` is True, False or None; `check(X, y)` verifies the proof; `as_dict()` is for JSON.

    Examples
    --------
    >>> from novikoff import separable
    >>> corners = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> either = separable(corners, [0, 1, 1, 1])
    >>> either.separable, either.witness.tolist(), either.check(corners, [0, 1, 1, 1])
    (True, [-1.0, 2.0, 2.0], True)
    >>> one = separable(corners, [0, 1, 1, 0])
    >>> one.separable, one.rows, [str(weight) for weight in one.weights]
    (False, (0, 1, 2, 3), ['1/4', '1/4', '1/4', '1/4'])
    """
    return decide(X, y, None, fit_intercept=fit_intercept, passes=passes, time_limit=time_limit, tell=tell)


def decide(
    X: Any,
    y: Any,
    labels: BinaryLabels | None,
    *,
    fit_intercept: bool,
    passes: int,
    time_limit: float,
    tell: ProgressPrinter | None,
) -> Separable | NotSeparable | Undecided:
    """Decide separability with labels that may be known in advance; otherwise as `separable`."""
    check_positive_int(passes=passes)
    check_positive(time_limit=time_limit)
    check_bool(fit_intercept=fit_intercept)
    signs, labels = encode_signs(y, labels)
    examples = SignedExamples(X, signs, bias=bool(fit_intercept))
    about = DataDescription(examples.count, examples.features, bool(fit_intercept), labels.negative, labels.positive)
    return SeparabilitySearch(examples, about, int(passes), float(time_limit), tell or (lambda _: None)).run()
