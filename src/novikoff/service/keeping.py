"""Housekeeping, off the way of requests: models into their files, what is too old out of the journal."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import sys
import time
import traceback

from novikoff.service import checkpoint
from novikoff.service.house import House
from novikoff.service.journal import Gone, Journal
from novikoff.service.served import Served
from novikoff.service.stream import Stream
from novikoff.service.writer import DiskFull
from novikoff.store import frozen

DROPPED = 256  # entries that leave the journal at once
KEPT_FILES = 2
DAY = 86_400
SWEEP = 60  # seconds between looks for answers that may be forgotten


class Keeping:
    def __init__(self, house: House) -> None:
        self.house, self.limits = house, house.limits
        self._since: dict[int, float] = {}
        """When the first example came that is not in a model's file."""
        self._swept = 0.0

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await asyncio.sleep(self.limits.housekeeping_ms / 1000)
            try:
                await self.once()
            except (DiskFull, OSError, Gone):  # tried again later; the journal has it all
                continue
            except Exception as problem:  # never the end of it
                traceback.print_exception(problem, file=sys.stderr)

    async def once(self) -> None:
        now = time.time()
        for stream in list(self.house.streams.values()):
            self._forget_old(stream, now)
        self.house.flush()
        if now - self._swept > SWEEP:
            self._swept = now
            self.house.written(lambda to: to.forget_answers(now - self.limits.pending_seconds))
        for served in list(self.house.models.values()):
            if self._is_due(served, now):
                await self.save(served)
        for stream in list(self.house.streams.values()):
            await self._shorten(stream, now)

    async def save_all(self) -> None:
        for served in list(self.house.models.values()):
            with contextlib.suppress(Exception):  # the journal has it all
                await self.save(served)

    def _is_due(self, served: Served, now: float) -> bool:
        if served.since_file == 0:
            return False
        since = self._since.setdefault(served.id, now)
        return served.since_file >= self.limits.checkpoint_examples or now - since >= self.limits.checkpoint_seconds

    async def save(self, served: Served) -> None:
        """The model as it is now into a file: copied here, written in a thread."""
        if served.since_file == 0 or not served.has_learned or served.broken is not None:
            return
        position, examples, refused = served.position, served.since_file, served.refused
        content = frozen(served.learner)
        self._since.pop(served.id, None)
        folder, number = self.house.folder, served.id
        await asyncio.to_thread(lambda: checkpoint.write(folder, number, position, content()))
        if self.house.models.get(served.name) is not served:  # it was deleted meanwhile
            await asyncio.to_thread(checkpoint.remove, folder, number)
            return
        await self.house.written(lambda to: to.set_model(number, checkpoint=position, refused=refused))
        served.checkpoint = position
        served.since_file -= examples
        await asyncio.to_thread(checkpoint.remove, folder, number, keep=KEPT_FILES)

    def _forget_old(self, stream: Stream, now: float) -> None:
        stream.waiting.trim(now)
        keys = stream.outdated_keys(now)
        if keys:
            self.house.written(lambda to: to.forget_keys(stream.id, keys))

    async def _shorten(self, stream: Stream, now: float) -> None:
        """Entries that all models of the stream have in two files leave the journal when they are old or it is long."""
        limits = self.limits
        if not (limits.journal_days or limits.journal_bytes):
            return
        files = [checkpoint.positions(self.house.folder, served.id) for served in stream.members]
        if not all(len(found) >= KEPT_FILES for found in files):
            return
        upto = min(found[KEPT_FILES - 1] for found in files)
        before = now - limits.journal_days * DAY if limits.journal_days else 0.0
        over = limits.journal_bytes and self.house.journal_bytes() > limits.journal_bytes

        def do(to: Journal) -> int:
            last = upto
            if not over:
                found = to.connection.execute(
                    "SELECT max(position) FROM entries WHERE stream = ? AND position <= ? AND time < ?",
                    (stream.id, upto, before),
                ).fetchone()
                last = found[0] or 0
            dropped = to.drop(stream.id, last, DROPPED) if last else 0
            if dropped:
                to.give_back()
            return dropped

        with contextlib.suppress(sqlite3.Error):
            while await self.house.written(do):
                await asyncio.sleep(0)
                if over and self.house.journal_bytes() <= limits.journal_bytes:
                    break
