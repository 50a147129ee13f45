"""The coordinator of a distributed run: in each round every shard is learned, and the weights are mixed.

The reduction tree depends only on the number of shards. So the result depends only on the shards and their order, not
on the number of workers, the assignment of tasks, or repeated tasks.
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
"""Number of shards or partial sums added in one task of the reduction tree."""
MAX_CHAINED_ROUNDS = 8
"""Rounds that are submitted one after another without sending the model to the coordinator and back. If a worker dies,
at most this many rounds are repeated."""


class Plan(NamedTuple):
    """The settings of a run, independent of its shards."""

    model: Any
    """An unfitted model."""
    rounds: int
    mixing: str
    positive: str | None = None
    """A label that is learned against all others."""
    classes: Sequence[Any] | None = None
    """All labels, if the caller names them in advance."""
    names: Sequence[str] | None = None
    """The names of all features, if they have a shared dictionary."""


class RoundResult(NamedTuple):
    """A finished round."""

    message: bytes
    """The serialized model after the round."""
    done: Round
    sent: int
    """Size of the encoded models of all shards."""
    size: int
    """Size of these models without encoding."""
    label_orders: list[LabelOrder | None]
    """Label changes in each shard."""
    fingerprints: Sequence[Fingerprint | None] = ()
    """Fingerprints of the files of the shards."""


class PendingRound(NamedTuple):
    """A round whose tasks are submitted, with the handles to their results."""

    start: Any
    """The model at the start of the round."""
    ends: list[Any]
    """The results of the shards, if they are not mixed yet."""
    summaries: list[Any]
    shares: Sequence[Fraction] | None
    """The mixture weights, if they are known in advance."""
    end: Any
    """The model after the round, if the mixture weights are known in advance."""


def start_round(executor: Executor, shards: Sequence[Shard], start: Any, mixing: str) -> PendingRound:
    """Submit the tasks of one round, given a handle to the model before it."""
    alone = len(shards) == 1
    ends = [
        executor.call(worker_tasks.train_shard, shard, executor.data(k), start, alone, part=k)
        for k, shard in enumerate(shards)
    ]
    # One task per branch of the tree: its worker fetches the results of eight shards, and can add them up next.
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
    """Wait for the results of a round, and mix them if that is not done yet."""
    found = executor.results([*begun.summaries, *([] if begun.end is None else [begun.end])])
    results = [result for branch in found[: len(begun.summaries)] for result in branch]
    records = [result.record for result in results]
    if not any(result.has_positive_label for result in results):
        raise InputError(
            f"--positive-label {getattr(shards[0], 'positive', None)}: no example of any shard has that label."
        )
    shares = begun.shares
    if shares is None:
        shares = mixture(mixing, records)
        found = executor.results([_schedule_mixing(executor, begun.start, begun.ends, shares)])
    done = Round(tuple(records), tuple(shares))
    orders = [result.label_order for result in results]
    sizes = sum(result.sent for result in results), sum(result.size for result in results)
    return RoundResult(found[-1], done, *sizes, orders, [result.fingerprint for result in results])


def _schedule_mixing(executor: Executor, start: Any, ends: Sequence[Any], shares: Sequence[Fraction]) -> Any:
    weights = [float(share) for share in shares]
    if len(ends) <= TREE_FANOUT:  # a tree of one node: one task saves the transfers in between
        return executor.call(worker_tasks.mix_in_one_task, start, list(ends), weights)
    mixed = executor.call(worker_tasks.apply_mixture, start, reduce_tree(executor, start, ends, weights))
    return executor.call(worker_tasks.rebase, mixed, start)


def reduce_tree(executor: Executor, start: Any, ends: Sequence[Any], shares: Sequence[float]) -> Any:
    """Return a handle to the weighted sum of the deltas of all shards, computed by a reduction tree."""
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
    """Return the serialized model at the start of the first round, with the labels, features and format of all shards.

    A single file needs no agreement: its model starts as on one machine.
    """
    model, classes, positive = plan.model, plan.classes, plan.positive
    computed = executor.data(0) is not None
    if len(shards) == 1 and not computed and classes is None:
        return worker_tasks.serialize_model(model)
    fresh = worker_tasks.serialize_model(model)
    first = _summarize_shards(executor, shards if computed else shards[:1], fresh, all_labels=computed)
    if first[0].several:
        raise InputError(
            f"{first[0].name}: the examples have label sets or queries, but distributed learning needs one label each."
        )
    looks = first
    has_all_labels = needs_two_classes(model) and len(first[0].labels) >= 2
    if not (computed or has_all_labels) and positive is None and classes is None:
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
    def summarize_all() -> list[Any]:
        shared = executor.share(message)
        called = [
            executor.call(worker_tasks.summarize_shard, shard, executor.data(k), shared, all_labels)
            for k, shard in enumerate(shards)
        ]
        return executor.results(called)

    looks: list[ShardSummary] = executor.run_with_retry(summarize_all)
    return looks


def identify_shards(executor: Executor, shards: Sequence[Shard]) -> list[dict[str, Any]]:
    """Return digests that identify the shards."""

    def ask() -> list[Any]:
        return executor.results(
            [executor.call(worker_tasks.identify_shard, shard, executor.data(k)) for k, shard in enumerate(shards)]
        )

    found: list[dict[str, Any]] = executor.run_with_retry(ask)
    return found


def _check_same_features(looks: Sequence[ShardSummary]) -> None:
    for one in looks[1:]:
        if one.features != looks[0].features or one.names != looks[0].names:
            other = "" if one.features != looks[0].features else " of other names"
            raise InputError(
                f"All shards must have the same features, but {looks[0].name} has {looks[0].features:,} and {one.name}"
                f" has {one.features:,}{other}."
            )


def _build_labels(
    model: OnlineClassifier,
    looks: Sequence[ShardSummary],
    classes: Sequence[Any] | None,
    positive: str | None,
    *,
    ordered: bool,
) -> Any:
    """Return the labels in order of first occurrence, or sorted if all are known, as by `fit`."""
    if positive is not None:
        return build_one_vs_rest_labels(positive)
    found = list(dict.fromkeys(label for one in looks for label in one.labels)) if classes is None else list(classes)
    if not found:
        raise LabelError("The shards have no labels. Learning needs a label for each example.")
    if ordered or classes is not None:
        return build_empty_labels(model).named(found)
    if not needs_two_classes(model):
        return ClassLabels(found)
    labels = build_empty_labels(model)
    for label in found:
        labels.sign(label)
    return labels


class _RoundLoop:
    """Runs rounds one after another.

    If the executor is asynchronous and the mixture weights are known in advance, the next round is submitted before the
    results of this one arrive, so that workers need not wait for the coordinator.
    """

    def __init__(self, executor: Executor, shards: Sequence[Shard], mixing: str) -> None:
        self.engine, self.shards, self.mixing = executor, shards, mixing
        self.begun: PendingRound | None = None
        self.fingerprints: Sequence[Fingerprint | None] = ()
        self.chain = 0
        """Number of consecutive rounds that started with a model that only workers have."""

    def run_round(self, message: bytes, *, more: bool) -> RoundResult:
        """Run the round after this model; `more` says that another round will follow."""

        def run_next() -> RoundResult:
            now, later = self.begun, None
            self.begun = None  # a failed round is restarted from the model
            if now is None:
                now, self.chain = start_round(self.engine, self.shards, self.engine.share(message), self.mixing), 0
            if more and self.engine.ahead and now.end is not None and self.chain < MAX_CHAINED_ROUNDS:
                later, self.chain = start_round(self.engine, self.shards, now.end, self.mixing), self.chain + 1
            turn = finish_round(self.engine, self.shards, now, self.mixing)
            self.begun = later
            return turn

        done: RoundResult = self.engine.run_with_retry(run_next)
        self._check_fingerprints(done.fingerprints)
        return done

    def _check_fingerprints(self, found: Sequence[Fingerprint | None]) -> None:
        """Raise InputError if the file of a shard has changed since the round before."""
        self.fingerprints = self.fingerprints or found
        for shard, before, now in zip(self.shards, self.fingerprints, found, strict=True):
            if before is not None and now is not None and not now.matches(before):
                raise InputError(
                    f"{shard.name}: the file has changed since the round before, so that the rounds learned different"
                    " data. Don't change shards during a run, and start it again."
                )


RoundCallback = Callable[[int, RoundResult, DistributedLedger], None]


def run_rounds(
    executor: Executor,
    shards: Sequence[Shard],
    plan: Plan,
    done: tuple[DistributedLedger, bytes] | None = None,
    on_round: RoundCallback | None = None,
) -> tuple[bytes, DistributedLedger]:
    """Run all rounds, or those after the ones that are `done`; return the serialized model and the ledger."""
    if done is None:
        ledger, message = DistributedLedger(), build_initial_model(executor, shards, plan)
    else:
        ledger, message = done
    rounds = _RoundLoop(executor, shards, plan.mixing)
    while len(ledger.rounds) < plan.rounds:
        now = rounds.run_round(message, more=len(ledger.rounds) + 1 < plan.rounds)
        message = now.message
        ledger.rounds.append(now.done)
        if on_round is not None:
            on_round(len(ledger.rounds), now, ledger)
    model = worker_tasks.deserialize_model(message)
    if needs_two_classes(model) and len(model.classes_) < 2:
        raise InputError(f"All labels are {model.classes_[0]}. Learning needs at least two classes.")
    return message, ledger
