"""Labelled text: the compiled parser equals a plain reference, for any block size, with bad lines, end to end."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novikoff._compiled.jit import JIT_DISABLED
from novikoff.cli.main import main
from novikoff.data.formats.ngrams import lower_two_byte
from novikoff.data.formats.text import Text
from novikoff.data.names.hashing import hash_name
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

EXAMPLES = 30 if JIT_DISABLED else 200


FORMATS = [
    Text(term_weighting="unit"),
    Text(word_ngrams=2, term_weighting="count"),
    Text(word_ngrams=4, char_ngrams=3, term_weighting="log", hash_bits=6),
    Text(char_ngrams=1, term_weighting="binary", lowercase=False, signed_hash=True, hash_bits=5),
]
PIECES = [
    "Don't",
    "DON'T",
    "'",
    "''a",
    "a'b'c",
    "Été",
    "ΣΟΦΊΑ",
    "Жук",
    "İ",
    "ß",
    "日本",
    "😀",
    "  ",
    "\t",
    "_x9",
    "...",
]
CHARACTERS = st.characters(codec="utf-8", exclude_characters="\n\0")
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(alphabet=CHARACTERS, max_size=70))


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
@settings(max_examples=EXAMPLES, deadline=None)
@given(lines=st.lists(TEXTS.map(" ".join), min_size=1, max_size=5))
def test_rows_equal_those_of_the_reference(fmt: Text, lines: list[str]) -> None:
    lines = [f"x{line}" for line in lines]
    _, parsed = parse_block("".join(f"1\t{line}\n" for line in lines).encode(), fmt)
    assert not parsed.problems
    assert list_rows(parsed) == [to_slots(list(weigh_names(line, fmt).items()), fmt) for line in lines]


def test_long_texts_equal_those_of_the_reference() -> None:
    """Words cross 64-byte boundaries, and rows have thousands of terms."""
    source = random.Random(1)
    alphabet = "abcdefgABCDEFG' éÉ,._жЖ"
    for size in (60, 64, 65, 127, 128, 129, 500, 300 if JIT_DISABLED else 30_000):
        text = "x" + "".join(source.choices(alphabet, k=size))
        for fmt in FORMATS:
            _, parsed = parse_block(f"1\t{text}\n".encode(), fmt)
            assert list_rows(parsed) == [to_slots(list(weigh_names(text, fmt).items()), fmt)]


def test_lower_case_does_not_depend_on_the_python_version() -> None:
    """Models depend on the case table: a newer Unicode version must not change it."""
    changed = {c: lower_two_byte(c) for c in range(0x80, 0x800) if lower_two_byte(c) != c}
    assert len(changed) == 440
    assert f"{hash_name(json.dumps(changed).encode()):016x}" == "a30fa01c22ae3855"


def test_arbitrary_bytes_are_text() -> None:
    """Latin-1 and damaged UTF-8 count as letters, byte by byte."""
    fmt = Text(term_weighting="count")
    for text, words in {
        b"caf\xe9 CAF\xe9": [b"caf\xe9", b"caf\xe9"],
        b"\xc3 \xc3\x89x \xc3\xc3\x89": [b"\xc3", b"\xc3\xa9x", b"\xc3\xc3\xa9"],
        b"\x80\xff.\xc3": [b"\x80\xff", b"\xc3"],
        b"\xe2\x82 A\xf0\x9f": [b"\xe2\x82", b"a\xf0\x9f"],
    }.items():
        _, parsed = parse_block(b"1\t" + text + b"\n", fmt)
        assert not parsed.problems
        counts: dict[int, float] = {}
        for word in words:
            counts[hash_name(word)] = counts.get(hash_name(word), 0) + 1
        assert list_rows(parsed) == [to_slots(list(counts.items()), fmt)]


@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.binary(max_size=300))
def test_arbitrary_bytes_do_not_crash(data: bytes) -> None:
    for fmt in (Text(word_ngrams=3, char_ngrams=4), Text("blank")):
        _, parsed = parse_block(b"1\tx " + data, fmt)
        assert 1 <= len(parsed.keys) + len(parsed.problems) <= parsed.lines


SPLIT = (
    "\ufeffspam\tWin £1000 now!! CALL ’now’ 日本語 😀\r\n"
    "\n"
    "ham\tOk lar... Joking wif u oni\r\n"
    "   \n"
    "ham\t:-)\n"
    f"ham\t{'Ünïcödé wörds ' * 30}\n"
    "spam\tno newline after the last é"
).encode()


@pytest.mark.parametrize("threads", [1, 3])
def test_block_boundaries_do_not_change_rows(tmp_path: Path, threads: int) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(SPLIT)
    options = {"format": "text", "word_ngrams": 2, "char_ngrams": 3}
    whole, _ = read_texts(path, threads=1, **options)
    assert [label for label, _, _ in whole] == ["spam", "ham", "ham", "ham", "spam"]
    assert [place.rpartition(":")[2] for _, _, place in whole] == ["1", "3", "5", "6", "7"]
    for block in [*range(64, 80 if JIT_DISABLED else 200), 500, 1000, 2000]:
        assert read_texts(path, threads=threads, block=block, **options)[0] == whole
    path.write_bytes(SPLIT.replace(b"\r\n", b"\n").removeprefix(b"\xef\xbb\xbf") + b"\n")
    assert read_texts(path, threads=threads, **options)[0] == whole


def test_labels_may_be_separated_by_a_blank(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"DESC:manner How did serfdom develop\n LOC:city  Which\tcity \n")
    found, reading = read_texts(path, format="text", term_weighting="count")
    assert reading.format == Text("blank", term_weighting="count")
    assert [label for label, _, _ in found] == ["DESC:manner", "LOC:city"]
    assert [len(row) for _, row, _ in found] == [4, 2]
    path.write_bytes(b"__label__1 one\ttwo\n__label__-1 three\n")
    assert [label for label, _, _ in read_texts(path, format="text")[0]] == [1, -1]


BAD = {
    b"\tno label": "no label",
    b"   \tno label": "no label",
    b"no tab at all": "no text",
    b"label\t": "no text",
    b"label\t  \r": "no text",
}


@pytest.mark.parametrize("line", BAD)
def test_bad_lines_are_reported(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(b"a\tgood\n\n" + line + b"\nb\tgood too\n")
    with pytest.raises(InputError, match=r"bad\.txt:3: expected a label, a tab and a text, but") as problem:
        read_texts(path, format="text")
    assert line.strip().decode() in str(problem.value) or line.startswith(b" ")
    found, reading = read_texts(path, format="text", bad_lines="skip")
    assert [place.rpartition(":")[2] for _, _, place in found] == ["1", "4"]
    assert reading.bad == {BAD[line]: 1}


def test_bad_lines_with_a_blank_separator_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(b"__label__a good\n__label__a __label__b text\n__label__ text\nalone\n")
    _, reading = read_texts(path, format="text", bad_lines="skip")
    assert reading.bad == {"several labels": 1, "no label": 1, "no text": 1}
    with pytest.raises(InputError, match=r"bad\.txt:2: expected one label, got a second one: '__label__b'"):
        read_texts(path, format="text")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"word_ngrams": 9}, "--word-ngrams must be from 1 to 8, but is 9"),
        ({"char_ngrams": 17}, "--char-ngrams must be from 1 to 16, but is 17"),
        ({"term_weighting": "idf"}, "--term-weighting must be one of count, binary, log, unit"),
        ({"label": "x"}, "--label has no meaning for text"),
        ({"header": True}, "--header has no meaning for text"),
    ],
)
def test_options_are_checked(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a\tb c\n")
    with pytest.raises(InputError, match=message):
        read_texts(path, format="text", **options)


def test_stored_names_match_their_hashes(tmp_path: Path) -> None:
    fmt = Text(word_ngrams=2, char_ngrams=3, hash_bits=0)
    text = "Don't  PANIC, don't\tpanic: Été 日本"
    block, parsed = parse_block(f"x\t{text}\n".encode(), fmt)
    expected = {h: name for name, h in iter_names(text, fmt, 0)}
    assert parsed.hashes[: parsed.rows.starts[-1]].tolist() == list(expected)
    shown = [fmt.feature_name(block, span) for span in parsed.spans[: parsed.rows.starts[-1]]]
    assert shown == list(expected.values())
    block, parsed = parse_block(b"x\tcaf\xe9\n", fmt)
    assert fmt.feature_name(block, parsed.spans[0]) == "caf\\xe9"


def test_dictionary_and_hashing_give_the_same_scores(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(SPLIT)
    options = {"format": "text", "word_ngrams": 3, "char_ngrams": 2}
    hashed_rows, kept = read_texts(path, hash_bits=24, keep_names=1, **options)
    by_name, reading = read_texts(path, hash_bits=0, **options)
    assert reading.names is not None
    columns = list(reading.names.columns)
    for (_, slots, _), (_, row, _) in zip(hashed_rows, by_name, strict=True):
        assert [(kept.kept[slot], value) for slot, value in slots] == [(columns[k], value) for k, value in row]


def test_very_long_lines_are_read(tmp_path: Path) -> None:
    """Looking up a term in a row of 200,000 is as fast as in a row of ten."""
    count = 2_000 if JIT_DISABLED else 200_000
    path = tmp_path / "x"
    path.write_text("a\t" + " ".join(map(str, range(count))) + " 0 1\n")
    found, _ = read_texts(path, format="text", term_weighting="count", hash_bits=31)
    assert sum(value for _, value in found[0][1]) == count + 2


def test_texts_work_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_text("spam\tWin cash now\nham\tsee you at home\nspam\tcash prize\n")
    b.write_text("ham\thome now\nspam\twin a prize\n")
    for options in (
        ["--hash-bits", "0"],
        ["--word-ngrams", "2", "--char-ngrams", "3", "--signed-hash", "--keep-names"],
    ):
        both_at_once = learn_model_bytes(tmp_path, "ab", str(a), str(b), "--format", "text", *options)
        learn_model_bytes(tmp_path, "a.model", str(a), "--format", "text", *options)
        kept = [option for option in options if option == "--keep-names"]
        assert (
            learn_model_bytes(tmp_path, "b.model", str(b), "--resume", str(tmp_path / "a.model"), *kept) == both_at_once
        )
    learn_model_bytes(
        tmp_path, "m", str(a), str(b), "--format", "text", "--word-ngrams", "2", "--hash-bits", "0", "--passes", "5"
    )
    capsys.readouterr()
    assert main(["inspect", str(tmp_path / "m"), "--json"]) == 0
    shown = {weight["feature"] for weight in json.loads(capsys.readouterr().out)["weights"]}
    assert {"cash", "home", "see you"} <= shown
    assert main(["predict", str(tmp_path / "m"), str(a), "--quiet"]) == 0
    assert capsys.readouterr().out.split() == ["spam", "ham", "spam"]
    assert main(["predict", str(tmp_path / "m"), str(a), "--word-ngrams", "3"]) == 2
    assert "leave out --word-ngrams" in capsys.readouterr().err


@pytest.mark.skipif(not DATA_FOLDER.is_dir(), reason="the data sets are not here: set NOVIKOFF_DATA")
def test_real_texts_are_read() -> None:
    found, reading = read_texts(DATA_FOLDER / "sms_spam.tsv.gz", format="text", word_ngrams=2, bad_lines="skip")
    assert len(found) == 5574
    assert {label for label, _, _ in found} == {"ham", "spam"}
    assert not reading.bad
    found, reading = read_texts(
        DATA_FOLDER / "trec_questions.train.txt.gz", format="text", char_ngrams=3, bad_lines="skip"
    )
    assert len(found) == 5452
    assert len({str(label).partition(":")[0] for label, _, _ in found}) == 6
    assert not reading.bad
