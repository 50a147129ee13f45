"""The hash of names: fixed forever, the same in every implementation, and evenly distributed."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from novikoff._compiled.jit import JIT_DISABLED, compiled
from novikoff._compiled.simd.byte_scan import PADDING_BYTES
from novikoff.data.merge_terms import HashedTerms, allocate_terms, append_term, finish_row
from novikoff.data.names.dictionary import NameTable
from novikoff.data.names.hashing import combine_hashes, hash_bytes, hash_name

pytestmark = pytest.mark.plain_python_coverage

VECTORS = {
    b"": (0xE6D24D7E0390AE94, 0x647E43DC895F1828),
    b"a": (0x3FFE9BC529F985E6, 0xE1637AFA3D935633),
    b"colour": (0x6553DFD4C8713615, 0x90B3B13DB17C41F5),
    b"12345678": (0x13FAA617507E8442, 0x7ABC5F51626B43FC),
    b"123456789": (0x700C7136D576EF5A, 0xC33CFFF8046EDD3C),
    b"exactly sixteen!": (0x3783FFDAFABAE88C, 0x75C5FA2F22136B93),
    b"seventeen bytes!!": (0xF32929C86D2B9B5E, 0x07C0A3F5E059B80A),
    b"a" * 100: (0xCCB351E5665C25CE, 0xEC9006651AB672CA),
    "日本".encode(): (0x0250DAD4DD5A03C9, 0xEB5E45DB8CC960B6),
}


@pytest.mark.parametrize("name", VECTORS)
def test_hashes_equal_the_test_vectors(name: bytes) -> None:
    """Test vectors that never change: they keep existing hashed models readable."""
    assert hash_name(name) == VECTORS[name][0]
    assert hash_name(name, hash_name(b"ns")) == VECTORS[name][1]


@given(st.binary(max_size=70), st.binary(max_size=20), st.integers(0, 2**64 - 1))
def test_the_compiled_hash_equals_the_definition(name: bytes, around: bytes, seed: int) -> None:
    text = np.frombuffer(bytes(PADDING_BYTES) + around + name + around + bytes(PADDING_BYTES), np.uint8).copy()
    start = PADDING_BYTES + len(around)
    assert int(hash_bytes(text, start, start + len(name), np.uint64(seed))) == hash_name(name, seed)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_hashes_of_pairs_equal_the_definition(a: int, b: int) -> None:
    product = (a ^ 0xA0761D6478BD642F) * (b ^ 0xE7037ED1A0B428DB)
    assert int(combine_hashes(np.uint64(a), np.uint64(b))) == (product ^ product >> 64) % 2**64


@pytest.mark.parametrize("form", ["%d", "feature_%d", "x%08d=1", "%dabcdefghijklmnop"])
def test_slots_are_used_evenly(form: str) -> None:
    names, slots = 50_000, 1 << 16
    hashes = np.array([hash_name((form % k).encode()) for k in range(names)], np.uint64)
    assert len(np.unique(hashes)) == names
    for part in (hashes & np.uint64(slots - 1), hashes >> np.uint64(48)):
        empty = slots * (1 - 1 / slots) ** names
        spread = math.sqrt(slots * math.exp(-names / slots) * (1 - (1 + names / slots) * math.exp(-names / slots)))
        assert abs(slots - len(np.unique(part)) - empty) < 6 * spread
    signs = np.count_nonzero(hashes >> np.uint64(63))
    assert abs(signs - names / 2) < 6 * math.sqrt(names) / 2


def test_a_string_table_numbers_names_in_order() -> None:
    table, numbers = NameTable(), []
    hashes = np.array([hash_name(str(k % 3000).encode()) for k in range(10_000)], np.uint64)

    def add_number(at: int) -> int:
        numbers.append(at)
        return len(numbers) - 1

    assert table.look_up_numbers(hashes, add_number).tolist() == [k % 3000 for k in range(10_000)]
    assert numbers == list(range(3000))
    assert table.look_up_numbers(hashes, add_number).tolist() == [k % 3000 for k in range(10_000)]


@compiled
def fill(to: HashedTerms, hashes: NDArray[np.uint64], values: NDArray[np.float64], ends: NDArray[np.int64]) -> int:
    """Finish rows of these hashes; `ends` become the ends of the finished rows."""
    first = start = 0
    for i in range(len(ends)):
        at = first
        for k in range(start, ends[i]):
            at = append_term(to, at, hashes[k], values[k], k, 0, 0)
        start = ends[i]
        first = finish_row(to, first, at)
        ends[i] = first
    return first


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 30), st.sampled_from([-1.0, 0.5, 1.0, 0.0])), max_size=20)),
    st.sampled_from([0, 2, 4, 18]),
    st.booleans(),
)
def test_duplicate_terms_of_a_row_are_summed(rows: list[list[tuple[int, float]]], bits: int, signed: bool) -> None:
    count = sum(map(len, rows))
    to = allocate_terms(count + 1, bits=bits, signed=signed, named=True)
    hashes = np.array([hash_name(str(j).encode()) for r in rows for j, _ in r], np.uint64)
    values = np.array([v for r in rows for _, v in r])
    ends = np.cumsum([len(r) for r in rows]).astype(np.int64)
    fill(to, hashes, values, ends)
    start = 0
    for row, end in zip(rows, ends.tolist(), strict=True):
        sums: dict[int, float] = {}
        for j, v in row:
            h = hash_name(str(j).encode())
            key = h & ((1 << bits) - 1) if bits else h
            sums[key] = sums.get(key, 0.0) + (-v if signed and bits and h >> 63 else v)
        got = (to.indices if bits else to.hashes)[start:end].tolist()
        assert dict(zip(got, to.values[start:end].tolist(), strict=True)) == {k: v for k, v in sums.items() if v != 0.0}
        assert len(got) == len(set(got))
        start = end
    assert not to.filter.any()
    if bits:
        seen = {h & ((1 << bits) - 1) for h in map(int, hashes)}
        assert {k for k in range(1 << bits) if to.used[k >> 6] >> np.uint64(k & 63) & np.uint64(1)} == seen


@pytest.mark.skipif(JIT_DISABLED, reason="too long for plain Python")
def test_time_per_term_does_not_grow_with_the_row() -> None:
    count = 300_000
    hashes = np.random.default_rng(0).integers(0, 2**63, count).astype(np.uint64)
    for bits in (0, 20):
        to = allocate_terms(count, bits=bits, signed=False, named=False)
        ends = np.array([count], np.int64)
        began = time.perf_counter()
        fill(to, hashes, np.ones(count), ends)
        fill(to, hashes, np.ones(count), np.array([count], np.int64))
        assert time.perf_counter() - began < 20.0  # a linear search per term would take minutes
        assert ends[0] == (count if bits == 0 else len(np.unique(hashes & np.uint64(2**20 - 1))))
