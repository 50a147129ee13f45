"""JSON lines to hashed terms: a strict RFC 8259 parser, in one pass from left to right and without recursion.

The path of a value is built while its names are read: `a.b` for b in the object a, `a.0` for the first element of the
list a. Values become features:

    number        path            the number
    true          path            1
    string        path=string     1; in a list the path is that of the list: its strings are a bag
    false, null   none
    text          path=word …     the words of a string in a field that was declared to be text

Fields with other roles (weight, numbers in strings, missing values) are in `fields.py`.

The hash of `path` is hash(path), that of `path=string` is hash(string, seed=hash(path)), as for the columns of a CSV
file and the namespaces of Vowpal Wabbit. Duplicate features are summed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from novikoff._compiled.buffers import uint64
from novikoff._compiled.jit import compiled, compiled_not_inlined
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import PADDING_BYTES, lowest_bit, mask_equal, to_int64
from novikoff._compiled.simd.dot import get_unchecked
from novikoff.data.formats.base import LARGEST_LABEL, LARGEST_VALUE, NO_LABEL_KEY
from novikoff.data.formats.json.fields import (
    IS_WEIGHT,
    ORDINARY,
    TERM,
    interpret_missing,
    interpret_string,
    is_category,
    is_left_out,
    is_weight,
    needs_weight,
)
from novikoff.data.formats.json.strings import QUOTE, read_string
from novikoff.data.formats.json.tokens import (
    COLON,
    FALSE,
    LABEL_KIND,
    LABEL_TWICE,
    MAX_DEPTH,
    MAX_PATH_BYTES,
    NAME,
    NO_LABEL,
    NO_LITERAL,
    NO_WEIGHT,
    NULL,
    OBJECT,
    PATH_TOO_LONG,
    RANGE,
    SEPARATOR,
    TOO_DEEP,
    TRAILING_TEXT,
    TRUE,
    VALUE,
    WEIGHT,
    append_index,
    append_name,
    is_digit,
    parse_number,
    read_literal,
    skip_whitespace,
)
from novikoff.data.formats.ngrams import NgramWorkspace, NoNgrams, append_text
from novikoff.data.merge_terms import HashedTerms, append_term, finish_row
from novikoff.data.names.hashing import hash_bytes

AT_FIRST_NAME, AT_NAME, AT_FIRST_VALUE, AT_VALUE, AFTER_VALUE = range(5)
IN_OBJECT, IN_LIST = range(2)
IS_NUMBER, IS_STRING, IS_TRUE, IS_FALSE, IS_ABSENT, IS_LIST = range(6)
_NO_SEED: Any = uint64(0)
TRUE_KEY, FALSE_KEY = (uint64(0x7FF8 << 48 | n) for n in (1, 2))  # NaN bits, which no number has


class JsonParserState(NamedTuple):
    """Settings of a parser (which fields are label and texts), and its buffers."""

    label: Any
    texts: NDArray[np.uint64]
    letters: NDArray[np.uint64]
    """Hashes of the paths of the label and the texts; seeds for the letter runs of these texts."""
    fields: Any
    """NoFieldRoles or JsonFieldRoles: see `fields.py`."""
    plain: NDArray[np.uint8]
    """A string with its escapes decoded."""
    path: NDArray[np.uint8]
    kinds: NDArray[np.int64]
    lengths: NDArray[np.int64]
    counts: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    """The stack of open objects and lists: kind, length of the path, elements so far, and hash of the path."""


class JsonOutput(NamedTuple):
    """Output of the parser for each row, beside its terms."""

    starts: NDArray[np.int64]
    keys: NDArray[np.uint64]
    numbers: NDArray[np.float64]
    """The same memory as `keys`, for labels that are numbers."""
    labels: NDArray[np.int64]
    """Kind of the label, and its start and end in the text."""
    line_of: NDArray[np.int64]
    weights: NDArray[np.float64]
    """Empty where no field holds weights."""
    problems: NDArray[np.int64]
    """Line, reason, start and end of the offending text, and start of the line."""


@compiled
def find_text_field(texts: NDArray[np.uint64], h: Any) -> int:
    """Return the number of the text field with this path; -1 for none."""
    for j in range(len(texts)):
        if texts[j] == h:
            return j
    return -1


@compiled
def scan_label_list(text: NDArray[np.uint8], start: int, stop: int, plain: NDArray[np.uint8]) -> tuple[int, int]:
    """Check the list of labels that begins at `start`; return (0, its end) or (reason, position of the error)."""
    k = skip_whitespace(text, start + 1)
    if get_unchecked(text, k) == 93:
        return 0, k + 1
    while True:
        byte = to_int64(get_unchecked(text, k))
        if byte == QUOTE:
            wrong, after, _, _, _ = read_string(text, k, stop, plain)
            if wrong != 0:
                return wrong, after
        elif byte == 45 or is_digit(byte):
            reason, after, value = parse_number(text, k)
            if reason != 0 or not abs(value) <= LARGEST_LABEL:
                return (reason if reason != 0 else RANGE), k
        else:
            literal, after = read_literal(text, k)
            if literal != TRUE and literal != FALSE:
                return LABEL_KIND, k
        k = skip_whitespace(text, after)
        byte = to_int64(get_unchecked(text, k))
        if byte == 93:
            return 0, k + 1
        if byte != 44:
            return SEPARATOR, k
        k = skip_whitespace(text, k + 1)


@compiled_not_inlined
def parse_object(
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    parser: JsonParserState,
    workspace: NoNgrams | NgramWorkspace,
    to: HashedTerms,
    first: int,
    out: JsonOutput,
    row: int,
) -> tuple[int, int, int]:
    """Parse the object in text[start:stop] that begins at `start`.

    Return (reason or 0, position of the error or end, end of its terms).
    """
    at = first
    k = start + 1
    depth = 1
    state = AT_FIRST_NAME
    parser.kinds[1] = IN_OBJECT
    parser.lengths[1] = 0
    labelled = weighed = False
    h = _NO_SEED  # hash of the path of the next value
    begin = size = 0  # the last name, while it is not in parser.path
    pending = False
    end = 0  # of that path
    mark = at  # where the terms of the current top-level field begin
    dropped = False  # whether that field is ignored
    while depth > 0:
        k = skip_whitespace(text, k)
        byte = to_int64(get_unchecked(text, k))
        if state == AFTER_VALUE:
            if byte == 44:
                parser.counts[depth] += 1
                state = AT_VALUE if parser.kinds[depth] == IN_LIST else AT_NAME
            elif byte == (93 if parser.kinds[depth] == IN_LIST else 125):
                depth -= 1
            else:
                return SEPARATOR, k, at
            k += 1
            continue
        if byte == QUOTE:
            quote = k
            wrong, after, source, s, e = read_string(text, quote, stop, parser.plain)
            if wrong != 0:
                return wrong, after, at
            if state <= AT_NAME:
                k = skip_whitespace(text, after)
                if get_unchecked(text, k) != 58:
                    return COLON, k, at
                k += 1
                state = AT_VALUE
                end, size = parser.lengths[depth], e - s
                if end + 1 + size > MAX_PATH_BYTES:
                    return PATH_TOO_LONG, quote, at
                # A top-level name is its own path: it is copied only if an object or list follows.
                pending = depth == 1 and s > quote
                begin = s
                if not pending:
                    end = append_name(parser.path, end, source, s, size, depth > 1)
                    source, s, e = parser.path, 0, end
                h = hash_bytes(source, s, e, _NO_SEED)
                if depth == 1:
                    at = mark if dropped else at
                    mark = at
                    dropped = is_left_out(parser.fields, h)
                continue
            path: Any = parser.hashes[depth] if parser.kinds[depth] == IN_LIST else h
            if not dropped and path != parser.label:
                what, term, value = interpret_string(parser.fields, source, s, e, path)
                if what > 0 or (what == IS_WEIGHT and weighed):
                    return (what if what > 0 else WEIGHT), quote, at
                if what == IS_WEIGHT:
                    weighed = True
                    out.weights[row] = value
                elif what == TERM:
                    at = append_term(to, at, term, value, start, stop, at - first)
                if what != ORDINARY:
                    k = after
                    state = AFTER_VALUE
                    continue
            words = find_text_field(parser.texts, path)
            if path == parser.label:
                if labelled:
                    return LABEL_TWICE, quote, at
                labelled = True
                out.labels[row, 0] = IS_STRING
                out.labels[row, 1] = quote
                out.labels[row, 2] = after
                out.keys[row] = hash_bytes(source, s, e, _NO_SEED)
            elif words >= 0:
                last = append_text(workspace, source, s, e, path, parser.letters[words], to, at)
                for j in range(at, last if len(to.spans) > 0 else at):
                    to.spans[j, 0] = start
                    to.spans[j, 1] = stop
                    to.spans[j, 2] = j - first
                at = last
            else:
                at = append_term(to, at, hash_bytes(source, s, e, path), 1.0, start, stop, at - first)
            k = after
            state = AFTER_VALUE
            continue
        if state <= AT_NAME:
            if byte != 125 or state == AT_NAME:
                return NAME, k, at
            depth -= 1
            k += 1
            state = AFTER_VALUE
            continue
        if byte == 93 and state == AT_FIRST_VALUE:
            depth -= 1
            k += 1
            state = AFTER_VALUE
            continue
        if parser.kinds[depth] == IN_LIST:
            if parser.lengths[depth] + 20 > MAX_PATH_BYTES:  # room for a point and any index
                return PATH_TOO_LONG, k, at
            end = append_index(parser.path, parser.lengths[depth], parser.counts[depth])
            h = hash_bytes(parser.path, 0, end, _NO_SEED)
            pending = False
        is_label = h == parser.label
        if is_label and labelled:
            return LABEL_TWICE, k, at
        if byte == 91 and is_label:
            reason, after = scan_label_list(text, k, stop, parser.plain)
            if reason != 0:
                return reason, after, at
            labelled = True
            out.labels[row, 0] = IS_LIST
            out.labels[row, 1] = k
            out.labels[row, 2] = after
            out.keys[row] = hash_bytes(text, k, after, _NO_SEED)
            k = after
            state = AFTER_VALUE
            continue
        weighs = is_weight(parser.fields, h)
        if byte == 123 or byte == 91:
            if is_label or weighs:
                return (LABEL_KIND if is_label else WEIGHT), k, at
            if depth == MAX_DEPTH:
                return TOO_DEEP, k, at
            if pending:
                end = append_name(parser.path, 0, text, begin, size, False)
            depth += 1
            parser.kinds[depth] = IN_OBJECT if byte == 123 else IN_LIST
            parser.lengths[depth] = end
            parser.counts[depth] = 0
            parser.hashes[depth] = h
            state = AT_FIRST_NAME if byte == 123 else AT_FIRST_VALUE
            k += 1
            continue
        state = AFTER_VALUE
        if byte == 45 or is_digit(byte):
            reason, after, value = parse_number(text, k)
            if reason != 0:
                return reason, k, at
            if not abs(value) <= (LARGEST_LABEL if is_label else LARGEST_VALUE):
                return RANGE, k, at
            if is_label:
                labelled = True
                out.labels[row, 0] = IS_NUMBER
                out.numbers[row] = value
            elif weighs:
                if needs_weight(parser.fields):
                    if weighed or value < 0.0:
                        return WEIGHT, k, at
                    weighed = True
                    out.weights[row] = value
            elif is_category(parser.fields, h):
                at = append_term(to, at, hash_bytes(text, k, after, h), 1.0, start, stop, at - first)
            else:
                at = append_term(to, at, h, value, start, stop, at - first)
            k = after
            continue
        literal, after = read_literal(text, k)
        if weighs and needs_weight(parser.fields) and literal != NULL:
            return WEIGHT, k, at
        if literal == NO_LITERAL:
            return (RANGE if byte == 73 or byte == 78 else VALUE), k, at
        if literal == NULL:
            if not (dropped or is_label or weighs):
                own: Any = parser.hashes[depth] if parser.kinds[depth] == IN_LIST else h
                what, term, value = interpret_missing(parser.fields, own)
                if what > 0:
                    return what, k, at
                if what == TERM:
                    at = append_term(to, at, term, value, start, stop, at - first)
        elif is_label:
            labelled = True
            out.labels[row, 0] = IS_TRUE if literal == TRUE else IS_FALSE
            out.keys[row] = TRUE_KEY if literal == TRUE else FALSE_KEY
        elif literal == TRUE and not weighs:
            at = append_term(to, at, h, 1.0, start, stop, at - first)
        k = after
    at = mark if dropped else at
    k = skip_whitespace(text, k)
    if k < stop:
        return TRAILING_TEXT, k, at
    if not labelled:
        return NO_LABEL, start, at
    if needs_weight(parser.fields) and not weighed:
        return NO_WEIGHT, start, at
    return 0, k, at


@compiled
def parse_json_block(
    text: NDArray[np.uint8],
    block_stop: int,
    parser: JsonParserState,
    workspace: NoNgrams | NgramWorkspace,
    unlabelled: bool,
    to: HashedTerms,
    out: JsonOutput,
) -> tuple[int, int, int]:
    """Parse all lines of a block; return (rows, lines, problems). `unlabelled` accepts lines without a label."""
    row = line = first = wrong = 0
    start = PADDING_BYTES
    out.starts[0] = 0
    while start < block_stop:
        stop = start
        found = mask_equal(text, stop, 10)
        while found == 0:
            stop += 64
            found = mask_equal(text, stop, 10)
        stop += lowest_bit(found)
        begin = skip_whitespace(text, start)
        if begin < stop:
            reason, where, last = OBJECT, begin, first
            if text[begin] == 123:
                reason, where, last = parse_object(text, begin, stop, parser, workspace, to, first, out, row)
                if unlabelled and reason == NO_LABEL:
                    reason = 0
                    out.labels[row, 0] = IS_ABSENT
                    out.keys[row] = NO_LABEL_KEY
            if reason != 0:
                out.problems[wrong, 0] = line
                out.problems[wrong, 1] = reason
                out.problems[wrong, 2] = where
                out.problems[wrong, 3] = stop
                out.problems[wrong, 4] = start
                wrong += 1
            else:
                first = finish_row(to, first, last)
                out.line_of[row] = line
                row += 1
                out.starts[row] = first
        line += 1
        start = stop + 1
    return row, line, wrong
