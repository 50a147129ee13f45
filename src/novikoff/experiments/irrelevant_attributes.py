"""Experiment: mistakes of Perceptron and Winnow on a disjunction of k among n attributes, as n grows.

It has two streams: an adversarial one (`worst.irrelevant`: every irrelevant attribute appears alone once), and random
examples with half of all attributes active, five for each attribute.
"""

from __future__ import annotations

from novikoff.data.synthetic.base import SyntheticStream
from novikoff.data.synthetic.checks import check_integer
from novikoff.data.synthetic.concepts import disjunction
from novikoff.data.synthetic.worst_case import irrelevant
from novikoff.experiments import curve_fit, result
from novikoff.experiments.common import ProgressPrinter, geometric_sizes, ignore_progress, train_once
from novikoff.experiments.theorems import NOVIKOFF, WINNOW
from novikoff.linear.perceptron import Perceptron
from novikoff.linear.winnow import Winnow
from novikoff.theory import mistake_bounds, winnow_bounds

MIN_ATTRIBUTES = 100
MAX_DENSE_ATTRIBUTES = 10_000
"""Limit for the dense stream, whose time grows with n²."""
EXAMPLES_PER_ATTRIBUTE = 5
AXES = result.Axis("n, the number of attributes", log=True), result.Axis("mistakes", log=True)
PERCEPTRON_COLUMN, WINNOW_COLUMN = (
    result.observed_column("perceptron", "Perceptron"),
    result.observed_column("winnow", "Winnow"),
)


def run(
    *, attributes: int = 100_000, relevant: int = 5, random_state: int = 0, tell: ProgressPrinter = ignore_progress
) -> result.ExperimentResult:
    """Run with n from 100 to `attributes`, and k = `relevant`."""
    check_integer("attributes, the largest number of them,", attributes, 2 * MIN_ATTRIBUTES, 10**7)
    check_integer("relevant, the number of literals,", relevant, 1, MIN_ATTRIBUTES // 2)
    made_for_it, its_fits = _build_panel(
        "made for it",
        "The stream made for it",
        "Each irrelevant attribute comes alone once, as a negative example, and a relevant one after it. The Perceptron"
        " has no bias here, so that its bound is met but for k mistakes.",
        [_run_point(irrelevant(n, relevant), False, tell) for n in geometric_sizes(MIN_ATTRIBUTES, attributes)],
    )
    dense = geometric_sizes(MIN_ATTRIBUTES, min(attributes, MAX_DENSE_ATTRIBUTES))
    random, random_fits = _build_panel(
        "random",
        "Random examples, half of all attributes active",
        f"{EXAMPLES_PER_ATTRIBUTE} random examples for each attribute, half of them positive. This stream is not"
        " adversarial.",
        [
            _run_point(
                disjunction(n, relevant, density=0.5, examples=EXAMPLES_PER_ATTRIBUTE * n, random_state=random_state),
                True,
                tell,
            )
            for n in dense
        ],
    )
    return result.ExperimentResult(
        "irrelevant-attributes",
        "Learning when irrelevant attributes abound",
        f"An example is positive if one of k = {relevant} attributes is active, and n − {relevant} others mean nothing."
        " What do they cost?",
        (_summarize(made_for_it), _summarize(random), EXPLANATION),
        {"attributes": attributes, "relevant": relevant, "random_state": random_state},
        (made_for_it, random),
        (*its_fits, *random_fits),
    )


EXPLANATION = (
    "Both axes are logarithmic: what grows like a power of n is a straight line, and what grows like log n flattens"
    " out. An irrelevant attribute makes examples longer, which the Perceptron's bound pays for with R², or it has to"
    " be unlearned by itself. Winnow starts with a small weight for each, and has to raise only k of them, by doubling."
)


def _run_point(stream: SyntheticStream, bias: bool, tell: ProgressPrinter) -> dict[str, result.Value]:
    perceptron, multiplicative = Perceptron(fit_intercept=bias), Winnow()
    train_once(stream, perceptron, multiplicative)
    truth, n = stream.truth, stream.n
    point: dict[str, result.Value] = {
        "n": n,
        "examples": stream.examples,
        "perceptron": perceptron.ledger_.mistakes,
        "perceptron_bound": mistake_bounds.novikoff(radius=perceptron.ledger_.radius, margin=truth.gamma or 0.0),
        "winnow": multiplicative.ledger_.mistakes,
        "winnow_bound": winnow_bounds.winnow(literals=truth.k, features=n, alpha=2.0, threshold=float(n)),
    }
    tell(f"{truth.concept}, n = {n:,}: Perceptron {point['perceptron']:,}, Winnow {point['winnow']:,}")
    return point


def _build_panel(
    name: str, title: str, note: str, points: list[dict[str, result.Value]]
) -> tuple[result.Panel, tuple[curve_fit.Fit, ...]]:
    def numbers(key: str) -> list[float]:
        return [float(point[key] or 0) for point in points]

    found = (
        curve_fit.fit_power(name, "perceptron", numbers("n"), numbers("perceptron")),
        curve_fit.fit_logarithm(name, "winnow", numbers("n"), numbers("winnow")),
    )
    columns = (
        result.x_column("n", "n"),
        result.PanelColumn("examples", "examples", "other"),
        PERCEPTRON_COLUMN,
        result.upper_bound_column(PERCEPTRON_COLUMN, NOVIKOFF),
        WINNOW_COLUMN,
        result.upper_bound_column(WINNOW_COLUMN, WINNOW),
    )
    return result.build_panel(name, title, note, AXES, columns, points), found


def _summarize(shown: result.Panel) -> str:
    first, last = shown.points()[0], shown.points()[-1]
    return (
        f"{shown.title}: from n = {first['n']:,} to n = {last['n']:,} the Perceptron's mistakes go from"
        f" {first['perceptron']:,} to {last['perceptron']:,}, Winnow's from {first['winnow']:,} to {last['winnow']:,}."
    )
