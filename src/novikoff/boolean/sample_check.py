"""Learners whose hypothesis makes no mistake on what it has seen: whether that was enough for an error on new data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from decimal import Decimal
from typing import Any, NamedTuple

from novikoff.base.estimator import BaseEstimator
from novikoff.ledger import Ledger
from novikoff.theory import validation
from novikoff.theory.directed_rounding import float_above
from novikoff.theory.formula_text import format_integer
from novikoff.theory.samples import sample_size
from novikoff.theory.samples.guarantee import ErrorGuarantee


class SampleCheck(NamedTuple):
    """Whether a hypothesis has seen enough examples for ε and δ."""

    consistent: bool
    """Whether it makes no mistake on them, provided that some hypothesis of its class does not."""
    enough: bool
    examples: int
    needed: int
    sentence: str


class SampleCheckMixin(BaseEstimator, ABC):
    """A learner whose hypothesis is consistent with its examples; precedes the other base class."""

    passes: int

    @abstractmethod
    def _hypothesis_class(self) -> tuple[str, dict[str, Any], str]:
        """The law (theory/samples/sample_size.py) for a consistent hypothesis, what it is told of the class, and
        that in words."""

    @abstractmethod
    def _find_contradiction(self) -> str | None:
        """What shows that no hypothesis of the class agrees with every label; None where nothing does."""

    def _parts(self) -> int:
        """2 where what predicts is a majority of consistent hypotheses: where it errs, half of them do."""
        return 1

    def sample_check(self, *, epsilon: float, delta: float, examples: int | None = None) -> SampleCheck:
        """Whether the examples were enough: with probability 1 − δ a consistent hypothesis has an error of at most ε.

        `examples` is how many different ones there were; by default those of the ledger, over the passes of fit.

        >>> from novikoff import Elimination
        >>> model = Elimination().fit([[1, 0, 1], [0, 0, 1], [1, 0, 0], [1, 1, 0]], [1, 0, 1, 0])
        >>> print(model.sample_check(epsilon=0.1, delta=0.05).sentence)
        This hypothesis is consistent with 4 examples if any of its class is; for ε = 0.1 and δ = 0.05 it needs 64.
        """
        many, (law, class_facts, _), why = self._seen(examples), self._hypothesis_class(), self._find_contradiction()
        validation.check_epsilon(epsilon)
        found = sample_size.check(law, examples=many, epsilon=epsilon / self._parts(), delta=delta, **class_facts)
        if why is not None:
            sentence = f"This hypothesis is not consistent with its {format_integer(many)} examples: {why}."
            return SampleCheck(False, False, many, found.needed, sentence)
        asked = f"for ε = {epsilon:g} and δ = {delta:g} it {'needed' if found.enough else 'needs'}"
        sentence = (
            f"This hypothesis is consistent with {format_integer(many)} examples if any of its class is; {asked}"
            f" {format_integer(found.needed)}."
        )
        return SampleCheck(True, found.enough, many, found.needed, sentence)

    def _seen(self, examples: int | None) -> int:
        ledger = self._require_attribute("sample_check").ledger
        return ledger.examples // int(self.passes) if examples is None else examples

    def _describe_guarantee(self, examples: int | None = None, delta: float = 0.05) -> dict[str, Any]:
        many, (law, class_facts, named), why = (
            self._seen(examples),
            self._hypothesis_class(),
            self._find_contradiction(),
        )
        assumes = (
            f"{sample_size.SAMPLE_SIZE_BOUNDS[law].assumes}; the class, {named}, was fixed before they were"
            " seen, and each came once"
        )
        if why is not None or not many:
            promise = ErrorGuarantee("this hypothesis", None, None, why or "there were no examples", {}, assumes)
        else:
            found = sample_size.ask(law, examples=many, delta=delta, **class_facts)
            both, numbers = self._parts() > 1, {"examples": many, "class": named}
            agrees = "if any of its class agrees with all examples,"
            about = "the majority of the consistent hypotheses," if both else "this hypothesis,"
            about = f"{about} {agrees}"
            bound = min(1.0, float_above(self._parts() * Decimal(repr(float(found.value)))))
            statement = f"twice {found.formula}" if both else found.formula
            promise = ErrorGuarantee(about, bound, delta, statement, numbers, assumes)
        return {"method": "consistent", "consistent": why is None, "examples_used": many, **promise.as_dict()}


def explain_false_positives(ledger: Ledger) -> str | None:
    """Of learners that change at missed positive examples only: the other mistakes contradict every hypothesis."""
    wrong = ledger.mistakes - ledger.updates
    agreed = "no hypothesis of its class agrees with every label"
    return f"{format_integer(wrong)} negative examples were predicted positive, so that {agreed}" if wrong else None
