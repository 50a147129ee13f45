"""Mistakes of Winnow and Winnow-R on a disjunction that changes.

Two streams: the one made against Winnow (`worst.drifting_disjunction`), with more and more changes, and random examples
with half of all attributes active, on which the mistakes are followed through time.
"""

from __future__ import annotations

from dataclasses import replace

from novikoff.experiments.result import (Axis, Column, Panel, Result, Value, at_most, made, panel, x)
from novikoff.experiments.common import (BOTH, Tell, nobody, sizes, teach)
from novikoff.experiments.theorems import WINNOW_R
from novikoff.linear.winnow import Winnow
from novikoff.data.synthetic.concepts import disjunction
from novikoff.data.synthetic.checks import whole
from novikoff.data.synthetic.ground_truth import Truth
from novikoff.data.synthetic.worst_case import drifting_disjunction
from novikoff.theory import winnow_bounds

FEWEST, MANY = 4, 256
FLOOR = 0.5
MOMENTS = 100
PLAIN, ROBUST = made("winnow", "Winnow"), made("winnow_r", "Winnow-R")
COST = Column("cost", "c", "other")


def run(
    *,
    attributes: int = 1024,
    relevant: int = 5,
    drift: int | None = None,
    examples: int = 100_000,
    seed: int = 0,
    tell: Tell = nobody,
) -> Result:
    """Up to `drift` changes (by default 256, but at most a quarter of the attributes); the random disjunction has
    `relevant` literals."""
    whole("attributes, their number,", attributes, 4 * FEWEST)
    drift = max(min(MANY, attributes // 4), 2 * FEWEST) if drift is None else drift
    whole("drift, the largest number of changes,", drift, 2 * FEWEST, attributes - 2)
    whole("examples, their number,", examples, MOMENTS)
    against = _made_against_winnow(attributes, drift, tell)
    random = _random(attributes, relevant, drift, examples, seed, tell)
    return Result(
        "drift",
        "Following a target that changes",
        "An example is positive if one of a few attributes is active, and now and then another attribute takes the"
        " place of one of them. How many mistakes does a change cost?",
        (_seen(against), _seen(random), EXPLAINED),
        {"attributes": attributes, "relevant": relevant, "drift": drift, "examples": examples, "seed": seed},
        (against, random),
    )


EXPLAINED = (
    "Winnow halves the weights of attributes that are wrongly trusted, again and again, and when such an attribute"
    " becomes relevant, every halving has to be undone. Winnow-R stops at ½, so that no attribute is ever further from"
    " the threshold n than 1 + log₂ n doublings. For Winnow itself no bound is shown: under drift none of these holds"
    " for it, and its mistakes may exceed those allowed to Winnow-R."
)


def _made_against_winnow(n: int, most: int, tell: Tell) -> Panel:
    points = []
    for changes in sizes(FEWEST, most, per_decade=5):
        stream = drifting_disjunction(n, changes // 2, changes)
        plain, robust = Winnow(), Winnow(floor=FLOOR)
        teach(stream, plain, robust)
        points.append({"changes": changes, "examples": stream.examples, **_mistakes(plain, robust, stream.truth)})
        tell(f"against Winnow, {changes:,} changes: Winnow {_of(points, 'winnow')}, Winnow-R {_of(points, 'winnow_r')}")
    return panel(
        "against Winnow",
        "The stream made against Winnow",
        f"{n:,} attributes, one relevant at a time. Half of the changes demote the same attributes again and again,"
        " then each of these becomes relevant: Winnow errs on every example.",
        (Axis("number of changes", log=True), Axis("mistakes", log=True)),
        (
            x("changes", "changes"),
            Column("examples", "examples", "other"),
            COST,
            PLAIN,
            ROBUST,
            at_most(ROBUST, WINNOW_R),
        ),
        points,
    )


def _random(n: int, k: int, changes: int, examples: int, seed: int, tell: Tell) -> Panel:
    stream = disjunction(n, k, density=0.5, drift=changes, examples=examples, seed=seed)
    plain, robust = Winnow(), Winnow(floor=FLOOR)
    points = []
    for X, y in stream.batches(-(-examples // MOMENTS)):
        for learner in (plain, robust):
            learner.partial_fit(X, y, classes=BOTH)
        seen = plain.ledger_.examples
        points.append({"examples": seen, **_mistakes(plain, robust, _until(stream.truth, seen))})
        if len(points) % (MOMENTS // 10) == 0:
            tell(f"random, {seen:,} examples: Winnow {_of(points, 'winnow')}, Winnow-R {_of(points, 'winnow_r')}")
    return panel(
        "random",
        f"Random examples, {changes:,} changes",
        f"{n:,} attributes, half of them active, {k} relevant; the changes are spread evenly. Mistakes so far; the"
        " bound rises with every change.",
        (Axis("examples seen"), Axis("mistakes so far")),
        (x("examples", "examples"), COST, PLAIN, ROBUST, at_most(ROBUST, WINNOW_R)),
        points,
    )


def _until(truth: Truth, seen: int) -> Truth:
    """What was the truth of the first so many examples."""
    return replace(truth, examples=seen, phases=tuple(phase for phase in truth.phases if phase.start < seen))


def _mistakes(plain: Winnow, robust: Winnow, truth: Truth) -> dict[str, Value]:
    n, cost = truth.n, truth.cost
    return {
        "cost": cost,
        "winnow": plain.ledger_.mistakes,
        "winnow_r": robust.ledger_.mistakes,
        "winnow_r_allowed": winnow_bounds.winnow_r(gained=cost, features=n, alpha=2.0, threshold=float(n), floor=FLOOR),
    }


def _of(points: list[dict[str, Value]], key: str) -> str:
    return f"{points[-1][key]:,}"


def _seen(shown: Panel) -> str:
    last = shown.points()[-1]
    return (
        f"{shown.title}: at the end, when literals were gained c = {last['cost']:,} times, Winnow has made"
        f" {last['winnow']:,} mistakes and Winnow-R {last['winnow_r']:,}, of at most {last['winnow_r_allowed']:,.0f}."
    )
