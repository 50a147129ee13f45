"""JSON whitespace, numbers and paths, and the messages for all errors of a line."""

from __future__ import annotations

from novikoff._compiled.buffers import uint64
from novikoff._compiled.jit import compiled, compiled_not_inlined
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import load_word
from novikoff._compiled.simd.dot import get_unchecked
from novikoff.data.formats.json.strings import (
    BAD_ESCAPE,
    CONTROL_CHARACTER,
    ENCODING,
    LONE_SURROGATE,
    UNCLOSED_STRING,
)
from novikoff.data.parse_float import POWERS_OF_TEN, parse_decimal

MAX_DEPTH = 64
MAX_PATH_BYTES = 1000
"""Limit on the length of a path: every value below a path hashes it again."""
REASONS = {
    # Errors of strings: see `strings.py`.
    UNCLOSED_STRING: ("syntax", "unterminated string"),
    CONTROL_CHARACTER: ("control character", "a control character must be escaped in a string"),
    BAD_ESCAPE: ("escape", 'a backslash must be followed by one of "\\/bfnrt or by u and four hexadecimal digits'),
    LONE_SURROGATE: ("escape", "unpaired surrogate"),
    ENCODING: ("encoding", "strings must be UTF-8"),
    6: ("syntax", "expected one JSON object per line"),
    7: ("syntax", "expected a name in double quotes"),
    8: ("syntax", "expected a colon"),
    9: ("syntax", "expected a value"),
    10: ("syntax", "expected a comma or the end of the object or list"),
    11: ("syntax", "expected nothing after the object"),
    12: ("number", "expected a JSON number"),
    13: ("range", "numbers must be finite and of size up to 1e15 (write larger labels as strings)"),
    14: ("depth", f"objects and lists may be nested up to {MAX_DEPTH} deep"),
    15: ("path", f"paths may have up to {MAX_PATH_BYTES} bytes"),
    16: ("label", "the label must be a number, a string, true or false"),
    17: ("label", "duplicate label"),
    18: ("no label", "missing label"),
    19: ("weight", "the weight must be one number from 0 to 1e15"),
    20: ("no weight", "missing weight"),
    21: ("missing", "missing value (--missing error refuses it)"),
    22: ("number", "fields of --numeric must be numbers"),
}
(
    OBJECT, NAME, COLON, VALUE, SEPARATOR, TRAILING_TEXT, NUMBER, RANGE, TOO_DEEP, PATH_TOO_LONG, LABEL_KIND,
    LABEL_TWICE, NO_LABEL,
) = range(6, 19)  # fmt: skip
WEIGHT, NO_WEIGHT, MISSING, NUMERIC = range(19, 23)
NO_LITERAL, NULL, TRUE, FALSE = range(4)
_NULL, _TRUE, _FALSE = (uint64(int.from_bytes(name, "little")) for name in (b"null", b"true", b"false"))
_FOUR_BYTES, _FIVE_BYTES = uint64(2**32 - 1), uint64(2**40 - 1)


@compiled
def skip_whitespace(text: NDArray[np.uint8], k: int) -> int:
    """Skip JSON whitespace other than line feeds; a line feed ends the line."""
    byte = get_unchecked(text, k)
    while byte == 32 or byte == 9 or byte == 13:
        k += 1
        byte = get_unchecked(text, k)
    return k


@compiled
def is_digit(byte: int) -> bool:
    return 48 <= byte <= 57


@compiled
def read_literal(text: NDArray[np.uint8], k: int) -> tuple[int, int]:
    """Return which of null, true and false begins at k, and its end; NO_LITERAL for none."""
    letters = np.uint64(load_word(text, k))
    if letters & _FOUR_BYTES == _TRUE:
        return TRUE, k + 4
    if letters & _FIVE_BYTES == _FALSE:
        return FALSE, k + 5
    return (NULL if letters & _FOUR_BYTES == _NULL else NO_LITERAL), k + 4


@compiled
def parse_number(text: NDArray[np.uint8], k: int) -> tuple[int, int, float]:
    """Parse the number that begins at k; return (reason or 0, its end, its value)."""
    after, value = parse_short_number(text, k)
    if after >= 0:
        return 0, after, value
    return parse_any_number(text, k)


@compiled
def parse_short_number(text: NDArray[np.uint8], k: int) -> tuple[int, float]:
    """Parse a short number at k, whose digits are an exact double; return its end, −1 for other numbers, and value."""
    negative = get_unchecked(text, k) == 45
    first = k + 1 if negative else k
    k, number = read_digits(text, first, 0)
    whole, after = k - first, 0
    if whole == 0 or (whole > 1 and get_unchecked(text, first) == 48):
        return -1, 0.0
    if get_unchecked(text, k) == 46:
        k, number = read_digits(text, k + 1, number)
        after = k - first - whole - 1
        if after == 0:
            return -1, 0.0
    if whole + after > 15 or int(get_unchecked(text, k)) | 32 == 101:
        return -1, 0.0
    value = np.float64(number) / get_unchecked(POWERS_OF_TEN, after)
    return k, -value if negative else value


@compiled_not_inlined
def parse_any_number(text: NDArray[np.uint8], k: int) -> tuple[int, int, float]:
    """Parse the number that begins at k as `parse_number` does, of any length."""
    start = k
    if text[k] == 45:
        k += 1
    if not is_digit(text[k]):
        # Infinity and NaN are no JSON numbers: the reason says so.
        return (RANGE if text[k] == 73 or text[k] == 78 else NUMBER), k, 0.0
    k = k + 1 if text[k] == 48 else read_digits(text, k, 0)[0]
    if text[k] == 46:
        if not is_digit(text[k + 1]):
            return NUMBER, k + 1, 0.0
        k = read_digits(text, k + 1, 0)[0]
    if text[k] | 32 == 101:
        k += 2 if text[k + 1] == 43 or text[k + 1] == 45 else 1
        if not is_digit(text[k]):
            return NUMBER, k, 0.0
        k = read_digits(text, k, 0)[0]
    value, _ = parse_decimal(text, start, k)
    return 0, k, value


@compiled
def read_digits(text: NDArray[np.uint8], k: int, number: int) -> tuple[int, int]:
    """Return the end of the digits from k on, and the number with these digits appended, right for up to 18 digits."""
    digit = int(get_unchecked(text, k)) - 48
    while 0 <= digit <= 9:
        number = number * 10 + digit
        k += 1
        digit = int(get_unchecked(text, k)) - 48
    return k, number


@compiled_not_inlined
def append_index(path: NDArray[np.uint8], end: int, number: int) -> int:
    """Append a point and a number to a path; return the new end."""
    path[end] = 46
    size, rest = 1, number
    while rest >= 10:
        rest //= 10
        size += 1
    for j in range(end + size, end, -1):
        path[j] = 48 + number % 10
        number //= 10
    return end + size + 1


@compiled
def append_name(path: NDArray[np.uint8], end: int, text: NDArray[np.uint8], start: int, size: int, nested: bool) -> int:
    """Append a name to a path, after a point where it is nested; return the new end."""
    if nested:
        path[end] = 46
        end += 1
    for j in range(size):
        path[end + j] = get_unchecked(text, start + j)
    return end + size
