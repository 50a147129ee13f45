"""Verification of SQLite's write-ahead log before SQLite opens it.

SQLite reads the log up to the first frame with a wrong checksum, and treats that as the end. After a power loss this is
right: the last transaction was not finished. But if a frame in the middle is damaged, SQLite silently drops everything
that was committed after it. Each frame's checksum continues from the stored checksum of the frame before, so frames
after a damaged one can still be verified. A transaction starts only when the one before is durable. So valid frames of
a later transaction after a damaged frame mean that the middle is damaged.

Layout: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled

HEADER_BYTES, FRAME_HEADER_BYTES = 32, 24
CHECKSUM_BYTE_ORDERS = {0x377F0682: "<u4", 0x377F0683: ">u4"}
"""The byte order of checksums, by the magic number."""
UINT32_MASK = 0xFFFFFFFF


class WalStatus(NamedTuple):
    cut: int
    """Number of bytes at the end that do not belong to a finished transaction."""
    damaged_middle: bool


class WalFrame(NamedTuple):
    good: bool
    commits: bool
    ours: bool
    """Whether the frame belongs to the current log: SQLite overwrites older frames from the start."""


def wal_path(database: Path) -> Path:
    return database.with_name(f"{database.name}-wal")


def check_wal(database: Path) -> WalStatus:
    path = wal_path(database)
    log = path.read_bytes() if path.exists() else b""
    if len(log) < HEADER_BYTES:
        return WalStatus(len(log), damaged_middle=False)
    magic, _, page, *_ = struct.unpack(">8I", log[:HEADER_BYTES])
    order = CHECKSUM_BYTE_ORDERS.get(magic)
    if order is None or compute_checksum(log[: HEADER_BYTES - 8], order, 0, 0) != struct.unpack(
        ">2I", log[HEADER_BYTES - 8 : HEADER_BYTES]
    ):
        # The header is synced with the first transaction: if two transactions follow it, it was valid once.
        return WalStatus(len(log), damaged_middle=len(log) >= HEADER_BYTES + 3 * (FRAME_HEADER_BYTES + max(page, 512)))
    frames = _parse_frames(log, order, page)
    bad = next((k for k, frame in enumerate(frames) if not frame.good), len(frames))
    ended = max((k + 1 for k, frame in enumerate(frames[:bad]) if frame.commits), default=0)
    commits = sum(frame.good and frame.commits for frame in frames[bad + 1 :])
    if bad < len(frames) and commits:
        # Valid frames after a damaged one belong to its own transaction or to a later one.
        commits += frames[bad].commits
    cut = sum(frame.ours for frame in frames[ended:]) * (FRAME_HEADER_BYTES + page)
    return WalStatus(cut, damaged_middle=commits > 1)


def _parse_frames(log: bytes, order: str, page: int) -> list[WalFrame]:
    salts, before = log[16:24], struct.unpack(">2I", log[HEADER_BYTES - 8 : HEADER_BYTES])
    frames, size = [], FRAME_HEADER_BYTES + page
    for offset in range(HEADER_BYTES, len(log) - size + 1, size):
        head, content = log[offset : offset + FRAME_HEADER_BYTES], log[offset + FRAME_HEADER_BYTES : offset + size]
        stored = struct.unpack(">2I", head[16:24])
        good = head[8:16] == salts and compute_checksum(head[:8] + content, order, *before) == stored
        frames.append(WalFrame(good, any(head[4:8]), head[8:16] == salts))
        before = stored
    return frames


def compute_checksum(data: bytes, order: str, s0: int, s1: int) -> tuple[int, int]:
    words = np.frombuffer(data, order).astype(np.int64)
    s0, s1 = _sum_words(words, s0, s1)
    return int(s0), int(s1)


@compiled
def _sum_words(words: NDArray[np.int64], s0: int, s1: int) -> tuple[int, int]:
    """Return the Fibonacci-weighted checksums of SQLite."""
    for k in range(0, len(words), 2):
        s0 = (s0 + words[k] + s1) & UINT32_MASK
        s1 = (s1 + words[k + 1] + s0) & UINT32_MASK
    return s0, s1
