"""Sums of products with several columns of weights at once, each in the order of `_machine.py`.

Weights of many classes stand feature by feature: the weight of slot j in column c is number j·width + c. Four, eight or
twelve columns are summed up in one go, so that a term's weights are read side by side, and for each column terms go to
its eight lanes as they would go if it stood alone: the same bytes. Written twice, as in `_machine.py`: as Python, which
says what it means, and as LLVM code.
"""

from __future__ import annotations

import math
from typing import Any

from novikoff._arrays import np
from novikoff._jit import primitive
from novikoff._machine import LANES, in_lanes

BLOCK = 4
"""Columns that a vector holds; the width of a table of weights is a multiple of this."""
LINE = 64  # bytes that memory gives at once


def _sparse_columns(vectors: int) -> Any:
    def columns(values: Any, indices: Any, start: int, count: int, slots: Any, width: int, at: int, out: Any) -> None:
        first = (indices[start : start + count].astype(np.int64) + 1) * width + at
        _columns(vectors, values[start : start + count].astype(np.float64), first, slots, at, out)

    return columns


def _dense_columns(vectors: int) -> Any:
    def columns(values: Any, start: int, count: int, slots: Any, width: int, at: int, out: Any) -> None:
        first = np.arange(1, count + 1) * width + at
        _columns(vectors, values[start : start + count].astype(np.float64), first, slots, at, out)

    return columns


def _columns(vectors: int, x: Any, first: Any, slots: Any, at: int, out: Any) -> None:
    weights = slots[:, 0] if slots.ndim == 2 else slots
    for column in range(BLOCK * vectors):
        out[at + column] = in_lanes(x * weights[first + column].astype(np.float64))


def _square(values: Any, start: int, count: int) -> float:
    x = values[start : start + count].astype(np.float64)
    return in_lanes(x * x) if x.all() else math.nan


def _sparse_columns_code(vectors: int) -> Any:
    def of(numba: Any, *_: Any) -> Any:
        from numba.core import types

        where = types.intp

        @numba.extending.intrinsic
        def sums(
            context: Any, values: Any, indices: Any, start: Any, count: Any, slots: Any, width: Any, at: Any, out: Any
        ) -> Any:
            def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
                kinds = signature.args
                values, indices, slots, out = ((kinds[k], args[k]) for k in (0, 1, 4, 7))
                _sums(vectors, target, builder, values, indices, slots, out, args[2], args[3], args[5], args[6])
                return target.get_dummy_value()

            return types.void(values, indices, where, where, slots, where, where, out), code

        return lambda values, indices, start, count, slots, width, at, out: sums(  # noqa: PLW0108
            values, indices, start, count, slots, width, at, out
        )

    return of


def _dense_columns_code(vectors: int) -> Any:
    def of(numba: Any, *_: Any) -> Any:
        from numba.core import types

        where = types.intp

        @numba.extending.intrinsic
        def sums(context: Any, values: Any, start: Any, count: Any, slots: Any, width: Any, at: Any, out: Any) -> Any:
            def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
                kinds = signature.args
                values, slots, out = ((kinds[k], args[k]) for k in (0, 3, 6))
                _sums(vectors, target, builder, values, None, slots, out, args[1], args[2], args[4], args[5])
                return target.get_dummy_value()

            return types.void(values, where, where, slots, where, where, out), code

        return lambda values, start, count, slots, width, at, out: sums(  # noqa: PLW0108
            values, start, count, slots, width, at, out
        )

    return of


def _sums(  # noqa: PLR0915 - one piece of machine code
    vectors: int,
    target: Any,
    b: Any,
    values: Any,
    indices: Any,
    slots: Any,
    out: Any,
    start: Any,
    count: Any,
    width: Any,
    at: Any,
) -> None:
    """LLVM code for out[at + q] = Σ xₖ·w[(jₖ + 1)·width + at + q], jₖ the index of term k, or k itself, and q from 0 to
    4·vectors − 1. Where there is more than one vector, lanes are gone through in two halves: a processor has sixteen
    registers for them."""
    from llvmlite import ir
    from numba.core import cgutils

    i32, i64, double = ir.IntType(32), ir.IntType(64), ir.DoubleType()
    four = ir.VectorType(double, BLOCK)
    zero = ir.Constant(four, [0.0] * BLOCK)

    def number(n: int) -> Any:
        return ir.Constant(i64, n)

    def pointer(kind: Any, value: Any) -> Any:
        return target.make_array(kind)(target, b, value).data

    def step(base: Any, k: Any) -> Any:
        return b.gep(base, [k], inbounds=True)

    pairs = slots[0].ndim == 2
    x_base = step(pointer(*values), start)
    i_base = None if indices is None else step(pointer(*indices), start)
    w_base, out_base = pointer(*slots), step(pointer(*out), at)
    x_kind, w_kind = x_base.type.pointee, w_base.type.pointee
    exact = all(isinstance(kind, ir.FloatType) for kind in (x_kind, w_kind))
    flags = ("contract",) if exact else ()
    align = 4 if isinstance(w_kind, ir.FloatType) else 8

    def place(k: Any) -> Any:
        """Where the weights of term k begin."""
        j = k if i_base is None else b.zext(b.load(step(i_base, k)), i64)
        first = b.add(b.mul(b.add(j, number(1)), width), at)
        return step(w_base, b.mul(first, number(2)) if pairs else first)

    def weights(first: Any, vector: int) -> Any:
        here = step(first, number(BLOCK * vector * (1 + pairs)))
        found = b.load(b.bitcast(here, ir.VectorType(w_kind, BLOCK * (1 + pairs)).as_pointer()), align=align)
        if pairs:
            every_second = ir.Constant(ir.VectorType(i32, BLOCK), [2 * q for q in range(BLOCK)])
            found = b.shuffle_vector(found, found, every_second)
        return found if found.type == four else b.fpext(found, four)

    def everywhere(x: Any) -> Any:
        many = ir.Constant(ir.VectorType(x_kind, BLOCK), ir.Undefined)
        many = b.insert_element(many, x, ir.Constant(i32, 0))
        many = b.shuffle_vector(many, many, ir.Constant(ir.VectorType(i32, BLOCK), [0] * BLOCK))
        return many if many.type == four else b.fpext(many, four)

    def ask(k: Any) -> None:
        """Asks memory for the weights of the term that is as far into the next row as term k is into this one, so that
        they come while this row is summed up; for those of the last term of all where there is no such one."""
        later = b.add(b.add(start, count), k)
        later = b.select(b.icmp_signed("<", later, last), later, last)
        j = b.zext(b.load(step(pointer(*indices), later)), i64)
        first = b.gep(w_base, [b.mul(b.add(j, number(1)), row)])
        end = b.gep(first, [b.sub(row, number(1))])
        for line in (first, end):
            b.call(prefetch, [b.bitcast(line, byte), *(ir.Constant(i32, n) for n in (0, 3, 1))])

    def add(totals: Any, x: Any, k: Any) -> None:
        first, factor = place(k), everywhere(x)
        for vector, total in enumerate(totals):
            product = b.fmul(factor, weights(first, vector), flags=flags)
            b.store(b.fadd(b.load(total), product, flags=flags), total)

    def fresh() -> Any:
        return [cgutils.alloca_once_value(b, zero) for _ in range(vectors)]

    byte = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, i32, i32, i32])
    prefetch = cgutils.get_or_insert_function(b.module, kind, "llvm.prefetch.p0")
    row = b.mul(width, number(1 + pairs))
    begins = b.icmp_signed("==", at, number(0))
    if indices is not None:
        length = b.extract_value(target.make_array(indices[0])(target, b, indices[1]).shape, 0)
        last = b.sub(length, number(1))
    lanes, rest = [fresh() for _ in range(LANES)], fresh()
    whole = b.and_(count, number(-LANES))
    half = LANES if vectors == 1 else LANES // 2
    for low in range(0, LANES, half):
        with cgutils.for_range_slice(b, number(0), whole, number(LANES), i64) as (k, _):
            if indices is not None:
                with b.if_then(begins):
                    for lane in range(low, low + half):
                        ask(b.add(k, number(lane)))
            for lane in range(low, low + half):
                here = b.add(k, number(lane))
                add(lanes[lane], b.load(step(x_base, here)), here)
    with b.if_else(b.icmp_signed(">=", count, number(LANES))) as (many, few):
        with many:
            # The last group: those of its lanes whose terms were in a whole group already add 0.
            k = b.sub(count, number(LANES))
            new = b.sub(whole, k)
            for lane in range(LANES):
                here = b.add(k, number(lane))
                counts = b.icmp_signed(">=", number(lane), new)
                add(lanes[lane], b.select(counts, b.load(step(x_base, here)), ir.Constant(x_kind, 0.0)), here)
        with few, cgutils.for_range_slice(b, number(0), count, number(1), i64) as (k, _):
            add(rest, b.load(step(x_base, k)), k)
    for vector in range(vectors):
        sums = [b.load(lane[vector]) for lane in lanes]
        while len(sums) > 1:
            middle = len(sums) // 2
            sums = [b.fadd(low, high) for low, high in zip(sums[:middle], sums[middle:], strict=True)]
        total = b.fadd(sums[0], b.load(rest[vector]))
        b.store(total, b.bitcast(step(out_base, number(BLOCK * vector)), four.as_pointer()), align=8)


def _square_code(numba: Any, *_: Any) -> Any:
    from numba.core import types

    from novikoff._machine import _sums_in_lanes

    @numba.extending.intrinsic
    def square(context: Any, values: Any, start: Any, count: Any) -> Any:
        def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            values, start, count = args
            return _sums_in_lanes(target, builder, signature, (signature.args[0], values), None, start, count, None)

        return types.float64(values, types.intp, types.intp), code

    return lambda values, start, count: square(values, start, count)  # noqa: PLW0108


sparse_columns, sparse_columns_2, sparse_columns_3 = (
    primitive(_sparse_columns(n), _sparse_columns_code(n)) for n in (1, 2, 3)
)
"""out[at : at + n·BLOCK] = Σ x·w of these columns, n = 1, 2 or 3, over `count` values from `start` on with the slots
that their indices name."""

dense_columns, dense_columns_2, dense_columns_3 = (
    primitive(_dense_columns(n), _dense_columns_code(n)) for n in (1, 2, 3)
)
"""The same for neighbouring values, whose weights are in the slots 1, 2, …"""

square = primitive(_square, _square_code)
"""Σ x² of `count` values from `start` on; NaN where an x is 0."""
