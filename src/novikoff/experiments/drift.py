"""Experiment: mistakes of Winnow and Winnow-R on a disjunction that changes.

It has two streams: an adversarial one for Winnow (`worst.drifting_disjunction`) with an increasing number of changes,
and random examples with half of all attributes active, on which the mistakes are followed through time.
"""

from __future__ import annotations

from dataclasses import replace

from novikoff.data.synthetic.checks import check_integer
from novikoff.data.synthetic.concepts import disjunction
from novikoff.data.synthetic.ground_truth import GroundTruth
from novikoff.data.synthetic.worst_case import drifting_disjunction
from novikoff.experiments import result
from novikoff.experiments.common import BINARY_CLASSES, ProgressPrinter, geometric_sizes, ignore_progress, train_once
from novikoff.experiments.theorems import WINNOW_R
from novikoff.linear.winnow import Winnow
from novikoff.theory import winnow_bounds

MIN_CHANGES, DEFAULT_MAX_CHANGES = 4, 256
WEIGHT_FLOOR = 0.5
N_POINTS = 100
WINNOW_COLUMN, WINNOW_R_COLUMN = (
    result.observed_column("winnow", "Winnow"),
    result.observed_column("winnow_r", "Winnow-R"),
)
COST_COLUMN = result.PanelColumn("cost", "c", "other")


def run(
    *,
    attributes: int = 1024,
    relevant: int = 5,
    drift: int | None = None,
    examples: int = 100_000,
    random_state: int = 0,
    tell: ProgressPrinter = ignore_progress,
) -> result.ExperimentResult:
    """Run with up to `drift` changes; the random disjunction has `relevant` literals.

    The default of `drift` is 256, but at most a quarter of the attributes.
    """
    check_integer("attributes, their number,", attributes, 4 * MIN_CHANGES)
    drift = max(min(DEFAULT_MAX_CHANGES, attributes // 4), 2 * MIN_CHANGES) if drift is None else drift
    check_integer("drift, the largest number of changes,", drift, 2 * MIN_CHANGES, attributes - 2)
    check_integer("examples, their number,", examples, N_POINTS)
    against = _run_adversarial(attributes, drift, tell)
    random = _run_random(attributes, relevant, drift, examples, random_state, tell)
    return result.ExperimentResult(
        "drift",
        "Following a target that changes",
        "An example is positive if one of a few attributes is active, and now and then another attribute takes the"
        " place of one of them. How many mistakes does a change cost?",
        (_summarize(against), _summarize(random), EXPLANATION),
        {
            "attributes": attributes,
            "relevant": relevant,
            "drift": drift,
            "examples": examples,
            "random_state": random_state,
        },
        (against, random),
    )


EXPLANATION = (
    "Winnow halves the weights of attributes that are wrongly trusted, again and again, and when such an attribute"
    " becomes relevant, every halving has to be undone. Winnow-R stops at ½, so that no attribute is ever further from"
    " the threshold n than 1 + log₂ n doublings. For Winnow itself no bound is shown: under drift none of these holds"
    " for it, and its mistakes may exceed those allowed to Winnow-R."
)


def _run_adversarial(n: int, most: int, tell: ProgressPrinter) -> result.Panel:
    points = []
    for changes in geometric_sizes(MIN_CHANGES, most, per_decade=5):
        stream = drifting_disjunction(n, changes // 2, changes)
        plain, robust = Winnow(), Winnow(floor=WEIGHT_FLOOR)
        train_once(stream, plain, robust)
        points.append({"changes": changes, "examples": stream.examples, **_count_mistakes(plain, robust, stream.truth)})
        tell(
            f"against Winnow, {changes:,} changes: Winnow {_format_last(points, 'winnow')}, Winnow-R"
            f" {_format_last(points, 'winnow_r')}"
        )
    return result.build_panel(
        "against Winnow",
        "The stream made against Winnow",
        f"{n:,} attributes, one relevant at a time. Half of the changes demote the same attributes again and again,"
        " then each of these becomes relevant: Winnow errs on every example.",
        (result.Axis("number of changes", log=True), result.Axis("mistakes", log=True)),
        (
            result.x_column("changes", "changes"),
            result.PanelColumn("examples", "examples", "other"),
            COST_COLUMN,
            WINNOW_COLUMN,
            WINNOW_R_COLUMN,
            result.upper_bound_column(WINNOW_R_COLUMN, WINNOW_R),
        ),
        points,
    )


def _run_random(n: int, k: int, changes: int, examples: int, random_state: int, tell: ProgressPrinter) -> result.Panel:
    stream = disjunction(n, k, density=0.5, drift=changes, examples=examples, random_state=random_state)
    plain, robust = Winnow(), Winnow(floor=WEIGHT_FLOOR)
    points = []
    for X, y in stream.batches(-(-examples // N_POINTS)):
        for learner in (plain, robust):
            learner.partial_fit(X, y, classes=BINARY_CLASSES)
        seen = plain.ledger_.examples
        points.append({"examples": seen, **_count_mistakes(plain, robust, _truth_until(stream.truth, seen))})
        if len(points) % (N_POINTS // 10) == 0:
            tell(
                f"random, {seen:,} examples: Winnow {_format_last(points, 'winnow')}, Winnow-R"
                f" {_format_last(points, 'winnow_r')}"
            )
    return result.build_panel(
        "random",
        f"Random examples, {changes:,} changes",
        f"{n:,} attributes, half of them active, {k} relevant; the changes are spread evenly. Mistakes so far; the"
        " bound rises with every change.",
        (result.Axis("examples seen"), result.Axis("mistakes so far")),
        (
            result.x_column("examples", "examples"),
            COST_COLUMN,
            WINNOW_COLUMN,
            WINNOW_R_COLUMN,
            result.upper_bound_column(WINNOW_R_COLUMN, WINNOW_R),
        ),
        points,
    )


def _truth_until(truth: GroundTruth, seen: int) -> GroundTruth:
    """Return the target's history over the first examples."""
    return replace(truth, examples=seen, phases=tuple(phase for phase in truth.phases if phase.start < seen))


def _count_mistakes(plain: Winnow, robust: Winnow, truth: GroundTruth) -> dict[str, result.Value]:
    n, cost = truth.n, truth.cost
    return {
        "cost": cost,
        "winnow": plain.ledger_.mistakes,
        "winnow_r": robust.ledger_.mistakes,
        "winnow_r_bound": winnow_bounds.winnow_r(
            gained=cost, features=n, alpha=2.0, threshold=float(n), floor=WEIGHT_FLOOR
        ),
    }


def _format_last(points: list[dict[str, result.Value]], key: str) -> str:
    return f"{points[-1][key]:,}"


def _summarize(shown: result.Panel) -> str:
    last = shown.points()[-1]
    return (
        f"{shown.title}: at the end, when literals were gained c = {last['cost']:,} times, Winnow has made"
        f" {last['winnow']:,} mistakes and Winnow-R {last['winnow_r']:,}, of at most {last['winnow_r_bound']:,.0f}."
    )
