"""The journal writer: one thread that writes all waiting jobs in one transaction (group commit).

While the disk syncs one group, the next one gathers: many clients share the cost of a sync, and a single client waits
for no one. Futures are resolved on the event loop's thread, in the order of submission, which is the journal's order.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from novikoff.service.journal import Journal, LearnEntry

MAX_GROUP_BYTES = 8 << 20
MAX_GROUP_JOBS = 4096
MAX_RESOLVED_BYTES = 1 << 18
MAX_RESOLVED_JOBS = 64
"""Jobs that are resolved before the loop looks at its sockets again: what they wake up takes about 2 ms."""


class DiskFull(Exception):
    """There is no room to write."""

    learned: int | None = None
    """Examples of the same request that were learned before."""


class JobChain:
    """Jobs of which none is done after one of them has failed."""

    error: Exception | None = None


class WriteJob(NamedTuple):
    write: Callable[[Journal], Any]
    done: asyncio.Future[Any]
    """Gets what `write` returns once that is durable, or the exception that undid it."""
    size: int
    """In bytes; 0 for jobs that are done also where there is no room left."""
    chain: JobChain


class JournalWriter(threading.Thread):
    def __init__(self, journal: Journal, loop: asyncio.AbstractEventLoop, spare: int) -> None:
        """`spare`: bytes of the disk that are left free."""
        super().__init__(name="novikoff-journal", daemon=True)
        self.journal, self.loop, self.spare = journal, loop, spare
        self._waiting: deque[WriteJob] = deque()
        self._wake = threading.Condition()
        self._stopping = False
        self.failed = False
        """Whether the last group could not be written."""
        self._written: deque[tuple[WriteJob, Any]] = deque()

    def append(self, entry: LearnEntry, chain: JobChain | None = None) -> asyncio.Future[tuple[int, int | None]]:
        """Append an entry; the future gets its position and the row of its predictions."""
        return self.submit(entry.write, len(entry.body) + 1, chain)

    def submit(
        self, write: Callable[[Journal], Any], size: int = 0, chain: JobChain | None = None
    ) -> asyncio.Future[Any]:
        """Call `write` in the next transaction."""
        job = WriteJob(write, self.loop.create_future(), size, chain or JobChain())
        with self._wake:
            self._waiting.append(job)
            self._wake.notify()
        return job.done

    def run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._waiting or self._stopping)
                group = self._next_group()
            if not group:
                return
            self._write(group)

    def _next_group(self) -> list[WriteJob]:
        group: list[WriteJob] = []
        size, waiting = 0, self._waiting
        while waiting and len(group) < MAX_GROUP_JOBS and (not group or size + waiting[0].size <= MAX_GROUP_BYTES):
            group.append(waiting.popleft())
            size += group[-1].size
        return group

    def _write(self, group: list[WriteJob]) -> None:
        results: list[Any]
        try:
            full = self._disk_full() if any(job.size for job in group) else None
            with self.journal.transaction():
                results = [self._perform(job, full) for job in group]
        except Exception as problem:  # what SQLite can't write is a disk that is full, or may as well be
            error = DiskFull(str(problem)) if isinstance(problem, sqlite3.OperationalError) else problem
            results = [error] * len(group)
            for job in group:
                job.chain.error = job.chain.error or error
        if any(job.size for job in group):
            self.failed = any(isinstance(result, DiskFull) for result in results)
        self.loop.call_soon_threadsafe(self._begin_resolving, list(zip(group, results, strict=True)))

    def _perform(self, job: WriteJob, full: DiskFull | None) -> Any:
        """Return the result of a job, or the exception because of which it was not done."""
        result = job.chain.error or (full if job.size else None) or self.journal.attempt(job.write)
        if isinstance(result, Exception):
            job.chain.error = result
        return result

    def _begin_resolving(self, written: list[tuple[WriteJob, Any]]) -> None:
        self._written.extend(written)
        if len(self._written) == len(written):  # else _resolve runs already
            self._resolve()

    def _resolve(self) -> None:
        """Resolve futures in order, a slice at a time: other clients are served in between."""
        jobs = size = 0
        while self._written and jobs < MAX_RESOLVED_JOBS and size < MAX_RESOLVED_BYTES:
            job, result = self._written.popleft()
            jobs, size = jobs + 1, size + job.size
            if job.done.done():  # cancelled
                continue
            if isinstance(result, Exception):
                job.done.set_exception(result)
                job.done.exception()  # retrieved: no one needs to wait for it
            else:
                job.done.set_result(result)
        if self._written:
            self.loop.call_later(0, self._resolve)

    @property
    def full(self) -> bool:
        """Whether there is no room to write now."""
        return self.failed or self._disk_full() is not None

    def _disk_full(self) -> DiskFull | None:
        try:
            room = os.statvfs(self.journal.path.parent)
        except OSError as problem:
            return DiskFull(f"the folder of the data can't be reached: {problem.strerror}")
        free = room.f_bavail * room.f_frsize
        return None if free > self.spare else DiskFull(f"{free >> 20} MiB are left on the disk of the data")

    def stop(self) -> None:
        """Write what waits, then end the thread."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self.join()
