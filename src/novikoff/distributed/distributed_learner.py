"""DistributedLearner: the learners of this package on shards, round by round."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Self, final

from novikoff.base.estimator import BaseEstimator, check_choice
from novikoff.base.internals import plain_settings_of
from novikoff.certificates.certificate import Certificate
from novikoff.data.formats.base import ReadOptions
from novikoff.data.labels.label_order import LabelOrder
from novikoff.distributed import worker_tasks
from novikoff.distributed.checkpoint import Checkpoint
from novikoff.distributed.compatibility import build_default_learner, prepare_model
from novikoff.distributed.coordinator import Plan, RoundResult, identify_shards, run_rounds
from novikoff.distributed.dask_executor import DaskExecutor, compute_locally, current_client
from novikoff.distributed.executor import Executor, LocalExecutor
from novikoff.distributed.inputs import ShardedInput, make_shards
from novikoff.distributed.ledger import DistributedLedger
from novikoff.distributed.mixture_weights import MIXING_RULES
from novikoff.distributed.shards import FileShard, find_changed_options
from novikoff.distributed.shared_names import share_names
from novikoff.errors import DefaultLearnerWarning, SortedLabelsWarning, build_not_fitted_error, find_user_stacklevel
from novikoff.learner_registry import name_of
from novikoff.multiclass.base import MulticlassClassifier

__all__ = ["DistributedLearner"]

DEFAULT_REPLACED_MESSAGE = (
    "No learner was given: AROW is used, because Auto, the default elsewhere, can't be mixed across shards."
    " Name a learner, such as DistributedLearner(AROW()), to choose."
)


@final
class DistributedLearner(BaseEstimator):
    """Iterative parameter mixing: in each round every shard learns from the same weights w, and w becomes Σ μ_i·w_i.

    The result depends on the shards and their order alone: not on the number of workers, nor on which of them did what,
    nor on how many died. One shard gives the very bytes that the learner gives without a cluster.

    On shards that some u with ‖u‖ = 1 separates by γ, Σ_n Σ_i μ_{i,n}·M_{i,n} ≤ (R/γ)² for the Perceptron (McDonald,
    Hall and Mann 2010); see `certify` for what holds of this very run.

    Parameters
    ----------
    estimator : estimator
        A linear learner, or Kesler, OneVsAll, AllVsAll or OutputCode around one. AROW() if None: the usual default,
        Auto, can't be mixed across shards. `learner_` is the learner that was used.
    rounds : int
        Number of rounds, in each of which all shards are learned and mixed.
    mixing : str
        The mixture weights μ: uniform, mistakes (by the mistakes of a shard) or examples (by its length).
    client : Client
        A Dask client. By default the current client of this process; without one, everything runs in this process.
    checkpoint : str
        A file, or a URL that fsspec supports, written after each round. An interrupted run continues from it. A
        checkpoint of other settings or other data is refused.

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
        estimator: Any = None,
        *,
        rounds: int = 5,
        mixing: str = "uniform",
        client: Any = None,
        checkpoint: str | None = None,
    ) -> None:
        self.estimator = estimator
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
        options: ReadOptions | None = None,
        positive_label: str | None = None,
        on_round: Callable[[int, RoundResult], None] | None = None,
    ) -> Self:
        """Train on all shards, `rounds` times.

        `data` is one of: file names (also patterns like `part-*.svm.gz`), read with `options`; a Dask array or data
        frame with y, whose blocks of rows are the shards; a Dask bag of batches (X, y), whose partitions are the
        shards; a list of batches, delayed or not. `classes` names all labels in advance, which saves reading every
        file first if there are more than two. `positive_label` learns one label against all others. `on_round` is
        called after each round. SortedLabelsWarning, also kept in `warnings_`, is issued if shards seem to be sorted
        by label, and DefaultLearnerWarning if no learner was given.
        """
        check_choice(tuple(MIXING_RULES), mixing=self.mixing)
        self.learner_ = self._learner_used()
        if self.estimator is None or (
            isinstance(self.estimator, MulticlassClassifier) and self.estimator.estimator is None
        ):
            warnings.warn(DEFAULT_REPLACED_MESSAGE, DefaultLearnerWarning, stacklevel=find_user_stacklevel())
        model = prepare_model(self.learner_, self.rounds)
        given = make_shards(data, y, options, positive_label)
        plan = Plan(model, int(self.rounds), self.mixing, positive_label, classes)
        executor = self._make_executor(given)
        self.notes_: list[str] = []
        if options is None or not options.hashes_names:
            shards, plan, note = share_names(executor, given.shards, plan)
            given = given._replace(shards=shards)
            self.notes_ += [] if note is None else [note]
        saved_run = None
        if self.checkpoint is not None:
            saved_run = Checkpoint(
                self.checkpoint, {**_describe_run(plan, given), "content": identify_shards(executor, given.shards)}
            )
        done = None if saved_run is None else saved_run.read(self.rounds)

        self.warnings_: list[str] = []

        def look(number: int, now: RoundResult, ledger: DistributedLedger) -> None:
            if number == 1:
                self.warnings_ = _sorted_label_warnings(now.label_orders, [shard.name for shard in given.shards])
            if saved_run is not None:
                saved_run.write(ledger, now.message)
            if on_round is not None:
                on_round(number, now)

        message, self.ledger_ = run_rounds(executor, given.shards, plan, done, look)
        self.model_ = worker_tasks.deserialize_model(message)
        self._run = executor, given.shards, plan
        for warning in self.warnings_:
            warnings.warn(warning, SortedLabelsWarning, stacklevel=find_user_stacklevel())
        return self

    def _learner_used(self) -> Any:
        return build_default_learner() if self.estimator is None else self.estimator

    def __repr__(self) -> str:
        """Show the learner that is used, also where it is the default."""
        if self.estimator is not None:
            return super().__repr__()
        return repr(type(self)(**{**self.get_params(), "estimator": self._learner_used()}))

    def certify(self, *, delta: float = 0.05, search_effort: float = 1.0) -> Certificate:
        """Return the certificate of this run, with witnesses that are searched for and measured on the shards.

        `verify` in `novikoff.distributed.certificate`, or `novikoff verify` for files, verifies it.
        """
        from novikoff.distributed.certificate import build_certificate

        self._require_fitted()
        executor, shards, plan = self._run
        return build_certificate(
            executor, shards, plan, self.model_, self.ledger_, delta=delta, search_effort=search_effort
        )

    def _make_executor(self, given: ShardedInput) -> Executor:
        client = self.client if self.client is not None else current_client()
        if client is not None:
            return DaskExecutor(client, given.data)
        return LocalExecutor(None if given.data is None else compute_locally(given.data))

    def _require_fitted(self) -> Any:
        if not hasattr(self, "model_"):
            raise build_not_fitted_error(type(self).__name__)
        return self.model_

    def predict(self, X: Any) -> Any:
        """Return the predicted label of each row."""
        return self._require_fitted().predict(X)

    def decision_function(self, X: Any) -> Any:
        """Return the scores of each row, as defined by the learner."""
        return self._require_fitted().decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy."""
        return float(self._require_fitted().score(X, y, sample_weight))

    @property
    def classes_(self) -> Any:
        return self._require_fitted().classes_


def _sorted_label_warnings(orders: Sequence[LabelOrder | None], names: Sequence[str]) -> list[str]:
    """Return a warning if the shards seem to be sorted by label, as a sequence or some of them individually."""
    together, alone = LabelOrder(), list[str]()
    for order, name in zip(orders, names, strict=True):
        if order is not None:
            together.merge(order)
            alone += [order.describe(name)] if order.is_sorted else []
    what = alone[0] + (f" {len(alone) - 1:,} more shards look so." if len(alone) > 1 else "") if alone else ""
    if together.is_sorted and len(names) > 1:
        what = together.describe(f"{names[0]} with {len(names) - 1:,} more shards")
    return [f"{what} Shuffle the examples before they are cut into shards."] if what else []


def _describe_run(plan: Plan, given: ShardedInput) -> dict[str, Any]:
    """Return the description of a run, which must match that of its checkpoint."""
    settings = plain_settings_of(plan.model)
    inner = settings["estimator"]["settings"] if "estimator" in settings else settings
    inner.pop("passes")  # more rounds of the same run are welcome
    first = given.shards[0]
    return {
        "learner": name_of(type(plan.model)),
        "settings": settings,
        "mixing": plan.mixing,
        "shards": [shard.name for shard in given.shards],
        "reading": find_changed_options(first.options) if isinstance(first, FileShard) else None,
        "positive": plan.positive,
        "classes": None if plan.classes is None else [str(label) for label in plan.classes],
    }
