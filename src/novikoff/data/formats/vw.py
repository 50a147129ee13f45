"""Vowpal Wabbit text, one example per line: `label importance base tag|namespace:scale feature:value feature … |…`.

Before the first bar: an optional label, importance (the weight of the example), base (ignored) and tag (the last word
if it touches the bar or begins with '). A bar followed by a letter begins a namespace, whose scale multiplies its
values. A feature without a value has value 1; `name:text`, with a text that does not look like a number, is the feature
`name=text` with value 1. Input where VW would guess is refused: numbers with trailing text, nan and infinity, more than
three numbers before the bar. There are no comments.

A feature is hashed with its namespace as seed. An interaction `ab` (two or three letters) combines each feature of
namespaces that begin with a with each of those that begin with b, …. Within one namespace, combinations are unordered
and without repetition. The value is the product of the values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from novikoff._compiled import buffers
from novikoff._compiled.buffers import uint64, uninitialised
from novikoff._compiled.jit import compiled, compiled_not_inlined
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import PADDING_BYTES, to_int64
from novikoff._compiled.simd.dot import get_unchecked
from novikoff.data.delimiters import find_terms
from novikoff.data.formats.base import (
    LARGE_LABEL_MESSAGE,
    LARGEST_LABEL,
    LARGEST_VALUE,
    BadLine,
    Format,
    ParsedBlock,
    Parser,
    build_number_decoder,
    format_excerpt,
)
from novikoff.data.formats.control_bytes import CONTROL_BYTE_MESSAGE, find_control, has_controls
from novikoff.data.formats.svmlight_parser import find_token_end, is_non_finite, parse_number, skip_blanks
from novikoff.data.merge_terms import HashedTerms, allocate_terms, append_term, finish_row
from novikoff.data.names import hashing
from novikoff.data.names.hashing import combine_hashes, hash_bytes
from novikoff.data.parse_float import parse_decimal
from novikoff.data.rows import Sparse
from novikoff.data.text_source import TextBlock, find_last_line_end
from novikoff.errors import InputError

REASONS = {
    1: ("label", "the label must be a number, got {}."),
    2: ("importance", "the importance must be a number of at least 0, got {}."),
    3: ("before the bar", "before the first | there may be a label, an importance, a base and a tag, got {}."),
    4: ("no bar", "expected `label | features`, but there is no | in {}."),
    5: ("value", "expected feature:value with a number as value, got {}."),
    6: ("range", "values must be finite numbers of size up to 1e15, got {}."),
    7: ("namespace", "expected |namespace:scale with a number as scale, got {}."),
    8: ("interactions", "the interactions make more than {} features from this line: use fewer."),
    9: ("control byte", CONTROL_BYTE_MESSAGE),
    10: ("label", LARGE_LABEL_MESSAGE),
}
LABEL, IMPORTANCE, BAD_HEADING, NO_BAR, VALUE, RANGE, NAMESPACE, TOO_MANY_INTERACTIONS, CONTROL, LARGE_LABEL = REASONS
BAR, COLON, QUOTE = 124, 58, 39
NO_SEED: Any = uint64(0)
MAX_INTERACTIONS = 1 << 18  # features of one line
INTERACTION_BLOCK_BYTES = 1 << 14  # small blocks: interactions make many features of little text


class VwOutput(NamedTuple):
    """Output of the parser for each row, beside its terms."""

    starts: NDArray[np.int64]
    labels: NDArray[np.float64]
    weights: NDArray[np.float64]
    line_of: NDArray[np.int64]
    problems: NDArray[np.int64]


class LineFeatures(NamedTuple):
    """The features of the current line, for interactions; empty where there are none."""

    hashes: NDArray[np.uint64]
    values: NDArray[np.float64]
    starts: NDArray[np.int64]
    spaces: NDArray[np.uint8]
    """First letters of the namespaces."""


@compiled_not_inlined
def parse_heading(text: NDArray[np.uint8], start: int, bar: int, out: VwOutput, row: int) -> tuple[int, int, int]:
    """Parse what precedes the first bar; return (reason or 0, start and end of the offending text)."""
    out.labels[row] = np.nan
    out.weights[row] = 1.0
    position = 0
    k = skip_blanks(text, start, bar)
    while k < bar:
        end = find_token_end(text, k, bar)
        if end == bar or text[k] == QUOTE:
            return (0, 0, 0) if skip_blanks(text, end, bar) == bar else (BAD_HEADING, k, bar)
        value, good = parse_number(text, k, end)
        if position == 0:
            if not good:
                return LABEL, k, end
            if not abs(value) <= LARGEST_LABEL:
                return LARGE_LABEL, k, end
            out.labels[row] = value
        elif position == 1:
            if not good or not 0.0 <= value <= LARGEST_VALUE:
                return IMPORTANCE, k, end
            out.weights[row] = value
        elif position > 2 or not good:
            return BAD_HEADING, k, end
        position += 1
        k = skip_blanks(text, end, bar)
    return 0, 0, 0


@compiled_not_inlined
def parse_value(text: NDArray[np.uint8], start: int, stop: int, h: Any) -> tuple[int, float, Any]:
    """Parse what follows a feature's colon; return (reason or 0, value, hash of the feature)."""
    value, good = parse_decimal(text, start, stop)
    if good:
        return (0 if abs(value) <= LARGEST_VALUE else RANGE), value, h
    if start < stop and is_non_finite(text, start, stop) and stop - start <= 9 and text[stop - 1] != 48:
        letter = text[stop - 1] | 32
        if letter == 110 or letter == 102 or letter == 121:  # nan, inf, infinity
            return RANGE, 0.0, h
    first = text[start]
    if start == stop or 48 <= first <= 57 or first == 43 or first == 45 or first == 46:
        return VALUE, 0.0, h
    return 0, 1.0, hash_bytes(text, start, stop, h)


@compiled_not_inlined
def append_interactions(
    to: HashedTerms, features: LineFeatures, count: int, letters: NDArray[np.uint8], at: int, limit: int
) -> int:
    """Append all combinations for each interaction; return the new end, -1 above `limit`, -2 where a value is too
    large.

    `letters` holds the interactions, each ended by a 0. The positions of the factors are counted up like the digits of
    a number. For the same namespace twice, positions only grow, so that each combination occurs once.
    """
    at_most = at + limit
    chosen = features.starts[len(features.starts) - 8 :]
    begin = 0
    for end in range(len(letters)):
        if letters[end] != 0:
            continue
        parts = end - begin
        depth = 0
        chosen[0] = -1
        while depth >= 0:
            k = chosen[depth] + 1
            while k < count and features.spaces[k] != letters[begin + depth]:
                k += 1
            chosen[depth] = k
            if k >= count:
                depth -= 1
                continue
            if depth + 1 < parts:
                depth += 1
                same = letters[begin + depth] == letters[begin + depth - 1]
                chosen[depth] = chosen[depth - 1] if same else -1
                continue
            h = features.hashes[chosen[0]]
            value = features.values[chosen[0]]
            for d in range(1, parts):
                h = combine_hashes(h, features.hashes[chosen[d]])
                value *= features.values[chosen[d]]
            if at >= at_most:
                return -1
            if not abs(value) <= LARGEST_VALUE:
                return -2
            third = features.starts[chosen[2]] if parts > 2 else -1
            at = append_term(to, at, h, value, features.starts[chosen[0]], features.starts[chosen[1]], third)
        begin = end + 1
    return at


@compiled
def parse_plain_features(
    text: NDArray[np.uint8],
    marks: NDArray[np.uint32],
    k: int,
    last: int,
    to: HashedTerms,
    seed: Any,
    value: float,
    at: int,
) -> tuple[int, int, Any, float]:
    """Append features without values, from the blank at marks[k] on; return (mark behind them, new end, seed, scale).

    Namespaces that have a name and no scale are read, too. For lines that need neither names nor interactions.
    """
    here = to_int64(get_unchecked(marks, k))
    while k + 1 < last:
        stop = to_int64(get_unchecked(marks, k + 1))
        if get_unchecked(text, stop) <= 32 and get_unchecked(text, here + 1) > 32:
            to.hashes[np.uint64(at)] = hash_bytes(text, here + 1, stop, seed)
            to.values[np.uint64(at)] = value
            at += 1
            k += 1
            here = stop
        elif get_unchecked(text, stop) == BAR and stop == here + 1 and k + 2 < last:
            here = to_int64(get_unchecked(marks, k + 2))
            if get_unchecked(text, stop + 1) <= 32 or get_unchecked(text, here) > 32:
                break
            seed = hash_bytes(text, stop + 1, here, NO_SEED)
            value = 1.0
            k += 2
        else:
            break
    return k, at, seed, value


@compiled
def parse_features(
    text: NDArray[np.uint8],
    marks: NDArray[np.uint32],
    k: int,
    last: int,
    to: HashedTerms,
    row: LineFeatures,
    letters: NDArray[np.uint8],
    first: int,
) -> tuple[int, int, int, int]:
    """Parse everything from the bar at marks[k] on; return (reason or 0, new end, span of the offending text)."""
    at = first
    count = 0
    seed: Any = NO_SEED
    scale = 1.0
    letter = np.uint8(32)
    usual = len(letters) == 0 and len(to.spans) == 0
    here = bar = to_int64(get_unchecked(marks, k))
    while k < last:
        if get_unchecked(text, here) == BAR:
            k += 1
            seed = NO_SEED
            scale = 1.0
            letter = np.uint8(32)
            start = here + 1
            here = to_int64(get_unchecked(marks, k)) if k < last else start
            if get_unchecked(text, start) == COLON:
                return NAMESPACE, at, here - 1, find_token_end(text, here, here + 40)
            if get_unchecked(text, start) > 32 and start < here:
                letter = get_unchecked(text, start)
                seed = hash_bytes(text, start, here, seed)
                if get_unchecked(text, here) == COLON:
                    k += 1
                    stop = to_int64(get_unchecked(marks, k)) if k < last else here
                    reason, scale, _ = parse_value(text, here + 1, stop, seed)
                    if reason != 0 or get_unchecked(text, stop) == COLON or not looks_like_number(text, here + 1, stop):
                        return NAMESPACE, at, start, stop
                    here = stop
            continue
        if usual and scale != 0.0 and get_unchecked(text, here) <= 32:
            k, at, seed, scale = parse_plain_features(text, marks, k, last, to, seed, scale, at)
            here = to_int64(get_unchecked(marks, k))
        start = here + 1
        k += 1
        if k >= last:
            break
        here = to_int64(get_unchecked(marks, k))
        while get_unchecked(text, start) <= 32 and start < here:
            start += 1
        if start == here and get_unchecked(text, here) != COLON:
            continue
        h = hash_bytes(text, start, here, seed)
        value = scale
        if get_unchecked(text, here) == COLON:
            k += 1
            stop = to_int64(get_unchecked(marks, k)) if k < last else here
            reason, value, h = parse_value(text, here + 1, stop, h)
            if reason != 0 or get_unchecked(text, stop) == COLON:
                return (reason if reason != 0 else VALUE), at, start, find_token_end(text, start, stop + 1)
            value *= scale
            if not abs(value) <= LARGEST_VALUE:
                return RANGE, at, start, stop
            here = stop
        if value == 0.0:
            continue
        if len(letters) > 0:
            row.hashes[count] = h
            row.values[count] = value
            row.starts[count] = start
            row.spaces[count] = letter
            count += 1
        at = append_term(to, at, h, value, start, -1, -1)
    if len(letters) > 0:
        at = append_interactions(to, row, count, letters, at, MAX_INTERACTIONS)
        if at < 0:
            return (TOO_MANY_INTERACTIONS if at == -1 else RANGE), first, bar, to_int64(get_unchecked(marks, last - 1))
    return 0, at, 0, 0


@compiled
def parse_simple_heading(
    text: NDArray[np.uint8], start: int, marks: NDArray[np.uint32], first: int, bar: int, out: VwOutput, row: int
) -> bool:
    """Store a label that is alone before the bar and has one digit; return whether it was. Branch-free: labels vary."""
    end = to_int64(get_unchecked(marks, first))
    sign = get_unchecked(text, start)
    digit = to_int64(get_unchecked(text, end - 1)) - 48
    minus = sign == 45
    shaped = (end - start == 1) | ((end - start == 2) & (minus | (sign == 43)))
    if not (shaped & (digit >= 0) & (digit <= 9) & (bar == first + 1) & (get_unchecked(text, end) <= 32)):
        return False
    out.labels[row] = (1.0 - 2.0 * np.float64(minus)) * np.float64(digit)
    out.weights[row] = 1.0
    return True


@compiled
def looks_like_number(text: NDArray[np.uint8], start: int, stop: int) -> bool:
    first = text[start]
    return start < stop and (48 <= first <= 57 or first == 43 or first == 45 or first == 46)


@compiled
def parse_vw_block(
    text: NDArray[np.uint8],
    marks: NDArray[np.uint32],
    ends: NDArray[np.int64],
    lines: NDArray[np.int64],
    count: int,
    has_low_bytes: bool,
    to: HashedTerms,
    each: LineFeatures,
    letters: NDArray[np.uint8],
    out: VwOutput,
) -> tuple[int, int, int, int]:
    """Parse lines of a block; return (rows, problems, whether weights vary, lines done: fewer if `to` is full)."""
    row = at = wrong = weighted = 0
    most = MAX_INTERACTIONS if len(letters) > 0 else 0
    first = 1
    start = PADDING_BYTES
    out.starts[0] = 0
    controls = has_low_bytes and count > 0 and has_controls(text, PADDING_BYTES, lines[count - 1] + 1)
    for line in range(count):
        last = ends[line]
        stop = lines[line]
        if at + ((stop - start) >> 1) + 1 + most > len(to.values):
            return row, wrong, weighted, line
        bad = find_control(text, start, stop) if controls else -1
        if last > first or bad >= 0:
            bar = first
            while bar < last and text[marks[bar]] != BAR:
                bar += 1
            reason, found_start, found_stop = NO_BAR, start, stop
            end = at
            if bad >= 0:
                reason, found_start, found_stop = CONTROL, bad, bad + 1
            elif bar < last and parse_simple_heading(text, start, marks, first, bar, out, row):
                reason = 0
            elif bar < last:
                reason, found_start, found_stop = parse_heading(text, start, to_int64(marks[bar]), out, row)
            if reason == 0:
                reason, end, found_start, found_stop = parse_features(text, marks, bar, last, to, each, letters, at)
            if reason != 0:
                out.problems[wrong, 0] = line
                out.problems[wrong, 1] = reason
                out.problems[wrong, 2] = found_start
                out.problems[wrong, 3] = found_stop
                wrong += 1
            else:
                weighted |= to_int64(out.weights[row] != 1.0)
                out.line_of[row] = line
                row += 1
                at = finish_row(to, at, end)
                out.starts[row] = at
        first = last
        start = stop + 1
    return row, wrong, weighted, count


class VWParser(Parser):
    """Parser of Vowpal Wabbit blocks."""

    def __init__(self, bits: int, interactions: tuple[str, ...], **how: bool) -> None:
        self.how: dict[str, Any] = {"bits": bits, **how}
        self.letters = buffers.frombuffer("".join(f"{i}\0" for i in interactions).encode(), "uint8").copy()
        self.bits, self.size = bits, 0

    def _ensure_capacity(self, size: int) -> None:
        """Allocate buffers for blocks of `size` bytes: a line and a feature have at least two each."""
        self.size = size
        many = size // 2 + 2
        self.marks = uninitialised(size + 64, "uint32")
        self.ends, self.lines = uninitialised(size + 1, "int64"), uninitialised(size + 1, "int64")
        self._allocate_terms(many + (2 * MAX_INTERACTIONS if len(self.letters) else 0))
        self.row = LineFeatures(
            uninitialised(many, "uint64"),
            uninitialised(many),
            uninitialised(many + 8, "int64"),
            uninitialised(many, "uint8"),
        )
        self.out = VwOutput(
            starts=uninitialised(many + 1, "int64"),
            labels=uninitialised(many),
            weights=uninitialised(many),
            line_of=uninitialised(many, "int64"),
            problems=uninitialised((many, 4), "int64"),
        )

    def _allocate_terms(self, terms: int) -> None:
        old = self.used
        self.to = allocate_terms(terms, **self.how)
        self.used = self.to.used
        if len(old):
            self.used[: len(old)] |= old

    def parse(self, block: TextBlock) -> ParsedBlock:
        if block.size > self.size:
            self._ensure_capacity(block.size)
        out, text = self.out, block.text
        count, has_low_bytes = find_terms(text, block.stop, BAR, self.marks, self.ends, self.lines)
        done = -1
        while done < count:
            if done >= 0:
                self._allocate_terms(2 * len(self.to.values))
            to = self.to
            rows, wrong, weighted, done = parse_vw_block(
                text, self.marks, self.ends, self.lines, count, has_low_bytes, to, self.row, self.letters, out
            )
        keys = out.labels[:rows].view("uint64")
        return ParsedBlock(
            rows=Sparse(out.starts[: rows + 1], to.indices, to.values),
            keys=keys,
            label=build_number_decoder(keys),
            numbers=out.labels[:rows],
            weights=out.weights[:rows] if weighted else buffers.zeros(0),
            line_of=out.line_of[:rows],
            lines=count,
            features=1 << self.bits if self.bits else 0,
            problems=[
                BadLine(
                    line, REASONS[reason][0], REASONS[reason][1].format(_format_excerpt(block, reason, start, stop))
                )
                for line, reason, start, stop in out.problems[:wrong].tolist()
            ],
            hashes=to.hashes[: len(to.spans)],
            spans=to.spans,
        )


def _format_excerpt(block: TextBlock, reason: int, start: int, stop: int) -> str:
    return f"{MAX_INTERACTIONS:,}" if reason == TOO_MANY_INTERACTIONS else format_excerpt(block, start, stop)


@dataclass(frozen=True)
class VowpalWabbit(Format):
    """Vowpal Wabbit text with the settings that the data of one model shares."""

    hash_bits: int = hashing.DEFAULT_HASH_BITS
    signed_hash: bool = False
    interactions: tuple[str, ...] = ()
    collisions: str = "sum"

    name: ClassVar[str] = "vw"
    options: ClassVar[tuple[str, ...]] = ("signed_hash", "collisions", "interactions")

    @classmethod
    def from_options(cls, options: Any, head: bytes, title: str) -> VowpalWabbit:
        for interaction in options.interactions:
            if not 2 <= len(interaction) <= 3 or not interaction.isascii():
                raise InputError(
                    f"--interactions must be two or three first letters of namespaces, got {interaction!r}."
                )
        bits = hashing.DEFAULT_HASH_BITS if options.hash_bits is None else options.hash_bits
        # Equal letters become neighbours: `append_interactions` relies on it to emit each combination once.
        interactions = tuple("".join(sorted(i)) for i in options.interactions)
        return cls(bits, options.signed_hash, interactions, options.collisions)

    @property
    def bits_used(self) -> int:
        return self.hash_bits

    @property
    def max_block_bytes(self) -> int | None:
        return INTERACTION_BLOCK_BYTES if self.interactions else None

    def parser(self, *, named: bool, unlabelled: bool = False) -> VWParser:
        how = {"signed": self.signed_hash, "named": named, "largest": self.collisions == "max"}
        return VWParser(self.hash_bits, self.interactions, **how)

    def feature_name(self, block: TextBlock, span: NDArray[np.int64]) -> str:
        """Return `namespace^feature`, or the factors of an interaction joined by `*`; a span holds their starts."""
        return "*".join(_decode_feature(block, int(start)) for start in span[:3] if start >= 0)


def _decode_feature(block: TextBlock, start: int) -> str:
    text, stop = block.text, start
    line = text[find_last_line_end(text, PADDING_BYTES, start) : start].tobytes()
    space = line[line.rfind(b"|") + 1 :]
    while text[stop] > 32 and text[stop] != BAR:
        stop += 1
    name, _, value = text[start:stop].tobytes().partition(b":")
    if value and value[:1] not in b"+-.0123456789":
        name += b"=" + value
    feature, named = name.decode("utf-8", "backslashreplace"), re.split(rb"[\x00-\x20:]", space, maxsplit=1)[0]
    return f"{named.decode('utf-8', 'replace')}^{feature}" if space[:1] > b" " else feature
