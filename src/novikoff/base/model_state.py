"""The state of a model: everything in a model file except the settings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from novikoff._compiled.lazy_numpy import NDArray
from novikoff.base.decision_threshold import DecisionThreshold
from novikoff.core.calibration import pause_calibration, resume_calibration
from novikoff.core.feature_sample import FeatureSample
from novikoff.core.updaters.base import (
    APPENDED_FIELDS,
    PER_FEATURE_FIELDS,
    PER_SLOT_FIELDS,
    resize_updater,
    state_arrays,
)
from novikoff.data.labels.binary_labels import BinaryLabels
from novikoff.data.labels.label_order import LabelOrder
from novikoff.data.names.feature_names import FeatureNames
from novikoff.errors import InputError
from novikoff.ledger import Ledger
from novikoff.memory_limit import LABEL_BYTES, Growth, bytes_per_row, choose_capacity, count_bytes

HASH_FEATURES_ADVICE = "Hash or renumber the features"
NO_GROWTH = Growth()


@dataclass
class ModelState:
    updater: Any
    ledger: Ledger
    labels: BinaryLabels
    features: int
    names: FeatureNames | None
    kind: Any
    """The precision of values and weights: that of the first batch."""
    settings: dict[str, Any]
    """The learner's settings when the run began; a run continues with them."""
    reading: dict[str, Any] | None = None
    """The format of its files, if it learned from files: later files are read in the same way."""
    slot_names: dict[int, str] | None = None
    """Names of hashed features, as far as they were recorded."""
    shuffle: dict[str, Any] | None = None
    """The permutation of the rows with which the run began (data/shuffle/permutation.py); None if they kept their
    order."""
    holdout: dict[str, Any] | None = None
    """Which rows of the data were held out (data/holdout.py); None: all were learned."""
    threshold: DecisionThreshold | None = None
    """From which probability or score on the positive class is predicted; None: the sign of the score decides."""
    fit_row_count: int = 0
    """The number of rows of fit's X, if the run began with fit; not saved."""
    label_order: LabelOrder | None = None
    """Counts of label changes in this run, since it was begun or loaded; not saved."""
    encoding: Any = None
    """Encoder of raw rows, as the reader encodes them (data/raw/encoding.py); built on first use, not saved."""
    more: dict[str, NDArray[Any]] = field(default_factory=dict)
    """Arrays that some learners keep beside the ledger."""
    feature_sample: FeatureSample = field(default_factory=FeatureSample.never)
    """The sample for deviations of features, if the learner has `coef_`. Copies of the state share it: examples are
    recorded after their batch was learned, so a refused batch needs no undo."""

    @property
    def room(self) -> int:
        """The number of features for which slots are allocated."""
        return len(self.updater.weights) - 1

    def ensure_capacity(self, features: int) -> None:
        if features > self.room:
            what = f"{features:,} features"
            capacity = choose_capacity(
                features, self._grown_capacity(features), self._bytes_with_capacity, what, HASH_FEATURES_ADVICE
            )
            try:
                self.updater = resize_updater(self.updater, capacity + 1)
            except MemoryError:
                raise InputError(f"There is no memory for {features:,} features: hash or renumber them.") from None
        self.features = max(self.features, features)

    def _grown_capacity(self, features: int) -> int:
        """Return the new capacity: at least half as much again, so that a stream of new features costs little. If new
        weights are 0, which cost nothing until they are used, it is larger: the largest of many column numbers is
        seldom among the first."""
        extra = features // 8 if getattr(self.updater, "fresh", 0.0) == 0.0 else 0
        return max(features + extra, self.room + self.room // 2, 15)

    # --- Memory ---

    def bytes_used(self) -> int:
        """Return the memory of this state: all arrays with their spare capacity, and the dictionaries."""
        parts = (self.updater, tuple(self.more.values()), self.feature_sample.moments)
        return count_bytes(parts) + self._dictionary_bytes()

    def bytes_needed(self, growth: Growth = NO_GROWTH) -> int:
        """Return the memory that this state needs after such growth, without spare capacity."""
        features = max(self.features, growth.features)
        return self._bytes_at(features, growth)

    def _bytes_at(self, features: int, growth: Growth = NO_GROWTH) -> int:
        weights = bytes_per_slot(self.updater) * (features + 1)
        return weights + fixed_bytes(self.updater, growth.examples, growth.terms) + self._dictionary_bytes(growth)

    def _bytes_with_capacity(self, capacity: int) -> int:
        """Return the memory with capacity for this number of features, if all of them have names like those so far."""
        names = 0 if self.names is None else len(self.names)
        later = self.names.bytes_used() * max(0, capacity - names) // names if self.names is not None and names else 0
        return self._bytes_at(capacity) + later

    def _dictionary_bytes(self, growth: Growth = NO_GROWTH) -> int:
        """Return the memory of the names of features and of the labels."""
        names = 0 if self.names is None else self.names.bytes_used()
        return names + growth.name_bytes + (len(self.labels) + len(growth.labels)) * LABEL_BYTES

    def forget(self, features: int, labels: int, named: bool) -> None:
        """Reduce to this number of features and labels, after an example with new ones was refused."""
        self.features = features
        self.labels.forget(labels)
        if not named:
            self.names = None
        elif self.names is not None:
            self.names.forget(features)

    def pause_probabilities(self) -> None:
        """Stop learning probabilities: in a later pass the labels have been seen."""
        pause_calibration(self.ledger)
        if hasattr(self.updater, "stack"):  # of Auto
            self.updater.notes[-1] = 1.0

    def resume_probabilities(self) -> None:
        """Learn probabilities again."""
        resume_calibration(self.ledger)
        if hasattr(self.updater, "stack"):
            self.updater.notes[-1] = 0.0

    def copy(self) -> ModelState:
        """Return a copy with which a refused batch is undone. Labels and names change only after a batch was accepted.
        Arrays to which entries are only appended are not copied: their old number of entries is enough."""
        copies = {name: a.copy() for name, a in state_arrays(self.updater).items() if name not in APPENDED_FIELDS}
        updater = self.updater._replace(**copies)
        more = {name: array.copy() for name, array in self.more.items()}
        return replace(self, updater=updater, ledger=self.ledger.copy(), more=more)


# --- The memory of an updater: the part that grows with slots and columns, and the rest ---


def bytes_per_slot(updater: Any, stride: int = 1) -> int:
    """Return the bytes of one slot with `stride` columns of weights."""
    per_column = sum(bytes_per_row(getattr(updater, name, None)) for name in PER_SLOT_FIELDS)
    return stride * per_column + sum(bytes_per_row(getattr(updater, name, None)) for name in PER_FEATURE_FIELDS)


def fixed_bytes(updater: Any, examples: int = 0, terms: int = 0) -> int:
    """Return the bytes of what does not grow with slots. Lists of examples count without their spare room, and with
    `examples` more, which have `terms` terms in all."""
    per_slot = (*PER_SLOT_FIELDS, *PER_FEATURE_FIELDS)
    fields = {name: value for name, value in updater._asdict().items() if name not in per_slot}
    if "ends" in fields and "sizes" in fields:
        n_examples, n_terms = (int(count) for count in fields["sizes"][:2])
        values = fields["values"]
        lists = (n_examples + examples) * (8 + 8 + fields["signs"].itemsize) + (n_terms + terms) * (4 + values.itemsize)
        return lists + count_bytes(tuple(value for name, value in fields.items() if name not in APPENDED_FIELDS))
    return count_bytes(tuple(fields.values()))
