"""The space of preferences: one witness with a number for each slot and column of weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates import multiclass_search
from novikoff.certificates.witness_selection import (SHORTEST, Found, Guess, best_of)
from novikoff.certificates.margin_histogram import Tally, unit
from novikoff.certificates.measure import OUTWARD, Batch, Measured, evidence, power_sums
from novikoff.certificates.spaces.pairwise_measure import (Meter, Told, desk_for, lanes, measure_preferences, worst_preferences)
from novikoff.certificates.spaces.base import Stream
from novikoff.certificates.multiclass_sample import Gatherer, Sample, kept
from novikoff.core.multiclass.schemes import TREE, columns_for, stretch
from novikoff.theory.bounds import Evidence


class InPreferences:
    def __init__(self, model: Any) -> None:
        self.model = model

    # Asked for when the model has learned.

    @cached_property
    def known(self) -> int:
        return len(self.model._fitted().labels)

    @cached_property
    def scheme(self) -> Any:
        return self.model._scheme(self.model._fitted().labels)

    @property
    def columns(self) -> int:
        return int(columns_for(self.scheme, self.known))

    @property
    def stretch(self) -> float:
        return float(stretch(self.scheme, self.known))

    @property
    def bias(self) -> bool:
        return bool(self.model.bias)

    def gatherer(self) -> Gatherer:
        return Gatherer()

    def slots(self) -> int:
        return int(self.model._fitted().features + 1) * self.columns

    def witnesses(self, sample: Sample, budget: int) -> list[Found]:
        bounds = [bound for bound in self.model.bounds() if bound.by_witness]
        if not bounds or not self.known:
            return []
        found = {**self._directions(sample, budget), "own": self._own()}
        radius = math.sqrt(power_sums(sample.rows, sample.labels, 2.0, float(self.bias)))
        guesses = {
            name: _Guess(self, sample, u.reshape(-1) / (_length(u) * radius))
            for name, u in found.items()
            if radius > 0.0 and SHORTEST < _length(u) < math.inf
        }
        return best_of(bounds, guesses)

    def _directions(self, sample: Sample, budget: int) -> Mapping[str, NDArray[np.float64]]:
        """By the machine for rivals, where classes are such."""
        if len(self.model._wants(sample.codes).classes) == 0:
            return {}
        features = self.model._fitted().features
        found = multiclass_search.directions(sample, self.known, features, bias=self.bias, stretch=self.stretch, budget=budget)
        if self.scheme.kind != TREE:
            return found
        paths = np.zeros((self.known, self.columns))
        for c in range(self.known):
            paths[c, self.scheme.nodes[self.scheme.starts[c] : self.scheme.starts[c + 1]]] = 1.0
        # The shortest weights of nodes whose sums along the paths are those of the classes.
        onto = np.linalg.pinv(paths)
        return {name: np.einsum("jc,nc->jn", u, onto) for name, u in found.items()}

    def _own(self) -> NDArray[np.float64]:
        """What the learner itself has found."""
        u: NDArray[np.float64] = self.model._weights()
        if not self.bias:
            u[0] = 0.0
        # What all columns have in common is in no preference, and only makes u longer.
        return u if self.scheme.kind == TREE else u - u.mean(axis=1, keepdims=True)

    def facts(
        self, found: Sequence[Found], stream: Stream, passes: int
    ) -> tuple[list[Measured], Mapping[str, Evidence]]:
        if not found:
            return [], {}
        meter = Meter(
            self.scheme,
            self.columns,
            self.known,
            bias=self.bias,
            witnesses=[f.witness for f in found],
            widths=[f.widths for f in found],
        )

        def told() -> Iterator[Told]:
            for rows, codes in stream():
                yield rows, self.model._wants(codes), kept(codes)

        measured = measure_preferences(meter, told(), self.stretch)
        return measured, self.evidence(found, measured, stream, passes)

    def evidence(
        self, found: Sequence[Found], measured: Sequence[Measured], stream: Stream, passes: int
    ) -> Mapping[str, Evidence]:
        """What the theorems are asked with, from what was measured."""

        def sides() -> Iterator[Batch]:
            for rows, codes in stream():
                yield rows, kept(codes)

        facts = {}
        for f, m in zip(found, measured, strict=True):
            e = evidence(m, bias=self.bias, passes=passes, batches=sides)
            facts[f.name] = e._replace(radius_p=self._stretched(e.radius_p))
        return facts

    def histograms(self, directions: Sequence[Any], stream: Stream) -> list[Any]:
        """Of the margin of each example's worst preference."""
        scaled = [unit(np.asarray(u, np.float64).reshape(-1)) for u in directions]
        wide = [None if u is None or len(u) != self.slots() else lanes(u, self.columns) for u in scaled]
        tallies = [Tally() for _ in wide]
        desk = desk_for(self.columns)
        for rows, codes in stream():
            wants, there, out = self.model._wants(codes), kept(codes), np.empty(len(codes))
            for u, tally in zip(wide, tallies, strict=True):
                if u is not None:
                    worst_preferences(self.scheme, wants, there, rows, u, float(self.bias), self.known, desk, out)
                    tally.add(out)
        return [tally.done() if tally.counts.any() else None for tally in tallies]

    def _stretched(self, radius_p: Any) -> Any:
        """‖x_ab‖_p from ‖x‖_p: x or −x stands in `stretch` columns at most."""
        return lambda p: radius_p(p) * (1.0 if p == math.inf else self.stretch ** (1.0 / p) * (1.0 + OUTWARD))


def _length(u: NDArray[np.float64]) -> float:
    """‖u‖, the same to the last bit however many threads there are."""
    return float(np.sqrt(np.square(u).sum()))


class _Guess(Guess):
    """What the sample says of a direction in the space of preferences."""

    def __init__(self, space: InPreferences, sample: Any, direction: NDArray[np.float64]) -> None:
        self.space = space
        super().__init__(sample, direction, bias=space.bias, target={})
        self.margins = self.margins[np.isfinite(self.margins)]

    def _reached(self, sample: Any, direction: NDArray[np.float64], *, bias: bool) -> NDArray[np.float64]:
        space, out = self.space, np.empty(len(sample.labels))
        worst_preferences(
            space.scheme,
            space.model._wants(sample.codes),
            sample.labels,
            sample.rows,
            lanes(direction, space.columns),
            float(bias),
            space.known,
            desk_for(space.columns),
            out,
        )
        return out

    def radius_p(self, p: float) -> float:
        return super().radius_p(p) * (1.0 if p == math.inf else self.space.stretch ** (1.0 / p))
