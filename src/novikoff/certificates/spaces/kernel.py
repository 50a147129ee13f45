"""Kernel space: a witness is u = Σ β_j·φ(x_j) over examples of the stream, identified by their numbers.

y·u·φ(x) = y·Σ β_j·K(x_j, x), ‖u‖² = Σ β_i·β_j·K(x_i, x_j), R² = max K(x, x). With more than two classes each column
of weights has its own witness. They are stored as one: number j·columns + c is β_j of column c.

There is no witness where measuring it would take more than MAX_PRODUCTS products. There is none for a kernel that is
a Python function or a Gram matrix, because these are not proved to be kernels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.base.internals import require_state
from novikoff.certificates.multiclass_sample import join_rows
from novikoff.certificates.search.witness_selection import MIN_NORM, NamedWitness, SampleEvidence, select_best_witnesses
from novikoff.certificates.spaces import kernel_search
from novikoff.certificates.spaces.base import ExampleStream
from novikoff.certificates.spaces.kernel_measure import (
    WitnessSupport,
    bound_norm,
    build_kernel_evidence,
    build_support,
    collect_support,
    evaluate_kernel,
    measure_kernel_witnesses,
)
from novikoff.core.kernel.expansion import N_SUPPORT
from novikoff.data.rows import Rows, Sparse, count_rows, slice_rows
from novikoff.kernels.bytecode import compile_kernel
from novikoff.kernels.expression import Precomputed
from novikoff.kernels.gram import to_canonical_sparse
from novikoff.kernels.parser import to_kernel
from novikoff.kernels.support_set import support_rows
from novikoff.multiclass.internals import inner_column_bounds_of
from novikoff.theory.bound_declaration import Bound, Evidence

MAX_SUPPORT_EXAMPLES = 2000  # in u
MAX_JUDGING_EXAMPLES = 2000  # on which directions are compared
MAX_PRODUCTS = 2e11
MAX_WITNESS_LENGTH = 50_000_000
SLACK_WIDTHS_PER_COLUMN = 2


class KernelSample(NamedTuple):
    """Encoded targets of all examples, and some of the examples with their numbers."""

    rows: Sparse
    numbers: NDArray[np.int64]
    labels: NDArray[np.int64]
    """Class numbers of all examples; below 0 for excluded ones."""
    total: int

    def share(self) -> float:
        return self.total / max(1, len(self.numbers))


class KernelStreamSampler:
    """Sampler that keeps all labels, and an even share of the rows."""

    def __init__(self) -> None:
        self.kept: list[tuple[int, Sparse]] = []
        self.labels: list[NDArray[np.int64]] = []
        self.total, self.stride = 0, 1

    def add(self, rows: Rows, codes: Any) -> None:
        codes = np.array(codes, np.int64)
        for i in range(-self.total % self.stride, len(codes), self.stride):
            if codes[i] >= 0 and (self.total + i) % self.stride == 0:
                self.kept.append((self.total + i, join_rows([slice_rows(rows, i, i + 1)])))
                if len(self.kept) > 2 * MAX_JUDGING_EXAMPLES:
                    self.stride *= 2
                    self.kept = [(number, row) for number, row in self.kept if number % self.stride == 0]
        self.labels.append(codes)
        self.total += len(codes)

    def sample(self) -> KernelSample | None:
        if not self.kept:
            return None
        numbers = np.array([number for number, _ in self.kept], np.int64)
        return KernelSample(join_rows([row for _, row in self.kept]), numbers, np.concatenate(self.labels), self.total)


class KernelSpace:
    def __init__(self, model: Any) -> None:
        self.model = model

    # These read the fitted model.

    @cached_property
    def kernel(self) -> Any:
        return to_kernel(self.model.kernel)

    @property
    def features(self) -> int:
        return int(max(1, require_state(self.model).features))

    @property
    def columns(self) -> int:
        return int(require_state(self.model).columns)

    @cached_property
    def bounds(self) -> Sequence[Bound]:
        """The bounds of one column, or of the model if it has one column."""
        found: Sequence[Bound] = self.model.bounds()
        return found if self.columns == 1 or not found else inner_column_bounds_of(self.model)

    def make_sampler(self) -> KernelStreamSampler:
        return KernelStreamSampler()

    def slots(self) -> int:
        """Return the number of learned examples times columns; the numbers of one pass are used."""
        return int(self.model.ledger_.examples) * self.columns

    def histograms(self, directions: Sequence[Any], stream: ExampleStream) -> list[Any]:
        return [None for _ in directions]

    def _column_signs(self, codes: Any, c: int) -> NDArray[np.float64]:
        """Return −1 or +1 for each example, 0 for excluded ones."""
        codes = np.asarray(codes)
        return np.where(codes < 0, 0.0, np.where(codes == (1 if self.columns == 1 else c), 1.0, -1.0))

    # --- Searching ---

    def witnesses(self, sample: KernelSample, budget: int) -> list[NamedWitness]:
        unknown = isinstance(self.kernel, Precomputed) or compile_kernel(self.kernel)[1]
        left_out = int(self.model.ledger_.examples) % sample.total  # then numbers don't identify examples
        if not self.bounds or unknown or left_out or self.slots() > MAX_WITNESS_LENGTH:
            return []
        supports = self._choose_support(sample)
        terms = len(sample.rows.values) / max(1, count_rows(sample.rows))
        if float(sample.total) * len(supports.numbers) * (terms + 8.0) > MAX_PRODUCTS or not len(supports.numbers):
            return []
        mutual = evaluate_kernel(self.kernel, supports, supports.rows)[0].value
        judges = evaluate_kernel(self.kernel, supports, to_canonical_sparse(sample.rows, self.features))[0].value
        scale = float(self.model.ledger_.radius) ** 2
        if not 0.0 < scale < math.inf or not (np.isfinite(judges).all() and np.isfinite(mutual).all()):
            return []
        seen = _SearchInput(sample, supports.numbers, mutual, judges, scale)
        best = [self._find_best_witnesses(seen, c, budget // self.columns) for c in range(self.columns)]
        if self.columns == 1 or not all(best):
            return best[0] if self.columns == 1 else []
        u = np.stack([one[0].witness for one in best], axis=1)
        widths = tuple(width for one in best for width in one[0].widths)
        return [NamedWitness("columns", u.reshape(-1), widths)]

    def _choose_support(self, sample: KernelSample) -> WitnessSupport:
        """Choose the examples of u: all of a small stream, else the heaviest support vectors and random others."""
        if (
            count_rows(sample.rows) == np.count_nonzero(sample.labels >= 0)
            and count_rows(sample.rows) <= MAX_SUPPORT_EXAMPLES
        ):
            return build_support(to_canonical_sparse(sample.rows, self.features), sample.numbers, self.features)
        state = require_state(self.model)
        numbers, once = np.unique(self._support_numbers(sample.total), return_index=True)
        weight = np.abs(self.model.dual_coef_).sum(axis=0)[once]
        weight[sample.labels[numbers] < 0] = 0.0
        good = np.argsort(-weight, kind="stable")[: min(MAX_SUPPORT_EXAMPLES, int(np.count_nonzero(weight)))]
        kept = support_rows(state.dual.kept, int(state.dual.counts[N_SUPPORT]))
        chosen = {int(numbers[g]): slice_rows(kept, int(once[g]), int(once[g]) + 1) for g in good}
        others = np.flatnonzero(~np.isin(sample.numbers, list(chosen)))
        places = np.linspace(
            0, len(others), min(len(others), MAX_SUPPORT_EXAMPLES - len(chosen)), endpoint=False
        ).astype(np.int64)
        for k in others[places].tolist():
            chosen[int(sample.numbers[k])] = to_canonical_sparse(slice_rows(sample.rows, k, k + 1), self.features)
        order = sorted(chosen)
        rows = join_rows([chosen[number] for number in order] or [slice_rows(kept, 0, 0)])
        return build_support(rows, np.array(order, np.int64), self.features)

    def _support_numbers(self, total: int) -> NDArray[np.int64]:
        """Return the numbers, within a pass, of the model's support vectors."""
        dual = require_state(self.model).dual
        numbers: NDArray[np.int64] = (dual.first[: int(dual.counts[N_SUPPORT])] - 1) % max(1, total)
        return numbers

    def _find_best_witnesses(self, seen: _SearchInput, c: int, budget: int) -> list[NamedWitness]:
        """Return the best witness for each bound; with several columns, one for the tightest bound of this column."""
        sample, numbers, radius = seen.sample, seen.numbers, math.sqrt(seen.scale)
        y = self._column_signs(sample.labels[numbers], c)
        found = kernel_search.find_directions(seen.support_kernel / seen.scale, y, budget)
        mine = dict(zip(self._support_numbers(sample.total).tolist(), self.model.dual_coef_[c].tolist(), strict=True))
        found["own"] = np.array([mine.get(number, 0.0) for number in numbers.tolist()])
        sides, guesses = self._column_signs(sample.labels[sample.numbers], c), dict[str, SampleEvidence]()
        for name, raw in found.items():
            norm = math.sqrt(max(0.0, float(raw @ seen.support_kernel @ raw)))
            if MIN_NORM < norm < math.inf:
                beta = raw / (norm * radius)
                direction = np.zeros(int(self.model.ledger_.examples))
                direction[numbers] = beta
                guesses[name] = _KernelEvidence(direction, sides * (seen.sample_kernel @ beta), sample.share(), radius)
        if self.columns == 1:
            return select_best_witnesses(self.bounds, guesses)
        best = [one for bound in self.bounds for one in select_best_witnesses([bound], guesses)]
        return sorted(best, key=lambda one: self._compute_bound(one, guesses))[:1]

    def _compute_bound(self, one: NamedWitness, guesses: Mapping[str, SampleEvidence]) -> float:
        """Return the tightest bound of a column with this witness, on the sample."""
        guess = guesses[one.name.rpartition(" for ")[0]]
        at = int(np.abs(guess.direction).argmax())
        e = guess.evidence(float(one.witness[at]) / float(guess.direction[at]), one.widths)
        return min((value for bound in self.bounds if (value := bound.value(e)) is not None), default=math.inf)

    # --- Measuring ---

    def measure_witnesses(
        self, found: Sequence[NamedWitness], stream: ExampleStream, passes: int
    ) -> tuple[list[Any], Mapping[str, Evidence]]:
        if not found:
            return [], {}
        tables = [np.asarray(f.witness, np.float64).reshape(-1, self.columns) for f in found]
        used = np.flatnonzero(np.any([table.any(axis=1) for table in tables], axis=0))
        supports = collect_support(stream(), used, self.features)
        betas = [np.ascontiguousarray(t[supports.numbers, c]) for t in tables for c in range(self.columns)]
        widths = [w for f in found for w in np.asarray(f.widths, np.float64).reshape(self.columns, -1)]

        def find_side(codes: Any, k: int) -> NDArray[np.float64]:
            return self._column_signs(codes, k % self.columns)

        done = measure_kernel_witnesses(self.kernel, supports, betas, widths, stream(), find_side, self.features)
        each = [
            build_kernel_evidence(m, bound_norm(self.kernel, supports, beta), passes)
            for m, beta in zip(done, betas, strict=True)
        ]
        if self.columns == 1:
            return done, {f.name: e for f, e in zip(found, each, strict=True)}
        groups = range(0, len(done), self.columns)
        facts = {f.name: _combine_columns(each[at : at + self.columns]) for f, at in zip(found, groups, strict=True)}
        return [done[at : at + self.columns] for at in groups], facts


class _SearchInput(NamedTuple):
    """Input of the witness search."""

    sample: KernelSample
    numbers: NDArray[np.int64]
    support_kernel: NDArray[np.float64]
    """K between support examples."""
    sample_kernel: NDArray[np.float64]
    """K between the sample and the support examples."""
    scale: float
    """R²."""


class _KernelEvidence(SampleEvidence):
    """Evidence of the sample for a direction with R‖u‖ = 1, at any length."""

    def __init__(
        self, direction: NDArray[np.float64], reached: NDArray[np.float64], share: float, radius: float
    ) -> None:
        self.direction, self.margins, self.share, self.radius = direction, reached, share, radius
        self.least = float(reached.min(initial=math.inf))
        self.norm, self.target = 1.0 / radius, {}

    def radius_p(self, p: float) -> float:
        return self.radius if p == 2.0 else math.inf


def _combine_columns(parts: Sequence[Evidence]) -> Evidence:
    """Combine the evidence of all columns for display; the theorems use each column in `parts`."""
    nothing = math.inf
    return Evidence(
        radius=max(e.radius for e in parts),
        radius_p=lambda _: nothing,
        norm=math.sqrt(math.fsum(e.norm**2 for e in parts)),
        norm_q=lambda _: nothing,
        margin=-nothing,
        losses={name: math.fsum(e.losses[name] for e in parts) for name in ("hinge", "logistic", "squared")},
        slack=lambda _: nothing,
        parts=tuple(parts),
    )
