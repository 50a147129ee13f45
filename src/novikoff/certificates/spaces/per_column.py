"""Space of multiclass reductions: a binary problem, with its own witness, for each column of weights.

The witnesses of all columns are stored as one, with a weight for each slot and column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.base.internals import require_state
from novikoff.certificates.measure import (
    SignedBatch,
    WitnessMeasurement,
    build_evidence,
    init_sums,
    measure,
    measure_rows,
    norm_rounded_up,
    to_measurement,
)
from novikoff.certificates.multiclass_sample import MulticlassSample, MulticlassStreamSampler
from novikoff.certificates.search import witness_search
from novikoff.certificates.search.witness_selection import NamedWitness, select_witnesses
from novikoff.certificates.spaces.base import ExampleStream
from novikoff.multiclass.internals import column_sides_of, count_used_columns, inner_column_bounds_of
from novikoff.theory.bound_declaration import Bound, Evidence

MAX_COLUMNS = 1000
SLACK_WIDTHS_PER_COLUMN = 2


class PerColumnSpace:
    def __init__(self, model: Any) -> None:
        self.model = model

    # These read the fitted model.

    @cached_property
    def columns(self) -> int:
        return int(count_used_columns(self.model, require_state(self.model)))

    @cached_property
    def bounds(self) -> Sequence[Bound]:
        """The bounds of one column."""
        found: Sequence[Bound] = inner_column_bounds_of(self.model)
        return found

    @property
    def bias(self) -> bool:
        return bool(self.model.fit_intercept)

    def make_sampler(self) -> MulticlassStreamSampler:
        return MulticlassStreamSampler()

    def slots(self) -> int:
        return int(require_state(self.model).features + 1) * self.columns

    def witnesses(self, sample: MulticlassSample, budget: int) -> list[NamedWitness]:
        if not self.model.bounds() or not 0 < self.columns <= MAX_COLUMNS:
            return []
        u = np.zeros((require_state(self.model).features + 1, self.columns), np.float32)
        widths: list[float] = []
        for c in range(self.columns):
            best = self._find_best_witness(sample, c, budget // self.columns)
            if best is not None:
                u[:, c] = best.witness
            widths += (1.0, 1.0) if best is None else best.widths
        return [NamedWitness("columns", u.reshape(-1), tuple(widths))]

    def _find_best_witness(self, sample: MulticlassSample, c: int, budget: int) -> NamedWitness | None:
        """Return the witness with the tightest bound of this column."""
        own = witness_search.BinarySample(sample.rows, column_sides_of(self.model, sample.codes, c), sample.total)
        if not own.labels.any():
            return None
        directions = witness_search.find_directions(
            own, require_state(self.model).features, bias=self.bias, budget=budget
        )
        found = select_witnesses(self.bounds, directions, own, bias=self.bias, target={})

        def compute_bound(one: NamedWitness) -> float:
            batch = (own.rows, own.labels)
            (seen,) = measure([batch], [one.witness], bias=self.bias, widths=[one.widths])
            return self._min_bound(build_evidence(seen, bias=self.bias, passes=1, batches=lambda: [batch]))

        return min(found, key=compute_bound, default=None)

    def _min_bound(self, e: Evidence) -> float:
        values = [value for bound in self.bounds if (value := bound.value(e)) is not None]
        return min(values, default=math.inf)

    def histograms(self, directions: Sequence[Any], stream: ExampleStream) -> list[Any]:
        return [None for _ in directions]

    def measure_witnesses(
        self, found: Sequence[NamedWitness], stream: ExampleStream, passes: int
    ) -> tuple[list[Any], Mapping[str, Evidence]]:
        measured = [self._measure_columns(f, stream) for f in found]
        return measured, self.evidence(found, measured, stream, passes)

    def evidence(
        self, found: Sequence[NamedWitness], measured: Sequence[Any], stream: ExampleStream, passes: int
    ) -> Mapping[str, Evidence]:
        """Return the evidence that follows from the measurements."""
        return {f.name: self._combine_columns(f, m, stream, passes) for f, m in zip(found, measured, strict=True)}

    def _measure_columns(self, found: NamedWitness, stream: ExampleStream) -> list[WitnessMeasurement]:
        """Measure each column in one pass."""
        parts = [np.ascontiguousarray(part) for part in found.witness.reshape(-1, self.columns).T]
        widths = np.asarray(found.widths, np.float64).reshape(self.columns, SLACK_WIDTHS_PER_COLUMN)
        sums = [init_sums(SLACK_WIDTHS_PER_COLUMN) for _ in parts]
        wide = [part.astype(np.float64) for part in parts]
        for rows, codes in stream():
            for c in range(self.columns):
                measure_rows(rows, column_sides_of(self.model, codes, c), wide[c], float(self.bias), widths[c], sums[c])
        done = [to_measurement(parts[c], widths[c].tolist(), sums[c]) for c in range(self.columns)]
        return [m._replace(margin=m.margin if m.examples else 0.0) for m in done]

    def _combine_columns(
        self, found: NamedWitness, measured: Sequence[WitnessMeasurement], stream: ExampleStream, passes: int
    ) -> Evidence:
        """Combine the evidence of all columns for display; the theorems use `parts`. Columns without examples are
        omitted.
        """
        parts = []
        for c, m in enumerate(measured):
            if m.examples:
                parts.append(build_evidence(m, bias=self.bias, passes=passes, batches=self._column_batches(stream, c)))
        return Evidence(
            radius=max((e.radius for e in parts), default=0.0),
            radius_p=lambda p: max((e.radius_p(p) for e in parts), default=0.0),
            norm=norm_rounded_up(found.witness),
            norm_q=lambda q: norm_rounded_up(found.witness, q),
            margin=-math.inf,
            losses={name: math.fsum(e.losses[name] for e in parts) for name in ("hinge", "logistic", "squared")},
            slack=lambda _: math.inf,
            parts=tuple(parts),
        )

    def _column_batches(self, stream: ExampleStream, c: int) -> Any:
        def batches() -> Iterator[SignedBatch]:
            for rows, codes in stream():
                sides: NDArray[np.int8] = column_sides_of(self.model, codes, c)
                yield rows, sides

        return batches
