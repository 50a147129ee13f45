"""Machine code for many classes at once: one example against the weights of all classes.

Weights lie feature after feature, [slot][class], so that one value of the example meets the weights of neighbouring
classes. Slot 0 is the bias's, feature j lives in slot j + 1. There is room for a multiple of eight classes; what is
past the last class stays 0.

Each class has its own sum, from the bias on term by term, in the order of the terms: classes are added up side by
side, and no sum is ever reordered. A value of 0 changes no sum, so that a row gives the same bytes with its zeros and
without.

Each function is written twice, as in `_compiled/simd/dot.py`: as Python, which says what it means, and as LLVM code.
Products and sums stay apart: no fused multiply-add.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from novikoff._compiled.jit import primitive

LANES = 8
GROUPS_AT_ONCE = (4, 2, 1)  # groups of eight classes: as many as keep the processor's adders busy, as long as there are


def pad_classes(n_classes: int) -> int:
    """Return the number of classes that there is room for: a multiple of eight."""
    return -(-n_classes // LANES) * LANES


def _dense_dots(values: Any, start: int, count: int, weights: Any, bias: float, out: Any) -> None:
    _dots(values[start : start + count], range(1, count + 1), weights, bias, out)


def _sparse_dots(values: Any, indices: Any, start: int, count: int, weights: Any, bias: float, out: Any) -> None:
    _dots(values[start : start + count], indices[start : start + count].astype(np.int64) + 1, weights, bias, out)


def _dots(values: Any, slots: Any, weights: Any, bias: float, out: Any) -> None:
    out[:] = bias * weights[0]
    for x, slot in zip(values, slots, strict=True):
        out += np.float64(x) * weights[slot]


def _dense_add(values: Any, start: int, count: int, change: Any, bias: float, weights: Any) -> None:
    _add(values[start : start + count], range(1, count + 1), change, bias, weights)


def _sparse_add(values: Any, indices: Any, start: int, count: int, change: Any, bias: float, weights: Any) -> None:
    _add(values[start : start + count], indices[start : start + count].astype(np.int64) + 1, change, bias, weights)


def _add(values: Any, slots: Any, change: Any, bias: float, weights: Any) -> None:
    weights[0] += bias * change
    for x, slot in zip(values, slots, strict=True):
        weights[slot] += np.float64(x) * change


def _dense_dots_code(numba: Any, values: Any, start: Any, count: Any, weights: Any, bias: Any, out: Any) -> Any:
    from numba.core import types

    @numba.extending.intrinsic
    def dots(context: Any, values: Any, start: Any, count: Any, weights: Any, bias: Any, out: Any) -> Any:
        arg_types = types.void(values, types.intp, types.intp, weights, types.float64, out)
        return arg_types, lambda *call: _ClassDotBuilder(*call).dots()

    return lambda values, start, count, weights, bias, out: dots(values, start, count, weights, bias, out)  # noqa: PLW0108


def _sparse_dots_code(
    numba: Any, values: Any, indices: Any, start: Any, count: Any, weights: Any, bias: Any, out: Any
) -> Any:
    from numba.core import types

    @numba.extending.intrinsic
    def dots(context: Any, values: Any, indices: Any, start: Any, count: Any, weights: Any, bias: Any, out: Any) -> Any:
        arg_types = types.void(values, indices, types.intp, types.intp, weights, types.float64, out)
        return arg_types, lambda *call: _ClassDotBuilder(*call).dots()

    return lambda values, indices, start, count, weights, bias, out: dots(  # noqa: PLW0108
        values, indices, start, count, weights, bias, out
    )


def _dense_add_code(numba: Any, values: Any, start: Any, count: Any, change: Any, bias: Any, weights: Any) -> Any:
    from numba.core import types

    @numba.extending.intrinsic
    def add(context: Any, values: Any, start: Any, count: Any, change: Any, bias: Any, weights: Any) -> Any:
        arg_types = types.void(values, types.intp, types.intp, change, types.float64, weights)
        return arg_types, lambda *call: _ClassDotBuilder(*call).add()

    return lambda values, start, count, change, bias, weights: add(values, start, count, change, bias, weights)  # noqa: PLW0108


def _sparse_add_code(
    numba: Any, values: Any, indices: Any, start: Any, count: Any, change: Any, bias: Any, weights: Any
) -> Any:
    from numba.core import types

    @numba.extending.intrinsic
    def add(
        context: Any, values: Any, indices: Any, start: Any, count: Any, change: Any, bias: Any, weights: Any
    ) -> Any:
        arg_types = types.void(values, indices, types.intp, types.intp, change, types.float64, weights)
        return arg_types, lambda *call: _ClassDotBuilder(*call).add()

    return lambda values, indices, start, count, change, bias, weights: add(  # noqa: PLW0108
        values, indices, start, count, change, bias, weights
    )


class _ClassDotBuilder:
    """LLVM code for one of the four: an example's terms, an array over classes, and the weights."""

    def __init__(self, target: Any, builder: Any, signature: Any, args: Any) -> None:
        from llvmlite import ir

        self.target, self.b = target, builder
        self.i64, self.double = ir.IntType(64), ir.DoubleType()
        self.wide = ir.VectorType(self.double, LANES)
        sparse = len(args) == 7
        self.count, self.bias = args[2 + sparse], args[4 + sparse]
        arrays: list[Any] = [
            target.make_array(kind)(target, builder, value) if hasattr(kind, "ndim") else None
            for kind, value in zip(signature.args, args, strict=True)
        ]
        start = args[1 + sparse]
        self.values = self.step(arrays[0].data, start)
        self.indices = self.step(arrays[1].data, start) if sparse else None
        flat, table = (3 + sparse, 5 + sparse) if signature.args[3 + sparse].ndim == 1 else (5 + sparse, 3 + sparse)
        self.flat, self.weights = arrays[flat].data, arrays[table].data
        self.stride = builder.extract_value(arrays[table].shape, 1)

    def number(self, n: int) -> Any:
        from llvmlite import ir

        return ir.Constant(self.i64, n)

    def step(self, base: Any, k: Any) -> Any:
        return self.b.gep(base, [k], inbounds=True)

    def group(self, base: Any, first_class: Any) -> Any:
        """The place of eight neighbours."""
        return self.b.bitcast(self.step(base, first_class), self.wide.as_pointer())

    def everywhere(self, value: Any) -> Any:
        from llvmlite import ir

        i32 = ir.IntType(32)
        one = self.b.insert_element(ir.Constant(self.wide, ir.Undefined), value, ir.Constant(i32, 0))
        return self.b.shuffle_vector(one, one, ir.Constant(ir.VectorType(i32, LANES), [0] * LANES))

    def value(self, k: Any) -> Any:
        x = self.b.load(self.step(self.values, k))
        return self.everywhere(x if x.type == self.double else self.b.fpext(x, self.double))

    def row(self, k: Any) -> Any:
        """Where the weights of term k begin."""
        j = k if self.indices is None else self.b.zext(self.b.load(self.step(self.indices, k)), self.i64)
        return self.step(self.weights, self.b.mul(self.b.add(j, self.number(1)), self.stride))

    def dots(self) -> Any:
        """out[c] = bias·w[0][c] + Σ x·w[slot][c], the sums of some classes being kept in registers meanwhile."""
        from numba.core import cgutils

        b, done = self.b, self.number(0)
        for groups in GROUPS_AT_ONCE:
            lanes = groups * LANES
            end = b.and_(self.stride, self.number(-lanes))
            with cgutils.for_range_slice(b, done, end, self.number(lanes), self.i64) as (first_class, _):
                self.dots_of(first_class, groups)
            done = end
        return self.target.get_dummy_value()

    def dots_of(self, first_class: Any, groups: int) -> None:
        from numba.core import cgutils

        b = self.b
        places = [b.add(first_class, self.number(LANES * g)) for g in range(groups)]
        bias = self.everywhere(self.bias)
        sums = [
            cgutils.alloca_once_value(b, b.fmul(bias, b.load(self.group(self.weights, place), align=8)))
            for place in places
        ]
        with cgutils.for_range_slice(b, self.number(0), self.count, self.number(1), self.i64) as (k, _):
            x, row = self.value(k), self.row(k)
            for place, total in zip(places, sums, strict=True):
                product = b.fmul(x, b.load(self.group(row, place), align=8))
                b.store(b.fadd(b.load(total), product), total)
        for place, total in zip(places, sums, strict=True):
            b.store(b.load(total), self.group(self.flat, place), align=8)

    def add(self) -> Any:
        """w[slot][c] += x·change[c]; groups of classes without a change are left alone."""
        from llvmlite import ir
        from numba.core import cgutils

        b, bits = self.b, ir.IntType(LANES)
        with cgutils.for_range_slice(b, self.number(0), self.stride, self.number(LANES), self.i64) as (first_class, _):
            change = b.load(self.group(self.flat, first_class), align=8)
            differs = b.fcmp_unordered("!=", change, ir.Constant(self.wide, [0.0] * LANES))
            with b.if_then(b.icmp_unsigned("!=", b.bitcast(differs, bits), ir.Constant(bits, 0))):
                self.add_to(self.group(self.weights, first_class), self.everywhere(self.bias), change)
                with cgutils.for_range_slice(b, self.number(0), self.count, self.number(1), self.i64) as (k, _):
                    self.add_to(self.group(self.row(k), first_class), self.value(k), change)
        return self.target.get_dummy_value()

    def add_to(self, place: Any, x: Any, change: Any) -> None:
        b = self.b
        b.store(b.fadd(b.load(place, align=8), b.fmul(x, change)), place, align=8)


dense_dots = primitive(_dense_dots, _dense_dots_code)
"""Write out[c] = bias·w[0][c] + Σ x·w[slot][c] for `count` contiguous values from `start` on with the slots 1, 2, …"""

sparse_dots = primitive(_sparse_dots, _sparse_dots_code)
"""Write these sums for the slots of the indices. Plain kernel code takes 1.9 × the time at 24 classes and 75 terms.

With plain code for both sums and additions `MulticlassSVM` takes 1.4–2.7 × the time, with 3 to 100 classes."""

dense_add = primitive(_dense_add, _dense_add_code)
"""Add x·change[c] to w[slot][c] for `count` contiguous values from `start` on, and for the bias."""

sparse_add = primitive(_sparse_add, _sparse_add_code)
"""Add this for the slots of the indices. Plain kernel code takes 1.55 × the time at 24 classes and 75 terms."""
