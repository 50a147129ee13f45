"""What ensembles are made of: any learner of this package or of scikit-learn, taught once for each member."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Lock
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from novikoff.errors import SPARSE, InputError, needed
from novikoff.learner_registry import name_of
from novikoff.base.estimator import Estimator
from novikoff.base.online_classifier import Learner
from novikoff.memory_limit import Growth, check_size, count_bytes
from novikoff.core.trees import (Trees, codes_of, joined, votes_of)
from novikoff.data import validation
from novikoff.data.rows import (Dense, Rows, Sparse, how_many)
from novikoff.data.canonical_rows import packed
from novikoff.ensemble import sklearn_trees
from novikoff.meta.base import inner_settings

FOREIGN = "sklearn."
PLAIN = (bool, int, float, str, type(None))


class Data(NamedTuple):
    """Examples that have passed the door, as compiled code and as estimators take them."""

    rows: Rows
    matrix: Any
    features: int

    def __len__(self) -> int:
        return how_many(self.rows)


def gathered(batch: validation.Batch, features: int) -> Data:
    """InputError where a number is not finite."""
    rows = packed(batch.rows, features)
    good = how_many(rows)
    bad = np.flatnonzero(~np.isfinite(rows.values[: _end(rows)]))
    if bad.size:
        good = int(np.searchsorted(rows.starts, bad[0], side="right") - 1 if isinstance(rows, Sparse)
                   else bad[0] // rows.width)  # fmt: skip
    if good < batch.examples:
        raise InputError(validation.why_refused(batch.rows, good, features))
    return Data(rows, matrix_of(rows, features), features)


def _end(rows: Rows) -> int:
    return int(rows.starts[-1]) if isinstance(rows, Sparse) else len(rows.values)


def matrix_of(rows: Rows, features: int) -> Any:
    if isinstance(rows, Dense):
        return rows.values.reshape(-1, rows.width)
    csr_matrix = needed("scipy.sparse", "scipy", SPARSE).csr_matrix
    start, end = int(rows.starts[0]), _end(rows)
    parts = rows.values[start:end], rows.indices[start:end].astype(np.int64), rows.starts - start
    return csr_matrix(parts, (how_many(rows), features))


# --- One member ---


class Teacher:
    """Makes members of one kind on the same examples; each call is independent of all others."""

    def __init__(self, learner: Any, data: Data, codes: NDArray[np.int64], classes: int) -> None:
        self.learner, self.data, self.codes, self.classes = learner, data, codes, classes
        template = learner.template() if hasattr(learner, "template") else learner
        self.tree = template if sklearn_trees.is_foreign_tree(template) else None
        if self.tree is not None:
            self.table = sklearn_trees.for_growing(data.matrix)
        elif not (hasattr(learner, "fit") and hasattr(learner, "predict")):
            raise InputError(f"learner must have fit and predict, but {learner!r} has not.")
        elif classes > 2 and isinstance(learner, Learner) and learner.two_classes and not learner.takes_classes:
            raise InputError(
                f"{learner!r} tells two labels apart, but {classes} came: put it into a scheme, such as"
                f" Kesler({learner!r})."
            )

    @property
    def takes_weights(self) -> bool:
        return "sample_weight" in inspect.signature(self.learner.fit).parameters or self.tree is not None

    def weighted(self, weights: NDArray[np.float64], seed: int) -> Any:
        """One that has learned all examples, each with its weight."""
        if self.tree is not None:
            return sklearn_trees.grown(self.tree, self.table, self.codes, self.classes, weights, seed)
        return self._taught(self.data.matrix, self.codes, weights, seed)

    def sampled(self, chosen: NDArray[np.int64], seed: int) -> Any:
        """One that has learned these examples, in this order; the same one may come several times."""
        if self.tree is not None:  # what trees learn does not depend on the order
            return self.weighted(np.bincount(chosen, minlength=len(self.codes)).astype(np.float64), seed)
        return self._taught(self.data.matrix[chosen], self.codes[chosen], None, seed)

    def _taught(self, matrix: Any, codes: NDArray[np.int64], weights: Any, seed: int) -> Any:
        member = fresh(self.learner)
        more = {} if weights is None else {"sample_weight": weights}
        if hasattr(member, "fit_rows"):
            # A sample need not have examples of all classes.
            member.fit_rows(matrix, codes, weights, classes=np.arange(self.classes))
            return member
        if not isinstance(member, Estimator):
            _give_seed(member, seed)
            present = codes if weights is None else codes[weights > 0.0]
            if (present == present[0]).all():  # many estimators refuse to learn a single class
                member = needed("sklearn.dummy", "sklearn", "An estimator of scikit-learn").DummyClassifier(
                    strategy="most_frequent"
                )
        return member.fit(matrix, codes, **more)


def fresh(learner: Any) -> Any:
    """The same settings, nothing learned."""
    if isinstance(learner, Estimator):
        make = getattr(learner, "__sklearn_clone__", None)
        return type(learner)(**learner.get_params(deep=False)) if make is None else make()
    return needed("sklearn.base", "sklearn", "An estimator of scikit-learn").clone(learner)


def _give_seed(member: Any, seed: int) -> None:
    params = member.get_params() if hasattr(member, "get_params") else {}
    if "random_state" in params and params["random_state"] is None:
        member.set_params(random_state=seed % sklearn_trees.SEEDS)


def side_by_side(make: Callable[[int], Any], count: int, jobs: int) -> list[Any]:
    """Return make(0), make(1), … of `count` calls in `jobs` threads. Each call has the caller's context, and so its
    memory limit."""
    if jobs == 1 or count < 2:
        return [make(k) for k in range(count)]
    context = copy_context()
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda k: context.copy().run(make, k), range(count)))


# --- Memory ---


def member_bytes(learner: Any, kind: Any, features: int, classes: int) -> int:
    """Return the memory that a member of this kind needs before it has learned anything; 0 for trees, which grow with
    the examples, and for estimators of other packages."""
    if not isinstance(learner, Learner):
        return 0
    member = fresh(learner)
    state = member.fresh_state(1, kind, None, member._no_labels())
    labels = () if member.two_classes and not member.takes_classes else tuple(range(classes))
    return member._bytes_needed(state, Growth(features, labels))


class MemberMemory:
    """The memory of all members so far, checked against the limit as each is added."""

    def __init__(self) -> None:
        self.members, self.bytes, self.lock = 0, 0, Lock()

    def add(self, member: Any) -> None:
        """Raise ModelTooLarge where the members are too large together."""
        with self.lock:
            self.members += 1
            self.bytes += _size_of(member)
            check_size(self.bytes, f"{self.members:,} members", "Use fewer or smaller ones")


def _size_of(member: Any) -> int:
    if isinstance(member, Trees):
        return count_bytes(tuple(member))
    return member._fitted().bytes_used() if isinstance(member, Learner) else 0


# --- All members ---


def pooled(members: list[Any], *, soft: bool = False) -> Any:
    """Trees as one, others as they are. Where trees don't vote in shares, these are left out."""
    if not members or not all(isinstance(m, Trees) for m in members):
        return tuple(members)
    trees = joined(members)
    return trees if soft else trees._replace(shares=trees.shares[:0].copy())


def said(members: Any, data: Data) -> NDArray[np.int32]:
    """The number of the class that each member says of each example: a row for each member."""
    if isinstance(members, Trees):
        return codes_of(members, data.rows, data.features)
    out = np.zeros((len(members), len(data)), np.int32)
    for k, member in enumerate(members):
        out[k] = member.predict(data.matrix)
    return out


def votes(members: Any, weights: NDArray[np.float64], data: Data, classes: int, *, soft: bool) -> NDArray[np.float64]:
    """What speaks for each class: a row for each example."""
    if isinstance(members, Trees):
        return votes_of(members, weights, data.rows, data.features, soft=soft)
    out = np.zeros((len(data), classes))
    every = np.arange(len(data))
    for weight, member in zip(weights.tolist(), members, strict=True):
        out[every, member.predict(data.matrix)] += weight
    return out


# --- Settings ---


class Ensemble(Estimator):
    """Settings of an ensemble: its own, and those of the learner that its members are. Abstract."""

    learner: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        params = super().get_params(deep)
        if deep and hasattr(self.learner, "get_params"):
            params |= {f"learner__{name}": value for name, value in self.learner.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        inside = {name.removeprefix("learner__"): params.pop(name) for name in list(params) if "__" in name}
        super().set_params(**params)
        if inside:
            if not hasattr(self.learner, "set_params"):
                raise InputError(f"learner has no settings {sorted(inside)}: it is {self.learner!r}.")
            self.learner.set_params(**inside)
        return self

    def plain_settings(self) -> dict[str, Any]:
        """Without n_jobs, which changes nothing of what is learned."""
        mine = {name: value for name, value in super().plain_settings().items() if name != "n_jobs"}
        return {**mine, "learner": self._plain_learner()} if "learner" in mine else mine

    def _plain_learner(self) -> Any:
        learner = self.learner
        if learner is None:
            return None
        if isinstance(learner, Estimator):
            return {"name": name_of(type(learner)), "settings": learner.plain_settings()}
        settings = learner.get_params() if sklearn_trees.is_foreign_tree(learner) else {"": object()}
        if not all(isinstance(value, PLAIN) for value in settings.values()):
            raise InputError(
                f"{type(self).__name__} of {learner!r} can't be written to a file: it must be made of learners of this"
                " package or of scikit-learn's decision trees with plain settings."
            )
        return {"name": FOREIGN + type(learner).__name__, "settings": settings}

    @classmethod
    def from_settings(cls, settings: dict[str, Any]) -> Any:
        inner = settings.get("learner")
        return cls(**settings) if inner is None else cls(**{**settings, "learner": _learner_from(inner)})

    def __sklearn_clone__(self) -> Self:
        mine = super().get_params(deep=False)
        if mine.get("learner") is not None:
            mine["learner"] = fresh(mine["learner"])
        return type(self)(**mine)


def _learner_from(inner: dict[str, Any]) -> Any:
    from novikoff.scheme_registry import model_class

    name, settings = inner_settings(inner)
    if name.startswith(FOREIGN) and name.removeprefix(FOREIGN) in sklearn_trees.GROWN:
        tree = needed("sklearn.tree", "sklearn", "A decision tree")
        return getattr(tree, name.removeprefix(FOREIGN))(**settings)
    kind = model_class(name)
    if kind is None:
        raise InputError(f"There is no learner {name!r} that members could be.")
    return kind.from_settings(settings)
