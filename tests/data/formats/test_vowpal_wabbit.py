"""Vowpal Wabbit text: labels, weights and features equal those of VW, slots those of a plain reference."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novikoff import InputError
from novikoff.cli.main import main
from novikoff.data.names.hashing import combine_hashes as both_hashed
from novikoff.data.names.hashing import hash_name
from tests.helpers.read_files import read_files, to_terms

pytestmark = pytest.mark.plain_python_coverage

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z")
Feature = tuple[bytes, bytes, float, int]  # namespace, name, value, hash


def number(text: bytes, reason: str) -> float:
    if not NUMBER.match(text):
        raise ValueError(reason)
    return float(text)


def words(text: bytes) -> list[bytes]:
    return [w for w in re.split(rb"[\x00-\x20]+", text) if w]


def reference_rows(line: bytes) -> tuple[float | None, float, list[Feature]]:
    """Return (label, importance, features) of a line; raise ValueError with the kind of error."""
    if b"|" not in line:
        raise ValueError("no bar")
    before, _, rest = line.partition(b"|")
    label, importance = None, 1.0
    heading = words(before)
    touching = bool(before) and before[-1] > 32
    for position, word in enumerate(heading):
        if (touching and position == len(heading) - 1) or word.startswith(b"'"):
            if position < len(heading) - 1:
                raise ValueError("before the bar")
            break
        if position == 0:
            label = number(word, "label")
            if abs(label) > 1e300:
                raise ValueError("label")
        elif position == 1:
            importance = number(word, "importance")
            if not 0 <= importance <= 1e15:
                raise ValueError("importance")
        elif position > 2:
            raise ValueError("before the bar")
        else:
            number(word, "before the bar")
    return label, importance, [f for space in rest.split(b"|") for f in features(space)]


def features(space: bytes) -> list[Feature]:
    name, scale, seed = b"", 1.0, 0
    inside = words(space)
    if space[:1] > b" ":
        name, colon, text = inside.pop(0).partition(b":")
        seed = hash_name(name) if name else 0
        if not name:
            raise ValueError("namespace")
        if colon:
            scale = number(text, "namespace")
            if abs(scale) > 1e15:
                raise ValueError("namespace")
    return [f for word in inside if (f := feature(name, word, scale, seed))[2] != 0.0]


def feature(space: bytes, word: bytes, scale: float, seed: int) -> Feature:
    name, colon, text = word.partition(b":")
    h = hash_name(name, seed)
    if not colon:
        return space, name, scale, h
    if NUMBER.match(text):
        if abs(float(text)) > 1e15:
            raise ValueError("range")
        return space, name, float(text) * scale, h
    if re.fullmatch(rb"[+-]?(nan|inf|infinity)", text, re.IGNORECASE):
        raise ValueError("range")
    if not text or text[:1] in b"+-.0123456789" or b":" in text:
        raise ValueError("value")
    return space, name + b"=" + text, scale, hash_name(text, h)


def row(found: list[tuple[int, float]], bits: int, signed: bool) -> dict[int, float]:
    """Return slots in order of first appearance; values of equal slots are summed in single precision."""
    out: dict[int, float] = {}
    for h, value in found:
        slot = h & ((1 << bits) - 1)
        worth = float(np.float32(-value if signed and h >> 63 else value))
        out[slot] = float(np.float32(out[slot] + worth)) if slot in out else worth
    return {slot: value for slot, value in out.items() if value != 0.0}


def compare(lines: list[bytes], path: Path, *, bits: int = 18, signed: bool = False, **options: Any) -> None:
    path.write_bytes(b"\n".join(lines))
    good, bad = [], {}
    for n, line in enumerate(lines):
        if not words(line):
            continue
        try:
            good.append(reference_rows(line))
        except ValueError as problem:
            bad[n] = str(problem)
    how = {"format": "vw", "hash_bits": bits, "signed_hash": signed, **options}
    if not good:
        with pytest.raises(InputError):
            read_files(path, bad_lines="skip", **how)
        return
    got = read_files(path, bad_lines="skip", **how)
    assert got["bad"] == dict(Counter(bad.values()))
    assert got["labels"] == [label for label, _, _ in good]
    assert got["weights"] == [weight for _, weight, _ in good]
    assert [to_terms(r) for r in got["rows"]] == [row([(f[3], f[2]) for f in fs], bits, signed) for _, _, fs in good]
    assert [list(to_terms(r)) for r in got["rows"]] == [
        list(row([(f[3], f[2]) for f in fs], bits, signed)) for _, _, fs in good
    ]
    if bad:
        with pytest.raises(InputError, match=re.escape(f"{path}:{min(bad) + 1}: ")):
            read_files(path, **how)


CORPUS = [
    b"1 |a x y:2 z",
    b"-1 2.5 |a x y:2 z",
    b"1 2 0.5 'tag|b:2 x:0.5 y",
    b"0 tag2|c q",
    b"1 0.7 0.2 tag3|c q",
    b"1 2 'tag |a x",
    b"1 't |a x",
    b"1 | x 12:3 |ns:0.5 u:-1 v",
    b"-1.5e0 1e0 |a x:1e-2",
    b"1 |a x:abc y:2",
    b"1 |a x|b y",
    b"1 ||a y",
    b"1 |a  x   y ",
    b"1 0 |a y",
    b"1 |a x:0 y",
    b"+1 |a x:+2 y:.5 z:5.",
    b"1 |a x\ty\r",
    b"1 |a x x:2",
    b"1 |a:-1 x |a y",
    "1 |é ü:2 日本".encode(),
    b"1 |a :2 y",
    b"1 |long_namespace:0.25 a_feature_with_a_rather_long_name another=one:3 http//x.y/z?q=1&r",
    b"3 |a",
    b"2 |",
    b"1|a x",
    b" |a x",
    b"|a x",
]


def test_the_corpus_equals_the_reference(tmp_path: Path) -> None:
    for line in CORPUS:
        compare([line], tmp_path / "one.vw")
    compare(CORPUS, tmp_path / "all.vw", threads=1)


def run_vw_audit(lines: list[bytes]) -> list[Counter[tuple[bytes, float]]]:
    """Return the features of each line as VW has read them, by name, and their values."""
    text = b"\n".join(lines) + b"\n"
    done = subprocess.run(
        [sys.executable, "-m", "vowpalwabbit", "--audit", "--noconstant", "-d", "/dev/stdin"],
        input=text,
        capture_output=True,
        check=True,
    )
    output = done.stdout.replace(b"\r", b"")
    found: list[Counter[tuple[bytes, float]]] = []
    for shown in re.findall(rb"^[-0-9.na]+[^\n\t]*\n(\t?[^\n]*)", output, re.MULTILINE):
        these: Counter[tuple[bytes, float]] = Counter()
        for item in shown.split(b"\t"):
            if item.strip():
                name, _, value, _ = item.rsplit(b":", 3)
                these[(name.replace(b"^", b" "), round(float(value), 4))] += 1
        found.append(these)
    return found


def test_features_are_read_as_by_vw(tmp_path: Path) -> None:
    pytest.importorskip("vowpalwabbit", reason="VW itself is not installed: pip install vowpalwabbit")
    lines = [line for line in CORPUS if b"x x:2" not in line]
    for line in lines:
        (theirs,) = run_vw_audit([line]) or [Counter()]
        ours: Counter[tuple[bytes, float]] = Counter()
        for space, name, value, _ in reference_rows(line)[2]:
            shown = (space + b"^" if space else b"") + name.replace(b"=abc", b"^abc")
            ours[(shown.replace(b"^", b" "), round(value, 4))] += 1
        assert ours == theirs, line


def test_labels_and_weights_are_read_as_by_vw() -> None:
    vowpalwabbit = pytest.importorskip("vowpalwabbit", reason="VW itself is not installed: pip install vowpalwabbit")
    space = vowpalwabbit.Workspace("--quiet")
    for line in CORPUS:
        label, weight, _ = reference_rows(line)
        example = space.example(line.decode())
        theirs = example.get_simplelabel_label()
        assert (None if theirs > 1e30 else theirs) == (None if label is None else pytest.approx(label)), line
        if label is not None:
            assert example.get_simplelabel_weight() == pytest.approx(weight), line
        space.finish_example(example)
    space.finish()


NAMES = st.text(
    st.characters(blacklist_characters="|: \n\r\t", blacklist_categories=("Cc", "Cs")), min_size=1, max_size=40
)
VALUES = st.one_of(
    st.sampled_from([":1", ":0", ":-2.5", ":1e-3", ":.5", ":3."]), st.floats(-1e6, 1e6).map(lambda v: f":{v!r}")
)
ODD = st.sampled_from(
    [
        "x:",
        ":",
        "x:1:2",
        "x:1e",
        "x:nan",
        "x:-inf",
        "x:1x",
        "x:y:z",
        "x:1e16",
        "|",
        "||",
        "|:",
        "|a:",
        "|a:b",
        "x:\u00e9",
        ":5",
        "x:--1",
    ]
)
HEADINGS = st.sampled_from(
    ["1", "-1", "1 2", "0 0.5 1", "1 'tag", "1 tag", "1 -2", "x", "", "1 2 3 4", "1 2 x", "'a b", "1e999"]
)


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    text = draw(HEADINGS) if draw(st.integers(0, 4)) == 0 else "1"
    text += draw(st.sampled_from([" ", " ", "  ", "", "\t"]))
    for _ in range(draw(st.integers(0, 3))):
        text += "|" + draw(st.sampled_from(["", "a", "b", "bc", "ns:2", "é", "a:0.5"]))
        for _ in range(draw(st.integers(0, 6))):
            word = draw(ODD) if draw(st.integers(0, 25)) == 0 else draw(NAMES) + draw(st.just("") | VALUES)
            text += draw(st.sampled_from([" ", " ", "  ", "\t"])) + word
    return (text + draw(st.sampled_from(["", "", " ", "\r"]))).encode()


@settings(max_examples=200, deadline=None)
@given(
    rows=st.lists(lines(), max_size=8),
    block=st.integers(64, 600),
    threads=st.sampled_from([1, 3]),
    bits=st.sampled_from([1, 4, 18, 31]),
    signed=st.booleans(),
)
def test_rows_equal_the_reference_in_blocks_of_any_size(
    tmp_path_factory: pytest.TempPathFactory, rows: list[bytes], block: int, threads: int, bits: int, signed: bool
) -> None:
    bits = min(bits, 20)
    compare(rows, tmp_path_factory.mktemp("vw") / "data.vw", block=block, threads=threads, bits=bits, signed=signed)


def test_interactions_are_generated(tmp_path: Path) -> None:
    """Features of different namespaces are combined fully; those of one namespace make each pair once."""
    path = tmp_path / "data.vw"
    line = b"1 |a x:2 y |b u:3 v:0.5 |c w"
    path.write_bytes(line + b"\n")
    found = [(f[0], f[3], f[2]) for f in reference_rows(line)[2]]
    for wanted in (["ab"], ["aa"], ["abc"], ["ab", "bc"], ["aab"], ["bb", "ba"]):
        expected = [(h, v) for _, h, v in found]
        for interaction in wanted:
            letters = "".join(sorted(interaction))
            spaces = [[(k, h, v) for k, (s, h, v) in enumerate(found) if s == letter.encode()] for letter in letters]
            for parts in itertools.product(*spaces):
                places = [p[0] for p in parts]
                if any(a >= b and x == y for a, b, x, y in zip(places, places[1:], letters, letters[1:], strict=False)):
                    continue
                h, value = parts[0][1:]
                for _, other, factor in parts[1:]:
                    h, value = int(both_hashed(np.uint64(h), np.uint64(other))), value * factor
                expected.append((h, value))
        got = read_files(path, interactions=tuple(wanted))
        assert to_terms(got["rows"][0]) == row(expected, 18, False), wanted
        named = read_files(path, interactions=tuple(wanted), hash_bits=0)
        assert len(named["names"]) == len(expected)
    names = read_files(path, interactions=("ab",), hash_bits=0)["names"]
    assert names == ["a^x", "a^y", "b^u", "b^v", "c^w", "a^x*b^u", "a^x*b^v", "a^y*b^u", "a^y*b^v"]


def test_names_are_read_without_hashing(tmp_path: Path) -> None:
    path = tmp_path / "data.vw"
    path.write_text("1 |a x y:2 x |b x\n-1 | x x=1:3 city:paris |a y\n")
    got = read_files(path, hash_bits=0)
    assert got["names"] == ["a^x", "a^y", "b^x", "x", "x=1", "city=paris"]
    assert [to_terms(r) for r in got["rows"]] == [{0: 2.0, 1: 2.0, 2: 1.0}, {3: 1.0, 4: 3.0, 5: 1.0, 1: 1.0}]
    for block in range(64, 100):
        for threads in (1, 3):
            assert read_files(path, hash_bits=0, block=block, threads=threads) == got


def test_vw_files_are_learned_predicted_and_inspected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, model = tmp_path / "train.vw", tmp_path / "m.model"
    data.write_text("1 |w win money\n-1 |w see you\n" * 20)
    assert main(["learn", str(data), "--save", str(model), "--quiet", "--keep-names", "--json"]) == 0
    assert '"slots": 262144' in capsys.readouterr().out
    assert main(["inspect", str(model), "--top", "3"]) == 0
    assert "w^" in capsys.readouterr().out
    new = tmp_path / "new.vw"
    new.write_text("|w money now\n|w you\n")
    assert main(["predict", str(model), str(new), "--quiet"]) == 0
    assert capsys.readouterr().out == "1\n-1\n"
    assert main(["learn", str(new), "--resume", str(model), "--quiet"]) == 2
    assert f"{new}:1: there is no label" in capsys.readouterr().err
