"""What a model knows that chooses among the hypotheses of its learner: its state, and what of it goes to a file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.base.model_state import NO_GROWTH, State
from novikoff.memory_limit import Growth, check_size
from novikoff.core.updaters.base import arrays, resized
from novikoff.core.memory_sizes import bytes_per_slot, other_bytes
from novikoff.core.hypothesis_tracking import KEPT, TERMS, Changes
from novikoff.schema import EXAMPLES, MAX_COUNT, Array, Between, Entries, Free, Increasing, Rule, Schema, Size

# Where each number lives in Choosing.counts.
STOPPED, CHOSEN, NEXT, DRAWS, LATER, LATER_MISTAKES = 0, 1, 2, 3, 4, 5
# Why it stopped.
NOT_YET, TEST_PASSED, CHANGES_MADE = 0, 1, 2
FAR = 2**62
"""A time that does not come."""


def choice_schema(method: str, *, most_changes: int, most_hypotheses: int) -> Schema:
    """Return what a model file may hold of a choice by this method. `most_changes` is for next-stretch, 0 otherwise."""
    drawn = method == "random-stopping"
    penalised = method == "penalised"
    arrays = {
        "stretch": Array(
            "int64",
            4,
            checks=[
                Entries(
                    stretch_number=(0, most_changes or MAX_COUNT),
                    stretch_length=(0, MAX_COUNT),
                    stretch_target=(0, FAR),
                    stretch_passed=(0, 0),
                )
            ],
        ),
        "counts": Array(
            "int64",
            6,
            checks=[
                Entries(
                    stopped=(NOT_YET, CHANGES_MADE),
                    chosen=(0, MAX_COUNT),
                    next_draw=(EXAMPLES + 1 if drawn else 0, FAR),
                    draws=(0, MAX_COUNT),
                    later=(0, MAX_COUNT),
                    later_mistakes=(0, Size("later")),
                )
            ],
        ),
    }
    if penalised:
        arrays["picked"] = Array("int64", Free("picked"), checks=[Between(0, Size("changes")), Increasing()])
        arrays["mistakes"] = Array("int64", Size("picked"), checks=[Between(0, EXAMPLES)])
    few = Rule("some hypotheses are picked, and not too many", lambda _, sizes: 1 <= sizes["picked"] <= most_hypotheses)
    return Schema(arrays, [few] if penalised else [])


@dataclass
class Choosing(State):
    """The learner's state is that of the run; beside it stands what was chosen, or what is needed to choose."""

    stretch: NDArray[np.int64] = field(default_factory=lambda: np.array([0, 0, 1, 0]))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.array([0, 0, 1, 0, 0, 0]))
    chosen: Any = None
    """The hypothesis, where it is not the learner's own any more."""
    changes: Changes | None = None
    """The examples at which the hypothesis changed, where all of them are needed."""
    picked: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """The numbers of hypotheses that are tried on all examples that come after them."""
    mistakes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """… and the mistakes that they would have made."""
    first: Any = None
    """The learner's first hypothesis, made once; it is in no file."""

    def copy(self) -> Choosing:
        """Changes are only added to: their old number is enough. What was chosen is never written to."""
        base: Any = super().copy()
        same = {name: getattr(self, name).copy() for name in ("stretch", "counts", "picked", "mistakes")}
        changes = None if self.changes is None else self.changes._replace(sizes=self.changes.sizes.copy())
        whole: Choosing = replace(base, **same, changes=changes)
        return whole

    def put_back(self, kept: Choosing) -> None:
        for name in ("stretch", "counts", "chosen", "changes", "picked", "mistakes"):
            setattr(self, name, getattr(kept, name))

    def _bytes_at(self, features: int, growth: Growth = NO_GROWTH) -> int:
        """Beside the learner's weights there are those of its first hypothesis, those chosen, and the changes."""
        weights = 2 * bytes_per_slot(self.geometry) * (features + 1)
        changes = 0 if self.changes is None else other_bytes(self.changes, growth.examples, growth.terms)
        return super()._bytes_at(features, growth) + weights + changes

    def choose(self) -> None:
        """The hypothesis of this moment is kept as the chosen one."""
        self.chosen = copied(self.geometry)

    @property
    def hypothesis(self) -> Any:
        """The chosen geometry with room for all features; the learner's own where nothing else was chosen."""
        if self.chosen is None:
            return self.geometry
        slots = len(self.geometry.slots)
        return self.chosen if len(self.chosen.slots) == slots else resized(self.chosen, slots)

    def draw(self, seed: int) -> int:
        """64 random bits: the same for the same seed and the same number of draws, on every machine."""
        self.counts[DRAWS] += 1
        digest = hashlib.sha256(f"novikoff {seed} {int(self.counts[DRAWS])}".encode()).digest()
        return int.from_bytes(digest[:8], "little")

    def next_time(self, seed: int) -> None:
        """When the chosen one of the first t hypotheses is replaced next: after s > t with probability t/s, which makes
        every one of the hypotheses so far as likely as any other."""
        t = int(self.counts[NEXT])
        self.counts[NEXT] = min(FAR, t * 2**64 // (self.draw(seed) + 1) + 1)

    def reserve(self, changes: int, terms: int) -> None:
        """Room for so many more changes."""
        now = self.changes
        if now is None:
            now = Changes(
                sizes=np.zeros(2, np.int64),
                ends=np.zeros(1, np.int64),
                born=np.zeros(0, np.int64),
                signs=np.zeros(0, np.int8),
                indices=np.zeros(0, np.uint32),
                values=np.zeros(0, self.kind),
            )
        kept, used = int(now.sizes[KEPT]), int(now.sizes[TERMS])
        if kept + changes > len(now.born) or used + terms > len(now.values):
            needed = self.bytes_needed(Growth(examples=changes, terms=terms))
            check_size(needed, f"{kept + changes:,} changes of the hypothesis", "Choose another method")
        if kept + changes > len(now.born):
            room = max(kept + changes, len(now.born) * 3 // 2)
            now = now._replace(ends=sized(now.ends, room + 1), born=sized(now.born, room), signs=sized(now.signs, room))
        if used + terms > len(now.values):
            room = max(used + terms, len(now.values) * 3 // 2)
            now = now._replace(indices=sized(now.indices, room), values=sized(now.values, room))
        self.changes = now

    # --- Files ---

    def more_tensors(self, chosen: Any) -> dict[str, NDArray[Any]]:
        """What goes to a file; `chosen` is the chosen geometry without room to spare, or None."""
        found = {"choice.stretch": self.stretch, "choice.counts": self.counts}
        found |= {"choice.picked": self.picked, "choice.mistakes": self.mistakes} if len(self.picked) else {}
        if chosen is not None:
            found |= {f"chosen.{name}": array for name, array in arrays(chosen).items()}
        if self.changes is not None:
            kept, used = (int(n) for n in self.changes.sizes)
            lengths = {"ends": kept + 1, "born": kept, "signs": kept, "indices": used, "values": used}
            found |= {f"changes.{name}": getattr(self.changes, name)[:size] for name, size in lengths.items()}
        return found

    @classmethod
    def completed(cls, state: State, fresh: Any, tensors: dict[str, NDArray[Any]]) -> Choosing:
        """The inverse; `fresh` is a new geometry, for what is in no file."""
        self = cls(**vars(state))
        self.stretch, self.counts = tensors["choice.stretch"].copy(), tensors["choice.counts"].copy()
        for name in ("picked", "mistakes"):
            if f"choice.{name}" in tensors:
                setattr(self, name, tensors[f"choice.{name}"].copy())
        if "chosen.slots" in tensors:
            self.chosen = fresh._replace(**{name: tensors[f"chosen.{name}"] for name in arrays(fresh)})
        if "changes.born" in tensors:
            parts = {name: tensors[f"changes.{name}"].copy() for name in Changes._fields if name != "sizes"}
            self.changes = Changes(sizes=np.array([len(parts["born"]), len(parts["values"])]), **parts)
        return self


def copied(geometry: Any) -> Any:
    """A geometry of its own arrays; those that follow from the settings are shared, but for room to write in."""
    scratch = {name: getattr(geometry, name).copy() for name in ("example", "mirror") if hasattr(geometry, name)}
    return geometry._replace(**{name: array.copy() for name, array in arrays(geometry).items()}, **scratch)


def sized(array: NDArray[Any], size: int) -> NDArray[Any]:
    larger = np.zeros(size, array.dtype)
    larger[: len(array)] = array
    return larger
