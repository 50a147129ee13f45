"""The writer: one thread that puts what waits into one transaction, and then tells all that waited.

While the disk is busy with one group, the next one gathers: with many clients the cost of a sync is shared by all of
them, and a single client waits for no one. Whoever waits is told on the loop's thread, in the order of submission.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from novikoff.service.journal import Journal

GROUP_BYTES = 8 << 20
GROUP = 4096


class DiskFull(Exception):
    """There is no room to write."""

    learned: int | None = None
    """How many examples of the same request were learned before."""


class Chain:
    """Works of which none is done after one of them has failed."""

    broken = False


class Work(NamedTuple):
    do: Callable[[Journal], Any]
    then: Callable[[Any], None]
    """Told, on the loop's thread, what was returned, or the exception that undid the whole group."""
    size: int
    """In bytes; 0 for what is done also where there is no room left."""
    chain: Chain


class Writer(threading.Thread):
    def __init__(self, journal: Journal, loop: asyncio.AbstractEventLoop, spare: int) -> None:
        super().__init__(name="novikoff-journal", daemon=True)
        self.journal, self.loop, self.spare = journal, loop, spare
        self.waiting: deque[Work] = deque()
        self.waiting_bytes = 0
        self.wake = threading.Condition()
        self.stopping = False
        self.full = False

    def submit(
        self, do: Callable[[Journal], Any], then: Callable[[Any], None], size: int = 0, chain: Chain | None = None
    ) -> None:
        with self.wake:
            self.waiting.append(Work(do, then, size, chain or Chain()))
            self.waiting_bytes += size
            self.wake.notify()

    def run(self) -> None:
        while True:
            with self.wake:
                self.wake.wait_for(lambda: self.waiting or self.stopping)
                group = self._next_group()
            if not group:
                return
            self._write(group)

    def _next_group(self) -> list[Work]:
        group: list[Work] = []
        size = 0
        while self.waiting and len(group) < GROUP and (not group or size + self.waiting[0].size <= GROUP_BYTES):
            work = self.waiting.popleft()
            size += work.size
            group.append(work)
        self.waiting_bytes -= size
        return group

    def _write(self, group: list[Work]) -> None:
        full = self._no_room() if any(work.size for work in group) else None
        answers: list[Any] = [self._before(work, full) for work in group]
        try:
            with self.journal.transaction():
                for k, work in enumerate(group):
                    if answers[k] is None:
                        answers[k] = self.journal.attempt(work.do)
        except Exception as problem:
            answers = [_why(problem)] * len(group)
        for work, answer in zip(group, answers, strict=True):
            work.chain.broken |= isinstance(answer, Exception)
        self.full = any(isinstance(answer, DiskFull) for answer in answers)
        self.loop.call_soon_threadsafe(_tell, group, answers)

    def _before(self, work: Work, full: DiskFull | None) -> Exception | None:
        """Why it is not even tried."""
        if work.chain.broken:
            return DiskFull("what came before it could not be written")
        return full if work.size else None

    def _no_room(self) -> DiskFull | None:
        room = os.statvfs(self.journal.path.parent)
        free = room.f_bavail * room.f_frsize
        return None if free > self.spare else DiskFull(f"{free >> 20} MiB are left on the disk of the data")

    def stop(self) -> None:
        """After what waits is written."""
        with self.wake:
            self.stopping = True
            self.wake.notify()
        self.join()


def _why(problem: Exception) -> Exception:
    """What SQLite can't write is a disk that is full, or may as well be."""
    return DiskFull(str(problem)) if isinstance(problem, sqlite3.OperationalError) else problem


def _tell(group: list[Work], answers: list[Any]) -> None:
    for work, answer in zip(group, answers, strict=True):
        work.then(answer)
