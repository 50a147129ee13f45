"""Theorems that the experiments show, with their assumptions; the formulas are in `theory`."""

from __future__ import annotations

from typing import NamedTuple


class Theorem(NamedTuple):
    name: str
    formula: str
    """Short form for a legend."""
    statement: str
    assumes: str


NOVIKOFF = Theorem(
    "Novikoff's theorem (1962)",
    "(R/γ)²",
    "The Perceptron makes at most (R/γ)² mistakes, in any order of the examples and over any number of passes.",
    "some u with ‖u‖ = 1 has y·u·x ≥ γ for every example, and ‖x‖ ≤ R (with the bias feature, where there is one)."
    " γ is known from how the stream is made, R is measured.",
)
HINGE = Theorem(
    "the hinge bound",
    "(a + 2L + √(a² + 4aL))/2",
    "For any u: the Perceptron makes at most (a + 2L + √(a² + 4aL))/2 mistakes, where a = R²‖u‖² and"
    " L = Σ max(0, 1 − y·u·x). Without noise L is 0 and this is (R/γ)².",
    "nothing. L is measured here with the true separator, scaled so that y·u·x ≥ 1 wherever the label is not flipped.",
)
WINNOW = Theorem(
    "Winnow's bound (Littlestone 1988)",
    "2 + 3k(1 + log₂ n)",
    "Winnow (α = 2, θ = n) makes at most 2 + 3k(1 + log₂ n) mistakes.",
    "the labels are those of a disjunction of k of n attributes that are 0 or 1, none of them negated, and no label is"
    " wrong.",
)
WINNOW_R = Theorem(
    "Winnow-R's bound",
    "2 + 5c(2 + log₂ n)",
    "Winnow-R (α = 2, θ = n, no weight below ½) makes at most 2 + 5c(2 + log₂ n) mistakes.",
    "at every moment the labels are those of some disjunction of attributes that are 0 or 1; it may change, and has"
    " gained a literal c times in all, those of its start included. No label is wrong.",
)
MARGIN = Theorem(
    "the Margin Perceptron's bound",
    "2(R/εγ)² + 2R/εγ",
    "The Margin Perceptron makes at most 2(R/(εγ))² + 2R/(εγ) updates, over any number of passes; for ε = ½ this is"
    " 8(R/γ)² + 4R/γ.",
    "some u with ‖u‖ = 1 has y·u·x ≥ γ for every example, and γ is a parameter of the learner.",
)
MARGIN_REACHED = Theorem(
    "the Margin Perceptron's promise",
    "1 − ε",
    "After a pass without an update the Margin Perceptron's w has margin min y·w·x/‖w‖ ≥ (1 − ε)γ.",
    "such a pass was made, as it was for every point shown.",
)
BALANCED = Theorem(
    "Balanced Winnow's bound",
    "(ln 2n + ηL)/(ηγ − η²/2)",
    "Balanced Winnow (η = ln α, θ = 0) makes at most (ln 2n + ηL)/(ηγ − η²/2) mistakes, for any u with ‖u‖₁ = 1 and any"
    " γ > η/2, where L = Σ max(0, γ − y·u·x); n counts the bias feature too.",
    "attributes from −1 to 1. L is measured here with the true separator; γ is its margin and α = e^γ.",
)
NOISE_LENGTH = Theorem(
    "the length of noise",
    "γ/√(1 + N/k)",
    "γ/R is at least γ/√(1 + N/k): ‖x‖² is at most 1, and N/k is added to it.",
    "‖x‖ ≤ 1 in k dimensions, and N coordinates of length 1/√k are added, as they are here.",
)
