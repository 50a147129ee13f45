"""Preference space of multiclass models: one witness with a weight for each slot and column."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.base.internals import require_state
from novikoff.certificates.margin_histogram import HistogramBuilder, normalize
from novikoff.certificates.measure import (
    OUTWARD_TOLERANCE,
    SignedBatch,
    WitnessMeasurement,
    build_evidence,
    max_power_sum,
)
from novikoff.certificates.multiclass_sample import MulticlassSample, MulticlassStreamSampler, mark_included
from novikoff.certificates.search import multiclass_search
from novikoff.certificates.search.witness_selection import MIN_NORM, NamedWitness, SampleEvidence, select_best_witnesses
from novikoff.certificates.spaces.base import ExampleStream
from novikoff.certificates.spaces.pairwise_measure import (
    PairwiseMeasurer,
    PreferenceBatch,
    allocate_workspace,
    find_worst_margins,
    measure_preferences,
    pad_columns,
)
from novikoff.core.multiclass.schemes import LABEL_TREE, columns_needed, radius_factor
from novikoff.multiclass.internals import encode_targets, scheme_of, weights_of
from novikoff.theory.bound_declaration import Evidence


class PairwiseSpace:
    def __init__(self, model: Any) -> None:
        self.model = model

    # These read the fitted model.

    @cached_property
    def known(self) -> int:
        return len(require_state(self.model).labels)

    @cached_property
    def scheme(self) -> Any:
        return scheme_of(self.model, require_state(self.model).labels)

    @property
    def columns(self) -> int:
        return int(columns_needed(self.scheme, self.known))

    @property
    def stretch(self) -> float:
        return float(radius_factor(self.scheme, self.known))

    @property
    def bias(self) -> bool:
        return bool(self.model.fit_intercept)

    def make_sampler(self) -> MulticlassStreamSampler:
        return MulticlassStreamSampler()

    def slots(self) -> int:
        return int(require_state(self.model).features + 1) * self.columns

    def witnesses(self, sample: MulticlassSample, budget: int) -> list[NamedWitness]:
        bounds = [bound for bound in self.model.bounds() if bound.by_witness]
        if not bounds or not self.known:
            return []
        found = {**self._find_directions(sample, budget), "own": self._get_own_weights()}
        radius = math.sqrt(max_power_sum(sample.rows, sample.labels, 2.0, float(self.bias)))
        guesses = {
            name: _PairwiseEvidence(self, sample, u.reshape(-1) / (_compute_norm(u) * radius))
            for name, u in found.items()
            if radius > 0.0 and MIN_NORM < _compute_norm(u) < math.inf
        }
        return select_best_witnesses(bounds, guesses)

    def _find_directions(self, sample: MulticlassSample, budget: int) -> Mapping[str, NDArray[np.float64]]:
        """Return directions of the multiclass SVM if classes compete with each other."""
        if len(encode_targets(self.model, sample.codes).classes) == 0:
            return {}
        features = require_state(self.model).features
        found = multiclass_search.find_directions(
            sample, self.known, features, bias=self.bias, stretch=self.stretch, budget=budget
        )
        if self.scheme.kind != LABEL_TREE:
            return found
        paths = np.zeros((self.known, self.columns))
        for c in range(self.known):
            paths[c, self.scheme.nodes[self.scheme.starts[c] : self.scheme.starts[c + 1]]] = 1.0
        # The shortest node weights whose sums along the paths are the class weights.
        onto = np.linalg.pinv(paths)
        return {name: np.einsum("jc,nc->jn", u, onto) for name, u in found.items()}

    def _get_own_weights(self) -> NDArray[np.float64]:
        """Return the model's own weights."""
        u: NDArray[np.float64] = weights_of(self.model)
        if not self.bias:
            u[0] = 0.0
        # The mean of the columns affects no preference and only lengthens u.
        return u if self.scheme.kind == LABEL_TREE else u - u.mean(axis=1, keepdims=True)

    def measure_witnesses(
        self, found: Sequence[NamedWitness], stream: ExampleStream, passes: int
    ) -> tuple[list[WitnessMeasurement], Mapping[str, Evidence]]:
        if not found:
            return [], {}
        meter = PairwiseMeasurer(
            self.scheme,
            self.columns,
            self.known,
            bias=self.bias,
            witnesses=[f.witness for f in found],
            widths=[f.widths for f in found],
        )

        def iter_targets() -> Iterator[PreferenceBatch]:
            for rows, codes in stream():
                yield rows, encode_targets(self.model, codes), mark_included(codes)

        measured = measure_preferences(meter, iter_targets(), self.stretch)
        return measured, self.evidence(found, measured, stream, passes)

    def evidence(
        self, found: Sequence[NamedWitness], measured: Sequence[WitnessMeasurement], stream: ExampleStream, passes: int
    ) -> Mapping[str, Evidence]:
        """Return the evidence that follows from the measurements."""

        def iter_sides() -> Iterator[SignedBatch]:
            for rows, codes in stream():
                yield rows, mark_included(codes)

        facts = {}
        for f, m in zip(found, measured, strict=True):
            e = build_evidence(m, bias=self.bias, passes=passes, batches=iter_sides)
            facts[f.name] = e._replace(radius_p=self._scale_radius_p(e.radius_p))
        return facts

    def histograms(self, directions: Sequence[Any], stream: ExampleStream) -> list[Any]:
        """Return histograms of the margin of each example's worst preference."""
        scaled = [normalize(np.asarray(u, np.float64).reshape(-1)) for u in directions]
        wide = [None if u is None or len(u) != self.slots() else pad_columns(u, self.columns) for u in scaled]
        tallies = [HistogramBuilder() for _ in wide]
        workspace = allocate_workspace(self.columns)
        for rows, codes in stream():
            targets, there, out = encode_targets(self.model, codes), mark_included(codes), np.empty(len(codes))
            for u, tally in zip(wide, tallies, strict=True):
                if u is not None:
                    find_worst_margins(
                        self.scheme, targets, there, rows, u, float(self.bias), self.known, workspace, out
                    )
                    tally.add(out)
        return [tally.build_histogram() if tally.counts.any() else None for tally in tallies]

    def _scale_radius_p(self, radius_p: Any) -> Any:
        """Bound ‖x_ab‖_p from ‖x‖_p: ±x stands in at most `radius_factor` columns."""
        return lambda p: radius_p(p) * (1.0 if p == math.inf else self.stretch ** (1.0 / p) * (1.0 + OUTWARD_TOLERANCE))


def _compute_norm(u: NDArray[np.float64]) -> float:
    """Return ‖u‖ with an order of summation that does not depend on the number of threads."""
    return float(np.sqrt(np.square(u).sum()))


class _PairwiseEvidence(SampleEvidence):
    """Evidence of the sample for a direction in the space of preferences."""

    def __init__(self, space: PairwiseSpace, sample: Any, direction: NDArray[np.float64]) -> None:
        self.space = space
        super().__init__(sample, direction, bias=space.bias, target={})
        self.margins = self.margins[np.isfinite(self.margins)]

    def _compute_margins(self, sample: Any, direction: NDArray[np.float64], *, bias: bool) -> NDArray[np.float64]:
        space, out = self.space, np.empty(len(sample.labels))
        find_worst_margins(
            space.scheme,
            encode_targets(space.model, sample.codes),
            sample.labels,
            sample.rows,
            pad_columns(direction, space.columns),
            float(bias),
            space.known,
            allocate_workspace(space.columns),
            out,
        )
        return out

    def radius_p(self, p: float) -> float:
        return super().radius_p(p) * (1.0 if p == math.inf else self.space.stretch ** (1.0 / p))
