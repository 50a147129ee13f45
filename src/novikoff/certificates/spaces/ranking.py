"""The space of rankings: that of the features, where differences of documents are examples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.witness_selection import (SHORTEST, Found, Guess, best_of, own_direction)
from novikoff.certificates.measure import OUTWARD, Batch, Measured, evidence, fresh_sums, power_sums, result
from novikoff.certificates.spaces.ranking_measure import (Gatherer, Sample, desk_for, longer, stretch, weigh_queries, worst_of_queries)
from novikoff.certificates.spaces.base import Stream
from novikoff.theory.bounds import Evidence


class InQueries:
    def __init__(self, model: Any) -> None:
        self.model = model

    def gatherer(self) -> Gatherer:
        return Gatherer()

    def slots(self) -> int:
        return int(self.model._fitted().features) + 1

    def witnesses(self, sample: Sample, budget: int) -> list[Found]:
        """What the learner itself has found, at its best length."""
        bounds, own = self.model.bounds(), own_direction(self.model, False)
        length = 0.0 if own is None else float(np.sqrt(np.square(own).sum()))
        radius = math.sqrt(power_sums(sample.rows, sample.labels, 2.0, 0.0))
        if not bounds or own is None or radius == 0.0 or not SHORTEST < length < math.inf:
            return []
        return best_of(bounds, {"own": _Guess(sample, own / (length * radius))})

    def histograms(self, directions: Sequence[Any], stream: Stream) -> list[Any]:
        return [None for _ in directions]

    def facts(
        self, found: Sequence[Found], stream: Stream, passes: int
    ) -> tuple[list[Measured], Mapping[str, Evidence]]:
        if not found:
            return [], {}
        sums, ranges = [fresh_sums(len(f.widths)) for f in found], np.zeros(1)
        wide = [np.asarray(f.witness, np.float64) for f in found]
        for rows, queries in stream():
            desk = desk_for(queries.starts)
            for f, u, total in zip(found, wide, sums, strict=True):
                widths = np.asarray(f.widths, np.float64)
                weigh_queries(rows, queries.starts, queries.grades, u, widths, desk, ranges, total)
        least = float(ranges[0])
        measured = [_stretched(result(f.witness, f.widths, s), least) for f, s in zip(found, sums, strict=True)]

        def documents() -> Iterator[Batch]:
            for rows, queries in stream():
                yield rows, np.ones(len(queries.grades), np.int8)

        facts = {}
        for f, m in zip(found, measured, strict=True):
            e = evidence(m, bias=False, passes=passes, batches=documents)
            facts[f.name] = e._replace(radius_p=_longer(e.radius_p, least))
        return measured, facts


def _stretched(found: Measured, least: float) -> Measured:
    margin = found.margin if found.margin < math.inf else 0.0
    return found._replace(squared_radius=found.squared_radius * stretch(least), margin=margin)


def _longer(radius_p: Any, least: float) -> Any:
    return lambda p: radius_p(p) * longer(least, p) * (1.0 + OUTWARD)


class _Guess(Guess):
    """What the sample says of a direction."""

    def __init__(self, sample: Any, direction: NDArray[np.float64]) -> None:
        self.least_value = min(0.0, float(sample.rows.values.min(initial=0.0)))
        super().__init__(sample, direction, bias=False, target={})
        self.margins = self.margins[np.isfinite(self.margins)]

    def _reached(self, sample: Any, direction: NDArray[np.float64], *, bias: bool) -> NDArray[np.float64]:
        out = np.empty(len(sample.labels))
        worst_of_queries(sample.rows, sample.starts, sample.grades, direction, desk_for(sample.starts), out)
        return out

    def radius_p(self, p: float) -> float:
        return super().radius_p(p) * longer(self.least_value, p)
