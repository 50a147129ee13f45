"""Certificates of distributed runs: the run, its shards, its counts, and bounds for its mixed mistakes.

Like a certificate of a single machine, it is determined by the shards, the learner, the rounds, the mixture weights and
the witnesses. `find_differences` verifies it by computing it again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from novikoff import __version__
from novikoff.base.estimator import check_choice
from novikoff.base.internals import build_from_settings, plain_settings_of, require_state, run_facts_of
from novikoff.certificates import serialization
from novikoff.certificates import verify as checking
from novikoff.certificates.bound_evaluation import evaluate_bound, evidence_from_target
from novikoff.certificates.certificate import Certificate, check_witness_lengths, read_delta
from novikoff.certificates.measure import build_evidence
from novikoff.certificates.search.witness_selection import NamedWitness
from novikoff.certificates.spaces.base import find_space
from novikoff.data.formats.base import ReadOptions
from novikoff.distributed import measure, worker_tasks
from novikoff.distributed.bounds import derive_bounds, replace_counts_by_mixture
from novikoff.distributed.compatibility import prepare_model
from novikoff.distributed.coordinator import Plan, run_rounds
from novikoff.distributed.dask_executor import DaskExecutor, compute_locally, current_client
from novikoff.distributed.executor import Executor, LocalExecutor
from novikoff.distributed.inputs import make_shards
from novikoff.distributed.ledger import DistributedLedger
from novikoff.distributed.mixture_weights import MIXING_RULES
from novikoff.distributed.shards import FileShard, Shard, find_changed_options
from novikoff.distributed.shared_names import share_names
from novikoff.distributed.witness_search import find_witnesses, run_on_shards
from novikoff.errors import InputError, NovikoffError
from novikoff.learner_registry import name_of
from novikoff.scheme_registry import model_class
from novikoff.theory.bound_declaration import Bound, Evidence


def build_certificate(
    executor: Executor,
    shards: Sequence[Shard],
    plan: Plan,
    model: Any,
    ledger: DistributedLedger,
    *,
    delta: float = 0.05,
    search_effort: float = 1.0,
) -> Certificate:
    """Return the certificate of a finished run."""
    message, bounds = worker_tasks.serialize_model(model), derive_bounds(model, ledger)
    twin = replace_counts_by_mixture(model, ledger)
    found, target = find_witnesses(executor, shards, message, twin, bounds, ledger.shard_weights(), search_effort)
    return Certificate(_build_document(executor, shards, plan, model, ledger, bounds, found, target, delta))


def _build_document(
    executor: Executor,
    shards: Sequence[Shard],
    plan: Plan,
    model: Any,
    ledger: DistributedLedger,
    bounds: Sequence[Bound],
    found: Sequence[NamedWitness],
    target: Mapping[str, float],
    delta: float,
) -> dict[str, Any]:
    from novikoff.model_file import to_bytes

    message, state = worker_tasks.serialize_model(model), require_state(model)
    measured, facts = _measure_witnesses(executor, shards, message, model, ledger, bounds, found)
    if target:
        facts["target"] = evidence_from_target(target)
    first = ledger.rounds[0].records
    mixed = _MixedCounts(ledger)
    document = {
        "certificate": serialization.CERTIFICATE_FORMAT,
        "novikoff": __version__,
        "data": describe_data(executor, shards, plan),
        "learner": name_of(type(model)),
        "settings": plain_settings_of(model),
        "passes": plan.rounds,
        "mixing": plan.mixing,
        "labels": state.labels.listed(),
        "precision": state.kind.name,
        "model": hashlib.sha256(to_bytes(model)).hexdigest(),
        "observed": {
            **state.ledger.as_dict(),
            **run_facts_of(model),
            "mixed_mistakes": mixed.mistakes,
            "mixed_updates": mixed.updates,
            "mistakes_of_first_pass": sum(record.mistakes for record in first),
            "rounds": ledger.as_list(),
        },
        "bounds": [evaluate_bound(bound, facts, mixed) for bound in bounds],
        "target": dict(target),
        "new_data": serialization.compute_new_data_bounds(
            sum(record.mistakes for record in first), sum(record.examples for record in first), delta
        ),
        "witnesses": {
            f.name: {**serialization.encode_witness(f), "measured": serialization.measurement_to_dict(m)}
            for f, m in zip(found, measured, strict=True)
        },
    }
    as_read: dict[str, Any] = json.loads(json.dumps(document))
    return as_read


class _MixedCounts:
    """Mistakes and updates weighted by μ, rounded up."""

    def __init__(self, ledger: DistributedLedger) -> None:
        self.mistakes = measure.round_up(ledger.mixture_sum("mistakes"))
        self.updates = measure.round_up(ledger.mixture_sum("updates"))


def describe_data(executor: Executor, shards: Sequence[Shard], plan: Plan) -> dict[str, Any]:
    """Return the digests of the shards, and the options with which they are read."""

    def ask() -> list[Any]:
        return executor.results(
            [executor.call(measure.describe_shard, shard, executor.data(k)) for k, shard in enumerate(shards)]
        )  # fmt: skip

    first = shards[0]
    classes = None if plan.classes is None else list(plan.classes)
    changed_options = find_changed_options(first.options) if isinstance(first, FileShard) else {}
    found = {
        "shards": executor.run_with_retry(ask),
        "reading": changed_options,
        "positive": plan.positive,
        "classes": classes,
    }
    as_read: dict[str, Any] = json.loads(json.dumps(found))
    return as_read


def _measure_witnesses(
    executor: Executor,
    shards: Sequence[Shard],
    message: bytes,
    model: Any,
    ledger: DistributedLedger,
    bounds: Sequence[Bound],
    found: Sequence[NamedWitness],
) -> tuple[list[Any], dict[str, Evidence]]:
    """Return the measurements of each witness on all shards, and the evidence for the bounds."""
    if not found or not bounds:
        return [], {}
    each = run_on_shards(executor, shards, measure.measure_shard, message, list(found))
    counts = ledger.shard_weights()
    measured = [measure.combine_measurements(list(of_shards), counts) for of_shards in zip(*each, strict=True)]
    space: Any = find_space(model)
    if space is not None:
        return measured, dict(space.evidence(found, measured, _refuse_rows, 1))
    rows = _refuse_rows
    if type(model).__name__ == "PNormPerceptron":
        p = float(require_state(model).updater.scalars[1])
        longest = [row for row in run_on_shards(executor, shards, measure.find_longest_row, message, p) if row]
        rows = lambda: longest  # noqa: E731 - a stream of the longest rows
    bias = bool(model.fit_intercept)
    facts = {f.name: build_evidence(m, bias=bias, passes=1, batches=rows) for f, m in zip(found, measured, strict=True)}
    return measured, facts


def _refuse_rows() -> Any:
    raise InputError("The rows of shards are not available here: this theorem can't be evaluated.")


def find_differences(
    document: dict[str, Any], data: Any, y: Any = None, *, client: Any = None, threads: int | None = None
) -> list[str]:
    """Verify a certificate on its shards; return a message for each difference, none if it is valid."""
    try:
        plan, options = _plan_from_document(document, threads)
        given = make_shards(data, y, options, plan.positive)
        client = current_client() if client is None else client
        here = None if given.data is None or client is not None else compute_locally(given.data)
        executor: Executor = LocalExecutor(here) if client is None else DaskExecutor(client, given.data)
        if not options.hashes_names:
            shards, plan, _ = share_names(executor, given.shards, plan)
            given = given._replace(shards=shards)
        about = describe_data(executor, given.shards, plan)
        if about != document["data"]:
            first = checking.compare_documents(document["data"], about, "data")[0]
            return [f"data: the certificate was issued for different data: {first}"]
        found = [serialization.decode_witness(name, packed) for name, packed in document["witnesses"].items()]
        message, ledger = run_rounds(executor, given.shards, plan)
        model = worker_tasks.deserialize_model(message)
        space: Any = find_space(model)
        slots = space.slots() if space is not None else require_state(model).features + 1
        check_witness_lengths(found, slots, "feature and the bias (in each column of weights)")
        bounds = derive_bounds(model, ledger)
        _, target = find_witnesses(
            executor, given.shards, message, model, [b for b in bounds if b.by_target], ledger.shard_weights(), 0.0
        )
        delta = read_delta(document)
        real = _build_document(executor, given.shards, plan, model, ledger, bounds, found, target, delta)
    except NovikoffError as problem:
        return [f"the certificate can't be recomputed: {problem}"]
    return checking.compare_documents(document, real, "")


verify = find_differences


def _plan_from_document(document: dict[str, Any], threads: int | None) -> tuple[Plan, ReadOptions]:
    """Return the plan and the reading options of the run that a document describes."""
    try:
        learner = build_from_settings(model_class(document["learner"]), document["settings"])
        about, rounds, mixing = document["data"], document["passes"], document["mixing"]
        changed_options = dict(about["reading"])
        changed_options["interactions"] = tuple(changed_options.get("interactions", ()))
        options = ReadOptions(**changed_options, threads=threads)
        plan = Plan(prepare_model(learner, rounds), rounds, mixing, about["positive"], about["classes"])
    except (AttributeError, ImportError, KeyError, TypeError, ValueError) as problem:
        if isinstance(problem, NovikoffError):
            raise
        raise InputError(f"the description of the run is incomplete ({problem})") from None
    check_choice(tuple(MIXING_RULES), mixing=mixing)
    return plan, options
