"""Admission by memory: refuse an example that would exceed a memory limit before it is journaled.

The exact demand of an example is known only after looking up each of its features. To avoid that, a stream has a budget
in bytes. Each example is charged as if all of its features were new. When the budget is used up, the model is measured
and gets a new budget. Features are looked up only if a new budget is too small, or if a label is new.

Examples that are journaled but not yet learned count as well, so that concurrent requests can't exceed the limit
together. They are summed as features and labels, not as bytes, because each pair of feature and label needs a weight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from novikoff.base.internals import estimate_memory, state_of
from novikoff.data.names.feature_names import count_name_bytes
from novikoff.data.names.string_table import MAX_TEXT_BYTES
from novikoff.errors import InputError
from novikoff.memory_limit import NAME_BYTES, Growth, format_size
from novikoff.server.models.features import get_encoder
from novikoff.server.models.line_runs import LineRun
from novikoff.server.models.served_model import ServedModel
from novikoff.server.models.validation import RequestError
from novikoff.server.ops.limits import Limits

MIN_TERM_BYTES = 4
"""Minimum size of a feature in JSON."""
Models = Mapping[str, ServedModel]
"""All models of the server, whose memory is limited, too."""
MODEL_TOO_LARGE, SERVER_MEMORY_FULL = "model-too-large", "server-out-of-memory"


@dataclass
class MemoryDemand:
    """Upper bounds of what the examples of one journal entry add to a model."""

    features: int = 0
    examples: int = 0
    terms: int = 0
    name_bytes: int = 0
    largest: int = 0
    """The largest column number plus 1, for models whose features are numbers."""
    labels: dict[Any, None] = field(default_factory=dict)
    """New labels."""
    names: set[Any] = field(default_factory=set)
    """New features that are counted already, of those that were looked up."""


class MemoryAdmission:
    """Admits the examples of one stream, by the memory of its champion."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._in_flight, self._entries = MemoryDemand(), 0
        """The total demand of all entries in flight, and their number."""
        self._labels: Counter[Any] = Counter()
        self._budget = self._bytes_per_term = 0
        """The remaining budget, and an upper bound of the memory for one more feature or example."""
        self._champion: ServedModel | None = None

    # --- Entries in flight ---

    def begin(self, demand: MemoryDemand) -> None:
        """Count an entry that is being journaled."""
        self._add(demand, 1)

    def end(self, demand: MemoryDemand) -> None:
        """Stop counting an entry that was learned, or could not be written."""
        self._add(demand, -1)

    def _add(self, demand: MemoryDemand, sign: int) -> None:
        total = self._in_flight
        self._entries += sign
        total.features += sign * demand.features
        total.examples += sign * demand.examples
        total.terms += sign * demand.terms
        total.name_bytes += sign * demand.name_bytes
        total.largest = max(total.largest, demand.largest) if self._entries else 0
        if demand.labels:
            self._labels.update(dict.fromkeys(demand.labels, sign))
            self._labels = +self._labels

    def _growth(self, served: ServedModel, *demands: MemoryDemand) -> Growth:
        """Return the growth of the model by all entries in flight and these demands."""
        state, every = state_of(served.learner), (self._in_flight, *demands)
        count = sum(demand.features for demand in every) + (0 if state is None else state.features)
        labels = dict.fromkeys(self._labels) | {label: None for demand in demands for label in demand.labels}
        known = _known_labels(served)
        return Growth(
            features=max(count, *(demand.largest for demand in every)),
            labels=tuple(label for label in labels if label not in known),
            examples=sum(demand.examples for demand in every),
            terms=sum(demand.terms for demand in every),
            name_bytes=sum(demand.name_bytes for demand in every),
        )

    # --- Admission by the budget ---

    def is_short(self, served: ServedModel, size: int, models: Models) -> bool:
        """Return whether a block of lines of this size may exceed a new budget."""
        self._refill(served, MemoryDemand(), models)
        return size // MIN_TERM_BYTES * self._bytes_per_term + 2 * size > self._budget

    def admit_run(self, served: ServedModel, run: LineRun, demand: MemoryDemand, models: Models) -> bool:
        """Charge a run of lines if it certainly fits. If it returns False, lines must be admitted one by one."""
        labels = run.distinct_labels()
        if not _takes_names(served) or self._has_new(served, labels, demand):
            return False
        characters = int((run.terms.spans & MAX_TEXT_BYTES).sum())
        return self._spend(served, len(run.terms.values), len(run), characters, demand, models)

    def admit(self, served: ServedModel, features: Any, label: Any, demand: MemoryDemand, models: Models) -> None:
        """Charge one example; raise RequestError if there is not enough memory for it."""
        labels = label if isinstance(label, list) else [label]
        if _takes_names(served) and not isinstance(features, str) and not self._has_new(served, labels, demand):
            characters = sum(map(len, features))
            if self._spend(served, len(features), 1, characters, demand, models):
                return
        self._admit_exactly(served, features, labels, demand, models)

    def _has_new(self, served: ServedModel, labels: list[Any], demand: MemoryDemand) -> bool:
        known = _known_labels(served)
        return not all(label in known or label in demand.labels or label in self._labels for label in labels)

    def _spend(
        self, served: ServedModel, terms: int, examples: int, characters: int, demand: MemoryDemand, models: Models
    ) -> bool:
        names = terms * NAME_BYTES + 2 * characters
        for attempt in range(2):
            if attempt or served is not self._champion:
                self._refill(served, demand, models)
            cost = (terms + examples) * self._bytes_per_term + names
            if cost <= self._budget:
                self._budget -= cost
                demand.features += terms
                demand.examples += examples
                demand.terms += terms
                demand.name_bytes += names
                return True
        return False

    def _refill(self, served: ServedModel, demand: MemoryDemand, models: Models) -> None:
        """Measure the model and set a new budget: a share of the free memory, because all models use it at once."""
        learner, growth = served.learner, self._growth(served, demand)
        needed = estimate_memory(learner, growth)
        more = growth._replace(features=growth.features + 1, examples=growth.examples + 1, terms=growth.terms + 1)
        self._bytes_per_term = estimate_memory(learner, more) - needed
        free = min(self.limits.max_model_bytes, self.limits.max_server_bytes - _measure_others(models, served)) - needed
        self._budget, self._champion = max(0, free // (2 * len(models))), served

    # --- Exact admission ---

    def _admit_exactly(
        self, served: ServedModel, features: Any, labels: list[Any], demand: MemoryDemand, models: Models
    ) -> None:
        try:
            one = _measure_demand(served, features, labels, demand)
        except InputError:  # reported when the example is learned
            return
        needed = estimate_memory(served.learner, self._growth(served, demand, one))
        limits, all_needed = self.limits, needed + _measure_others(models, served)
        if needed > limits.max_model_bytes:
            raise RequestError(
                f"With this example {served.name!r} would need {format_size(needed)} of memory, but the limit of a"
                f" model is {format_size(limits.max_model_bytes)}. Send fewer features or labels, or start the server"
                " with a larger --max-model-memory.",
                MODEL_TOO_LARGE,
            )
        if all_needed > limits.max_server_bytes:
            raise RequestError(
                f"With this example all models would need {format_size(all_needed)} of memory, but the limit"
                f" of the server is {format_size(limits.max_server_bytes)}. Delete models, or start the server with a"
                " larger --max-server-memory.",
                SERVER_MEMORY_FULL,
                507,
            )
        demand.features += one.features
        demand.examples += one.examples
        demand.terms += one.terms
        demand.name_bytes += one.name_bytes
        demand.largest = max(demand.largest, one.largest)
        demand.labels |= one.labels
        demand.names |= one.names
        self._budget, self._champion = 0, None  # computed for fewer labels and features


def _measure_others(models: Models, served: ServedModel) -> int:
    """Return the memory of all models except one."""
    return sum(model.bytes for model in models.values()) - served.bytes


def _takes_names(served: ServedModel) -> bool:
    """Return whether features are names, each of which needs the same memory."""
    state = state_of(served.learner)
    return served.encoding is None and (state is None or state.names is not None)


def _known_labels(served: ServedModel) -> Any:
    """Return the labels that a model knows, as a mapping for fast lookup."""
    state = state_of(served.learner)
    labels: Any = None if state is None else state.labels
    if getattr(labels, "more", None) is not None:
        labels = labels.more
    elif hasattr(labels, "two"):
        labels = labels.two
    return getattr(labels, "numbers", None) or getattr(labels, "sides", None) or {}


def _measure_demand(served: ServedModel, features: Any, labels: list[Any], demand: MemoryDemand) -> MemoryDemand:
    """Return the demand of an example in addition to `demand`; raise InputError if it can't be encoded."""
    learner, state = served.learner, state_of(served.learner)
    known = _known_labels(served)
    new = {label: None for label in labels if label not in known}
    x = get_encoder(learner)(features)
    if served.encoding is not None and (isinstance(x, str) or (state is not None and state.names is not None)):
        x = served.encoding.example(x)
    one = MemoryDemand(examples=1, terms=len(x), labels=new)
    if state is not None and state.names is None and state.features:
        one.largest = max((key + 1 for key in x if isinstance(key, int)), default=0) if isinstance(x, dict) else 0
    elif isinstance(x, dict | list):
        columns = {} if state is None or state.names is None else state.names.columns
        one.names = {name for name in x if isinstance(name, str) and name not in columns and name not in demand.names}
        one.features, one.name_bytes = len(one.names), sum(map(count_name_bytes, one.names))
    return one
