"""Dot products in eight lanes as LLVM code; range checks and unchecked array access.

A strict compiler may not reorder a sum of floating-point numbers, so that a plain loop is as slow as its chain of
additions. Here the order is fixed by hand: term k goes to lane k mod 8, whole groups of eight at a time; terms after
the last whole group go to the last lanes; the lanes are added as a tree. Fewer than eight terms are added one after
another. Every sum of products in novikoff has this order, so that all paths through the library give the same bytes.

Explicit zeros are not terms and have no number k. The sums do not skip them: they report them by a Σ x² that is NaN,
and the caller repeats the row without its zeros (see `data/canonical_rows.py`, `core/loop.py`). Comparing values that
are loaded anyway costs next to nothing.

A function with LLVM code is written twice: as Python, which defines the result and runs when Numba is off, and as LLVM
code. Both compute in double precision. The product of two float32 numbers is exact in double, so that a fused
multiply-add cannot change the result; for float64 input products and sums stay apart.

Arguments that stay the same from call to call can be packed into one block: unpacking a dozen arrays costs a small call
more time than its work.

Weights are stored in slots: slot 0 is the bias's, feature j has slot j + 1. An array of weights has one column, or
several of which the first counts here.

The figures beside the primitives are the time with plain kernel code (eight scalar sums, or a loop) over the time with
LLVM code, measured interleaved in memory on a loaded 2-core machine with AVX-512: of the function alone, and of the
training that uses it.
"""

from __future__ import annotations

import math
import struct
from typing import Any

from novikoff._compiled.jit import JIT_DISABLED, compiled, primitive
from novikoff._compiled.lazy_numpy import np

LANES = 8
PREFETCH_TERMS = 512  # terms: some rows further on


@compiled
def get_unchecked(array: Any, k: int) -> Any:
    """Return array[k] for a k from 0 on: a signed index would first be compared with 0."""
    return array[np.uint64(k)]


@compiled
def set_unchecked(array: Any, k: int, value: float) -> None:
    """Store array[k] = value for a k from 0 on, rounded to the type of the array."""
    array[np.uint64(k)] = value


def _prefetch_slot(weights: Any, j: int) -> None:
    """Change nothing."""


def _prefetch_slot_code(numba: Any, weights: Any, j: Any) -> Any:
    from numba.core import types

    @numba.extending.intrinsic
    def fetch(context: Any, weights: Any, j: Any) -> Any:
        def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            array = target.make_array(signature.args[0])(target, builder, args[0])
            at = args[1] if array.shape.type.count == 1 else builder.mul(args[1], builder.extract_value(array.shape, 1))
            prefetch(builder, builder.gep(array.data, [at]), 3)
            return target.get_dummy_value()

        return types.void(weights, types.intp), code

    return lambda weights, j: fetch(weights, j)  # noqa: PLW0108


def prefetch(builder: Any, address: Any, nearness: int) -> None:
    """Emit a prefetch for reading; `nearness` is 0 for data used once, 3 for the nearest cache."""
    from llvmlite import ir
    from numba.core import cgutils

    byte, i32 = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, i32, i32, i32])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(function, [builder.bitcast(address, byte), *(ir.Constant(i32, n) for n in (0, nearness, 1))])


def _dense_dot(values: Any, start: int, count: int, weights: Any) -> tuple[float, float]:
    x = values[start : start + count].astype(np.float64)
    return _dot_and_sq_norm(x, _first_column(weights)[1 : count + 1].astype(np.float64))


def _sparse_dot(values: Any, indices: Any, start: int, count: int, weights: Any) -> tuple[float, float]:
    x = values[start : start + count].astype(np.float64)
    at = indices[start : start + count].astype(np.int64) + 1
    return _dot_and_sq_norm(x, _first_column(weights)[at].astype(np.float64))


def _first_column(weights: Any) -> Any:
    return weights[:, 0] if weights.ndim == 2 else weights


def _dot_and_sq_norm(x: Any, w: Any) -> tuple[float, float]:
    return sum_in_lanes(x * w), sum_in_lanes(x * x) if x.all() else math.nan


def sum_in_lanes(terms: Any) -> float:
    """Return the sum of terms in the order that the head of this file describes."""
    if len(terms) < LANES:
        total = np.float64(0.0)
        for term in terms:
            total = total + term
        return float(total)
    rest = len(terms) % LANES
    full_groups = len(terms) - rest
    lanes = np.zeros(LANES)
    for k in range(0, full_groups, LANES):
        lanes = lanes + terms[k : k + LANES]
    lanes[LANES - rest :] += terms[full_groups:]
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = lanes[:half] + lanes[half:]
    return float(lanes[0])


def _dense_dot_code(numba: Any, values: Any, start: Any, count: Any, weights: Any) -> Any:
    from numba.core import types

    @numba.extending.intrinsic
    def sums(context: Any, values: Any, start: Any, count: Any, weights: Any) -> Any:
        def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            x, at, n, w = args
            arg_types = signature.args
            return _dot_in_lanes(target, builder, signature, (arg_types[0], x), None, at, n, (arg_types[3], w))

        pair = types.UniTuple(types.float64, 2)
        return pair(values, types.intp, types.intp, weights), code

    return lambda values, start, count, weights: sums(values, start, count, weights)  # noqa: PLW0108 - Numba asks for it


def _sparse_dot_code(numba: Any, values: Any, indices: Any, start: Any, count: Any, weights: Any) -> Any:
    from numba.core import types

    @numba.extending.intrinsic
    def sums(context: Any, values: Any, indices: Any, start: Any, count: Any, weights: Any) -> Any:
        def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            x, index, at, n, w = args
            arg_types = signature.args
            return _dot_in_lanes(
                target, builder, signature, (arg_types[0], x), (arg_types[1], index), at, n, (arg_types[4], w)
            )

        pair = types.UniTuple(types.float64, 2)
        return pair(values, indices, types.intp, types.intp, weights), code

    return lambda values, indices, start, count, weights: sums(values, indices, start, count, weights)  # noqa: PLW0108


def _dot_in_lanes(  # noqa: PLR0915 - one piece of machine code
    target: Any,
    builder: Any,
    signature: Any,
    values: Any,
    indices: Any,
    start: Any,
    count: Any,
    weights: Any,
) -> Any:
    """LLVM code for (Σ xₖ·wₖ, Σ xₖ²) over `count` terms from `start` on; wₖ are neighbours, or gathered by index. Where
    an xₖ is 0, NaN stands for the second. Without weights it is the second alone."""
    from llvmlite import ir
    from numba.core import cgutils

    i1, i32, i64, double = ir.IntType(1), ir.IntType(32), ir.IntType(64), ir.DoubleType()

    def number(n: int) -> Any:
        return ir.Constant(i64, n)

    def pointer(kind: Any, value: Any) -> Any:
        return target.make_array(kind)(target, builder, value).data

    def step(base: Any, k: Any) -> Any:
        return builder.gep(base, [k], inbounds=True)

    x_base = step(pointer(*values), start)
    i_base = None if indices is None else step(pointer(*indices), start)
    stride = 2 if weights is not None and weights[0].ndim == 2 else 1
    w_base = x_base if weights is None else step(pointer(*weights), number(stride))
    exact_square = isinstance(x_base.type.pointee, ir.FloatType)
    exact = exact_square and isinstance(w_base.type.pointee, ir.FloatType)
    # Numbers that must be converted are taken in halves: some processors do that faster straight from memory than with
    # a whole group.
    part = LANES // 2 if exact_square else LANES
    wide = ir.VectorType(double, part)

    def weight_at(k: Any) -> Any:
        j = k if i_base is None else builder.zext(builder.load(step(i_base, k)), i64)
        return builder.load(step(w_base, builder.mul(j, number(stride))))

    def neighbours(base: Any, k: Any, lanes: int) -> Any:
        kind = base.type.pointee
        row = builder.bitcast(step(base, k), ir.VectorType(kind, lanes).as_pointer())
        return builder.load(row, align=4 if isinstance(kind, ir.FloatType) else 8)

    def gathered(k: Any) -> Any:
        if i_base is None and stride == 1:
            return neighbours(w_base, k, part)
        group = ir.Constant(ir.VectorType(w_base.type.pointee, part), ir.Undefined)
        for lane in range(part):
            one = weight_at(builder.add(k, number(lane)))
            group = builder.insert_element(group, one, ir.Constant(i32, lane))
        return group

    def ask_ahead(base: Any, k: Any) -> None:
        """Prefetch what later rows need, which the processor itself requests too late."""
        prefetch(builder, step(base, builder.add(k, number(PREFETCH_TERMS))), 0)

    def widened(value: Any, kind: Any) -> Any:
        return value if value.type == kind else builder.fpext(value, kind)

    def accumulate(total: Any, a: Any, b: Any, may_fuse: bool) -> None:
        flags = ("contract",) if may_fuse else ()
        product = builder.fmul(a, b, flags=flags)
        builder.store(builder.fadd(builder.load(total), product, flags=flags), total)

    def fresh(kind: Any, zero: Any) -> Any:
        return cgutils.alloca_once_value(builder, ir.Constant(kind, zero))

    def note_zeros(zeros: Any, x: Any) -> None:
        """Notes, lane by lane, where x is 0."""
        zero = ir.Constant(x.type, [0.0] * LANES if isinstance(x.type, ir.VectorType) else 0.0)
        builder.store(builder.or_(builder.load(zeros), builder.fcmp_ordered("==", x, zero)), zeros)

    zeros, zero_rest = fresh(ir.VectorType(i1, LANES), [0] * LANES), fresh(i1, 0)
    dots, squares = ([fresh(wide, [0.0] * part) for _ in range(0, LANES, part)] for _ in range(2))
    dot_rest, square_rest = fresh(double, 0.0), fresh(double, 0.0)

    def take(k: Any, chosen: Any = None) -> None:
        """Add a group of terms, or those of them that are chosen."""
        note_zeros(zeros, neighbours(x_base, k, LANES))
        for half, lane in enumerate(range(0, LANES, part)):
            at = builder.add(k, number(lane))
            w, x = widened(gathered(at), wide), neighbours(x_base, at, part)
            if chosen is not None:
                x = builder.select(chosen(lane), x, ir.Constant(x.type, [0.0] * part))
            x = widened(x, wide)
            accumulate(dots[half], x, w, exact)
            accumulate(squares[half], x, x, exact_square)

    full_groups = builder.and_(count, number(-LANES))
    with cgutils.for_range_slice(builder, number(0), full_groups, number(LANES), i64) as (k, _):
        ask_ahead(x_base, k)
        if i_base is not None:
            ask_ahead(i_base, k)
        take(k)

    with builder.if_else(builder.icmp_signed(">=", count, number(LANES))) as (many, few):
        with many:
            # The last group: those of its lanes whose terms were in a whole group already add 0.
            last = builder.sub(count, number(LANES))
            numbers = ir.VectorType(i32, part)
            rest = builder.trunc(builder.sub(full_groups, last), i32)
            first = builder.insert_element(ir.Constant(numbers, ir.Undefined), rest, ir.Constant(i32, 0))
            first = builder.shuffle_vector(first, first, ir.Constant(numbers, [0] * part))

            def is_new(lane: int) -> Any:
                return builder.icmp_signed(">=", ir.Constant(numbers, list(range(lane, lane + part))), first)

            take(last, is_new)
        with few, cgutils.for_range_slice(builder, number(0), count, number(1), i64) as (k, _):
            w, value = widened(weight_at(k), double), builder.load(step(x_base, k))
            note_zeros(zero_rest, value)
            x = widened(value, double)
            accumulate(dot_rest, x, w, exact)
            accumulate(square_rest, x, x, exact_square)

    def tree(totals: Any) -> Any:
        parts, width = [builder.load(total) for total in totals], part
        lanes = parts[0] if len(parts) == 1 else builder.fadd(*parts)
        while width > 1:
            width //= 2
            mask = ir.VectorType(i32, width)
            low = ir.Constant(mask, [ir.Constant(i32, k) for k in range(width)])
            high = ir.Constant(mask, [ir.Constant(i32, width + k) for k in range(width)])
            lanes = builder.fadd(builder.shuffle_vector(lanes, lanes, low), builder.shuffle_vector(lanes, lanes, high))
        return builder.extract_element(lanes, ir.Constant(i32, 0))

    some = builder.icmp_unsigned("!=", builder.bitcast(builder.load(zeros), ir.IntType(LANES)), ir.IntType(LANES)(0))
    has_zeros = builder.or_(some, builder.load(zero_rest))
    square = builder.fadd(tree(squares), builder.load(square_rest))
    square = builder.select(has_zeros, ir.Constant(double, math.nan), square)
    if weights is None:
        return square
    dot = builder.fadd(tree(dots), builder.load(dot_rest))
    return target.make_tuple(builder, signature.return_type, [dot, square])


@compiled
def is_increasing(indices: Any, start: int, stop: int) -> bool:
    """Return whether the indices from start to stop ascend strictly. The loop does not end early: it is vectorised."""
    falls = False
    for k in range(start + 1, stop):
        falls |= get_unchecked(indices, k - 1) >= get_unchecked(indices, k)
    return not falls


@compiled
def all_in_range(values: Any, start: int, stop: int, least: float, most: float) -> bool:
    """Return whether all values from start to stop are from least to most, or 0.

    The bounds are rounded to the type of the values. The loop does not end early: it is vectorised.
    """
    low, high = values.dtype.type(least), values.dtype.type(most)
    outside = False
    for k in range(start, stop):
        x = get_unchecked(values, k)
        outside |= (x != 0.0) & ((x < low) | (x > high))
    return not outside


def pack_block(value: Any) -> Any:
    """Return numbers, arrays and tuples of them as one block of 64-bit words, which `unpack_block` reads.

    The caller keeps the arrays alive. Without Numba the block is the value itself.
    """
    if JIT_DISABLED:
        return value
    words: list[int] = []
    _add_words(value, words)
    return np.array(words, np.int64)


def _add_words(value: Any, words: list[int]) -> None:
    if isinstance(value, tuple):
        for item in value:
            _add_words(item, words)
    elif isinstance(value, float):
        words.append(_DOUBLE_AS_WORD(_PACK_DOUBLE(value))[0])
    elif isinstance(value, int) or value.ndim == 0:
        words.append(int(value))
    else:
        # A third of the time of `ctypes.data`, which makes an object for it.
        words.append(value.__array_interface__["data"][0])
        words.extend(value.shape)


_PACK_DOUBLE, _DOUBLE_AS_WORD = struct.Struct("d").pack, struct.Struct("q").unpack


def _unpack_block(block: Any, like: Any) -> Any:
    return block


def _unpack_block_code(numba: Any, block: Any, like: Any) -> Any:
    from numba.core import types

    @numba.extending.intrinsic
    def unpack(context: Any, block: Any, like: Any) -> Any:
        def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = target.make_array(signature.args[0])(target, builder, args[0]).data
            words = (builder.load(builder.gep(data, [target.get_constant(types.intp, k)])) for k in range(10**6))
            return _rebuild(target, builder, signature.return_type, words)

        return like.type(block, like), code

    return lambda block, like: unpack(block, like)  # noqa: PLW0108


def _rebuild(target: Any, builder: Any, kind: Any, words: Any) -> Any:
    """Return LLVM code for a value of this Numba type from the next words, the inverse of `_add_words`."""
    from numba.core import cgutils, types
    from numba.np.arrayobj import populate_array

    if isinstance(kind, types.BaseTuple):
        items = [_rebuild(target, builder, item, words) for item in kind]
        return target.make_tuple(builder, kind, items)
    if isinstance(kind, types.Array):
        array = target.make_array(kind)(target, builder)
        data = builder.inttoptr(next(words), array.data.type)
        shape = [next(words) for _ in range(kind.ndim)]
        size = target.get_constant(types.intp, target.get_abi_sizeof(target.get_data_type(kind.dtype)))
        strides = [size]
        for length in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        full_groups = {"shape": cgutils.pack_array(builder, shape), "strides": cgutils.pack_array(builder, strides)}
        populate_array(array, data=data, itemsize=size, meminfo=None, **full_groups)
        return array._getvalue()
    word = next(words)
    return builder.bitcast(word, target.get_value_type(kind)) if isinstance(kind, types.Float) else word


prefetch_slot = primitive(_prefetch_slot, _prefetch_slot_code)
"""Prefetch slot j, which may be any number. Plain kernel code has no prefetches; training takes longer without them:
1.4 × on rows of 75 terms with 8 million features, 1.3 × on sparse rows in random order."""

dense_dot_and_sq_norm = primitive(_dense_dot, _dense_dot_code)
"""Return (Σ x·w, Σ x²) of `count` contiguous values from `start` on with slots 1, 2, …; Σ x² is NaN where an x is 0.

At 100 columns 4.5 × in float32 and 3.8 × in float64; without vectors of AVX 1.9 × in both.
"""

sparse_dot_and_sq_norm = primitive(_sparse_dot, _sparse_dot_code)
"""Return (Σ x·w, Σ x²) of `count` values from `start` on with the slots of their indices; NaN as for dense rows.

At 75 terms 2.4 × in float32 and 1.6 × in float64. Training takes 1.3–1.5 × (Perceptron, 75 terms).
"""

unpack_block = primitive(_unpack_block, _unpack_block_code)
"""Return the value that was packed into a block; `like` is None, with the type (see `Like`) of that value.

Plain kernel code cannot read pointers from an array.
"""
