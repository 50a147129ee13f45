"""Sample sizes as questions and answers: of m, ε and δ any two are given and the third is told, in words.

Each law is a module with the functions `examples`, `error` and `failure`; here is what they say.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

from novikoff.errors import InputError
from novikoff.theory.samples import (agnostic, capacity, consistent, deviation, hoeffding, lower_bound)
from novikoff.theory import validation
from novikoff.theory.formula_text import (at_least, at_most, filled, power_of_ten, shown, whole)
from novikoff.theory.directed_rounding import DOWN, exact, float_above
from novikoff.theory.class_size import Hypotheses, Size, of


class Direction(NamedTuple):
    """One of the three numbers from the other two."""

    compute: Callable[..., Any]
    formula: str


class Law(NamedTuple):
    name: str
    about: str
    of: str
    """What describes the class: 'hypotheses', 'dimension', or nothing."""
    claim: str
    """What holds with probability 1 − δ."""
    directions: dict[str, Direction]
    assumes: str
    source: str
    necessary: bool = False
    """Whether so many examples are needed, where other laws say that they are enough."""


class Answer(NamedTuple):
    """One question, answered."""

    law: str
    asked: str
    """'examples', 'error' or 'failure'."""
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
        given = {key: value.formula if isinstance(value, Size) else value for key, value in self.given.items()}
        return {**self._asdict(), "given": given}


INDEPENDENT = "the examples are drawn independently from one distribution, which is also that of new ones"
LAWS = {
    "consistent": Law(
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
    "agnostic": Law(
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
    "vc": Law(
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
    "vc-agnostic": Law(
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
    "lower": Law(
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
    "hoeffding": Law(
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
THIRD = {"examples": ("epsilon", "delta"), "error": ("examples", "delta"), "failure": ("examples", "epsilon")}


def ask(
    law: str,
    *,
    examples: int | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    hypotheses: Hypotheses | None = None,
    dimension: int | None = None,
) -> Answer:
    """The third of m, ε and δ.

    >>> print(ask("consistent", hypotheses=3**10, epsilon=0.1, delta=0.05).sentence)
    140 examples are enough: with probability at least 0.95, a hypothesis of the class that makes no mistake on them \
has an error of at most 0.1 on new ones.
    """
    told = LAWS[law]
    given = {"examples": examples, "epsilon": epsilon, "delta": delta}
    known = {key: value for key, value in given.items() if value is not None}
    asked = next((third for third, two in THIRD.items() if set(two) == set(known)), None)
    if asked is None or asked not in told.directions:
        needed = "ε and δ" if told.necessary else "two of m (examples), ε (epsilon) and δ (delta)"
        raise InputError(f"{law} must be told {needed}, but was told {', '.join(known) or 'none'}.")
    more = {"hypotheses": hypotheses, "dimension": dimension}
    described = {told.of: more[told.of]} if told.of else {}
    if None in described.values():
        raise InputError(f"{law} must be told {'|H|, the' if told.of == 'hypotheses' else 'd, the VC'} {told.of}.")
    return _answer(told, asked, {**described, **known})


def _answer(law: Law, asked: str, given: dict[str, Any]) -> Answer:
    value = law.directions[asked].compute(**given)
    formula = law.directions[asked].formula
    numbers = {SYMBOLS[key]: shown(number) for key, number in given.items() if key in SYMBOLS}
    if law.of == "hypotheses":
        numbers["ln|H|"] = _logarithm(of(given["hypotheses"]))
    here = f"{filled(formula, numbers)}, so {_result(asked, value)}"
    sentence = _sentence(law, asked, value, given)
    return Answer(law.name, asked, value, given, formula, here, sentence, law.assumes, law.source)


def _logarithm(size: Size) -> str:
    return at_most(float_above(size.ln)) if size.ln.adjusted() < 300 else power_of_ten(size.ln)


def _result(asked: str, value: Any) -> str:
    return f"m = {whole(value)}" if asked == "examples" else f"{'ε' if asked == 'error' else 'δ'} = {at_most(value)}"


def _sentence(law: Law, asked: str, value: Any, given: dict[str, Any]) -> str:
    many = whole(value if asked == "examples" else given["examples"])
    if law.necessary:
        return (
            f"No learner can do with fewer than {many} examples: with fewer, some distribution makes its error exceed"
            f" {shown(given['epsilon'])} with probability above {shown(given['delta'])}."
        )
    claim = law.claim.format(epsilon=at_most(value) if asked == "error" else shown(given["epsilon"]))
    if asked == "failure":
        nothing = " That says nothing: there are too few examples." if value >= 1.0 else ""
        return f"With {many} examples, {claim}, but for a probability of at most {at_most(value)}.{nothing}"
    sure = shown_rest(given["delta"])
    if asked == "examples":
        return f"{many} examples are enough: with probability at least {sure}, {claim}."
    nothing = " That says nothing: there are too few examples." if value >= 1.0 else ""
    return f"With {many} examples, with probability at least {sure}, {claim}.{nothing}"


def shown_rest(delta: float) -> str:
    """1 − δ, as it is."""
    rest = 1 - exact(delta)
    if rest.denominator <= 10**12:
        return f"{float(rest):.12g}"
    return (
        at_least(float(DOWN.divide(rest.numerator, rest.denominator))) if rest < Decimal("0.9999") else f"1 − {delta:g}"
    )


class Check(NamedTuple):
    """Whether a hypothesis without a mistake has seen enough."""

    enough: bool
    examples: int
    needed: int
    sentence: str

    def as_dict(self) -> dict[str, Any]:
        return self._asdict()


def check(law: str, *, examples: int, epsilon: float, delta: float, **more: Any) -> Check:
    """Whether so many examples are enough for ε and δ, by this law.

    >>> print(check("consistent", examples=100, epsilon=0.1, delta=0.05, hypotheses=3**10).sentence)
    100 examples are not enough for ε = 0.1 and δ = 0.05: 140 are needed.
    """
    needed = int(ask(law, epsilon=epsilon, delta=delta, **more).value)
    enough = validation.examples(examples) >= needed
    verdict = f"are {'' if enough else 'not '}enough" if not LAWS[law].necessary else "may do" if enough else "can't do"
    ends = f"{whole(needed)} {'were' if enough else 'are'} needed"
    sentence = f"{whole(examples)} examples {verdict} for ε = {shown(epsilon)} and δ = {shown(delta)}: {ends}."
    return Check(enough, examples, needed, sentence)


EPSILONS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)


def table(law: str, *, delta: float, epsilons: tuple[float, ...] = EPSILONS, **more: Any) -> list[tuple[float, int]]:
    """How many examples, as ε shrinks."""
    return [(epsilon, int(ask(law, epsilon=epsilon, delta=delta, **more).value)) for epsilon in epsilons]
