"""Base class of online bagging and online boosting: members that learn each example a random number of times,
and vote."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.base.estimator import check_positive_int, check_seed
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.core.counter_rng import uniform
from novikoff.data.rows import Rows, slice_rows
from novikoff.meta.base import MetaEstimator
from novikoff.multiclass.base import MulticlassClassifier, check_column_learner
from novikoff.schema import MAX_COUNT, ArraySpec, InRange, Schema
from novikoff.theory.bound_declaration import Bound

BLOCK_ROWS = 4096  # rows whose draws are computed at once


class OnlineEnsemble(MetaEstimator):
    """An abstract scheme whose members learn each example a random number of times; precedes `MulticlassClassifier`.

    The draws for a row depend on the seed, the number of earlier rows, and the member.
    """

    _outcome_type = "columns"

    def __init__(
        self, estimator: OnlineClassifier | None = None, *, n_estimators: int = 10, random_state: int = 0
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.random_state = random_state

    def _check_settings(self) -> None:
        check_positive_int(n_estimators=self.n_estimators)
        check_seed(random_state=self.random_state)

    def _check_learner(self: Any) -> None:
        check_column_learner(self, own_time=True)

    def _extra_schemas(self: Any, features: int, present: Collection[str]) -> dict[str, Schema]:
        schemas = MulticlassClassifier._extra_schemas(self, features, present)
        return {**schemas, "more.": Schema(self._extra_arrays_schema())}

    def _extra_arrays_schema(self) -> dict[str, ArraySpec]:
        return {"offered": ArraySpec("int64", 1, checks=[InRange(0, MAX_COUNT)], optional=True)}

    def _columns_in_file(self, labels: Any) -> int:
        return max(1, len(labels) * int(self.n_estimators))

    @abstractmethod
    def _with_uniforms(self, state: Any, scheme: Any, uniforms: NDArray[np.float64]) -> Any:
        """Return the scheme with uniform random numbers for the draws of some rows."""

    def _run_loop(self: Any, state: Any, rows: Rows, signs: Any, weights: NDArray[np.float64], canonical: bool) -> int:
        offered = state.more.setdefault("offered", np.zeros(1, np.int64))
        for start in range(0, len(signs), BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, len(signs))
            before = int(offered[0])
            counters, members = np.arange(before, before + stop - start), int(self.n_estimators)
            uniforms = uniform(int(self.random_state), 0, counters, members)
            scheme = self._with_uniforms(state, self._ensure_columns(state), uniforms)
            part = slice_rows(rows, start, stop)
            taken = self._run(state, scheme, part, signs[start:stop], weights[start:stop], canonical)
            offered[0] += taken
            if taken < stop - start:
                return start + taken
        return len(signs)

    def _scratch_size(self: Any, state: Any) -> int:
        return MulticlassClassifier._scratch_size(self, state) + int(self.n_estimators)

    def _column_names(self: Any) -> list[str]:
        labels = MulticlassClassifier._column_names(self)
        return [f"{label}, member {m + 1}" for label in labels for m in range(int(self.n_estimators))]

    def bounds(self) -> Sequence[Bound]:
        """Return no bounds: those of the members hold only if each example is learned once."""
        return ()
