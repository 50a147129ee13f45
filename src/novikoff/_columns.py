"""Sums of products with several columns of weights at once, each in the order of `_machine.py`.

Weights of many classes stand feature by feature: the weight of slot j in column c is number j·width + c. Four columns
are summed up in one go, so that a term's weights are read side by side, and for each column terms go to its eight lanes
as they would go if it stood alone: the same bytes. Written twice, as in `_machine.py`: as Python, which says what it
means, and as LLVM code.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from novikoff._jit import primitive
from novikoff._machine import LANES, in_lanes

BLOCK = 4
"""Columns that are summed up in one go; the width of a table of weights is a multiple of this."""
LINE = 64  # bytes that memory gives at once


def _sparse_columns(
    values: Any, indices: Any, start: int, count: int, slots: Any, width: int, at: int, out: Any
) -> None:
    first = (indices[start : start + count].astype(np.int64) + 1) * width + at
    _columns(values[start : start + count].astype(np.float64), first, slots, at, out)


def _dense_columns(values: Any, start: int, count: int, slots: Any, width: int, at: int, out: Any) -> None:
    first = np.arange(1, count + 1) * width + at
    _columns(values[start : start + count].astype(np.float64), first, slots, at, out)


def _columns(x: Any, first: Any, slots: Any, at: int, out: Any) -> None:
    weights = slots[:, 0] if slots.ndim == 2 else slots
    for column in range(BLOCK):
        out[at + column] = in_lanes(x * weights[first + column].astype(np.float64))


def _square(values: Any, start: int, count: int) -> float:
    x = values[start : start + count].astype(np.float64)
    return in_lanes(x * x) if x.all() else math.nan


def _sparse_columns_code(numba: Any, *_: Any) -> Any:
    from numba.core import types

    where = types.intp

    @numba.extending.intrinsic
    def sums(
        context: Any, values: Any, indices: Any, start: Any, count: Any, slots: Any, width: Any, at: Any, out: Any
    ) -> Any:
        def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            kinds = signature.args
            values, indices, slots, out = ((kinds[k], args[k]) for k in (0, 1, 4, 7))
            _sums(target, builder, values, indices, slots, out, args[2], args[3], args[5], args[6])
            return target.get_dummy_value()

        return types.void(values, indices, where, where, slots, where, where, out), code

    return lambda values, indices, start, count, slots, width, at, out: sums(  # noqa: PLW0108
        values, indices, start, count, slots, width, at, out
    )


def _dense_columns_code(numba: Any, *_: Any) -> Any:
    from numba.core import types

    where = types.intp

    @numba.extending.intrinsic
    def sums(context: Any, values: Any, start: Any, count: Any, slots: Any, width: Any, at: Any, out: Any) -> Any:
        def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            kinds = signature.args
            values, slots, out = ((kinds[k], args[k]) for k in (0, 3, 6))
            _sums(target, builder, values, None, slots, out, args[1], args[2], args[4], args[5])
            return target.get_dummy_value()

        return types.void(values, where, where, slots, where, where, out), code

    return lambda values, start, count, slots, width, at, out: sums(  # noqa: PLW0108
        values, start, count, slots, width, at, out
    )


def _sums(  # noqa: PLR0915 - one piece of machine code
    target: Any, b: Any, values: Any, indices: Any, slots: Any, out: Any, start: Any, count: Any, width: Any, at: Any
) -> None:
    """LLVM code for out[at + q] = Σ xₖ·w[(jₖ + 1)·width + at + q], q = 0 … 3, jₖ the index of term k, or k itself."""
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

    def weights(k: Any) -> Any:
        found = b.load(b.bitcast(place(k), ir.VectorType(w_kind, BLOCK * (1 + pairs)).as_pointer()), align=align)
        if pairs:
            every_second = ir.Constant(ir.VectorType(i32, BLOCK), [2 * q for q in range(BLOCK)])
            found = b.shuffle_vector(found, found, every_second)
        return found if found.type == four else b.fpext(found, four)

    def everywhere(x: Any) -> Any:
        many = ir.Constant(ir.VectorType(x_kind, BLOCK), ir.Undefined)
        many = b.insert_element(many, x, ir.Constant(i32, 0))
        many = b.shuffle_vector(many, many, ir.Constant(ir.VectorType(i32, BLOCK), [0] * BLOCK))
        return many if many.type == four else b.fpext(many, four)

    def add(total: Any, x: Any, k: Any) -> None:
        product = b.fmul(everywhere(x), weights(k), flags=flags)
        b.store(b.fadd(b.load(total), product, flags=flags), total)

    lanes = [cgutils.alloca_once_value(b, zero) for _ in range(LANES)]
    rest = cgutils.alloca_once_value(b, zero)
    whole = b.and_(count, number(-LANES))
    with cgutils.for_range_slice(b, number(0), whole, number(LANES), i64) as (k, _):
        for lane in range(LANES):
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
    sums = [b.load(lane) for lane in lanes]
    while len(sums) > 1:
        half = len(sums) // 2
        sums = [b.fadd(low, high) for low, high in zip(sums[:half], sums[half:], strict=True)]
    total = b.fadd(sums[0], b.load(rest))
    b.store(total, b.bitcast(out_base, four.as_pointer()), align=8)


def _ask(indices: Any, start: int, count: int, slots: Any, width: int) -> None:
    """Without Numba there is nothing to ask."""


def _ask_code(numba: Any, *_: Any) -> Any:
    from llvmlite import ir
    from numba.core import cgutils, types

    i32, i64, byte = ir.IntType(32), ir.IntType(64), ir.IntType(8).as_pointer()

    def code(target: Any, b: Any, signature: Any, args: Any) -> Any:
        indices, start, count, slots, width = args
        arrays = [target.make_array(signature.args[k])(target, b, v).data for k, v in ((0, indices), (3, slots))]
        i_base, w_base = b.gep(arrays[0], [start], inbounds=True), b.bitcast(arrays[1], byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, i32, i32, i32])
        prefetch = cgutils.get_or_insert_function(b.module, kind, "llvm.prefetch.p0")
        size = (4 if isinstance(arrays[1].type.pointee, ir.FloatType) else 8) * signature.args[3].ndim
        row = b.mul(width, ir.Constant(i64, size))
        with cgutils.for_range_slice(b, ir.Constant(i64, 0), count, ir.Constant(i64, 1), i64) as (k, _):
            j = b.add(b.zext(b.load(b.gep(i_base, [k], inbounds=True)), i64), ir.Constant(i64, 1))
            first = b.gep(w_base, [b.mul(j, row)])
            with cgutils.for_range_slice(b, ir.Constant(i64, 0), row, ir.Constant(i64, LINE), i64) as (at, _):
                b.call(prefetch, [b.gep(first, [at]), *(ir.Constant(i32, n) for n in (0, 3, 1))])
        return target.get_dummy_value()

    @numba.extending.intrinsic
    def ask(context: Any, indices: Any, start: Any, count: Any, slots: Any, width: Any) -> Any:
        return types.void(indices, types.intp, types.intp, slots, types.intp), code

    return lambda indices, start, count, slots, width: ask(indices, start, count, slots, width)  # noqa: PLW0108


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


sparse_columns = primitive(_sparse_columns, _sparse_columns_code)
"""out[at : at + BLOCK] = Σ x·w of these columns, over `count` values from `start` on with the slots that their indices
name."""

dense_columns = primitive(_dense_columns, _dense_columns_code)
"""The same for neighbouring values, whose weights are in the slots 1, 2, …"""

square = primitive(_square, _square_code)
"""Σ x² of `count` values from `start` on; NaN where an x is 0."""

ask = primitive(_ask, _ask_code)
"""Asks memory for all weights of `count` slots that the indices from `start` on name: they will be needed soon."""
