"""Measurement of witnesses on all shards. Each shard is measured on a worker, by the code that measures streams.

A loss on shard i has the weight of the shard in all mixtures, c_i = Σ_n μ_{i,n}, so L = Σ_i c_i·L_i. Radii and margins
are those of the worst shard. All rounding is outward.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from novikoff.base.internals import state_of
from novikoff.certificates import multiclass_sample, sampling
from novikoff.certificates.measure import MACHINE_EPSILON, WitnessMeasurement, max_power_sum, measure
from novikoff.certificates.search.witness_search import BinarySample, find_directions
from novikoff.certificates.search.witness_selection import NamedWitness
from novikoff.certificates.spaces.base import find_space
from novikoff.data.canonical_rows import remove_zeros
from novikoff.data.rows import Rows, slice_rows
from novikoff.distributed.shards import Pairs, Shard
from novikoff.distributed.worker_tasks import deserialize_model

# --- Tasks ---


def describe_shard(shard: Shard, data: Pairs | None) -> dict[str, Any]:
    """Return the digest of a shard's content."""
    return shard.digest(data)


def sample_shard(shard: Shard, data: Pairs | None, message: bytes, room: int) -> Any:
    """Return an even sample of a shard with at most `room` terms, or the whole shard if it is small enough."""
    model = deserialize_model(message)
    sampler = (
        sampling.StreamSampler(room=room)
        if find_space(model) is None
        else multiclass_sample.MulticlassStreamSampler(room=room)
    )
    for rows, codes in shard.iter_encoded(model, data):
        sampler.add(rows, codes)
    return sampler.sample()


def find_shard_direction(shard: Shard, data: Pairs | None, message: bytes, total: int, budget: int) -> Any:
    """Return the best direction for the hinge bound if all shards are like this one, or None."""
    model = deserialize_model(message)
    own = sample_shard(shard, data, message, sampling.MAX_SAMPLE_TERMS)
    if own is None:
        return None
    found = find_directions(
        BinarySample(own.rows, own.labels, total),
        state_of(model).features,
        bias=bool(model.fit_intercept),
        budget=budget,
    )
    u = found.get("hinge")
    return None if u is None else u.astype(np.float32)


def measure_shard(shard: Shard, data: Pairs | None, message: bytes, found: Sequence[NamedWitness]) -> list[Any]:
    """Measure each witness on one shard, in one pass."""
    model = deserialize_model(message)
    space = find_space(model)
    if space is not None:
        return list(space.measure_witnesses(found, lambda: shard.iter_encoded(model, data), 1)[0])
    widths = [f.widths for f in found]
    return measure(
        shard.iter_encoded(model, data), [f.witness for f in found], bias=bool(model.fit_intercept), widths=widths
    )


def find_longest_row(shard: Shard, data: Pairs | None, message: bytes, p: float) -> tuple[Rows, Any] | None:
    """Return the row with the largest ‖x‖_p and its label, or None for an empty shard."""
    model = deserialize_model(message)
    best, most = None, -1.0
    for rows, codes in shard.iter_encoded(model, data):
        size = max_power_sum(rows, codes, p, float(model.fit_intercept))
        if size > most:
            sizes = [
                max_power_sum(slice_rows(rows, i, i + 1), codes[i : i + 1], p, float(model.fit_intercept))
                for i in range(len(codes))
            ]
            i = int(np.argmax(sizes))
            best, most = (remove_zeros(slice_rows(rows, i, i + 1)), codes[i : i + 1].copy()), size
    return best


# --- All shards together ---


def combine_measurements(shards: Sequence[Any], counts: Sequence[Fraction]) -> Any:
    """Combine the measurements of all shards. Lists of columns are combined column by column."""
    if isinstance(shards[0], list):
        return [combine_measurements(columns, counts) for columns in zip(*shards, strict=True)]
    there = [one for one in shards if one.examples]
    first: WitnessMeasurement = shards[0]

    def sum_up(values: Sequence[float]) -> float:
        raised = 1.0 + (len(values) + 64.0) * MACHINE_EPSILON
        return math.fsum(round_up(c) * value for c, value in zip(counts, values, strict=True)) * raised

    return WitnessMeasurement(
        witness=first.witness,
        examples=sum(one.examples for one in shards),
        squared_radius=max(one.squared_radius for one in shards),
        largest=max(one.largest for one in shards),
        margin=min((one.margin for one in there), default=0.0),
        hinge=sum_up([one.hinge for one in shards]),
        logistic=sum_up([one.logistic for one in shards]),
        squared=sum_up([one.squared for one in shards]),
        slacks={width: sum_up([one.slacks[width] for one in shards]) for width in first.slacks},
    )


def round_up(number: Fraction) -> float:
    """Return the smallest double-precision number that is not below `number`."""
    near = float(number)
    return near if Fraction(near) >= number else math.nextafter(near, math.inf)
