"""Eight numbers at a time, and marks eight at a time, as LLVM code for any machine: see
`_compiled/simd/byte_scan.py` for what they are.

Each number is in a lane of a vector: the digits are right-aligned in two words of eight bytes, the point is taken out
by shifting what stands before it, and digits are joined in pairs, pairs of pairs, and so on.
"""

from __future__ import annotations

from typing import Any

LANES = 8
MAX_NUMBER_CHARS = 15  # characters of a number, sign not counted, that the lanes can hold
MAX_INDEX_DIGITS = 7  # digits


class VectorBuilder:
    """LLVM code on vectors of eight 64-bit lanes, each with eight characters of a number."""

    def __init__(self, builder: Any) -> None:
        from llvmlite import ir

        self.ir, self.b = ir, builder
        self.i8, self.i32, self.i64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
        self.wide = ir.VectorType(self.i64, LANES)

    def number(self, n: int) -> Any:
        return self.ir.Constant(self.i64, n)

    def all(self, number: int, bits: int = 64) -> Any:
        kind = self.ir.VectorType(self.ir.IntType(bits), LANES * 64 // bits)
        return self.ir.Constant(kind, [number & (2**bits - 1)] * (LANES * 64 // bits))

    def words(self, text: Any, places: list[Any]) -> Any:
        """Return eight bytes from each position."""
        vector = self.ir.Constant(self.wide, self.ir.Undefined)
        for lane, place in enumerate(places):
            address = self.b.bitcast(self.b.gep(text, [place], inbounds=True), self.i64.as_pointer())
            one = self.b.load(address, align=1)
            vector = self.b.insert_element(vector, one, self.ir.Constant(self.i32, lane))
        return vector

    def bytes(self, text: Any, places: list[Any]) -> Any:
        """Return the byte at each position."""
        vector = self.ir.Constant(self.ir.VectorType(self.i8, LANES), self.ir.Undefined)
        for lane, place in enumerate(places):
            one = self.b.load(self.b.gep(text, [place], inbounds=True))
            vector = self.b.insert_element(vector, one, self.ir.Constant(self.i32, lane))
        return vector

    def where(self, marks: Any, k: Any) -> Any:
        """Return marks[k] as a 64-bit number."""
        return self.b.zext(self.b.load(self.b.gep(marks, [k], inbounds=True)), self.i64)

    def marked(self, marks: Any, k: Any, step: int) -> Any:
        """Return eight marks from k on, every one or every second."""
        many = self.ir.VectorType(self.i32, LANES * step)
        place = self.b.bitcast(self.b.gep(marks, [k], inbounds=True), many.as_pointer())
        row = self.b.load(place, align=4)
        if step > 1:
            chosen = self.ir.Constant(self.ir.VectorType(self.i32, LANES), [step * lane for lane in range(LANES)])
            row = self.b.shuffle_vector(row, row, chosen)
        return self.b.zext(row, self.wide)

    def bytewise(self, sign: str, vector: Any, byte: int) -> Any:
        """Return 0xFF where a byte of the vector compares so, 0 elsewhere."""
        single = self.b.bitcast(vector, self.ir.VectorType(self.i8, 64))
        found = self.b.icmp_unsigned(sign, single, self.all(byte, 8))
        return self.b.bitcast(self.b.sext(found, self.ir.VectorType(self.i8, 64)), self.wide)

    def is_not_zero(self, vector: Any) -> Any:
        return self.b.icmp_unsigned("!=", vector, self.all(0))

    def last(self, count: Any) -> Any:
        """Return all ones in the last `count` bytes, 1 to 8, of each lane."""
        shift = self.b.and_(self.b.sub(self.all(64), self.b.shl(count, self.all(3))), self.all(63))
        return self.b.shl(self.all(-1), shift)

    def joined(self, digits: Any) -> Any:
        """Return the number of eight digits, the first of them in the lowest byte."""
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
        return call_intrinsic(self.b, "ctpop.v8i64", self.wide, vector)

    def one_point(self, points: Any) -> Any:
        """Return zero lanes where there is at most one point."""
        b = self.b
        lowest = b.and_(points, b.sub(self.all(0), points))
        return b.and_(points, b.not_(b.sub(b.shl(lowest, self.all(8)), lowest)))

    def values(self, text: Any, ends: list[Any], starts: list[Any], lengths: Any, ended: Any) -> tuple[Any, Any]:
        """The numbers that end before `ends`, as doubles, and a vector that is not zero where they are not plain.

        `ended` are the words whose last byte is the one at the end; `lengths` count the characters, sign included.
        """
        b, one = self.b, self.ir.Constant(self.i64, 15)
        minus = b.icmp_unsigned(
            "==", self.bytes(text, starts), self.ir.Constant(self.ir.VectorType(self.i8, LANES), [45] * 8)
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
        unfit = b.or_(b.icmp_signed("<", digits, self.all(1)), b.icmp_signed(">", length, self.all(MAX_NUMBER_CHARS)))
        wrong = b.or_(wrong, b.sext(b.or_(unfit, both), self.wide))
        return self.scaled(low, high, after, minus), wrong

    def scaled(self, low: Any, high: Any, after: Any, minus: Any) -> Any:
        """Return ±(low·10⁸ + high)/10^after, where each step but the division is exact."""
        b, ir = self.b, self.ir
        double = ir.VectorType(ir.DoubleType(), LANES)
        short = ir.VectorType(self.i32, LANES)

        def constant(number: float) -> Any:
            return ir.Constant(double, [number] * LANES)

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
        """Return eight booleans as the bits of a number."""
        return self.b.zext(self.b.bitcast(lanes, self.i8), self.i64)


def call_intrinsic(builder: Any, name: str, kind: Any, *args: Any) -> Any:
    """Call an LLVM intrinsic; `kind` is the type of its result."""
    from llvmlite import ir

    module, name = builder.module, f"llvm.{name}"
    function = module.globals.get(name)
    if function is None:
        function = ir.Function(module, ir.FunctionType(kind, [a.type for a in args]), name)
    return builder.call(function, args)


def store_vector(builder: Any, array: Any, at: Any, vector: Any) -> None:
    """Store eight numbers from array[at] on, in the element type of the array."""
    from llvmlite import ir

    kind = ir.VectorType(array.type.pointee, LANES)
    if vector.type != kind:
        floating = isinstance(array.type.pointee, ir.FloatType)
        vector = builder.fptrunc(vector, kind) if floating else builder.trunc(vector, kind)
    builder.store(vector, builder.bitcast(builder.gep(array, [at], inbounds=True), kind.as_pointer()), align=4)


def spread(builder: Any, marks: Any, at: Any, base: Any, mask: Any) -> Any:
    """Write eight positions at a time, even where fewer bits are set: the end of a loop of the exact length would be
    mispredicted each time."""
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


def eight_terms(builder: Any, text: Any, marks: Any, k: Any, before: Any, indices: Any, values: Any, at: Any) -> Any:
    """Write eight terms; return (flags, the last index)."""
    lanes, b = VectorBuilder(builder), builder
    ir = lanes.ir
    colons = [lanes.where(marks, b.add(k, lanes.number(2 * i))) for i in range(LANES)]
    ends = [lanes.where(marks, b.add(k, lanes.number(2 * i + 1))) for i in range(LANES)]
    previous = lanes.marked(marks, b.sub(k, lanes.number(1)), 2)
    colon, end = lanes.marked(marks, k, 2), lanes.marked(marks, b.add(k, lanes.number(1)), 2)
    ended = lanes.words(text, [b.sub(p, lanes.number(7)) for p in ends])
    length = b.sub(b.sub(end, colon), lanes.all(1))
    value, wrong = lanes.values(text, ends, [b.add(p, lanes.number(1)) for p in colons], length, ended)
    name = lanes.words(text, [b.sub(p, lanes.number(7)) for p in colons])
    size = b.sub(b.sub(colon, previous), lanes.all(1))
    shaped = b.icmp_unsigned("==", b.lshr(name, lanes.all(56)), lanes.all(ord(":")))
    shaped = b.and_(shaped, b.icmp_unsigned("<=", b.lshr(ended, lanes.all(56)), lanes.all(ord(" "))))
    digits = b.and_(b.xor(b.shl(name, lanes.all(8)), lanes.all(0x3030303030303030)), lanes.last(size))
    wrong = b.or_(wrong, lanes.bytewise(">", digits, 9))
    # Of 1 to 7 digits: one less is from 0 to 6 as an unsigned number.
    fits = b.icmp_unsigned("<", b.sub(size, lanes.all(1)), lanes.all(MAX_INDEX_DIGITS))
    index = lanes.joined(digits)
    order = ir.Constant(ir.VectorType(lanes.i32, LANES), list(range(LANES - 1, 2 * LANES - 1)))
    first = b.insert_element(lanes.all(0), before, ir.Constant(lanes.i32, LANES - 1))
    grows = b.icmp_signed(">", index, b.shuffle_vector(first, index, order))
    good = b.and_(b.and_(shaped, fits), grows)
    bad = b.or_(lanes.is_not_zero(wrong), b.not_(good))
    store_vector(b, indices, at, index)
    store_vector(b, values, at, value)
    zero = b.fcmp_ordered("==", value, ir.Constant(value.type, [0.0] * LANES))
    flags = b.or_(lanes.mask(bad), b.shl(lanes.mask(zero), lanes.number(8)))
    last = b.extract_element(index, ir.Constant(lanes.i32, LANES - 1))
    return flags, last


def eight_cells(builder: Any, text: Any, marks: Any, k: Any, values: Any, at: Any) -> Any:
    """Write eight values; return the flags."""
    lanes, b = VectorBuilder(builder), builder
    places = [lanes.where(marks, b.add(k, lanes.number(i - 1))) for i in range(LANES + 1)]
    previous, end = lanes.marked(marks, b.sub(k, lanes.number(1)), 1), lanes.marked(marks, k, 1)
    ended = lanes.words(text, [b.sub(p, lanes.number(7)) for p in places[1:]])
    length = b.sub(b.sub(end, previous), lanes.all(1))
    value, wrong = lanes.values(text, places[1:], [b.add(p, lanes.number(1)) for p in places[:-1]], length, ended)
    store_vector(b, values, at, value)
    return lanes.mask(lanes.is_not_zero(wrong))
