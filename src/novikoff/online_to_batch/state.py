"""The state of `OnlineToBatch`, and its arrays in a model file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.base.model_state import NO_GROWTH, ModelState, bytes_per_slot, fixed_bytes
from novikoff.core.hypothesis_log import N_TERMS, HypothesisLog
from novikoff.core.learning_run import CurrentHypothesis, copy_updater
from novikoff.core.updaters.base import resize_updater, state_arrays
from novikoff.memory_limit import Growth, check_size
from novikoff.schema import (
    EXAMPLES,
    MAX_COUNT,
    ArraySpec,
    Constraint,
    Entries,
    FreeSize,
    Increasing,
    InRange,
    NamedSize,
    Schema,
)

# The entries of OnlineToBatchState.counts.
STOP_REASON, CHOSEN, NEXT_DRAW, DRAWS, LATER_EXAMPLES, LATER_MISTAKES = 0, 1, 2, 3, 4, 5
# The values of STOP_REASON.
NOT_STOPPED, TEST_PASSED, ALL_CHANGES_MADE = 0, 1, 2
NEVER = 2**62
"""A time that is never reached."""
FIRST_HYPOTHESIS = CurrentHypothesis(number=0, run_length=0, target=1)


def choice_schema(method: str, *, most_changes: int, max_hypotheses: int) -> Schema:
    """Return the schema of the choice by this method in a model file; `most_changes` is 0 but for next-stretch."""
    drawn = method == "random-stopping"
    penalised = method == "penalised"
    arrays = {
        "stretch": ArraySpec(
            "int64",
            4,
            checks=[
                Entries(
                    stretch_number=(0, most_changes or MAX_COUNT),
                    stretch_length=(0, MAX_COUNT),
                    stretch_target=(0, NEVER),
                    stretch_passed=(0, 0),
                )
            ],
        ),
        "counts": ArraySpec(
            "int64",
            6,
            checks=[
                Entries(
                    stopped=(NOT_STOPPED, ALL_CHANGES_MADE),
                    chosen=(0, MAX_COUNT),
                    next_draw=(EXAMPLES + 1 if drawn else 0, NEVER),
                    draws=(0, MAX_COUNT),
                    later=(0, MAX_COUNT),
                    later_mistakes=(0, NamedSize("later")),
                )
            ],
        ),
    }
    if penalised:
        arrays["picked"] = ArraySpec(
            "int64", FreeSize("picked"), checks=[InRange(0, NamedSize("changes")), Increasing()]
        )
        arrays["mistakes"] = ArraySpec("int64", NamedSize("picked"), checks=[InRange(0, EXAMPLES)])
    few = Constraint(
        "some hypotheses are picked, and not too many", lambda _, sizes: 1 <= sizes["picked"] <= max_hypotheses
    )
    return Schema(arrays, [few] if penalised else [])


@dataclass
class OnlineToBatchState(ModelState):
    """The state of the learner, with the chosen hypothesis, or with what is needed to choose one."""

    current: CurrentHypothesis = FIRST_HYPOTHESIS
    """The hypothesis of the learner, for the methods that measure run lengths."""
    counts: NDArray[np.int64] = field(default_factory=lambda: np.array([0, 0, 1, 0, 0, 0]))
    chosen: Any = None
    """The updater of the chosen hypothesis; None where this is the current hypothesis of the learner."""
    changes: HypothesisLog | None = None
    """The examples at which the hypothesis changed, for the methods that need all hypotheses."""
    picked: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """The numbers of the candidates: hypotheses that are tried on all later examples."""
    mistakes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """The mistakes of each candidate on the examples after it."""
    first: Any = None
    """The updater of the first hypothesis: a cache, which is in no file."""

    def copy(self) -> OnlineToBatchState:
        """Return a copy that `restore` accepts. The log of changes is only appended to, so its sizes are copied alone;
        the chosen updater is never written to."""
        base: Any = super().copy()
        same = {name: getattr(self, name).copy() for name in ("counts", "picked", "mistakes")}
        changes = None if self.changes is None else self.changes._replace(sizes=self.changes.sizes.copy())
        copied_state: OnlineToBatchState = replace(base, **same, changes=changes)
        return copied_state

    def restore(self, backup: OnlineToBatchState) -> None:
        for name in ("current", "counts", "chosen", "changes", "picked", "mistakes"):
            setattr(self, name, getattr(backup, name))

    def _bytes_at(self, features: int, growth: Growth = NO_GROWTH) -> int:
        """Return the bytes of the learner, of the first and the chosen hypothesis, and of the changes."""
        weights = 2 * bytes_per_slot(self.updater) * (features + 1)
        changes = 0 if self.changes is None else fixed_bytes(self.changes, growth.examples, growth.terms)
        return super()._bytes_at(features, growth) + weights + changes

    def choose(self) -> None:
        """Choose the current hypothesis."""
        self.chosen = copy_updater(self.updater)

    @property
    def hypothesis(self) -> Any:
        """The chosen updater with slots for all features; that of the learner where no other was chosen."""
        if self.chosen is None:
            return self.updater
        slots = len(self.updater.weights)
        return self.chosen if len(self.chosen.weights) == slots else resize_updater(self.chosen, slots)

    def draw(self, seed: int) -> int:
        """Return 64 random bits, which depend on the seed and the number of the draw alone."""
        self.counts[DRAWS] += 1
        digest = hashlib.sha256(f"novikoff {seed} {int(self.counts[DRAWS])}".encode()).digest()
        return int.from_bytes(digest[:8], "little")

    def schedule_next_draw(self, seed: int) -> None:
        """Draw the time at which the choice among the first t hypotheses is replaced: it is after s > t with
        probability t/s, so each of the hypotheses so far is chosen with the same probability."""
        t = int(self.counts[NEXT_DRAW])
        self.counts[NEXT_DRAW] = min(NEVER, t * 2**64 // (self.draw(seed) + 1) + 1)

    def reserve(self, changes: int, terms: int) -> None:
        """Make space for this number of further changes."""
        now = self.changes
        if now is None:
            now = HypothesisLog(
                sizes=np.zeros(2, np.int64),
                ends=np.zeros(1, np.int64),
                born=np.zeros(0, np.int64),
                signs=np.zeros(0, np.int8),
                indices=np.zeros(0, np.uint32),
                values=np.zeros(0, self.kind),
            )
        n_changes, used = now.n_changes, int(now.sizes[N_TERMS])
        if n_changes + changes > len(now.born) or used + terms > len(now.values):
            needed = self.bytes_needed(Growth(examples=changes, terms=terms))
            check_size(needed, f"{n_changes + changes:,} changes of the hypothesis", "Choose another method")
        if n_changes + changes > len(now.born):
            capacity = max(n_changes + changes, len(now.born) * 3 // 2)
            now = now._replace(
                ends=resize(now.ends, capacity + 1), born=resize(now.born, capacity), signs=resize(now.signs, capacity)
            )
        if used + terms > len(now.values):
            capacity = max(used + terms, len(now.values) * 3 // 2)
            now = now._replace(indices=resize(now.indices, capacity), values=resize(now.values, capacity))
        self.changes = now

    # --- Files ---

    def to_tensors(self, chosen: Any) -> dict[str, NDArray[Any]]:
        """Return the arrays of a model file; `chosen` is the chosen updater without spare slots, or None."""
        found = {"choice.stretch": np.array([*self.current, 0]), "choice.counts": self.counts}
        found |= {"choice.picked": self.picked, "choice.mistakes": self.mistakes} if len(self.picked) else {}
        if chosen is not None:
            found |= {f"chosen.{name}": array for name, array in state_arrays(chosen).items()}
        if self.changes is not None:
            n_changes, used = (int(n) for n in self.changes.sizes)
            lengths = {"ends": n_changes + 1, "born": n_changes, "signs": n_changes, "indices": used, "values": used}
            found |= {f"changes.{name}": getattr(self.changes, name)[:size] for name, size in lengths.items()}
        return found

    @classmethod
    def from_tensors(cls, state: ModelState, fresh: Any, tensors: dict[str, NDArray[Any]]) -> OnlineToBatchState:
        """Build the state from the arrays of a model file; `fresh` is a new updater, for its derived fields."""
        self = cls(**vars(state))
        self.current = CurrentHypothesis(*tensors["choice.stretch"][:3].tolist())
        self.counts = tensors["choice.counts"].copy()
        for name in ("picked", "mistakes"):
            if f"choice.{name}" in tensors:
                setattr(self, name, tensors[f"choice.{name}"].copy())
        if "chosen.weights" in tensors:
            self.chosen = fresh._replace(**{name: tensors[f"chosen.{name}"] for name in state_arrays(fresh)})
        if "changes.born" in tensors:
            parts = {name: tensors[f"changes.{name}"].copy() for name in HypothesisLog._fields if name != "sizes"}
            self.changes = HypothesisLog(sizes=np.array([len(parts["born"]), len(parts["values"])]), **parts)
        return self


def resize(array: NDArray[Any], size: int) -> NDArray[Any]:
    larger = np.zeros(size, array.dtype)
    larger[: len(array)] = array
    return larger
