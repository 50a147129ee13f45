"""Explicit feature maps: each row becomes a longer row in which more concepts are linear.

    powers:3        x, x², x³ of each feature
    products:2      features, and products of two different ones
    poly:2          products of up to two features, also with themselves, each times the root of its multinomial
                    coefficient: x·z in this space, with a bias, is the kernel (1 + x·z)²
    conjunctions:2  features that are 0 or 1, and conjunctions of two of them

Each product has its own column (see `product_index.py`), or products are hashed into 2^bits slots.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from novikoff._compiled.lazy_numpy import ArrayLike, NDArray, np
from novikoff.data.canonical_rows import canonicalize, remove_zeros
from novikoff.data.feature_maps.product_index import count_product_columns, get_product_features
from novikoff.data.feature_maps.products import (
    NO_HASHING,
    ProductBuffers,
    ProductPlan,
    allocate_buffers,
    merge_collisions,
    write_powers,
    write_products,
)
from novikoff.data.rows import Rows, Sparse, count_rows
from novikoff.errors import InputError

if TYPE_CHECKING:
    from novikoff.data.reader import FileBatch

MAP_KINDS = ("powers", "products", "poly", "conjunctions")
MAX_DEGREE = 8
MAX_MAP_BITS = 31
MAX_MAP_COLUMNS = 1 << 24
"""Limit for products with their own columns: there is a weight for each."""
MAX_TERMS_PER_ROW = 1 << 22
"""Limit for the terms of one mapped row."""
TERMS_PER_CHUNK = 1 << 18
"""Terms of mapped short rows per chunk: they are learned while they are in the cache."""


class UnmappableRowError(InputError):
    """A row that becomes too many terms, or has a value that the map can't take."""

    def __init__(self, row: int, sentence: str) -> None:
        super().__init__(sentence)
        self.row = row


@dataclass(frozen=True)
class MapSpec:
    """A feature map `kind:degree`, and the bits into which products are hashed; None for a column per product."""

    kind: str
    degree: int
    bits: int | None = None

    @classmethod
    def parse(cls, text: str, bits: int | None = None) -> MapSpec:
        """Parse the text of a map, such as poly:2.

        >>> MapSpec.parse("poly:2").columns(3)
        9
        """
        kind, _, degree = text.partition(":")
        known = kind in MAP_KINDS and degree.isascii() and degree.isdigit() and 1 <= int(degree) <= MAX_DEGREE
        if not known:
            raise InputError(
                f"map must be {', '.join(f'{kind}:N' for kind in MAP_KINDS[:-1])} or {MAP_KINDS[-1]}:N with N from 1 to"
                f" {MAX_DEGREE}, but is {text!r}."
            )
        if bits is not None and not 1 <= bits <= MAX_MAP_BITS:
            raise InputError(f"feature_map_bits must be from 1 to {MAX_MAP_BITS}, but is {bits}.")
        return cls(kind, int(degree), bits)

    @property
    def text(self) -> str:
        return f"{self.kind}:{self.degree}"

    @property
    def plan(self) -> ProductPlan:
        mask = NO_HASHING if self.bits is None else (1 << self.bits) - 1
        return ProductPlan(self.degree, self.kind == "poly", self.kind == "poly", mask)

    def columns(self, features: int) -> int:
        """Return the number of columns for this number of features; raise InputError where it is too large."""
        if self.bits is not None:
            return 1 << self.bits
        count = self.products(features)
        if count > MAX_MAP_COLUMNS:
            raise InputError(
                f"The map {self.text} makes {count:,} columns of {features:,} features, more than {MAX_MAP_COLUMNS:,}:"
                " hash them, for example with --feature-map-bits 22 (feature_map_bits=22)."
            )
        return count

    def terms(self, terms: ArrayLike) -> NDArray[np.int64]:
        """Return the number of terms of mapped rows from those of the rows."""
        different, which = np.unique(terms, return_inverse=True)
        counts = np.array([self._count(int(n)) for n in different], np.int64)
        return counts[which] if len(counts) else np.zeros(0, np.int64)

    def _count(self, n: int) -> int:
        return min(self.products(n), MAX_TERMS_PER_ROW + 1)

    def products(self, features: int) -> int:
        """Return the number of products of this number of features."""
        repeated = self.plan.repeated
        return (
            features * self.degree
            if self.kind == "powers"
            else count_product_columns(features, self.degree, repeated=repeated)
        )

    def find_first_unmappable(self, rows: Sparse, counts: NDArray[np.int64]) -> UnmappableRowError | None:
        """Return the error for the first row that can't be mapped, if any; `counts` are the terms of mapped rows."""
        long = np.flatnonzero(counts > MAX_TERMS_PER_ROW)
        found = None
        if len(long):
            row = int(long[0])
            terms = int(rows.starts[row + 1] - rows.starts[row])
            found = UnmappableRowError(
                row,
                f"the map {self.text} makes more than {MAX_TERMS_PER_ROW:,} features of this example's {terms:,}:"
                " take a lower degree.",
            )
        if self.kind == "conjunctions":
            other = np.flatnonzero(rows.values != 1.0)
            if len(other):
                row = int(np.searchsorted(rows.starts, other[0], side="right")) - 1
                if found is None or row < found.row:
                    value = float(rows.values[other[0]])
                    found = UnmappableRowError(row, f"conjunctions need features that are 0 or 1, got {value:g}.")
        return found

    def name(self, column: int, names: list[str] | None = None) -> str:
        """Return the name of a column, from the features' names or numbers; hashed slots have numbers only.

        >>> MapSpec.parse("poly:2").name(3), MapSpec.parse("powers:3").name(5, ["size", "age"])
        ('0*1', 'age^3')
        """
        if self.bits is not None:
            return str(column)
        if self.kind == "powers":
            parts = (column // self.degree,) * (column % self.degree + 1)
        else:
            parts = get_product_features(column, self.degree, repeated=self.plan.repeated)
        factors = []
        for feature in dict.fromkeys(parts):
            power, name = parts.count(feature), str(feature) if names is None else names[feature]
            factors.append(f"{name}^{power}" if power > 1 else name)
        return "*".join(factors)


class Mapper:
    """Maps the rows of one stream, batch by batch."""

    def __init__(self, chosen: MapSpec) -> None:
        self.map = chosen
        self.stamps, self.terms_seen = np.zeros(0 if chosen.bits is None else 1 << chosen.bits, np.int64), 0

    def pieces(self, rows: Rows, features: int) -> Iterator[tuple[Sparse, int, int]]:
        """Yield mapped rows piece by piece, with the numbers of the first row and of the one after the last.

        Raise UnmappableRowError for a row that can't be mapped, after the rows before it.
        """
        self.map.columns(features)
        plain = _trim(canonicalize(rows, 0, count_rows(rows), features))
        lengths = np.diff(plain.starts)
        counts = self.map.terms(lengths)
        bad = self.map.find_first_unmappable(plain, counts)
        buffers = allocate_buffers(int(lengths.max(initial=0)), self.map.degree)
        start, good, ends = 0, len(counts) if bad is None else bad.row, np.cumsum(counts)
        while start < good:
            before = int(ends[start - 1]) if start else 0
            stop = min(good, max(start + 1, int(np.searchsorted(ends, before + TERMS_PER_CHUNK, side="right"))))
            made = self._map_chunk(plain, start, stop, counts[start:stop], buffers)
            large = _find_first_non_finite(made)
            if large is not None:
                bad, good, stop = self._build_overflow_error(start + large), start + large, start + large
                made = self._map_chunk(plain, start, stop, counts[start:stop], buffers)
            if stop > start:
                yield made, start, stop
            start = stop
        if bad is not None:
            raise bad

    def batches(self, batch: FileBatch, left_out: Counter[str] | None) -> Iterator[FileBatch]:
        """Yield the batch mapped, in pieces. Unmappable examples are counted in `left_out`; if that is None, they
        raise."""
        features, start = self.map.columns(batch.features), 0
        while start < len(batch):
            rest = batch.part(start, len(batch))
            try:
                for rows, begin, end in self.pieces(rest.rows, batch.features):
                    yield replace(rest.part(begin, end, rows), features=features)
                break
            except UnmappableRowError as problem:
                if left_out is None:
                    raise InputError(f"{rest.get_location(problem.row)}: {problem}") from None
                left_out["map"] += 1
                start += problem.row + 1

    def _build_overflow_error(self, row: int) -> UnmappableRowError:
        return UnmappableRowError(row, f"the map {self.map.text} overflows on this example: scale the features.")

    def _map_chunk(
        self, rows: Sparse, start: int, stop: int, counts: NDArray[np.int64], buffers: ProductBuffers
    ) -> Sparse:
        starts = np.concatenate([[0], np.cumsum(counts)])
        out = Sparse(starts, np.empty(starts[-1], np.uint32), np.empty(starts[-1], rows.values.dtype))
        if self.map.kind == "powers":
            write_powers(rows, start, stop, self.map.plan, out)
        else:
            write_products(rows, start, stop, self.map.plan, buffers, out)
        if self.map.bits is not None:
            self.terms_seen += merge_collisions(out, self.stamps, self.terms_seen)
            out = _trim(out)
        # Underflow makes zeros, which are dropped.
        return out if out.values.all() else _trim(remove_zeros(out))


def _trim(rows: Sparse) -> Sparse:
    """Cut the arrays at the last term."""
    end = int(rows.starts[-1])
    return Sparse(rows.starts, rows.indices[:end], rows.values[:end])


def _find_first_non_finite(rows: Sparse) -> int | None:
    """Return the first row with a number that is not finite."""
    if np.isfinite(rows.values.sum(dtype=np.float64)):
        return None
    bad = np.flatnonzero(~np.isfinite(rows.values))
    return int(np.searchsorted(rows.starts, bad[0], side="right")) - 1 if len(bad) else None
