"""Sums of products with several columns of weights at once, each in the order of `_compiled/simd/dot.py`.

Weights of many classes stand feature by feature: the weight of slot j in column c is number j·width + c. Four to twenty
columns are summed up in one go, so that a term's weights are read side by side, and for each column terms go to
its eight lanes as they would go if it stood alone: the same bytes. Written twice, as in `_compiled/simd/dot.py`: as
Python, which says what it means, and as LLVM code.
"""

from __future__ import annotations

import math
from typing import Any

from novikoff._compiled.jit import cpu_has, primitive
from novikoff._compiled.lazy_numpy import np
from novikoff._compiled.simd.dot import LANES, prefetch, sum_in_lanes

BLOCK_COLUMNS = 4
"""Columns that a vector holds; the width of a table of weights is a multiple of this."""
AVX512_FEATURES = ("avx512f", "avx512vl")  # with 32 registers of eight numbers each


def _sparse_dot_columns(blocks: int) -> Any:
    def columns(
        values: Any, indices: Any, start: int, count: int, slots: Any, width: int, first_column: int, out: Any
    ) -> None:
        first = (indices[start : start + count].astype(np.int64) + 1) * width + first_column
        _dot_columns(blocks, values[start : start + count].astype(np.float64), first, slots, first_column, out)

    return columns


def _dense_dot_columns(blocks: int) -> Any:
    def columns(values: Any, start: int, count: int, slots: Any, width: int, first_column: int, out: Any) -> None:
        first = np.arange(1, count + 1) * width + first_column
        _dot_columns(blocks, values[start : start + count].astype(np.float64), first, slots, first_column, out)

    return columns


def _dot_columns(blocks: int, x: Any, first: Any, slots: Any, first_column: int, out: Any) -> None:
    weights = slots[:, 0] if slots.ndim == 2 else slots
    for column in range(BLOCK_COLUMNS * blocks):
        out[first_column + column] = sum_in_lanes(x * weights[first + column].astype(np.float64))


def _sum_of_squares(values: Any, start: int, count: int) -> float:
    x = values[start : start + count].astype(np.float64)
    return sum_in_lanes(x * x) if x.all() else math.nan


def _sparse_dot_columns_code(blocks: int) -> Any:
    def of(numba: Any, *_: Any) -> Any:
        from numba.core import types

        where = types.intp

        @numba.extending.intrinsic
        def sums(
            context: Any,
            values: Any,
            indices: Any,
            start: Any,
            count: Any,
            slots: Any,
            width: Any,
            first_column: Any,
            out: Any,
        ) -> Any:
            def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
                arg_types = signature.args
                values, indices, slots, out = ((arg_types[k], args[k]) for k in (0, 1, 4, 7))
                sums = _ColumnDotBuilder(target, builder, values, indices, slots, args[2], args[3])
                sums.write(blocks, out, args[5], args[6])
                return target.get_dummy_value()

            return types.void(values, indices, where, where, slots, where, where, out), code

        return lambda values, indices, start, count, slots, width, first_column, out: sums(  # noqa: PLW0108
            values, indices, start, count, slots, width, first_column, out
        )

    return of


def _dense_dot_columns_code(blocks: int) -> Any:
    def of(numba: Any, *_: Any) -> Any:
        from numba.core import types

        where = types.intp

        @numba.extending.intrinsic
        def sums(
            context: Any, values: Any, start: Any, count: Any, slots: Any, width: Any, first_column: Any, out: Any
        ) -> Any:
            def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
                arg_types = signature.args
                values, slots, out = ((arg_types[k], args[k]) for k in (0, 3, 6))
                sums = _ColumnDotBuilder(target, builder, values, None, slots, args[1], args[2])
                sums.write(blocks, out, args[4], args[5])
                return target.get_dummy_value()

            return types.void(values, where, where, slots, where, where, out), code

        return lambda values, start, count, slots, width, first_column, out: sums(  # noqa: PLW0108
            values, start, count, slots, width, first_column, out
        )

    return of


class _ColumnDotBuilder:
    """LLVM code for out[at + q] = Σ xₖ·w[(jₖ + 1)·width + at + q], jₖ the index of term k, or k itself, and q from 0 to
    4·blocks − 1. The lanes of all columns are kept in registers: with 32 long ones those of five blocks, otherwise
    those of three, half of the lanes at a time."""

    def __init__(self, target: Any, b: Any, values: Any, indices: Any, slots: Any, start: Any, count: Any) -> None:
        from llvmlite import ir

        self.ir, self.target, self.b, self.start, self.count = ir, target, b, start, count
        self.i32, self.i64, self.double = ir.IntType(32), ir.IntType(64), ir.DoubleType()
        self.pairs = slots[0].ndim == 2
        self.values = self.step(self.pointer(values), start)
        self.indices = None if indices is None else self.step(self.pointer(indices), start)
        self.weights = self.pointer(slots)
        arg_types = [self.values.type.pointee, self.weights.type.pointee]
        self.flags = ("contract",) if all(isinstance(kind, ir.FloatType) for kind in arg_types) else ()
        if indices is not None:
            # The terms whose weights are prefetched: those of the next row, assumed to be as long as this one, or of
            # this row at the end of the array.
            length = b.extract_value(target.make_array(indices[0])(target, b, indices[1]).shape, 0)
            after = b.add(start, count)
            there = b.icmp_signed("<=", b.add(after, count), length)
            self.later = self.step(self.pointer(indices), b.select(there, after, start))

    def number(self, n: int) -> Any:
        return self.ir.Constant(self.i64, n)

    def pointer(self, array: Any) -> Any:
        return self.target.make_array(array[0])(self.target, self.b, array[1]).data

    def step(self, base: Any, k: Any) -> Any:
        return self.b.gep(base, [k], inbounds=True)

    def write(self, blocks: int, out: Any, width: Any, first_column: Any) -> None:
        has_avx512 = cpu_has(self.target, AVX512_FEATURES)
        asks = self.b.icmp_signed("==", first_column, self.number(0)) if self.indices is not None else None
        self.row = self.b.mul(width, self.number(1 + self.pairs))
        for begin in range(0, blocks, blocks if has_avx512 else 3):
            some = min(blocks - begin, blocks if has_avx512 else 3)
            here = self.b.add(first_column, self.number(BLOCK_COLUMNS * begin))
            self.first = self.step(self.weights, self.b.add(self.row, self.b.mul(here, self.number(1 + self.pairs))))
            vectors = (
                [2 * BLOCK_COLUMNS] * (some // 2) + [BLOCK_COLUMNS] * (some % 2)
                if has_avx512
                else [BLOCK_COLUMNS] * some
            )
            at_once = LANES if has_avx512 or some == 1 else LANES // 2
            self.some(vectors, at_once, None if begin else asks, self.step(self.pointer(out), here))

    def some(self, vectors: list[int], at_once: int, asks: Any, out: Any) -> None:
        """Write some columns, in vectors of these lengths, with `lanes` lanes at once."""
        from numba.core import cgutils

        b, ir, number = self.b, self.ir, self.number

        def fresh() -> Any:
            arg_types = (ir.VectorType(self.double, length) for length in vectors)
            return [cgutils.alloca_once_value(b, ir.Constant(kind, [0.0] * kind.count)) for kind in arg_types]

        lanes, rest = [fresh() for _ in range(LANES)], fresh()
        full_groups = b.and_(self.count, number(-LANES))
        for low in range(0, LANES, at_once):
            with cgutils.for_range_slice(b, number(0), full_groups, number(LANES), self.i64) as (k, _):
                if asks is not None:
                    with b.if_then(asks):
                        for lane in range(low, low + at_once):
                            self.ask(b.add(k, number(lane)))
                for lane in range(low, low + at_once):
                    here = b.add(k, number(lane))
                    self.add(lanes[lane], b.load(self.step(self.values, here)), here)
        with b.if_else(b.icmp_signed(">=", self.count, number(LANES))) as (many, few):
            with many:
                # The last group: those of its lanes whose terms were in a whole group already add 0.
                k = b.sub(self.count, number(LANES))
                new = b.sub(full_groups, k)
                for lane in range(LANES):
                    here = b.add(k, number(lane))
                    counts = b.icmp_signed(">=", number(lane), new)
                    x = b.load(self.step(self.values, here))
                    self.add(lanes[lane], b.select(counts, x, ir.Constant(x.type, 0.0)), here)
            with few, cgutils.for_range_slice(b, number(0), self.count, number(1), self.i64) as (k, _):
                self.add(rest, b.load(self.step(self.values, k)), k)
        for vector, total in enumerate(rest):
            sums = [b.load(lane[vector]) for lane in lanes]
            while len(sums) > 1:
                middle = len(sums) // 2
                sums = [b.fadd(low, high) for low, high in zip(sums[:middle], sums[middle:], strict=True)]
            here = self.step(out, number(sum(vectors[:vector])))
            b.store(b.fadd(sums[0], b.load(total)), b.bitcast(here, sums[0].type.as_pointer()), align=8)

    def add(self, totals: Any, x: Any, k: Any) -> None:
        """Add x times the weights of term k."""
        b = self.b
        j = k if self.indices is None else b.zext(b.load(self.step(self.indices, k)), self.i64)
        place = self.step(self.first, b.mul(j, self.row))
        for total in totals:
            kind = total.type.pointee
            product = b.fmul(self.everywhere(x, kind), self.neighbours(place, kind), flags=self.flags)
            b.store(b.fadd(b.load(total), product, flags=self.flags), total)
            place = self.step(place, self.number(kind.count * (1 + self.pairs)))

    def neighbours(self, place: Any, kind: Any) -> Any:
        """As many weights from that place on as the type has."""
        stored = self.ir.VectorType(place.type.pointee, kind.count * (1 + self.pairs))
        align = 4 if isinstance(stored.element, self.ir.FloatType) else 8
        found = self.b.load(self.b.bitcast(place, stored.as_pointer()), align=align)
        if self.pairs:
            every_second = [2 * q for q in range(kind.count)]
            order = self.ir.Constant(self.ir.VectorType(self.i32, kind.count), every_second)
            found = self.b.shuffle_vector(found, found, order)
        return found if found.type == kind else self.b.fpext(found, kind)

    def everywhere(self, x: Any, kind: Any) -> Any:
        ir, b = self.ir, self.b
        x = x if x.type == self.double else b.fpext(x, self.double)
        many = b.insert_element(ir.Constant(kind, ir.Undefined), x, ir.Constant(self.i32, 0))
        return b.shuffle_vector(many, many, ir.Constant(ir.VectorType(self.i32, kind.count), [0] * kind.count))

    def ask(self, k: Any) -> None:
        """Prefetch the weights of the term that is as far into the next row as term k is into this one."""
        b = self.b
        j = b.zext(b.load(self.step(self.later, k)), self.i64)
        first = b.gep(self.first, [b.mul(j, self.row)])  # of any term, also of one that is not there: maybe outside
        end = b.gep(first, [b.sub(self.row, self.number(1))])
        for line in (first, end):
            prefetch(b, line, 2)


def _sum_of_squares_code(numba: Any, *_: Any) -> Any:
    from numba.core import types

    from novikoff._compiled.simd.dot import _dot_in_lanes

    @numba.extending.intrinsic
    def square(context: Any, values: Any, start: Any, count: Any) -> Any:
        def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            values, start, count = args
            return _dot_in_lanes(target, builder, signature, (signature.args[0], values), None, start, count, None)

        return types.float64(values, types.intp, types.intp), code

    return lambda values, start, count: square(values, start, count)  # noqa: PLW0108


sparse_dot_columns, sparse_dot_columns_2, sparse_dot_columns_3, sparse_dot_columns_5 = (
    primitive(_sparse_dot_columns(n), _sparse_dot_columns_code(n)) for n in (1, 2, 3, 5)
)
"""Write out[at : at + n·BLOCK_COLUMNS] = Σ x·w of these columns, n = 1, 2, 3 or 5, over `count` values from `start` on
with the slots of their indices. Plain kernel code takes 2.3 × the time at 20 classes and 75 terms in float32, 1.45 × in
float64."""

dense_dot_columns, dense_dot_columns_2, dense_dot_columns_3, dense_dot_columns_5 = (
    primitive(_dense_dot_columns(n), _dense_dot_columns_code(n)) for n in (1, 2, 3, 5)
)
"""Write the sums of `sparse_dot_columns` for contiguous values, whose weights are in the slots 1, 2, …"""

sum_of_squares = primitive(_sum_of_squares, _sum_of_squares_code)
"""Return Σ x² of `count` values from `start` on; NaN where an x is 0."""
