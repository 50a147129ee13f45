"""Mistakes of Perceptron and Winnow on a disjunction of k among n attributes, as n grows.

Two streams: the one made for it (`worst.irrelevant`: every irrelevant attribute comes alone once), and random
examples with half of all attributes active, five for each attribute.
"""

from __future__ import annotations

from novikoff.experiments import curve_fit
from novikoff.experiments.result import (Axis, Column, Panel, Result, Value, at_most, made, panel, x)
from novikoff.experiments.common import (Tell, nobody, sizes, teach)
from novikoff.experiments.theorems import NOVIKOFF, WINNOW
from novikoff.linear.perceptron import Perceptron
from novikoff.linear.winnow import Winnow
from novikoff.data.synthetic.concepts import disjunction
from novikoff.data.synthetic.checks import whole
from novikoff.data.synthetic.base import Generated
from novikoff.data.synthetic.worst_case import irrelevant
from novikoff.theory import mistake_bounds, winnow_bounds

SMALLEST = 100
DENSE_MOST = 10_000
"""A dense stream of n attributes takes time that grows with n²."""
EXAMPLES_EACH = 5
AXES = Axis("n, the number of attributes", log=True), Axis("mistakes", log=True)
PERCEPTRON, WINNOW_COLUMN = made("perceptron", "Perceptron"), made("winnow", "Winnow")


def run(*, attributes: int = 100_000, relevant: int = 5, seed: int = 0, tell: Tell = nobody) -> Result:
    """n from 100 to `attributes`, k = `relevant`."""
    whole("attributes, the largest number of them,", attributes, 2 * SMALLEST, 10**7)
    whole("relevant, the number of literals,", relevant, 1, SMALLEST // 2)
    made_for_it, its_fits = _panel(
        "made for it",
        "The stream made for it",
        "Each irrelevant attribute comes alone once, as a negative example, and a relevant one after it. The Perceptron"
        " has no bias here, so that its bound is met but for k mistakes.",
        [_point(irrelevant(n, relevant), False, tell) for n in sizes(SMALLEST, attributes)],
    )
    dense = sizes(SMALLEST, min(attributes, DENSE_MOST))
    random, random_fits = _panel(
        "random",
        "Random examples, half of all attributes active",
        f"{EXAMPLES_EACH} random examples for each attribute, half of them positive. Nobody made this stream against"
        " anyone.",
        [
            _point(disjunction(n, relevant, density=0.5, examples=EXAMPLES_EACH * n, seed=seed), True, tell)
            for n in dense
        ],
    )
    return Result(
        "irrelevant-attributes",
        "Learning when irrelevant attributes abound",
        f"An example is positive if one of k = {relevant} attributes is active, and n − {relevant} others mean nothing."
        " What do they cost?",
        (_seen(made_for_it), _seen(random), EXPLAINED),
        {"attributes": attributes, "relevant": relevant, "seed": seed},
        (made_for_it, random),
        (*its_fits, *random_fits),
    )


EXPLAINED = (
    "Both axes are logarithmic: what grows like a power of n is a straight line, and what grows like log n flattens"
    " out. An irrelevant attribute makes examples longer, which the Perceptron's bound pays for with R², or it has to"
    " be unlearned by itself. Winnow starts with a small weight for each, and has to raise only k of them, by doubling."
)


def _point(stream: Generated, bias: bool, tell: Tell) -> dict[str, Value]:
    perceptron, multiplicative = Perceptron(bias=bias), Winnow()
    teach(stream, perceptron, multiplicative)
    truth, n = stream.truth, stream.n
    point: dict[str, Value] = {
        "n": n,
        "examples": stream.examples,
        "perceptron": perceptron.ledger_.mistakes,
        "perceptron_allowed": mistake_bounds.novikoff(radius=perceptron.ledger_.radius, margin=truth.gamma or 0.0),
        "winnow": multiplicative.ledger_.mistakes,
        "winnow_allowed": winnow_bounds.winnow(literals=truth.k, features=n, alpha=2.0, threshold=float(n)),
    }
    tell(f"{truth.concept}, n = {n:,}: Perceptron {point['perceptron']:,}, Winnow {point['winnow']:,}")
    return point


def _panel(name: str, title: str, note: str, points: list[dict[str, Value]]) -> tuple[Panel, tuple[curve_fit.Fit, ...]]:
    def numbers(key: str) -> list[float]:
        return [float(point[key] or 0) for point in points]

    found = (
        curve_fit.power(name, "perceptron", numbers("n"), numbers("perceptron")),
        curve_fit.logarithm(name, "winnow", numbers("n"), numbers("winnow")),
    )
    columns = (
        x("n", "n"),
        Column("examples", "examples", "other"),
        PERCEPTRON,
        at_most(PERCEPTRON, NOVIKOFF),
        WINNOW_COLUMN,
        at_most(WINNOW_COLUMN, WINNOW),
    )
    return panel(name, title, note, AXES, columns, points), found


def _seen(shown: Panel) -> str:
    first, last = shown.points()[0], shown.points()[-1]
    return (
        f"{shown.title}: from n = {first['n']:,} to n = {last['n']:,} the Perceptron's mistakes go from"
        f" {first['perceptron']:,} to {last['perceptron']:,}, Winnow's from {first['winnow']:,} to {last['winnow']:,}."
    )
