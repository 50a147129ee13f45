"""Where the theorems of a model live, if that is not the space of its features: of preferences, columns, queries or
a kernel.

A space finds witnesses on a sample, measures them on the stream, and says what the theorems are to be asked with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

from novikoff.base.internals import outcome_type_of
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.certificates.search.witness_selection import NamedWitness
from novikoff.data.rows import Rows
from novikoff.theory.bounds import Evidence

ExampleStream = Callable[[], Iterable[tuple[Rows, Any]]]
"""Rows and what they ask for, as the model takes it, from the beginning, as often as it is asked for."""


class Space(Protocol):
    def __init__(self, model: OnlineClassifier) -> None: ...

    def make_sampler(self) -> Any:
        """Takes rows and what they ask for, and gives a sample of them."""

    def slots(self) -> int:
        """How many numbers a witness has."""

    def witnesses(self, sample: Any, budget: int) -> list[NamedWitness]: ...

    def measure_witnesses(
        self, found: Sequence[NamedWitness], stream: ExampleStream, passes: int
    ) -> tuple[Sequence[Any], Mapping[str, Evidence]]: ...

    def histograms(self, directions: Sequence[Any], stream: ExampleStream) -> list[Any]:
        """How clearly each of these tells examples apart; None where that can't be drawn."""


SPACES = {
    "preferences": ("pairwise", "PairwiseSpace"),
    "columns": ("per_column", "PerColumnSpace"),
    "queries": ("ranking", "RankingSpace"),
    "kernel": ("kernel", "KernelSpace"),
}
"""Module and class of the space of each kind of outcomes."""


def find_space(model: OnlineClassifier) -> Space | None:
    """None where the theorems are about the two sides of a vector of weights."""
    if outcome_type_of(model) == "sides":
        return None
    module, name = SPACES[outcome_type_of(model)]
    space: Space = getattr(import_module(f"novikoff.certificates.spaces.{module}"), name)(model)
    return space
