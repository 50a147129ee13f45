"""What workers do: functions of their arguments and nothing else. One that is run twice, or somewhere else, gives the
same bytes.

A model travels as its header and arrays, packed against the weights that the round began with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.distributed.mixing import Moved, displacement, moved
from novikoff.distributed.ledger import (Record, at_step, merged, record_of)
from novikoff.distributed.delta_encoding import Arrays, packed, unpacked
from novikoff.distributed.shards import (File, Fingerprint, FirstExamples, Look, Pairs, Shard)
from novikoff.errors import InputError
from novikoff.learner_registry import name_of
from novikoff.base.online_classifier import Learner
from novikoff.ledger import Book, Ledger
from novikoff.core.feature_sample import FeatureSample
from novikoff.core.updaters.base import arrays
from novikoff.core.multiclass.loop import KNOWN
from novikoff.core.multiclass.schemes import Tally
from novikoff.model_file import described, rebuilt
from novikoff.data.labels.label_order import LabelOrder
from novikoff.scheme_registry import model_class


class Learned(NamedTuple):
    """A shard's end of a round."""

    record: Record
    model: bytes
    """Packed against the start."""
    size: int
    """Of the same without packing."""
    met: bool
    """Whether the label that is learned against all others was there, where there is one."""
    label_order: LabelOrder | None
    """How often the label changes in the shard."""
    fingerprint: Fingerprint | None = None
    """What its file looked like."""


class Told(NamedTuple):
    """The same without the model."""

    record: Record
    sent: int
    """Bytes of the model as it was packed."""
    size: int
    met: bool
    label_order: LabelOrder | None
    fingerprint: Fingerprint | None = None


def sent(model: Learner, base: bytes | None = None) -> bytes:
    """A model as it travels; with `base` against that."""
    if model._state is None:
        return packed({"learner": name_of(type(model)), "settings": model.plain_settings()}, {})
    header, tensors = described(model)
    return packed(header, tensors, None if base is None else unpacked(base)[1])


def received(message: bytes, base: bytes | None = None) -> Any:
    """The inverse of `sent`."""
    return _received(message, None if base is None else unpacked(base)[1])


def _received(message: bytes, base: Arrays | None) -> Any:
    header, tensors = unpacked(message, base)
    if "features" not in header:
        return model_class(header["learner"]).from_settings(header["settings"])
    return rebuilt(header, tensors, "a message", complete=False)


def mark(shard: Shard, data: Pairs | None) -> dict[str, Any]:
    return shard.mark(data)


def describe(shard: File) -> FirstExamples:
    return shard.describe()


def dictionary_format(shard: File) -> dict[str, Any] | None:
    return shard.dictionary_format()


def names(shard: File, settings: dict[str, Any]) -> list[str] | None:
    return shard.names(settings)


def look(shard: Shard, data: Pairs | None, message: bytes, all_labels: bool) -> Look:
    return shard.look(received(message), data, all_labels=all_labels)


def learn(shard: Shard, data: Pairs | None, start: bytes, alone: bool) -> Learned:
    """One pass over a shard. `alone`: there is no other one, and the model goes on as if there were no cluster."""
    model = received(start)
    if not alone:
        steps, classes = model._state.ledger.examples, len(model._state.labels)
        model._state.ledger = at_step(steps)
        model._state.feature_sample = model._fresh_sample(model._state.kind)
        model._state.feature_sample.continue_after(steps)
    before = None if model._state is None else model._state.ledger.copy()
    fingerprint = shard.fingerprint()
    met = shard.learn(model, data)
    if shard.fingerprint() != fingerprint:
        raise InputError(f"{shard.name}: the file has changed while it was learned: leave all shards as they are.")
    if not alone and len(model._state.labels) > classes:
        new = model._state.labels.known()[classes:]
        raise InputError(f"{shard.name}: the classes must be known beforehand, but {new[0]!r} is new: name it, too.")
    size = sum(array.nbytes for array in described(model)[1].values())
    record, order = record_of(model._state.ledger, before), model._state.label_order
    return Learned(record, sent(model, start), size, met, order, fingerprint)


def told(ends: Sequence[Learned]) -> list[Told]:
    """What the loop must know of some shards, without their weights."""
    return [Told(end.record, len(end.model), end.size, end.met, end.label_order, end.fingerprint) for end in ends]


def gathered(start: bytes, ends: Sequence[Learned], shares: Sequence[float]) -> bytes:
    """How far some shards together have moved the weights, and their ledgers, in their order."""
    base, total, books, tallies, features = unpacked(start)[1], None, [], [], 0
    first = received(start)
    sample, others = FeatureSample(first._state.kind), []
    for end, share in zip(ends, shares, strict=True):
        model = _received(end.model, base)
        sample.merge(model._state.feature_sample)
        features = max(features, model._state.features)
        books.append(model._state.ledger)
        tallies.append(_tally(model))
        others += _others(model)
        if share != 0.0:
            _grow(first, features)
            _grow(model, features)
            (begin, before), (done, after) = _frame(first), _frame(model)
            total = _sum(total, _weighed(displacement(begin, done, before, after), share))
    return _partial(total, books, _added(tallies, first), features, sample, others)


def added(parts: Sequence[bytes]) -> bytes:
    """The same for all of these together."""
    total, books, tallies, features, sample, others = None, [], None, 0, None, []
    for part in parts:
        by, own, tally, wide, more, seen = _whole(part)
        sample = more if sample is None else _merged(sample, more)
        total, features = _sum(total, by), max(features, wide)
        books += own
        others += seen
        tallies = tally if tallies is None else [a + b for a, b in zip(tallies, tally, strict=True)]
    return _partial(total, books, tallies or [], features, sample or FeatureSample(), others)


def mixed(start: bytes, part: bytes) -> bytes:
    """The model after the round, packed against its start."""
    model = received(start)
    total, books, tally, features, sample, others = _whole(part)
    _grow(model, features)
    state: Any = model._state
    for rest, negative in others:
        state.labels.add_others(rest, negative)
    steps = sum(ledger.examples - state.ledger.examples for ledger in books)
    geometry, before = _frame(model)
    after = before + (tally[1] if tally else np.array([steps]))
    geometry = geometry if total is None else moved(geometry, _padded(total, geometry), before, after)
    header, tensors = described(model)
    tensors |= {f"geometry.{name}": array for name, array in arrays(geometry).items()}
    result = rebuilt(header, tensors, "a message", complete=False)
    result._state.ledger = merged(state.ledger, books)
    result._state.feature_sample.merge(sample)
    result._state.feature_sample.continue_after(result._state.ledger.examples)
    if tally:
        _count(result._state, tally)
    return sent(result, start)


def mixed_at_once(start: bytes, ends: Sequence[Learned], shares: Sequence[float]) -> bytes:
    """The model after a round of few shards, as it travels."""
    return travelling(mixed(start, gathered(start, ends, shares)), start)


def alone(end: Learned, start: bytes) -> bytes:
    """The model after a round of one shard."""
    return travelling(end.model, start)


def travelling(message: bytes, base: bytes) -> bytes:
    """A model that was packed against the start of its round as it begins the next: against nothing."""
    return sent(received(message, base))


# --- What a model is made of, as mixing sees it ---


def _frame(model: Any) -> tuple[Any, NDArray[np.int64]]:
    """The geometry without room to spare, and the steps of each column."""
    state = model._state
    geometry = model._compact(state)
    if hasattr(state, "tally"):
        return geometry, state.tally.times[: max(1, model._in_use(state))].copy()
    return geometry, np.array([state.ledger.examples])


def _grow(model: Any, features: int) -> None:
    if features > model._state.features:
        model._state.make_room(features)


def _tally(model: Any) -> list[NDArray[np.int64]]:
    """What is counted beside the ledger."""
    state = model._state
    if not hasattr(state, "tally"):
        return []
    columns = max(1, model._in_use(state))
    return [state.tally.counts, state.tally.times[:columns], state.tally.mistakes[:columns]]


def _others(model: Any) -> list[list[str]]:
    """What a shard has seen of the labels that one label is learned against; nothing if it learns all labels."""
    labels = model._state.labels
    return [[labels.rest, labels.negative]] if getattr(labels, "rest", "") else []


def _added(tallies: Sequence[list[NDArray[np.int64]]], start: Any) -> list[NDArray[np.int64]]:
    """What these have counted since the start."""
    old = _tally(start)
    return [sum((tally[k] - old[k] for tally in tallies), np.zeros_like(old[k])) for k in range(len(old))]


def _count(state: Any, tally: list[NDArray[np.int64]]) -> None:
    counts, times, mistakes = state.tally
    columns, more = len(tally[1]), tally[0].copy()
    more[KNOWN] = 0  # all classes were known
    times, mistakes = times.copy(), mistakes.copy()
    times[:columns] += tally[1]
    mistakes[:columns] += tally[2]
    state.tally = Tally(counts + more, times, mistakes)


# --- Sums of displacements ---


def _weighed(by: Moved, share: float) -> Moved:
    """In place."""
    for array in by.mixed.values():
        np.multiply(array, share, out=array)
    return by


def _sum(total: Moved | None, by: Moved | None) -> Moved | None:
    """Uses up both."""
    if total is None or by is None:
        return by if total is None else total
    return Moved(
        {name: _longer(array, by.mixed[name]) for name, array in total.mixed.items()},
        {name: _longer(array, by.summed[name]) for name, array in total.summed.items()},
        {name: np.maximum(array, by.largest[name]) for name, array in total.largest.items()},
    )


def _longer(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """a + b, in the place of the longer; what the shorter does not have is 0."""
    if len(a) < len(b):
        a, b = b, a
    a[: len(b)] += b
    return a


def _merged(sample: FeatureSample, more: FeatureSample) -> FeatureSample:
    """Merge in place, and return the first."""
    sample.merge(more)
    return sample


def _padded(by: Moved, geometry: Any) -> Moved:
    slots = len(geometry.slots)
    return by._replace(
        mixed={name: _longer(np.zeros(slots), array) for name, array in by.mixed.items()},
        summed={name: _longer(np.zeros(slots), array) for name, array in by.summed.items()},
    )


def _partial(
    total: Moved | None,
    books: Sequence[Ledger],
    tally: Sequence[NDArray[np.int64]],
    features: int,
    sample: FeatureSample,
    others: list[list[str]],
) -> bytes:
    header: dict[str, Any] = {"features": features, "ledgers": len(books), "tally": len(tally)}
    header |= {"moved": total is not None, "others": others}
    tensors: dict[str, NDArray[Any]] = {f"tally.{k}": array for k, array in enumerate(tally)} | sample.tensors()
    for k, ledger in enumerate(books):
        tensors |= {f"counts.{k}": ledger.book.counts, f"sums.{k}": ledger.book.sums}
    if total is not None:
        for group in Moved._fields:
            tensors |= {f"{group}.{name}": array for name, array in getattr(total, group).items()}
    return packed(header, tensors)


def _whole(
    part: bytes,
) -> tuple[Moved | None, list[Ledger], list[NDArray[np.int64]], int, FeatureSample, list[list[str]]]:
    """The inverse of `_partial`."""
    header, tensors = unpacked(part)
    books = [Ledger(Book(tensors[f"counts.{k}"], tensors[f"sums.{k}"])) for k in range(header["ledgers"])]
    groups: dict[str, dict[str, Any]] = {group: {} for group in Moved._fields}
    for name, array in tensors.items():
        group, _, own = name.partition(".")
        if group in groups:
            groups[group][own] = array
    tally = [tensors[f"tally.{k}"] for k in range(header["tally"])]
    sample = FeatureSample.from_tensors(tensors, tensors["sample.moments"].dtype, 0, header["features"])
    total = Moved(**groups) if header["moved"] else None
    return total, books, tally, header["features"], sample, header["others"]
