"""Steps for eight weights at a time, of learners that keep two numbers for each: w, and what w is made from.

Both stand side by side, so that a step reads and writes one place in memory. In double precision, stored in the
precision of the weights, for each term of an example:

    AdaGrad          g = pulled·x,  G += g²,  w += rate·g/√G       nothing where g or G is 0
    multiplicative   ℓ = max(ℓ + pulled·x, lowest),  w = table[ℓ]

Eight roots and divisions are had at the price of one. No weight comes twice in a row, so that eight can be read before
the first is written. Written twice, as in `_machine.py`: as Python, which says what it means, and as LLVM code.
"""

from __future__ import annotations

import math
from typing import Any

from novikoff._compiled.lazy_numpy import np
from novikoff._compiled.jit import primitive

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
            step = _adagrad(args[5], args[6])
            return _steps(target, builder, values, indices, args[2], args[3], slots, step)

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
            values, slots = ((signature.args[k], args[k]) for k in (0, 3))
            return _steps(target, builder, values, None, args[1], args[2], slots, _adagrad(args[4], args[5]))

        number = types.float64
        return number(values, types.intp, types.intp, slots, number, number), code

    return lambda values, start, count, slots, pulled, rate: steps(  # noqa: PLW0108
        values, start, count, slots, pulled, rate
    )


class _Code:
    """LLVM code for numbers, or for vectors of eight."""

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

    def larger(self, a: Any, c: Any) -> Any:
        return self.b.select(self.b.fcmp_ordered(">", a, c), a, c)

    def smaller(self, a: Any, c: Any) -> Any:
        return self.b.select(self.b.fcmp_ordered("<", a, c), a, c)

    @property
    def numbers(self) -> Any:
        """The type of whole numbers."""
        one = self.ir.IntType(64)
        return one if self.width == 1 else self.ir.VectorType(one, self.width)

    def numbers_everywhere(self, number: Any) -> Any:
        if self.width == 1:
            return number
        many = self.ir.Constant(self.numbers, [0] * self.width)
        for lane in range(self.width):
            many = self.b.insert_element(many, number, self.ir.Constant(self.ir.IntType(32), lane))
        return many

    def looked_up(self, table: Any, numbers: Any) -> Any:
        """table[number], in double precision."""
        if self.width == 1:
            return self.b.load(self.b.gep(table, [numbers], inbounds=True))
        found = self.ir.Constant(self.double, self.ir.Undefined)
        for lane in range(self.width):
            at = self.ir.Constant(self.ir.IntType(32), lane)
            place = self.b.gep(table, [self.b.extract_element(numbers, at)], inbounds=True)
            found = self.b.insert_element(found, self.b.load(place), at)
        return found


def _adagrad(pulled: Any, rate: Any) -> Any:
    """step(code, x, w, G) → (w, G, |w| before it was rounded, 0 where nothing moved)."""

    def step(code: _Code, x: Any, w: Any, total: Any) -> tuple[Any, Any, Any]:
        b, zero = code.b, code.constant(0.0)
        g = b.fmul(code.everywhere(pulled), code.wide(x))
        stored = code.rounded(b.fadd(code.wide(total), b.fmul(g, g)))
        size = code.wide(stored)
        way = b.fdiv(b.fmul(code.everywhere(rate), g), code.of("sqrt", size))
        moved = b.fadd(code.wide(w), way)
        moves = b.and_(b.fcmp_unordered("!=", g, zero), b.fcmp_unordered("!=", size, zero))
        reach = b.select(moves, code.of("fabs", moved), zero)
        return b.select(moves, code.rounded(moved), w), b.select(moves, stored, total), reach

    return step


def _multiplicative(pulled: Any, lowest: Any, table: Any, middle: Any) -> Any:
    """step(code, x, w, ℓ) → (w, ℓ, 1 where ℓ is not in the table and 0 where it is)."""

    def step(code: _Code, x: Any, w: Any, exponent: Any) -> tuple[Any, Any, Any]:
        b, ir = code.b, code.ir
        pushed = b.fadd(code.wide(exponent), b.fmul(code.everywhere(pulled), code.wide(x)))
        stored = code.rounded(code.larger(pushed, code.everywhere(lowest)))
        wanted = code.wide(stored)
        end = code.everywhere(b.sitofp(middle, ir.DoubleType()))
        inside = code.larger(code.smaller(wanted, end), b.fneg(end))
        number = b.fptosi(inside, code.numbers)
        missing = b.fcmp_unordered("!=", b.sitofp(number, code.double), wanted)
        found = code.looked_up(table, b.add(number, code.numbers_everywhere(middle)))
        return code.rounded(found), stored, b.select(missing, code.constant(1.0), code.constant(0.0))

    return step


def _steps(  # noqa: PLR0915 - one piece of machine code
    target: Any, builder: Any, values: Any, indices: Any, start: Any, count: Any, slots: Any, step: Any
) -> Any:
    """LLVM code: whole groups of eight, one of four where there are as many left, then the rest one by one; the largest
    of what the steps return last."""
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
    one, four, eight = _Code(b, kind, 1), _Code(b, kind, LANES // 2), _Code(b, kind, LANES)

    def place(k: Any) -> Any:
        """The address of the pair of term k."""
        j = k if i_base is None else b.zext(b.load(b.gep(i_base, [k], inbounds=True)), i64)
        return b.gep(w_base, [b.mul(b.add(j, number(1)), number(2))], inbounds=True)

    reach = cgutils.alloca_once_value(b, ir.Constant(ir.DoubleType(), 0.0))
    pair = ir.VectorType(kind, 2)
    align = 4 if isinstance(kind, ir.FloatType) else 8
    x_align = 4 if isinstance(x_base.type.pointee, ir.FloatType) else 8

    def group(code: _Code, k: Any, reaches: Any) -> None:
        """As many terms from k on as the code is wide, at once."""
        width = code.width
        row = b.bitcast(b.gep(x_base, [k], inbounds=True), ir.VectorType(x_base.type.pointee, width).as_pointer())
        x = b.load(row, align=x_align)
        if i_base is None:  # neighbours: all pairs at once
            here = b.bitcast(place(k), ir.VectorType(kind, 2 * width).as_pointer())
            both, order = b.load(here, align=align), ir.VectorType(i32, width)
            w = b.shuffle_vector(both, both, ir.Constant(order, [2 * lane for lane in range(width)]))
            total = b.shuffle_vector(both, both, ir.Constant(order, [2 * lane + 1 for lane in range(width)]))
            w, total, far = step(code, x, w, total)
            turns = [lane + width * second for lane in range(width) for second in (0, 1)]
            b.store(b.shuffle_vector(w, total, ir.Constant(ir.VectorType(i32, 2 * width), turns)), here, align=align)
            b.store(code.larger(far, b.load(reaches)), reaches)
            return
        places = [b.bitcast(place(b.add(k, number(lane))), pair.as_pointer()) for lane in range(width)]
        pairs = [b.load(p, align=align) for p in places]
        w, total = (ir.Constant(code.stored, ir.Undefined) for _ in range(2))
        for lane, both in enumerate(pairs):
            w = b.insert_element(w, b.extract_element(both, ir.Constant(i32, 0)), ir.Constant(i32, lane))
            total = b.insert_element(total, b.extract_element(both, ir.Constant(i32, 1)), ir.Constant(i32, lane))
        w, total, far = step(code, x, w, total)
        for lane, p in enumerate(places):
            chosen = ir.Constant(ir.VectorType(i32, 2), [lane, width + lane])
            b.store(b.shuffle_vector(w, total, chosen), p, align=align)
        b.store(code.larger(far, b.load(reaches)), reaches)

    def none(code: _Code) -> Any:
        return cgutils.alloca_once_value(b, ir.Constant(code.double, [0.0] * code.width))

    reaches, reaches_of_four = none(eight), none(four)
    whole = b.and_(count, number(-LANES))
    with cgutils.for_range_slice(b, number(0), whole, number(LANES), i64) as (k, _):
        group(eight, k, reaches)
    rest = b.and_(count, number(-four.width))
    with b.if_then(b.icmp_signed(">", rest, whole)):
        group(four, whole, reaches_of_four)
    with cgutils.for_range_slice(b, rest, count, number(1), i64) as (k, _):
        at = place(k)
        beside = b.gep(at, [number(1)], inbounds=True)
        x = b.load(b.gep(x_base, [k], inbounds=True))
        w, total, far = step(one, x, b.load(at), b.load(beside))
        b.store(w, at)
        b.store(total, beside)
        b.store(one.larger(far, b.load(reach)), reach)
    for lanes in (b.load(reaches), b.load(reaches_of_four)):
        for lane in range(lanes.type.count):
            far = b.extract_element(lanes, ir.Constant(i32, lane))
            b.store(one.larger(far, b.load(reach)), reach)
    return b.load(reach)


sparse_steps = primitive(_sparse_steps, _sparse_steps_code)
"""A step for each of `count` terms from `start` on; returns the largest |w| among the weights that moved."""

dense_steps = primitive(_dense_steps, _dense_steps_code)
"""The same for `count` neighbouring values, whose weights are in the slots 1, 2, …"""


def _sparse_powers(
    values: Any, indices: Any, start: int, count: int, slots: Any, pulled: float, lowest: float, table: Any
) -> bool:
    missing = False
    for k in range(start, start + count):
        missing |= _raise(slots, int(indices[k]) + 1, pulled * np.float64(values[k]), lowest, table)
    return missing


def _dense_powers(values: Any, start: int, count: int, slots: Any, pulled: float, lowest: float, table: Any) -> bool:
    missing = False
    for k in range(count):
        missing |= _raise(slots, k + 1, pulled * np.float64(values[start + k]), lowest, table)
    return missing


def _raise(slots: Any, j: int, change: float, lowest: float, table: Any) -> bool:
    slots[j, 1] = max(np.float64(slots[j, 1]) + change, lowest)
    wanted, middle = np.float64(slots[j, 1]), len(table) // 2
    inside = int(max(min(wanted, middle), -middle))
    slots[j, 0] = table[inside + middle]
    return bool(inside != wanted)


def _powers_code(numba: Any, sparse: bool) -> Any:
    """The intrinsic for sparse or dense rows."""
    from numba.core import types

    def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
        from llvmlite import ir

        kinds, given = list(signature.args), list(args)
        values = (kinds.pop(0), given.pop(0))
        indices = (kinds.pop(0), given.pop(0)) if sparse else None
        start, count, weights, pulled, lowest, table = given
        array = target.make_array(kinds[5])(target, builder, table)
        middle = builder.lshr(builder.extract_value(array.shape, 0), ir.Constant(ir.IntType(64), 1))
        step = _multiplicative(pulled, lowest, array.data, middle)
        far = _steps(target, builder, values, indices, start, count, (kinds[2], weights), step)
        return builder.fcmp_ordered(">", far, ir.Constant(ir.DoubleType(), 0.0))

    number, where = types.float64, types.intp
    if sparse:

        @numba.extending.intrinsic
        def gathered(
            context: Any,
            values: Any,
            indices: Any,
            start: Any,
            count: Any,
            slots: Any,
            pulled: Any,
            lowest: Any,
            t: Any,
        ) -> Any:
            return types.boolean(values, indices, where, where, slots, number, number, t), code

        return gathered

    @numba.extending.intrinsic
    def neighbours(
        context: Any, values: Any, start: Any, count: Any, slots: Any, pulled: Any, lowest: Any, t: Any
    ) -> Any:
        return types.boolean(values, where, where, slots, number, number, t), code

    return neighbours


def _sparse_powers_code(numba: Any, *_: Any) -> Any:
    steps = _powers_code(numba, sparse=True)
    return lambda values, indices, start, count, slots, pulled, lowest, table: steps(  # noqa: PLW0108
        values, indices, start, count, slots, pulled, lowest, table
    )


def _dense_powers_code(numba: Any, *_: Any) -> Any:
    steps = _powers_code(numba, sparse=False)
    return lambda values, start, count, slots, pulled, lowest, table: steps(  # noqa: PLW0108
        values, start, count, slots, pulled, lowest, table
    )


sparse_powers = primitive(_sparse_powers, _sparse_powers_code)
"""A multiplicative step for each of `count` terms from `start` on; whether an exponent is not in the table, so that its
weight must be made otherwise. The table has an odd number of entries, exponent 0 in the middle."""

dense_powers = primitive(_dense_powers, _dense_powers_code)
"""The same for `count` neighbouring values, whose weights are in the slots 1, 2, …"""
