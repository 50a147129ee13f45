"""Predicting by request: one example, some, or a stream of lines; what is predicted may wait for its label."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from novikoff.server.http.errors import problem_details, refusal_for
from novikoff.server.http.schemas import AllPredicted, Predicted, Prediction
from novikoff.server.models.ndjson_batch import Run
from novikoff.server.models.registry import House
from novikoff.server.models.served_model import Served
from novikoff.server.models.validation import Refused, check_features, decoded
from novikoff.server.ops import clock
from novikoff.server.ops.metrics import Metrics

AT_ONCE = 100  # examples of a body
encode = msgspec.json.encode


class Predicting:
    """By one model."""

    def __init__(self, house: House, served: Served, numbers: Metrics) -> None:
        self.house, self.served, self.numbers = house, served, numbers

    async def body(self, body: bytes) -> Predicted | AllPredicted:
        """A body with one example, or with some."""
        asked: Prediction = decoded(self.served.decoders.prediction, body)
        if (asked.features is msgspec.UNSET) == (asked.examples is msgspec.UNSET):
            raise Refused('Say either "features" or "examples".', "bad-body")
        if asked.features is not msgspec.UNSET:
            return self._one(asked.features, keep=asked.keep)
        examples: Any = asked.examples
        most = self.house.limits.examples
        if len(examples) > most:
            sentence = f"A body may have {most:,} examples, but {len(examples):,} came: send them as lines."
            raise Refused(sentence, "too-many-examples")
        answers = []
        for k, example in enumerate(examples, 1):
            answers.append(self._one(example.features, keep=asked.keep))
            if k % AT_ONCE == 0:
                await asyncio.sleep(0)  # others want to be answered, too
        return AllPredicted(answers)

    async def lines(self, blocks: AsyncIterator[bytes], *, keep: bool) -> AsyncIterator[bytes]:
        """Lines of answers. What is wrong in the first block is raised, and has a status of its own; later on it is the
        last line."""
        answers = self._answers(blocks, keep=keep)
        first = await anext(answers, b"")

        async def all_answers() -> AsyncIterator[bytes]:
            yield first
            try:
                async for answer in answers:
                    yield answer
            except Refused as problem:
                yield problem_details(refusal_for(problem)) + b"\n"

        return all_answers()

    async def _answers(self, blocks: AsyncIterator[bytes], *, keep: bool) -> AsyncIterator[bytes]:
        before = 0
        async for block in blocks:
            answers = bytearray()
            for found in self.house.reader.runs(block):
                if isinstance(found, Run) and not found.labelled:
                    for i, said in enumerate(self.served.predict_run(found)):
                        kept = found.features(i) if keep else None
                        answers += encode(self._encode_labels(kept, *said)) + b"\n"
                    continue
                for number, line in found.all_lines():
                    try:
                        features = decoded(self.served.decoders.example, line).features
                        answers += encode(self._one(features, keep=keep)) + b"\n"
                    except Refused as problem:
                        if answers:
                            yield bytes(answers)
                        raise Refused(f"Line {before + number}: {problem}", problem.code, problem.status) from None
            before += block.count(b"\n")
            yield bytes(answers)

    def _one(self, features: Any, *, keep: bool) -> Predicted:
        check_features(features, self.house.limits)
        return self._encode_labels(features if keep else None, *self.served.predict(features))

    def _encode_labels(self, kept: Any, label: Any, score: float) -> Predicted:
        self.numbers.predicted += 1
        return Predicted(None if kept is None else self.house.keep(self.served, kept, clock.now()), label, score)
