"""Evaluation of the declared bounds of a model: each bound gets the witness that makes it smallest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from novikoff.base.online_classifier import OnlineClassifier
from novikoff.certificates.measure import MACHINE_EPSILON, OUTWARD_TOLERANCE, BatchStream, build_evidence, measure
from novikoff.certificates.search.witness_selection import NamedWitness
from novikoff.certificates.spaces.base import find_space
from novikoff.theory.bound_declaration import Bound, Evidence

NO_ASSUMPTIONS = (
    "nothing of the data; the theorem is about exact arithmetic, and what this run made is compared with it"
)

RUN_WITNESS = "run"
"""Name in place of a witness, for theorems that need only the counts of the run."""


def evaluate_bounds(
    model: OnlineClassifier, found: list[NamedWitness], target: Mapping[str, float], stream: BatchStream, passes: int
) -> list[dict[str, Any]]:
    """Evaluate all bounds of a model after its run, with these witnesses."""
    _, facts = measure_witnesses(model, found, target, stream, passes)
    return [evaluate_bound(bound, facts, model.ledger_) for bound in model.bounds()]


def measure_witnesses(
    model: OnlineClassifier, found: list[NamedWitness], target: Mapping[str, float], stream: BatchStream, passes: int
) -> tuple[Sequence[Any], dict[str, Evidence]]:
    """Measure each witness; return the measurements, and the evidence for the theorems by witness name."""
    space = find_space(model)
    if space is not None:
        seen, known = space.measure_witnesses(found, stream, passes)
        return seen, dict(known)
    bias = bool(model.fit_intercept)
    measured = (
        measure(stream(), [f.witness for f in found], bias=bias, widths=[f.widths for f in found]) if found else []
    )
    facts = {
        f.name: build_evidence(m, bias=bias, passes=passes, batches=stream)
        for f, m in zip(found, measured, strict=True)
    }
    return measured, {**facts, "target": evidence_from_target(target)} if target else facts


def evaluate_bound(bound: Bound, facts: dict[str, Evidence], ledger: Any) -> dict[str, Any]:
    """Return the bound with the witness that makes it smallest, and the verdict on the run."""
    observed = getattr(ledger, bound.counts)
    entry: dict[str, Any] = {
        "name": bound.name,
        "counts": bound.counts,
        "statement": bound.statement,
        "observed": observed,
    }
    entry["any_order"] = bound.any_order
    if bound.by_run:
        facts = {RUN_WITNESS: evidence_from_target({})}
    values = {name: bound.value(e) for name, e in facts.items() if (name == "target") == bound.by_target}
    allowed = {name: value for name, value in values.items() if value is not None and math.isfinite(value)}
    if not allowed:
        return {**entry, "verdict": "not applicable", "reason": _explain_not_applicable(bound, facts)}
    best = min(allowed, key=lambda name: allowed[name])
    # The sums of the ledger were rounded to nearest, once for each update.
    value = allowed[best] * (1.0 + OUTWARD_TOLERANCE + ledger.updates * MACHINE_EPSILON)
    return {
        **entry,
        "bound": value,
        "slack": value / observed if observed else None,
        "verdict": "holds" if observed <= value else "violated",
        "assumes": NO_ASSUMPTIONS,
        "witness": best,
        "numbers": _evidence_to_dict(facts[best]) if bound.by_witness else dict(facts[best].target),
    }


def _explain_not_applicable(bound: Bound, facts: dict[str, Evidence]) -> str:
    if bound.by_target:
        return "a target that explains every label, as it asks for, was not shown"
    if not facts:
        return "there is no witness"
    if all(e.margin <= 0.0 for e in facts.values()):
        return "no witness was found that separates the stream as it asks"
    return "no witness was found for which its condition is met"


def _evidence_to_dict(e: Evidence) -> dict[str, float | None]:
    return {
        "radius": e.radius,
        "norm": e.norm,
        "margin": e.geometric_margin if e.margin > 0.0 else None,
        "hinge": e.losses["hinge"],
    }


def evidence_from_target(target: Mapping[str, float]) -> Evidence:
    """Return evidence that has only a target; all numbers of a witness are vacuous."""
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
