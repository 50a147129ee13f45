"""What bagging and random forests have in common: members that learn from bootstrap replicates, and vote."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from novikoff.errors import InputError
from novikoff.base.estimator import (one_of, seeded, truth, whole)
from novikoff.schema import MAX_COUNT, Array, Between, Entries, Schema, Size
from novikoff.ensemble.members import (Ensemble, MemberMemory, Teacher, pooled, said, side_by_side)
from novikoff.ensemble.out_of_bag import (NOT_SHOWN, Bounded, OutOfBag, bounded, counted)
from novikoff.meta.batch_estimator import Shown
from novikoff.ensemble.base import Voters, Voting

COUNTS, MEANS = "out_of_bag.counts", "out_of_bag.means"


class Replicates(Ensemble, Voting):
    """Abstract. Member k learns from m draws, with replacement, from the m examples; its draws depend on seed and k
    alone, so that any number of threads gives the same bytes."""

    combine: Any
    out_of_bag: bool
    seed: int
    n_jobs: int

    @abstractmethod
    def _count(self) -> int:
        """How many there are."""

    def _fewest_members(self) -> int:
        return self._count()

    def _check_all(self) -> None:
        one_of(("vote", "average"), combine=self.combine)
        truth(out_of_bag=self.out_of_bag)
        seeded(seed=self.seed)
        whole(n_jobs=self.n_jobs)

    def fit(self, X: Any, y: Any) -> Self:
        """Forgets what was learned, then draws a replicate for each member and has it learn that."""
        self._check_all()
        data, codes, state = self._met(X, y)
        classes, examples, count = len(state.labels), len(data), self._count()
        teacher = Teacher(self._weak(), data, codes, classes)
        if self.combine == "average" and teacher.tree is None:
            raise InputError(f"combine='average' is for trees, whose leaves have shares; {teacher.learner!r} votes.")
        kind, memory = np.min_scalar_type(classes), MemberMemory()

        def member(k: int) -> tuple[Any, Any, Any]:
            rng = np.random.default_rng([int(self.seed), k])
            seed, chosen = int(rng.integers(2**31)), rng.integers(examples, size=examples)
            made = teacher.sampled(chosen, seed)
            if teacher.tree is not None:
                made = pooled([made], soft=self.soft)
            memory.add(made)
            if not self.out_of_bag:
                return made, None, None
            return made, said(pooled([made]), data)[0].astype(kind), np.bincount(chosen, minlength=examples) > 0

        made = side_by_side(member, count, int(self.n_jobs))
        state.members, state.weights = pooled([m for m, _, _ in made], soft=self.soft), np.ones(count)
        if self.out_of_bag:
            found = counted(np.stack([s for _, s, _ in made]), np.stack([b for _, _, b in made]), codes, classes)
            counts = [found.examples, found.judged, found.errors, found.fewest, found.fewest_of_pair]
            state.more = {COUNTS: np.array(counts, np.int64), MEANS: np.array([found.mean, found.pair_mean])}
        self._state = state
        return self

    def more_schema(self) -> Schema:
        optional, count = not self.out_of_bag, MAX_COUNT
        entries = Entries(
            bag_examples=(0, count),
            judged=(0, Size("bag_examples")),
            wrong=(0, Size("judged")),
            fewest=(0, Size("bag_examples")),
            fewest_of_pair=(0, Size("bag_examples")),
        )
        return Schema(
            {
                COUNTS: Array("int64", 5, checks=[entries], optional=optional),
                MEANS: Array("float64", 2, checks=[Between(0.0, 1.0)], optional=optional),
            }
        )

    @property
    def soft(self) -> bool:  # type: ignore[override]
        return bool(self.combine == "average")

    # --- Predicting ---

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The share of the members' votes for each class."""
        return self.shown_scores(self._votes_of(X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The same; for two classes one number, the share for the second less that for the first."""
        shares = self.predict_proba(X)
        return shares[:, 1] - shares[:, 0] if shares.shape[1] == 2 else shares

    # --- Out of the bag ---

    @property
    def out_of_bag_(self) -> OutOfBag:
        """What the examples out of each member's bag say: `.error` is the out-of-bag estimate."""
        state: Voters = self._learned("out_of_bag_")
        if COUNTS not in state.more:
            raise AttributeError(f"This {type(self).__name__} has learned with out_of_bag=False.")
        examples, judged, errors, fewest, fewest_of_pair = state.more[COUNTS].tolist()
        mean, pair_mean = state.more[MEANS].tolist()
        return OutOfBag(examples, judged, errors, mean, fewest, pair_mean, fewest_of_pair)

    def error_bound(self, confidence: float = 0.95) -> Bounded:
        """What is shown of the error on new data, by the members' errors on what they have not seen; 1 says nothing.

        It bounds the error of the majority vote. That the out-of-bag estimate itself is right is not shown.
        """
        if self.soft:
            raise InputError("There is no theorem for combine='average': the bound is one of the majority vote.")
        return bounded(self.out_of_bag_, confidence)

    def shown(self, confidence: float) -> Shown:
        """The error of the vote on new data, by the members' errors out of their bags."""
        state = self._fitted()
        if COUNTS not in state.more:
            raise InputError(f"This {type(self).__name__} has learned with out_of_bag=False: nothing is shown of it.")
        found = self.out_of_bag_
        observed = {"members": len(state.weights), "classes": len(state.labels), **found._asdict()}
        observed["out_of_bag_error"] = found.error
        if self.soft:
            return Shown(observed, [], None)
        bound = bounded(found, confidence)
        new = {
            "of": "the saved model, the majority vote of its members",
            "assumes": bound.assumes,
            "confidence": confidence,
            "model_error_bound": bound.value,
            "statement": bound.statement,
            "not_shown": NOT_SHOWN,
        }
        return Shown(observed, [], new)

    def describe(self) -> str:
        text = f"{len(self._fitted().weights):,} members vote."
        if self.out_of_bag:
            found = self.out_of_bag_
            text += (
                f" Out-of-bag estimate of the error of this model: {found.errors:,} of {found.judged:,} examples wrong."
            )
        return text
