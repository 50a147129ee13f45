"""AdaGrad's steps for eight weights at a time: the root and the division are then had at the price of one.

(w, G) stand side by side. For each term, in double precision, stored in the precision of the weights:

    g = pulled·x,  G += g²,  w += rate·g/√G       nothing where g or G is 0

No weight comes twice in a row, so that eight can be read before the first is written. Written twice, as in
`_machine.py`: as Python, which says what it means, and as LLVM code.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from novikoff._jit import primitive

LANES = 8


def _sparse_steps(values: Any, indices: Any, start: int, count: int, slots: Any, pulled: float, rate: float) -> float:
    reach = 0.0
    for k in range(start, start + count):
        reach = max(reach, _one(slots, int(indices[k]) + 1, pulled * np.float64(values[k]), rate))
    return reach


def _dense_steps(values: Any, start: int, count: int, slots: Any, pulled: float, rate: float) -> float:
    reach = 0.0
    for k in range(count):
        reach = max(reach, _one(slots, k + 1, pulled * np.float64(values[start + k]), rate))
    return reach


def _one(slots: Any, j: int, g: float, rate: float) -> float:
    if g == 0.0:
        return 0.0
    slots[j, 1] = np.float64(slots[j, 1]) + g * g
    total = np.float64(slots[j, 1])
    if total == 0.0:  # the square is too small a number
        return 0.0
    w = np.float64(slots[j, 0]) + rate * g / math.sqrt(total)
    slots[j, 0] = w
    return abs(float(w))


def _sparse_steps_code(
    numba: Any, values: Any, indices: Any, start: Any, count: Any, slots: Any, pulled: Any, rate: Any
) -> Any:
    from numba.core import types

    @numba.extending.intrinsic
    def steps(
        context: Any, values: Any, indices: Any, start: Any, count: Any, slots: Any, pulled: Any, rate: Any
    ) -> Any:
        def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            values, indices, slots = ((signature.args[k], args[k]) for k in (0, 1, 4))
            return _steps(target, builder, values, indices, args[2], args[3], slots, args[5], args[6])

        number = types.float64
        return number(values, indices, types.intp, types.intp, slots, number, number), code

    return lambda values, indices, start, count, slots, pulled, rate: steps(  # noqa: PLW0108
        values, indices, start, count, slots, pulled, rate
    )


def _dense_steps_code(numba: Any, values: Any, start: Any, count: Any, slots: Any, pulled: Any, rate: Any) -> Any:
    from numba.core import types

    @numba.extending.intrinsic
    def steps(context: Any, values: Any, start: Any, count: Any, slots: Any, pulled: Any, rate: Any) -> Any:
        def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            x, at, n, weights, pulled, rate = args
            return _steps(
                target, builder, (signature.args[0], x), None, at, n, (signature.args[3], weights), pulled, rate
            )

        number = types.float64
        return number(values, types.intp, types.intp, slots, number, number), code

    return lambda values, start, count, slots, pulled, rate: steps(  # noqa: PLW0108
        values, start, count, slots, pulled, rate
    )


class _Code:
    """LLVM code for one step, of a number or of a vector of eight."""

    def __init__(self, builder: Any, kind: Any, width: int) -> None:
        from llvmlite import ir

        self.ir, self.b, self.width = ir, builder, width
        self.stored = kind if width == 1 else ir.VectorType(kind, width)
        self.double = ir.DoubleType() if width == 1 else ir.VectorType(ir.DoubleType(), width)

    def constant(self, number: float) -> Any:
        return self.ir.Constant(self.double, number if self.width == 1 else [number] * self.width)

    def everywhere(self, number: Any) -> Any:
        if self.width == 1:
            return number
        one = self.b.insert_element(self.constant(0.0), number, self.ir.Constant(self.ir.IntType(32), 0))
        zeros = self.ir.Constant(self.ir.VectorType(self.ir.IntType(32), self.width), [0] * self.width)
        return self.b.shuffle_vector(one, one, zeros)

    def wide(self, value: Any) -> Any:
        return value if value.type == self.double else self.b.fpext(value, self.double)

    def rounded(self, value: Any) -> Any:
        return value if value.type == self.stored else self.b.fptrunc(value, self.stored)

    def of(self, name: str, value: Any) -> Any:
        from numba.core import cgutils

        kind = self.ir.FunctionType(self.double, [self.double])
        suffix = "f64" if self.width == 1 else f"v{self.width}f64"
        return self.b.call(cgutils.get_or_insert_function(self.b.module, kind, f"llvm.{name}.{suffix}"), [value])

    def step(self, x: Any, w: Any, total: Any, pulled: Any, rate: Any) -> tuple[Any, Any, Any]:
        """(w, G, |w| before it was rounded, 0 where nothing moved) after the step."""
        b, zero = self.b, self.constant(0.0)
        g = b.fmul(self.everywhere(pulled), self.wide(x))
        stored = self.rounded(b.fadd(self.wide(total), b.fmul(g, g)))
        size = self.wide(stored)
        way = b.fdiv(b.fmul(self.everywhere(rate), g), self.of("sqrt", size))
        moved = b.fadd(self.wide(w), way)
        moves = b.and_(b.fcmp_unordered("!=", g, zero), b.fcmp_unordered("!=", size, zero))
        reach = b.select(moves, self.of("fabs", moved), zero)
        return b.select(moves, self.rounded(moved), w), b.select(moves, stored, total), reach

    def larger(self, a: Any, c: Any) -> Any:
        return self.b.select(self.b.fcmp_ordered(">", a, c), a, c)


def _steps(
    target: Any, builder: Any, values: Any, indices: Any, start: Any, count: Any, slots: Any, pulled: Any, rate: Any
) -> Any:
    """LLVM code: whole groups of eight, then the rest one by one; the largest |w| that there was."""
    from llvmlite import ir
    from numba.core import cgutils

    i32, i64, b = ir.IntType(32), ir.IntType(64), builder

    def number(n: int) -> Any:
        return ir.Constant(i64, n)

    def pointer(kind: Any, value: Any) -> Any:
        return target.make_array(kind)(target, b, value).data

    x_base = b.gep(pointer(*values), [start], inbounds=True)
    i_base = None if indices is None else b.gep(pointer(*indices), [start], inbounds=True)
    w_base = pointer(*slots)
    kind = w_base.type.pointee
    one, eight = _Code(b, kind, 1), _Code(b, kind, LANES)

    def place(k: Any) -> Any:
        """The address of the pair (w, G) of term k."""
        j = k if i_base is None else b.zext(b.load(b.gep(i_base, [k], inbounds=True)), i64)
        return b.gep(w_base, [b.mul(b.add(j, number(1)), number(2))], inbounds=True)

    reach = cgutils.alloca_once_value(b, ir.Constant(ir.DoubleType(), 0.0))
    reaches = cgutils.alloca_once_value(b, ir.Constant(eight.double, [0.0] * LANES))
    whole = b.and_(count, number(-LANES))
    pair = ir.VectorType(kind, 2)
    align = 4 if isinstance(kind, ir.FloatType) else 8
    with cgutils.for_range_slice(b, number(0), whole, number(LANES), i64) as (k, _):
        row = b.bitcast(b.gep(x_base, [k], inbounds=True), ir.VectorType(x_base.type.pointee, LANES).as_pointer())
        x = b.load(row, align=4 if isinstance(x_base.type.pointee, ir.FloatType) else 8)
        places = [b.bitcast(place(b.add(k, number(lane))), pair.as_pointer()) for lane in range(LANES)]
        pairs = [b.load(p, align=align) for p in places]
        w, total = (ir.Constant(eight.stored, ir.Undefined) for _ in range(2))
        for lane, both in enumerate(pairs):
            w = b.insert_element(w, b.extract_element(both, ir.Constant(i32, 0)), ir.Constant(i32, lane))
            total = b.insert_element(total, b.extract_element(both, ir.Constant(i32, 1)), ir.Constant(i32, lane))
        w, total, far = eight.step(x, w, total, pulled, rate)
        for lane, p in enumerate(places):
            chosen = ir.Constant(ir.VectorType(i32, 2), [lane, LANES + lane])
            b.store(b.shuffle_vector(w, total, chosen), p, align=align)
        b.store(eight.larger(far, b.load(reaches)), reaches)
    with cgutils.for_range_slice(b, whole, count, number(1), i64) as (k, _):
        at = place(k)
        beside = b.gep(at, [number(1)], inbounds=True)
        x = b.load(b.gep(x_base, [k], inbounds=True))
        w, total, far = one.step(x, b.load(at), b.load(beside), pulled, rate)
        b.store(w, at)
        b.store(total, beside)
        b.store(one.larger(far, b.load(reach)), reach)
    lanes = b.load(reaches)
    for lane in range(LANES):
        far = b.extract_element(lanes, ir.Constant(i32, lane))
        b.store(one.larger(far, b.load(reach)), reach)
    return b.load(reach)


sparse_steps = primitive(_sparse_steps, _sparse_steps_code)
"""A step for each of `count` terms from `start` on; returns the largest |w| among the weights that moved."""

dense_steps = primitive(_dense_steps, _dense_steps_code)
"""The same for `count` neighbouring values, whose weights are in the slots 1, 2, …"""
