"""What online bagging and online boosting have in common: members that learn each example now and then, and vote."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.base.estimator import seeded, whole
from novikoff.base.online_classifier import Learner
from novikoff.core.counter_rng import uniform
from novikoff.schema import MAX_COUNT, Array, Between, Schema
from novikoff.data.rows import Rows, cut
from novikoff.theory.bounds import Bound
from novikoff.multiclass.base import Many, takes_columns

BLOCK = 4096  # rows whose draws are made at once


class Resampling(Many):
    """Abstract. The draws for a row depend on the seed, on how many rows came before, and on the member."""

    outcomes = "columns"

    def __init__(self, learner: Learner | None = None, *, members: int = 10, seed: int = 0) -> None:
        self.learner = learner
        self.members = members
        self.seed = seed

    def _check_settings(self) -> None:
        whole(members=self.members)
        seeded(seed=self.seed)

    def _check_learner(self) -> None:
        takes_columns(self, own_time=True)

    def _more_schemas(self, features: int, present: Collection[str]) -> dict[str, Schema]:
        return {**super()._more_schemas(features, present), "more.": Schema(self._more_arrays_schema())}

    def _more_arrays_schema(self) -> dict[str, Array]:
        return {"offered": Array("int64", 1, checks=[Between(0, MAX_COUNT)], optional=True)}

    def _columns_in_file(self, labels: Any) -> int:
        return max(1, len(labels) * int(self.members))

    @abstractmethod
    def _with_luck(self, state: Any, scheme: Any, luck: NDArray[np.float64]) -> Any:
        """The scheme with the draws of some rows."""

    def _take(self, state: Any, rows: Rows, signs: Any, weights: NDArray[np.float64], tidy: bool) -> int:
        offered = state.more.setdefault("offered", np.zeros(1, np.int64))
        for start in range(0, len(signs), BLOCK):
            stop = min(start + BLOCK, len(signs))
            before = int(offered[0])
            luck = uniform(int(self.seed), 0, np.arange(before, before + stop - start), int(self.members))
            scheme = self._with_luck(state, self._make_columns(state), luck)
            part = cut(rows, start, stop)
            taken = self._run(state, scheme, part, signs[start:stop], weights[start:stop], tidy)
            offered[0] += taken
            if taken < stop - start:
                return start + taken
        return len(signs)

    def _spare(self, state: Any) -> int:
        return super()._spare(state) + int(self.members)

    def column_names(self) -> list[str]:
        labels = super().column_names()
        return [f"{label}, member {m + 1}" for label in labels for m in range(int(self.members))]

    def bounds(self) -> Sequence[Bound]:
        """None: what members are allowed is for examples that each of them learns once."""
        return ()
