"""The loop: every shard learns from the weights of the round before, and their weights are mixed.

The tree along which shards are added up follows from their number alone. So the result depends on the shards and their
order, and on nothing else: not on how many workers there are, which of them did what, nor on what was done twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from novikoff.base.internals import build_empty_labels, build_state, build_unfitted, needs_two_classes, set_state
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.data.labels.binary_labels import build_one_vs_rest_labels
from novikoff.data.labels.class_labels import ClassLabels
from novikoff.data.labels.label_order import LabelOrder
from novikoff.distributed import worker_tasks
from novikoff.distributed.executor import Executor
from novikoff.distributed.ledger import DistributedLedger, Round
from novikoff.distributed.mixture_weights import fixed_mixture, mixture
from novikoff.distributed.shards import Fingerprint, Shard, ShardSummary
from novikoff.errors import InputError, LabelError

TREE_FANOUT = 8
"""Of the tree: so many are added up in one task."""
MAX_CHAINED_ROUNDS = 8
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


class RoundResult(NamedTuple):
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


class PendingRound(NamedTuple):
    """A round whose tasks have been called, by the handles to what they give."""

    start: Any
    """The model that it begins with."""
    ends: list[Any]
    """Of the shards, where they are still to be mixed."""
    summaries: list[Any]
    shares: Sequence[Fraction] | None
    """How shards are mixed, where that is known beforehand."""
    end: Any
    """The model after it, where that is known, too."""


def start_round(executor: Executor, shards: Sequence[Shard], start: Any, mixing: str) -> PendingRound:
    """One round, from a handle to the model of before."""
    alone = len(shards) == 1
    ends = [
        executor.call(worker_tasks.train_shard, shard, executor.data(k), start, alone, part=k)
        for k, shard in enumerate(shards)
    ]
    # By branches of the tree: whoever tells of eight shards has fetched them, and adds them up next.
    summaries = [
        executor.call(worker_tasks.strip_models, ends[k : k + TREE_FANOUT]) for k in range(0, len(ends), TREE_FANOUT)
    ]
    shares = [Fraction(1)] if alone else fixed_mixture(mixing, len(ends))
    end = None
    if alone:
        end = executor.call(worker_tasks.finish_single_shard, ends[0], start)
    elif shares is not None:
        end = _schedule_mixing(executor, start, ends, shares)
    return PendingRound(start, ends if end is None else [], summaries, shares, end)


def finish_round(executor: Executor, shards: Sequence[Shard], begun: PendingRound, mixing: str) -> RoundResult:
    """Waits for all of it."""
    found = executor.results([*begun.summaries, *([] if begun.end is None else [begun.end])])
    told = [one for branch in found[: len(begun.summaries)] for one in branch]
    records = [one.record for one in told]
    if not any(one.has_positive_label for one in told):
        raise InputError(
            f"--positive-label {getattr(shards[0], 'positive', None)}: no example of any shard has that label."
        )
    shares = begun.shares
    if shares is None:
        shares = mixture(mixing, records)
        found = executor.results([_schedule_mixing(executor, begun.start, begun.ends, shares)])
    done = Round(tuple(records), tuple(shares))
    orders = [one.label_order for one in told]
    sizes = sum(one.sent for one in told), sum(one.size for one in told)
    return RoundResult(found[-1], done, *sizes, orders, [one.fingerprint for one in told])


def _schedule_mixing(executor: Executor, start: Any, ends: Sequence[Any], shares: Sequence[Fraction]) -> Any:
    weights = [float(share) for share in shares]
    if len(ends) <= TREE_FANOUT:  # in one go: what the tree would do, without the ways in between
        return executor.call(worker_tasks.mix_in_one_task, start, list(ends), weights)
    mixed = executor.call(worker_tasks.apply_mixture, start, reduce_tree(executor, start, ends, weights))
    return executor.call(worker_tasks.rebase, mixed, start)


def reduce_tree(executor: Executor, start: Any, ends: Sequence[Any], shares: Sequence[float]) -> Any:
    """What all shards together have done, added up along a tree."""
    level = [
        executor.call(
            worker_tasks.sum_deltas, start, list(ends[k : k + TREE_FANOUT]), list(shares[k : k + TREE_FANOUT])
        )
        for k in range(0, len(ends), TREE_FANOUT)
    ]
    while len(level) > 1:
        level = [
            executor.call(worker_tasks.add_partials, level[k : k + TREE_FANOUT])
            for k in range(0, len(level), TREE_FANOUT)
        ]
    return level[0]


def build_initial_model(executor: Executor, shards: Sequence[Shard], plan: Plan) -> bytes:
    """The model that the first round begins with: nothing is learned yet, but labels, features and the way of reading
    are what all shards have in common.

    A single file needs no agreement: its model begins as it would without a cluster.
    """
    model, classes, positive = plan.model, plan.classes, plan.positive
    computed = executor.data(0) is not None
    if len(shards) == 1 and not computed and classes is None:
        return worker_tasks.serialize_model(model)
    fresh = worker_tasks.serialize_model(model)
    first = _summarize_shards(executor, shards if computed else shards[:1], fresh, all_labels=computed)
    if first[0].several:
        raise InputError(
            f"{first[0].name}: has sets of labels or queries: a cluster learns one label for each example."
        )
    looks = first
    if not computed and positive is None and classes is None and _needs_all_labels(model, first[0]):
        looks = _summarize_shards(executor, shards, fresh, all_labels=True)
    _check_same_features(looks)
    labels = _build_labels(model, looks, classes, positive, ordered=computed)
    features, names = first[0].features, first[0].names
    if plan.names is not None:
        features, names = len(plan.names), list(plan.names)
    state = build_state(model, features, first[0].kind, names, labels)
    state.reading = first[0].reading
    begun = build_unfitted(model)
    set_state(begun, state)
    return worker_tasks.serialize_model(begun)


def _summarize_shards(
    executor: Executor, shards: Sequence[Shard], message: bytes, *, all_labels: bool
) -> list[ShardSummary]:
    def look() -> list[Any]:
        shared = executor.share(message)
        called = [
            executor.call(worker_tasks.summarize_shard, shard, executor.data(k), shared, all_labels)
            for k, shard in enumerate(shards)
        ]
        return executor.results(called)

    looks: list[ShardSummary] = executor.run_with_retry(look)
    return looks


def identify_shards(executor: Executor, shards: Sequence[Shard]) -> list[dict[str, Any]]:
    """What tells these shards from others."""

    def ask() -> list[Any]:
        return executor.results(
            [executor.call(worker_tasks.identify_shard, shard, executor.data(k)) for k, shard in enumerate(shards)]
        )

    found: list[dict[str, Any]] = executor.run_with_retry(ask)
    return found


def _needs_all_labels(model: OnlineClassifier, first: ShardSummary) -> bool:
    """Whether the first block of the first file does not tell all labels that there can be."""
    return not needs_two_classes(model) or len(first.labels) < 2


def _check_same_features(looks: Sequence[ShardSummary]) -> None:
    for one in looks[1:]:
        if one.features != looks[0].features or one.names != looks[0].names:
            other = "" if one.features != looks[0].features else " of other names"
            raise InputError(
                f"All shards must have the same features, but {looks[0].name} has {looks[0].features:,} and {one.name}"
                f" has {one.features:,}{other}: make them alike."
            )


def _build_labels(
    model: OnlineClassifier,
    looks: Sequence[ShardSummary],
    classes: Sequence[Any] | None,
    positive: str | None,
    *,
    ordered: bool,
) -> Any:
    """In the order in which they came, as in a stream; sorted where they are all at hand, as fit has them."""
    if positive is not None:
        return build_one_vs_rest_labels(positive)
    told = list(dict.fromkeys(label for one in looks for label in one.labels)) if classes is None else list(classes)
    if not told:
        raise LabelError("There are no labels: every example to learn from needs one.")
    if ordered or classes is not None:
        return build_empty_labels(model).named(told)
    if not needs_two_classes(model):
        return ClassLabels(told)
    labels = build_empty_labels(model)
    for label in told:
        labels.sign(label)
    return labels


class _RoundLoop:
    """One round after another. Where calls are done by others, and how shards are mixed does not depend on what they
    find, the next round is told of before this one is waited for: workers need not wait for the way back and forth."""

    def __init__(self, executor: Executor, shards: Sequence[Shard], mixing: str) -> None:
        self.engine, self.shards, self.mixing = executor, shards, mixing
        self.begun: PendingRound | None = None
        self.fingerprints: Sequence[Fingerprint | None] = ()
        self.chain = 0
        """How many rounds have begun, one after another, with a model that only workers had."""

    def next(self, message: bytes, *, more: bool) -> RoundResult:
        """The round after this model; `more`: another one will be asked for."""

        def once() -> RoundResult:
            now, later = self.begun, None
            self.begun = None  # what fails is begun anew, from the model
            if now is None:
                now, self.chain = start_round(self.engine, self.shards, self.engine.share(message), self.mixing), 0
            if more and self.engine.ahead and now.end is not None and self.chain < MAX_CHAINED_ROUNDS:
                later, self.chain = start_round(self.engine, self.shards, now.end, self.mixing), self.chain + 1
            turn = finish_round(self.engine, self.shards, now, self.mixing)
            self.begun = later
            return turn

        done: RoundResult = self.engine.run_with_retry(once)
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


RoundCallback = Callable[[int, RoundResult, DistributedLedger], None]


def run_rounds(
    executor: Executor,
    shards: Sequence[Shard],
    plan: Plan,
    done: tuple[DistributedLedger, bytes] | None = None,
    onlooker: RoundCallback | None = None,
) -> tuple[bytes, DistributedLedger]:
    """All rounds, or those that are left after what was `done`: the model as it travels, and what happened."""
    if done is None:
        ledger, message = DistributedLedger(), build_initial_model(executor, shards, plan)
    else:
        ledger, message = done
    rounds = _RoundLoop(executor, shards, plan.mixing)
    while len(ledger.rounds) < plan.rounds:
        now = rounds.next(message, more=len(ledger.rounds) + 1 < plan.rounds)
        message = now.message
        ledger.rounds.append(now.done)
        if onlooker is not None:
            onlooker(len(ledger.rounds), now, ledger)
    model = worker_tasks.deserialize_model(message)
    if needs_two_classes(model) and len(model.classes_) < 2:
        raise InputError(f"All labels are {model.classes_[0]}: with one class there is nothing to learn.")
    return message, ledger
