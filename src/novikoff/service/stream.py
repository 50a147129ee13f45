"""A stream: what a champion and its challengers learn, what waits for labels, and the keys of retries."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from novikoff.errors import ModelTooLarge
from novikoff.memory_limit import limit_memory
from novikoff.service import clock
from novikoff.service.admission import Admission
from novikoff.service.journal import Key, Prediction
from novikoff.service.limits import SLACK, Limits
from novikoff.service.pending import Kept, Waiting
from novikoff.service.protocol import Member, Together
from novikoff.service.served import CHAMPION, Outcome, Served

log = logging.getLogger("novikoff.service")


@dataclass
class Stream:
    id: int
    waiting: Waiting
    limits: Limits
    allowed: dict[str, int] = field(default_factory=dict)
    """How many bytes each model may take while the journal is replayed."""
    members: list[Served] = field(default_factory=list)
    keys: dict[str, Key] = field(default_factory=dict)
    busy: dict[str, asyncio.Future[Any]] = field(default_factory=dict)
    """Keys and ids whose examples are on their way to the disk."""
    held: dict[str, asyncio.Future[None]] = field(default_factory=dict)
    """Keys of streams of lines that are under way."""
    admission: Admission = field(init=False)
    unsaved: list[Prediction] = field(default_factory=list)
    """Predictions to be written at the next occasion."""

    def __post_init__(self) -> None:
        self.admission = Admission(self.limits)

    @property
    def champion(self) -> Served:
        return next(served for served in self.members if served.role == CHAMPION)

    def apply(self, position: int, body: bytes) -> Outcome:
        """Learn one entry by all models; return the champion's outcome."""
        answer = Outcome()
        for served in self.members:
            if position > served.position and served.broken is None:
                outcome = self._learned_by(served, body)
                if served.broken is None:
                    served.position = position
                if served.role == CHAMPION:
                    answer = outcome
        self.champion.check()
        return answer

    def _learned_by(self, served: Served, body: bytes) -> Outcome:
        """What is no fault of an example ends the learning of this model, and of no other; the journal has it all."""
        limit = self.limits.max_model_bytes
        try:
            with limit_memory(self.allowed.get(served.name, limit + limit // SLACK)):
                return served.learn(body)
        except ModelTooLarge as problem:
            served.quarantine(problem.needed, problem.limit)
            return Outcome()
        except Exception as problem:
            log.error("the model %r can't go on", served.name, exc_info=problem)
            served.broken = (
                f"{served.name!r} can't go on ({type(problem).__name__}): what is in the journal is learned when the"
                " server is started again and the cause is gone."
            )
            return Outcome()

    def keep(self, features: object, now: float) -> str:
        name, kept = self.waiting.keep(features, now)
        self.unsaved.append(Prediction(name, *kept))
        if len(self.waiting.kept) > self.limits.pending or self.waiting.bytes > self.limits.pending_bytes:
            self.waiting.trim(now)
        return name

    def save_later(self, predictions: list[Prediction]) -> None:
        """Write predictions with the next entry, where they could not be written now."""
        self.unsaved = [one for one in predictions if self.waiting.needs(one.id)] + self.unsaved

    def note_row(self, row: int | None, kept: list[Prediction]) -> None:
        """The row of the journal in which these are now."""
        if row is not None:
            self.waiting.written(row, [prediction.id for prediction in kept])

    def restore(self, row: int, kept: list[Prediction]) -> None:
        """A row of predictions that was written before; what was answered since waits no longer."""
        for prediction in kept:
            if prediction.id not in self.waiting.answered:
                moment = min(prediction.time, clock.now())  # written before the clock was set back
                self.waiting.put(prediction.id, Kept(moment, prediction.features, prediction.client))
        self.note_row(row, kept)

    async def free(self, *names: str) -> None:
        """Waits until nobody else uses any of these keys and ids."""
        while used := [users[name] for name in names for users in (self.busy, self.held) if name in users]:
            await asyncio.wait(used)

    def end_busy(self, names: Iterable[str], task: asyncio.Task[Any] | None) -> None:
        """Free the keys and ids that a task uses."""
        for name in names:
            if self.busy.get(name) is task:
                del self.busy[name]

    def remember(self, key: str, about: Key) -> None:
        """The latest come last, so that the oldest are found first."""
        self.keys.pop(key, None)
        self.keys[key] = about

    def outdated_keys(self, now: float) -> list[str]:
        """Removes keys that are too old or too many, and gives them."""
        gone = []
        while self.keys:
            key, about = next(iter(self.keys.items()))
            if len(self.keys) <= self.limits.keys and now - about.time <= self.limits.keys_seconds:
                break
            del self.keys[key]
            gone.append(key)
        return gone

    def side_by_side(self) -> list[Member]:
        champion = self.champion
        return [_member(served, champion) for served in self.members]


def _member(served: Served, champion: Served) -> Member:
    counts, together = served.counts(), None
    if served is not champion and served.past is not None:
        together = Together(
            counts.examples - served.past.examples,
            counts.mistakes - served.past.mistakes,
            champion.ledger.mistakes - served.past.champion_mistakes,
        )
    return Member(
        served.name,
        served.role,
        counts.examples,
        counts.mistakes,
        counts.updates,
        counts.progressive_error,
        served.refused,
        together,
    )
