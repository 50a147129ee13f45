"""Compiled parsing of eight numbers and masks of 64 bytes at once equals the Python definitions, on this machine and as
if it had no vector instructions.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from novikoff._compiled.jit import JIT_DISABLED, compiled
from novikoff._compiled.simd import byte_scan
from novikoff._compiled.simd.byte_scan import (
    LANES,
    PADDING_BYTES,
    SPARE_MARKS,
    eight_cells,
    eight_terms,
    write_bit_positions,
)

SURE = 15  # characters that are read at once on every machine, sign included

ODD = ["0", "-0", "0.0", ".5", "5.", "-", ".", "", "-.", "1.2.3", "..", "1..2", "1-2", "--1", "+1", "1e5", "/", ":"]
numbers = st.one_of(
    st.decimals(-(10**7), 10**7, allow_nan=False, places=6).map(str),
    st.integers(-(10**9), 10**9).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.text("0123456789", min_size=1, max_size=17),
    st.from_regex(r"-?[0-9]{0,8}\.[0-9]{0,9}", fullmatch=True),
    st.sampled_from(ODD),
)
names = st.one_of(
    st.integers(0, 10**8).map(str), st.sampled_from(["", "-1", "a", "1a", "0", "007", "12345678", "qid", "/"])
)
separators, blanks = st.sampled_from(":::::::: ;"), st.sampled_from(" \n\t,")
masks = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**63, 2**64 - 1, 2**16 - 1, 2**17 - 1]))


@compiled
def terms(text: Any, marks: Any, k: int, before: int, indices: Any, values: Any, at: int) -> Any:
    return eight_terms(text, marks, k, before, indices, values, at)


@compiled
def cells(text: Any, marks: Any, k: int, values: Any, at: int) -> Any:
    return eight_cells(text, marks, k, values, at)


@compiled
def write_positions(marks: Any, at: int, base: int, mask: Any) -> int:
    return write_bit_positions(marks, at, base, mask)


def pad(text: str) -> Any:
    """Pad the text with bytes that would change the result if they were read."""
    return np.frombuffer(b"7" * PADDING_BYTES + text.encode() + b"7" * PADDING_BYTES, np.uint8)


@given(
    st.lists(st.tuples(names, separators, numbers, blanks), min_size=8, max_size=8),
    st.booleans(),
    st.integers(-1, 5),
)
@example([("12", ":", "0.5", " ")] * 8, True, -1)
@example([("1234567", ":", "-0.123456789012", " ")] * 8, True, -1)  # as long as plain terms are
@example([("1", ":", "1" + "0" * 300, " ")] + [("2", ":", "1", " ")] * 7, True, -1)  # lengths that don't fit a byte
@example([("1", ":", "1", " ")] * 4 + [("2", ":", "1" + "0" * 255, " ")] + [("3", ":", "1", " ")] * 3, True, -1)
def test_eight_terms_match_the_scalar_code(parts: list[tuple[str, str, str, str]], growing: bool, before: int) -> None:
    if growing:
        parts = [(str(int(n) % 10 + 10 * k) if n.isdigit() else n, c, v, b) for k, (n, c, v, b) in enumerate(parts, 1)]
    text, places = "+1 ", [PADDING_BYTES + 2]
    for name, colon, value, blank in parts:
        text += name + colon
        places.append(PADDING_BYTES + len(text) - 1)
        text += value + blank
        places.append(PADDING_BYTES + len(text) - 1)
    marks = np.array(places + [PADDING_BYTES + len(text)] * 24, np.uint32)
    found: list[Any] = []
    for read in (terms, byte_scan._eight_terms):
        indices, values = np.zeros(8, np.uint32), np.zeros(8, np.float32)
        flags, last = read(pad(text), marks, 1, before, indices, values, 0)
        found.append((int(flags), int(last), indices, values))
    (flags, last, indices, values), (meant, last_meant, indices_meant, values_meant) = found
    for i, (name, _, value, _) in enumerate(parts):
        refused, must = flags >> i & 1, meant >> i & 1
        if i > 0 and flags >> (i - 1) & 1:  # what comes after an index that can't be read may be said to fall
            assert refused >= must or not name.isdigit() or int(name) <= 10**7
            continue
        assert refused >= must, (name, value)
        if not must and len(value) <= SURE:
            assert not refused, (name, value)
        if not refused:
            assert indices[i] == indices_meant[i] == int(name)
            assert values[i].tobytes() == values_meant[i].tobytes() == np.float32(float(value)).tobytes()
            assert flags >> (8 + i) & 1 == (float(value) == 0.0)
    if not flags & 255:
        assert last == last_meant == int(parts[-1][0])


@given(st.lists(numbers, min_size=LANES, max_size=LANES))
@example(["1" + "0" * 300] + ["1"] * 7)
@example(["-12345678901.25"] * 8)
def test_eight_cells_match_the_scalar_code(parts: list[str]) -> None:
    text, places = "", [PADDING_BYTES - 1]
    for part in parts:
        text += part + ","
        places.append(PADDING_BYTES + len(text) - 1)
    marks = np.array(places + [PADDING_BYTES + len(text)] * 24, np.uint32)
    found, meant = np.zeros(8), np.zeros(8)
    flags = int(cells(pad(text), marks, 1, found, 0))
    must = int(byte_scan._eight_cells(pad(text), marks, 1, meant, 0))
    for i, part in enumerate(parts):
        assert flags >> i & 1 >= must >> i & 1, part
        if not must >> i & 1 and len(part) <= SURE and len(text) <= PADDING_BYTES:
            assert not flags >> i & 1, part
        if not flags >> i & 1:
            assert found[i].tobytes() == meant[i].tobytes() == np.float64(float(part)).tobytes()


@given(masks, st.integers(0, 9))
def test_spread_writes_the_positions_of_set_bits(mask: int, at: int) -> None:
    found, meant = (np.full(at + 64 + SPARE_MARKS, 7, np.uint32) for _ in range(2))
    after = int(write_positions(found, at, 1000, np.uint64(mask)))
    assert after == byte_scan._spread(meant, at, 1000, mask) == at + mask.bit_count()
    assert found[:after].tolist() == meant[:after].tolist()
    assert (found[after + SPARE_MARKS :] == 7).all()


@pytest.mark.skipif(JIT_DISABLED or "NUMBA_CPU_NAME" in os.environ, reason="this is the run as if on another machine")
def test_a_machine_without_simd_gives_the_same_results() -> None:
    environment = {**os.environ, "NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": ""}
    columns = f"{Path(__file__).parent / 'test_column_sums.py'}::test_sums_of_all_columns_equal_those_of_single_columns"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", __file__, columns]
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "5 passed, 1 skipped" in done.stdout
