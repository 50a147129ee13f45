"""svmlight text, one example a line: `label index:value index:value … # comment`.

Index k is column k, whether the file counts from 0 or from 1; indices grow from left to right and are below 2^31 - 1.
Values are float32 numbers of size up to 1e15. `qid:n` may come first. Several labels may stand side by side, `1,3,7`,
where that is asked for; an example with none of them begins with a blank. A comment begins with #. Where examples may
be without a label, one that begins with a term has none.

Lines are read in two steps: first all blanks and colons of a block are marked, then each line is read along its marks,
eight terms at a time. A term that is not plain (an exponent, many digits) is read by itself; a line that is not as
usual is read again from left to right, slowly and exactly, which also finds what is wrong with it.
"""

from __future__ import annotations

from typing import Any, ClassVar

from novikoff._arrays import NDArray, np
from novikoff._bytes import PADDING, eight_terms, signed
from novikoff._jit import compiled, compiled_apart
from novikoff._records import NamedTuple, dataclass
from novikoff.stream.decimals import decimal
from novikoff.stream.door import LARGEST_INDEX
from novikoff.stream.feed import Block
from novikoff.stream.formats.contract import (
    LARGEST_VALUE,
    Format,
    Parsed,
    Parser,
    Problem,
    no_bits,
    number_label,
    shown,
)
from novikoff.stream.rows import Sparse
from novikoff.stream.scanning import find_terms

REASONS = {
    1: ("label", "the label must be a number, but {} came."),
    2: ("index", f"expected index:value with an index from 0 to {LARGEST_INDEX - 1}, but {{}} came."),
    3: ("value", "expected index:value with a number as value, but {} came."),
    4: ("order", "indices must grow from left to right, but {} comes after one that is not smaller."),
    5: ("several labels", "there must be one label, but {} came: several labels are for multi-label learners."),
    6: ("qid", "qid must be a whole number right after the label, but {} came."),
    7: ("range", "values must be finite numbers of size up to 1e15, but {} came."),
}
LABEL, INDEX, VALUE, ORDER, SEVERAL, QID, RANGE = REASONS
NO_GROUP = -1


class Out(NamedTuple):
    """What a parser fills; `sets` only where several labels are allowed."""

    starts: NDArray[np.int64]
    indices: NDArray[np.uint32]
    values: NDArray[np.float32]
    labels: NDArray[np.float64]
    groups: NDArray[np.int64]
    line_of: NDArray[np.int64]
    set_starts: NDArray[np.int64]
    set_values: NDArray[np.float64]
    problems: NDArray[np.int64]
    """Line, reason, and from where to where what came stands."""


@compiled
def number(text: NDArray[np.uint8], start: int, stop: int) -> tuple[float, bool]:
    """A short whole number at once, everything else as it must be."""
    first = text[start]
    if stop - start == 1 and 48 <= first <= 57:
        return np.float64(first) - 48.0, True
    if stop - start == 2 and 48 <= text[start + 1] <= 57 and (first == 43 or first == 45):
        value = np.float64(text[start + 1]) - 48.0
        return (-value if first == 45 else value), True
    return decimal(text, start, stop)


@compiled
def whole(text: NDArray[np.uint8], start: int, stop: int) -> int:
    """A whole number without a sign; -1 where it is none or too large."""
    if start == stop or stop - start > 18:
        return -1
    total = 0
    for k in range(start, stop):
        digit = signed(text[k]) - 48
        if digit < 0 or digit > 9:
            return -1
        total = 10 * total + digit
    return total


@compiled
def not_finite(text: NDArray[np.uint8], start: int, stop: int) -> bool:
    """Whether this begins as nan and inf do."""
    k = start + 1 if start < stop and (text[start] == 43 or text[start] == 45) else start
    return k < stop and (text[k] | 32 == 110 or text[k] | 32 == 105)


@compiled_apart
def one_term(
    text: NDArray[np.uint8], start: int, colon: int, stop: int, before: int, out: Out, at: int
) -> tuple[int, int]:
    """One term, exactly: (reason or 0, index)."""
    index = whole(text, start, colon)
    if index < 0 or index >= LARGEST_INDEX:
        return INDEX, before
    value, good = decimal(text, colon + 1, stop)
    if not good:
        return RANGE if not_finite(text, colon + 1, stop) else VALUE, before
    if index <= before:
        return ORDER, before
    if not abs(value) <= LARGEST_VALUE:
        return RANGE, before
    out.indices[at] = index
    out.values[at] = value
    return 0, index


@compiled
def without_zeros(out: Out, start: int, stop: int) -> int:
    """Terms whose value is 0 (in single precision) are no terms; returns the new end."""
    end = start
    for k in range(start, stop):
        if out.values[k] != 0.0:
            out.indices[end] = out.indices[k]
            out.values[end] = out.values[k]
            end += 1
    return end


@compiled_apart
def careful_terms(
    text: NDArray[np.uint8], marks: NDArray[np.uint32], first: int, terms: int, out: Out, at: int
) -> bool:
    """The terms of a usual line once more, those that are not plain by themselves; whether they are right. Apart, so
    that what reads plain lines has all registers to itself."""
    before = -1
    for done in range(0, terms, 8):
        k = first + 1 + 2 * done
        flags, latest = eight_terms(text, marks, k, before, out.indices, out.values, at + done)
        left = min(terms - done, 8)
        if flags & ((1 << left) - 1) == 0:
            before = latest
            continue
        for i in range(left):
            here = k + 2 * i
            if text[marks[here]] != 58 or text[marks[here + 1]] > 32:
                return False
            colon, stop = signed(marks[here]), signed(marks[here + 1])
            reason, before = one_term(text, signed(marks[here - 1]) + 1, colon, stop, before, out, at + done + i)
            if reason != 0:
                return False
    return True


@compiled
def usual_line(
    text: NDArray[np.uint8],
    start: int,
    marks: NDArray[np.uint32],
    first: int,
    last: int,
    unlabelled: bool,
    out: Out,
    row: int,
    at: int,
) -> int:
    """A line of `label index:value …` along its marks: where its terms end, or -1 where it is not as usual. A line
    without the label, where there may be one, has what ends the line before in place of what ends the label."""
    if text[start] <= 32:
        return -1
    if (last - first) & 1 == 0:
        first -= 1
        if not unlabelled or signed(marks[first]) != start - 1:
            return -1
        out.labels[row] = np.nan
    else:
        label, good = number(text, start, signed(marks[first]))
        if not good:
            return -1
        out.labels[row] = label
    terms = (last - first) >> 1
    before = -1
    flags = 0
    for done in range(0, terms, 8):
        found, before = eight_terms(text, marks, first + 1 + 2 * done, before, out.indices, out.values, at + done)
        left = terms - done
        flags |= found & ((1 << left) - 1) * 257 if left < 8 else found
        if flags & 255 != 0:  # there may be more marks than there is room for terms
            break
    if flags == 0:
        return at + terms
    if flags & 255 != 0 and not careful_terms(text, marks, first, terms, out, at):
        return -1
    return without_zeros(out, at, at + terms)


@compiled
def skip_blanks(text: NDArray[np.uint8], k: int, stop: int) -> int:
    while k < stop and text[k] <= 32:
        k += 1
    return k


@compiled
def token_end(text: NDArray[np.uint8], k: int, stop: int) -> int:
    while k < stop and text[k] > 32:
        k += 1
    return k


@compiled
def labels_of(text: NDArray[np.uint8], start: int, stop: int, several: bool, out: Out, row: int) -> int:
    """The label, or all of them; returns a reason or 0."""
    end = out.set_starts[row] if several else 0
    begin = start
    for k in range(start, stop + 1):
        if k == stop or text[k] == 44:
            value, good = number(text, begin, k)
            if not good or not abs(value) <= 1e300:
                return LABEL
            if begin == start:
                out.labels[row] = value
            elif not several:
                return SEVERAL
            if several:
                out.set_values[end] = value
                end += 1
            begin = k + 1
    if several:
        out.set_starts[row + 1] = end
    return 0


@compiled_apart
def unusual_line(
    text: NDArray[np.uint8], start: int, stop: int, several: bool, unlabelled: bool, out: Out, row: int, at: int
) -> tuple[int, int, int, int]:
    """A line from left to right: (reason or 0, where its terms end or -1 for no example, and what came: from, to)."""
    for k in range(start, stop):
        if text[k] == 35:
            stop = k
            break
    k = skip_blanks(text, start, stop)
    if k == stop:
        return 0, -1, 0, 0
    end = token_end(text, k, stop)
    if (several or unlabelled) and has_colon(text, k, end):
        if several:
            out.set_starts[row + 1] = out.set_starts[row]
        out.labels[row] = np.nan
    else:
        reason = labels_of(text, k, end, several, out, row)
        if reason != 0:
            return reason, at, k, end
        k = skip_blanks(text, end, stop)
    before = -1
    first = True
    while k < stop:
        end = token_end(text, k, stop)
        colon = k
        while colon < end and text[colon] != 58:
            colon += 1
        if colon - k == 3 and text[k] == 113 and text[k + 1] == 105 and text[k + 2] == 100:  # qid
            group = whole(text, colon + 1, end)
            if group < 0 or not first:
                return QID, at, k, end
            out.groups[row] = group
        elif colon == end:
            return INDEX, at, k, end
        else:
            reason, before = one_term(text, k, colon, end, before, out, at)
            if reason != 0:
                return reason, at, k, end
            at += int(out.values[at] != 0.0)
        first = False
        k = skip_blanks(text, end, stop)
    return 0, at, 0, 0


@compiled
def has_colon(text: NDArray[np.uint8], start: int, stop: int) -> bool:
    for k in range(start, stop):
        if text[k] == 58:
            return True
    return False


@compiled
def parse(
    text: NDArray[np.uint8],
    marks: NDArray[np.uint32],
    ends: NDArray[np.int64],
    lines: NDArray[np.int64],
    count: int,
    several: bool,
    unlabelled: bool,
    out: Out,
) -> tuple[int, int, int]:
    """All lines of a block, marked by `find_terms`: (rows, one more than the largest index, problems)."""
    row = at = features = wrong = 0
    first = 1
    start = PADDING
    out.starts[0] = 0
    for line in range(count):
        last = ends[line]
        stop = lines[line]
        out.groups[row] = NO_GROUP
        end = -1
        if last > first and not several:
            end = usual_line(text, start, marks, first, last, unlabelled, out, row, at)
        reason = 0
        if end < 0:
            reason, end, came, until = unusual_line(text, start, stop, several, unlabelled, out, row, at)
            if reason != 0:
                out.problems[wrong, 0] = line
                out.problems[wrong, 1] = reason
                out.problems[wrong, 2] = came
                out.problems[wrong, 3] = until
                wrong += 1
        if reason == 0 and end >= 0:
            if end > at:
                features = max(features, signed(out.indices[end - 1]) + 1)
            out.line_of[row] = line
            row += 1
            out.starts[row] = end
            at = end
        first = last
        start = stop + 1
    return row, features, wrong


class SvmlightParser(Parser):
    def __init__(self, several: bool, unlabelled: bool) -> None:
        self.several, self.unlabelled = several, unlabelled
        self.size = 0

    def _make_room(self, size: int) -> None:
        """For a block of so many bytes. A line has at least 2 bytes, a term at least 4; memory that is never written
        costs nothing."""
        self.size = size
        lines, terms = size // 2 + 2, size // 4 + 16
        self.marks = np.empty(size + 64, np.uint32)
        self.ends, self.lines = np.empty(size + 1, np.int64), np.empty(size + 1, np.int64)
        self.out = Out(
            starts=np.empty(lines + 1, np.int64),
            indices=np.empty(terms, np.uint32),
            values=np.empty(terms, np.float32),
            labels=np.empty(lines, np.float64),
            groups=np.empty(lines, np.int64),
            line_of=np.empty(lines, np.int64),
            set_starts=np.zeros(lines + 1 if self.several else 0, np.int64),
            set_values=np.empty(lines if self.several else 0, np.float64),
            problems=np.empty((lines, 4), np.int64),
        )

    def parse(self, block: Block) -> Parsed:
        if block.size > self.size:
            self._make_room(block.size)
        out, text = self.out, block.text
        count = find_terms(text, block.stop, ord(":"), self.marks, self.ends, self.lines)
        rows, features, wrong = parse(
            text, self.marks, self.ends, self.lines, count, self.several, self.unlabelled, out
        )
        keys = out.labels[:rows].view(np.uint64)
        return Parsed(
            rows=Sparse(out.starts[: rows + 1], out.indices, out.values),
            keys=keys,
            label=number_label(keys),
            numbers=out.labels[:rows],
            weights=np.zeros(0),
            line_of=out.line_of[:rows],
            lines=count,
            features=int(features),
            problems=[
                Problem(line, REASONS[reason][0], REASONS[reason][1].format(shown(block, start, stop)))
                for line, reason, start, stop in out.problems[:wrong].tolist()
            ],
            hashes=np.zeros(0, np.uint64),
            spans=np.zeros((0, 4), np.int64),
            sets=(out.set_starts[: rows + 1], out.set_values) if self.several else None,
            groups=out.groups[:rows],
        )


LOOKED_AT = 1000  # lines


@dataclass(frozen=True)
class Svmlight(Format):
    several: bool = False
    """Whether an example may have several labels."""

    name: ClassVar[str] = "svmlight"
    usual_block: ClassVar[int] = 1 << 21
    options: ClassVar[tuple[str, ...]] = ("several_labels",)

    @classmethod
    def settled(cls, options: Any, head: bytes, title: str) -> Svmlight:
        no_bits(options, "svmlight")
        return cls(bool(options.several_labels) or has_sets(head))

    def parser(self, *, named: bool, unlabelled: bool = False) -> SvmlightParser:
        return SvmlightParser(self.several, unlabelled)


def has_sets(head: bytes) -> bool:
    """Whether the first lines have several labels: two of them and a tenth at least, for a few may be mistakes."""
    if b"," not in head:
        return False
    lines = [line.split(b"#", 1)[0].split(None, 1) for line in head.split(b"\n")[:LOOKED_AT]]
    several = sum(bool(parts) and b"," in parts[0] for parts in lines)
    return several > 1 and 10 * several >= sum(map(bool, lines))
