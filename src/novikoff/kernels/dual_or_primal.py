"""Dual or primal, by the numbers: t₁·m² against t₂·m."""

from __future__ import annotations

from typing import NamedTuple

from novikoff.errors import InputError


class Advice(NamedTuple):
    """Which of the two is cheaper, and what each costs, in products of two numbers."""

    representation: str
    """'dual' or 'primal'."""
    dual: float
    primal: float
    sentence: str


def choose_representation(
    *, examples: int, kernel_cost: float, feature_cost: float, mistake_rate: float = 1.0, passes: int = 1
) -> Advice:
    """Whether to keep examples and score with K (the dual), or to write φ(x) out and keep weights (the primal).

    With t₁ the cost of one K(x, z) (`kernel_cost`: about the terms of an example) and t₂ that of one example in the
    explicit space (`feature_cost`: the terms of φ(x)), m examples cost t₁·m² in the dual, where all are kept, and t₂·m
    in the primal. Only mistakes are kept, so that with a share q of them (`mistake_rate`; later passes find them kept)
    example number i is compared with q·i others, t₁·q·m²/2 in the first pass, and with q·m in each later one.

    >>> advice = choose_representation(examples=60_000, kernel_cost=150, feature_cost=150**4 / 24, mistake_rate=0.1)
    >>> advice.representation, advice.dual < advice.primal
    ('dual', True)
    >>> print(choose_representation(examples=1_000_000, kernel_cost=10, feature_cost=66).sentence)
    primal: t₂·m = 6.6e+07 products against t₁·m² = 5e+12 in the dual.
    """
    for name, value in (("examples", examples), ("kernel_cost", kernel_cost), ("feature_cost", feature_cost)):
        if not 0 < value < float("inf"):
            raise InputError(f"{name} must be above 0, but is {value!r}.")
    if not 0.0 <= mistake_rate <= 1.0 or passes < 1:
        raise InputError(
            f"mistake_rate must be from 0 to 1 and passes at least 1, not {mistake_rate!r} and {passes!r}."
        )
    m, kept = float(examples), mistake_rate * float(examples)
    dual = kernel_cost * m * (kept / 2.0 + kept * (passes - 1))
    primal = feature_cost * m * passes
    better, cost, other, most = ("dual", dual, "primal", primal) if dual < primal else ("primal", primal, "dual", dual)
    names = {"dual": "t₁·m²", "primal": "t₂·m"}
    sentence = f"{better}: {names[better]} = {cost:.3g} products against {names[other]} = {most:.3g} in the {other}."
    return Advice(better, dual, primal, sentence)
