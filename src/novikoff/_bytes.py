"""What ordinary compiled Python can't say about text: 64 bytes at a time, and eight numbers at a time.

A text is an array of bytes with at least PADDING bytes of room before its first and after its last byte, so that whole
words may be read anywhere in it. Masks have bit i for byte i of 64 neighbours.

Numbers are read eight at a time, each in a lane of a vector: the digits are right-aligned in two words of eight bytes,
the point is taken out by shifting what stands before it, and digits are joined in pairs, pairs of pairs, and so on.
What has at most 15 characters, all digits but for a sign and a point, comes out as the correctly rounded double: its
digits and the power of ten are exact numbers, so that the one division is all there is to round (Clinger 1990). Every
other lane is reported, and the caller reads it with `stream/decimals.py`. `_avx512.py` does the same faster on machines
that have what it needs; there the 15 characters include the sign.

Each function is written twice: as Python, which says what it means and runs when Numba is off, and as LLVM code.
"""

from __future__ import annotations

import re
from typing import Any

from novikoff import _avx512
from novikoff._arrays import np
from novikoff._jit import compiled, primitive

PADDING = 128  # as far as is read from a place in the text on
SPARE = 16  # marks after the last one that may be written
WIDE = 8
LONGEST = 15  # characters of a number, sign not counted, that the lanes can hold
LONGEST_INDEX = 7  # digits
_PLAIN = re.compile(rb"-?(?=[0-9.]{1,15}\Z)([0-9]+\.?[0-9]*|\.[0-9]+)\Z")


@compiled
def signed(number: Any) -> Any:
    """A number of 64 bits with a sign: of one with and one without a sign Numba would make a fraction."""
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
    """The address of an array's first element; n is the number of the argument."""
    return target.make_array(signature.args[n])(target, builder, args[n]).data


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
            write = _avx512.spread if _avx512.available(target) else _spread_by_eights
            return write(builder, _data(target, builder, signature, args, 0), *args[1:])

        return types.int64(marks, types.int64, types.int64, types.uint64), code

    return lambda marks, at, base, mask: spread(marks, at, base, mask)  # noqa: PLW0108


def _spread_by_eights(builder: Any, marks: Any, at: Any, base: Any, mask: Any) -> Any:
    """Eight at a time whether there are so many or not: a loop of the right length would end each time where the
    processor does not expect it."""
    from llvmlite import ir

    i64 = ir.IntType(64)
    before, loop, after = builder.block, builder.append_basic_block("eights"), builder.append_basic_block("after")
    end = builder.add(at, builder.ctpop(mask))
    builder.branch(loop)
    builder.position_at_end(loop)
    here, left = builder.phi(i64), builder.phi(i64)
    rest: Any = left
    for k in range(8):
        found = builder.add(base, builder.cttz(rest, ir.Constant(ir.IntType(1), 0)))
        place = builder.gep(marks, [builder.add(here, ir.Constant(i64, k))], inbounds=True)
        builder.store(builder.trunc(found, ir.IntType(32)), place)
        rest = builder.and_(rest, builder.sub(rest, ir.Constant(i64, 1)))
    there = builder.add(here, ir.Constant(i64, 8))
    builder.cbranch(builder.icmp_signed("<", there, end), loop, after)
    for phi, first, next_one in ((here, at, there), (left, mask, rest)):
        phi.add_incoming(first, before)
        phi.add_incoming(next_one, loop)
    builder.position_at_end(after)
    return end


# --- Eight numbers at a time ---


def _plain_value(text: Any, start: int, stop: int) -> float | None:
    """The number between start and stop where it is as plain as the lanes want it."""
    spelled = bytes(text[start:stop])
    return float(spelled) if _PLAIN.match(spelled) else None


def _eight_terms(text: Any, marks: Any, k: int, before: int, indices: Any, values: Any, at: int) -> tuple[int, int]:
    flags, last = 0, before
    for i in range(WIDE):
        previous, colon, end = (int(marks[k + 2 * i + j]) for j in (-1, 0, 1))
        name = bytes(text[previous + 1 : colon])
        value = _plain_value(text, colon + 1, end)
        shaped = text[colon] == ord(":") and text[end] <= ord(" ") and 1 <= len(name) <= LONGEST_INDEX
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
    for i in range(WIDE):
        value = _plain_value(text, int(marks[k + i - 1]) + 1, int(marks[k + i]))
        flags |= (value is None) << i
        values[at + i] = 0.0 if value is None else value
    return flags


class _Lanes:
    """LLVM code on vectors of eight 64-bit lanes, each with eight characters of a number."""

    def __init__(self, builder: Any) -> None:
        from llvmlite import ir

        self.ir, self.b = ir, builder
        self.i8, self.i32, self.i64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
        self.wide = ir.VectorType(self.i64, WIDE)

    def all(self, number: int, bits: int = 64) -> Any:
        kind = self.ir.VectorType(self.ir.IntType(bits), WIDE * 64 // bits)
        return self.ir.Constant(kind, [number & (2**bits - 1)] * (WIDE * 64 // bits))

    def words(self, text: Any, places: list[Any]) -> Any:
        """Eight bytes from each place on."""
        vector = self.ir.Constant(self.wide, self.ir.Undefined)
        for lane, place in enumerate(places):
            address = self.b.bitcast(self.b.gep(text, [place], inbounds=True), self.i64.as_pointer())
            one = self.b.load(address, align=1)
            vector = self.b.insert_element(vector, one, self.ir.Constant(self.i32, lane))
        return vector

    def bytes(self, text: Any, places: list[Any]) -> Any:
        """The byte at each place."""
        vector = self.ir.Constant(self.ir.VectorType(self.i8, WIDE), self.ir.Undefined)
        for lane, place in enumerate(places):
            one = self.b.load(self.b.gep(text, [place], inbounds=True))
            vector = self.b.insert_element(vector, one, self.ir.Constant(self.i32, lane))
        return vector

    def where(self, marks: Any, k: Any) -> Any:
        """marks[k] as a 64-bit number."""
        return self.b.zext(self.b.load(self.b.gep(marks, [k], inbounds=True)), self.i64)

    def marked(self, marks: Any, k: Any, step: int) -> Any:
        """Eight marks from k on, every one or every second."""
        many = self.ir.VectorType(self.i32, WIDE * step)
        place = self.b.bitcast(self.b.gep(marks, [k], inbounds=True), many.as_pointer())
        row = self.b.load(place, align=4)
        if step > 1:
            chosen = self.ir.Constant(self.ir.VectorType(self.i32, WIDE), [step * lane for lane in range(WIDE)])
            row = self.b.shuffle_vector(row, row, chosen)
        return self.b.zext(row, self.wide)

    def bytewise(self, sign: str, vector: Any, byte: int) -> Any:
        """0xFF where a byte of the vector compares so, 0 elsewhere."""
        single = self.b.bitcast(vector, self.ir.VectorType(self.i8, 64))
        found = self.b.icmp_unsigned(sign, single, self.all(byte, 8))
        return self.b.bitcast(self.b.sext(found, self.ir.VectorType(self.i8, 64)), self.wide)

    def is_not_zero(self, vector: Any) -> Any:
        return self.b.icmp_unsigned("!=", vector, self.all(0))

    def last(self, count: Any) -> Any:
        """All ones in the last `count` bytes, 1 to 8, of each lane."""
        shift = self.b.and_(self.b.sub(self.all(64), self.b.shl(count, self.all(3))), self.all(63))
        return self.b.shl(self.all(-1), shift)

    def joined(self, digits: Any) -> Any:
        """The number that eight digits make, the first of them in the lowest byte."""
        b = self.b
        pairs = b.bitcast(digits, self.ir.VectorType(self.ir.IntType(16), 32))
        pairs = b.add(b.mul(pairs, self.all(10, 16)), b.lshr(pairs, self.all(8, 16)))
        pairs = b.and_(pairs, self.all(0xFF, 16))
        hundreds = self.ir.Constant(pairs.type, [100, 1] * 16)
        fours = b.bitcast(b.mul(pairs, hundreds), self.ir.VectorType(self.i32, 16))
        fours = b.and_(b.add(fours, b.lshr(fours, self.all(16, 32))), self.all(0xFFFF, 32))
        eights = b.bitcast(fours, self.wide)
        first = b.mul(b.and_(eights, self.all(0xFFFFFFFF)), self.all(10_000))
        return b.add(first, b.lshr(eights, self.all(32)))

    def without(self, characters: Any, points: Any) -> tuple[Any, Any, Any]:
        """The characters with the point taken out, those before it moved up; whether there is one; and how many
        characters come after it."""
        b = self.b
        there = self.is_not_zero(points)
        lowest = b.and_(points, b.sub(self.all(0), points))
        before = b.select(there, b.sub(lowest, self.all(1)), self.all(0))
        after = b.xor(b.or_(before, points), self.all(-1))
        moved = b.or_(b.shl(b.and_(characters, before), self.all(8)), b.and_(characters, after))
        return moved, there, b.lshr(self.ones(after), self.all(3))

    def ones(self, vector: Any) -> Any:
        from numba.core import cgutils

        kind = self.ir.FunctionType(self.wide, [self.wide])
        return self.b.call(cgutils.get_or_insert_function(self.b.module, kind, "llvm.ctpop.v8i64"), [vector])

    def one_point(self, points: Any) -> Any:
        """Zero lanes where there is at most one point."""
        b = self.b
        lowest = b.and_(points, b.sub(self.all(0), points))
        return b.and_(points, b.not_(b.sub(b.shl(lowest, self.all(8)), lowest)))

    def values(self, text: Any, ends: list[Any], starts: list[Any], lengths: Any, ended: Any) -> tuple[Any, Any]:
        """The numbers that end before `ends`, as doubles, and a vector that is not zero where they are not plain.

        `ended` are the words whose last byte is the one at the end; `lengths` count the characters, sign included.
        """
        b, one = self.b, self.ir.Constant(self.i64, 15)
        minus = b.icmp_unsigned(
            "==", self.bytes(text, starts), self.ir.Constant(self.ir.VectorType(self.i8, WIDE), [45] * 8)
        )
        length = b.sub(lengths, b.zext(minus, self.wide))
        earlier = self.words(text, [b.sub(end, one) for end in ends])
        ascii_zeros = self.all(0x3030303030303030)
        high = b.or_(b.shl(ended, self.all(8)), b.lshr(earlier, self.all(56)))
        low = b.shl(earlier, self.all(8))
        is_long = b.icmp_signed(">", length, self.all(8))
        in_high = b.select(is_long, self.all(-1), self.last(length))
        in_low = b.select(is_long, self.last(b.sub(length, self.all(8))), self.all(0))
        high = b.and_(b.xor(high, ascii_zeros), in_high)
        low = b.and_(b.xor(low, ascii_zeros), in_low)
        point = ord(".") ^ ord("0")
        points_high, points_low = self.bytewise("==", high, point), self.bytewise("==", low, point)
        high, has_high, after_high = self.without(high, points_high)
        high = b.or_(high, b.select(has_high, b.lshr(low, self.all(56)), self.all(0)))
        wrong = b.or_(self.one_point(points_high), self.one_point(points_low))
        both = b.and_(has_high, self.is_not_zero(points_low))
        moved_low, has_low, after_low = self.without(low, points_low)
        low = b.select(has_high, b.shl(low, self.all(8)), moved_low)
        after = b.select(has_low, b.add(after_low, self.all(8)), self.all(0))
        after = b.select(has_high, after_high, after)
        wrong = b.or_(wrong, b.or_(self.bytewise(">", high, 9), self.bytewise(">", low, 9)))
        digits = b.sub(length, b.zext(b.or_(has_high, has_low), self.wide))
        unfit = b.or_(b.icmp_signed("<", digits, self.all(1)), b.icmp_signed(">", length, self.all(LONGEST)))
        wrong = b.or_(wrong, b.sext(b.or_(unfit, both), self.wide))
        return self.scaled(low, high, after, minus), wrong

    def scaled(self, low: Any, high: Any, after: Any, minus: Any) -> Any:
        """±(low·10⁸ + high)/10^after, each step but the division exact."""
        b, ir = self.b, self.ir
        double = ir.VectorType(ir.DoubleType(), WIDE)
        short = ir.VectorType(self.i32, WIDE)

        def constant(number: float) -> Any:
            return ir.Constant(double, [number] * WIDE)

        def converted(whole: Any) -> Any:
            return b.sitofp(b.trunc(whole, short), double)

        power = constant(1.0)
        for bit in (1, 2, 4, 8):
            chosen = self.is_not_zero(b.and_(after, self.all(bit)))
            power = b.fmul(power, b.select(chosen, constant(10.0**bit), constant(1.0)))
        number = b.fadd(b.fmul(converted(self.joined(low)), constant(1e8)), converted(self.joined(high)))
        number = b.fdiv(number, power)
        return b.select(minus, b.fneg(number), number)

    def mask(self, lanes: Any) -> Any:
        """Eight truths as the bits of a number."""
        return self.b.zext(self.b.bitcast(lanes, self.i8), self.i64)

    def store(self, array: Any, at: Any, vector: Any) -> None:
        kind = self.ir.VectorType(array.type.pointee, WIDE)
        if vector.type != kind:
            floating = isinstance(array.type.pointee, self.ir.FloatType)
            vector = self.b.fptrunc(vector, kind) if floating else self.b.trunc(vector, kind)
        place = self.b.bitcast(self.b.gep(array, [at], inbounds=True), kind.as_pointer())
        self.b.store(vector, place, align=4)


def _eight_terms_code(
    numba: Any, text: Any, marks: Any, k: Any, before: Any, indices: Any, values: Any, at: Any
) -> Any:
    from numba.core import types

    @numba.extending.intrinsic
    def terms(context: Any, text: Any, marks: Any, k: Any, before: Any, indices: Any, values: Any, at: Any) -> Any:
        def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            text, marks, indices, values = (_data(target, builder, signature, args, n) for n in (0, 1, 4, 5))
            k, before, at = args[2], args[3], args[6]
            if _avx512.available(target):
                both = _avx512.eight_terms(builder, text, marks, k, before, indices, values, at)
                return target.make_tuple(builder, signature.return_type, both)
            lanes, b = _Lanes(builder), builder
            ir, i64 = lanes.ir, lanes.i64
            number = lambda n: ir.Constant(i64, n)  # noqa: E731
            colons = [lanes.where(marks, b.add(k, number(2 * i))) for i in range(WIDE)]
            ends = [lanes.where(marks, b.add(k, number(2 * i + 1))) for i in range(WIDE)]
            previous = lanes.marked(marks, b.sub(k, number(1)), 2)
            colon, end = lanes.marked(marks, k, 2), lanes.marked(marks, b.add(k, number(1)), 2)
            ended = lanes.words(text, [b.sub(p, number(7)) for p in ends])
            length = b.sub(b.sub(end, colon), lanes.all(1))
            value, wrong = lanes.values(text, ends, [b.add(p, number(1)) for p in colons], length, ended)
            name = lanes.words(text, [b.sub(p, number(7)) for p in colons])
            size = b.sub(b.sub(colon, previous), lanes.all(1))
            shaped = b.icmp_unsigned("==", b.lshr(name, lanes.all(56)), lanes.all(ord(":")))
            shaped = b.and_(shaped, b.icmp_unsigned("<=", b.lshr(ended, lanes.all(56)), lanes.all(ord(" "))))
            digits = b.and_(b.xor(b.shl(name, lanes.all(8)), lanes.all(0x3030303030303030)), lanes.last(size))
            wrong = b.or_(wrong, lanes.bytewise(">", digits, 9))
            # Of 1 to 7 digits: one less is from 0 to 6 as an unsigned number.
            fits = b.icmp_unsigned("<", b.sub(size, lanes.all(1)), lanes.all(LONGEST_INDEX))
            index = lanes.joined(digits)
            order = ir.Constant(ir.VectorType(lanes.i32, WIDE), list(range(WIDE - 1, 2 * WIDE - 1)))
            first = b.insert_element(lanes.all(0), before, ir.Constant(lanes.i32, WIDE - 1))
            grows = b.icmp_signed(">", index, b.shuffle_vector(first, index, order))
            good = b.and_(b.and_(shaped, fits), grows)
            bad = b.or_(lanes.is_not_zero(wrong), b.not_(good))
            lanes.store(indices, at, index)
            lanes.store(values, at, value)
            zero = b.fcmp_ordered("==", value, ir.Constant(value.type, [0.0] * WIDE))
            flags = b.or_(lanes.mask(bad), b.shl(lanes.mask(zero), number(8)))
            last = b.extract_element(index, ir.Constant(lanes.i32, WIDE - 1))
            return target.make_tuple(builder, signature.return_type, [flags, last])

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
            if _avx512.available(target):
                return _avx512.eight_cells(builder, text, marks, k, values, at)
            lanes, b = _Lanes(builder), builder
            number = lambda n: lanes.ir.Constant(lanes.i64, n)  # noqa: E731
            places = [lanes.where(marks, b.add(k, number(i - 1))) for i in range(WIDE + 1)]
            previous, end = lanes.marked(marks, b.sub(k, number(1)), 1), lanes.marked(marks, k, 1)
            ended = lanes.words(text, [b.sub(p, number(7)) for p in places[1:]])
            length = b.sub(b.sub(end, previous), lanes.all(1))
            value, wrong = lanes.values(text, places[1:], [b.add(p, number(1)) for p in places[:-1]], length, ended)
            lanes.store(values, at, value)
            return lanes.mask(lanes.is_not_zero(wrong))

        return types.int64(text, marks, types.intp, values, types.intp), code

    return lambda text, marks, k, values, at: cells(text, marks, k, values, at)  # noqa: PLW0108


upto = primitive(_upto, _mask_code("<="))
"""The mask of the 64 bytes from k on that are at most this byte."""

equal = primitive(_equal, _mask_code("=="))
"""… that are this byte."""

word = primitive(_word, _word_code)
"""The eight bytes from k on, the first of them lowest."""

lowest = primitive(_lowest, _bits_code(False))
"""The number of the lowest bit that is set; 64 where none is."""

ones = primitive(_ones, _bits_code(True))
"""How many bits are set."""

fold = primitive(_fold, _fold_code)
"""The 128 bits of a product, its two halves joined by exclusive or."""

spread = primitive(_spread, _spread_code)
"""Writes base + i for every bit i of the mask, from marks[at] on; returns where the next one goes. What comes after, up
to SPARE marks, may be overwritten."""

eight_terms = primitive(_eight_terms, _eight_terms_code)
"""Reads eight terms `index:value`: term i ends its index at marks[k + 2i] and its value at marks[k + 2i + 1]. Returns
(flags, the last index): bit i for a term that is not plain or whose index does not grow from `before` on, bit 8 + i for
a value of 0."""

eight_cells = primitive(_eight_cells, _eight_cells_code)
"""Reads eight numbers, each between two neighbouring marks from marks[k - 1] on; bit i for one that is not plain."""
