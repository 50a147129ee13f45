"""The certificate of a distributed run: what was run on which shards, what happened, what the theorems allow.

As with one machine, everything follows from the shards, the learner, the rounds, the mixture and the witnesses, and
`differences` makes it anew from these. What is bounded are the mistakes as the mixtures count them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from novikoff import __version__
from novikoff.certificates import verify as checking
from novikoff.certificates.certificate import Certificate, confidence_of, fits_in
from novikoff.certificates.witness_selection import Found
from novikoff.certificates.serialization import (FORMAT, new_data, numbers_of, packed_as, unpacked)
from novikoff.certificates.bound_evaluation import only_of, verdict
from novikoff.certificates.measure import evidence
from novikoff.certificates.spaces.base import space_of
from novikoff.distributed import measure, worker_tasks
from novikoff.distributed.executor import Engine, InThisProcess
from novikoff.distributed.inputs import shards_of
from novikoff.distributed.ledger import DistributedLedger
from novikoff.distributed.dask_executor import OnDask, computed, current_client
from novikoff.distributed.coordinator import Plan, run
from novikoff.distributed.shards import File, Shard, ways_of
from novikoff.distributed.shared_names import share_names
from novikoff.distributed.compatibility import prepared
from novikoff.distributed.bounds import as_bounded, theorems
from novikoff.distributed.mixture_weights import MIXINGS
from novikoff.distributed.witness_search import found_for, on_shards
from novikoff.errors import InputError, NovikoffError
from novikoff.learner_registry import name_of
from novikoff.base.estimator import one_of
from novikoff.data.options import Options
from novikoff.theory.bounds import Bound, Evidence
from novikoff.scheme_registry import model_class


def certified(
    engine: Engine,
    shards: Sequence[Shard],
    plan: Plan,
    model: Any,
    ledger: DistributedLedger,
    *,
    confidence: float = 0.95,
    budget: float = 1.0,
) -> Certificate:
    """The certificate of a run that was done."""
    message, bounds = worker_tasks.sent(model), theorems(model, ledger)
    twin = as_bounded(model, ledger)
    found, target = found_for(engine, shards, message, twin, bounds, ledger.counts_of_shards(), budget)
    return Certificate(_document(engine, shards, plan, model, ledger, bounds, found, target, confidence))


def _document(
    engine: Engine,
    shards: Sequence[Shard],
    plan: Plan,
    model: Any,
    ledger: DistributedLedger,
    bounds: Sequence[Bound],
    found: Sequence[Found],
    target: Mapping[str, float],
    confidence: float,
) -> dict[str, Any]:
    from novikoff.model_file import to_bytes

    message, state = worker_tasks.sent(model), model._fitted()
    measured, facts = _facts(engine, shards, message, model, ledger, bounds, found)
    if target:
        facts["target"] = only_of(target)
    first = ledger.rounds[0].records
    mixed = _Mixed(ledger)
    document = {
        "certificate": FORMAT,
        "novikoff": __version__,
        "data": data_of(engine, shards, plan),
        "learner": name_of(type(model)),
        "settings": model.plain_settings(),
        "passes": plan.rounds,
        "mixing": plan.mixing,
        "labels": state.labels.listed(),
        "precision": state.kind.name,
        "model": hashlib.sha256(to_bytes(model)).hexdigest(),
        "observed": {
            **state.ledger.as_dict(),
            **model.observed(),
            "mixed_mistakes": mixed.mistakes,
            "mixed_updates": mixed.updates,
            "mistakes_of_first_pass": sum(record.mistakes for record in first),
            "rounds": ledger.as_list(),
        },
        "bounds": [verdict(bound, facts, mixed) for bound in bounds],
        "target": dict(target),
        "new_data": new_data(
            sum(record.mistakes for record in first), sum(record.examples for record in first), confidence
        ),
        "witnesses": {
            f.name: {**packed_as(f), "measured": numbers_of(m)} for f, m in zip(found, measured, strict=True)
        },
    }
    as_read: dict[str, Any] = json.loads(json.dumps(document))
    return as_read


class _Mixed:
    """Mistakes and updates as the mixtures count them, rounded up."""

    def __init__(self, ledger: DistributedLedger) -> None:
        self.mistakes = measure.upward(ledger.mixed("mistakes"))
        self.updates = measure.upward(ledger.mixed("updates"))


def data_of(engine: Engine, shards: Sequence[Shard], plan: Plan) -> dict[str, Any]:
    """What identifies the shards, and how they are read."""

    def ask() -> list[Any]:
        return engine.results(
            [engine.call(measure.about, shard, engine.data(k)) for k, shard in enumerate(shards)]
        )  # fmt: skip

    first = shards[0]
    classes = None if plan.classes is None else list(plan.classes)
    ways = ways_of(first.options) if isinstance(first, File) else {}
    found = {"shards": engine.surely(ask), "reading": ways, "positive": plan.positive, "classes": classes}
    as_read: dict[str, Any] = json.loads(json.dumps(found))
    return as_read


def _facts(
    engine: Engine,
    shards: Sequence[Shard],
    message: bytes,
    model: Any,
    ledger: DistributedLedger,
    bounds: Sequence[Bound],
    found: Sequence[Found],
) -> tuple[list[Any], dict[str, Evidence]]:
    """What is measured of each witness on all shards, and what the theorems are asked with."""
    if not found or not bounds:
        return [], {}
    each = on_shards(engine, shards, measure.measured, message, list(found))
    counts = ledger.counts_of_shards()
    measured = [measure.joined(list(of_shards), counts) for of_shards in zip(*each, strict=True)]
    space: Any = space_of(model)
    if space is not None:
        return measured, dict(space.evidence(found, measured, _nothing, 1))
    rows = _nothing
    if type(model).__name__ == "PNormPerceptron":
        p = float(model._fitted().geometry.scalars[1])
        told = [one for one in on_shards(engine, shards, measure.longest, message, p) if one is not None]
        rows = lambda: told  # noqa: E731 - a stream of the longest rows
    bias = bool(model.bias)
    facts = {f.name: evidence(m, bias=bias, passes=1, batches=rows) for f, m in zip(found, measured, strict=True)}
    return measured, facts


def _nothing() -> Any:
    raise InputError("Rows of shards are not looked at here: this theorem is not to be asked.")


def differences(
    document: dict[str, Any], data: Any, y: Any = None, *, client: Any = None, threads: int | None = None
) -> list[str]:
    """What in the document is not as the shards say, in words; none where all is right."""
    try:
        plan, options = _planned(document, threads)
        given = shards_of(data, y, options, plan.positive)
        client = current_client() if client is None else client
        here = None if given.data is None or client is not None else computed(given.data)
        engine: Engine = InThisProcess(here) if client is None else OnDask(client, given.data)
        if not options.hashes_names:
            shards, plan, _ = share_names(engine, given.shards, plan)
            given = given._replace(shards=shards)
        about = data_of(engine, given.shards, plan)
        if about != document["data"]:
            first = checking._first(document["data"], about, "data")[0]
            return [f"data: the certificate is about other data: {first}"]
        found = [unpacked(name, packed) for name, packed in document["witnesses"].items()]
        message, ledger = run(engine, given.shards, plan)
        model = worker_tasks.received(message)
        space: Any = space_of(model)
        slots = space.slots() if space is not None else model._fitted().features + 1
        fits_in(found, slots, "feature and the bias (in each column of weights)")
        bounds = theorems(model, ledger)
        _, target = found_for(
            engine, given.shards, message, model, [b for b in bounds if b.by_target], ledger.counts_of_shards(), 0.0
        )
        confidence = confidence_of(document)
        real = _document(engine, given.shards, plan, model, ledger, bounds, found, target, confidence)
    except NovikoffError as problem:
        return [f"it can't be made anew: {problem}"]
    return checking._first(document, real, "")


verify = differences


def _planned(document: dict[str, Any], threads: int | None) -> tuple[Plan, Options]:
    """The run that a document says it is of."""
    try:
        learner = model_class(document["learner"]).from_settings(document["settings"])
        about, rounds, mixing = document["data"], document["passes"], document["mixing"]
        ways = dict(about["reading"])
        ways["interactions"] = tuple(ways.get("interactions", ()))
        options = Options(**ways, threads=threads)
        plan = Plan(prepared(learner, rounds), rounds, mixing, about["positive"], about["classes"])
    except (AttributeError, ImportError, KeyError, TypeError, ValueError) as problem:
        if isinstance(problem, NovikoffError):
            raise
        raise InputError(f"it does not say what was run ({problem})") from None
    one_of(tuple(MIXINGS), mixing=mixing)
    return plan, options
