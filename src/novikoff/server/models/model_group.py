"""A stream: what a champion and its challengers learn, what waits for labels, and the keys of retries.

Learning is validate → append to the journal → apply to the models → response. Here for one example, or the late label
of a prediction; learn_stream.py does the same for blocks of lines.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from novikoff.errors import ModelTooLarge
from novikoff.memory_limit import limit_memory
from novikoff.server.http.schemas import GroupMember, LearnRequest, LearnResponse, SharedCounts
from novikoff.server.models.admission import MemoryAdmission, MemoryDemand, measure_other_models
from novikoff.server.models.ndjson_batch import LineRun
from novikoff.server.models.pending_predictions import LateLabelError, PendingPrediction, PendingPredictions
from novikoff.server.models.served_model import CHALLENGER, CHAMPION, LearnOutcome, ServedModel
from novikoff.server.models.validation import (
    RAW_FEATURES_DECODER,
    RequestError,
    check_features,
    check_label,
    decode_body,
    encode_line,
)
from novikoff.server.ops import clock
from novikoff.server.ops.limits import MEMORY_SLACK_DIVISOR, Limits
from novikoff.server.storage.attribution import CURRENT_CLIENT, LabelledLine
from novikoff.server.storage.journal import DiskFull, IdempotencyRecord, JobChain, LearnEntry, StoredPrediction

if TYPE_CHECKING:
    from novikoff.server.models.registry import ModelRegistry

LEARNED, ALREADY_LEARNED = "learned", "already learned"
log = logging.getLogger("novikoff.server")


class LateLabel(NamedTuple):
    """The label of an earlier prediction."""

    label: Any
    kept: PendingPrediction
    example: int
    """The index of its example in the journal entry."""


LateLabels = dict[str, LateLabel]
"""By the ids of predictions."""


@dataclass
class ModelGroup:
    id: int
    waiting: PendingPredictions
    limits: Limits
    registry: ModelRegistry
    allowed: dict[str, int] = field(default_factory=dict)
    """How many bytes each model may take while the journal is replayed."""
    members: list[ServedModel] = field(default_factory=list)
    keys: dict[str, IdempotencyRecord] = field(default_factory=dict)
    in_flight_names: dict[str, asyncio.Future[Any]] = field(default_factory=dict)
    """Keys and ids whose examples are on their way to the disk."""
    held: dict[str, asyncio.Future[None]] = field(default_factory=dict)
    """Keys of streams of lines that are under way."""
    admission: MemoryAdmission = field(init=False)
    unsaved: list[StoredPrediction] = field(default_factory=list)
    """Predictions to be written at the next occasion."""

    def __post_init__(self) -> None:
        self.admission = MemoryAdmission(self.limits)

    @property
    def champion(self) -> ServedModel:
        for served in self.members:
            if served.role == CHAMPION:
                return served
        raise LookupError("the stream has no champion")

    # --- Learning ---

    def check_learner(self, served: ServedModel) -> None:
        """Raise RequestError if this model takes no examples."""
        if served.role == CHALLENGER:
            champion = self.champion.name
            raise RequestError(
                f"{served.name!r} is a challenger: it learns what {champion!r} learns.", "challenger", 409
            )
        served.check()  # examples for a stopped model would be journaled, but never acknowledged

    async def learn_one(self, body: bytes, key: str | None) -> LearnResponse:
        """Learn the example or the late label of a JSON body."""
        lesson: LearnRequest = decode_body(self.decoder, body)
        self.validate(lesson)
        names = [name for name in (key, lesson.id) if isinstance(name, str)]
        if names:  # an earlier request with one of them may yet be refused: its result says if this is a repetition
            await self.free(*names)
        record = None
        if key is not None:
            digest = blake2b(body, digest_size=16).digest()
            if self._was_learned(key, digest):
                return LearnResponse(ALREADY_LEARNED, 0, 0, 0)
            record = key, IdempotencyRecord(1, digest, clock.now())
        late: LateLabels = {}
        demand = MemoryDemand()
        line = self.to_line(lesson, late, 0, demand)
        if line is None:
            return LearnResponse(ALREADY_LEARNED, 0, 0, 0)
        outcome = await asyncio.shield(self.commit(line, 1, late, record, demand))
        if outcome.problem is not None:
            self._forget(key)
            raise RequestError(str(outcome.problem), getattr(outcome.problem, "code", "not-learned"))
        return LearnResponse(LEARNED, outcome.examples, outcome.mistakes, outcome.updates)

    # --- Validation and admission ---

    @property
    def decoder(self) -> msgspec.json.Decoder[Any]:
        """The decoder of lessons for the champion's kind of features."""
        return self.champion.decoders.lesson

    def validate(self, lesson: LearnRequest) -> None:
        has_id, has_features = lesson.id is not msgspec.UNSET, lesson.features is not msgspec.UNSET
        if has_id == has_features:
            raise RequestError('Say either "features" or the "id" of a prediction.', "invalid-body")
        check_label(lesson.label, self.limits)
        if has_features:
            check_features(lesson.features, self.limits)
            self.champion.check_bounds(lesson.features, lesson.label)

    def to_line(self, lesson: LearnRequest, late: LateLabels, index: int, demand: MemoryDemand) -> bytes | None:
        """Return a lesson as a line of the journal; None where its prediction has this label already.

        A prediction that it labels is added to `late`, with its index in the entry, and its memory to `demand`:
        the caller must call `commit` before it awaits anything.
        """
        if lesson.id is msgspec.UNSET:
            self.admit(lesson.features, lesson.label, demand)
            return encode_line(lesson.features, lesson.label)
        name = str(lesson.id)
        try:
            kept = self.waiting.claim(name, lesson.label)
        except LateLabelError as problem:
            raise RequestError(str(problem), problem.code, problem.status) from None
        if kept is None:
            return None
        features = RAW_FEATURES_DECODER.decode(kept.features)
        try:
            self.champion.check_bounds(features, lesson.label)
            self.admit(features, lesson.label, demand)
        except RequestError:
            self.waiting.release(name, kept)
            raise
        late[name] = LateLabel(lesson.label, kept, index)
        return encode_line(features, lesson.label)

    def admit(self, features: Any, label: Any, demand: MemoryDemand) -> None:
        """Raise RequestError if the memory does not suffice for an example."""
        champion = self.champion
        self.admission.admit(champion, features, label, demand, measure_other_models(self.registry.models, champion))

    def admit_run(self, run: LineRun, demand: MemoryDemand) -> bool:
        """Return whether there is surely memory for a run of lines."""
        champion = self.champion
        return self.admission.admit_run(champion, run, demand, measure_other_models(self.registry.models, champion))

    def is_short_of_memory(self, size: int) -> bool:
        """Return whether there may be too little memory for a block of lines of this size."""
        champion = self.champion
        return self.admission.is_short(champion, size, measure_other_models(self.registry.models, champion))

    # --- Journal, then models ---

    def commit(
        self,
        body: bytes,
        lines: int,
        late: LateLabels,
        key: tuple[str, IdempotencyRecord] | None,
        demand: MemoryDemand,
        chain: JobChain | None = None,
    ) -> asyncio.Task[LearnOutcome]:
        """Start a task that journals and applies one entry. A client that leaves does not cancel it.

        The entry is recorded as the data of the client whose request is handled now.
        """
        self.admission.begin(demand)
        answers = [
            (name, self.id, self.waiting.answered[name].time, json.dumps(label.label)) for name, label in late.items()
        ]
        predictions, self.unsaved = self.unsaved, []  # they become durable with the entry that follows them
        labelled = {name: LabelledLine(label.example, label.kept.client) for name, label in late.items()}
        client = CURRENT_CLIENT.get()
        entry = LearnEntry(self.id, body, lines, clock.now(), predictions, answers, key, client, labelled)
        appended = self.registry.writer.append(entry, chain)  # now: a task only starts with the loop's next iteration
        task = asyncio.create_task(self._commit(entry, appended, late, demand))
        task.add_done_callback(_retrieve_exception)
        self.in_flight_names |= dict.fromkeys(_list_busy_names(entry, late), task)
        return task

    async def _commit(
        self,
        entry: LearnEntry,
        appended: asyncio.Future[tuple[int, int | None]],
        late: LateLabels,
        demand: MemoryDemand,
    ) -> LearnOutcome:
        """When an entry is durable in the journal, apply it to the models.

        Appends are resolved in the journal's order, and tasks go on in the order in which what they await is resolved.
        So models learn in the journal's order, as long as nothing is awaited between `append` and `apply`.
        """
        try:
            position, row = await appended
            self.record_row(row, entry.predictions)
            if entry.key is not None:
                self.remember(*entry.key)
            self.waiting.counts.labelled += len(late)
            outcome = self.apply(position, entry.body)
        except BaseException as problem:
            if isinstance(problem, DiskFull):
                self.requeue(entry.predictions)
            for name, label in late.items():
                self.waiting.release(name, label.kept)
            raise
        finally:
            self.admission.end(demand)
            self.release_names(_list_busy_names(entry, late), asyncio.current_task())
        if late:
            self._settle(late, set(outcome.left_out))
        return outcome

    def _settle(self, late: LateLabels, refused: set[int]) -> None:
        """Make learned labels final. Predictions whose labels were refused wait on."""
        waiting = self.waiting
        back = [name for name, label in late.items() if label.example in refused]
        for name in late.keys() - back:
            waiting.settle(name)
        for name in back:
            waiting.release(name, late[name].kept)
        if back:
            waiting.counts.labelled -= len(back)
            self.registry.written(lambda journal: journal.remove_answers(back))

    def apply(self, position: int, body: bytes) -> LearnOutcome:
        """Learn one entry by all models; return the champion's outcome."""
        answer: LearnOutcome | None = None
        for served in self.members:
            if position > served.position and served.broken is None:
                outcome = self._apply_to(served, body)
                if served.broken is None:
                    served.position = position
                if served.role == CHAMPION:
                    answer = outcome
        self.champion.check()
        return answer or LearnOutcome()

    def _apply_to(self, served: ServedModel, body: bytes) -> LearnOutcome:
        """Let one model learn an entry. An unexpected failure stops this model only; the journal has the entry."""
        limit = self.limits.max_model_bytes
        try:
            with limit_memory(self.allowed.get(served.name, limit + limit // MEMORY_SLACK_DIVISOR)):
                return served.learn(body)
        except ModelTooLarge as problem:
            served.quarantine(problem.needed, problem.limit)
            return LearnOutcome()
        except Exception as problem:
            log.error("the model %r can't go on", served.name, exc_info=problem)
            served.broken = (
                f"{served.name!r} can't go on ({type(problem).__name__}): what is in the journal is learned when the"
                " server is started again and the cause is gone."
            )
            return LearnOutcome()

    # --- Predictions that wait for their labels ---

    def keep(self, features: object, now: float) -> str:
        name, kept = self.waiting.keep(features, now)
        self.unsaved.append(StoredPrediction(name, *kept))
        if len(self.waiting.kept) > self.limits.pending or self.waiting.bytes > self.limits.pending_bytes:
            self.waiting.trim(now)
        return name

    def requeue(self, predictions: list[StoredPrediction]) -> None:
        """Write predictions with the next entry, where they could not be written now."""
        self.unsaved = [one for one in predictions if self.waiting.needs(one.id)] + self.unsaved

    def record_row(self, row: int | None, kept: list[StoredPrediction]) -> None:
        """The row of the journal in which these are now."""
        if row is not None:
            self.waiting.written(row, [prediction.id for prediction in kept])

    def restore(self, row: int, kept: list[StoredPrediction]) -> None:
        """A row of predictions that was written before; what was answered since waits no longer."""
        for prediction in kept:
            if prediction.id not in self.waiting.answered:
                moment = min(prediction.time, clock.now())  # written before the clock was set back
                self.waiting.put(prediction.id, PendingPrediction(moment, prediction.features, prediction.client))
        self.record_row(row, kept)

    # --- Idempotency keys ---

    def _was_learned(self, key: str, digest: bytes) -> bool:
        found = self.keys.get(key)
        if found is not None and found.digest != digest:
            raise key_reused_error()
        return found is not None

    def _forget(self, key: str | None) -> None:
        """Free the key of a refused lesson: it may be used again."""
        if key is not None:
            self.keys.pop(key, None)
            self.registry.written(lambda journal: journal.forget_keys(self.id, [key]))

    async def free(self, *names: str) -> None:
        """Wait until no other request uses any of these keys and ids."""
        while used := [users[name] for name in names for users in (self.in_flight_names, self.held) if name in users]:
            await asyncio.wait(used)

    def release_names(self, names: Iterable[str], task: asyncio.Task[Any] | None) -> None:
        """Free the keys and ids that a task uses."""
        for name in names:
            if self.in_flight_names.get(name) is task:
                del self.in_flight_names[name]

    def remember(self, key: str, about: IdempotencyRecord) -> None:
        """The latest come last, so that the oldest are found first."""
        self.keys.pop(key, None)
        self.keys[key] = about

    def remove_outdated_keys(self, now: float) -> list[str]:
        """Removes keys that are too old or too many, and gives them."""
        gone = []
        while self.keys:
            key, about = next(iter(self.keys.items()))
            if len(self.keys) <= self.limits.keys and now - about.time <= self.limits.keys_seconds:
                break
            del self.keys[key]
            gone.append(key)
        return gone

    def compare_members(self) -> list[GroupMember]:
        champion = self.champion
        return [_describe_member(served, champion) for served in self.members]


def key_reused_error() -> RequestError:
    return RequestError(
        "This Idempotency-Key was used for another body: a new request needs a new key.", "idempotency-key-reused"
    )


def _list_busy_names(entry: LearnEntry, late: LateLabels) -> list[str]:
    """Return the ids and the key that no other request may use while an entry is on its way."""
    return [*late] if entry.key is None else [*late, entry.key[0]]


def _retrieve_exception(task: asyncio.Task[LearnOutcome]) -> None:
    """Mark the exception of a task as seen: the client that would see it may have left."""
    if not task.cancelled():
        task.exception()


def _describe_member(served: ServedModel, champion: ServedModel) -> GroupMember:
    counts, together = served.counts(), None
    if served is not champion and served.past is not None:
        together = SharedCounts(
            counts.examples - served.past.examples,
            counts.mistakes - served.past.mistakes,
            champion.ledger.mistakes - served.past.champion_mistakes,
        )
    return GroupMember(
        served.name,
        served.role,
        counts.examples,
        counts.mistakes,
        counts.updates,
        counts.progressive_error,
        served.refused,
        together,
    )
