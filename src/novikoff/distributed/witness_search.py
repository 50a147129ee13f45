"""Search for witnesses on a cluster.

Shards that fit into memory together are searched as one stream. Otherwise an even sample of them is kept: one half to
search in, the other to compare candidates. In addition, each shard is searched on its worker, and the mean of the
results is a candidate that reflects all data. The learner's own weights are always a candidate. Any u gives a valid
bound, so the best candidate on the second half is selected, and then measured on all shards.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from novikoff.base.internals import require_state
from novikoff.certificates.certificate import build_no_examples_error, compute_search_budget
from novikoff.certificates.multiclass_sample import MulticlassSample, join_codes, join_rows, mark_included
from novikoff.certificates.sampling import MAX_SAMPLE_TERMS, split_in_halves
from novikoff.certificates.search import target_concepts
from novikoff.certificates.search.witness_search import BinarySample, find_directions, join_batches
from novikoff.certificates.search.witness_selection import NamedWitness, extract_direction, select_witnesses
from novikoff.certificates.spaces.base import find_space
from novikoff.distributed import measure
from novikoff.distributed.executor import Executor
from novikoff.distributed.shards import Shard
from novikoff.theory.bound_declaration import Bound

MIN_SHARD_TERMS = 50_000
"""Minimum number of sampled terms of each shard."""


def find_witnesses(
    executor: Executor,
    shards: Sequence[Shard],
    message: bytes,
    model: Any,
    bounds: Sequence[Bound],
    counts: Sequence[Fraction],
    search_effort: float,
) -> tuple[list[NamedWitness], Mapping[str, float]]:
    """Return witnesses for these bounds, and a target concept; `counts` are the weights of the shards."""
    if not bounds:
        return [], {}
    max_terms = max(MIN_SHARD_TERMS, MAX_SAMPLE_TERMS // len(shards))
    samples = run_on_shards(executor, shards, measure.sample_shard, message, max_terms)
    there = [(one, count) for one, count in zip(samples, counts, strict=True) if one is not None]
    if not there:
        raise build_no_examples_error()
    is_complete = all(one.total == len(one.labels) for one, _ in there)
    total = max(1, math.ceil(sum(one.total * count for one, count in there)))
    space = find_space(model)
    if space is not None:
        codes = join_codes([one.codes for one, _ in there])
        joined = join_rows([one.rows for one, _ in there])
        whole: Any = MulticlassSample(joined, mark_included(codes), codes, total)
        return space.witnesses(whole, compute_search_budget(whole, search_effort)), {}
    rows, labels = join_batches([(one.rows, one.labels) for one, _ in there])
    target = _find_target(model, bounds, BinarySample(rows, labels, len(labels))) if is_complete else {}
    asked = [bound for bound in bounds if bound.by_witness]
    if not asked:
        return [], target
    bias, features = bool(model.fit_intercept), require_state(model).features
    sample = BinarySample(rows, labels, total)
    half, judge = (sample, sample) if is_complete else split_in_halves(sample)
    found = find_directions(half, features, bias=bias, budget=compute_search_budget(half, search_effort))
    own = extract_direction(model, bias)
    if own is not None:
        found["own"] = own
    if not is_complete:
        each = run_on_shards(
            executor, shards, measure.find_shard_direction, message, total, compute_search_budget(half, search_effort)
        )
        several = [u.astype(np.float64) for u in each if u is not None]
        if several:
            found["shards"] = sum(several[1:], several[0]) / len(several)
    return select_witnesses(asked, found, judge, bias=bias, target={}), target


def _find_target(model: Any, bounds: Sequence[Bound], sample: BinarySample) -> Mapping[str, float]:
    """Return a target concept that explains the labels of all shards."""
    if not any(bound.by_target for bound in bounds):
        return {}
    return target_concepts.find_targets(model, sample, require_state(model).features, 1)


def run_on_shards(executor: Executor, shards: Sequence[Shard], task: Any, message: bytes, *more: Any) -> list[Any]:
    """Run a task on each shard and return the results."""

    def submit_all() -> list[Any]:
        shared = executor.share(message)
        called = [executor.call(task, shard, executor.data(k), shared, *more) for k, shard in enumerate(shards)]
        return executor.results(called)

    results: list[Any] = executor.run_with_retry(submit_all)
    return results
