"""Decimal text to doubles, correctly rounded: round to nearest, ties to even.

Grammar: an optional sign, digits with an optional point (at least one digit), and an optional exponent (e or E, an
optional sign, at least one digit). So 1., .5, +3 and -0.0 are numbers. Blanks, underscores, hexadecimal digits, inf and
nan are not. Overflow gives inf, underflow ±0. Texts may have any length.

Three methods, each for what the one before can't decide:

1. Digits up to 2⁵³ and powers of ten up to 10²² are exact doubles: one multiplication or division rounds once
   (Clinger, 1990).
2. The first 18 significant digits times a 126-bit approximation of 5^q give bounds for the number. Their relative
   distance is 2⁻¹²⁴, or 10⁻¹⁷ where digits were cut off. If both bounds round to the same double, that is the result
   (after Eisel and Lemire, "Number parsing at a gigabyte per second", 2021).
3. Otherwise exactly one midpoint of two neighbouring doubles lies between the bounds, or on one. It is compared with
   the number in integers of some 2600 bits. No midpoint has more than 767 significant digits: of later digits it only
   matters whether one is not zero.

All integers are non-negative and below 2⁶³, so that compiled 64-bit arithmetic agrees with Python's. Calls share no
state: threads may parse at the same time.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from novikoff._compiled import buffers
from novikoff._compiled.jit import compiled, compiled_not_inlined, primitive
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.dot import get_unchecked

Bytes: TypeAlias = "NDArray[np.uint8]"

SIGNIFICANT_DIGITS = 18  # all numbers with this many digits are below 2⁶³
MIN_FULL_SIGNIFICAND = 10 ** (SIGNIFICANT_DIGITS - 1)  # the smallest number with this many digits
MIN_DECIMAL_EXPONENT = -341  # below it even 10¹⁸·10^q rounds to zero
MAX_DECIMAL_EXPONENT = 308  # above it 10^q alone is infinite
EXPONENT_LIMIT = 10**17  # the exponent saturates here: no text that fits in memory has enough digits to compensate
MASK_63_BITS = (1 << 63) - 1
FRACTION_BITS = 52
INFINITY_BITS = 0x7FF << FRACTION_BITS
MAX_DECISIVE_DIGITS = 770
LIMB_BITS = 32
LIMB_MASK = (1 << LIMB_BITS) - 1
MAX_LIMBS = 90  # the larger side of a comparison: 5¹⁰⁹⁴·2⁵⁴ < 2²⁵⁹⁵, or 770 digits < 2²⁵⁵⁹
MINUS, PLUS, POINT, ZERO, LOWER_E, CASE_BIT = 45, 43, 46, 48, 101, 32


def _build_powers_of_five() -> NDArray[np.int64]:
    """Return ⌊5^q·2^t⌋ for all q from MIN_DECIMAL_EXPONENT to MAX_DECIMAL_EXPONENT, with t such that it has 126 bits:
    the upper 63 bits, then the lower 63."""
    words = []
    for q in range(MIN_DECIMAL_EXPONENT, MAX_DECIMAL_EXPONENT + 1):
        power: int = 5 ** abs(q)
        bits = power.bit_length()
        scaled = (power << 126 >> bits) if q >= 0 else (1 << 125 + bits) // power
        words += [scaled >> 63, scaled & MASK_63_BITS]
    return buffers.array(words, "int64")


POWERS_OF_TEN = buffers.array([10.0**k for k in range(23)])
POWERS_OF_FIVE = _build_powers_of_five()


def _multiply_wide(a: int, b: int) -> tuple[int, int]:
    product = int(a) * int(b)
    return product >> 63, product & MASK_63_BITS


def _multiply_wide_code(numba: Any, a: Any, b: Any) -> Any:
    whole = numba.types.int64

    def multiply(context: Any, a: Any, b: Any) -> Any:
        def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            narrow = args[0].type
            wide = type(narrow)(128)
            full = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
            upper = builder.trunc(builder.lshr(full, wide(63)), narrow)
            lower = builder.and_(builder.trunc(full, narrow), narrow(MASK_63_BITS))
            return target.make_tuple(builder, signature.return_type, [upper, lower])

        return numba.types.UniTuple(whole, 2)(whole, whole), code

    made = numba.extending.intrinsic(multiply)
    return lambda a, b: made(a, b)  # noqa: PLW0108 - Numba wants a function here


multiply_wide = primitive(_multiply_wide, _multiply_wide_code)
"""Return the product of two numbers below 2⁶³: its upper 63 bits and its lower 63 bits."""


@compiled
def _digit_value(buffer: Bytes, k: int) -> int:
    """Return the value of a digit; a value outside of 0 … 9 for other bytes."""
    return int(get_unchecked(buffer, k)) - ZERO


@compiled
def _read_digits(buffer: Bytes, k: int, stop: int, number: int) -> tuple[int, int]:
    """Append the digits from k on to a number; return it and the end of the digits."""
    while k < stop:
        digit = _digit_value(buffer, k)
        if digit < 0 or digit > 9:
            break
        number = number * 10 + digit
        k += 1
    return number, k


@compiled
def _skip_digits(buffer: Bytes, k: int, stop: int) -> int:
    """Return the end of the digits from k on."""
    while k < stop and 0 <= _digit_value(buffer, k) <= 9:
        k += 1
    return k


@compiled
def _read_first_digits(buffer: Bytes, start: int, last: int) -> tuple[int, int]:
    """Return the first 18 significant digits in buffer[start:last], and how many digits follow."""
    number, dropped = 0, 0
    for k in range(start, last):
        digit = _digit_value(buffer, k)
        if digit >= 0:
            if number < MIN_FULL_SIGNIFICAND:
                number = number * 10 + digit
            else:
                dropped += 1
    return number, dropped


@compiled
def _read_exponent(buffer: Bytes, k: int, stop: int) -> tuple[int, bool]:
    """Return the exponent whose text begins at k, and whether it is valid and ends at `stop`."""
    down = k < stop and get_unchecked(buffer, k) == MINUS
    if k < stop and (down or get_unchecked(buffer, k) == PLUS):
        k += 1
    first = k
    exponent = 0
    while k < stop and 0 <= _digit_value(buffer, k) <= 9:
        if exponent < EXPONENT_LIMIT:
            exponent = exponent * 10 + _digit_value(buffer, k)
        k += 1
    return -exponent if down else exponent, k == stop and k > first


@compiled
def _float_from_bits(bits: int) -> float:
    return np.int64(bits).view(np.float64)


@compiled
def _find_leading_bit(number: int) -> int:
    """Return ⌊log₂ number⌋. Bits below a set bit are cleared: then the conversion to double can't round up too far."""
    return int(np.float64(number & ~(number >> 1)).view(np.int64) >> FRACTION_BITS) - 1023


@compiled
def _round_eisel_lemire(number: int, q: int) -> tuple[int, bool]:
    """Return the bits of the double nearest to number·10^q and True; if 126 bits of 5^q don't decide, return the bits
    of the lower of the two candidates and False.

    Number and power are shifted to 63 and 126 bits. The product p has 188 or 189 bits; `upper` and `lower` are its
    upper 126 bits. The exact number lies between (upper, lower) and (upper, lower + 2): one unit for the bits of p that
    were cut off, one for those of 5^q. A double takes the upper 53 bits; subnormal ones take fewer.
    """
    up = 62 - _find_leading_bit(number)
    k = 2 * (q - MIN_DECIMAL_EXPONENT)
    number <<= up
    upper, lower = multiply_wide(number, int(get_unchecked(POWERS_OF_FIVE, k)))
    more, _ = multiply_wide(number, int(get_unchecked(POWERS_OF_FIVE, k + 1)))
    if lower > MASK_63_BITS - more:
        upper += 1
        lower -= MASK_63_BITS - more + 1
    else:
        lower += more
    # 217706/2¹⁶ approximates log₂ 10: ⌊log₂ 10^q⌋ is exact for every q of the table.
    drop = 9 + (upper >> 62)
    exponent = (217706 * q >> 16) + 1 - up + drop + 1075
    if exponent >= 0x7FF:
        return INFINITY_BITS, True
    if exponent <= 0:
        drop += 1 - exponent
        exponent = 1
        if drop > 63:
            return 0, drop > 64
    significand = upper >> drop
    rest = upper - (significand << drop)
    half = 1 << (drop - 1)
    bits = significand + ((exponent - 1) << FRACTION_BITS)
    if (rest == half and lower == 0) or (rest == half - 1 and lower == MASK_63_BITS):
        return bits, False
    return bits + (1 if rest >= half else 0), True


@compiled
def _multiply_add(limbs: Any, base: int, count: int, factor: int, addend: int) -> int:
    """Replace the integer in limbs[base:base + count], lowest limb first, by integer·factor + addend, both below 2³¹.

    Return the new number of limbs.
    """
    for k in range(base, base + count):
        addend += int(limbs[k]) * factor
        limbs[k] = addend & LIMB_MASK
        addend >>= LIMB_BITS
    if addend > 0:
        limbs[base + count] = addend
        count += 1
    return count


@compiled
def _multiply_by_powers(limbs: Any, base: int, count: int, fives: int, twos: int) -> int:
    """Multiply by 5^fives·2^twos; negative powers count as zero. Return the new number of limbs."""
    while fives > 0 or twos > 0:
        factor = 1
        while fives > 0 and factor < 1 << 28:
            factor *= 5
            fives -= 1
        while twos > 0 and factor < 1 << 28:
            factor *= 2
            twos -= 1
        count = _multiply_add(limbs, base, count, factor, 0)
    return count


@compiled
def _compare_limbs(limbs: Any, count: int, base: int, other: int) -> int:
    """Return −1, 0 or 1 as limbs[0:count] is less than, equal to or greater than limbs[base:base + other]."""
    if count != other:
        return -1 if count < other else 1
    for k in range(count - 1, -1, -1):
        if limbs[k] != limbs[base + k]:
            return -1 if limbs[k] < limbs[base + k] else 1
    return 0


@compiled
def _read_all_digits(buffer: Bytes, start: int, last: int, limbs: Any) -> tuple[int, int, bool]:
    """Read up to MAX_DECISIVE_DIGITS significant digits of buffer[start:last] into one integer. Return its number of
    limbs, how many digits follow, and whether one of these is not zero."""
    count, digits, dropped, part, scale = 0, 0, 0, 0, 1
    rest = False
    for k in range(start, last):
        digit = _digit_value(buffer, k)
        if digit >= 0 and digits == MAX_DECISIVE_DIGITS:
            dropped += 1
            rest = rest or digit > 0
        elif digit > 0 or (digit == 0 and digits > 0):
            part = part * 10 + digit
            scale *= 10
            digits += 1
        if scale == 10**9 or k == last - 1:
            count = _multiply_add(limbs, 0, count, scale, part)
            part, scale = 0, 1
    return count, dropped, rest


@compiled_not_inlined
def _compare_with_midpoint(buffer: Bytes, start: int, last: int, q: int, bits: int, limbs: Any) -> int:
    """Return the bits of whichever of two neighbouring doubles is nearer to digits·10^q: `bits`, or the next.

    The digits are all those of buffer[start:last]. The midpoint of the two doubles is odd·2^power. Multiplying by
    powers of 5 and 2 makes both sides of the comparison integers.
    """
    count, dropped, rest = _read_all_digits(buffer, start, last, limbs)
    q += dropped
    exponent = bits >> FRACTION_BITS
    odd = (bits - (exponent << FRACTION_BITS)) * 2 + 1
    if exponent > 0:
        odd += 2 << FRACTION_BITS
        exponent -= 1
    power = exponent - 1075
    limbs[MAX_LIMBS] = odd & LIMB_MASK
    limbs[MAX_LIMBS + 1] = odd >> LIMB_BITS
    other = 2 if odd > LIMB_MASK else 1
    count = _multiply_by_powers(limbs, 0, count, q, q - power)
    other = _multiply_by_powers(limbs, MAX_LIMBS, other, -q, power - q)
    side = _compare_limbs(limbs, count, MAX_LIMBS, other)
    if side > 0 or (side == 0 and (rest or bits & 1 == 1)):
        return bits + 1
    return bits


def _round_exactly(buffer: Bytes, start: int, last: int, q: int, bits: int) -> int:
    return _compare_with_midpoint(buffer, start, last, q, bits, buffers.zeros(2 * MAX_LIMBS, "int64"))


def _round_exactly_code(numba: Any, *types: Any) -> Any:
    """Allocate the limbs on the stack frame of the returned function; they are valid only during its call."""

    def on_stack(context: Any) -> Any:
        kind = numba.types.Array(numba.types.int64, 1, "C")

        def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            array = target.make_array(kind)(target, builder)
            size = target.get_constant(numba.types.intp, 8)
            length = target.get_constant(numba.types.intp, 2 * MAX_LIMBS)
            pack = numba.core.cgutils.pack_array
            numba.np.arrayobj.populate_array(
                array,
                data=numba.core.cgutils.alloca_once(builder, array.data.type.pointee, size=length),
                shape=pack(builder, [length]),
                strides=pack(builder, [size]),
                itemsize=size,
                meminfo=None,
            )
            return array._getvalue()

        return kind(), code

    limbs = numba.extending.intrinsic(on_stack)
    return lambda buffer, start, last, q, bits: _compare_with_midpoint(buffer, start, last, q, bits, limbs())


round_exactly = primitive(_round_exactly, _round_exactly_code)
"""Call `_compare_with_midpoint` with a buffer for its integers, which compiled code can't allocate."""


@compiled
def _compute_magnitude(buffer: Bytes, start: int, last: int, number: int, q: int, dropped: int) -> float:
    """Return the double nearest to digits·10^q, for the digits of buffer[start:last]: `number`, then those dropped."""
    if number <= 1 << 53 and -22 <= q <= 22 and dropped == 0:
        return float(number / get_unchecked(POWERS_OF_TEN, -q) if q < 0 else number * get_unchecked(POWERS_OF_TEN, q))
    near = q + dropped
    if number == 0 or near < MIN_DECIMAL_EXPONENT:
        return 0.0
    if near > MAX_DECIMAL_EXPONENT:
        return np.inf
    bits, sure = _round_eisel_lemire(number, near)
    if dropped > 0:
        above, also = _round_eisel_lemire(number + 1, near)
        sure = sure and also and above == bits
    if not sure:
        bits = round_exactly(buffer, start, last, q, bits)
    return _float_from_bits(bits)


@compiled_not_inlined
def parse_decimal(buffer: Bytes, start: int, stop: int) -> tuple[float, bool]:
    """Parse all of buffer[start:stop]; return the number, and whether the text is one."""
    negative = start < stop and get_unchecked(buffer, start) == MINUS
    if start < stop and (negative or get_unchecked(buffer, start) == PLUS):
        start += 1
    # Leading zeros are read as digits: skipping them would slow down short numbers, the most frequent ones.
    number, read = _read_digits(buffer, start, min(stop, start + SIGNIFICANT_DIGITS), 0)
    last = _skip_digits(buffer, read, stop)
    digits = last - start
    more = last > read
    q = 0
    if last < stop and get_unchecked(buffer, last) == POINT:
        point = last + 1
        number, read = _read_digits(buffer, point, min(stop, start + SIGNIFICANT_DIGITS + 1), number)
        last = _skip_digits(buffer, read, stop)
        q = point - last
        digits -= q
        more = more or last > read
    if digits == 0:
        return 0.0, False
    if last < stop:
        if int(get_unchecked(buffer, last)) | CASE_BIT != LOWER_E:
            return 0.0, False
        exponent, valid = _read_exponent(buffer, last + 1, stop)
        if not valid:
            return 0.0, False
        q += exponent
    dropped = digits - SIGNIFICANT_DIGITS if more else 0
    if more and number < MIN_FULL_SIGNIFICAND:
        number, dropped = _read_first_digits(buffer, start, last)
    size = _compute_magnitude(buffer, start, last, number, q, dropped)
    return -size if negative else size, True
