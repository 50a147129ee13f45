"""Members of ensembles: any learner of this package or of scikit-learn, fitted once for each member."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Lock
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from novikoff.base import internals
from novikoff.base.estimator import BaseEstimator
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.base.scikit_learn.metadata_routing import copy_requests
from novikoff.core.trees import Trees, class_votes, concatenate_trees, member_predictions
from novikoff.data import validation
from novikoff.data.canonical_rows import compact_rows
from novikoff.data.rows import Dense, Rows, Sparse, count_rows
from novikoff.ensemble import sklearn_trees
from novikoff.errors import SPARSE_MATRIX_PURPOSE, InputError, import_optional
from novikoff.learner_registry import name_of
from novikoff.memory_limit import Growth, check_size, count_bytes
from novikoff.meta.base import parse_inner_settings
from novikoff.meta.batch_estimator import BatchEstimator

SKLEARN_PREFIX = "sklearn."
PLAIN_TYPES = (bool, int, float, str, type(None))


class TrainingData(NamedTuple):
    """Validated examples, in the forms for compiled code and for estimators."""

    rows: Rows
    matrix: Any
    features: int

    def __len__(self) -> int:
        return count_rows(self.rows)


def prepare_data(batch: validation.ValidatedBatch, features: int) -> TrainingData:
    """Return validated examples; raise InputError if a number is not finite."""
    rows = compact_rows(batch.rows, features)
    good = count_rows(rows)
    bad = np.flatnonzero(~np.isfinite(rows.values[: _count_values(rows)]))
    if bad.size:
        good = int(np.searchsorted(rows.starts, bad[0], side="right") - 1 if isinstance(rows, Sparse)
                   else bad[0] // rows.width)  # fmt: skip
    if good < batch.examples:
        raise InputError(validation.explain_rejection(batch.rows, good, features))
    return TrainingData(rows, to_matrix(rows, features), features)


def _count_values(rows: Rows) -> int:
    return int(rows.starts[-1]) if isinstance(rows, Sparse) else len(rows.values)


def to_matrix(rows: Rows, features: int) -> Any:
    if isinstance(rows, Dense):
        return rows.values.reshape(-1, rows.width)
    csr_matrix = import_optional("scipy.sparse", "scipy", SPARSE_MATRIX_PURPOSE).csr_matrix
    start, end = int(rows.starts[0]), _count_values(rows)
    parts = rows.values[start:end], rows.indices[start:end].astype(np.int64), rows.starts - start
    return csr_matrix(parts, (count_rows(rows), features))


# --- One member ---


class MemberTrainer:
    """Trains members of one kind on the same examples; calls are independent of each other."""

    def __init__(self, learner: Any, data: TrainingData, codes: NDArray[np.int64], classes: int) -> None:
        self.learner, self.data, self.codes, self.classes = learner, data, codes, classes
        template = learner._template() if hasattr(learner, "_template") else learner
        self.tree = template if sklearn_trees.is_sklearn_tree(template) else None
        if self.tree is not None:
            self.table = sklearn_trees.prepare_tree_input(data.matrix)
        elif not (hasattr(learner, "fit") and hasattr(learner, "predict")):
            raise InputError(f"estimator must have fit and predict, but {learner!r} does not.")
        elif (
            classes > 2
            and isinstance(learner, OnlineClassifier)
            and internals.needs_two_classes(learner)
            and not internals.is_multiclass(learner)
        ):
            raise InputError(
                f"{learner!r} is binary, but the data has {classes} classes: wrap it in a scheme, such as"
                f" Kesler({learner!r})."
            )

    @property
    def takes_weights(self) -> bool:
        return "sample_weight" in inspect.signature(self.learner.fit).parameters or self.tree is not None

    def weighted(self, weights: NDArray[np.float64], seed: int) -> Any:
        """Return a member that has learned all examples with these weights."""
        if self.tree is not None:
            return sklearn_trees.grow_tree(self.tree, self.table, self.codes, self.classes, weights, seed)
        return self._fit_member(self.data.matrix, self.codes, weights, seed)

    def sampled(self, chosen: NDArray[np.int64], seed: int) -> Any:
        """Return a member that has learned these examples, in this order; examples may be repeated."""
        if self.tree is not None:  # trees do not depend on the order
            return self.weighted(np.bincount(chosen, minlength=len(self.codes)).astype(np.float64), seed)
        return self._fit_member(self.data.matrix[chosen], self.codes[chosen], None, seed)

    def _fit_member(self, matrix: Any, codes: NDArray[np.int64], weights: Any, seed: int) -> Any:
        member = clone_learner(self.learner)
        more = {} if weights is None else {"sample_weight": weights}
        if isinstance(member, BaseEstimator) and not isinstance(member, BatchEstimator):
            # A sample may lack some classes.
            internals.fit_rows(member, matrix, codes, weights, classes=np.arange(self.classes))
            return member
        if not isinstance(member, BaseEstimator):
            _set_seed(member, seed)
            present = codes if weights is None else codes[weights > 0.0]
            if (present == present[0]).all():  # many estimators refuse to learn a single class
                member = import_optional("sklearn.dummy", "sklearn", "An estimator of scikit-learn").DummyClassifier(
                    strategy="most_frequent"
                )
        return member.fit(matrix, codes, **more)


def clone_learner(learner: Any) -> Any:
    """Return an unfitted learner with the same settings."""
    if isinstance(learner, BaseEstimator):
        make = getattr(learner, "__sklearn_clone__", None)
        return type(learner)(**learner.get_params(deep=False)) if make is None else make()
    return import_optional("sklearn.base", "sklearn", "An estimator of scikit-learn").clone(learner)


def _set_seed(member: Any, seed: int) -> None:
    params = member.get_params() if hasattr(member, "get_params") else {}
    if "random_state" in params and params["random_state"] is None:
        member.set_params(random_state=seed % sklearn_trees.MAX_SEED)


def run_parallel(make: Callable[[int], Any], count: int, jobs: int) -> list[Any]:
    """Return make(0), make(1), … of `count` calls in `jobs` threads. Calls run in the caller's context, with its memory
    limit."""
    if jobs == 1 or count < 2:
        return [make(k) for k in range(count)]
    context = copy_context()
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda k: context.copy().run(make, k), range(count)))


# --- Memory ---


def estimate_member_bytes(learner: Any, kind: Any, features: int, classes: int) -> int:
    """Return the memory of an unfitted member; 0 for trees, which grow with the examples, and for estimators of other
    packages."""
    if not isinstance(learner, OnlineClassifier):
        return 0
    member = clone_learner(learner)
    state = internals.build_state(member, 1, kind, None, internals.build_empty_labels(member))
    labels = (
        () if internals.needs_two_classes(member) and not internals.is_multiclass(member) else tuple(range(classes))
    )
    return internals.estimate_state_bytes(member, state, Growth(features, labels))


class MemberMemory:
    """The memory of all members so far, checked against the limit as each is added."""

    def __init__(self) -> None:
        self.members, self.bytes, self.lock = 0, 0, Lock()

    def add(self, member: Any) -> None:
        """Add a member; raise ModelTooLarge if all members together exceed the limit."""
        with self.lock:
            self.members += 1
            self.bytes += _measure_member(member)
            check_size(self.bytes, f"{self.members:,} members", "Use fewer or smaller ones")


def _measure_member(member: Any) -> int:
    if isinstance(member, Trees):
        return count_bytes(tuple(member))
    return internals.require_state(member).bytes_used() if isinstance(member, OnlineClassifier) else 0


# --- All members ---


def merge_members(members: list[Any], *, soft: bool = False) -> Any:
    """Return the trees merged into one set of arrays, other members unchanged. Shares are dropped if trees don't vote
    in shares."""
    if not members or not all(isinstance(m, Trees) for m in members):
        return tuple(members)
    trees = concatenate_trees(members)
    return trees if soft else trees._replace(shares=trees.shares[:0].copy())


def predict_codes(members: Any, data: TrainingData) -> NDArray[np.int32]:
    """Return the class number that each member predicts for each example: a row for each member."""
    if isinstance(members, Trees):
        return member_predictions(members, data.rows, data.features)
    out = np.zeros((len(members), len(data)), np.int32)
    for k, member in enumerate(members):
        out[k] = member.predict(data.matrix)
    return out


def count_votes(
    members: Any, weights: NDArray[np.float64], data: TrainingData, classes: int, *, soft: bool
) -> NDArray[np.float64]:
    """Return the votes for each class: a row for each example."""
    if isinstance(members, Trees):
        return class_votes(members, weights, data.rows, data.features, soft=soft)
    out = np.zeros((len(data), classes))
    every = np.arange(len(data))
    for weight, member in zip(weights.tolist(), members, strict=True):
        out[every, member.predict(data.matrix)] += weight
    return out


# --- Settings ---


class Ensemble(BaseEstimator):
    """Abstract base of ensembles: their settings, including those of the members' learner."""

    estimator: Any

    def _plain_settings(self) -> dict[str, Any]:
        """Return the settings without n_jobs, which does not change the model."""
        mine = {name: value for name, value in super()._plain_settings().items() if name != "n_jobs"}
        return {**mine, "estimator": self._plain_learner()} if "estimator" in mine else mine

    def _plain_learner(self) -> Any:
        learner = self.estimator
        if learner is None:
            return None
        if isinstance(learner, BaseEstimator):
            return {"name": name_of(type(learner)), "settings": internals.plain_settings_of(learner)}
        settings = learner.get_params() if sklearn_trees.is_sklearn_tree(learner) else {"": object()}
        if not all(isinstance(value, PLAIN_TYPES) for value in settings.values()):
            raise InputError(
                f"{type(self).__name__} of {learner!r} can't be written to a file: it must be made of learners of this"
                " package or of scikit-learn's decision trees with plain settings."
            )
        return {"name": SKLEARN_PREFIX + type(learner).__name__, "settings": settings}

    @classmethod
    def _from_settings(cls, settings: dict[str, Any]) -> Any:
        inner = settings.get("estimator")
        return cls(**settings) if inner is None else cls(**{**settings, "estimator": _build_learner(inner)})

    def __sklearn_clone__(self) -> Self:
        mine = self.get_params(deep=False)
        if mine.get("estimator") is not None:
            mine["estimator"] = clone_learner(mine["estimator"])
        return copy_requests(self, type(self)(**mine))


def _build_learner(inner: dict[str, Any]) -> Any:
    from novikoff.scheme_registry import model_class

    name, settings = parse_inner_settings(inner)
    if name.startswith(SKLEARN_PREFIX) and name.removeprefix(SKLEARN_PREFIX) in sklearn_trees.SKLEARN_TREES:
        tree = import_optional("sklearn.tree", "sklearn", "A decision tree")
        return getattr(tree, name.removeprefix(SKLEARN_PREFIX))(**settings)
    kind = model_class(name)
    if kind is None:
        raise InputError(f"There is no learner {name!r} for members.")
    return internals.build_from_settings(kind, settings)
