"""Housekeeping, off the way of requests: models into their files, what is too old out of the journal."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Callable

from novikoff.errors import ModelFileError
from novikoff.model_file import load_learner, snapshot
from novikoff.server.models.model_group import Stream
from novikoff.server.models.registry import House
from novikoff.server.models.served_model import Served
from novikoff.server.ops import clock
from novikoff.server.ops.limits import DAY_SECONDS
from novikoff.server.storage import checkpoint
from novikoff.server.storage.journal import DiskFull, Gone, Journal

DROPPED = 256  # entries that leave the journal at once
KEPT_FILES = 2
SWEEP = 60  # seconds between looks for answers that may be forgotten

log = logging.getLogger("novikoff.server")


class Keeping:
    def __init__(self, house: House) -> None:
        self.house, self.limits = house, house.limits
        self._since: dict[int, float] = {}
        """When the first example came that is not in a model's file."""
        self._swept = 0.0
        self._readable: dict[int, int] = {}
        """The position of the latest file of a model that was read again and found whole."""

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await asyncio.sleep(self.limits.housekeeping_ms / 1000)
            try:
                await self.once()
            except (DiskFull, OSError, Gone):  # tried again later; the journal has it all
                continue
            except Exception as problem:  # never the end of it
                log.error("housekeeping failed", exc_info=problem)

    async def once(self) -> None:
        now = clock.now()
        if (jump := clock.CLOCK.new_jump()) is not None:
            log.warning("the clock of this machine jumped by %.0f s: ages are counted by the clock of the start", jump)
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
        content = snapshot(served.learner)
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
        """Drop entries from the journal: by age those that are in the latest file of each model, by size those that are
        in two files."""
        limits = self.limits
        if limits.retain_days:
            before = now - limits.retain_days * DAY_SECONDS
            oldest = await self.house.written(lambda to: to.oldest(stream.id))
            if oldest is not None and oldest < before:
                upto = await self._in_latest_files(stream)
                await self._drop(lambda to: to.drop_older(stream.id, before, upto, DROPPED))
        if limits.journal_bytes and self.house.journal_bytes() > limits.journal_bytes:
            files = [checkpoint.positions(self.house.folder, served.id) for served in stream.members]
            if all(len(found) >= KEPT_FILES for found in files):
                last = min(found[KEPT_FILES - 1] for found in files)
                await self._drop(lambda to: to.drop(stream.id, last, DROPPED), limits.journal_bytes)

    async def _drop(self, do: Callable[[Journal], int], enough: int = 0) -> None:
        """Drop some entries after the other, until there are none or the journal has at most `enough` bytes."""

        def drop(to: Journal) -> int:
            dropped = do(to)
            if dropped:
                to.give_back()
            return dropped

        with contextlib.suppress(sqlite3.Error):
            while await self.house.written(drop):
                await asyncio.sleep(0)
                if enough and self.house.journal_bytes() <= enough:
                    break

    async def _in_latest_files(self, stream: Stream) -> int:
        """Return the position up to which no model of the stream needs the journal. A file counts if it can be read: it
        may be the only one."""
        upto = []
        for served in stream.members:
            found = checkpoint.positions(self.house.folder, served.id)
            if not found:
                upto.append(served.joined if served.own else 0)
            elif self._readable.get(served.id) == found[0]:
                upto.append(found[0])
            else:
                path = checkpoint.path_of(self.house.folder, served.id, found[0])
                try:
                    await asyncio.to_thread(load_learner, path)
                except ModelFileError as problem:
                    log.error("examples can't leave the journal: %s", problem)
                    return 0
                self._readable[served.id] = found[0]
                upto.append(found[0])
        return min(upto)
