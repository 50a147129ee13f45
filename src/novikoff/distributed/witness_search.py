"""Witnesses for all shards together, looked for on the cluster.

Shards that fit into memory together are searched as one stream. Of others an even share is kept, half to search in and
half to judge by; besides, each shard is searched where it lies, and the mean of what they find has seen all data. The
learner's own weights are tried in any case. Every u makes a true bound: which of them is best on the judging half
decides, and then it is measured on all shards.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from novikoff.certificates import target_concepts
from novikoff.certificates.certificate import effort, no_examples
from novikoff.certificates.witness_selection import Found, chosen, own_direction
from novikoff.certificates.sampling import ROOM, halves
from novikoff.certificates.spaces.base import space_of
from novikoff.certificates.multiclass_sample import Sample as Told
from novikoff.certificates.multiclass_sample import kept, rows_of, together
from novikoff.certificates.witness_search import Sample, directions, joined
from novikoff.distributed import measure
from novikoff.distributed.executor import Engine
from novikoff.distributed.shards import Shard
from novikoff.theory.bounds import Bound

LEAST_ROOM = 50_000
"""Terms of each shard that are looked at, at least."""


def found_for(
    engine: Engine,
    shards: Sequence[Shard],
    message: bytes,
    model: Any,
    bounds: Sequence[Bound],
    counts: Sequence[Fraction],
    budget: float,
) -> tuple[list[Found], Mapping[str, float]]:
    """Witnesses for these theorems, and what is shown of a target; `counts` is how often each shard counts."""
    if not bounds:
        return [], {}
    room = max(LEAST_ROOM, ROOM // len(shards))
    samples = on_shards(engine, shards, measure.sampled, message, room)
    there = [(one, count) for one, count in zip(samples, counts, strict=True) if one is not None]
    if not there:
        raise no_examples()
    whole = all(one.total == len(one.labels) for one, _ in there)
    total = max(1, math.ceil(sum(one.total * count for one, count in there)))
    space = space_of(model)
    if space is not None:
        codes = together([one.codes for one, _ in there])
        both: Any = Told(rows_of([one.rows for one, _ in there]), kept(codes), codes, total)
        return space.witnesses(both, effort(both, budget)), {}
    rows, labels = joined([(one.rows, one.labels) for one, _ in there])
    target = _target(model, bounds, Sample(rows, labels, len(labels))) if whole else {}
    asked = [bound for bound in bounds if bound.by_witness]
    if not asked:
        return [], target
    bias, features = bool(model.bias), model._fitted().features
    sample = Sample(rows, labels, total)
    half, judge = (sample, sample) if whole else halves(sample)
    found = directions(half, features, bias=bias, budget=effort(half, budget))
    own = own_direction(model, bias)
    if own is not None:
        found["own"] = own
    if not whole:
        each = on_shards(engine, shards, measure.direction, message, total, effort(half, budget))
        several = [u.astype(np.float64) for u in each if u is not None]
        if several:
            found["shards"] = sum(several[1:], several[0]) / len(several)
    return chosen(asked, found, judge, bias=bias, target={}), target


def _target(model: Any, bounds: Sequence[Bound], sample: Sample) -> Mapping[str, float]:
    """One that explains the labels of all shards."""
    if not any(bound.by_target for bound in bounds):
        return {}
    return target_concepts.known(model, sample, model._fitted().features, 1)


def on_shards(engine: Engine, shards: Sequence[Shard], task: Any, message: bytes, *more: Any) -> list[Any]:
    """What a task says of each shard."""

    def all_of_them() -> list[Any]:
        shared = engine.share(message)
        called = [engine.call(task, shard, engine.data(k), shared, *more) for k, shard in enumerate(shards)]
        return engine.results(called)

    told: list[Any] = engine.surely(all_of_them)
    return told
