"""Spaces of theorems: a space finds witnesses on a sample, measures them on the stream and returns the evidence.

Most theorems live in the space of the features. Multiclass, ranking and kernel models have theorems in the space of
preferences, columns, queries or the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

from novikoff.base.internals import outcome_type_of
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.certificates.search.witness_selection import NamedWitness
from novikoff.data.rows import Rows
from novikoff.theory.bound_declaration import Evidence

ExampleStream = Callable[[], Iterable[tuple[Rows, Any]]]
"""Returns rows and encoded targets from the beginning of the stream at each call."""


class Space(Protocol):
    """Interface of the spaces."""

    def __init__(self, model: OnlineClassifier) -> None: ...

    def make_sampler(self) -> Any:
        """Return a sampler of rows and encoded targets."""

    def slots(self) -> int:
        """Return the number of weights of a witness."""

    def witnesses(self, sample: Any, budget: int) -> list[NamedWitness]: ...

    def measure_witnesses(
        self, found: Sequence[NamedWitness], stream: ExampleStream, passes: int
    ) -> tuple[Sequence[Any], Mapping[str, Evidence]]: ...

    def histograms(self, directions: Sequence[Any], stream: ExampleStream) -> list[Any]:
        """Return a margin histogram for each direction, None where there is none."""


SPACES = {
    "preferences": ("pairwise", "PairwiseSpace"),
    "columns": ("per_column", "PerColumnSpace"),
    "queries": ("ranking", "RankingSpace"),
    "kernel": ("kernel", "KernelSpace"),
}
"""Module and class of the space of each kind of outcomes."""


def find_space(model: OnlineClassifier) -> Space | None:
    """Return the space of a model's theorems; None for binary weight vectors."""
    if outcome_type_of(model) == "sides":
        return None
    module, name = SPACES[outcome_type_of(model)]
    space: Space = getattr(import_module(f"novikoff.certificates.spaces.{module}"), name)(model)
    return space
