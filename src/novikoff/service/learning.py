"""Learning by request: one example, or the late label of a prediction; each applied once."""

from __future__ import annotations

import asyncio
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from novikoff.service import clock
from novikoff.service.admission import Share
from novikoff.service.attribution import LabelledLine
from novikoff.service.house import House
from novikoff.service.lessons import RAW_FEATURES, Refused, as_line, check_features, check_label, decoded
from novikoff.service.pending import Kept, Unlabelled
from novikoff.service.protocol import Learned, Lesson
from novikoff.service.runs import Run
from novikoff.service.served import CHALLENGER, Outcome, Served
from novikoff.service.stream import Key, Stream
from novikoff.service.writer import Chain

LEARNED, ALREADY = "learned", "already learned"


class Told(NamedTuple):
    """The late label of a prediction."""

    label: Any
    kept: Kept
    at: int
    """Which example of its entry it is, from 0 on."""


Late = dict[str, Told]
"""By the ids of predictions."""


class Learning:
    """Of one model."""

    def __init__(self, house: House, served: Served) -> None:
        if served.role == CHALLENGER:
            champion = house.champion_of(served).name
            raise Refused(f"{served.name!r} is a challenger: it learns what {champion!r} learns.", "challenger", 409)
        self.house, self.limits = house, house.limits
        self.stream: Stream = house.streams[served.stream]
        served.check()  # a model that is stopped is sent nothing: it would be in the journal, but not acknowledged

    async def one(self, body: bytes, key: str | None) -> Learned:
        """A body with one lesson."""
        lesson: Lesson = decoded(self.decoder, body)
        self.check(lesson)
        digest = blake2b(body, digest_size=16).digest()
        # What is on its way may yet be refused: only then it is known whether this is a second time.
        await self.stream.free(*(name for name in (key, lesson.id) if isinstance(name, str)))
        if key is not None and self._was_learned(key, digest):
            return Learned(ALREADY, 0, 0, 0)
        record = None if key is None else (key, Key(1, digest, clock.now()))
        late: Late = {}
        share = Share()
        line = self.line_of(lesson, late, 0, share)
        if line is None:
            return Learned(ALREADY, 0, 0, 0)
        outcome = await asyncio.shield(self.write(line, 1, late, record, share))
        if outcome.problem is not None:
            self._free(key)
            raise Refused(str(outcome.problem), getattr(outcome.problem, "code", "not-learned"))
        return Learned(LEARNED, outcome.examples, outcome.mistakes, outcome.updates)

    @property
    def decoder(self) -> msgspec.json.Decoder[Any]:
        """Of lessons, as the champion takes them."""
        return self.stream.champion.decoders.lesson

    def check(self, lesson: Lesson) -> None:
        has_id, has_features = lesson.id is not msgspec.UNSET, lesson.features is not msgspec.UNSET
        if has_id == has_features:
            raise Refused('Say either "features" or the "id" of a prediction.', "bad-body")
        check_label(lesson.label, self.limits)
        if has_features:
            check_features(lesson.features, self.limits)
            self.stream.champion.check_bounds(lesson.features, lesson.label)

    def line_of(self, lesson: Lesson, late: Late, at: int, share: Share) -> bytes | None:
        """A lesson as the journal keeps it; None where its prediction was labelled so before. A prediction that is
        labelled by it is added to `late`, as example `at`. Its memory is added to `share`: no request may come between
        that and writing."""
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
        late[name] = Told(lesson.label, kept, at)
        return as_line(features, lesson.label)

    def admit(self, features: Any, label: Any, share: Share) -> None:
        """Raise Refused where there is no memory for an example."""
        champion = self.stream.champion
        self.stream.admission.admit(champion, features, label, share, self.house.rest_of(champion))

    def admit_run(self, run: Run, share: Share) -> bool:
        """Return whether there is surely memory for a run of lines."""
        champion = self.stream.champion
        return self.stream.admission.admit_run(champion, run, share, self.house.rest_of(champion))

    def is_short_of_memory(self, size: int) -> bool:
        """Return whether there may be too little memory for a block of lines of this size."""
        champion = self.stream.champion
        return self.stream.admission.is_short(champion, size, self.house.rest_of(champion))

    def _was_learned(self, key: str, digest: bytes) -> bool:
        found = self.stream.keys.get(key)
        if found is not None and found.digest != digest:
            raise key_reused()
        return found is not None

    def _free(self, key: str | None) -> None:
        """A lesson that was refused was not learned: its key may be used again."""
        if key is not None:
            self.stream.keys.pop(key, None)
            self.house.written(lambda to: to.forget_keys(self.stream.id, [key]))

    def _settle(self, late: Late, refused: set[int]) -> None:
        """Labels that were learned are so for good; those that were refused are none: their predictions wait on."""
        waiting = self.stream.waiting
        back = [name for name, told in late.items() if told.at in refused]
        for name in late.keys() - back:
            waiting.settle(name)
        for name in back:
            waiting.release(name, late[name].kept)
        if back:
            waiting.counts.labelled -= len(back)
            self.house.written(lambda to: to.unanswer(back))

    def write(
        self,
        body: bytes,
        lines: int,
        late: Late,
        key: tuple[str, Key] | None,
        share: Share,
        chain: Chain | None = None,
    ) -> asyncio.Future[Outcome]:
        self.stream.admission.begin(share)
        labelled = {name: told.label for name, told in late.items()}
        places = {name: LabelledLine(told.at, told.kept.client) for name, told in late.items()}
        future = self.house.learn(self.stream, body, lines, labelled=labelled, key=key, chain=chain, places=places)
        names = [*labelled, *([key[0]] if key is not None else [])]
        self.stream.busy |= dict.fromkeys(names, future)

        def done(future: asyncio.Future[Outcome]) -> None:
            self.stream.admission.end(share)
            for name in names:
                if self.stream.busy.get(name) is future:
                    del self.stream.busy[name]
            if future.cancelled() or future.exception() is not None:
                for name, told in late.items():
                    self.stream.waiting.release(name, told.kept)
            elif late:
                self._settle(late, set(future.result().left_out))

        future.add_done_callback(done)
        return future


def key_reused() -> Refused:
    return Refused("This Idempotency-Key was used for another body: a new request needs a new key.", "key-reused")
