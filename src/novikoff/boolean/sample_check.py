"""Sample-size check of consistent learners: whether they saw enough examples for an error of ε on new data."""

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
    """The result of a sample-size check for ε and δ."""

    consistent: bool
    """Whether the hypothesis is consistent with its examples, if some hypothesis of its class is."""
    enough: bool
    examples: int
    needed: int
    sentence: str


class SampleCheckMixin(BaseEstimator, ABC):
    """Mixin for learners whose hypothesis is consistent with its examples; precedes the other base class."""

    passes: int

    @abstractmethod
    def _hypothesis_class(self) -> tuple[str, dict[str, Any], str]:
        """Return the sample-size rule (theory/samples/sample_size.py) for a consistent hypothesis, its arguments for
        the class, and their description."""

    @abstractmethod
    def _find_contradiction(self) -> str | None:
        """Return a proof that no hypothesis of the class agrees with every label; None if there is none."""

    def _parts(self) -> int:
        """Return 2 if a majority of consistent hypotheses predicts, of which half err where the vote errs;
        otherwise 1."""
        return 1

    def sample_check(self, *, epsilon: float, delta: float, examples: int | None = None) -> SampleCheck:
        """Check whether the examples were enough: with probability 1 − δ a consistent hypothesis has an error of at
        most ε.

        `examples` is the number of distinct examples; by default that of the ledger, divided by the passes of fit.

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
            " seen, and each was learned once"
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
    """Explain the false positives of learners that update on false negatives only: they contradict every hypothesis."""
    wrong = ledger.mistakes - ledger.updates
    agreed = "no hypothesis of its class agrees with every label"
    return f"{format_integer(wrong)} negative examples were predicted positive, so that {agreed}" if wrong else None
