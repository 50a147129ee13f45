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

HEAD, FRAME_HEAD = 32, 24
MAGIC = {0x377F0682: "<u4", 0x377F0683: ">u4"}
"""By the order of bytes in which checksums are made."""
MASK = 0xFFFFFFFF


class Looked(NamedTuple):
    cut: int
    """Bytes at the end that belong to no finished transaction."""
    damaged_middle: bool


class Frame(NamedTuple):
    good: bool
    commits: bool
    ours: bool
    """Not left from an earlier round of the log."""


def path_of(database: Path) -> Path:
    return database.with_name(f"{database.name}-wal")


def looked_through(database: Path) -> Looked:
    path = path_of(database)
    log = path.read_bytes() if path.exists() else b""
    if len(log) < HEAD:
        return Looked(len(log), damaged_middle=False)
    magic, _, page, *_ = struct.unpack(">8I", log[:HEAD])
    order = MAGIC.get(magic)
    if order is None or checksum(log[: HEAD - 8], order, 0, 0) != struct.unpack(">2I", log[HEAD - 8 : HEAD]):
        # A head is synced with the first transaction: with two of them behind it, it was good once.
        return Looked(len(log), damaged_middle=len(log) >= HEAD + 3 * (FRAME_HEAD + max(page, 512)))
    frames = _frames(log, order, page)
    bad = next((k for k, frame in enumerate(frames) if not frame.good), len(frames))
    ended = max((k + 1 for k, frame in enumerate(frames[:bad]) if frame.commits), default=0)
    commits = sum(frame.good and frame.commits for frame in frames[bad + 1 :])
    if bad < len(frames) and commits:
        # Good frames behind a bad one: of its own transaction, or of a later one?
        commits += frames[bad].commits
    cut = sum(frame.ours for frame in frames[ended:]) * (FRAME_HEAD + page)
    return Looked(cut, damaged_middle=commits > 1)


def _frames(log: bytes, order: str, page: int) -> list[Frame]:
    salts, before = log[16:24], struct.unpack(">2I", log[HEAD - 8 : HEAD])
    frames, size = [], FRAME_HEAD + page
    for at in range(HEAD, len(log) - size + 1, size):
        head, content = log[at : at + FRAME_HEAD], log[at + FRAME_HEAD : at + size]
        noted = struct.unpack(">2I", head[16:24])
        good = head[8:16] == salts and checksum(head[:8] + content, order, *before) == noted
        frames.append(Frame(good, any(head[4:8]), head[8:16] == salts))
        before = noted
    return frames


def checksum(data: bytes, order: str, s0: int, s1: int) -> tuple[int, int]:
    words = np.frombuffer(data, order).astype(np.int64)
    s0, s1 = _sums(words, s0, s1)
    return int(s0), int(s1)


@compiled
def _sums(words: NDArray[np.int64], s0: int, s1: int) -> tuple[int, int]:
    """Fibonacci-weighted, as SQLite makes them."""
    for k in range(0, len(words), 2):
        s0 = (s0 + words[k] + s1) & MASK
        s1 = (s1 + words[k + 1] + s0) & MASK
    return s0, s1
