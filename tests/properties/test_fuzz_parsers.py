"""Fuzz parsers with damaged and generated text between guard pages: none may crash, hang or lose a line.

A case follows from a seed and its number only, so that it can be repeated alone. Cases run in their own process, which
writes a note of each case before it parses it: if the process dies, the note names the case.

    python -m tests.properties.test_fuzz_parsers vw parse --seed 7 --only 1234
"""

from __future__ import annotations

import argparse
import functools
import gzip
import mmap
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from novikoff._compiled.jit import JIT_DISABLED
from novikoff._compiled.simd.byte_scan import PADDING_BYTES
from novikoff.data.cache import cache_path
from novikoff.data.formats import ngrams, svmlight
from novikoff.data.formats.base import Format, ParsedBlock, Parser
from novikoff.data.formats.csv import Csv, Tsv
from novikoff.data.formats.jsonl import JsonLines
from novikoff.data.formats.svmlight import Svmlight
from novikoff.data.formats.svmlight_parser import Tile, allocate_marks
from novikoff.data.formats.text import Text
from novikoff.data.formats.vw import VowpalWabbit
from novikoff.data.line_reader import allocate_tile_text
from novikoff.data.reader import DataReader, ReadOptions
from novikoff.data.rows import Dense
from novikoff.data.text_source import TextBlock
from novikoff.errors import InputError, LabelError
from tests.helpers.guard_pages import GuardedArrays, has_guard_pages
from tests.helpers.paths import ROOT
from tests.helpers.read_files import read_files

KINDS = ("svmlight", "vw", "csv", "tsv", "jsonl", "text")
CASES = 40 if JIT_DISABLED else 800
SECONDS = float(os.environ.get("NOVIKOFF_FUZZ_SECONDS", "600"))
"""Cases of the slow set, for all formats together."""
SLOWEST = 60.0 if JIT_DISABLED else 5.0
"""Time limit for a block, in seconds, on a busy machine: the slowest blocks take some 30 ms."""
HANGING = 120.0
NOTE, ABOUT = 1 << 23, 1000
Make = Callable[[random.Random, Any], bytes]

# --- Formats ---

TABLE = b"y,a,b,c,d,e,f,g,h,i\n1,2,3,4,5,6,7,8,9,1\n0,1,2,3,4,5,6,7,8,9\n"
MIXED = b"y,a,b,c,d\nyes,1,red,2,x\nno,3,green,4,z\n"


def table(content: bytes, kind: type[Csv] = Csv, **options: Any) -> Format:
    return kind.from_options(ReadOptions(**options), content, "it")


FORMATS: dict[str, list[Format]] = {
    "svmlight": [Svmlight(False), Svmlight(True)],
    "vw": [
        VowpalWabbit(18),
        VowpalWabbit(4, signed_hash=True),
        VowpalWabbit(0),
        VowpalWabbit(18, interactions=("ab", "aaa")),
        VowpalWabbit(0, interactions=("  ", "ab")),
    ],
    "csv": [
        table(TABLE),
        table(TABLE, label="e"),
        table(b"1,2\n3,4\n", header=False, label="2"),
        table(MIXED),
        table(MIXED, hash_bits=4, signed_hash=True),
        table(MIXED.replace(b"y,", b"", 1), hash_bits=0, label="d", header=True, delimiter=","),
        table(TABLE, hash_bits=18),
        table(TABLE, ignore=("c",), weight="b"),
        table(TABLE, ignore=("a", "i"), missing="error"),
        table(MIXED, text="b", word_ngrams=2, char_ngrams=3, weight="c"),
        table(MIXED, text="d,b", hash_bits=0, term_weighting="unit", ignore=("a",)),
        table(MIXED, missing="indicator"),
        table(MIXED, missing="error", hash_bits=4),
    ],
    "tsv": [
        table(TABLE.replace(b",", b"\t"), Tsv),
        table(MIXED.replace(b",", b"\t"), Tsv),
        table(MIXED.replace(b",", b"\t"), Tsv, hash_bits=0),
        table(MIXED.replace(b",", b"\t"), Tsv, hash_bits=4),
    ],
    "jsonl": [
        JsonLines("label"),
        JsonLines("label", hash_bits=4, signed_hash=True),
        JsonLines("label", hash_bits=0),
        JsonLines("label", "t,a.t", word_ngrams=2, char_ngrams=3),
        JsonLines("a.b", "t", term_weighting="unit", lowercase=False, hash_bits=0),
        JsonLines("label", "t,u", word_ngrams=8, term_weighting="count", hash_bits=4, signed_hash=True),
        JsonLines("label", "t", hash_bits=0, ignore=("a",), categorical=("n", "b.0")),
        JsonLines("label", "t", only=("a", "t")),
    ],
    "text": [
        Text("tab", word_ngrams=2),
        Text("tab", char_ngrams=3, hash_bits=4),
        Text("blank", word_ngrams=2, char_ngrams=3, term_weighting="unit", hash_bits=0),
        Text("blank", word_ngrams=8, char_ngrams=16, term_weighting="binary", lowercase=False),
        Text("tab", word_ngrams=2, char_ngrams=1, term_weighting="count", signed_hash=True, hash_bits=4),
    ],
}

CUT: dict[str, list[tuple[Format, dict[str, Any]]]] = {
    "svmlight": [(Svmlight(False), {}), (Svmlight(True), {"multilabel": True})],
    "vw": [
        (VowpalWabbit(), {}),
        (VowpalWabbit(), {"hash_bits": 0}),
        (VowpalWabbit(), {"hash_bits": 3, "keep_names": 1}),
        (VowpalWabbit(), {"interactions": ("ab", "aa")}),
    ],
    "csv": [
        (FORMATS["csv"][0], {}),
        (FORMATS["csv"][0], {"label": "e"}),
        (FORMATS["csv"][3], {}),
        (FORMATS["csv"][3], {"hash_bits": 0}),
        (FORMATS["csv"][3], {"text": "b", "missing": "indicator", "ignore": ("c",), "label": "y"}),
        (FORMATS["csv"][3], {"delimiter": ",", "header": True, "label": "1"}),
    ],
    "tsv": [(FORMATS["tsv"][0], {}), (FORMATS["tsv"][1], {}), (FORMATS["tsv"][1], {"hash_bits": 0})],
    "jsonl": [
        (JsonLines("label"), {"label": "label"}),
        (JsonLines("label"), {}),
        (JsonLines("label"), {"label": "label", "text": "t,u", "word_ngrams": 2, "hash_bits": 0}),
        (JsonLines("label"), {"label": "label", "text": "t", "char_ngrams": 3, "hash_bits": 5, "signed_hash": True}),
    ],
    "text": [
        (Text(), {}),
        (Text(), {"word_ngrams": 2, "hash_bits": 0}),
        (Text(), {"char_ngrams": 3, "term_weighting": "unit"}),
    ],
}
"""Options for whole files, and the formats that generate lines for them."""

# --- Pieces of lines ---

NUMBERS = [
    b"0", b"1", b"-1", b"+1", b"-0", b"0.0", b"1e0", b".5", b"5.", b"-.25", b"1e-5", b"2.5E+3", b"1e15", b"1.1e15",
    b"1e16", b"-1e15", b"1e308", b"1e309", b"1e-400", b"1e-46", b"1e-45", b"7e-46", b"nan", b"-NaN", b"inf",
    b"-Infinity", b"1_0", b"0x1p3", b"1e", b"1e+", b"--1", b"1.2.3", b"999999999999999", b"123456789012345678",
    b"0.000000000000001", b"2147483646", b"2147483647", b"4294967296", b"18446744073709551616", b"00000000000000001",
    b"9007199254740993", b"1e99999999999999999999", b"1e-99999999999999999999", b"0e999999999999999999999",
    b"2.2250738585072011e-308", b"1.7976931348623158e308",
]  # fmt: skip
PIECES = {
    "svmlight": [b":", b"::", b" ", b"  ", b"\t", b"#", b",", b"qid:", b" qid:3 ", b"1:1 ", b"1,2,3 ", b"-1 ", b"1:"],
    "vw": [b"|", b"||", b":", b"| ", b" |a ", b"|a:2 ", b"'", b"'tag|", b" x:1", b" :", b" a:b", b"|b ", b"1 |", b" "],
    "csv": [b",", b'"', b'""', b'","', b'"\r\n', b"\r\n", b"\r", b'"a,\nb"', b"NA", b"?", b" ", b",,,,", b'"1"', b"\n"],
    "jsonl": [b"{", b"}", b"[", b"]", b'"', b":", b",", b"\\", b"\\u", b"\\ud83d\\ude00", b"\\udc00", b"true", b"false",
              b"null", b'{"a":', b'"t":"', b'"label":1,', b"[[", b"]]", b'"a":[1,2],', b"\\n", b'"a.b":2', b" "],
    "text": [b"\t", b" ", b"'", b"_", b"__label__", b"it's", b"''", b"A", b"\xc3\x84", b"\xe6\x97\xa5", b"\xc3"],
}  # fmt: skip
PIECES["tsv"] = [piece.replace(b",", b"\t") for piece in PIECES["csv"]]
CONTROLS = re.compile(rb"[\x00-\x1f]")
COMMON = [
    b"\0",
    b"\x80",
    b"\xff",
    b"\xc3\xa9",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98\x80",
    b"\x7f",
    b"\x1f",
    b"\r",
    b"\n",
    b".",
]


def number(rng: random.Random) -> bytes:
    how = rng.random()
    if how < 0.35:
        return b"%d" % rng.randint(-20, 99)
    if how < 0.7:
        return f"{rng.gauss(0, 3):.{rng.randint(0, 17)}f}".encode()
    if how < 0.8:
        return repr(rng.uniform(-1, 1) * 10.0 ** rng.randint(-320, 300)).encode()
    if how < 0.85:
        digits = bytes(rng.choices(b"0123456789", k=rng.choice((16, 17, 19, 40, 400, 800, 1500))))
        return b"0." + digits if how < 0.83 else digits
    return rng.choice(NUMBERS)


def make_number(rng: random.Random) -> bytes:
    """Return a number that every format accepts, short or long."""
    return f"{rng.uniform(-9, 9):.{rng.choice((0, 1, 3, 6, 13, 20))}f}".encode() if rng.random() < 0.8 else b"1"


def word(rng: random.Random) -> bytes:
    how = rng.random()
    if how < 0.6:
        return bytes(rng.choices(b"abcxyzABZ01_", k=rng.choice((1, 1, 1, 2, 3, 7, 8, 9, 16, 17, 70))))
    if how < 0.8:
        return rng.choice(("é", "ΣΑΣ", "日本", "Жж", "it's", "x'y'z", "İ", "😀", "ß")).encode()
    return (
        rng.randbytes(rng.randint(1, 6)).translate(None, b"\n \t,:|\"\\'")
        if how < 0.85
        else b"%c" % rng.randint(97, 104)
    )


def draw_count(rng: random.Random) -> int:
    """Return a small count, sometimes a large one."""
    return rng.choice((0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 30)) if rng.random() < 0.98 else rng.randint(30, 400)


def svmlight_line(rng: random.Random, _: Format) -> bytes:
    indices = sorted(rng.sample(range(rng.choice((500, 10**7, 2**31))), draw_count(rng)))
    label = rng.choice((b"1", b"-1", b"+1", b"0", b"2.5", b"1,2", b"3,1,7", b"", make_number(rng)))
    group = [b"qid:%d" % rng.randint(0, 99)] if rng.random() < 0.1 else []
    blank = rng.choice((b" ", b" ", b"  ", b"\t"))
    value = make_number if rng.random() < 0.9 else number
    return blank.join([label, *group, *(b"%d:%s" % (j, value(rng)) for j in indices)]) + rng.choice(
        (b"", b"", b" ", b"# x")
    )


def vw_line(rng: random.Random, _: Format) -> bytes:
    heading = rng.choice(
        (b"1 ", b"-1 ", b"1 2 ", b"0 0.5 1 ", b"1 1 tag", b"1 'tag ", b"", b"", make_number(rng) + b" ")
    )
    for _ in range(rng.randint(0, 3)):
        name = rng.choice((b" ", b"a ", b"b ", b"a:2 ", b"abc ", word(rng) + b" ", b"b:" + make_number(rng) + b" "))
        name = name if rng.random() < 0.97 else b"a:" + number(rng) + b" "
        heading += b"|" + name
        for _ in range(draw_count(rng) // 2):
            how = rng.random()
            heading += (
                word(rng)
                + (
                    b""
                    if how < 0.4
                    else b":" + (make_number(rng) if how < 0.8 else word(rng) if how < 0.98 else number(rng))
                )
                + b" "
            )
    return heading if b"|" in heading else heading + b"| x"


def table_line(rng: random.Random, fmt: Csv) -> bytes:
    def cell(numeric: bool) -> bytes:
        how = rng.random()
        text = make_number(rng) if numeric else word(rng)
        if how < 0.1:
            text = rng.choice((b"", b"NA", b" 7 ", b"?", number(rng) if how < 0.02 else b"-1e3"))
        return b'"' + text.replace(b'"', b'""') + b'"' if rng.random() < 0.1 else text

    cells = [cell(numeric or rng.random() < 0.1) for numeric in fmt.numeric]
    if rng.random() < 0.02:
        cells += [b"1"] * rng.choice((1, 9, 100))
    return fmt.separator.join(cells)


def json_line(rng: random.Random, _: Format) -> bytes:
    def string() -> bytes:
        inside = b" ".join(word(rng) for _ in range(rng.choice((0, 1, 1, 1, 2, 9))))
        inside = inside if rng.random() < 0.01 else inside.decode("utf-8", "replace").replace("\0", "").encode()
        inside = inside if rng.random() < 0.01 else CONTROLS.sub(b"", inside)
        inside = inside.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
        if rng.random() < 0.2:
            inside += rng.choice((b"\\n", b"\\u00e9", b"\\ud83d\\ude00", b"\\\\", b'\\"', b"\\/", b"\\u0000"))
        return b'"' + inside + b'"'

    def value(depth: int) -> bytes:
        how = rng.random()
        if how < 0.4:
            return rng.choice((b"0", b"-1", b"2.5", b"1e3", b"1E-7", b"123456789012345", make_number(rng)))
        if how < 0.7 or depth > 6:
            return string()
        if how < 0.8:
            return rng.choice((b"true", b"false", b"null"))
        gap = rng.choice((b",", b", "))
        if rng.random() < 0.005:
            deep = rng.randint(1, 70)
            return b"[" * deep + b"1" + b"]" * deep
        if how < 0.9:
            return b"[" + gap.join(value(depth + 1) for _ in range(rng.randint(0, 4))) + b"]"
        return b"{" + gap.join(string() + b":" + value(depth + 1) for _ in range(rng.randint(0, 3))) + b"}"

    names = [b'"label"', rng.choice((b'"a"', b'"b"', b'"a.b"')), *(string() for _ in range(draw_count(rng) // 2))]
    label = rng.choice((b"1", b"-1", b'"spam"', b"true", b"false", b"0", string()))
    label = label if rng.random() < 0.98 else rng.choice((b"null", b"0.5", b"[1]"))
    fields = [names[0] + b":" + label, *(name + b":" + value(0) for name in names[1:])]
    fields += [rng.choice((b'"t":', b'"u":', b'"a":{"b":1,"t":')) + string() for _ in range(rng.randint(0, 2))]
    rng.shuffle(fields)
    line = b"{" + b",".join(fields) + b"}"
    return (
        line + b"}" * line.count(b'"a":{"b":1,"t":')
        if rng.random() < 0.5
        else line.replace(b'"a":{"b":1,"t":', b'"t":')
    )


def text_line(rng: random.Random, _: Format) -> bytes:
    label = rng.choice((b"spam", b"ham", b"1", b"-1", b"__label__x", b"", b" a b ", word(rng)))
    gap = rng.choice((b" ", b" ", b"  ", b", ", b"\t"))
    return label + rng.choice((b"\t", b"\t", b" ")) + gap.join(word(rng) for _ in range(draw_count(rng)))


LINES: dict[str, Make] = {
    "svmlight": svmlight_line,
    "vw": vw_line,
    "csv": table_line,
    "tsv": table_line,
    "jsonl": json_line,
    "text": text_line,
}

# --- Mutations ---


def choose_slice(rng: random.Random, content: bytearray) -> slice:
    """Return a slice at a random position, mostly of a few bytes."""
    start = rng.randint(0, len(content))
    return slice(start, start + rng.choice((0, 1, 1, 2, 3, 8, 20, 64, 200)))


def mutate(rng: random.Random, content: bytearray, kind: str, fmt: Format) -> None:
    """Change one thing in place."""
    at = choose_slice(rng, content)
    how = rng.randint(0, 10)
    piece = rng.choice(PIECES[kind])
    if how == 0 and content:
        content[rng.randrange(len(content))] ^= 1 << rng.randint(0, 7)
    elif how == 1:
        content[at] = rng.randbytes(rng.choice((0, 1, 1, 4)))
    elif how == 2:
        del content[at]
    elif how == 3:
        content[at.start : at.start] = content[at] * rng.choice((1, 1, 2, 9))
    elif how == 4:
        other = kind if rng.random() < 0.5 else rng.choice(KINDS)
        content[at.start : at.start] = LINES[other](rng, fmt if other == kind else FORMATS[other][0]) + b"\n"
    elif how == 5:
        content[at.start : at.start] = rng.choice(COMMON) * rng.choice((1, 1, 2, 65))
    elif how == 6:
        content[at.start : at.start] = number(rng)
    elif how == 7:
        content[at.start : at.start] = piece * rng.choice((1, 1, 1, 2, 3, 8, 64, 129))
    elif how == 8:
        content[at.start : at.start] = b"".join(rng.choices(PIECES[kind] + NUMBERS, k=rng.choice((2, 5, 30))))
    elif how == 9:
        content[at.start : at.start + 1] = piece
    else:
        elsewhere = choose_slice(rng, content)
        content[at], content[elsewhere] = content[elsewhere], content[at]


def make_large_text(rng: random.Random, kind: str, fmt: Format) -> bytes:
    """Return one piece of text, repeated many times."""
    most = rng.choice((2_000, 20_000, 60_000))
    token = rng.choice(
        (word(rng) + b" ", rng.choice(PIECES[kind]), rng.choice(COMMON), make_number(rng), rng.choice(NUMBERS))
    )
    many = token * (most // len(token) + 1)
    how = rng.random()
    if kind == "vw" and how < 0.3:
        return b"1 |a " + b" ".join(b"%d" % k for k in range(rng.choice((20, 60, 150, 200, 3000))))
    if how < 0.4:
        return LINES[kind](rng, fmt) + many
    if how < 0.6:
        return many
    if how < 0.8:
        return b"".join(rng.choices([*PIECES[kind], *NUMBERS, *COMMON], k=most // 4))
    return b"\n".join(LINES[kind](rng, fmt) for _ in range(most // 60))


SHORT = {
    "svmlight": [b"1", b"1 0:1", b"1 0:1 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1 9:1", b"1,2,3", b"x", b":", b" :", b"0:0"],
    "vw": [b"|", b"| a", b"|a b", b"1|", b"| :1", b"x", b":", b"| a a a a a a a a", b"|a b c|b d", b"| a:1 b:1", b"|:"],
    "csv": [b",", b"1,", b",1", b"1,2", b",,,,,,,,,", b"1,,,,,,,,,1", b"1,1,1,1,1,1,1,1,1,1", b'"",""', b'"', b"x,,,,"],
    "jsonl": [b"{}", b"{", b'{"label":1}', b'{"label":1,"a":[1,1,1,1,1,1]}', b'{"label":1,"":1,"":1}', b"0", b'{"a":"',
              b'{"label":1,"t":"a b c d"}', b'{"label":1,"t":["a","b"]}'],
    "text": [b"a", b"a\ta", b"a a", b"a\ta a a a a", b"\t", b"a\t.", b"a\t\x80\x80", b"a b'b'b", b"\ta", b"a\ta\0a"],
}  # fmt: skip
SHORT["tsv"] = [line.replace(b",", b"\t") for line in SHORT["csv"]]


def make_short_text(rng: random.Random, kind: str) -> bytes:
    """Return a short text with as many records as fit: the shortest lines, or a few meaningful bytes."""
    how = rng.random()
    if how < 0.3:
        return b"\n".join([rng.choice(SHORT[kind])] * rng.choice((1, 1, 2, 7, 32)))
    if how < 0.6:
        return b"\n".join(rng.choices(SHORT[kind], k=rng.randint(1, 9)))
    letters = bytes({piece[0] for piece in PIECES[kind]}) + b"1a\n"
    return bytes(rng.choices(letters, k=rng.choice((1, 2, 3, 4, 6, 8, 15, 31, 63, 64, 65, 127, 200))))


def generate_text(rng: random.Random, kind: str, fmt: Format) -> bytes:
    """Return a text of some lines, with a newline at its end."""
    how = rng.random()
    if how < 0.004:
        content = bytearray(make_large_text(rng, kind, fmt))
    elif how < 0.2:
        whole = make_short_text(rng, kind)
        return whole if whole.endswith(b"\n") else whole + b"\n"
    else:
        end = rng.choice((b"\n", b"\n", b"\n", b"\r\n", b"\n\n"))
        content = bytearray(end.join(LINES[kind](rng, fmt) for _ in range(rng.choice((1, 1, 2, 3, 5, 10)))))
    for _ in range(rng.choice((0, 1, 1, 2, 3, 6))):
        mutate(rng, content, kind, fmt)
    if rng.random() < 0.2:  # a multiple of 64 bytes, or one byte more or less
        size = (len(content) + 63) // 64 * 64 + rng.randint(-2, 1)
        content = content[:size].ljust(size, rng.choice((b" ", b"x", b"0", rng.choice(PIECES[kind])[:1])))
    if rng.random() < 0.3:
        content += rng.choice((b"\n", b"\r\n", b"\n\n\n", b" \n"))
    return bytes(content) if content.endswith(b"\n") else bytes(content) + b"\n"


# --- Invariants ---

CELL = rb'(?:"(?:[^"]++|"")*+(?:"|\Z))?+[^%s\n]*+'


def records(content: bytes, delimiter: bytes) -> Iterator[tuple[int, int, bytes, bool]]:
    """Yield start, end and content of each record of a table, and whether it is complete."""
    cell = CELL % delimiter
    record = re.compile(cell + rb"(?:" + delimiter + cell + rb")*+", re.DOTALL)
    at = 0
    while at < len(content):
        match = record.match(content, at)
        assert match is not None
        end = min(match.end() + 1, len(content))
        yield at, end, match[0], match.end() < len(content)
        at = end


REFUSED_BYTES = bytes(byte for byte in range(32) if byte not in b"\t\n")
"""Bytes that lines of svmlight and VW must not contain, except for a carriage return at their end."""


def expected_lines(content: bytes, kind: str, fmt: Format) -> set[int]:
    """Return the numbers of the lines that must be examples or problems."""
    if isinstance(fmt, Csv):
        found, seen, last = set(), 0, 0
        for start, _, record, _ in records(content, fmt.separator):
            seen, last = seen + content.count(b"\n", last, start), start
            alone = record.removesuffix(b"\r")
            if alone.strip(b" \t") or fmt.separator in alone:
                found.add(seen)
        return found
    lines = content.split(b"\n")[:-1]
    refused = {"svmlight": REFUSED_BYTES, "vw": REFUSED_BYTES, "text": b"\0"}.get(kind, b"")
    bad = {k for k, line in enumerate(lines) if set(line.removesuffix(b"\r")) & set(refused)}
    if kind == "svmlight":
        lines = [line.partition(b"#")[0] for line in lines]
    blank = b"\t\r " if kind == "jsonl" else bytes(range(33))
    return bad | {k for k, line in enumerate(lines) if line.strip(blank)}


def expected_end(content: bytes, fmt: Format) -> int:
    if isinstance(fmt, Csv):
        return max((end for _, end, _, ended in records(content, fmt.separator) if ended), default=0)
    return content.rfind(b"\n") + 1


def check_rows(parsed: ParsedBlock, parser: Parser, fmt: Format) -> None:
    rows, count = parsed.rows, len(parsed.keys)
    if isinstance(rows, Dense):
        assert rows.width == parsed.features
        assert len(rows.values) == count * rows.width
        assert np.isfinite(rows.values).all(), "a value is not finite"
        return
    end = int(rows.starts[-1])
    assert len(rows.starts) == count + 1
    assert rows.starts[0] == 0
    assert (np.diff(rows.starts) >= 0).all(), "starts fall"
    assert end <= len(rows.values), "more terms than room"
    values, columns = rows.values[:end], rows.indices[:end]
    assert np.isfinite(values).all(), "a value is not finite"
    assert values.all(), "a value is 0"
    which = np.repeat(np.arange(count, dtype=np.uint64), np.diff(rows.starts))
    if fmt.bits_used == 0:
        pairs = np.stack([which, parsed.hashes[:end]])
        assert np.unique(pairs, axis=1).shape[1] == end, "a name twice in a row"
        return
    assert not end or int(columns.max()) < parsed.features, "an index is past the features"
    assert len(np.unique(which << np.uint64(32) | columns)) == end, "an index twice in a row"
    if fmt.bits_used is not None:
        bits = parser.used[columns >> 6] >> (columns & 63).astype(np.uint64)
        assert (bits & np.uint64(1)).all(), "a slot is used that is not noted"


def check_lines(parsed: ParsedBlock, content: bytes, kind: str, fmt: Format) -> None:
    lines = parsed.line_of.tolist()
    bad = [problem.line for problem in parsed.problems]
    assert parsed.lines == content.count(b"\n")
    assert lines == sorted(set(lines)), "rows out of order"
    assert bad == sorted(set(bad)), "problems out of order"
    assert not set(lines) & set(bad), "a line is both good and bad"
    assert set(lines) | set(bad) == expected_lines(content, kind, fmt), "a line is not accounted for"
    for _, reason, sentence in parsed.problems:
        assert reason
        assert sentence.endswith(".")
        assert sentence.isprintable()
        assert len(sentence) < 600


def labels_of(parsed: ParsedBlock) -> list[Any]:
    """Return each label; a number that is not a class is marked."""
    found_labels: list[Any] = []
    for i in range(len(parsed.keys)):
        try:
            label = parsed.label(i)
            each = label if isinstance(label, list) else [label]
            assert label is None or all(isinstance(one, bool | int | str) for one in each)
            found_labels.append(label)
        except LabelError:
            found_labels.append(float(parsed.keys[i : i + 1].view(np.float64)[0]))
    return found_labels


def names_of(parsed: ParsedBlock, block: TextBlock, fmt: Format) -> list[str]:
    """Return the names of the first terms, where names are wanted."""
    if not len(parsed.spans) or isinstance(parsed.rows, Dense):
        return []
    return [fmt.feature_name(block, span) for span in parsed.spans[: min(int(parsed.rows.starts[-1]), 60)]]


def list_contents(parsed: ParsedBlock) -> list[Any]:
    """Return everything a parsed block reports, for comparison."""
    rows = parsed.rows
    out: list[Any] = [parsed.keys, parsed.weights, parsed.line_of, parsed.lines, parsed.features, parsed.problems]
    if isinstance(rows, Dense):
        out += [rows.values]
    else:
        end = int(rows.starts[-1])
        out += [rows.starts, rows.values[:end], parsed.hashes[:end], parsed.spans[:end, :3]]
        out += [rows.indices[:end]] if parsed.features else []
    out += [parsed.groups]
    if parsed.sets is not None:
        out += [parsed.sets[0], parsed.sets[1][: parsed.sets[0][-1]]]
    return [part.tobytes() if isinstance(part, np.ndarray) else part for part in out]


class Fuzz:
    """Parser of the cases of one format."""

    def __init__(self, kind: str, note: Path) -> None:
        self.kind, self.guarded = kind, GuardedArrays()
        self.folder = note.parent
        with open(note, "w+b") as file:
            file.truncate(NOTE)
            self.note = mmap.mmap(file.fileno(), NOTE)
        self.slowest = 0.0

    def run(self, seed: int, number: int, what: str) -> None:
        rng = random.Random(f"{what} {seed} {number}")
        (self.parse if what == "parse" else self.cut)(rng, number)

    def write_down(self, what: str, number: int, how: Any, content: bytes) -> None:
        """Write a note at once, so that it survives the death of the process."""
        about = f"{what} {number} {len(content)} {how}".encode()[:ABOUT].ljust(ABOUT)
        self.note[: ABOUT + len(content)] = about + content

    def parse(self, rng: random.Random, number: int) -> None:
        """Parse a block twice: at the end of memory with a new parser, at its beginning with a used one."""
        fmt, how = rng.choice(FORMATS[self.kind]), {"named": rng.random() < 0.4, "unlabelled": rng.random() < 0.3}
        content = generate_text(rng, self.kind, fmt)
        self.write_down("parse", number, (fmt, how), content)
        parser: Any = fmt.parser(**how)
        results, cut = [], rng.randint(0, len(content))
        for late in (True, False):
            block = self.guarded.block(content, late=late)
            end = fmt.find_last_record_end(block.text, PADDING_BYTES, PADDING_BYTES + cut) - PADDING_BYTES
            assert end == expected_end(content[:cut], fmt), "the last record ends elsewhere"
            if late:
                places = [parser._current_places()] if isinstance(fmt, Csv) else []
                parser._ensure_capacity(block.size, *places)
            self.guarded.enclose(parser, late=late, garbage=late)
            start = time.perf_counter()
            parsed = parser.parse(block)
            took = time.perf_counter() - start
            assert not self.guarded.list_overruns(), f"written beside {self.guarded.list_overruns()}"
            assert not hasattr(parser, "to") or not parser.to.filter.any(), "the filter is not clean"
            self.slowest = max(self.slowest, took)
            assert took < SLOWEST, f"{len(content)} bytes took {took:.1f} s"
            check_rows(parsed, parser, fmt)
            check_lines(parsed, content, self.kind, fmt)
            results.append((list_contents(parsed), labels_of(parsed), names_of(parsed, block, fmt)))
        assert results[0] == results[1], "parsed twice, it is not the same"

    def cut(self, rng: random.Random, number: int) -> None:
        """Read a file in blocks of several sizes, with one thread and with more; through a cache, intact and
        damaged."""
        fmt, options = rng.choice(CUT[self.kind])
        content = generate_text(rng, self.kind, fmt)
        if isinstance(fmt, Csv) and rng.random() < 0.8:
            names = b",".join(name.encode() for name in fmt.names)
            content = names.replace(b",", fmt.separator) + b"\n" + content
        options = {
            **options,
            "unlabelled": rng.random() < 0.3,
            "bad_lines": rng.choice(("skip", "skip", "skip", "error")),
            "format": self.kind,
        }
        self.write_down("cut", number, options, content)
        path = self.folder / "cut.data"
        path.write_bytes(content[: -1 if rng.random() < 0.2 else None])
        whole = outcome(path, threads=1, **options)
        if whole == NO_CLASS:
            return
        if options.get("hash_bits") == 0 and not isinstance(whole, str):
            assert all(len(columns) == len(set(columns)) for columns, _ in whole["rows"]), "a column twice in a row"
        allowed = (whole, NO_CLASS) if isinstance(whole, str) else (whole,)
        for _ in range(3):
            how = {"block": rng.choice((rng.randint(1, 300), rng.randint(64, 5000))), "threads": rng.choice((1, 3))}
            assert outcome(path, **how, **options) in allowed, f"not the same with {how}"
        if self.kind == "svmlight":
            self.parse_tiles(rng, path, options, allowed)
        plain = path.read_bytes()
        path.write_bytes(gzip.compress(plain, 1))  # which is read as blocks of text
        assert outcome(path, block=rng.randint(1, 5000), **options) in allowed, "not the same when it is packed"
        path.write_bytes(plain)
        uncached = (
            isinstance(whole, str)
            or options.get("hash_bits") == 0
            or "keep_names" in options
            or "multilabel" in options
        )
        if not uncached and rng.random() < 0.3:
            self.read_through_cache(rng, path, options, whole)

    def parse_tiles(self, rng: random.Random, path: Path, options: dict[str, Any], allowed: tuple[Any, ...]) -> None:
        """Parse tiles of any size between guard pages; lines too long for them are read as blocks."""
        for late in (True, False):
            size = rng.choice((rng.randint(1, 100), rng.randint(100, 5000)))
            arrays = {
                "text": allocate_tile_text(size),
                **dict(zip(Tile._fields[1:], allocate_marks(size), strict=True)),
            }
            placed = {
                name: self.guarded.memory(f"tile {name}", late).place(array.shape, array.dtype, late=late)
                for name, array in arrays.items()
            }
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(svmlight, "get_thread_tile", functools.partial(Tile, **placed))
                assert outcome(path, threads=1, **options) in allowed, f"not the same in tiles of {size} bytes"
            assert not self.guarded.list_overruns(), f"written beside {self.guarded.list_overruns()}"

    def read_through_cache(self, rng: random.Random, path: Path, options: dict[str, Any], whole: Any) -> None:
        beside = cache_path(str(path))
        for when in ("made", "read", "damaged", "rebuilt"):
            if when == "damaged" and beside.exists():
                stored = bytearray(beside.read_bytes())
                stored[rng.randrange(len(stored))] ^= 1 << rng.randint(0, 7)
                beside.write_bytes(stored[: rng.choice((None, None, rng.randrange(len(stored))))])
            got = outcome(path, cache=True, block=500, **options)
            assert got == whole, f"not the same with a cache that is {when}"
        beside.unlink(missing_ok=True)

    def warm_up(self) -> None:
        """Compile, or load, all kernels in advance."""
        ngrams.lower_two_byte = functools.cache(ngrams.lower_two_byte)  # type: ignore[assignment]  # a parser asks for all letters
        for fmt in FORMATS[self.kind]:
            block = self.guarded.block(b"1\n", late=True)
            fmt.parser(named=False).parse(block)
            fmt.find_last_record_end(block.text, PADDING_BYTES, block.stop)


NO_CLASS = "a label is not a class"
"""Stands for an invalid label: if there is also a bad line, block boundaries decide which error is reported."""


def outcome(path: Path, **options: Any) -> Any:
    """Return everything that is read, or the error message."""
    try:
        return read_files(path, **options)
    except LabelError:
        return NO_CLASS
    except InputError as problem:
        return str(problem)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("what", choices=("parse", "cut"), nargs="?", help="both where it is left out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=10**9, help="to parse; as files to be cut, a fortieth of them")
    parser.add_argument("--seconds", type=float, default=1e9, help="to parse; for files to be cut, a quarter of them")
    parser.add_argument("--only", type=int, help="the number of a case")
    parser.add_argument("--note", type=Path, default=Path("fuzz.note"))
    args = parser.parse_args(arguments)
    fuzz = Fuzz(args.kind, args.note)
    fuzz.warm_up()
    for what in [args.what] if args.what else ["parse", "cut"]:
        cases, seconds = (args.cases, args.seconds) if what == "parse" else (args.cases // 40, args.seconds / 4)
        start, number = time.monotonic(), args.only or 0
        stop = number + (1 if args.only is not None else cases)
        while number < stop and time.monotonic() - start < seconds:
            signal.setitimer(signal.ITIMER_REAL, HANGING)  # ends the process from any position
            fuzz.run(args.seed, number, what)
            number += 1
        seconds = time.monotonic() - start
        print(f"{args.kind} {what}: {number} cases in {seconds:.1f} s, the slowest block {fuzz.slowest:.3f} s")


# --- Tests ---


def run_fuzzer(kind: str, folder: Path, seed: int, *arguments: str) -> None:
    """Run cases in a process; name the case during which it died."""
    note, again = folder / "note", ["-m", "tests.properties.test_fuzz_parsers", kind]
    command = [sys.executable, "-X", "faulthandler", *again, "--seed", str(seed), *arguments, "--note", str(note)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    print(done.stdout)
    if done.returncode == 0:
        return
    about, content = (note.read_bytes()[:ABOUT], note.read_bytes()[ABOUT:]) if note.exists() else (b"- 0 0 -", b"")
    what, number, length, how = about.decode().split(" ", 3)
    content = content[: int(length)]
    end = f"ended by {signal.Signals(-done.returncode).name}" if done.returncode < 0 else "failed"
    pytest.fail(
        f"{kind} {what}: {end} at case {number} of seed {seed}, {how.strip()}: {content[:2000]!r}\n"
        f"again: python {' '.join(again)} {what} --seed {seed} --only {number}\n{done.stderr[-3000:]}"
    )


needs_guard_pages = pytest.mark.skipif(not has_guard_pages(), reason="memory can't be protected here")


@needs_guard_pages
@pytest.mark.parametrize("kind", KINDS)
def test_no_text_breaks_a_parser(kind: str, tmp_path: Path) -> None:
    run_fuzzer(kind, tmp_path, 0, "--cases", str(CASES))


@needs_guard_pages
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_text_breaks_a_parser_in_the_long_run(kind: str, tmp_path: Path) -> None:
    seed = int(os.environ.get("NOVIKOFF_FUZZ_SEED", time.time_ns() // 1000 % 10**9))
    run_fuzzer(kind, tmp_path, seed, "--seconds", str(0.8 * SECONDS / len(KINDS)))


@needs_guard_pages
@pytest.mark.parametrize("late", [True, False])
def test_guard_pages_stop_the_process(late: bool) -> None:
    """Reading beyond either end of a block ends the process."""
    place = "len(text)" if late else "-1"
    code = f"""
import ctypes
from tests.helpers.guard_pages import GuardedArrays
text = GuardedArrays().block(b"1 1:1\\n", late={late}).text
ctypes.string_at(text.ctypes.data, len(text))
print("inside", flush=True)
ctypes.string_at(text.ctypes.data + {place}, 1)
print("outside")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout) == (-signal.SIGSEGV, "inside\n")


# --- Regressions ---


@pytest.mark.skipif(JIT_DISABLED, reason="millions of interactions")
def test_whether_a_line_has_too_many_interactions_depends_on_the_line_alone(tmp_path: Path) -> None:
    path = tmp_path / "data.vw"
    path.write_bytes((b"1 |a " + b" ".join(b"x%d" % k for k in range(300)) + b"\n") * 40)
    for block in (1000, 60_000):  # 40 times 44,850 interactions
        options = ReadOptions(interactions=("aa",), bad_lines="skip", block=block, threads=1)
        reading = DataReader([str(path)], options)
        assert (sum(map(len, reading.batches())), dict(reading.bad)) == (40, {})


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("vw", b"1 | x:y x=y\n"),
        ("vw", b"1 |a b | a^b\n"),
        ("vw", b"1 | \xff \xfe\n"),
        ("jsonl", b'{"label":1,"a":"b","a=b":1}\n'),
        ("csv", b"y,a,a=b\n1,b,2\n0,c,3\n"),
    ],
)
def test_no_column_of_a_dictionary_comes_twice_in_a_row(kind: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(content)
    for columns, _ in read_files(path, format=kind, hash_bits=0)["rows"]:
        assert len(columns) == len(set(columns))


def test_a_cache_does_not_store_several_labels(tmp_path: Path) -> None:
    path = tmp_path / "data.svm"
    path.write_bytes(b"1,2 1:1\n3 2:1\n 3:1\n")
    with pytest.raises(InputError, match="--cache needs features that are hashed or numbered"):
        read_files(path, multilabel=True, cache=True)


if __name__ == "__main__":
    main(sys.argv[1:])
