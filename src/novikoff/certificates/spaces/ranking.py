"""Space of rankings: feature space, in which differences of documents are the examples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.base.internals import require_state
from novikoff.certificates.measure import (
    OUTWARD_TOLERANCE,
    SignedBatch,
    WitnessMeasurement,
    build_evidence,
    init_sums,
    max_power_sum,
    to_measurement,
)
from novikoff.certificates.search.witness_selection import (
    MIN_NORM,
    NamedWitness,
    SampleEvidence,
    extract_direction,
    select_best_witnesses,
)
from novikoff.certificates.spaces.base import ExampleStream
from novikoff.certificates.spaces.ranking_measure import (
    QuerySample,
    QueryStreamSampler,
    allocate_workspace,
    find_worst_query_margins,
    measure_queries,
    radius_factor,
    sq_radius_factor,
)
from novikoff.theory.bound_declaration import Evidence


class RankingSpace:
    def __init__(self, model: Any) -> None:
        self.model = model

    def make_sampler(self) -> QueryStreamSampler:
        return QueryStreamSampler()

    def slots(self) -> int:
        return int(require_state(self.model).features) + 1

    def witnesses(self, sample: QuerySample, budget: int) -> list[NamedWitness]:
        """Return the model's own weights at their best length."""
        bounds, own = self.model.bounds(), extract_direction(self.model, False)
        length = 0.0 if own is None else float(np.sqrt(np.square(own).sum()))
        radius = math.sqrt(max_power_sum(sample.rows, sample.labels, 2.0, 0.0))
        if not bounds or own is None or radius == 0.0 or not MIN_NORM < length < math.inf:
            return []
        return select_best_witnesses(bounds, {"own": _RankingEvidence(sample, own / (length * radius))})

    def histograms(self, directions: Sequence[Any], stream: ExampleStream) -> list[Any]:
        return [None for _ in directions]

    def measure_witnesses(
        self, found: Sequence[NamedWitness], stream: ExampleStream, passes: int
    ) -> tuple[list[WitnessMeasurement], Mapping[str, Evidence]]:
        if not found:
            return [], {}
        sums, ranges = [init_sums(len(f.widths)) for f in found], np.zeros(1)
        wide = [np.asarray(f.witness, np.float64) for f in found]
        for rows, queries in stream():
            workspace = allocate_workspace(queries.starts)
            for f, u, total in zip(found, wide, sums, strict=True):
                widths = np.asarray(f.widths, np.float64)
                measure_queries(rows, queries.starts, queries.grades, u, widths, workspace, ranges, total)
        least = float(ranges[0])
        measured = [
            _scale_sq_radius(to_measurement(f.witness, f.widths, s), least) for f, s in zip(found, sums, strict=True)
        ]

        def documents() -> Iterator[SignedBatch]:
            for rows, queries in stream():
                yield rows, np.ones(len(queries.grades), np.int8)

        facts = {}
        for f, m in zip(found, measured, strict=True):
            e = build_evidence(m, bias=False, passes=passes, batches=documents)
            facts[f.name] = e._replace(radius_p=_scale_radius_p(e.radius_p, least))
        return measured, facts


def _scale_sq_radius(found: WitnessMeasurement, least: float) -> WitnessMeasurement:
    margin = found.margin if found.margin < math.inf else 0.0
    return found._replace(squared_radius=found.squared_radius * sq_radius_factor(least), margin=margin)


def _scale_radius_p(radius_p: Any, least: float) -> Any:
    return lambda p: radius_p(p) * radius_factor(least, p) * (1.0 + OUTWARD_TOLERANCE)


class _RankingEvidence(SampleEvidence):
    """Evidence of the sample for a direction."""

    def __init__(self, sample: Any, direction: NDArray[np.float64]) -> None:
        self.least_value = min(0.0, float(sample.rows.values.min(initial=0.0)))
        super().__init__(sample, direction, bias=False, target={})
        self.margins = self.margins[np.isfinite(self.margins)]

    def _compute_margins(self, sample: Any, direction: NDArray[np.float64], *, bias: bool) -> NDArray[np.float64]:
        out = np.empty(len(sample.labels))
        find_worst_query_margins(
            sample.rows, sample.starts, sample.grades, direction, allocate_workspace(sample.starts), out
        )
        return out

    def radius_p(self, p: float) -> float:
        return super().radius_p(p) * radius_factor(self.least_value, p)
