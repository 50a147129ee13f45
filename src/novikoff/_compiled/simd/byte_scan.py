"""Scan text 64 bytes at a time and parse eight numbers at a time, as LLVM code.

A text is an array of bytes with at least PADDING_BYTES bytes of room before its first and after its last byte, so
that whole words may be read anywhere in it. Masks have bit i for byte i of 64 neighbours.

Numbers are read eight at a time. What has at most 15 characters, all digits but for a sign and a point, comes out as
the correctly rounded double: its digits and the power of ten are exact numbers, so that the one division is all there
is to round (Clinger 1990). Every other one is reported, and the caller reads it with `data/parse_float.py`.

Each function is written twice: as Python, which says what it means and runs when Numba is off, and as LLVM code. What
is done with vectors is in `_compiled/simd/parse_builder.py`, for any machine, and in
`_compiled/simd/parse_avx512.py` for those that have what it needs, where the 15 characters include the sign.
"""

from __future__ import annotations

import re
from typing import Any

from novikoff._compiled.jit import compiled, primitive
from novikoff._compiled.lazy_numpy import np
from novikoff._compiled.simd import parse_avx512, parse_builder
from novikoff._compiled.simd.parse_builder import LANES, MAX_INDEX_DIGITS

PADDING_BYTES = 128  # as far as is read from a place in the text on
SPARE_MARKS = 16  # marks after the last one that may be written
_PLAIN_NUMBER = re.compile(rb"-?(?=[0-9.]{1,15}\Z)([0-9]+\.?[0-9]*|\.[0-9]+)\Z")


@compiled
def to_int64(number: Any) -> Any:
    """Return a number as a signed 64-bit one: Numba would make a fraction of a signed and an unsigned one."""
    return np.int64(number)


# --- Masks and words ---


def _upto(text: Any, k: int, byte: int) -> Any:
    return sum(1 << i for i in range(64) if text[k + i] <= byte)


def _equal(text: Any, k: int, byte: int) -> Any:
    return sum(1 << i for i in range(64) if text[k + i] == byte)


def _mask_code(sign: str) -> Any:
    def choose(numba: Any, text: Any, k: Any, byte: Any) -> Any:
        from llvmlite import ir
        from numba.core import types

        @numba.extending.intrinsic
        def mask(context: Any, text: Any, k: Any, byte: Any) -> Any:
            def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
                wide = ir.VectorType(ir.IntType(8), 64)
                place = builder.gep(_data(target, builder, signature, args, 0), [args[1]], inbounds=True)
                row = builder.load(builder.bitcast(place, wide.as_pointer()), align=1)
                one = builder.insert_element(ir.Constant(wide, ir.Undefined), args[2], ir.Constant(ir.IntType(32), 0))
                zeros = ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
                found = builder.icmp_unsigned(sign, row, builder.shuffle_vector(one, one, zeros))
                return builder.bitcast(found, ir.IntType(64))

            return types.uint64(text, types.intp, types.uint8), code

        return lambda text, k, byte: mask(text, k, byte)  # noqa: PLW0108

    return choose


def _data(target: Any, builder: Any, signature: Any, args: Any, n: int) -> Any:
    """Return the address of the first element of an array; n is the number of the argument."""
    return target.make_array(signature.args[n])(target, builder, args[n]).data


def _vectors(target: Any) -> Any:
    """Return the module with code for the machine that Numba compiles for."""
    return parse_avx512 if parse_avx512.is_available(target) else parse_builder


def _word(text: Any, k: int) -> Any:
    return int.from_bytes(bytes(text[k : k + 8]), "little")


def _word_code(numba: Any, text: Any, k: Any) -> Any:
    from llvmlite import ir
    from numba.core import types

    @numba.extending.intrinsic
    def word(context: Any, text: Any, k: Any) -> Any:
        def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = builder.gep(_data(target, builder, signature, args, 0), [args[1]], inbounds=True)
            return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)

        return types.uint64(text, types.intp), code

    return lambda text, k: word(text, k)  # noqa: PLW0108


def _lowest(mask: Any) -> int:
    return (mask & -mask).bit_length() - 1 if mask else 64


def _ones(mask: Any) -> int:
    return int(mask).bit_count()


def _bits_code(count: bool) -> Any:
    def choose(numba: Any, mask: Any) -> Any:
        from llvmlite import ir
        from numba.core import types

        @numba.extending.intrinsic
        def bits(context: Any, mask: Any) -> Any:
            def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
                return builder.ctpop(args[0]) if count else builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

            return types.int64(types.uint64), code

        return lambda mask: bits(mask)  # noqa: PLW0108

    return choose


def _fold(a: Any, b: Any) -> Any:
    product = int(a) * int(b)
    return (product ^ (product >> 64)) & (2**64 - 1)


def _fold_code(numba: Any, a: Any, b: Any) -> Any:
    from llvmlite import ir
    from numba.core import types

    @numba.extending.intrinsic
    def fold(context: Any, a: Any, b: Any) -> Any:
        def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            i64, i128 = ir.IntType(64), ir.IntType(128)
            product = builder.mul(builder.zext(args[0], i128), builder.zext(args[1], i128))
            high = builder.trunc(builder.lshr(product, ir.Constant(i128, 64)), i64)
            return builder.xor(builder.trunc(product, i64), high)

        return types.uint64(types.uint64, types.uint64), code

    return lambda a, b: fold(a, b)  # noqa: PLW0108


def _spread(marks: Any, at: int, base: int, mask: Any) -> int:
    for i in range(64):
        if mask >> i & 1:
            marks[at] = base + i
            at += 1
    return at


def _spread_code(numba: Any, marks: Any, at: Any, base: Any, mask: Any) -> Any:
    from numba.core import types

    @numba.extending.intrinsic
    def spread(context: Any, marks: Any, at: Any, base: Any, mask: Any) -> Any:
        def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            return _vectors(target).spread(builder, _data(target, builder, signature, args, 0), *args[1:])

        return types.int64(marks, types.int64, types.int64, types.uint64), code

    return lambda marks, at, base, mask: spread(marks, at, base, mask)  # noqa: PLW0108


# --- Eight numbers at a time ---


def _plain_value(text: Any, start: int, stop: int) -> float | None:
    """The number between start and stop where it is as plain as the lanes want it."""
    number_text = bytes(text[start:stop])
    return float(number_text) if _PLAIN_NUMBER.match(number_text) else None


def _eight_terms(text: Any, marks: Any, k: int, before: int, indices: Any, values: Any, at: int) -> tuple[int, int]:
    flags, last = 0, before
    for i in range(LANES):
        previous, colon, end = (int(marks[k + 2 * i + j]) for j in (-1, 0, 1))
        name = bytes(text[previous + 1 : colon])
        value = _plain_value(text, colon + 1, end)
        shaped = text[colon] == ord(":") and text[end] <= ord(" ") and 1 <= len(name) <= MAX_INDEX_DIGITS
        if not shaped or not name.isdigit() or value is None or int(name) <= last:
            flags |= 1 << i
        if value == 0.0:
            flags |= 256 << i
        last = int(name) if name.isdigit() else -1
        indices[at + i] = max(last, 0) % 2**32
        values[at + i] = 0.0 if value is None else value
    return flags, last


def _eight_cells(text: Any, marks: Any, k: int, values: Any, at: int) -> int:
    flags = 0
    for i in range(LANES):
        value = _plain_value(text, int(marks[k + i - 1]) + 1, int(marks[k + i]))
        flags |= (value is None) << i
        values[at + i] = 0.0 if value is None else value
    return flags


def _eight_terms_code(
    numba: Any, text: Any, marks: Any, k: Any, before: Any, indices: Any, values: Any, at: Any
) -> Any:
    from numba.core import types

    @numba.extending.intrinsic
    def terms(context: Any, text: Any, marks: Any, k: Any, before: Any, indices: Any, values: Any, at: Any) -> Any:
        def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            text, marks, indices, values = (_data(target, builder, signature, args, n) for n in (0, 1, 4, 5))
            k, before, at = args[2], args[3], args[6]
            both = _vectors(target).eight_terms(builder, text, marks, k, before, indices, values, at)
            return target.make_tuple(builder, signature.return_type, both)

        pair = types.UniTuple(types.int64, 2)
        return pair(text, marks, types.intp, types.int64, indices, values, types.intp), code

    return lambda text, marks, k, before, indices, values, at: terms(  # noqa: PLW0108
        text, marks, k, before, indices, values, at
    )


def _eight_cells_code(numba: Any, text: Any, marks: Any, k: Any, values: Any, at: Any) -> Any:
    from numba.core import types

    @numba.extending.intrinsic
    def cells(context: Any, text: Any, marks: Any, k: Any, values: Any, at: Any) -> Any:
        def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            text, marks, values = (_data(target, builder, signature, args, n) for n in (0, 1, 3))
            k, at = args[2], args[4]
            return _vectors(target).eight_cells(builder, text, marks, k, values, at)

        return types.int64(text, marks, types.intp, values, types.intp), code

    return lambda text, marks, k, values, at: cells(text, marks, k, values, at)  # noqa: PLW0108


mask_at_most = primitive(_upto, _mask_code("<="))
"""Return the mask of the 64 bytes from k on that are at most this byte.

With `mask_equal` and `write_bit_positions`, plain kernel code takes 5.3 × the time to list the delimiters of svmlight
text.
"""

mask_equal = primitive(_equal, _mask_code("=="))
"""Return the mask of the 64 bytes from k on that equal this byte."""

load_word = primitive(_word, _word_code)
"""Return the eight bytes from k on, the first of them lowest. Plain kernel code has no unaligned loads."""

lowest_bit = primitive(_lowest, _bits_code(False))
"""Return the number of the lowest set bit, 64 where there is none: one instruction."""

count_bits = primitive(_ones, _bits_code(True))
"""Return the number of set bits: one instruction."""

fold_multiply = primitive(_fold, _fold_code)
"""Return the exclusive or of the two halves of a 128-bit product. Plain kernel code has no 128-bit product."""

write_bit_positions = primitive(_spread, _spread_code)
"""Write base + i for every bit i of the mask, from marks[at] on; return where the next one goes.

Up to SPARE_MARKS marks after that may be overwritten. A loop over `lowest_bit` takes 1.2 × the time.
"""

eight_terms = primitive(_eight_terms, _eight_terms_code)
"""Reads eight terms `index:value`: term i ends its index at marks[k + 2i] and its value at marks[k + 2i + 1]. Returns
(flags, the last index): bit i for a term that is not plain or whose index does not grow from `before` on, bit 8 + i for
a value of 0."""

eight_cells = primitive(_eight_cells, _eight_cells_code)
"""Read eight numbers, each between two neighbouring marks from marks[k - 1] on; bit i is set for one that is not
plain."""
