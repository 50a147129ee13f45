"""The tasks of workers: pure functions, which give the same bytes if they are repeated or run on another machine.

A model is sent as its header and arrays, encoded relative to the weights at the start of the round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.base.internals import build_feature_sample, build_from_settings, plain_settings_of, state_of, trim_state
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.core.feature_sample import FeatureSample
from novikoff.core.multiclass.loop import N_CLASSES
from novikoff.core.multiclass.schemes import ColumnCounters
from novikoff.core.updaters.base import state_arrays
from novikoff.data.labels.label_order import LabelOrder
from novikoff.distributed.delta_encoding import NamedArrays, decode_arrays, encode_arrays
from novikoff.distributed.ledger import Record, ledger_at_step, merge_ledgers, to_record
from novikoff.distributed.mixing import WeightDelta, apply_delta, compute_delta
from novikoff.distributed.shards import FileShard, Fingerprint, FirstExamples, Pairs, Shard, ShardSummary
from novikoff.errors import InputError
from novikoff.learner_registry import name_of
from novikoff.ledger import Ledger, LedgerCounters
from novikoff.model_file import from_header, to_header_and_tensors
from novikoff.multiclass.internals import count_used_columns
from novikoff.scheme_registry import model_class


class ShardTraining(NamedTuple):
    """The result of training on one shard in one round."""

    record: Record
    model: bytes
    """The model, encoded relative to the start of the round."""
    size: int
    """Size of its arrays without encoding."""
    has_positive_label: bool
    """False if the run learns one label against all others, and the shard does not have it."""
    label_order: LabelOrder | None
    """Label changes in the shard."""
    fingerprint: Fingerprint | None = None
    """The fingerprint of its file."""


class ShardResult(NamedTuple):
    """The result of training on one shard, without the model."""

    record: Record
    sent: int
    """Size of the encoded model."""
    size: int
    has_positive_label: bool
    label_order: LabelOrder | None
    fingerprint: Fingerprint | None = None


def serialize_model(model: OnlineClassifier, base: bytes | None = None) -> bytes:
    """Return the model as a message, encoded relative to the message `base` if given."""
    if state_of(model) is None:
        return encode_arrays({"learner": name_of(type(model)), "settings": plain_settings_of(model)}, {})
    header, tensors = to_header_and_tensors(model)
    return encode_arrays(header, tensors, None if base is None else decode_arrays(base)[1])


def deserialize_model(message: bytes, base: bytes | None = None) -> Any:
    """Return the model of a message, the inverse of `serialize_model`."""
    return _deserialize(message, None if base is None else decode_arrays(base)[1])


def _deserialize(message: bytes, base: NamedArrays | None) -> Any:
    header, tensors = decode_arrays(message, base)
    if "features" not in header:
        return build_from_settings(model_class(header["learner"]), header["settings"])
    return from_header(header, tensors, "a message", complete=False)


def identify_shard(shard: Shard, data: Pairs | None) -> dict[str, Any]:
    return shard.mark(data)


def describe_first_examples(shard: FileShard) -> FirstExamples:
    return shard.describe()


def dictionary_format(shard: FileShard) -> dict[str, Any] | None:
    return shard.dictionary_format()


def names(shard: FileShard, settings: dict[str, Any]) -> list[str] | None:
    return shard.names(settings)


def summarize_shard(shard: Shard, data: Pairs | None, message: bytes, all_labels: bool) -> ShardSummary:
    return shard.summarize(deserialize_model(message), data, all_labels=all_labels)


def train_shard(shard: Shard, data: Pairs | None, start: bytes, alone: bool) -> ShardTraining:
    """Train the model in one pass over a shard. If the shard is `alone`, the model continues as on one machine."""
    model = deserialize_model(start)
    if not alone:
        state = state_of(model)
        steps, classes = state.ledger.examples, len(state.labels)
        state.ledger = ledger_at_step(steps)
        state.feature_sample = build_feature_sample(model, state.kind)
        state.feature_sample.continue_after(steps)
    before = None if state_of(model) is None else state_of(model).ledger.copy()
    fingerprint = shard.fingerprint()
    has_positive_label = shard.learn(model, data)
    if shard.fingerprint() != fingerprint:
        raise InputError(f"{shard.name}: the file has changed during training. Don't change shards during a run.")
    state = state_of(model)
    if not alone and len(state.labels) > classes:
        new = state.labels.known()[classes:]
        raise InputError(f"{shard.name}: the label {new[0]!r} is not among the given classes. Add it to them.")
    size = sum(array.nbytes for array in to_header_and_tensors(model)[1].values())
    record, order = to_record(state.ledger, before), state.label_order
    return ShardTraining(record, serialize_model(model, start), size, has_positive_label, order, fingerprint)


def strip_models(ends: Sequence[ShardTraining]) -> list[ShardResult]:
    """Return the results of some shards without their weights, for the coordinator."""
    return [
        ShardResult(end.record, len(end.model), end.size, end.has_positive_label, end.label_order, end.fingerprint)
        for end in ends
    ]


def sum_deltas(start: bytes, ends: Sequence[ShardTraining], shares: Sequence[float]) -> bytes:
    """Return the weighted sum of the deltas of some shards, with their ledgers in order, as a message."""
    base, total, ledgers, tallies, features = decode_arrays(start)[1], None, [], [], 0
    first = deserialize_model(start)
    sample, others = FeatureSample(state_of(first).kind), []
    for end, share in zip(ends, shares, strict=True):
        model = _deserialize(end.model, base)
        state = state_of(model)
        sample.merge(state.feature_sample)
        features = max(features, state.features)
        ledgers.append(state.ledger)
        tallies.append(_column_counts(model))
        others += _collect_rest_labels(model)
        if share != 0.0:
            _grow(first, features)
            _grow(model, features)
            (begin, before), (done, after) = _updater_and_steps(first), _updater_and_steps(model)
            total = _add_deltas(total, _scale_delta(compute_delta(begin, done, before, after), share))
    return _encode_partial(total, ledgers, _sum_counts(tallies, first), features, sample, others)


def add_partials(parts: Sequence[bytes]) -> bytes:
    """Return the sum of partial sums, as a message."""
    total, ledgers, tallies, features, sample, others = None, [], None, 0, None, []
    for part in parts:
        delta, own, tally, wide, more, seen = _decode_partial(part)
        sample = more if sample is None else _merge_samples(sample, more)
        total, features = _add_deltas(total, delta), max(features, wide)
        ledgers += own
        others += seen
        tallies = tally if tallies is None else [a + b for a, b in zip(tallies, tally, strict=True)]
    return _encode_partial(total, ledgers, tallies or [], features, sample or FeatureSample(), others)


def apply_mixture(start: bytes, part: bytes) -> bytes:
    """Return the model after the round, encoded relative to its start."""
    model = deserialize_model(start)
    total, ledgers, tally, features, sample, others = _decode_partial(part)
    _grow(model, features)
    state: Any = state_of(model)
    for rest, negative in others:
        state.labels.add_others(rest, negative)
    steps = sum(ledger.examples - state.ledger.examples for ledger in ledgers)
    updater, before = _updater_and_steps(model)
    after = before + (tally[1] if tally else np.array([steps]))
    updater = updater if total is None else apply_delta(updater, _pad_delta(total, updater), before, after)
    header, tensors = to_header_and_tensors(model)
    tensors |= {f"updater.{name}": array for name, array in state_arrays(updater).items()}
    result = from_header(header, tensors, "a message", complete=False)
    mixed = state_of(result)
    mixed.ledger = merge_ledgers(state.ledger, ledgers)
    mixed.feature_sample.merge(sample)
    mixed.feature_sample.continue_after(mixed.ledger.examples)
    if tally:
        _update_counts(mixed, tally)
    return serialize_model(result, start)


def mix_in_one_task(start: bytes, ends: Sequence[ShardTraining], shares: Sequence[float]) -> bytes:
    """Return the serialized model after a round with few shards."""
    return rebase(apply_mixture(start, sum_deltas(start, ends, shares)), start)


def finish_single_shard(end: ShardTraining, start: bytes) -> bytes:
    """Return the serialized model after a round with one shard."""
    return rebase(end.model, start)


def rebase(message: bytes, base: bytes) -> bytes:
    """Decode a model that was encoded relative to `base`, and serialize it without a base."""
    return serialize_model(deserialize_model(message, base))


# --- The parts of a model that are mixed ---


def _updater_and_steps(model: Any) -> tuple[Any, NDArray[np.int64]]:
    """Return the updater without spare capacity, and the number of steps of each column."""
    state = state_of(model)
    updater = trim_state(model, state)
    if hasattr(state, "column_counters"):
        return updater, state.column_counters.times[: max(1, count_used_columns(model, state))].copy()
    return updater, np.array([state.ledger.examples])


def _grow(model: Any, features: int) -> None:
    if features > state_of(model).features:
        state_of(model).ensure_capacity(features)


def _column_counts(model: Any) -> list[NDArray[np.int64]]:
    """Return the counters of a multiclass model besides its ledger."""
    state = state_of(model)
    if not hasattr(state, "column_counters"):
        return []
    columns = max(1, count_used_columns(model, state))
    return [
        state.column_counters.counts,
        state.column_counters.times[:columns],
        state.column_counters.mistakes[:columns],
    ]


def _collect_rest_labels(model: Any) -> list[list[str]]:
    """Return the labels seen by a shard if one label is learned against all others; otherwise nothing."""
    labels = state_of(model).labels
    return [[labels.rest, labels.negative]] if getattr(labels, "rest", "") else []


def _sum_counts(tallies: Sequence[list[NDArray[np.int64]]], start: Any) -> list[NDArray[np.int64]]:
    """Return the sums of the counters since the start of the round."""
    old = _column_counts(start)
    return [sum((tally[k] - old[k] for tally in tallies), np.zeros_like(old[k])) for k in range(len(old))]


def _update_counts(state: Any, tally: list[NDArray[np.int64]]) -> None:
    counts, times, mistakes = state.column_counters
    columns, more = len(tally[1]), tally[0].copy()
    more[N_CLASSES] = 0  # all classes were known
    times, mistakes = times.copy(), mistakes.copy()
    times[:columns] += tally[1]
    mistakes[:columns] += tally[2]
    state.column_counters = ColumnCounters(counts + more, times, mistakes)


# --- Sums of deltas ---


def _scale_delta(delta: WeightDelta, share: float) -> WeightDelta:
    """Scale a delta in place."""
    for array in delta.mixed.values():
        np.multiply(array, share, out=array)
    return delta


def _add_deltas(total: WeightDelta | None, delta: WeightDelta | None) -> WeightDelta | None:
    """Return the sum of two deltas, whose arrays are overwritten."""
    if total is None or delta is None:
        return delta if total is None else total
    return WeightDelta(
        {name: _add_padded(array, delta.mixed[name]) for name, array in total.mixed.items()},
        {name: _add_padded(array, delta.summed[name]) for name, array in total.summed.items()},
        {name: np.maximum(array, delta.largest[name]) for name, array in total.largest.items()},
    )


def _add_padded(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a + b, in place of the longer array; the shorter one is padded with 0."""
    if len(a) < len(b):
        a, b = b, a
    a[: len(b)] += b
    return a


def _merge_samples(sample: FeatureSample, more: FeatureSample) -> FeatureSample:
    """Merge in place, and return the first."""
    sample.merge(more)
    return sample


def _pad_delta(delta: WeightDelta, updater: Any) -> WeightDelta:
    slots = len(updater.weights)
    return delta._replace(
        mixed={name: _add_padded(np.zeros(slots), array) for name, array in delta.mixed.items()},
        summed={name: _add_padded(np.zeros(slots), array) for name, array in delta.summed.items()},
    )


def _encode_partial(
    total: WeightDelta | None,
    ledgers: Sequence[Ledger],
    tally: Sequence[NDArray[np.int64]],
    features: int,
    sample: FeatureSample,
    others: list[list[str]],
) -> bytes:
    header: dict[str, Any] = {"features": features, "ledgers": len(ledgers), "tally": len(tally)}
    header |= {"moved": total is not None, "others": others}
    tensors: dict[str, NDArray[Any]] = {f"tally.{k}": array for k, array in enumerate(tally)} | sample.tensors()
    for k, ledger in enumerate(ledgers):
        tensors |= {f"counts.{k}": ledger.book.counts, f"sums.{k}": ledger.book.sums}
    if total is not None:
        for group in WeightDelta._fields:
            tensors |= {f"{group}.{name}": array for name, array in getattr(total, group).items()}
    return encode_arrays(header, tensors)


def _decode_partial(
    part: bytes,
) -> tuple[WeightDelta | None, list[Ledger], list[NDArray[np.int64]], int, FeatureSample, list[list[str]]]:
    """Return the parts of a message, the inverse of `_encode_partial`."""
    header, tensors = decode_arrays(part)
    ledgers = [
        Ledger(LedgerCounters(tensors[f"counts.{k}"], tensors[f"sums.{k}"], np.zeros(0), np.zeros(0)))
        for k in range(header["ledgers"])
    ]
    groups: dict[str, dict[str, Any]] = {group: {} for group in WeightDelta._fields}
    for name, array in tensors.items():
        group, _, own = name.partition(".")
        if group in groups:
            groups[group][own] = array
    tally = [tensors[f"tally.{k}"] for k in range(header["tally"])]
    sample = FeatureSample.from_tensors(tensors, tensors["sample.moments"].dtype, 0, header["features"])
    total = WeightDelta(**groups) if header["moved"] else None
    return total, ledgers, tally, header["features"], sample, header["others"]
