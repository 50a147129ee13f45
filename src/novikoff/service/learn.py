"""Learning by request: validate → append to the journal → apply to the models → response.

One example, or the late label of a prediction, each applied once; learn_stream.py does the same for blocks of lines.
"""

from __future__ import annotations

import asyncio
import json
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from novikoff.service import clock
from novikoff.service.admission import Share, rest_of
from novikoff.service.attribution import LabelledLine
from novikoff.service.client_limits import CURRENT_CLIENT
from novikoff.service.house import House
from novikoff.service.journal import Key, LearnEntry
from novikoff.service.lessons import RAW_FEATURES, Refused, as_line, check_features, check_label, decoded
from novikoff.service.pending import Kept, Unlabelled
from novikoff.service.protocol import Learned, Lesson
from novikoff.service.runs import Run
from novikoff.service.served import CHALLENGER, Outcome, Served
from novikoff.service.stream import Stream
from novikoff.service.writer import DiskFull, JobChain

LEARNED, ALREADY = "learned", "already learned"


class LateLabel(NamedTuple):
    """The label of an earlier prediction."""

    label: Any
    kept: Kept
    example: int
    """The index of its example in the journal entry."""


LateLabels = dict[str, LateLabel]
"""By the ids of predictions."""


class LearnService:
    """Learning by the models of one stream."""

    def __init__(self, house: House, served: Served) -> None:
        if served.role == CHALLENGER:
            champion = house.champion_of(served).name
            raise Refused(f"{served.name!r} is a challenger: it learns what {champion!r} learns.", "challenger", 409)
        self.house, self.limits = house, house.limits
        self.stream: Stream = house.streams[served.stream]
        served.check()  # examples for a stopped model would be journaled, but never acknowledged

    async def learn_one(self, body: bytes, key: str | None) -> Learned:
        """Learn the example or the late label of a JSON body."""
        lesson: Lesson = decoded(self.decoder, body)
        self.validate(lesson)
        digest = blake2b(body, digest_size=16).digest()
        # An earlier request with the same key or id may yet be refused: only its result says if this is a repetition.
        await self.stream.free(*(name for name in (key, lesson.id) if isinstance(name, str)))
        if key is not None and self._was_learned(key, digest):
            return Learned(ALREADY, 0, 0, 0)
        record = None if key is None else (key, Key(1, digest, clock.now()))
        late: LateLabels = {}
        share = Share()
        line = self.to_line(lesson, late, 0, share)
        if line is None:
            return Learned(ALREADY, 0, 0, 0)
        outcome = await asyncio.shield(self.commit(line, 1, late, record, share))
        if outcome.problem is not None:
            self._forget(key)
            raise Refused(str(outcome.problem), getattr(outcome.problem, "code", "not-learned"))
        return Learned(LEARNED, outcome.examples, outcome.mistakes, outcome.updates)

    # --- Validation and admission ---

    @property
    def decoder(self) -> msgspec.json.Decoder[Any]:
        """The decoder of lessons for the champion's kind of features."""
        return self.stream.champion.decoders.lesson

    def validate(self, lesson: Lesson) -> None:
        has_id, has_features = lesson.id is not msgspec.UNSET, lesson.features is not msgspec.UNSET
        if has_id == has_features:
            raise Refused('Say either "features" or the "id" of a prediction.', "bad-body")
        check_label(lesson.label, self.limits)
        if has_features:
            check_features(lesson.features, self.limits)
            self.stream.champion.check_bounds(lesson.features, lesson.label)

    def to_line(self, lesson: Lesson, late: LateLabels, index: int, share: Share) -> bytes | None:
        """Return a lesson as a line of the journal; None where its prediction has this label already.

        A prediction that it labels is added to `late`, with its index in the entry, and its memory to `share`: the
        caller must call `commit` before it awaits anything.
        """
        if lesson.id is msgspec.UNSET:
            self.admit(lesson.features, lesson.label, share)
            return as_line(lesson.features, lesson.label)
        name = str(lesson.id)
        try:
            kept = self.stream.waiting.claim(name, lesson.label)
        except Unlabelled as problem:
            raise Refused(str(problem), problem.code, problem.status) from None
        if kept is None:
            return None
        features = RAW_FEATURES.decode(kept.features)
        try:
            self.stream.champion.check_bounds(features, lesson.label)
            self.admit(features, lesson.label, share)
        except Refused:
            self.stream.waiting.release(name, kept)
            raise
        late[name] = LateLabel(lesson.label, kept, index)
        return as_line(features, lesson.label)

    def admit(self, features: Any, label: Any, share: Share) -> None:
        """Raise Refused where there is no memory for an example."""
        champion = self.stream.champion
        self.stream.admission.admit(champion, features, label, share, rest_of(self.house.models, champion))

    def admit_run(self, run: Run, share: Share) -> bool:
        """Return whether there is surely memory for a run of lines."""
        champion = self.stream.champion
        return self.stream.admission.admit_run(champion, run, share, rest_of(self.house.models, champion))

    def is_short_of_memory(self, size: int) -> bool:
        """Return whether there may be too little memory for a block of lines of this size."""
        champion = self.stream.champion
        return self.stream.admission.is_short(champion, size, rest_of(self.house.models, champion))

    # --- Journal, then models ---

    def commit(
        self,
        body: bytes,
        lines: int,
        late: LateLabels,
        key: tuple[str, Key] | None,
        share: Share,
        chain: JobChain | None = None,
    ) -> asyncio.Task[Outcome]:
        """Start a task that journals and applies one entry. A client that leaves does not cancel it.

        The entry is recorded as the data of the client whose request is handled now.
        """
        stream = self.stream
        stream.admission.begin(share)
        answers = [
            (name, stream.id, stream.waiting.answered[name].time, json.dumps(label.label))
            for name, label in late.items()
        ]
        predictions, stream.unsaved = stream.unsaved, []  # they become durable with the entry that follows them
        labelled = {name: LabelledLine(label.example, label.kept.client) for name, label in late.items()}
        client = CURRENT_CLIENT.get()
        entry = LearnEntry(stream.id, body, lines, clock.now(), predictions, answers, key, client, labelled)
        task = asyncio.create_task(self._commit(entry, late, share, chain))
        task.add_done_callback(_retrieve_exception)
        stream.busy |= dict.fromkeys(_busy_names(entry, late), task)
        return task

    async def _commit(self, entry: LearnEntry, late: LateLabels, share: Share, chain: JobChain | None) -> Outcome:
        """Append an entry to the journal; when it is durable, apply it to the models.

        Appends are resolved in the journal's order, and tasks go on in the order in which what they await is resolved.
        So models learn in the journal's order, as long as nothing is awaited between `append` and `apply`.
        """
        stream = self.stream
        try:
            position, row = await self.house.writer.append(entry, chain)
            stream.note_row(row, entry.predictions)
            if entry.key is not None:
                stream.remember(*entry.key)
            stream.waiting.counts.labelled += len(late)
            outcome = stream.apply(position, entry.body)
        except BaseException as problem:
            if isinstance(problem, DiskFull):
                stream.save_later(entry.predictions)
            for name, label in late.items():
                stream.waiting.release(name, label.kept)
            raise
        finally:
            stream.admission.end(share)
            stream.end_busy(_busy_names(entry, late), asyncio.current_task())
        if late:
            self._settle(late, set(outcome.left_out))
        return outcome

    def _settle(self, late: LateLabels, refused: set[int]) -> None:
        """Make learned labels final. Predictions whose labels were refused wait on."""
        waiting = self.stream.waiting
        back = [name for name, label in late.items() if label.example in refused]
        for name in late.keys() - back:
            waiting.settle(name)
        for name in back:
            waiting.release(name, late[name].kept)
        if back:
            waiting.counts.labelled -= len(back)
            self.house.written(lambda journal: journal.unanswer(back))

    # --- Idempotency keys ---

    def _was_learned(self, key: str, digest: bytes) -> bool:
        found = self.stream.keys.get(key)
        if found is not None and found.digest != digest:
            raise key_reused()
        return found is not None

    def _forget(self, key: str | None) -> None:
        """Free the key of a refused lesson: it may be used again."""
        if key is not None:
            self.stream.keys.pop(key, None)
            self.house.written(lambda journal: journal.forget_keys(self.stream.id, [key]))


def key_reused() -> Refused:
    return Refused("This Idempotency-Key was used for another body: a new request needs a new key.", "key-reused")


def _busy_names(entry: LearnEntry, late: LateLabels) -> list[str]:
    """Return the ids and the key that no other request may use while an entry is on its way."""
    return [*late] if entry.key is None else [*late, entry.key[0]]


def _retrieve_exception(task: asyncio.Task[Outcome]) -> None:
    """Mark the exception of a task as seen: the client that would see it may have left."""
    if not task.cancelled():
        task.exception()
