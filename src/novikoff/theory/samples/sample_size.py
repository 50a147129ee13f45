"""Calculator for sample sizes: given two of m, ε and δ, compute the third and state it as a sentence.

Each law is a module with the functions `examples`, `error` and `failure`. This module adds names, formulas and texts.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

from novikoff.errors import InputError
from novikoff.theory import validation
from novikoff.theory.class_size import ClassSize, Hypotheses, to_class_size
from novikoff.theory.directed_rounding import DOWN, float_above, to_fraction
from novikoff.theory.formula_text import (
    format_integer,
    format_lower_bound,
    format_number,
    format_power_of_ten,
    format_upper_bound,
    substitute_numbers,
)
from novikoff.theory.samples import agnostic, capacity, consistent, deviation, hoeffding, lower_bound


class Direction(NamedTuple):
    """Computes one of m, ε and δ from the other two."""

    compute: Callable[..., Any]
    formula: str


class SampleSizeBound(NamedTuple):
    name: str
    about: str
    of: str
    """The size that describes the class: 'hypotheses', 'dimension' or ''."""
    claim: str
    """The statement that holds with probability 1 − δ."""
    directions: dict[str, Direction]
    assumes: str
    source: str
    necessary: bool = False
    """Whether the number of examples is necessary instead of sufficient."""


class SampleSizeAnswer(NamedTuple):
    """The answer to one question."""

    law: str
    asked: str
    """The computed number: 'examples', 'error' or 'failure'."""
    value: int | float
    given: dict[str, Any]
    formula: str
    filled: str
    sentence: str
    assumes: str
    source: str

    def __str__(self) -> str:
        return "\n".join(
            (
                self.sentence,
                f"formula     {self.formula}",
                f"here        {self.filled}",
                f"assumes     {self.assumes}",
                f"source      {self.source}",
            )
        )

    def as_dict(self) -> dict[str, Any]:
        given = {key: value.formula if isinstance(value, ClassSize) else value for key, value in self.given.items()}
        return {**self._asdict(), "given": given}


INDEPENDENT = "the examples are drawn independently from one distribution, which is also that of new ones"
SAMPLE_SIZE_BOUNDS = {
    "consistent": SampleSizeBound(
        "consistent",
        "a hypothesis of a finite class that makes no mistake on the examples",
        "hypotheses",
        "a hypothesis of the class that makes no mistake on them has an error of at most {epsilon} on new ones",
        {
            "examples": Direction(consistent.examples, "m ≥ (1/ε)·(ln|H| + ln(1/δ))"),
            "error": Direction(consistent.error, "ε ≤ (ln|H| + ln(1/δ))/m"),
            "failure": Direction(consistent.failure, "δ ≤ exp(ln|H| − ε·m)"),
        },
        f"{INDEPENDENT}; the labels are those of a hypothesis of the class, or one agrees with all of them",
        "Blumer, Ehrenfeucht, Haussler and Warmuth 1987; Mitchell 1997, eq. 7.2",
    ),
    "agnostic": SampleSizeBound(
        "agnostic",
        "every hypothesis of a finite class, whatever mistakes it makes",
        "hypotheses",
        "no hypothesis of the class has an error on new ones that is more than {epsilon} above its share of mistakes on"
        " them",
        {
            "examples": Direction(agnostic.examples, "m ≥ (1/(2·ε²))·(ln|H| + ln(1/δ))"),
            "error": Direction(agnostic.error, "ε ≤ √((ln|H| + ln(1/δ))/(2·m))"),
            "failure": Direction(agnostic.failure, "δ ≤ exp(ln|H| − 2·m·ε²)"),
        },
        INDEPENDENT,
        "Hoeffding 1963; Haussler 1992; Mitchell 1997, eq. 7.3",
    ),
    "vc": SampleSizeBound(
        "vc",
        "a hypothesis of a class of VC dimension d that makes no mistake on the examples",
        "dimension",
        "a hypothesis of the class that makes no mistake on them has an error of at most {epsilon} on new ones",
        {
            "examples": Direction(capacity.examples, "m ≥ (1/ε)·(8·d·log₂(13/ε) + 4·log₂(2/δ))"),
            "error": Direction(capacity.error, "the least ε with (1/ε)·(8·d·log₂(13/ε) + 4·log₂(2/δ)) ≤ m"),
            "failure": Direction(capacity.failure, "δ ≤ 2·2^(2·d·log₂(13/ε) − ε·m/4)"),
        },
        f"{INDEPENDENT}; the labels are those of a hypothesis of the class",
        "Blumer, Ehrenfeucht, Haussler and Warmuth 1989; Mitchell 1997, eq. 7.7",
    ),
    "vc-agnostic": SampleSizeBound(
        "vc-agnostic",
        "every hypothesis of a class of VC dimension d, whatever mistakes it makes",
        "dimension",
        "no hypothesis of the class has an error on new ones that is more than {epsilon} above its share of mistakes on"
        " them",
        {
            "examples": Direction(deviation.examples, "the least m with m ≥ (8/ε²)·ln(4·((2·m)^d + 1)/δ)"),
            "error": Direction(deviation.error, "ε ≤ √((8/m)·ln(4·((2·m)^d + 1)/δ))"),
            "failure": Direction(deviation.failure, "δ ≤ 4·((2·m)^d + 1)·exp(−m·ε²/8)"),
        },
        INDEPENDENT,
        "Vapnik and Chervonenkis 1971; Abu-Mostafa, Magdon-Ismail and Lin 2012, eq. 2.12",
    ),
    "lower": SampleSizeBound(
        "lower",
        "what every learner needs, for a class of VC dimension d",
        "dimension",
        "{fewer}",
        {
            "examples": Direction(
                lower_bound.examples, "m ≥ max[ln(1/δ)/ln(1/(1 − ε)), (d − 1)/(32·ε) if ε ≤ 1/8 and δ ≤ 1/100]"
            )
        },
        "the learner is deterministic, and two concepts of the class agree on a point and differ on another",
        "Ehrenfeucht, Haussler, Kearns and Valiant 1989; Blumer, Ehrenfeucht, Haussler and Warmuth 1989",
        necessary=True,
    ),
    "hoeffding": SampleSizeBound(
        "hoeffding",
        "one hypothesis that was chosen before the examples were drawn",
        "",
        "the error of the hypothesis on new ones is at most {epsilon} above its share of mistakes on them",
        {
            "examples": Direction(hoeffding.examples, "m ≥ ln(1/δ)/(2·ε²)"),
            "error": Direction(hoeffding.error, "ε ≤ √(ln(1/δ)/(2·m))"),
            "failure": Direction(hoeffding.failure, "δ ≤ exp(−2·m·ε²)"),
        },
        f"{INDEPENDENT}; the hypothesis does not depend on them",
        "Hoeffding 1963",
    ),
}
SYMBOLS = {"examples": "m", "epsilon": "ε", "delta": "δ", "dimension": "d"}
GIVEN_PAIRS = {"examples": ("epsilon", "delta"), "error": ("examples", "delta"), "failure": ("examples", "epsilon")}


def ask(
    law: str,
    *,
    examples: int | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    hypotheses: Hypotheses | None = None,
    dimension: int | None = None,
) -> SampleSizeAnswer:
    """Compute the third of m, ε and δ by the named law.

    >>> print(ask("consistent", hypotheses=3**10, epsilon=0.1, delta=0.05).sentence)
    140 examples are enough: with probability at least 0.95, a hypothesis of the class that makes no mistake on them \
has an error of at most 0.1 on new ones.
    """
    bound = SAMPLE_SIZE_BOUNDS[law]
    given = {"examples": examples, "epsilon": epsilon, "delta": delta}
    known = {key: value for key, value in given.items() if value is not None}
    asked = next((third for third, two in GIVEN_PAIRS.items() if set(two) == set(known)), None)
    if asked is None or asked not in bound.directions:
        needed = "ε and δ" if bound.necessary else "two of m (examples), ε (epsilon) and δ (delta)"
        raise InputError(f"{law} must be given {needed}, got {', '.join(known) or 'none'}.")
    more = {"hypotheses": hypotheses, "dimension": dimension}
    described = {bound.of: more[bound.of]} if bound.of else {}
    if None in described.values():
        raise InputError(f"{law} must be given {'|H|, the' if bound.of == 'hypotheses' else 'd, the VC'} {bound.of}.")
    return _build_answer(bound, asked, {**described, **known})


def _build_answer(law: SampleSizeBound, asked: str, given: dict[str, Any]) -> SampleSizeAnswer:
    value = law.directions[asked].compute(**given)
    formula = law.directions[asked].formula
    numbers = {SYMBOLS[key]: format_number(number) for key, number in given.items() if key in SYMBOLS}
    if law.of == "hypotheses":
        numbers["ln|H|"] = _format_logarithm(to_class_size(given["hypotheses"]))
    here = f"{substitute_numbers(formula, numbers)}, so {_format_result(asked, value)}"
    sentence = _build_sentence(law, asked, value, given)
    return SampleSizeAnswer(law.name, asked, value, given, formula, here, sentence, law.assumes, law.source)


def _format_logarithm(size: ClassSize) -> str:
    return format_upper_bound(float_above(size.ln)) if size.ln.adjusted() < 300 else format_power_of_ten(size.ln)


def _format_result(asked: str, value: Any) -> str:
    return (
        f"m = {format_integer(value)}"
        if asked == "examples"
        else f"{'ε' if asked == 'error' else 'δ'} = {format_upper_bound(value)}"
    )


def _build_sentence(law: SampleSizeBound, asked: str, value: Any, given: dict[str, Any]) -> str:
    many = format_integer(value if asked == "examples" else given["examples"])
    if law.necessary:
        return (
            f"No learner can do with fewer than {many} examples: with fewer, some distribution makes its error exceed"
            f" {format_number(given['epsilon'])} with probability above {format_number(given['delta'])}."
        )
    claim = law.claim.format(epsilon=format_upper_bound(value) if asked == "error" else format_number(given["epsilon"]))
    if asked == "failure":
        nothing = " The bound is trivial: there are too few examples." if value >= 1.0 else ""
        return f"With {many} examples, {claim}, but for a probability of at most {format_upper_bound(value)}.{nothing}"
    sure = format_confidence(given["delta"])
    if asked == "examples":
        return f"{many} examples are enough: with probability at least {sure}, {claim}."
    nothing = " The bound is trivial: there are too few examples." if value >= 1.0 else ""
    return f"With {many} examples, with probability at least {sure}, {claim}.{nothing}"


def format_confidence(delta: float) -> str:
    """Format 1 − δ with all its digits."""
    rest = 1 - to_fraction(delta)
    if rest.denominator <= 10**12:
        return f"{float(rest):.12g}"
    return (
        format_lower_bound(float(DOWN.divide(rest.numerator, rest.denominator)))
        if rest < Decimal("0.9999")
        else f"1 − {delta:g}"
    )


class SampleSizeCheck(NamedTuple):
    """The verdict whether a number of examples is enough."""

    enough: bool
    examples: int
    needed: int
    sentence: str

    def as_dict(self) -> dict[str, Any]:
        return self._asdict()


def check(law: str, *, examples: int, epsilon: float, delta: float, **more: Any) -> SampleSizeCheck:
    """Check whether this number of examples is enough for ε and δ by the named law.

    >>> print(check("consistent", examples=100, epsilon=0.1, delta=0.05, hypotheses=3**10).sentence)
    100 examples are not enough for ε = 0.1 and δ = 0.05: 140 are needed.
    """
    needed = int(ask(law, epsilon=epsilon, delta=delta, **more).value)
    enough = validation.check_examples(examples) >= needed
    verdict = (
        f"are {'' if enough else 'not '}enough"
        if not SAMPLE_SIZE_BOUNDS[law].necessary
        else "may do"
        if enough
        else "can't do"
    )
    ends = f"{format_integer(needed)} {'were' if enough else 'are'} needed"
    sentence = (
        f"{format_integer(examples)} examples {verdict} for ε = {format_number(epsilon)} and δ ="
        f" {format_number(delta)}: {ends}."
    )
    return SampleSizeCheck(enough, examples, needed, sentence)


TABLE_EPSILONS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)


def table(
    law: str, *, delta: float, epsilons: tuple[float, ...] = TABLE_EPSILONS, **more: Any
) -> list[tuple[float, int]]:
    """Return the needed number of examples for shrinking ε."""
    return [(epsilon, int(ask(law, epsilon=epsilon, delta=delta, **more).value)) for epsilon in epsilons]
