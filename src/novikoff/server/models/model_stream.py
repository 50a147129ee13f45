"""A stream: its champion and challengers, its pending predictions, and its idempotency keys.

Learning has four steps: validate, append to the journal, apply to the models, respond. This module does that for one
example or one late label; line_upload.py does it for blocks of lines.

An example that the learner refuses when it is applied stays in the journal; a replay refuses it again.
"""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from novikoff.errors import ModelTooLarge
from novikoff.memory_limit import limit_memory
from novikoff.server.http.schemas import GroupMember, LearnRequest, LearnResponse, SharedCounts
from novikoff.server.models.admission import MemoryAdmission, MemoryDemand
from novikoff.server.models.line_runs import LineRun
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
    """Index of the example in the journal entry."""


LateLabels = dict[str, LateLabel]
"""Late labels by the ids of predictions."""


@dataclass
class ModelStream:
    """The models that learn the same stream: a champion and its challengers."""

    id: int
    waiting: PendingPredictions
    limits: Limits
    registry: ModelRegistry
    allowed: dict[str, int] = field(default_factory=dict)
    """Memory limit of each model in bytes while the journal is replayed."""
    members: list[ServedModel] = field(default_factory=list)
    keys: dict[str, IdempotencyRecord] = field(default_factory=dict)
    in_flight_names: dict[str, asyncio.Future[Any]] = field(default_factory=dict)
    """Keys and ids whose examples are being written."""
    held: dict[str, asyncio.Future[None]] = field(default_factory=dict)
    """Keys of streams of lines that are in progress."""
    admission: MemoryAdmission = field(init=False)
    unsaved: list[StoredPrediction] = field(default_factory=list)
    """Predictions to be written with the next entry or flush."""

    def __post_init__(self) -> None:
        self.admission = MemoryAdmission(self.limits)

    @property
    def champion(self) -> ServedModel:
        for served in self.members:
            if served.role == CHAMPION:
                return served
        raise LookupError("the stream has no champion")

    # --- Learning ---

    def check_accepts_examples(self, served: ServedModel) -> None:
        """Raise RequestError if this model accepts no examples."""
        if served.role == CHALLENGER:
            champion = self.champion.name
            raise RequestError(
                f"{served.name!r} is a challenger and learns the examples of {champion!r}. Send them there.",
                "challenger",
                409,
            )
        served.check()  # examples for a stopped model would be journaled, but never acknowledged

    async def learn_one(self, body: bytes, key: str | None) -> LearnResponse:
        """Learn the example or the late label of a JSON body."""
        example: LearnRequest = decode_body(self.champion.decoders.labelled, body)
        self.validate(example)
        names = [name for name in (key, example.id) if isinstance(name, str)]
        if names:  # only the result of an earlier request with one of them shows whether this is a repetition
            await self.free(*names)
        record = None
        if key is not None:
            digest = blake2b(body, digest_size=16).digest()
            if self._was_learned(key, digest):
                return LearnResponse(ALREADY_LEARNED, 0, 0, 0)
            record = key, IdempotencyRecord(1, digest, clock.now())
        late: LateLabels = {}
        demand = MemoryDemand()
        line = self.admit_line(example, late, 0, demand)
        if line is None:
            return LearnResponse(ALREADY_LEARNED, 0, 0, 0)
        outcome = await self.commit(line, 1, late, record, demand)
        if outcome.problem is not None:
            raise RequestError(str(outcome.problem), getattr(outcome.problem, "code", "not-learned"))
        return LearnResponse(LEARNED, outcome.examples, outcome.mistakes, outcome.updates)

    # --- Validation and admission ---

    def validate(self, example: LearnRequest) -> None:
        """Raise RequestError if an example, or a late label, is invalid or exceeds a limit."""
        has_id, has_features = example.id is not msgspec.UNSET, example.features is not msgspec.UNSET
        if has_id == has_features:
            raise RequestError('Send either "features" or the "id" of a prediction.', "invalid-body")
        check_label(example.label, self.limits)
        if has_features:
            check_features(example.features, self.limits)
            self.champion.check_bounds(example.features, example.label)

    def admit_line(self, example: LearnRequest, late: LateLabels, index: int, demand: MemoryDemand) -> bytes | None:
        """Return an example as a line of the journal, or None if its prediction has this label already.

        A late label is added to `late`, with the index of its example in the entry, and the memory that the example
        needs is added to `demand`. The caller must call `commit` before it awaits anything.
        """
        if example.id is msgspec.UNSET:
            self.admit(example.features, example.label, demand)
            return encode_line(example.features, example.label)
        prediction_id = str(example.id)
        try:
            kept = self.waiting.claim(prediction_id, example.label)
        except LateLabelError as problem:
            raise RequestError(str(problem), problem.code, problem.status) from None
        if kept is None:
            return None
        features = RAW_FEATURES_DECODER.decode(kept.features)
        try:
            self.champion.check_bounds(features, example.label)
            self.admit(features, example.label, demand)
        except RequestError:
            self.waiting.release(prediction_id, kept)
            raise
        late[prediction_id] = LateLabel(example.label, kept, index)
        return encode_line(features, example.label)

    def admit(self, features: Any, label: Any, demand: MemoryDemand) -> None:
        """Raise RequestError if there is not enough memory for an example."""
        self.admission.admit(self.champion, features, label, demand, self.registry.models)

    def admit_run(self, run: LineRun, demand: MemoryDemand) -> bool:
        """Return whether there is certainly enough memory for a run of lines."""
        return self.admission.admit_run(self.champion, run, demand, self.registry.models)

    def is_short_of_memory(self, size: int) -> bool:
        """Return whether there may be too little memory for a block of lines of this size."""
        return self.admission.is_short(self.champion, size, self.registry.models)

    # --- Journal, then models ---

    def commit(
        self,
        body: bytes,
        lines: int,
        late: LateLabels,
        key: tuple[str, IdempotencyRecord] | None,
        demand: MemoryDemand,
        chain: JobChain | None = None,
    ) -> asyncio.Future[LearnOutcome]:
        """Append one entry to the journal, and apply it when it is durable; return a future of the outcome.

        The caller only waits for the outcome: to cancel the future cancels neither step. The entry is attributed to
        the client whose request is being handled.
        """
        self.admission.begin(demand)
        answers = [
            (prediction_id, self.id, self.waiting.answered[prediction_id].time, json.dumps(label.label))
            for prediction_id, label in late.items()
        ]
        predictions, self.unsaved = self.unsaved, []  # they become durable with the entry that follows them
        labelled = {
            prediction_id: LabelledLine(label.example, label.kept.client) for prediction_id, label in late.items()
        }
        client = CURRENT_CLIENT.get()
        entry = LearnEntry(self.id, body, lines, clock.now(), predictions, answers, key, client, labelled)
        appended, outcome = self.registry.writer.append(entry, chain), self.registry.loop.create_future()
        for name in late if key is None else (*late, key[0]):
            self.in_flight_names[name] = appended
        appended.add_done_callback(partial(self._finish, entry, late, demand, chain is None, outcome))
        return outcome

    def _finish(
        self,
        entry: LearnEntry,
        late: LateLabels,
        demand: MemoryDemand,
        is_whole_request: bool,
        outcome: asyncio.Future[LearnOutcome],
        appended: asyncio.Future[tuple[int, int | None]],
    ) -> None:
        """Apply an entry that is durable in the journal, or give up one that could not be written.

        The entry may also be durable while the champion is stopped. Then the request fails, and the entry is learned
        when the model is restored.

        Appends are resolved in the journal's order, and callbacks run in the order in which their futures are
        resolved. So models learn in the journal's order.
        """
        try:
            position, row = appended.result()
            self.record_row(row, entry.predictions)
            if entry.key is not None:
                self.remember(*entry.key)
            self.waiting.counts.labelled += len(late)
            learned = self.apply(position, entry.body)
        except Exception as problem:
            if isinstance(problem, DiskFull):
                self.requeue(entry.predictions)
            for prediction_id, label in late.items():
                self.waiting.release(prediction_id, label.kept)
            if not outcome.cancelled():
                outcome.set_exception(problem)
                outcome.exception()  # mark it as retrieved: the client may have disconnected
        else:
            if late:
                self._settle(late, set(learned.left_out))
            if learned.left_out and is_whole_request and entry.key is not None:
                self._forget(entry.key[0])
            if not outcome.cancelled():
                outcome.set_result(learned)
        self.admission.end(demand)
        for name in late if entry.key is None else (*late, entry.key[0]):
            if self.in_flight_names.get(name) is appended:
                del self.in_flight_names[name]

    def _settle(self, late: LateLabels, refused: set[int]) -> None:
        """Make learned labels final. Predictions whose labels were refused stay pending, also after a crash."""
        waiting = self.waiting
        back = [prediction_id for prediction_id, label in late.items() if label.example in refused]
        for prediction_id in late.keys() - back:
            waiting.settle(prediction_id)
        for prediction_id in back:
            waiting.release(prediction_id, late[prediction_id].kept)
        if back:
            waiting.counts.labelled -= len(back)
            self.registry.submit(lambda journal: journal.remove_answers(back))

    def apply(self, position: int, body: bytes) -> LearnOutcome:
        """Apply one entry to all models of the stream; return the champion's outcome."""
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
        """Apply an entry to one model. An unexpected failure stops only this model; the journal has the entry."""
        limit = self.limits.max_model_bytes
        try:
            with limit_memory(self.allowed.get(served.name, limit + limit // MEMORY_SLACK_DIVISOR)):
                return served.learn(body)
        except ModelTooLarge as problem:
            served.quarantine(problem.needed, problem.limit)
            return LearnOutcome()
        except Exception as problem:
            log.error("model %r stopped by an unexpected error", served.name, exc_info=problem)
            served.broken = (
                f"{served.name!r} was stopped by an unexpected error ({type(problem).__name__}). Its examples are in"
                " the journal, and are learned at the next start of the server if the cause is fixed."
            )
            return LearnOutcome()

    # --- Predictions that wait for their labels ---

    def keep(self, features: object, now: float) -> str:
        prediction_id, kept = self.waiting.keep(features, now)
        self.unsaved.append(StoredPrediction(prediction_id, *kept))
        if len(self.waiting.kept) > self.limits.pending or self.waiting.bytes > self.limits.pending_bytes:
            self.waiting.trim(now)
        return prediction_id

    def requeue(self, predictions: list[StoredPrediction]) -> None:
        """Schedule predictions that could not be written for the next entry or flush."""
        self.unsaved = [prediction for prediction in predictions if self.waiting.needs(prediction.id)] + self.unsaved

    def record_row(self, row: int | None, kept: list[StoredPrediction]) -> None:
        """Record the journal row in which these predictions were written."""
        if row is not None:
            self.waiting.record_row(row, [prediction.id for prediction in kept])

    def restore(self, row: int, kept: list[StoredPrediction]) -> None:
        """Restore the pending predictions of a journal row, except those that were labelled since."""
        for prediction in kept:
            if prediction.id not in self.waiting.answered:
                moment = min(prediction.time, clock.now())  # the clock may have been set back since
                self.waiting.put(prediction.id, PendingPrediction(moment, prediction.features, prediction.client))
        self.record_row(row, kept)

    # --- Idempotency keys ---

    def _was_learned(self, key: str, digest: bytes) -> bool:
        found = self.keys.get(key)
        if found is not None and found.digest != digest:
            raise key_reused_error()
        return found is not None

    def _forget(self, key: str) -> None:
        """Free the key of a refused example, so that it can be used again. After a crash, the recovery frees it."""
        self.keys.pop(key, None)
        self.registry.submit(lambda journal: journal.forget_keys(self.id, [key]))

    async def free(self, *names: str) -> None:
        """Wait until no other request uses any of these keys and ids."""
        while used := [users[name] for name in names for users in (self.in_flight_names, self.held) if name in users]:
            await asyncio.wait(used)

    def remember(self, key: str, about: IdempotencyRecord) -> None:
        """Record a used key. Keys are kept in the order of their use, the oldest first."""
        self.keys.pop(key, None)
        self.keys[key] = about

    def remove_outdated_keys(self, now: float) -> list[str]:
        """Remove and return the keys that are too old or above the limit."""
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
        "This Idempotency-Key was used for another body. Send a new key with a new request.", "idempotency-key-reused"
    )


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
