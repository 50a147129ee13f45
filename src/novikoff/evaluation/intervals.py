"""Intervals for the error of a model, and for the difference between two models, from independent test examples."""

from __future__ import annotations

from typing import NamedTuple

from novikoff.theory import binomial


class Interval(NamedTuple):
    low: float
    high: float


def error_interval(errors: int, examples: int, delta: float = 0.05) -> Interval | None:
    """Return the exact interval of Clopper and Pearson for the error rate; None where there are no examples, or too
    many for exact sums.

    It holds with probability 1 − δ if the examples are an i.i.d. sample that the model has not learned from.
    """
    if not 0 < examples <= binomial.MAX_EXAMPLES:
        return None
    return Interval(
        binomial.lower(mistakes=errors, examples=examples, delta=delta / 2.0),
        binomial.upper(mistakes=errors, examples=examples, delta=delta / 2.0),
    )


class PairedComparison(NamedTuple):
    """Two models on the same examples."""

    only_first_wrong: int
    only_second_wrong: int
    examples: int

    @property
    def difference(self) -> float:
        """The error of the first less that of the second."""
        return (self.only_first_wrong - self.only_second_wrong) / self.examples if self.examples else 0.0

    def interval(self, delta: float = 0.05) -> Interval | None:
        """Return an interval for the difference of the errors on new examples.

        Both rates of disagreement are enclosed exactly at level δ/2 each. The union bound makes the difference hold
        with probability 1 − δ, under the assumption of `error_interval`.
        """
        first = error_interval(self.only_first_wrong, self.examples, delta / 2.0)
        second = error_interval(self.only_second_wrong, self.examples, delta / 2.0)
        if first is None or second is None:
            return None
        return Interval(first.low - second.high, first.high - second.low)
