"""The writer: one thread that puts what waits into one transaction, and then tells all that waited.

While the disk is busy with one group, the next one gathers: with many clients the cost of a sync is shared by all of
them, and a single client waits for no one. Whoever waits is told on the loop's thread, in the order of submission.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from novikoff.service.journal import Journal

GROUP_BYTES = 8 << 20
GROUP = 4096
SLICE = 0.002  # seconds of telling at a time


class DiskFull(Exception):
    """There is no room to write."""

    learned: int | None = None
    """How many examples of the same request were learned before."""


class Chain:
    """Works of which none is done after one of them has failed."""

    problem: Exception | None = None


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
        self.failed = False
        """Whether the last lesson could not be written."""
        self._to_tell: deque[tuple[Work, Any]] = deque()

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
        answers: list[Any]
        try:
            full = self._no_room() if any(work.size for work in group) else None
            with self.journal.transaction():
                answers = [self._done(work, full) for work in group]
        except Exception as problem:
            answers = [_why(problem)] * len(group)
            for work in group:
                work.chain.problem = work.chain.problem or answers[0]
        if any(work.size for work in group):
            self.failed = any(isinstance(answer, DiskFull) for answer in answers)
        self.loop.call_soon_threadsafe(self._tell, list(zip(group, answers, strict=True)))

    def _done(self, work: Work, full: DiskFull | None) -> Any:
        """What comes of it, or why it was not done."""
        answer = work.chain.problem or (full if work.size else None) or self.journal.attempt(work.do)
        if isinstance(answer, Exception):
            work.chain.problem = answer
        return answer

    def _tell(self, answers: list[tuple[Work, Any]]) -> None:
        """On the loop's thread, in order, and not all at once: others want to be answered meanwhile."""
        self._to_tell.extend(answers)
        if len(self._to_tell) == len(answers):
            self._tell_some()

    def _tell_some(self) -> None:
        until = time.monotonic() + SLICE
        while self._to_tell and time.monotonic() < until:
            work, answer = self._to_tell[0]
            work.then(answer)
            self._to_tell.popleft()  # only now: while there is any, this goes on by itself
        if self._to_tell:
            self.loop.call_later(0, self._tell_some)

    @property
    def full(self) -> bool:
        """Whether there is no room to write now."""
        return self.failed or self._no_room() is not None

    def _no_room(self) -> DiskFull | None:
        try:
            room = os.statvfs(self.journal.path.parent)
        except OSError as problem:
            return DiskFull(f"the folder of the data can't be reached: {problem.strerror}")
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
