"""What a model knows that chooses among the hypotheses of its learner: its state, and what of it goes to a file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.base.model_state import NO_GROWTH, ModelState
from novikoff.core.hypothesis_tracking import N_CHANGES, N_TERMS, HypothesisLog
from novikoff.core.memory_sizes import bytes_per_slot, fixed_bytes
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

# Where each number lives in Choosing.counts.
STOP_REASON, CHOSEN, NEXT_DRAW, DRAWS, LATER_EXAMPLES, LATER_MISTAKES = 0, 1, 2, 3, 4, 5
# Why it stopped.
NOT_STOPPED, TEST_PASSED, ALL_CHANGES_MADE = 0, 1, 2
NEVER = 2**62
"""A time that does not come."""


def choice_schema(method: str, *, most_changes: int, max_hypotheses: int) -> Schema:
    """Return what a model file may hold of a choice by this method. `most_changes` is for next-stretch, 0 otherwise."""
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
    """The learner's state is that of the run; beside it stands what was chosen, or what is needed to choose."""

    stretch: NDArray[np.int64] = field(default_factory=lambda: np.array([0, 0, 1, 0]))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.array([0, 0, 1, 0, 0, 0]))
    chosen: Any = None
    """The hypothesis, where it is not the learner's own any more."""
    changes: HypothesisLog | None = None
    """The examples at which the hypothesis changed, where all of them are needed."""
    picked: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """The numbers of hypotheses that are tried on all examples that come after them."""
    mistakes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """… and the mistakes that they would have made."""
    first: Any = None
    """The learner's first hypothesis, made once; it is in no file."""

    def copy(self) -> OnlineToBatchState:
        """Changes are only added to: their old number is enough. What was chosen is never written to."""
        base: Any = super().copy()
        same = {name: getattr(self, name).copy() for name in ("stretch", "counts", "picked", "mistakes")}
        changes = None if self.changes is None else self.changes._replace(sizes=self.changes.sizes.copy())
        copied_state: OnlineToBatchState = replace(base, **same, changes=changes)
        return copied_state

    def restore(self, kept: OnlineToBatchState) -> None:
        for name in ("stretch", "counts", "chosen", "changes", "picked", "mistakes"):
            setattr(self, name, getattr(kept, name))

    def _bytes_at(self, features: int, growth: Growth = NO_GROWTH) -> int:
        """Beside the learner's weights there are those of its first hypothesis, those chosen, and the changes."""
        weights = 2 * bytes_per_slot(self.updater) * (features + 1)
        changes = 0 if self.changes is None else fixed_bytes(self.changes, growth.examples, growth.terms)
        return super()._bytes_at(features, growth) + weights + changes

    def choose(self) -> None:
        """The hypothesis of this moment is kept as the chosen one."""
        self.chosen = copy_updater(self.updater)

    @property
    def hypothesis(self) -> Any:
        """The chosen geometry with room for all features; the learner's own where nothing else was chosen."""
        if self.chosen is None:
            return self.updater
        slots = len(self.updater.slots)
        return self.chosen if len(self.chosen.slots) == slots else resize_updater(self.chosen, slots)

    def draw(self, seed: int) -> int:
        """64 random bits: the same for the same seed and the same number of draws, on every machine."""
        self.counts[DRAWS] += 1
        digest = hashlib.sha256(f"novikoff {seed} {int(self.counts[DRAWS])}".encode()).digest()
        return int.from_bytes(digest[:8], "little")

    def schedule_next_draw(self, seed: int) -> None:
        """When the chosen one of the first t hypotheses is replaced next: after s > t with probability t/s, which makes
        every one of the hypotheses so far as likely as any other."""
        t = int(self.counts[NEXT_DRAW])
        self.counts[NEXT_DRAW] = min(NEVER, t * 2**64 // (self.draw(seed) + 1) + 1)

    def reserve(self, changes: int, terms: int) -> None:
        """Room for so many more changes."""
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
        kept, used = int(now.sizes[N_CHANGES]), int(now.sizes[N_TERMS])
        if kept + changes > len(now.born) or used + terms > len(now.values):
            needed = self.bytes_needed(Growth(examples=changes, terms=terms))
            check_size(needed, f"{kept + changes:,} changes of the hypothesis", "Choose another method")
        if kept + changes > len(now.born):
            capacity = max(kept + changes, len(now.born) * 3 // 2)
            now = now._replace(
                ends=resize(now.ends, capacity + 1), born=resize(now.born, capacity), signs=resize(now.signs, capacity)
            )
        if used + terms > len(now.values):
            capacity = max(used + terms, len(now.values) * 3 // 2)
            now = now._replace(indices=resize(now.indices, capacity), values=resize(now.values, capacity))
        self.changes = now

    # --- Files ---

    def to_tensors(self, chosen: Any) -> dict[str, NDArray[Any]]:
        """What goes to a file; `chosen` is the chosen geometry without room to spare, or None."""
        found = {"choice.stretch": self.stretch, "choice.counts": self.counts}
        found |= {"choice.picked": self.picked, "choice.mistakes": self.mistakes} if len(self.picked) else {}
        if chosen is not None:
            found |= {f"chosen.{name}": array for name, array in state_arrays(chosen).items()}
        if self.changes is not None:
            kept, used = (int(n) for n in self.changes.sizes)
            lengths = {"ends": kept + 1, "born": kept, "signs": kept, "indices": used, "values": used}
            found |= {f"changes.{name}": getattr(self.changes, name)[:size] for name, size in lengths.items()}
        return found

    @classmethod
    def from_tensors(cls, state: ModelState, fresh: Any, tensors: dict[str, NDArray[Any]]) -> OnlineToBatchState:
        """The inverse; `fresh` is a new geometry, for what is in no file."""
        self = cls(**vars(state))
        self.stretch, self.counts = tensors["choice.stretch"].copy(), tensors["choice.counts"].copy()
        for name in ("picked", "mistakes"):
            if f"choice.{name}" in tensors:
                setattr(self, name, tensors[f"choice.{name}"].copy())
        if "chosen.slots" in tensors:
            self.chosen = fresh._replace(**{name: tensors[f"chosen.{name}"] for name in state_arrays(fresh)})
        if "changes.born" in tensors:
            parts = {name: tensors[f"changes.{name}"].copy() for name in HypothesisLog._fields if name != "sizes"}
            self.changes = HypothesisLog(sizes=np.array([len(parts["born"]), len(parts["values"])]), **parts)
        return self


def copy_updater(updater: Any) -> Any:
    """A geometry of its own arrays; those that follow from the settings are shared, but for room to write in."""
    scratch = {name: getattr(updater, name).copy() for name in ("example", "mirror") if hasattr(updater, name)}
    return updater._replace(**{name: array.copy() for name, array in state_arrays(updater).items()}, **scratch)


def resize(array: NDArray[Any], size: int) -> NDArray[Any]:
    larger = np.zeros(size, array.dtype)
    larger[: len(array)] = array
    return larger
