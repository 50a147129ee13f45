"""Labelled text: the compiled reader against a naive twin on strings, cut anywhere, with bad lines, from end to end."""

from __future__ import annotations

import json
import math
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novikoff._compiled.jit import JIT_DISABLED
from novikoff._compiled.simd.byte_scan import PADDING_BYTES, fold_multiply
from novikoff.cli.main import main
from novikoff.data.formats.base import Format, ParsedBlock
from novikoff.data.formats.ngrams import lower_two_byte
from novikoff.data.formats.text import Text
from novikoff.data.names.hashing import K0, K1, hash_name
from novikoff.data.reader import DataReader, ReadOptions
from novikoff.data.text_source import TextBlock
from novikoff.errors import InputError

FOLDER = Path(os.environ.get("NOVIKOFF_DATA", Path(__file__).parents[2] / "shared" / "data"))
EXAMPLES = 30 if JIT_DISABLED else 200
WORD = re.compile("[0-9A-Za-z_\u0080-\U0010ffff]+(?:'[0-9A-Za-z_\u0080-\U0010ffff]+)*")
Row = list[tuple[int, float]]

# --- The twin ---


def lower(text: str) -> str:
    def one(c: str) -> str:
        small = c.lower()
        return small if len(small) == 1 and len(small.encode()) == len(c.encode()) <= 2 else c

    return "".join(map(one, text))


def names(text: str, fmt: Any, seed: int) -> Iterator[tuple[str, int]]:
    """Every name in a text and its hash, as often as it comes."""
    text = lower(text) if fmt.lowercase else text
    found = WORD.findall(text)
    for k in range(len(found)):
        for n in range(1, min(fmt.word_ngrams, k + 1) + 1):
            run = found[k + 1 - n : k + 1]
            h = hash_name(run[0].encode(), seed)
            for word in run[1:]:
                h = fold_multiply(h ^ K0, hash_name(word.encode(), seed) ^ K1)
            yield " ".join(run), h
    if fmt.char_ngrams:
        flat = re.sub("[\x00-\x20]+", " ", text).strip(" ")
        for k in range(len(flat) - fmt.char_ngrams + 1):
            run = flat[k : k + fmt.char_ngrams]
            yield f'"{run}"', hash_name(run.encode(), hash_name(b"\x01letters", seed))


def bag(text: str, fmt: Any, seed: int = 0) -> dict[int, float]:
    """What each name is worth, by its hash."""
    counts: dict[int, int] = {}
    for _, h in names(text, fmt, seed):
        counts[h] = counts.get(h, 0) + 1
    length = math.sqrt(sum(n * n for n in counts.values()))
    worth = {"count": float, "binary": lambda _: 1.0, "log": lambda n: 1.0 + math.log(n), "unit": lambda n: n / length}
    return {h: worth[fmt.term_weighting](n) for h, n in counts.items()}


def in_slots(terms: list[tuple[int, float]], fmt: Any) -> Row:
    """Slots in the order in which they came, values in single precision; what is 0 is left out."""
    row: dict[int, Any] = {}
    for h, value in terms:
        slot = h & ((1 << fmt.hash_bits) - 1)
        signed = -value if fmt.signed_hash and h >> 63 else value
        row[slot] = np.float32(row[slot] + np.float32(signed)) if slot in row else np.float32(signed)
    return [(slot, float(value)) for slot, value in row.items() if value != 0.0]


# --- The reader ---


def in_block(data: bytes, fmt: Format, named: bool = False) -> tuple[TextBlock, ParsedBlock]:
    """A text as one block, read."""
    block = TextBlock(len(data) + 1)
    block.text[PADDING_BYTES : PADDING_BYTES + len(data)] = np.frombuffer(data, np.uint8)
    block.text[PADDING_BYTES + len(data)] = 10
    block.stop = PADDING_BYTES + len(data) + (not data.endswith(b"\n"))
    return block, fmt.parser(named=named).parse(block)


def rows_of(parsed: ParsedBlock) -> list[Row]:
    starts, indices, values = parsed.rows.starts, parsed.rows.indices, parsed.rows.values
    return [
        list(zip(indices[a:b].tolist(), values[a:b].tolist(), strict=True))
        for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    ]


def read(path: Path, **options: Any) -> tuple[list[Any], DataReader]:
    """All examples of a file: label, terms, place."""
    reading = DataReader([str(path)], ReadOptions(**options))
    found: list[Any] = []
    for batch in reading.batches():
        parsed = batch.parsed._replace(rows=batch.rows)
        found += [(parsed.label(i), row, batch.where(i)) for i, row in enumerate(rows_of(parsed))]
    return found, reading


# --- Tests ---

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
def test_rows_are_those_of_the_twin(fmt: Text, lines: list[str]) -> None:
    lines = [f"x{line}" for line in lines]
    _, parsed = in_block("".join(f"1\t{line}\n" for line in lines).encode(), fmt)
    assert not parsed.problems
    assert rows_of(parsed) == [in_slots(list(bag(line, fmt).items()), fmt) for line in lines]


def test_long_texts_are_those_of_the_twin() -> None:
    """Words across the borders of 64 bytes, rows of thousands of terms."""
    source = random.Random(1)
    alphabet = "abcdefgABCDEFG' éÉ,._жЖ"
    for size in (60, 64, 65, 127, 128, 129, 500, 300 if JIT_DISABLED else 30_000):
        text = "x" + "".join(source.choices(alphabet, k=size))
        for fmt in FORMATS:
            _, parsed = in_block(f"1\t{text}\n".encode(), fmt)
            assert rows_of(parsed) == [in_slots(list(bag(text, fmt).items()), fmt)]


def test_lower_case_is_the_same_for_ever() -> None:
    """Models are made with it: a newer table of characters must not change it."""
    changed = {c: lower_two_byte(c) for c in range(0x80, 0x800) if lower_two_byte(c) != c}
    assert len(changed) == 440
    assert f"{hash_name(json.dumps(changed).encode()):016x}" == "a30fa01c22ae3855"


def test_any_bytes_are_text() -> None:
    """Latin-1 and damaged UTF-8 are letters, byte by byte."""
    fmt = Text(term_weighting="count")
    for text, words in {
        b"caf\xe9 CAF\xe9": [b"caf\xe9", b"caf\xe9"],
        b"\xc3 \xc3\x89x \xc3\xc3\x89": [b"\xc3", b"\xc3\xa9x", b"\xc3\xc3\xa9"],
        b"\x80\xff.\xc3": [b"\x80\xff", b"\xc3"],
        b"\xe2\x82 A\xf0\x9f": [b"\xe2\x82", b"a\xf0\x9f"],
    }.items():
        _, parsed = in_block(b"1\t" + text + b"\n", fmt)
        assert not parsed.problems
        counts: dict[int, float] = {}
        for word in words:
            counts[hash_name(word)] = counts.get(hash_name(word), 0) + 1
        assert rows_of(parsed) == [in_slots(list(counts.items()), fmt)]


@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.binary(max_size=300))
def test_any_bytes_do_no_harm(data: bytes) -> None:
    for fmt in (Text(word_ngrams=3, char_ngrams=4), Text("blank")):
        _, parsed = in_block(b"1\tx " + data, fmt)
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
def test_cut_anywhere(tmp_path: Path, threads: int) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(SPLIT)
    options = {"format": "text", "word_ngrams": 2, "char_ngrams": 3}
    whole, _ = read(path, threads=1, **options)
    assert [label for label, _, _ in whole] == ["spam", "ham", "ham", "ham", "spam"]
    assert [place.rpartition(":")[2] for _, _, place in whole] == ["1", "3", "5", "6", "7"]
    for block in [*range(64, 80 if JIT_DISABLED else 200), 500, 1000, 2000]:
        assert read(path, threads=threads, block=block, **options)[0] == whole
    path.write_bytes(SPLIT.replace(b"\r\n", b"\n").removeprefix(b"\xef\xbb\xbf") + b"\n")
    assert read(path, threads=threads, **options)[0] == whole


def test_labels_before_a_blank(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"DESC:manner How did serfdom develop\n LOC:city  Which\tcity \n")
    found, reading = read(path, format="text", term_weighting="count")
    assert reading.format == Text("blank", term_weighting="count")
    assert [label for label, _, _ in found] == ["DESC:manner", "LOC:city"]
    assert [len(row) for _, row, _ in found] == [4, 2]
    path.write_bytes(b"__label__1 one\ttwo\n__label__-1 three\n")
    assert [label for label, _, _ in read(path, format="text")[0]] == [1, -1]


BAD = {
    b"\tno label": "no label",
    b"   \tno label": "no label",
    b"no tab at all": "no text",
    b"label\t": "no text",
    b"label\t  \r": "no text",
}


@pytest.mark.parametrize("line", BAD)
def test_bad_lines(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(b"a\tgood\n\n" + line + b"\nb\tgood too\n")
    with pytest.raises(InputError, match=r"bad\.txt:3: expected a label, a tab and a text, but") as problem:
        read(path, format="text")
    assert line.strip().decode() in str(problem.value) or line.startswith(b" ")
    found, reading = read(path, format="text", bad_lines="skip")
    assert [place.rpartition(":")[2] for _, _, place in found] == ["1", "4"]
    assert reading.bad == {BAD[line]: 1}


def test_bad_lines_before_a_blank(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(b"__label__a good\n__label__a __label__b text\n__label__ text\nalone\n")
    _, reading = read(path, format="text", bad_lines="skip")
    assert reading.bad == {"several labels": 1, "no label": 1, "no text": 1}
    with pytest.raises(InputError, match=r"bad\.txt:2: there must be one label, but a second one came: '__label__b'"):
        read(path, format="text")


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
        read(path, format="text", **options)


def test_names_tell_what_their_hashes_are(tmp_path: Path) -> None:
    fmt = Text(word_ngrams=2, char_ngrams=3, hash_bits=0)
    text = "Don't  PANIC, don't\tpanic: Été 日本"
    block, parsed = in_block(f"x\t{text}\n".encode(), fmt)
    expected = {h: name for name, h in names(text, fmt, 0)}
    assert parsed.hashes[: parsed.rows.starts[-1]].tolist() == list(expected)
    shown = [fmt.feature_name(block, span) for span in parsed.spans[: parsed.rows.starts[-1]]]
    assert shown == list(expected.values())
    block, parsed = in_block(b"x\tcaf\xe9\n", fmt)
    assert fmt.feature_name(block, parsed.spans[0]) == "caf\\xe9"


def test_a_dictionary_and_slots_are_worth_the_same(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(SPLIT)
    options = {"format": "text", "word_ngrams": 3, "char_ngrams": 2}
    hashed_rows, kept = read(path, hash_bits=24, keep_names=1, **options)
    by_name, reading = read(path, hash_bits=0, **options)
    assert reading.names is not None
    columns = list(reading.names.columns)
    for (_, slots, _), (_, row, _) in zip(hashed_rows, by_name, strict=True):
        assert [(kept.kept[slot], value) for slot, value in slots] == [(columns[k], value) for k, value in row]


def test_a_long_line_takes_no_longer(tmp_path: Path) -> None:
    """Each term of a row of 200,000 is found as fast as one of ten."""
    count = 2_000 if JIT_DISABLED else 200_000
    path = tmp_path / "x"
    path.write_text("a\t" + " ".join(map(str, range(count))) + " 0 1\n")
    found, _ = read(path, format="text", term_weighting="count", hash_bits=31)
    assert sum(value for _, value in found[0][1]) == count + 2


def model_file(folder: Path, name: str, *arguments: str) -> bytes:
    path = folder / name
    assert main(["learn", *arguments, "--save", str(path), "--quiet"]) == 0
    return path.read_bytes()


def test_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_text("spam\tWin cash now\nham\tsee you at home\nspam\tcash prize\n")
    b.write_text("ham\thome now\nspam\twin a prize\n")
    for options in (
        ["--hash-bits", "0"],
        ["--word-ngrams", "2", "--char-ngrams", "3", "--signed-hash", "--keep-names"],
    ):
        both_at_once = model_file(tmp_path, "ab", str(a), str(b), "--format", "text", *options)
        model_file(tmp_path, "a.model", str(a), "--format", "text", *options)
        kept = [option for option in options if option == "--keep-names"]
        assert model_file(tmp_path, "b.model", str(b), "--resume", str(tmp_path / "a.model"), *kept) == both_at_once
    model_file(
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


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the data sets are not here: set NOVIKOFF_DATA")
def test_real_texts() -> None:
    found, reading = read(FOLDER / "sms_spam.tsv.gz", format="text", word_ngrams=2, bad_lines="skip")
    assert len(found) == 5574
    assert {label for label, _, _ in found} == {"ham", "spam"}
    assert not reading.bad
    found, reading = read(FOLDER / "trec_questions.train.txt.gz", format="text", char_ngrams=3, bad_lines="skip")
    assert len(found) == 5452
    assert len({str(label).partition(":")[0] for label, _, _ in found}) == 6
    assert not reading.bad
