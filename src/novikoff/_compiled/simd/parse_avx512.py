"""Eight numbers at a time, for machines with AVX-512 that permute bytes: the same as in
`_compiled/simd/parse_builder.py`, faster.

The text of four terms, never more than 128 bytes where they are plain, is two registers, of which one instruction picks
any 64 bytes. So each number gets 16 bytes of a register, right-aligned: its last 15 characters and what comes after it.
What is a digit, a point, a sign, and in its place, is then asked of all bytes at once, and the answers, a bit for each
byte, are put together as whole numbers, which the processor does beside its work on vectors. The point is taken out by
a permutation; digits are joined by multiplying neighbours and adding them up.
"""

from __future__ import annotations

from typing import Any

from novikoff._compiled.jit import cpu_has
from novikoff._compiled.simd.parse_builder import call_intrinsic, store_vector

CPU_FEATURES = ("avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512vbmi", "avx512vbmi2", "bmi2")
TABLE_BYTES = 128  # bytes that are read from a place in the text on
NUMBER_BYTES, INDEX_BYTES = 16, 8  # bytes of a register for a value, and for the index before it


def is_available(target: Any) -> bool:
    """Return whether the machine that Numba compiles for has the needed features."""
    return cpu_has(target, CPU_FEATURES)


class Avx512Builder:
    """LLVM code on registers of 64 bytes; bits of a 64-bit number answer for the bytes."""

    def __init__(self, builder: Any) -> None:
        from llvmlite import ir

        self.ir, self.b = ir, builder
        self.i64 = ir.IntType(64)
        self.octets, self.shorts, self.longs, self.wide = (self.vector(bits) for bits in (8, 16, 32, 64))
        self.doubles = ir.VectorType(ir.DoubleType(), 8)

    def vector(self, bits: int, count: int = 0) -> Any:
        return self.ir.VectorType(self.ir.IntType(bits), count or 512 // bits)

    def number(self, n: int) -> Any:
        return self.ir.Constant(self.i64, n % 2**64)

    def repeated(self, kind: Any, *numbers: int) -> Any:
        """These numbers, again and again."""
        bits = kind.element.width
        return self.ir.Constant(kind, [n % 2**bits for n in numbers] * (kind.count // len(numbers)))

    def in_each(self, bits: int, width: int) -> Any:
        """Return these bits in every group of `width`."""
        return self.number(sum(bits << k for k in range(0, 64, width)))

    def chosen(self, vector: Any, places: list[int]) -> Any:
        return self.b.shuffle_vector(vector, vector, self.ir.Constant(self.vector(32, len(places)), places))

    def call(self, name: str, kind: Any, *args: Any) -> Any:
        return call_intrinsic(self.b, name, kind, *args)

    def bits(self, sign: str, octets: Any, other: Any) -> Any:
        return self.b.bitcast(self.b.icmp_unsigned(sign, octets, other), self.i64)

    def where(self, bits: Any, octets: Any, otherwise: Any) -> Any:
        return self.b.select(self.b.bitcast(bits, self.vector(1, 64)), octets, otherwise)

    # Bits in groups, one for each number

    def some(self, bits: Any, width: int) -> Any:
        """The highest bit of each group that has any."""
        b, lower = self.b, self.in_each(2 ** (width - 1) - 1, width)
        return b.and_(b.or_(b.add(b.and_(bits, lower), lower), bits), self.in_each(2 ** (width - 1), width))

    def none(self, bits: Any, width: int) -> Any:
        """The highest bit of each group that has no other."""
        b, lower = self.b, self.in_each(2 ** (width - 1) - 1, width)
        return b.and_(b.not_(b.add(b.and_(bits, lower), lower)), self.in_each(2 ** (width - 1), width))

    def gathered(self, bits: Any, width: int) -> Any:
        """The highest bits of all groups side by side."""
        return self.call("x86.bmi.pext.64", self.i64, bits, self.in_each(2 ** (width - 1), width))

    def upto_lowest(self, bits: Any) -> Any:
        """In groups of 16 whose highest bit is not set: all bits up to the lowest that is, none where there is none."""
        b = self.b
        ended = b.or_(bits, self.in_each(1 << 15, 16))
        upto = b.xor(ended, b.sub(ended, self.in_each(1, 16)))
        empty = b.and_(b.lshr(upto, self.number(15)), self.in_each(1, 16))
        return b.and_(upto, b.not_(b.sub(b.shl(empty, self.number(16)), empty)))

    # The text

    def loaded(self, array: Any, at: Any, kind: Any) -> Any:
        place = self.b.bitcast(self.b.gep(array, [at], inbounds=True), kind.as_pointer())
        return self.b.load(place, align=1)

    def table(self, text: Any, base: Any) -> tuple[Any, Any]:
        """Return 128 bytes from there on."""
        at = self.b.zext(base, self.i64)
        return self.loaded(text, at, self.octets), self.loaded(text, self.b.add(at, self.number(64)), self.octets)

    def picked(self, table: tuple[Any, Any], ends: Any, which: list[int], width: int) -> Any:
        """Return `width` bytes up to and with each of these ends, which are positions in the table."""
        places = self.chosen(ends, [k for k in which for _ in range(width)])
        places = self.b.add(places, self.repeated(self.octets, *range(1 - width, 1)))
        return self.call("x86.avx512.vpermi2var.qi.512", self.octets, table[0], places, table[1])

    def kept(self, lengths: Any, which: list[int], width: int) -> Any:
        """Return the bits of the `lengths` bytes before each end; none where there are more than fit."""
        begin = self.b.sub(self.repeated(self.octets, width - 1), lengths)
        begin = self.chosen(begin, [k for k in which for _ in range(width)])
        inside = self.bits(">=", self.repeated(self.octets, *range(width)), begin)
        return self.b.and_(inside, self.in_each(2 ** (width - 1) - 1, width))

    # Numbers

    def fours(self, digits: Any, tens: tuple[int, ...], hundreds: tuple[int, ...]) -> Any:
        """Multiply digits and add them in pairs, and those in pairs."""
        pairs = self.call("x86.avx512.pmaddubs.w.512", self.shorts, digits, self.repeated(self.octets, *tens))
        return self.call("x86.avx512.pmaddw.d.512", self.longs, pairs, self.repeated(self.shorts, *hundreds))

    def halves(self, vector: Any, factor: int) -> Any:
        """Return the lower half of each 64 bits times the factor, plus the upper half."""
        b = self.b
        lower = b.and_(vector, self.repeated(self.wide, 0xFFFFFFFF))
        return b.add(b.mul(lower, self.repeated(self.wide, factor)), b.lshr(vector, self.repeated(self.wide, 32)))

    def digits_of(self, raw: Any, kept: Any) -> tuple[Any, Any, Any, Any]:
        """Four numbers of 15 characters: their digits without the point; the bits up to the point; the highest bit of
        each that is below zero; and that of each which is not plain."""
        b = self.b
        first = b.and_(kept, b.not_(b.shl(kept, self.number(1))))
        minus = b.and_(first, self.bits("==", raw, self.repeated(self.octets, ord("-"))))
        kept = b.xor(kept, minus)
        point = b.and_(kept, self.bits("==", raw, self.repeated(self.octets, ord("."))))
        upto = self.upto_lowest(point)
        zeros = self.repeated(self.octets, 0)
        digits = self.where(kept, b.sub(raw, self.repeated(self.octets, ord("0"))), zeros)
        there, before = (self.repeated(self.octets, *range(k, k + NUMBER_BYTES)) for k in (0, -1))
        digits = self.call("x86.avx512.pshuf.b.512", self.octets, digits, self.where(upto, before, there))
        # A second point remains, and is not a digit.
        wrong = self.some(self.bits(">", digits, self.repeated(self.octets, 9)), NUMBER_BYTES)
        wrong = b.or_(wrong, self.none(b.xor(kept, point), NUMBER_BYTES))
        return digits, upto, self.some(minus, NUMBER_BYTES), wrong

    def values(self, tables: list[Any], ends: Any, lengths: Any, which: list[int], *, ended: bool) -> tuple[Any, Any]:
        """Eight numbers, four of each table, as doubles, and a bit for each that is not plain; `ended` if each must be
        followed by a blank. Bytes of `ends` and `lengths` with the numbers `which` are theirs."""
        b = self.b
        fours, points, signs, flags = [], [], self.number(0), self.number(0)
        for half, table in enumerate(tables):
            mine = which[4 * half : 4 * half + 4]
            raw = self.picked(table, ends, mine, NUMBER_BYTES)
            digits, upto, minus, wrong = self.digits_of(raw, self.kept(lengths, mine, NUMBER_BYTES))
            if ended:
                more = self.bits(">", raw, self.repeated(self.octets, ord(" ")))
                wrong = b.or_(wrong, b.and_(more, self.in_each(1 << 15, NUMBER_BYTES)))
            fours.append(self.fours(digits, (10, 1) * 7 + (1, 0), (100, 1) * 3 + (10, 1)))
            points.append(upto)
            signs = b.or_(signs, b.shl(self.gathered(minus, NUMBER_BYTES), self.number(4 * half)))
            flags = b.or_(flags, b.shl(self.gathered(wrong, NUMBER_BYTES), self.number(4 * half)))
        packed = self.call("x86.avx512.packusdw.512", self.shorts, *fours)
        eights = self.call(
            "x86.avx512.pmaddw.d.512", self.longs, packed, self.repeated(self.shorts, 10**4, 1, 10**3, 1)
        )
        whole = b.sitofp(self.halves(b.bitcast(eights, self.wide), 10**7), self.doubles)
        in_order = self.chosen(whole, [0, 2, 4, 6, 1, 3, 5, 7])
        divided = b.fdiv(in_order, self.power(points))
        minus = b.bitcast(b.trunc(signs, self.ir.IntType(8)), self.vector(1, 8))
        return b.select(minus, b.fneg(divided), divided), flags

    def power(self, points: list[Any]) -> Any:
        """Return 10^(digits after the point), from the bits up to it in groups of 16."""
        b = self.b
        pair = self.ir.Constant(self.vector(64, 2), self.ir.Undefined)
        for half, bits in enumerate(points):
            pair = b.insert_element(pair, bits, self.ir.Constant(self.ir.IntType(32), half))
        eight = self.vector(16, 8)
        count = b.zext(self.call("ctpop.v8i16", eight, b.bitcast(pair, eight)), self.wide)
        powers = [1.0, *(10.0 ** (15 - k) for k in range(1, 16))]
        low, high = (self.ir.Constant(self.doubles, powers[k : k + 8]) for k in (0, 8))
        return self.call("x86.avx512.vpermi2var.pd.512", self.doubles, low, count, high)

    def too_far(self, ends: Any) -> Any:
        """Return a bit for each end that is not among the bytes of its table."""
        found = self.b.icmp_unsigned(">=", ends, self.repeated(ends.type, TABLE_BYTES))
        return self.b.zext(self.b.bitcast(found, self.ir.IntType(ends.type.count)), self.i64)

    def relative(self, text: Any, marks: Any, k: Any, count: int) -> tuple[list[Any], Any, Any]:
        """Return, for `count` marks from k on: a table for each half of them, from the mark before it on; the position
        of each in its table; and the number of bytes between it and the mark before."""
        b, kind = self.b, self.vector(32, count)
        before = b.sub(k, self.number(1))
        here, previous = self.loaded(marks, k, kind), self.loaded(marks, before, kind)
        bases = [b.extract_element(previous, self.ir.Constant(self.ir.IntType(32), n)) for n in (0, count // 2)]
        base = self.chosen(previous, [0] * (count // 2) + [count // 2] * (count // 2))
        lengths = b.sub(b.sub(here, previous), self.repeated(kind, 1))
        return [self.table(text, one) for one in bases], b.sub(here, base), lengths

    def all_bytes(self, vector: Any) -> Any:
        """As the bytes of a whole register."""
        count = vector.type.count
        return self.b.bitcast(self.chosen(vector, [n % count for n in range(16)]), self.octets)


def spread(builder: Any, marks: Any, at: Any, base: Any, mask: Any) -> Any:
    """As the primitive in `_compiled/simd/byte_scan.py` says: the numbers of the bits that are set, side by side,
    16 at a time."""
    p, b = Avx512Builder(builder), builder
    sixteen, whole = p.vector(32, 16), p.ir.IntType(32)
    bits = b.bitcast(mask, p.vector(1, 64))
    numbers = p.repeated(p.octets, *range(64))
    places = p.call("x86.avx512.mask.compress.v64i8", p.octets, numbers, p.repeated(p.octets, 0), bits)
    one = b.insert_element(p.ir.Constant(sixteen, p.ir.Undefined), b.trunc(base, whole), p.ir.Constant(whole, 0))
    first = b.shuffle_vector(one, one, p.ir.Constant(sixteen, [0] * 16))
    count = b.ctpop(mask)

    def write(part: int) -> None:
        some = b.add(b.zext(p.chosen(places, list(range(part, part + 16))), sixteen), first)
        place = b.gep(marks, [b.add(at, p.number(part))], inbounds=True)
        b.store(some, b.bitcast(place, sixteen.as_pointer()), align=4)

    write(0)
    with b.if_then(b.icmp_unsigned(">", count, p.number(16)), likely=False):
        for part in (16, 32, 48):
            with b.if_then(b.icmp_unsigned(">", count, p.number(part))):
                write(part)
    return b.add(at, count)


def eight_terms(builder: Any, text: Any, marks: Any, k: Any, before: Any, indices: Any, values: Any, at: Any) -> Any:
    """Write eight terms; return (flags, the last index), as the primitive in `_compiled/simd/byte_scan.py` does."""
    p, b = Avx512Builder(builder), builder
    tables, places, sizes = p.relative(text, marks, k, 16)
    ends, lengths = p.all_bytes(places), p.all_bytes(sizes)
    value, bad = p.values(tables, ends, lengths, [8 * n + 4 for n in range(8)], ended=True)

    colons = [8 * n for n in range(8)]
    raw = p.b.shuffle_vector(
        *(p.picked(table, ends, colons, INDEX_BYTES) for table in tables),
        p.ir.Constant(p.vector(32, 64), [*range(32), *range(96, 128)]),
    )
    kept = p.kept(lengths, colons, INDEX_BYTES)
    digits = p.where(kept, b.sub(raw, p.repeated(p.octets, ord("0"))), p.repeated(p.octets, 0))
    wrong = p.some(p.bits(">", digits, p.repeated(p.octets, 9)), INDEX_BYTES)
    shaped = p.bits("!=", raw, p.repeated(p.octets, ord(":")))
    wrong = b.or_(wrong, b.or_(p.none(kept, INDEX_BYTES), b.and_(shaped, p.in_each(1 << 7, INDEX_BYTES))))
    bad = b.or_(bad, p.gathered(wrong, INDEX_BYTES))
    far = p.call("x86.bmi.pext.64", p.i64, p.too_far(places), p.number(0xAAAA))
    index = p.halves(b.bitcast(p.fours(digits, (10, 1) * 3 + (1, 0), (100, 1, 10, 1)), p.wide), 1000)

    first = b.insert_element(p.repeated(p.wide, 0), before, p.ir.Constant(p.ir.IntType(32), 7))
    earlier = b.shuffle_vector(first, index, p.ir.Constant(p.vector(32, 8), list(range(7, 15))))
    falls = _eight_bits(p, b.icmp_signed("<=", index, earlier))
    store_vector(p.b, indices, at, index)
    store_vector(p.b, values, at, value)
    zero = _eight_bits(p, b.fcmp_ordered("==", value, p.ir.Constant(p.doubles, [0.0] * 8)))
    flags = b.or_(b.or_(b.or_(bad, far), falls), b.shl(zero, p.number(8)))
    return flags, b.extract_element(index, p.ir.Constant(p.ir.IntType(32), 7))


def eight_cells(builder: Any, text: Any, marks: Any, k: Any, values: Any, at: Any) -> Any:
    """Write eight values; return the flags, as the primitive in `_compiled/simd/byte_scan.py` does."""
    p = Avx512Builder(builder)
    tables, places, sizes = p.relative(text, marks, k, 8)
    which = [4 * n for n in range(8)]
    value, bad = p.values(tables, p.all_bytes(places), p.all_bytes(sizes), which, ended=False)
    store_vector(p.b, values, at, value)
    return builder.or_(bad, p.too_far(places))


def _eight_bits(p: Avx512Builder, lanes: Any) -> Any:
    return p.b.zext(p.b.bitcast(lanes, p.ir.IntType(8)), p.i64)
