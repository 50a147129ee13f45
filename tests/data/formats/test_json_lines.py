"""JSON lines: the compiled parser equals Python's json with a plain flattener, for any block size, with bad lines."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novikoff._compiled.jit import JIT_DISABLED
from novikoff.cli.main import main
from novikoff.data.formats.jsonl import JsonLines
from novikoff.data.names.hashing import hash_name
from novikoff.data.reader import DataReader, ReadOptions
from novikoff.errors import InputError
from tests.helpers.paths import DATA_FOLDER
from tests.helpers.text_reference import (
    iter_names,
    learn_model_bytes,
    list_rows,
    parse_block,
    read_texts,
    to_slots,
    weigh_names,
)

pytestmark = pytest.mark.plain_python_coverage

EXAMPLES = 20 if JIT_DISABLED else 80
Term = tuple[int, float, str]

# --- The reference ---


class Pairs(list[tuple[str, Any]]):
    """The members of an object, with duplicate names."""


def flatten(value: Any, fmt: Any, path: str | None = None, own: str = "") -> Iterator[Term]:
    """Yield hash, value and name of each term; `own` is the path of the list that contains the value, or its own."""
    if isinstance(value, Pairs):
        for name, inner in value:
            below = name if path is None else f"{path}.{name}"
            yield from flatten(inner, fmt, below, below)
    elif isinstance(value, list) and path != fmt.label:
        for k, inner in enumerate(value):
            yield from flatten(inner, fmt, f"{path}.{k}", str(path))
    elif isinstance(value, str) and own in fmt.texts:
        seed = hash_name(own.encode())
        shown = {h: name for name, h in iter_names(value, fmt, seed)}
        yield from ((h, worth, f"{own}={shown[h]}") for h, worth in weigh_names(value, fmt, seed).items())
    elif isinstance(value, str) and own != fmt.label:
        yield hash_name(value.encode(), hash_name(own.encode())), 1.0, f"{own}={value}"
    elif isinstance(value, int | float) and value is not False and path != fmt.label:
        yield hash_name(str(path).encode()), float(value), str(path)


def reference_terms(line: str, fmt: Any) -> list[Term]:
    return list(flatten(json.loads(line, object_pairs_hook=Pairs), fmt))


def row_of(line: str, fmt: Any) -> list[tuple[int, float]]:
    return to_slots([(h, value) for h, value, _ in reference_terms(line, fmt)], fmt)


def refuse_constant(literal: str) -> None:
    raise ValueError(literal)


def is_accepted(line: bytes) -> bool:
    """Return whether Python's json accepts the line as an object."""
    try:
        return isinstance(json.loads(line.decode(), parse_constant=refuse_constant), dict)
    except (ValueError, RecursionError):
        return False


# --- Rows ---

FORMATS = [
    JsonLines("label"),
    JsonLines("label", hash_bits=5, signed_hash=True),
    JsonLines("label", "a,b.c", word_ngrams=2, char_ngrams=2, term_weighting="unit", hash_bits=20),
    JsonLines("label", "a", term_weighting="count", lowercase=False, hash_bits=4),
]
NAMES = st.sampled_from(["a", "b", "c", "a.b", "", "é", '"', "\n", "a much longer name than sixteen bytes"]) | st.text(
    alphabet=st.characters(codec="utf-8"), max_size=6
).filter(lambda name: name != "label")
NUMBERS = (
    st.integers(-(10**15), 10**15)
    | st.floats(-1e15, 1e15, allow_nan=False)
    | st.sampled_from([0, -0.0, 1e-320, 0.1, 123456789012345, 5e-46])
)
SCALARS = st.none() | st.booleans() | NUMBERS | st.text(alphabet=st.characters(codec="utf-8"), max_size=90)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=6)


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_rows_equal_those_of_the_reference(fmt: JsonLines, data: st.DataObject) -> None:
    lines = []
    for value in data.draw(st.lists(OBJECTS, min_size=1, max_size=4)):
        ascii_only = data.draw(st.booleans())
        gaps = data.draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", "\r: ")]))
        lines.append(json.dumps({**value, "label": 1}, ensure_ascii=ascii_only, separators=gaps))
    _, parsed = parse_block("\n".join(lines).encode(), fmt)
    assert not parsed.problems
    assert list_rows(parsed) == [row_of(line, fmt) for line in lines]


UNUSUAL_LINES = [
    '{"label":1,"a":{"b":{"c":[1,2,{"d":"x"},["y",3]]}},"a.b":"z"}',
    '{"label":1,"a":"\\ud83d\\ude00 \\u00e9\\u0000\\/\\b\\f\\n\\r\\t\\"\\\\"}',
    '{"label":1,"\\u0061":"\\u0062","a":"b","a":"b","a":0.5,"a":-0.5}',
    '{"label":1,"a":[],"b":{},"c":[[],[[]],{}]}',
    '{"label":1,"a":["x","y","x",true,false,null,7]}',
    '{"label":1,"n":[0,-0,1e5,1E+5,1.5e-3,-12.25,123456789012345,123456789012345.6,0.000000000000000000000000001]}',
    ' { "label" : 1 , "a" : "b" } \t\r',
    '{"a":1.0000000000000000000000000000001,"b":999999999999999.9,"label":1}',
    '{"label":1,' + ",".join(f'"f{k}":"{k}"' for k in range(300)) + "}",
    '{"label":1,"a":' + "[" * 63 + "1" + "]" * 63 + "}",
    '{"label":1,"' + "n" * 900 + '":{"m":[1]}}',
]


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_unusual_lines_are_read(fmt: JsonLines) -> None:
    _, parsed = parse_block("\n".join(UNUSUAL_LINES).encode(), fmt)
    assert [problem.sentence for problem in parsed.problems] == []
    assert list_rows(parsed) == [row_of(line, fmt) for line in UNUSUAL_LINES]


def test_long_strings_equal_those_of_the_reference() -> None:
    """Escapes, quotes and non-ASCII characters occur at every position of 64 bytes."""
    fmt = FORMATS[0]
    for special in ("\\n", "é", "\\u00e9", "\\\\", "x"):
        lines = [f'{{"label":1,"a":"{"y" * k}{special}{"z" * (150 - k)}","{"k" * k}{special}":1}}' for k in range(150)]
        _, parsed = parse_block("\n".join(lines).encode(), fmt)
        assert list_rows(parsed) == [row_of(line, fmt) for line in lines]


def test_hashes_equal_those_of_other_formats() -> None:
    _, parsed = parse_block(b'{"label":1,"colour":"red","size":2}', JsonLines("label", hash_bits=0))
    assert parsed.hashes[:2].tolist() == [hash_name(b"red", hash_name(b"colour")), hash_name(b"size")]


@pytest.mark.parametrize("fmt", [f for f in FORMATS if f.hash_bits > 10], ids=str)
def test_stored_names_match_their_hashes(fmt: JsonLines) -> None:
    for line in UNUSUAL_LINES:
        block, parsed = parse_block(line.encode(), fmt, named=True)
        expected: dict[int, str] = {}
        worth: dict[int, Any] = {}
        for h, value, name in reference_terms(line, fmt):
            expected.setdefault(h, name)
            worth[h] = worth.get(h, np.float32(0)) + np.float32(value)
        count = int(parsed.rows.starts[-1])
        hashes = parsed.hashes[:count].tolist()
        assert hashes == [h for h in expected if worth[h] != 0.0]
        assert [fmt.feature_name(block, span) for span in parsed.spans[:count]] == [expected[h] for h in hashes]


# --- Labels ---


def test_labels_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text('{"y":1}\n{"y":1.0}\n{"y":"1"}\n{"y":"\\u0061b"}\n{"y":"ab"}\n{"y":true}\n{"y":false}\n{"y":-0}\n')
    found, reading = read_texts(path, format="jsonl")
    assert [label for label, _, _ in found] == ["1", "1", "1", "ab", "ab", "true", "false", "0"]  # of two types
    assert reading.format == JsonLines("y", hash_bits=0, label_texts=True)
    keys = parse_block(path.read_bytes(), JsonLines("y"))[1].keys.tolist()
    assert keys[0] == keys[1]
    assert keys[3] == keys[4]
    assert len(set(keys)) == 6
    keys = parse_block(path.read_bytes(), JsonLines("y", label_texts=True))[1].keys.tolist()
    assert len(set(keys[:3])) == 1
    assert len(set(keys)) == 5
    path.write_text('{"y":1}\n{"y":2}\n{"y":true}\n')
    assert [label for label, _, _ in read_texts(path, format="jsonl")[0]] == [1, 2, True]


def test_a_nested_label_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text('{"label":"no","user":{"kind":"bot","n":2}}\n')
    found, _ = read_texts(path, label="user.kind", format="jsonl", hash_bits=18)
    assert found[0][0] == "bot"
    assert found[0][1] == row_of(path.read_text(), JsonLines("user.kind"))


def test_the_label_field_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('\nnot json\n{"a":1,"Class":0}\n')
    assert read_texts(path, bad_lines="skip")[0][0][0] == 0
    path.write_text('{"target":1,"class":0,"y":3}\n')
    with pytest.raises(InputError, match="the fields 'target', 'class', 'y' are all named as labels are"):
        read_texts(path)
    path.write_text("".join(f'{{"a":{k},"tags":["x"],"b":"{"pq"[k % 2]}"}}\n' for k in range(30)))
    with pytest.raises(InputError) as asked:
        read_texts(path)
    assert str(asked.value) == (
        f"{path}: which field is the label? None is named label, class, target or y: use --label FIELD. Perhaps --label"
        " b, with the values p, q. The fields are a (0, 1, …), tags (nested), b (p, q, …)."
    )
    path.write_text("[1]\n")
    with pytest.raises(InputError, match="has no JSON object in its first lines"):
        read_texts(path)


# --- Bad lines ---

BAD = {
    b"[1]": ("syntax", "expected one JSON object per line, got '[1]' at byte 1"),
    b"nonsense": ("syntax", "expected one JSON object per line"),
    b'{"label":1': (
        "syntax",
        "expected a comma or the end of the object or list, got the end of the line at byte 11",
    ),
    b'{"label":1]': ("syntax", "expected a comma or the end of the object or list, got ']' at byte 11"),
    b'{"label":1} x': ("syntax", "expected nothing after the object, got 'x' at byte 13"),
    b'{"label":1}{}': ("syntax", "expected nothing after the object"),
    b'{"label":1,}': ("syntax", "expected a name in double quotes, got '}' at byte 12"),
    b"{label:1}": ("syntax", "expected a name in double quotes"),
    b"{'label':1}": ("syntax", "expected a name in double quotes"),
    b'{"label" 1}': ("syntax", "expected a colon, got '1}' at byte 10"),
    b'{"label":}': ("syntax", "expected a value"),
    b'{"label":1,"a":[1,]}': ("syntax", "expected a value, got ']}' at byte 19"),
    b'{"label":1,"a":[,1]}': ("syntax", "expected a value"),
    b'{"label":1,"a":tru}': ("syntax", "expected a value"),
    b'{"label":1,"a":True}': ("syntax", "expected a value"),
    b'{"label":1,"a":truex}': ("syntax", "expected a comma"),
    b'{"label":1,"a":"x}': ("syntax", "unterminated string"),
    b'{"label":1,"a":"\\': ("escape", "a backslash must be followed by"),
    b'{"label":1,"a":"\x01"}': ("control character", "a control character must be escaped"),
    b'{"label":1,"a":"\t"}': ("control character", "a control character must be escaped"),
    b'{"label":1,"a":"\\n\x1f"}': ("control character", "a control character must be escaped"),
    b'{"label":1,"a":"\\x"}': ("escape", "a backslash must be followed by"),
    b'{"label":1,"a":"\\u12G4"}': ("escape", "a backslash must be followed by"),
    b'{"label":1,"a":"\\ud800"}': ("escape", "unpaired surrogate"),
    b'{"label":1,"a":"\\ud800\\u0041"}': ("escape", "unpaired surrogate"),
    b'{"label":1,"a":"\\udc00"}': ("escape", "unpaired surrogate"),
    b'{"label":1,"a":"caf\xe9"}': ("encoding", "strings must be UTF-8"),
    b'{"label":1,"a":"\xed\xa0\x80"}': ("encoding", "strings must be UTF-8"),
    b'{"label":1,"a":"\xc0\x80"}': ("encoding", "strings must be UTF-8"),
    b'{"label":1,"a\xff":1}': ("encoding", "strings must be UTF-8"),
    b'{"label":1,"a":"\\n\xc3"}': ("encoding", "strings must be UTF-8"),
    b'{"label":1,"a":+1}': ("syntax", "expected a value"),
    b'{"label":1,"a":.5}': ("syntax", "expected a value"),
    b'{"label":1,"a":01}': ("syntax", "expected a comma"),
    b'{"label":1,"a":-}': ("number", "expected a JSON number, got '-}' at byte 16"),
    b'{"label":1,"a":1.}': ("number", "expected a JSON number"),
    b'{"label":1,"a":1.e5}': ("number", "expected a JSON number"),
    b'{"label":1,"a":1e}': ("number", "expected a JSON number"),
    b'{"label":1,"a":1e+}': ("number", "expected a JSON number"),
    b'{"label":1,"a":0x1}': ("syntax", "expected a comma"),
    b'{"label":1,"a":NaN}': (
        "range",
        "numbers must be finite and of size up to 1e15 (write larger labels as strings), got 'NaN}'",
    ),
    b'{"label":1,"a":-Infinity}': ("range", "numbers must be finite"),
    b'{"label":1,"a":1e16}': ("range", "numbers must be finite"),
    b'{"label":1,"a":1e999}': ("range", "numbers must be finite"),
    b'{"label":1e999}': ("range", "numbers must be finite"),
    b'{"label":1,"a":' + b"[" * 64 + b"]" * 64 + b"}": ("depth", "objects and lists may be nested up to 64 deep"),
    b'{"label":1,"' + b"n" * 1001 + b'":1}': ("path", "paths may have up to 1000 bytes"),
    b'{"label":1,"' + b"n" * 600 + b'":{"' + b"n" * 400 + b'":1}}': ("path", "paths may have up to"),
    b'{"label":1,"' + b"n" * 990 + b'":[1]}': ("path", "paths may have up to"),
    b"{}": ("no label", "has no field 'label' with a label, or it is null"),
    b'{"label":null}': ("no label", "has no field 'label'"),
    b'{"x":{"label":1}}': ("no label", "has no field 'label'"),
    b'{"label":[1,{}]}': ("label", "the label must be a number, a string, true or false, got '{}]}' at byte 13"),
    b'{"label":[1 2]}': ("syntax", "expected a comma or the end of the object or list, got '2]}' at byte 13"),
    b'{"label":{}}': ("label", "the label must be"),
    b'{"label":1,"label":1}': ("label", "duplicate label"),
    b'{"label":"a","label":"a"}': ("label", "duplicate label"),
}


@pytest.mark.parametrize("line", BAD, ids=lambda line: line[:30].decode("latin-1"))
def test_bad_lines_are_reported(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b'{"label":1}\n \r\n' + line + b'\n{"label":0}\n')
    reason, sentence = BAD[line]
    with pytest.raises(InputError) as problem:
        read_texts(path)
    assert str(problem.value).startswith(f"{path}:3: {sentence}")
    found, reading = read_texts(path, bad_lines="skip")
    # Strings among the first labels, also on skipped lines, turn all labels into strings.
    assert [(int(label), place.rpartition(":")[2]) for label, _, place in found] == [(1, "1"), (0, "4")]
    assert reading.bad == {reason: 1}


OWN_RULES = ("no label", "label", "range", "depth", "path")
"""Reasons for lines that Python's json accepts or refuses by other rules."""


def mutations(count: int, seed: int) -> Iterator[bytes]:
    source = random.Random(seed)
    seeds = [line.encode() for line in UNUSUAL_LINES[:8]] + [
        b'{"label":true,"a":"caf\xc3\xa9","b":[{"c":null},-1.5e3]}'
    ]
    alphabet = b'{}[]",:\\/ \t\r+-.0123456789eEuntrflsabI\x00\x1f\x7f\x80\xbf\xc3\xe2\xed\xf0\xf4\xff'
    for _ in range(count):
        line = bytearray(source.choice(seeds))
        for _ in range(source.choice((1, 1, 1, 2, 5))):
            at = source.randrange(len(line) + 1)
            kind = source.randrange(5)
            if kind == 0:
                line[at : at + 1] = bytes([source.choice(alphabet)])
            elif kind == 1:
                line[at:at] = bytes([source.choice(alphabet)])
            elif kind == 2:
                del line[at : at + source.choice((1, 1, 3, 20))]
            elif kind == 3:
                other = source.choice(seeds)
                cut = source.randrange(len(other))
                line[at:] = other[cut:]
            else:
                line[at:at] = source.choice((b"\\u", b"\\ud800", b"\\udc00", b"NaN", b"true", b'""', b"1e9", b"0"))
        yield bytes(line)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_exactly_valid_json_is_accepted(seed: int) -> None:
    count = 2_000 if JIT_DISABLED else 40_000 if seed == 1 else 1_000_000
    fmt = JsonLines("label", "a", hash_bits=20)
    lines = [line for line in mutations(count, seed) if line.strip(b" \t\r")]
    rows_good = 0
    for first in range(0, len(lines), 10_000):
        some = lines[first : first + 10_000]
        _, parsed = parse_block(b"\n".join(some) + b"\n", fmt)
        problems = {problem.line: problem for problem in parsed.problems}
        assert len(problems) == len(parsed.problems)
        assert len(problems) + len(parsed.keys) == parsed.lines == len(some)
        rows = dict(zip(parsed.line_of.tolist(), list_rows(parsed), strict=True))
        for k, line in enumerate(some):
            if k in rows:
                assert is_accepted(line), line
                assert rows[k] == row_of(line.decode(), fmt), line
                rows_good += 1
            elif problems[k].reason not in OWN_RULES and "surrogate" not in problems[k].sentence:
                assert not is_accepted(line), (line, problems[k])
    assert rows_good > len(lines) / 20


@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.binary(max_size=300))
def test_arbitrary_bytes_do_not_crash(data: bytes) -> None:
    fmt = JsonLines("label", "a", char_ngrams=3)
    _, parsed = parse_block(b'{"label":1,"a":"x' + data, fmt)
    assert len(parsed.keys) + len(parsed.problems) <= parsed.lines == data.count(b"\n") + 1 - (data.endswith(b"\n"))


@pytest.mark.parametrize(
    "line",
    [
        b'{"label":1,"a":' + b"[" * 200_000,
        b'{"label":1,"a":[' + b"1," * 200_000 + b"1]}",
        b'{"label":1,"a":"' + b"\\n" * 200_000 + b'"}',
        b'{"label":1,"a":"' + b"\xc3\xa9" * 200_000 + b'"}',
        b'{"label":1,"' + b"n" * 500_000 + b'":1}',
        b'{"label":1,"a":' + b"1" * 400_000 + b"}",
        b'{"label":1,"a":0.' + b"1" * 400_000 + b"}",
        b"{" + b'"a":{' * 100_000,
    ],
    ids=lambda line: line[:18].decode(),
)
def test_long_lines_are_parsed_or_reported(line: bytes) -> None:
    if JIT_DISABLED:
        line = line[:2000]
    _, parsed = parse_block(line, JsonLines("label"))
    assert len(parsed.keys) + len(parsed.problems) == 1


# --- Blocks, and end to end ---

SPLIT = (
    '\ufeff{"label":"spam","text":"Win £1000 now ’now’ 日本語 😀","n":[1,2.5],"tags":["a","b"]}\r\n'
    "\n"
    '{"label":"ham","text":"ok \\u00e9 \\ud83d\\ude00","n":{"x":1e-3}}\r\n'
    "   \n"
    f'{{"label":"ham","text":"{"Ünïcödé wörds " * 30}"}}\n'
    '{"text":"no newline after the last é","label":"spam"}'
).encode()


@pytest.mark.parametrize("threads", [1, 3])
def test_block_boundaries_do_not_change_rows(tmp_path: Path, threads: int) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(SPLIT)
    options = {"text": "text", "word_ngrams": 2, "char_ngrams": 3}
    whole, _ = read_texts(path, threads=1, **options)
    assert [label for label, _, _ in whole] == ["spam", "ham", "ham", "spam"]
    assert [place.rpartition(":")[2] for _, _, place in whole] == ["1", "3", "5", "6"]
    for block in [*range(64, 80 if JIT_DISABLED else 200), 500, 1000, 2000]:
        assert read_texts(path, threads=threads, block=block, **options)[0] == whole
    path.write_bytes(SPLIT.replace(b"\r\n", b"\n").removeprefix(b"\xef\xbb\xbf") + b"\n")
    assert read_texts(path, threads=threads, **options)[0] == whole


def test_dictionary_and_hashing_give_the_same_scores(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(SPLIT)
    options = {"text": "text", "word_ngrams": 3, "char_ngrams": 2}
    hashed_rows, kept = read_texts(path, hash_bits=24, keep_names=1, **options)
    by_name, reading = read_texts(path, hash_bits=0, **options)
    assert reading.names is not None
    columns = list(reading.names.columns)
    assert {"n.0", "n.x", "tags=a", "text=win", "text=win £1000"} <= set(columns)
    for (_, slots, _), (_, row, _) in zip(hashed_rows, by_name, strict=True):
        assert [(kept.kept[slot], value) for slot, value in slots] == [(columns[k], value) for k, value in row]


def test_options_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"label":1}\n')
    for options, message in (
        ({"delimiter": ";"}, "--delimiter has no meaning for jsonl"),
        ({"word_ngrams": 2}, "--word-ngrams has no meaning for jsonl without --text"),
        ({"text": "a", "word_ngrams": 99}, "--word-ngrams must be from 1 to 8"),
    ):
        with pytest.raises(InputError, match=message):
            read_texts(path, **options)


def test_json_lines_work_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    a.write_text('{"y":"spam","body":"Win cash","hour":3}\n{"y":"ham","body":"see you","from":{"known":true}}\n')
    b.write_text('{"y":"ham","tags":["home","work"],"body":"now"}\n{"body":"cash prize","y":"spam"}\n')
    for more in (["--hash-bits", "0"], ["--char-ngrams", "3", "--signed-hash", "--keep-names"]):
        options = ["--text", "body", *more]
        at_once = learn_model_bytes(tmp_path, "ab", str(a), str(b), *options)
        learn_model_bytes(tmp_path, "a.model", str(a), *options)
        kept = [option for option in options if option == "--keep-names"]
        assert learn_model_bytes(tmp_path, "b.model", str(b), "--resume", str(tmp_path / "a.model"), *kept) == at_once
    learn_model_bytes(tmp_path, "m", str(a), str(b), "--text", "body", "--hash-bits", "0", "--passes", "9")
    capsys.readouterr()
    assert main(["inspect", str(tmp_path / "m"), "--json"]) == 0
    shown = {weight["feature"] for weight in json.loads(capsys.readouterr().out)["weights"]}
    assert {"body=cash", "from.known", "hour"} <= shown
    assert main(["predict", str(tmp_path / "m"), str(a), "--quiet"]) == 0
    assert capsys.readouterr().out.split() == ["spam", "ham"]
    assert main(["predict", str(tmp_path / "m"), str(a), "--label", "hour"]) == 2
    assert "leave out --label" in capsys.readouterr().err


@pytest.mark.skipif(not DATA_FOLDER.is_dir(), reason="the data sets are not here: set NOVIKOFF_DATA")
def test_real_lines_are_read() -> None:
    for options in ({}, {"text": "title,body"}):
        count, mistakes = 0, 0
        read_options = ReadOptions(label="lewissplit", bad_lines="skip", **options)
        reading = DataReader([str(DATA_FOLDER / "reuters21578.jsonl.gz")], read_options)
        for batch in reading.batches():
            count += len(batch)
            mistakes += sum(batch.parsed.label(i) not in ("TRAIN", "TEST", "NOT-USED") for i in range(len(batch)))
        assert (count, mistakes) == (21578, 0)
        assert not reading.bad
