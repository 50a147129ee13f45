"""From mistakes on a stream to the error on new data, for examples that are drawn independently from one distribution.

M of m examples were predicted wrongly, each before its label was told. With probability at least 1 − δ over the stream:
"""

from __future__ import annotations

import math

from novikoff.errors import InputError


def progressive(*, mistakes: int, examples: int, delta: float) -> float:
    """The mean error of the hypotheses that were used is at most M/m + √(ln(1/δ)/(2m)) (Blum, Kalai, Langford 1999).

    >>> round(progressive(mistakes=100, examples=1000, delta=0.05), 4)
    0.1387
    """
    _sensible(examples, delta)
    return mistakes / examples + math.sqrt(math.log(1.0 / delta) / (2.0 * examples))


def random_stopping(*, mistakes: int, examples: int) -> float:
    """M/m: the expected error of the hypothesis at a time that is drawn at random, in the mean over all streams.

    >>> random_stopping(mistakes=100, examples=1000)
    0.1
    """
    _sensible(examples, 0.5)
    return mistakes / examples


def penalised(*, mistakes: int, examples: int, delta: float) -> float:
    """The suffix hypothesis with the least penalised error: M/m + 6·√(ln(2(m+1)/δ)/m) (Cesa-Bianchi et al. 2004).

    >>> round(penalised(mistakes=100, examples=100_000, delta=0.05), 4)
    0.075
    """
    _sensible(examples, delta)
    return mistakes / examples + 6.0 * math.sqrt(math.log(2.0 * (examples + 1) / delta) / examples)


def _sensible(examples: int, delta: float) -> None:
    if examples < 1 or not 0.0 < delta < 1.0:
        raise InputError(f"There must be an example, and δ between 0 and 1: {examples}, {delta}.")
