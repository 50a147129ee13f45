"""What bagging and random forests have in common: members that learn from bootstrap replicates, and vote."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.base.estimator import check_bool, check_choice, check_positive_int, check_seed
from novikoff.ensemble import out_of_bag
from novikoff.ensemble.base import VotingState
from novikoff.ensemble.members import Ensemble, MemberMemory, MemberTrainer, merge_members, predict_codes, run_parallel
from novikoff.errors import InputError
from novikoff.meta.batch_estimator import BatchGuarantee
from novikoff.schema import MAX_COUNT, ArraySpec, Entries, InRange, NamedSize, Schema

OUT_OF_BAG_COUNTS, OUT_OF_BAG_MEANS = "out_of_bag.counts", "out_of_bag.means"


class BootstrapEnsemble(Ensemble):
    """An ensemble whose member k learns from m draws, with replacement, from the m examples; precedes `VotingEnsemble`.

    The draws depend on random_state and k alone, so any number of threads gives the same bytes. Abstract.
    """

    voting: Any
    oob_score: bool
    random_state: int
    n_jobs: int

    @abstractmethod
    def _count(self) -> int:
        """How many there are."""

    def _min_members(self) -> int:
        return self._count()

    def _check_all(self) -> None:
        check_choice(("hard", "soft"), voting=self.voting)
        check_bool(oob_score=self.oob_score)
        check_seed(random_state=self.random_state)
        check_positive_int(n_jobs=self.n_jobs)

    def fit(self: Any, X: Any, y: Any) -> Any:
        """Forget what was learned, then train each member on a bootstrap replicate of its own."""
        self._check_all()
        data, codes, state = self._prepare_training(X, y)
        classes, examples, count = len(state.labels), len(data), self._count()
        teacher = MemberTrainer(self._base_learner(), data, codes, classes)
        if self.voting == "soft" and teacher.tree is None:
            raise InputError(f"voting='soft' is for trees, whose leaves have shares; {teacher.learner!r} votes.")
        dtype, memory = np.min_scalar_type(classes), MemberMemory()

        def member(k: int) -> tuple[Any, Any, Any]:
            rng = np.random.default_rng([int(self.random_state), k])
            seed, chosen = int(rng.integers(2**31)), rng.integers(examples, size=examples)
            made = teacher.sampled(chosen, seed)
            if teacher.tree is not None:
                made = merge_members([made], soft=self._has_soft_votes)
            memory.add(made)
            if not self.oob_score:
                return made, None, None
            return (
                made,
                predict_codes(merge_members([made]), data)[0].astype(dtype),
                np.bincount(chosen, minlength=examples) > 0,
            )

        made = run_parallel(member, count, int(self.n_jobs))
        state.members, state.weights = merge_members([m for m, _, _ in made], soft=self._has_soft_votes), np.ones(count)
        if self.oob_score:
            found = out_of_bag.count_out_of_bag(
                np.stack([s for _, s, _ in made]), np.stack([b for _, _, b in made]), codes, classes
            )
            counts = [found.examples, found.judged, found.errors, found.fewest, found.fewest_of_pair]
            state.more = {
                OUT_OF_BAG_COUNTS: np.array(counts, np.int64),
                OUT_OF_BAG_MEANS: np.array([found.mean, found.pair_mean]),
            }
        self._state = state
        return self

    def _extra_schema(self) -> Schema:
        optional, count = not self.oob_score, MAX_COUNT
        entries = Entries(
            bag_examples=(0, count),
            judged=(0, NamedSize("bag_examples")),
            wrong=(0, NamedSize("judged")),
            fewest=(0, NamedSize("bag_examples")),
            fewest_of_pair=(0, NamedSize("bag_examples")),
        )
        return Schema(
            {
                OUT_OF_BAG_COUNTS: ArraySpec("int64", 5, checks=[entries], optional=optional),
                OUT_OF_BAG_MEANS: ArraySpec("float64", 2, checks=[InRange(0.0, 1.0)], optional=optional),
            }
        )

    _has_soft_votes: Any = property(lambda ensemble: bool(ensemble.voting == "soft"))

    # --- Predicting ---

    def predict_proba(self: Any, X: Any) -> NDArray[np.float64]:
        """Return the share of the members' votes for each class."""
        shares: NDArray[np.float64] = self._display_scores(self._compute_votes(X))
        return shares

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The same; for two classes one number, the share for the second less that for the first."""
        shares = self.predict_proba(X)
        return shares[:, 1] - shares[:, 0] if shares.shape[1] == 2 else shares

    # --- Out of the bag ---

    @property
    def out_of_bag_(self) -> out_of_bag.OutOfBagStatistics:
        """What the examples out of each member's bag say: `.error` is the out-of-bag estimate."""
        state: VotingState = self._require_attribute("out_of_bag_")
        if OUT_OF_BAG_COUNTS not in state.more:
            raise AttributeError(f"This {type(self).__name__} has learned with oob_score=False.")
        examples, judged, errors, fewest, fewest_of_pair = state.more[OUT_OF_BAG_COUNTS].tolist()
        mean, pair_mean = state.more[OUT_OF_BAG_MEANS].tolist()
        return out_of_bag.OutOfBagStatistics(examples, judged, errors, mean, fewest, pair_mean, fewest_of_pair)

    def error_bound(self, *, delta: float = 0.05) -> out_of_bag.VoteErrorBound:
        """What is shown of the error on new data, by the members' errors on what they have not seen; 1 says nothing.

        It bounds the error of the majority vote. That the out-of-bag estimate itself is right is not shown.
        """
        if self._has_soft_votes:
            raise InputError("There is no theorem for voting='soft': the bound is one of the majority vote.")
        return out_of_bag.bound_vote_error(self.out_of_bag_, delta)

    def _build_guarantee(self: Any, delta: float) -> BatchGuarantee:
        """The error of the vote on new data, by the members' errors out of their bags."""
        state = self._require_fitted()
        if OUT_OF_BAG_COUNTS not in state.more:
            raise InputError(f"This {type(self).__name__} has learned with oob_score=False: nothing is shown of it.")
        found = self.out_of_bag_
        observed = {"n_estimators": len(state.weights), "classes": len(state.labels), **found._asdict()}
        observed["out_of_bag_error"] = found.error
        if self._has_soft_votes:
            return BatchGuarantee(observed, [], None)
        bound = out_of_bag.bound_vote_error(found, delta)
        new = {
            "of": "the saved model, the majority vote of its members",
            "assumes": bound.assumes,
            "delta": delta,
            "model_error_bound": bound.value,
            "statement": bound.statement,
            "not_shown": out_of_bag.UNPROVEN_NOTE,
        }
        return BatchGuarantee(observed, [], new)

    def describe(self) -> str:
        text = f"{len(self._require_fitted().weights):,} members vote."
        if self.oob_score:
            found = self.out_of_bag_
            text += (
                f" Out-of-bag estimate of the error of this model: {found.errors:,} of {found.judged:,} examples wrong."
            )
        return text
