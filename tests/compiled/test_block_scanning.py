"""The block scanners, which read 64 bytes or a word of 8 bytes at once, equal their bytewise definitions.

Both run as Python on the same texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from novikoff._compiled.jit import CompiledFunction, PythonFunction
from novikoff._compiled.simd.byte_scan import (
    PADDING_BYTES,
    fold_multiply,
    load_word,
    lowest_bit,
    mask_at_most,
    mask_equal,
)
from novikoff.data import cache, delimiters
from novikoff.data.feature_maps import products
from novikoff.data.formats import csv_tokenizer, ngrams
from novikoff.data.formats.json import strings
from novikoff.data.names import dictionary, hashing

WORDS = st.integers(0, 2**64 - 1)


def wrap_words(function: Callable[..., int]) -> Callable[..., Any]:
    """Wrap results to words of 64 bits, as machine code does."""
    return lambda *arguments: np.uint64(function(*arguments))


PRIMITIVES: dict[Any, Callable[..., Any]] = {
    f: wrap_words(f) for f in (mask_at_most, mask_equal, load_word, fold_multiply)
}
PRIMITIVES |= {lowest_bit: lambda mask: lowest_bit(int(mask))}


@pytest.fixture(autouse=True, scope="module")
def as_python() -> Iterator[None]:
    """Run all parts as Python, on words of 64 bits that wrap around without a warning."""
    with pytest.MonkeyPatch.context() as patch, np.errstate(over="ignore"):
        for module in (cache, dictionary, hashing, delimiters, strings, csv_tokenizer, ngrams):
            for name, value in list(vars(module).items()):
                if isinstance(value, CompiledFunction | PythonFunction):
                    patch.setattr(module, name, value.function)
                elif isinstance(value, FunctionType) and value in PRIMITIVES:
                    patch.setattr(module, name, PRIMITIVES[value])
        yield


def texts(letters: bytes, most: int = 200) -> st.SearchStrategy[bytes]:
    """Yield texts of mostly significant bytes, long enough for several blocks."""
    return st.lists(st.sampled_from(letters), max_size=most).map(bytes)


def pad(text: bytes) -> Any:
    return np.frombuffer(bytes(PADDING_BYTES) + text + bytes(2 * PADDING_BYTES), np.uint8).copy()


def room(text: bytes) -> list[Any]:
    """Return arrays for marks, ends, lines and places, filled with a value that no function writes."""
    size = len(text) + 2 * PADDING_BYTES
    return [np.zeros(size, np.uint32), np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)]


@given(texts(b"12: \t#|\nab") | texts(b"12: \n"), st.sampled_from(b"#|"))
def test_terms_of_svmlight_and_vw_match_the_bytewise_scan(text: bytes, special: int) -> None:
    text += b"\n"
    stop = PADDING_BYTES + len(text)
    looked, meant = room(text), room(text)
    found = delimiters._find_terms(pad(text), stop, special, *looked[:3])
    assert found == delimiters._plain_find_terms(pad(text), stop, special, *meant[:3])
    count, has_low_bytes = found
    assert (count, has_low_bytes) == (text.count(b"\n"), b"\t" in text)
    marks = int(meant[1][count - 1]) + delimiters.EXTRA_MARKS
    assert looked[0][:marks].tolist() == meant[0][:marks].tolist()
    for ours, theirs in zip(looked[1:3], meant[1:3], strict=True):
        assert ours[:count].tolist() == theirs[:count].tolist()


@given(texts(b'",;\n\rab"'), st.sampled_from(b",;"))
def test_cells_of_tables_match_the_bytewise_scan(text: bytes, delimiter: int) -> None:
    text += b"\n"
    start, stop = PADDING_BYTES, PADDING_BYTES + len(text)
    looked, meant = room(text), room(text)
    found = csv_tokenizer._find_cells(pad(text), start, stop, delimiter, csv_tokenizer.QUOTE, *looked)
    assert found == csv_tokenizer._plain_find_cells(pad(text), start, stop, delimiter, csv_tokenizer.QUOTE, *meant)
    count, odd, _, _ = found
    marks = int(meant[1][count - 1]) + 8
    assert looked[0][:marks].tolist() == meant[0][:marks].tolist()
    assert looked[1][:count].tolist() == meant[1][:count].tolist()
    assert looked[2][:count].tolist() == meant[2][:count].tolist()
    assert looked[3][:odd].tolist() == meant[3][:odd].tolist()
    ends = [
        function(pad(text), start, stop, delimiter, csv_tokenizer.QUOTE, csv_tokenizer.NO_STRAYS)
        for function in (csv_tokenizer._find_last_record_end, csv_tokenizer._plain_find_last_record_end)
    ]
    assert ends[0] == ends[1]


@given(texts("aZ_9'' .é".encode()))
def test_words_of_texts_match_the_bytewise_scan(text: bytes) -> None:
    looked, meant = room(text)[0], room(text)[0]
    count = ngrams._find_words(pad(text), PADDING_BYTES, PADDING_BYTES + len(text), looked)
    assert count == ngrams._plain_find_words(pad(text), PADDING_BYTES, PADDING_BYTES + len(text), meant)
    assert looked[:count].tolist() == meant[:count].tolist()


@given(texts("abcdefgé".encode()), st.sampled_from([b'"', b"\\", b"\n", b"\x1f"]))
def test_ends_of_strings_match_the_bytewise_scan(text: bytes, end: bytes) -> None:
    both = [find(pad(text + end), PADDING_BYTES) for find in (strings._find_string_end, strings._plain_find_string_end)]
    assert both[0] == both[1] == (PADDING_BYTES + len(text), any(byte >= 128 for byte in text))


@given(st.binary(max_size=70), WORDS)
def test_hashes_of_names_match_the_bytewise_hash(name: bytes, seed: int) -> None:
    found = hashing._hash_bytes(pad(name), PADDING_BYTES, PADDING_BYTES + len(name), np.uint64(seed))
    assert int(found) == hashing._plain_hash_bytes(pad(name), PADDING_BYTES, PADDING_BYTES + len(name), seed)


@given(WORDS, WORDS, st.integers(0, 31))
def test_slots_of_hashes_match_the_reference(a: int, b: int, bits: int) -> None:
    left, mask = np.uint64(a), (1 << bits) - 1
    assert int(hashing._combine_hashes(left, np.uint64(b))) == hashing._plain_combine_hashes(a, b)
    assert int(hashing._hash_to_slot(left, mask)) == hashing._plain_hash_to_slot(a, mask)
    assert bool(hashing._is_negative(left)) == hashing._plain_is_negative(a)
    assert int(dictionary._probe_start(left, mask + 1)) == dictionary._plain_probe_start(a, mask + 1)
    assert int(products._to_uint64(a)) == products._plain_to_uint64(a)


@given(st.binary(max_size=256))
def test_checksums_match_the_reference(content: bytes) -> None:
    content += bytes(-len(content) % 64)
    found = [function(np.frombuffer(content, np.uint8)) for function in (cache._checksum, cache._plain_checksum)]
    assert int(found[0]) == int(found[1])
