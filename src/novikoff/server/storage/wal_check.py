"""The write-ahead log of SQLite, looked through before SQLite opens it.

SQLite reads the log up to the first frame whose checksum is wrong, and takes that for the end. After a loss of power
that is right: the last transaction was not finished. But if a frame in the middle is damaged, it would silently drop
all that was committed after it. Each frame's checksum goes on from that of the frame before, as it is written there, so
that frames behind a damaged one can still be told to be good. A transaction is only begun when the one before is safe
on the disk: good frames of a later transaction behind a damaged one mean that the middle is damaged.

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
"""By the order of bytes in which checksums are made."""
UINT32_MASK = 0xFFFFFFFF


class WalStatus(NamedTuple):
    cut: int
    """Bytes at the end that belong to no finished transaction."""
    damaged_middle: bool


class WalFrame(NamedTuple):
    good: bool
    commits: bool
    ours: bool
    """Not left from an earlier round of the log."""


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
        # A head is synced with the first transaction: with two of them behind it, it was good once.
        return WalStatus(len(log), damaged_middle=len(log) >= HEADER_BYTES + 3 * (FRAME_HEADER_BYTES + max(page, 512)))
    frames = _parse_frames(log, order, page)
    bad = next((k for k, frame in enumerate(frames) if not frame.good), len(frames))
    ended = max((k + 1 for k, frame in enumerate(frames[:bad]) if frame.commits), default=0)
    commits = sum(frame.good and frame.commits for frame in frames[bad + 1 :])
    if bad < len(frames) and commits:
        # Good frames behind a bad one: of its own transaction, or of a later one?
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
    """Fibonacci-weighted, as SQLite makes them."""
    for k in range(0, len(words), 2):
        s0 = (s0 + words[k] + s1) & UINT32_MASK
        s1 = (s1 + words[k + 1] + s0) & UINT32_MASK
    return s0, s1
