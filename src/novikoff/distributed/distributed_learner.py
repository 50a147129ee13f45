"""DistributedLearner: the learners of this package on shards, round by round."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Self, final

from novikoff.certificates.certificate import Certificate
from novikoff.distributed import worker_tasks
from novikoff.distributed.checkpoint import Checkpoint
from novikoff.distributed.executor import Engine, InThisProcess
from novikoff.distributed.inputs import Input, shards_of
from novikoff.distributed.ledger import DistributedLedger
from novikoff.distributed.dask_executor import OnDask, computed, current_client
from novikoff.distributed.coordinator import (Plan, Turn, marks, run)
from novikoff.distributed.shards import File, ways_of
from novikoff.distributed.shared_names import share_names
from novikoff.distributed.compatibility import prepared
from novikoff.distributed.mixture_weights import MIXINGS
from novikoff.errors import DefaultLearnerWarning, SortedLabelsWarning, levels_to_user, not_fitted
from novikoff.learner_registry import name_of
from novikoff.linear.arow import AROW
from novikoff.base.estimator import Estimator, one_of
from novikoff.data.labels.label_order import LabelOrder
from novikoff.data.options import Options
from novikoff.multiclass.base import Many

__all__ = ["DistributedLearner"]

DEFAULT_REPLACED = (
    "No learner was given: AROW is used, because Auto, the default elsewhere, can't be mixed across shards."
    " Name a learner, such as DistributedLearner(AROW()), to choose."
)


@final
class DistributedLearner(Estimator):
    """Iterative parameter mixing: in each round every shard learns from the same weights w, and w becomes Σ μ_i·w_i.

    The result depends on the shards and their order alone: not on the number of workers, nor on which of them did what,
    nor on how many died. One shard gives the very bytes that the learner gives without a cluster.

    On shards that some u with ‖u‖ = 1 separates by γ, Σ_n Σ_i μ_{i,n}·M_{i,n} ≤ (R/γ)² for the Perceptron (McDonald,
    Hall and Mann 2010); see `certify` for what holds of this very run.

    Parameters
    ----------
    learner : Learner
        What is learned: linear learners, and Kesler, OneVsAll, AllVsAll and OutputCode around them. AROW() if None:
        the usual default, Auto, can't be mixed across shards. `learner_` is the learner that was used.
    rounds : int
        How often all shards are learned and mixed.
    mixing : str
        μ: uniform, mistakes (shards count as much as they err) or examples (as much as they are long).
    client : Client
        Of Dask. Without one, the current client of this process; where there is none, everything is done here.
    checkpoint : str
        A file, or an address that fsspec knows, that is written after each round: a run that was ended goes on from it.
        Other settings or other data are refused.

    Examples
    --------
    >>> from novikoff import Perceptron
    >>> from novikoff.distributed import DistributedLearner
    >>> shards = [([[0, 1], [1, 0]], ["up", "right"]), ([[2, 1], [0, 3]], ["right", "up"])]
    >>> learner = DistributedLearner(Perceptron(), rounds=3).fit(shards)
    >>> learner.predict([[5, 1]]).tolist(), learner.ledger_.examples
    (['right'], 12)
    """

    def __init__(
        self,
        learner: Any = None,
        *,
        rounds: int = 5,
        mixing: str = "uniform",
        client: Any = None,
        checkpoint: str | None = None,
    ) -> None:
        self.learner = learner
        self.rounds = rounds
        self.mixing = mixing
        self.client = client
        self.checkpoint = checkpoint

    def fit(
        self,
        data: Any,
        y: Any = None,
        *,
        classes: Sequence[Any] | None = None,
        options: Options | None = None,
        positive: str | None = None,
        onlooker: Callable[[int, Turn], None] | None = None,
    ) -> Self:
        """Learns all shards, `rounds` times.

        `data` are names of files (`part-*.svm.gz` for all that match), read as `options` say; a Dask array or data
        frame with y, whose blocks of rows are the shards; a bag of batches (X, y), whose parts are; or a list of
        batches, as they are or delayed. `classes` names all labels beforehand, which spares a look at every file where
        there are more than two. `positive` learns one label against all others. `onlooker` sees the end of each round.
        SortedLabelsWarning, also kept in `warnings_`, is issued if shards look sorted by label, and
        DefaultLearnerWarning if no learner was given.
        """
        one_of(tuple(MIXINGS), mixing=self.mixing)
        self.learner_ = self._learner_used()
        if self.learner is None or (isinstance(self.learner, Many) and self.learner.learner is None):
            warnings.warn(DEFAULT_REPLACED, DefaultLearnerWarning, stacklevel=levels_to_user())
        model = prepared(self.learner_, self.rounds)
        given = shards_of(data, y, options, positive)
        plan = Plan(model, int(self.rounds), self.mixing, positive, classes)
        engine = self._engine(given)
        self.notes_: list[str] = []
        if options is None or not options.hashes_names:
            shards, plan, note = share_names(engine, given.shards, plan)
            given = given._replace(shards=shards)
            self.notes_ += [] if note is None else [note]
        kept = None
        if self.checkpoint is not None:
            kept = Checkpoint(self.checkpoint, {**_about(plan, given), "content": marks(engine, given.shards)})
        done = None if kept is None else kept.read(self.rounds)

        self.warnings_: list[str] = []

        def look(number: int, now: Turn, ledger: DistributedLedger) -> None:
            if number == 1:
                self.warnings_ = _about_order(now.label_orders, [shard.name for shard in given.shards])
            if kept is not None:
                kept.write(ledger, now.message)
            if onlooker is not None:
                onlooker(number, now)

        message, self.ledger_ = run(engine, given.shards, plan, done, look)
        self.model_ = worker_tasks.received(message)
        self._run = engine, given.shards, plan
        for warning in self.warnings_:
            warnings.warn(warning, SortedLabelsWarning, stacklevel=levels_to_user())
        return self

    def _learner_used(self) -> Any:
        return AROW() if self.learner is None else self.learner

    def __repr__(self) -> str:
        """Show the learner that is used, also where it is the default."""
        if self.learner is not None:
            return super().__repr__()
        return repr(type(self)(**{**self.get_params(), "learner": self._learner_used()}))

    def certify(self, *, confidence: float = 0.95, budget: float = 1.0) -> Certificate:
        """What the theorems say of this run, with witnesses looked for and measured on the shards; `verify` in
        `novikoff.distributed.certificate`, or `novikoff verify` for files, makes it anew."""
        from novikoff.distributed.certificate import certified

        self._fitted()
        engine, shards, plan = self._run
        return certified(engine, shards, plan, self.model_, self.ledger_, confidence=confidence, budget=budget)

    def _engine(self, given: Input) -> Engine:
        client = self.client if self.client is not None else current_client()
        if client is not None:
            return OnDask(client, given.data)
        return InThisProcess(None if given.data is None else computed(given.data))

    def _fitted(self) -> Any:
        if not hasattr(self, "model_"):
            raise not_fitted(type(self).__name__)
        return self.model_

    def predict(self, X: Any) -> Any:
        """The label of each row."""
        return self._fitted().predict(X)

    def decision_function(self, X: Any) -> Any:
        """The scores of each row, as the learner gives them."""
        return self._fitted().decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose label is predicted."""
        return float(self._fitted().score(X, y, sample_weight))

    @property
    def classes_(self) -> Any:
        return self._fitted().classes_


def _about_order(orders: Sequence[LabelOrder | None], names: Sequence[str]) -> list[str]:
    """Return a warning if the shards look sorted by label: one after another, or some of them alone."""
    together, alone = LabelOrder(), list[str]()
    for order, name in zip(orders, names, strict=True):
        if order is not None:
            together.merge(order)
            alone += [order.describe(name)] if order.is_sorted else []
    what = alone[0] + (f" {len(alone) - 1:,} more shards look so." if len(alone) > 1 else "") if alone else ""
    if together.is_sorted and len(names) > 1:
        what = together.describe(f"{names[0]} with {len(names) - 1:,} more shards")
    return [f"{what} Shuffle the examples before they are cut into shards."] if what else []


def _about(plan: Plan, given: Input) -> dict[str, Any]:
    """What a checkpoint must be of."""
    settings = plan.model.plain_settings()
    inner = settings["learner"]["settings"] if "learner" in settings else settings
    inner.pop("passes")  # more rounds of the same run are welcome
    first = given.shards[0]
    return {
        "learner": name_of(type(plan.model)),
        "settings": settings,
        "mixing": plan.mixing,
        "shards": [shard.name for shard in given.shards],
        "reading": ways_of(first.options) if isinstance(first, File) else None,
        "positive": plan.positive,
        "classes": None if plan.classes is None else [str(label) for label in plan.classes],
    }
