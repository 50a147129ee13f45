"""What the theorems say of a run: each is asked with what was measured of every witness, and the best answer stands."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from novikoff.certificates.witness_selection import Found
from novikoff.certificates.measure import OUTWARD, UNIT, Batches, evidence, measure
from novikoff.certificates.spaces.base import space_of
from novikoff.base.online_classifier import Learner
from novikoff.theory.bounds import Bound, Evidence

NOTHING = "nothing of the data; the theorem is about exact arithmetic, and what this run made is compared with it"

RUN = "run"
"""In place of a witness, where a theorem asks for nothing but what was counted."""


def judged(
    model: Learner, found: list[Found], target: Mapping[str, float], stream: Batches, passes: int
) -> list[dict[str, Any]]:
    """What the theorems say of a model after its run, with these witnesses."""
    _, facts = facts_of(model, found, target, stream, passes)
    return [verdict(bound, facts, model.ledger_) for bound in model.bounds()]


def facts_of(
    model: Learner, found: list[Found], target: Mapping[str, float], stream: Batches, passes: int
) -> tuple[Sequence[Any], dict[str, Evidence]]:
    """What is measured of each witness, and what the theorems are asked with."""
    space = space_of(model)
    if space is not None:
        seen, known = space.facts(found, stream, passes)
        return seen, dict(known)
    bias = bool(model.bias)
    measured = (
        measure(stream(), [f.witness for f in found], bias=bias, widths=[f.widths for f in found]) if found else []
    )
    facts = {
        f.name: evidence(m, bias=bias, passes=passes, batches=stream) for f, m in zip(found, measured, strict=True)
    }
    return measured, {**facts, "target": only_of(target)} if target else facts


def verdict(bound: Bound, facts: dict[str, Evidence], ledger: Any) -> dict[str, Any]:
    """The bound with the witness that makes it smallest."""
    made = getattr(ledger, bound.counts)
    said: dict[str, Any] = {"name": bound.name, "counts": bound.counts, "statement": bound.statement, "made": made}
    said["any_order"] = bound.any_order
    if bound.by_run:
        facts = {RUN: only_of({})}
    values = {name: bound.value(e) for name, e in facts.items() if (name == "target") == bound.by_target}
    allowed = {name: value for name, value in values.items() if value is not None and math.isfinite(value)}
    if not allowed:
        return {**said, "verdict": "not applicable", "why": _why_not(bound, facts)}
    best = min(allowed, key=lambda name: allowed[name])
    # What the ledger sums up was rounded to the nearest number, once for each update.
    value = allowed[best] * (1.0 + OUTWARD + ledger.updates * UNIT)
    return {
        **said,
        "allowed": value,
        "slack": value / made if made else None,
        "verdict": "holds" if made <= value else "broken",
        "assumes": NOTHING,
        "witness": best,
        "numbers": _numbers(facts[best]) if bound.by_witness else dict(facts[best].target),
    }


def _why_not(bound: Bound, facts: dict[str, Evidence]) -> str:
    if bound.by_target:
        return "a target that explains every label, as it asks for, was not shown"
    if not facts:
        return "there is no witness"
    if all(e.margin <= 0.0 for e in facts.values()):
        return "no witness was found that separates the stream as it asks"
    return "no witness was found for which its condition is met"


def _numbers(e: Evidence) -> dict[str, float | None]:
    return {
        "radius": e.radius,
        "norm": e.norm,
        "margin": e.geometric_margin if e.margin > 0.0 else None,
        "hinge": e.losses["hinge"],
    }


def only_of(target: Mapping[str, float]) -> Evidence:
    """Nothing but the target: every number that a witness would have says nothing."""
    nothing = math.inf
    return Evidence(
        radius=nothing,
        radius_p=lambda _: nothing,
        norm=nothing,
        norm_q=lambda _: nothing,
        margin=-nothing,
        losses=dict.fromkeys(("hinge", "logistic", "squared"), nothing),
        slack=lambda _: nothing,
        target=target,
    )
