"""The model registry: all models of a data folder with their streams, and the journal.

Every change is written to the journal first. When it is durable, it is applied on the event loop's thread, in the
journal's order.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from novikoff import __version__
from novikoff.base.internals import estimate_memory, plain_settings_of
from novikoff.learner_registry import name_of
from novikoff.memory_limit import Growth, format_size
from novikoff.server.models.model_stream import ModelStream
from novikoff.server.models.pending_predictions import LabelledPrediction, PendingPredictions, SignedIds
from novikoff.server.models.served_model import (
    CHALLENGER,
    CHAMPION,
    ComparisonBaseline,
    ServedModel,
    build_batch_engine,
)
from novikoff.server.models.validation import RequestError
from novikoff.server.ops import clock
from novikoff.server.ops.limits import Limits
from novikoff.server.storage import checkpoint
from novikoff.server.storage.attribution import record_model
from novikoff.server.storage.journal import (
    DiskFull,
    Journal,
    JournalWriter,
    NewModel,
    StoredPrediction,
    StreamDeleted,
    find_answer,
    open_read_only,
)

FLUSH_INTERVAL_SECONDS = 0.25  # until kept predictions are written


class ModelRegistry:
    """All models of a data folder."""

    def __init__(self, folder: Path, limits: Limits, journal: Journal) -> None:
        self.folder, self.limits, self.journal = folder, limits, journal
        self.models: dict[str, ServedModel] = {}
        self.streams: dict[int, ModelStream] = {}
        self.ids = SignedIds(journal.meta("id key"))
        self.said: list[str] = []
        """Messages about problems that were found and repaired when the folder was opened."""
        self.open = False
        self.reader = build_batch_engine(limits)
        self._names_in_creation: set[str] = set()
        self._flushing = False

    def start(self) -> None:
        """Start the journal's thread and accept requests on the running event loop."""
        self.loop = asyncio.get_running_loop()
        self.writer = JournalWriter(self.journal, self.loop, self.limits.spare)
        self.writer.start()
        self.open = True

    async def stop(self) -> None:
        """Stop after all pending writes are done."""
        self.open = False
        await asyncio.gather(*self.flush(), return_exceptions=True)
        await asyncio.to_thread(self.writer.stop)
        self.journal.close()

    def submit(self, write: Callable[[Journal], Any], *, needs_space: bool = False) -> asyncio.Future[Any]:
        """Call `write` in the next transaction. The future gets its result when it is durable, in the journal's order.

        If the disk is full, a job with `needs_space` fails with DiskFull. Other jobs are written.
        """
        return self.writer.submit(write, 1 if needs_space else 0)

    # --- Predictions that wait for labels ---

    def keep(self, served: ServedModel, features: Any, now: float) -> str:
        """Keep a prediction for a late label, and return its id. It is written to the journal in the background."""
        if not self._flushing:
            self._flushing = True
            self.loop.call_later(FLUSH_INTERVAL_SECONDS, self.flush)
        return self.streams[served.stream].keep(features, now)

    def flush(self) -> list[asyncio.Task[None]]:
        """Write new predictions to the journal and remove rows without pending ones; return the write tasks."""
        self._flushing = False
        tasks = []
        for stream in self.streams.values():
            if stream.unsaved:
                predictions, stream.unsaved = stream.unsaved, []
                tasks.append(self.loop.create_task(self._save(stream, predictions)))
            if stream.waiting.empty:
                rows, stream.waiting.empty = stream.waiting.empty, []
                self.submit(lambda journal, rows=rows: journal.remove_predictions(rows))  # type: ignore[misc]
        return tasks

    async def _save(self, stream: ModelStream, predictions: list[StoredPrediction]) -> None:
        try:
            row = await self.submit(lambda journal: journal.keep(stream.id, predictions), needs_space=True)
        except DiskFull:
            stream.requeue(predictions)
        else:
            stream.record_row(row, predictions)

    # --- Memory ---

    def check_memory(self, name: str, needed: int) -> None:
        """Raise RequestError if there is not enough memory for an uploaded model."""
        limits, others = self.limits, sum(model.bytes for model in self.models.values())
        if needed > limits.max_model_bytes:
            raise RequestError(
                f"{name!r} needs {format_size(needed)} of memory, but the limit of a model is"
                f" {format_size(limits.max_model_bytes)}: start the server with a larger --max-model-memory.",
                "model-too-large",
            )
        if needed + others > limits.max_server_bytes:
            raise RequestError(
                f"With {name!r} all models need {format_size(needed + others)} of memory, but the limit of the server"
                f" is {format_size(limits.max_server_bytes)}: delete models, or start the server with a larger"
                " --max-server-memory.",
                "server-out-of-memory",
                507,
            )

    # --- Models ---

    def add(self, served: ServedModel) -> ServedModel:
        if served.stream not in self.streams:
            waiting = PendingPredictions(served.stream, self.ids, self.limits, self._look_up)
            self.streams[served.stream] = ModelStream(served.stream, waiting, self.limits, self)
        self.models[served.name] = served
        served.measure()
        self.streams[served.stream].members.append(served)
        return served

    def _look_up(self, name: str) -> LabelledPrediction | None:
        with open_read_only(self.folder) as connection:
            found = find_answer(connection, name)
        return None if found is None else LabelledPrediction(found[0], json.loads(found[1]))

    def find(self, name: str) -> ServedModel:
        served = self.models.get(name)
        if served is None:
            raise RequestError(f"There is no model {name!r}.", "unknown-model", 404)
        return served

    def find_champion(self, served: ServedModel) -> ServedModel:
        return self.streams[served.stream].champion

    async def create(
        self, name: str, learner: Any, challenges: str | None, content: bytes | None = None
    ) -> ServedModel:
        """Create a model. For an uploaded model, `content` is its file."""
        if name in self.models or name in self._names_in_creation:
            raise RequestError(f"A model {name!r} already exists.", "name-taken", 409)
        if len(self.models) + len(self._names_in_creation) >= self.limits.models:
            raise RequestError(
                f"The server has {self.limits.models} models, the maximum. Delete one first.", "too-many-models", 409
            )
        champion = None if challenges is None else self.find(challenges)
        if champion is not None and champion.role != CHAMPION:
            raise RequestError(f"{challenges!r} is a challenger itself. Name its champion.", "not-a-champion", 409)
        if content is not None:
            self.check_memory(name, estimate_memory(learner, Growth()))
        self._names_in_creation.add(name)
        try:
            return await self._create_model(name, learner, champion, content)
        finally:
            self._names_in_creation.discard(name)

    async def _create_model(
        self, name: str, learner: Any, champion: ServedModel | None, content: bytes | None
    ) -> ServedModel:
        served = ServedModel(name, learner, self.limits, created=clock.now(), role=CHALLENGER if champion else CHAMPION)
        served.own = content is None
        settings = json.dumps(plain_settings_of(learner))
        stream = champion.stream if champion else None
        row = NewModel(name, stream, served.role, name_of(type(learner)), settings, served.created, served.own)
        uploaded = (
            None if content is None else await asyncio.to_thread(checkpoint.write_temporary, self.folder, content)
        )
        digest = None if content is None else sha256(content).hexdigest()

        def write(journal: Journal) -> tuple[int, int, int]:
            if champion is not None and journal.champion(champion.stream) != champion.id:
                raise RequestError(f"{champion.name!r} is no longer a champion.", "not-a-champion", 409)
            number, where, joined = journal.add_model(row)
            record_model(journal.connection, number, __version__, served.created, digest)
            checkpoint.remove(self.folder, number)  # files of a model whose creation was rolled back
            if uploaded is not None:
                journal.set_model(number, checkpoint=joined)
                checkpoint.move_into_place(uploaded, self.folder, number, joined)
            return number, where, joined

        try:
            served.id, served.stream, served.joined = await self.submit(write, needs_space=True)
        except BaseException:
            if uploaded is not None:
                uploaded.unlink(missing_ok=True)
            raise
        served.position = served.joined
        served.checkpoint = None if uploaded is None else served.joined
        self.add(served)
        self._reset_baseline(served)
        await self._save_baseline(served)
        return served

    def _reset_baseline(self, served: ServedModel) -> None:
        ledger = served.ledger
        served.past = ComparisonBaseline(ledger.examples, ledger.mistakes, self.find_champion(served).ledger.mistakes)

    async def _save_baseline(self, *members: ServedModel) -> None:
        pasts = [(served.id, json.dumps(served.past)) for served in members]

        def write(journal: Journal) -> None:
            for number, past in pasts:
                journal.set_model(number, past=past)

        await self.submit(write)

    async def delete(self, served: ServedModel) -> None:
        stream = self.streams[served.stream]

        def write(journal: Journal) -> None:
            members = journal.members(stream.id)
            if served.id not in members:
                raise StreamDeleted
            if journal.champion(stream.id) == served.id and len(members) > 1:
                raise RequestError(
                    f"{served.name!r} has challengers. Delete them first, or promote one.", "has-challengers", 409
                )
            journal.remove_model(served.id, served.stream)

        await self.submit(write)
        if self.models.pop(served.name, None) is not None:
            stream.members.remove(served)
        if not stream.members:
            self.streams.pop(stream.id, None)
        await asyncio.to_thread(checkpoint.remove, self.folder, served.id)

    async def promote(self, served: ServedModel) -> ServedModel:
        stream = self.streams[served.stream]

        def write(journal: Journal) -> None:
            champion = journal.champion(stream.id)
            if champion is None or served.id not in journal.members(stream.id):
                raise StreamDeleted
            if champion == served.id:
                raise RequestError(f"{served.name!r} is the champion already.", "already-champion", 409)
            journal.set_model(champion, role=CHALLENGER)
            journal.set_model(served.id, role=CHAMPION)

        await self.submit(write, needs_space=True)
        for member in stream.members:
            member.role = CHAMPION if member is served else CHALLENGER
        for member in stream.members:
            self._reset_baseline(member)
        await self._save_baseline(*stream.members)
        return served

    @property
    def disk_is_full(self) -> bool:
        return self.open and self.writer.full

    def journal_bytes(self) -> int:
        return sum(os.path.getsize(path) for path in self.folder.glob("journal.sqlite*"))
