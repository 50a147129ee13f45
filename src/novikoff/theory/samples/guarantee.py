"""Guarantees for the error of one hypothesis on new data: the number, its confidence and its assumptions."""

from __future__ import annotations

from typing import Any, NamedTuple

from novikoff.theory.formula_text import format_upper_bound
from novikoff.theory.samples.sample_size import format_confidence

IID_ASSUMPTION = "the examples are drawn independently from one distribution, and so is new data"


def no_guarantee(about: str, why: str) -> ErrorGuarantee:
    """Return a guarantee record that promises nothing, with the reason."""
    return ErrorGuarantee(about, None, None, why, {}, IID_ASSUMPTION)


class ErrorGuarantee(NamedTuple):
    about: str
    """Name of the hypothesis."""
    bound: float | None
    """Upper bound on its error on new data; None where nothing is guaranteed."""
    delta: float | None
    """Probability that the bound fails; None for a bound on a mean."""
    statement: str
    """The formula, or the reason why there is none."""
    numbers: dict[str, Any]
    """Numbers that the formula was evaluated with."""
    assumes: str

    @property
    def sentence(self) -> str:
        if self.bound is None:
            return f"Nothing is guaranteed of {self.about}: {self.statement}."
        if self.bound >= 1.0:
            return f"That says nothing of {self.about}: {self.statement} is 1 or more; there are too few examples."
        if self.delta is None:
            return (
                f"In the mean over all streams and draws the error of {self.about} on new data is at most the mean of"
                f" {self.statement}, which is {format_upper_bound(self.bound)} here."
            )
        return (
            f"The error of {self.about} on new data is at most {format_upper_bound(self.bound)}, with confidence"
            f" {format_confidence(self.delta)} ({self.statement})."
        )

    def as_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "sentence": self.sentence}
