"""JSON whitespace, numbers and paths, and the messages for all errors of a line."""

from __future__ import annotations

from typing import Any

from novikoff._compiled.jit import compiled, compiled_not_inlined
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import to_int64
from novikoff._compiled.simd.dot import get_unchecked
from novikoff.data.formats.json.strings import BAD_ESCAPE, CONTROL_CHARACTER, LONE_SURROGATE, UNCLOSED_STRING
from novikoff.data.parse_float import parse_decimal

MAX_DEPTH = 64
MAX_PATH_BYTES = 1000
"""Limit on the length of a path: every value below a path hashes it again."""
REASONS = {
    # Errors of strings: see `strings.py`.
    UNCLOSED_STRING: ("syntax", "unterminated string"),
    CONTROL_CHARACTER: ("control character", "a control character must be escaped in a string"),
    BAD_ESCAPE: ("escape", 'a backslash must be followed by one of "\\/bfnrt or by u and four hexadecimal digits'),
    LONE_SURROGATE: ("escape", "unpaired surrogate"),
    5: ("encoding", "strings must be UTF-8"),
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
    ENCODING, OBJECT, NAME, COLON, VALUE, SEPARATOR, TRAILING_TEXT, NUMBER, RANGE, TOO_DEEP, PATH_TOO_LONG, LABEL_KIND,
    LABEL_TWICE, NO_LABEL,
) = range(5, 19)  # fmt: skip
WEIGHT, NO_WEIGHT, MISSING, NUMERIC = range(19, 23)


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


@compiled_not_inlined
def parse_json_number(text: NDArray[np.uint8], k: int) -> tuple[int, int, float]:
    """Parse the number that begins at k; return (reason or 0, its end, its value)."""
    start = k
    negative = text[k] == 45
    if negative:
        k += 1
    if not is_digit(text[k]):
        # Infinity and NaN are no JSON numbers: the reason says so.
        return (RANGE if text[k] == 73 or text[k] == 78 else NUMBER), k, 0.0
    whole: Any = 0
    first = k
    if text[k] == 48:
        k += 1
    else:
        while is_digit(text[k]):
            whole = (whole * 10 + to_int64(text[k]) - 48) & 0xFFFFFFFFFFFFFF  # right for up to 15 digits
            k += 1
    plain = k - first <= 15
    if text[k] == 46:
        plain = False
        k += 1
        if not is_digit(text[k]):
            return NUMBER, k, 0.0
        while is_digit(text[k]):
            k += 1
    if text[k] | 32 == 101:
        plain = False
        k += 1
        if text[k] == 43 or text[k] == 45:
            k += 1
        if not is_digit(text[k]):
            return NUMBER, k, 0.0
        while is_digit(text[k]):
            k += 1
    if plain:
        value = float(whole)
        return 0, k, -value if negative else value
    value, _ = parse_decimal(text, start, k)
    return 0, k, value


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
