"""The space of a kernel: a witness is u = Σ β_j·φ(x_j) over examples of the stream, by their numbers.

y·u·φ(x) = y·Σ β_j·K(x_j, x), ‖u‖² = Σ β_i·β_j·K(x_i, x_j), R² = max K(x, x). For more than two classes each column of
weights has a witness of its own, and all are kept as one: number j·columns + c is β_j of column c.

There is no witness where measuring it would take more than MOST_WORK products, nor for a kernel that is a Python
function or a Gram matrix: nobody has shown that these are kernels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.spaces import kernel_search
from novikoff.certificates.witness_selection import (SHORTEST, Found, Guess, best_of)
from novikoff.certificates.spaces.kernel_measure import (Supports, collected, evidence, length, measured, supports_of, values)
from novikoff.certificates.spaces.base import Stream
from novikoff.certificates.multiclass_sample import rows_of
from novikoff.kernels.expression import Precomputed
from novikoff.kernels.gram import in_terms
from novikoff.kernels.support_set import rows_kept
from novikoff.kernels.bytecode import compiled_from
from novikoff.kernels.parser import kernel_of
from novikoff.core.kernel.expansion import KEPT
from novikoff.data.rows import (Rows, Sparse, cut, how_many)
from novikoff.theory.bounds import Bound, Evidence

SUPPORTS = 2000  # examples that u is made of, at most
JUDGES = 2000  # examples that tell how good a direction is
MOST_WORK = 2e11  # products
MOST_NUMBERS = 50_000_000
WIDTHS = 2  # of each column


class Sample(NamedTuple):
    """What every example asks for, and some examples with their numbers."""

    rows: Sparse
    numbers: NDArray[np.int64]
    labels: NDArray[np.int64]
    """Of all examples: the number of the class, below 0 for those that are left out."""
    total: int

    def share(self) -> float:
        return self.total / max(1, len(self.numbers))


class Gatherer:
    """Keeps all labels, and rows until they are many; then every second of them, and so on."""

    def __init__(self) -> None:
        self.kept: list[tuple[int, Sparse]] = []
        self.labels: list[NDArray[np.int64]] = []
        self.total, self.stride = 0, 1

    def add(self, rows: Rows, codes: Any) -> None:
        codes = np.array(codes, np.int64)
        for i in range(-self.total % self.stride, len(codes), self.stride):
            if codes[i] >= 0 and (self.total + i) % self.stride == 0:
                self.kept.append((self.total + i, rows_of([cut(rows, i, i + 1)])))
                if len(self.kept) > 2 * JUDGES:
                    self.stride *= 2
                    self.kept = [(number, row) for number, row in self.kept if number % self.stride == 0]
        self.labels.append(codes)
        self.total += len(codes)

    def sample(self) -> Sample | None:
        if not self.kept:
            return None
        numbers = np.array([number for number, _ in self.kept], np.int64)
        return Sample(rows_of([row for _, row in self.kept]), numbers, np.concatenate(self.labels), self.total)


class InKernel:
    def __init__(self, model: Any) -> None:
        self.model = model

    # Asked for when the model has learned.

    @cached_property
    def kernel(self) -> Any:
        return kernel_of(self.model.kernel)

    @property
    def features(self) -> int:
        return int(max(1, self.model._fitted().features))

    @property
    def columns(self) -> int:
        return int(self.model._fitted().columns)

    @cached_property
    def bounds(self) -> Sequence[Bound]:
        """Of a column, or of the only one."""
        found: Sequence[Bound] = self.model.bounds()
        return found if self.columns == 1 or not found else self.model.theorems_of_a_column()

    def gatherer(self) -> Gatherer:
        return Gatherer()

    def slots(self) -> int:
        """A number for each example that was learned and each column; those of one pass are used."""
        return int(self.model.ledger_.examples) * self.columns

    def histograms(self, directions: Sequence[Any], stream: Stream) -> list[Any]:
        return [None for _ in directions]

    def _side(self, codes: Any, c: int) -> NDArray[np.float64]:
        """−1 or +1, 0 for those that are left out."""
        codes = np.asarray(codes)
        return np.where(codes < 0, 0.0, np.where(codes == (1 if self.columns == 1 else c), 1.0, -1.0))

    # --- Searching ---

    def witnesses(self, sample: Sample, budget: int) -> list[Found]:
        unknown = isinstance(self.kernel, Precomputed) or compiled_from(self.kernel)[1]
        left_out = int(self.model.ledger_.examples) % sample.total  # then numbers don't say which example it was
        if not self.bounds or unknown or left_out or self.slots() > MOST_NUMBERS:
            return []
        supports = self._supports(sample)
        terms = len(sample.rows.values) / max(1, how_many(sample.rows))
        if float(sample.total) * len(supports.numbers) * (terms + 8.0) > MOST_WORK or not len(supports.numbers):
            return []
        mutual = values(self.kernel, supports, supports.rows)[0].value
        judges = values(self.kernel, supports, in_terms(sample.rows, self.features))[0].value
        scale = float(self.model.ledger_.radius) ** 2
        if not 0.0 < scale < math.inf or not (np.isfinite(judges).all() and np.isfinite(mutual).all()):
            return []
        seen = _Seen(sample, supports.numbers, mutual, judges, scale)
        best = [self._column(seen, c, budget // self.columns) for c in range(self.columns)]
        if self.columns == 1 or not all(best):
            return best[0] if self.columns == 1 else []
        u = np.stack([one[0].witness for one in best], axis=1)
        widths = tuple(width for one in best for width in one[0].widths)
        return [Found("columns", u.reshape(-1), widths)]

    def _supports(self, sample: Sample) -> Supports:
        """The examples that u is made of: all of a small stream, else those that were kept, the heaviest of them, and
        as many others as there is room for."""
        if how_many(sample.rows) == np.count_nonzero(sample.labels >= 0) and how_many(sample.rows) <= SUPPORTS:
            return supports_of(in_terms(sample.rows, self.features), sample.numbers, self.features)
        state = self.model._fitted()
        numbers, once = np.unique(self._numbers_kept(sample.total), return_index=True)
        weight = np.abs(self.model.dual_coef_).sum(axis=0)[once]
        weight[sample.labels[numbers] < 0] = 0.0
        good = np.argsort(-weight, kind="stable")[: min(SUPPORTS, int(np.count_nonzero(weight)))]
        kept = rows_kept(state.dual.kept, int(state.dual.counts[KEPT]))
        chosen = {int(numbers[g]): cut(kept, int(once[g]), int(once[g]) + 1) for g in good}
        others = np.flatnonzero(~np.isin(sample.numbers, list(chosen)))
        places = np.linspace(0, len(others), min(len(others), SUPPORTS - len(chosen)), endpoint=False).astype(np.int64)
        for k in others[places].tolist():
            chosen[int(sample.numbers[k])] = in_terms(cut(sample.rows, k, k + 1), self.features)
        order = sorted(chosen)
        rows = rows_of([chosen[number] for number in order] or [cut(kept, 0, 0)])
        return supports_of(rows, np.array(order, np.int64), self.features)

    def _numbers_kept(self, total: int) -> NDArray[np.int64]:
        """Which examples of a pass those are that were kept."""
        dual = self.model._fitted().dual
        numbers: NDArray[np.int64] = (dual.first[: int(dual.counts[KEPT])] - 1) % max(1, total)
        return numbers

    def _column(self, seen: _Seen, c: int, budget: int) -> list[Found]:
        """The best witness for each theorem; where there are many columns, the one for the tightest of a column's."""
        sample, numbers, radius = seen.sample, seen.numbers, math.sqrt(seen.scale)
        y = self._side(sample.labels[numbers], c)
        found = kernel_search.directions(seen.mutual / seen.scale, y, budget)
        mine = dict(zip(self._numbers_kept(sample.total).tolist(), self.model.dual_coef_[c].tolist(), strict=True))
        found["own"] = np.array([mine.get(number, 0.0) for number in numbers.tolist()])
        sides, guesses = self._side(sample.labels[sample.numbers], c), dict[str, Guess]()
        for name, raw in found.items():
            norm = math.sqrt(max(0.0, float(raw @ seen.mutual @ raw)))
            if SHORTEST < norm < math.inf:
                beta = raw / (norm * radius)
                direction = np.zeros(int(self.model.ledger_.examples))
                direction[numbers] = beta
                guesses[name] = _Guess(direction, sides * (seen.judges @ beta), sample.share(), radius)
        if self.columns == 1:
            return best_of(self.bounds, guesses)
        best = [one for bound in self.bounds for one in best_of([bound], guesses)]
        return sorted(best, key=lambda one: self._allowed(one, guesses))[:1]

    def _allowed(self, one: Found, guesses: Mapping[str, Guess]) -> float:
        """What the tightest theorem of a column says with this witness, on the sample."""
        guess = guesses[one.name.rpartition(" for ")[0]]
        at = int(np.abs(guess.direction).argmax())
        e = guess.evidence(float(one.witness[at]) / float(guess.direction[at]), one.widths)
        return min((value for bound in self.bounds if (value := bound.value(e)) is not None), default=math.inf)

    # --- Measuring ---

    def facts(self, found: Sequence[Found], stream: Stream, passes: int) -> tuple[list[Any], Mapping[str, Evidence]]:
        if not found:
            return [], {}
        tables = [np.asarray(f.witness, np.float64).reshape(-1, self.columns) for f in found]
        used = np.flatnonzero(np.any([table.any(axis=1) for table in tables], axis=0))
        supports = collected(stream(), used, self.features)
        betas = [np.ascontiguousarray(t[supports.numbers, c]) for t in tables for c in range(self.columns)]
        widths = [w for f in found for w in np.asarray(f.widths, np.float64).reshape(self.columns, -1)]

        def side(codes: Any, k: int) -> NDArray[np.float64]:
            return self._side(codes, k % self.columns)

        done = measured(self.kernel, supports, betas, widths, stream(), side, self.features)
        each = [evidence(m, length(self.kernel, supports, beta), passes) for m, beta in zip(done, betas, strict=True)]
        if self.columns == 1:
            return done, {f.name: e for f, e in zip(found, each, strict=True)}
        groups = range(0, len(done), self.columns)
        facts = {f.name: _joint(each[at : at + self.columns]) for f, at in zip(found, groups, strict=True)}
        return [done[at : at + self.columns] for at in groups], facts


class _Seen(NamedTuple):
    """What the search looks at."""

    sample: Sample
    numbers: NDArray[np.int64]
    mutual: NDArray[np.float64]
    """K of supports with each other."""
    judges: NDArray[np.float64]
    """K of the sample with the supports."""
    scale: float
    """R²."""


class _Guess(Guess):
    """What the sample says of a direction with R‖u‖ = 1, at any length."""

    def __init__(
        self, direction: NDArray[np.float64], reached: NDArray[np.float64], share: float, radius: float
    ) -> None:
        self.direction, self.margins, self.share, self.radius = direction, reached, share, radius
        self.least = float(reached.min(initial=math.inf))
        self.norm, self.target = 1.0 / radius, {}

    def radius_p(self, p: float) -> float:
        return self.radius if p == 2.0 else math.inf


def _joint(parts: Sequence[Evidence]) -> Evidence:
    """All columns together, for show, and each by itself, for the theorems."""
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
