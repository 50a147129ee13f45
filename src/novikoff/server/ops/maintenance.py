"""Background maintenance: save models to their files, and delete expired data from the journal."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Callable

from novikoff.errors import ModelFileError
from novikoff.model_file import load_learner, snapshot
from novikoff.server.models.model_stream import ModelStream
from novikoff.server.models.registry import ModelRegistry
from novikoff.server.models.served_model import ServedModel
from novikoff.server.ops import clock
from novikoff.server.ops.limits import DAY_SECONDS
from novikoff.server.storage import checkpoint
from novikoff.server.storage.journal import DiskFull, Journal, StreamDeleted

DROP_BATCH_ENTRIES = 256  # entries deleted from the journal in one transaction
KEPT_CHECKPOINTS = 2
SWEEP_INTERVAL_SECONDS = 60  # between deletions of expired labels of predictions

log = logging.getLogger("novikoff.server")


class MaintenanceTask:
    """The periodic maintenance of a registry."""

    def __init__(self, registry: ModelRegistry) -> None:
        self.registry, self.limits = registry, registry.limits
        self._since: dict[int, float] = {}
        """Arrival time of the first unsaved example of each model."""
        self._last_sweep = 0.0
        self._readable: dict[int, int] = {}
        """Position of the latest file of each model that was read back successfully."""

    async def run(self) -> None:
        """Run the maintenance periodically until the task is cancelled."""
        while True:
            await asyncio.sleep(self.limits.housekeeping_ms / 1000)
            try:
                await self.once()
            except (DiskFull, OSError, StreamDeleted):  # retried later; the journal has all data
                continue
            except Exception as problem:  # the task must go on
                log.error("maintenance failed", exc_info=problem)

    async def once(self) -> None:
        now = clock.now()
        if (jump := clock.CLOCK.new_jump()) is not None:
            log.warning("the system clock jumped by %.0f s; ages are still measured with the steady clock", jump)
        for stream in list(self.registry.streams.values()):
            self._expire_old(stream, now)
        self.registry.flush()
        if now - self._last_sweep > SWEEP_INTERVAL_SECONDS:
            self._last_sweep = now
            self.registry.submit(lambda journal: journal.forget_answers(now - self.limits.pending_seconds))
        for served in list(self.registry.models.values()):
            if self._is_due(served, now):
                await self.save(served)
        for stream in list(self.registry.streams.values()):
            await self._shorten(stream, now)

    async def save_all(self) -> None:
        for served in list(self.registry.models.values()):
            with contextlib.suppress(Exception):  # the journal has all data
                await self.save(served)

    def _is_due(self, served: ServedModel, now: float) -> bool:
        if served.unsaved_examples == 0:
            return False
        since = self._since.setdefault(served.id, now)
        return (
            served.unsaved_examples >= self.limits.checkpoint_examples or now - since >= self.limits.checkpoint_seconds
        )

    async def save(self, served: ServedModel) -> None:
        """Save the current model to a file: copied on the event loop's thread, written in another one."""
        if served.unsaved_examples == 0 or not served.has_learned or served.broken is not None:
            return
        position, examples, refused = served.position, served.unsaved_examples, served.refused
        content = snapshot(served.learner)
        self._since.pop(served.id, None)
        folder, number = self.registry.folder, served.id
        # A replay from this file does not see which of its examples were refused. Their keys and labels are deleted
        # from the journal by earlier jobs, which must be durable before the file exists.
        await self.registry.submit(lambda _: None)
        await asyncio.to_thread(lambda: checkpoint.write(folder, number, position, content()))
        if self.registry.models.get(served.name) is not served:  # deleted in the meantime
            await asyncio.to_thread(checkpoint.remove, folder, number)
            return
        await self.registry.submit(lambda journal: journal.set_model(number, checkpoint=position, refused=refused))
        served.checkpoint = position
        served.unsaved_examples -= examples
        await asyncio.to_thread(checkpoint.remove, folder, number, keep=KEPT_CHECKPOINTS)

    def _expire_old(self, stream: ModelStream, now: float) -> None:
        stream.waiting.trim(now)
        keys = stream.remove_outdated_keys(now)
        if keys:
            self.registry.submit(lambda journal: journal.forget_keys(stream.id, keys))

    async def _shorten(self, stream: ModelStream, now: float) -> None:
        """Drop entries from the journal.

        Entries dropped by age must be in the latest file of each model, entries dropped by size in two files.
        """
        limits = self.limits
        if limits.retain_days:
            before = now - limits.retain_days * DAY_SECONDS
            oldest = await self.registry.submit(lambda journal: journal.oldest(stream.id))
            if oldest is not None and oldest < before:
                upto = await self._find_saved_position(stream)
                await self._drop(lambda journal: journal.drop_older(stream.id, before, upto, DROP_BATCH_ENTRIES))
        if limits.journal_bytes and self.registry.journal_bytes() > limits.journal_bytes:
            files = [checkpoint.list_positions(self.registry.folder, served.id) for served in stream.members]
            if all(len(found) >= KEPT_CHECKPOINTS for found in files):
                last = min(found[KEPT_CHECKPOINTS - 1] for found in files)
                await self._drop(
                    lambda journal: journal.drop(stream.id, last, DROP_BATCH_ENTRIES), limits.journal_bytes
                )

    async def _drop(self, do: Callable[[Journal], int], target_bytes: int = 0) -> None:
        """Call `do`, which drops a batch of entries, until nothing is left or the journal has `target_bytes`."""

        def drop(journal: Journal) -> int:
            dropped = do(journal)
            if dropped:
                journal.release_pages()
            return dropped

        with contextlib.suppress(sqlite3.Error):
            while await self.registry.submit(drop):
                await asyncio.sleep(0)
                if target_bytes and self.registry.journal_bytes() <= target_bytes:
                    break

    async def _find_saved_position(self, stream: ModelStream) -> int:
        """Return the position up to which no model of the stream needs the journal.

        A file counts only if it can be read back, because it may be the only one.
        """
        upto = []
        for served in stream.members:
            found = checkpoint.list_positions(self.registry.folder, served.id)
            if not found:
                upto.append(served.joined if served.own else 0)
            elif self._readable.get(served.id) == found[0]:
                upto.append(found[0])
            else:
                path = checkpoint.checkpoint_path(self.registry.folder, served.id, found[0])
                try:
                    await asyncio.to_thread(load_learner, path)
                except ModelFileError as problem:
                    log.error("examples can't be deleted from the journal: %s", problem)
                    return 0
                self._readable[served.id] = found[0]
                upto.append(found[0])
        return min(upto)
