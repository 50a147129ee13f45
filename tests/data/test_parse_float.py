"""Decimal text is parsed like Python's float(), to the last bit.

Literals stand in one buffer without separators, so that reading past the end of one changes the result.
"""

from __future__ import annotations

import math
import random
import re
import struct
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from novikoff._compiled.jit import JIT_DISABLED, compiled
from novikoff.data import parse_float

pytestmark = pytest.mark.plain_python_coverage

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
COUNT = 2_000 if JIT_DISABLED else 200_000
MANY = 20_000 if JIT_DISABLED else 4_000_000
LENGTHS = (1_000, 20_000) if JIT_DISABLED else (1_000, 20_000, 1_000_000)
LEAST, MOST = 5e-324, 1.7976931348623157e308


@compiled
def read_all(buffer: Any, ends: Any, values: Any, valid: Any) -> None:
    for i in range(len(values)):
        values[i], valid[i] = parse_float.parse_decimal(buffer, ends[i], ends[i + 1])


def read(literals: list[bytes]) -> tuple[Any, Any]:
    """Return the doubles that the literals stand for, and which literals are valid."""
    ends = np.zeros(len(literals) + 1, np.int64)
    np.cumsum([len(literal) for literal in literals], out=ends[1:])
    buffer = np.frombuffer(bytearray(b"".join(literals)), np.uint8)
    values, valid = np.empty(len(literals)), np.empty(len(literals), np.bool_)
    read_all(buffer, ends, values, valid)
    return values, valid


def agree(literals: Iterable[str]) -> None:
    """Check that all literals are numbers and equal those of float()."""
    texts = list(literals)
    values, valid = read([text.encode() for text in texts])
    expected = np.array([float(text) for text in texts])
    wrong = np.flatnonzero(~valid | (values.view(np.int64) != expected.view(np.int64)))
    assert [(texts[i][:60], values[i], expected[i]) for i in wrong[:5]] == []


def accepts(text: str | bytes) -> bool:
    raw = text if isinstance(text, bytes) else text.encode()
    return bool(read([raw])[1][0])


def as_double(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


def as_bits(value: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def any_double(rng: random.Random) -> float:
    """Generate doubles of any exponent and sign."""
    return math.copysign(as_double(rng.randrange(0x7FF << 52)), rng.random() - 0.5)


def digits(rng: random.Random, count: int) -> str:
    return "".join(rng.choices("0123456789", k=count))


def plain_digits(rng: random.Random) -> str:
    text = digits(rng, rng.randint(1, 40))
    point = rng.randint(0, len(text))
    sign, mark = rng.choice(["", "-", "+"]), rng.choice(["e", "E", "e+"])
    exponent = rng.randint(-400, 400)
    tail = rng.choice(["", f"{mark if exponent >= 0 else 'e'}{exponent}"])
    return f"{sign}{text[:point]}{rng.choice(['.', '.', ''])}{text[point:]}{tail}"


def format_ordinary_number(rng: random.Random) -> str:
    return rng.choice(["%.6f", "%.3f", "%g", "%.0f", "%.17g", "%.9g"]) % rng.gauss(0, 100)


def format_shortest(rng: random.Random) -> str:
    return repr(any_double(rng))


def format_seventeen_digits(rng: random.Random) -> str:
    return f"{any_double(rng):.17g}"


def format_long(rng: random.Random) -> str:
    return f"{any_double(rng):.25e}"


def midpoint(bits: int) -> tuple[int, int]:
    """Return all digits and the power of ten of the midpoint between the double with these bits and the next one."""
    exponent, fraction = divmod(bits, 1 << 52)
    odd = 2 * (fraction + (1 << 52 if exponent else 0)) + 1
    power = max(exponent, 1) - 1076
    return (odd << power, 0) if power >= 0 else (odd * 5**-power, power)


def list_around_midpoint(bits: int, rng: random.Random) -> list[str]:
    """Yield the midpoint, the next numbers above and below with one more digit, and one that differs after 700
    zeros."""
    number, q = midpoint(bits)
    text = str(number)
    shifted = rng.randint(1, len(text))
    return [
        f"{text}e{q}",
        f"{text}1e{q - 1}",
        f"{number * 10 - 1}e{q - 1}",
        f"-{text}{'0' * 760}1e{q - 761}",
        f"{text}{'0' * 760}e{q - 760}",
        f"{text}{'0' * 760}10e{q - 762}",
        f"{text[:shifted]}.{text[shifted:]}{'0' * 760}1e{q + len(text) - shifted}",
        f"{number - 1}{'9' * 760}e{q - 760}",
        f"00{text[:17]}.{text[17:]}e{q + max(len(text) - 17, 0)}",
        f"{text[:19]}e{q + max(len(text) - 19, 0)}",
    ]


def midpoint_at_random(rng: random.Random) -> str:
    return rng.choice(list_around_midpoint(rng.randrange(0x7FF << 52), rng))


def few_digits_near_midpoint(rng: random.Random) -> str:
    """Cut a midpoint to some digits: close enough to be hard, too far to be a tie."""
    number, q = midpoint(rng.randrange(0x7FF << 52))
    text = str(number)
    kept = rng.randint(16, 24)
    return f"{text[:kept]}e{q + max(len(text) - kept, 0)}"


def tie_of_few_digits(rng: random.Random) -> str:
    """Yield ties of some twenty digits: odd multiples of small powers of 2 and of 5."""
    odd = rng.randrange(1 << 53, 1 << 54) | 1
    power = rng.randint(0, 10)
    return rng.choice([f"{odd << power}", f"{odd * 5**power}e-{power}", f"{odd << power}.000"])


def subnormal(rng: random.Random) -> str:
    value = as_double(rng.randrange(1, 1 << rng.randint(1, 53)))
    return rng.choice([repr(value), f"{value:.17g}", f"{value:.30e}", f"{digits(rng, 18)}e{rng.randint(-345, -322)}"])


def format_near_two_to_53(rng: random.Random) -> str:
    number = (1 << rng.randint(52, 63)) + rng.randint(-5, 5)
    return rng.choice([f"{number}", f"{number}.5", f"{number}e{rng.randint(-30, 30)}", f"{number}.{digits(rng, 5)}"])


KINDS = [
    plain_digits,
    format_ordinary_number,
    format_shortest,
    format_seventeen_digits,
    format_long,
    subnormal,
    format_near_two_to_53,
    tie_of_few_digits,
]
HARD = [midpoint_at_random, few_digits_near_midpoint]


@pytest.mark.parametrize("kind", KINDS)
def test_random_numbers_equal_float(kind: Callable[[random.Random], str]) -> None:
    rng = random.Random(kind.__name__)
    agree(kind(rng) for _ in range(COUNT // len(KINDS)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_random_numbers_equal_float(kind: Callable[[random.Random], str]) -> None:
    rng = random.Random("many " + kind.__name__)
    for _ in range(10):
        agree(kind(rng) for _ in range(MANY // len(KINDS) // 10))


@pytest.mark.parametrize("kind", HARD)
def test_hard_numbers_equal_float(kind: Callable[[random.Random], str]) -> None:
    rng = random.Random(kind.__name__)
    agree(kind(rng) for _ in range(COUNT // 40))


@pytest.mark.slow
@pytest.mark.parametrize("kind", HARD)
def test_many_hard_numbers_equal_float(kind: Callable[[random.Random], str]) -> None:
    rng = random.Random("many " + kind.__name__)
    for _ in range(10):
        agree(kind(rng) for _ in range(MANY // 100))


def test_midpoints_at_the_borders_equal_float() -> None:
    """Midpoints around zero, the smallest normal number, every power of two and the largest number are parsed
    exactly."""
    rng = random.Random(0)
    borders = {0, 1, 2, 3, (0x7FF << 52) - 1, (0x7FF << 52) - 2}
    borders |= {(exponent << 52) + step for exponent in (1, 2) for step in (-2, -1, 0, 1)}  # 767 digits
    powers = {(exponent << 52) + step for exponent in range(1, 0x7FF) for step in (-1, 0, 1)}
    chosen = [*borders, *sorted(powers)[:: 100 if JIT_DISABLED else 1]]
    agree(text for b in chosen for text in list_around_midpoint(b, rng))


def test_every_power_of_ten_is_exact() -> None:
    agree(f"{first}e{q}" for q in range(-400, 401) for first in ("1", "9", "4.9", "123456789012345678", "2" * 19))
    agree(f"{digit}{'0' * zeros}" for digit in "19" for zeros in range(330))
    agree(f"0.{'0' * zeros}{digit}" for digit in "1259" for zeros in range(330))


def test_smallest_and_largest_numbers_are_exact() -> None:
    texts = [
        repr(LEAST),
        repr(MOST),
        repr(2.0**-1022),
        repr(as_double((1 << 52) - 1)),
        "4.9e-324",
        "2.4703282292062327e-324",
    ]
    texts += [
        "2.4703282292062328e-324",
        "2.5e-324",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "1e309",
        "-1e309",
    ]
    texts += ["2.2250738585072011e-308", "2.2250738585072012e-308", "0.000e500", "-0", "0e-999999999999999999999"]
    texts += [
        "1e-400",
        "-1e-400",
        "9" * 18 + "e-343",
        "9" * 30 + "e-354",
        "9" * 18 + "e-342",
        "1e" + "9" * 40,
        "1e-" + "9" * 40,
    ]
    agree(texts)


@pytest.mark.parametrize("length", LENGTHS)
def test_long_numbers_equal_float(length: int) -> None:
    rng = random.Random(length)
    zeros, some = "0" * length, digits(rng, length)
    number, q = midpoint(as_bits(0.1))
    agree(
        [
            f"0.{some}",
            f"1{some}e-{length}",
            f"{some[: length // 2]}.{some[length // 2 :]}",
            f"{zeros}1.5{zeros}",
            f"0.{zeros}17e{length}",
            f"17{zeros}e-{length}",
            f"17{zeros}.{zeros}e-{length + 3}",
            f"{number}{zeros}1e{q - length - 1}",
            f"{number}{zeros}e{q - length}",
            f"1e{zeros}7",
            f"1e-{zeros}7",
            f"9007199254740993.{zeros}",
            f"9007199254740993.{zeros}1",
            f"9007199254740992.{'9' * length}",
        ]
    )
    assert not accepts(some + "x")
    assert not accepts(f"0.{some}e")


def test_threads_do_not_share_buffers() -> None:
    rng = random.Random(1)
    literals = [midpoint_at_random(rng).encode() for _ in range(20 if JIT_DISABLED else 4_000)]
    parts = [literals[k::4] for k in range(4)]
    alone = [read(part)[0].tobytes() for part in parts]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert [values.tobytes() for values, _ in pool.map(read, parts)] == alone


def test_valid_literals_are_accepted() -> None:
    right = "0 1 1. .5 +3 -0.0 -.5e3 +1.E+2 00 0001 1e5 1E-5 1e+05 1e000 .0e0 9.e9 -7 12345678901234567890"
    agree(right.split(" "))


def test_invalid_literals_are_refused() -> None:
    wrong = (
        ". - + e E 1e 1e+ 1e- .e1 e5 +-1 --1 1.2.3 1..2 1_0 1,5 0x10 1e1.5 1e5e5 inf -inf nan Infinity 1f 1d0 1-2 1+"
    )
    wrong += " ５ 1\x00 1\x10 1:2 1/2 1$"
    for text in ["", " ", " 1", "1 ", "1 2", "1\n", "\t1", "- 1", "1e 5", *wrong.split(" ")]:
        assert not accepts(text), text
    for byte in range(256):
        one = bytes([byte])
        assert accepts(one) == (one in b"0123456789"), byte
        assert accepts(b"1" + one) == (one in b"0123456789."), byte
        assert accepts(b"1" + one + b"1") == (one in b"0123456789.eE"), byte


@given(
    st.one_of(st.text("0123456789+-.eE", max_size=12), st.text("019+-.eE _xXinfa\n", max_size=8), st.text(max_size=4))
)
def test_the_grammar_is_that_of_float(text: str) -> None:
    values, valid = read([text.encode(errors="replace")])
    assert valid[0] == bool(NUMBER.fullmatch(text))
    if valid[0]:
        assert as_bits(values[0]) == as_bits(float(text))


@given(st.from_regex(NUMBER, fullmatch=True))
def test_every_literal_of_the_grammar_equals_float(text: str) -> None:
    agree([text])


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_repr_round_trips(value: float) -> None:
    agree([repr(value), f"{value:.17g}", f"{value:.16e}", f"{value:.25e}", f"{value:.6f}"])


def test_the_table_of_powers_is_correct() -> None:
    """Every entry is ⌊5^q·2^t⌋ with 126 bits, and the approximated logarithm of 10^q is exact for each."""
    for q in range(parse_float.MIN_DECIMAL_EXPONENT, parse_float.MAX_DECIMAL_EXPONENT + 1):
        k = 2 * (q - parse_float.MIN_DECIMAL_EXPONENT)
        entry = (int(parse_float.POWERS_OF_FIVE[k]) << 63) + int(parse_float.POWERS_OF_FIVE[k + 1])
        assert entry.bit_length() == 126
        log = 217706 * q >> 16
        t = 125 + q - log
        over, under = 5 ** max(q, 0) << max(t, 0), 5 ** max(-q, 0) << max(-t, 0)
        assert entry * under <= over < (entry + 1) * under
    assert all(
        parse_float._find_leading_bit(n) == n.bit_length() - 1 for k in range(63) for n in (1 << k, (2 << k) - 1)
    )
