"""The loop: every shard learns from the weights of the round before, and their weights are mixed.

The tree along which shards are added up follows from their number alone. So the result depends on the shards and their
order, and on nothing else: not on how many workers there are, which of them did what, nor on what was done twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from novikoff.distributed import worker_tasks
from novikoff.distributed.executor import Engine
from novikoff.distributed.ledger import DistributedLedger, Round
from novikoff.distributed.shards import Fingerprint, Look, Shard
from novikoff.distributed.mixture_weights import beforehand, mixture
from novikoff.errors import InputError, LabelError
from novikoff.base.online_classifier import Learner
from novikoff.data.labels.class_labels import Classes
from novikoff.data.labels.label_order import LabelOrder
from novikoff.data.labels.binary_labels import one_against_the_rest

BRANCHES = 8
"""Of the tree: so many are added up in one task."""
CHAIN = 8
"""Rounds that follow each other without the model going to whoever waits for it and back: where a worker dies, the work
of so many is done again at worst."""


class Plan(NamedTuple):
    """What is to be learned, whatever the shards."""

    model: Any
    """Fresh."""
    rounds: int
    mixing: str
    positive: str | None = None
    """A label that is learned against all others."""
    classes: Sequence[Any] | None = None
    """All labels, where they are told beforehand."""
    names: Sequence[str] | None = None
    """The names of all features, where they have a dictionary."""


class Turn(NamedTuple):
    """A round that was done."""

    message: bytes
    """The model after it, as it travels."""
    done: Round
    sent: int
    """Bytes that the shards' weights took."""
    size: int
    """… and would have taken without packing."""
    label_orders: list[LabelOrder | None]
    """How often the label changes in each shard."""
    fingerprints: Sequence[Fingerprint | None] = ()
    """What the file of each shard looked like."""


class Begun(NamedTuple):
    """A round whose tasks have been called, by the handles to what they give."""

    start: Any
    """The model that it begins with."""
    ends: list[Any]
    """Of the shards, where they are still to be mixed."""
    telling: list[Any]
    shares: Sequence[Fraction] | None
    """How shards are mixed, where that is known beforehand."""
    end: Any
    """The model after it, where that is known, too."""


def begin(engine: Engine, shards: Sequence[Shard], start: Any, mixing: str) -> Begun:
    """One round, from a handle to the model of before."""
    alone = len(shards) == 1
    ends = [engine.call(worker_tasks.learn, shard, engine.data(k), start, alone, part=k) for k, shard in enumerate(shards)]
    # By branches of the tree: whoever tells of eight shards has fetched them, and adds them up next.
    telling = [engine.call(worker_tasks.told, ends[k : k + BRANCHES]) for k in range(0, len(ends), BRANCHES)]
    shares = [Fraction(1)] if alone else beforehand(mixing, len(ends))
    end = None
    if alone:
        end = engine.call(worker_tasks.alone, ends[0], start)
    elif shares is not None:
        end = _mixed(engine, start, ends, shares)
    return Begun(start, ends if end is None else [], telling, shares, end)


def finish(engine: Engine, shards: Sequence[Shard], begun: Begun, mixing: str) -> Turn:
    """Waits for all of it."""
    found = engine.results([*begun.telling, *([] if begun.end is None else [begun.end])])
    told = [one for branch in found[: len(begun.telling)] for one in branch]
    records = [one.record for one in told]
    if not any(one.met for one in told):
        raise InputError(f"--positive {getattr(shards[0], 'positive', None)}: no example of any shard has that label.")
    shares = begun.shares
    if shares is None:
        shares = mixture(mixing, records)
        found = engine.results([_mixed(engine, begun.start, begun.ends, shares)])
    done = Round(tuple(records), tuple(shares))
    orders = [one.label_order for one in told]
    sizes = sum(one.sent for one in told), sum(one.size for one in told)
    return Turn(found[-1], done, *sizes, orders, [one.fingerprint for one in told])


def _mixed(engine: Engine, start: Any, ends: Sequence[Any], shares: Sequence[Fraction]) -> Any:
    weights = [float(share) for share in shares]
    if len(ends) <= BRANCHES:  # in one go: what the tree would do, without the ways in between
        return engine.call(worker_tasks.mixed_at_once, start, list(ends), weights)
    mixed = engine.call(worker_tasks.mixed, start, summed(engine, start, ends, weights))
    return engine.call(worker_tasks.travelling, mixed, start)


def summed(engine: Engine, start: Any, ends: Sequence[Any], shares: Sequence[float]) -> Any:
    """What all shards together have done, added up along a tree."""
    level = [
        engine.call(worker_tasks.gathered, start, list(ends[k : k + BRANCHES]), list(shares[k : k + BRANCHES]))
        for k in range(0, len(ends), BRANCHES)
    ]
    while len(level) > 1:
        level = [engine.call(worker_tasks.added, level[k : k + BRANCHES]) for k in range(0, len(level), BRANCHES)]
    return level[0]


def agreed(engine: Engine, shards: Sequence[Shard], plan: Plan) -> bytes:
    """The model that the first round begins with: nothing is learned yet, but labels, features and the way of reading
    are what all shards have in common.

    A single file needs no agreement: its model begins as it would without a cluster.
    """
    model, classes, positive = plan.model, plan.classes, plan.positive
    computed = engine.data(0) is not None
    if len(shards) == 1 and not computed and classes is None:
        return worker_tasks.sent(model)
    fresh = worker_tasks.sent(model)
    first = _looks(engine, shards if computed else shards[:1], fresh, all_labels=computed)
    if first[0].several:
        raise InputError(
            f"{first[0].name}: has sets of labels or queries: a cluster learns one label for each example."
        )
    looks = first
    if not computed and positive is None and classes is None and _must_ask(model, first[0]):
        looks = _looks(engine, shards, fresh, all_labels=True)
    _same_features(looks)
    labels = _labels(model, looks, classes, positive, ordered=computed)
    features, names = first[0].features, first[0].names
    if plan.names is not None:
        features, names = len(plan.names), list(plan.names)
    state = model.fresh_state(features, first[0].kind, names, labels)
    state.reading = first[0].reading
    begun = type(model).from_settings(model.plain_settings())
    begun._adopt(state)
    return worker_tasks.sent(begun)


def _looks(engine: Engine, shards: Sequence[Shard], message: bytes, *, all_labels: bool) -> list[Look]:
    def look() -> list[Any]:
        shared = engine.share(message)
        called = [engine.call(worker_tasks.look, shard, engine.data(k), shared, all_labels) for k, shard in enumerate(shards)]
        return engine.results(called)

    looks: list[Look] = engine.surely(look)
    return looks


def marks(engine: Engine, shards: Sequence[Shard]) -> list[dict[str, Any]]:
    """What tells these shards from others."""

    def ask() -> list[Any]:
        return engine.results([engine.call(worker_tasks.mark, shard, engine.data(k)) for k, shard in enumerate(shards)])

    found: list[dict[str, Any]] = engine.surely(ask)
    return found


def _must_ask(model: Learner, first: Look) -> bool:
    """Whether the first block of the first file does not tell all labels that there can be."""
    return not model.two_classes or len(first.labels) < 2


def _same_features(looks: Sequence[Look]) -> None:
    for one in looks[1:]:
        if one.features != looks[0].features or one.names != looks[0].names:
            other = "" if one.features != looks[0].features else " of other names"
            raise InputError(
                f"All shards must have the same features, but {looks[0].name} has {looks[0].features:,} and {one.name}"
                f" has {one.features:,}{other}: make them alike."
            )


def _labels(
    model: Learner, looks: Sequence[Look], classes: Sequence[Any] | None, positive: str | None, *, ordered: bool
) -> Any:
    """In the order in which they came, as in a stream; sorted where they are all at hand, as fit has them."""
    if positive is not None:
        return one_against_the_rest(positive)
    told = list(dict.fromkeys(label for one in looks for label in one.labels)) if classes is None else list(classes)
    if not told:
        raise LabelError("There are no labels: every example to learn from needs one.")
    if ordered or classes is not None:
        return model._no_labels().named(told)
    if not model.two_classes:
        return Classes(told)
    labels = model._no_labels()
    for label in told:
        labels.sign(label)
    return labels


class _Rounds:
    """One round after another. Where calls are done by others, and how shards are mixed does not depend on what they
    find, the next round is told of before this one is waited for: workers need not wait for the way back and forth."""

    def __init__(self, engine: Engine, shards: Sequence[Shard], mixing: str) -> None:
        self.engine, self.shards, self.mixing = engine, shards, mixing
        self.begun: Begun | None = None
        self.fingerprints: Sequence[Fingerprint | None] = ()
        self.chain = 0
        """How many rounds have begun, one after another, with a model that only workers had."""

    def next(self, message: bytes, *, more: bool) -> Turn:
        """The round after this model; `more`: another one will be asked for."""

        def once() -> Turn:
            now, later = self.begun, None
            self.begun = None  # what fails is begun anew, from the model
            if now is None:
                now, self.chain = begin(self.engine, self.shards, self.engine.share(message), self.mixing), 0
            if more and self.engine.ahead and now.end is not None and self.chain < CHAIN:
                later, self.chain = begin(self.engine, self.shards, now.end, self.mixing), self.chain + 1
            turn = finish(self.engine, self.shards, now, self.mixing)
            self.begun = later
            return turn

        done: Turn = self.engine.surely(once)
        self._check_fingerprints(done.fingerprints)
        return done

    def _check_fingerprints(self, found: Sequence[Fingerprint | None]) -> None:
        """Raise InputError where the file of a shard is not that of the round before."""
        self.fingerprints = self.fingerprints or found
        for shard, before, now in zip(self.shards, self.fingerprints, found, strict=True):
            if before is not None and now is not None and not now.matches(before):
                raise InputError(
                    f"{shard.name}: the file has changed since the round before, so that the rounds learned different"
                    " data: leave all shards as they are, and start the run again."
                )


Onlooker = Callable[[int, Turn, DistributedLedger], None]


def run(
    engine: Engine,
    shards: Sequence[Shard],
    plan: Plan,
    done: tuple[DistributedLedger, bytes] | None = None,
    onlooker: Onlooker | None = None,
) -> tuple[bytes, DistributedLedger]:
    """All rounds, or those that are left after what was `done`: the model as it travels, and what happened."""
    if done is None:
        ledger, message = DistributedLedger(), agreed(engine, shards, plan)
    else:
        ledger, message = done
    rounds = _Rounds(engine, shards, plan.mixing)
    while len(ledger.rounds) < plan.rounds:
        now = rounds.next(message, more=len(ledger.rounds) + 1 < plan.rounds)
        message = now.message
        ledger.rounds.append(now.done)
        if onlooker is not None:
            onlooker(len(ledger.rounds), now, ledger)
    model = worker_tasks.received(message)
    if model.two_classes and len(model.classes_) < 2:
        raise InputError(f"All labels are {model.classes_[0]}: with one class there is nothing to learn.")
    return message, ledger
