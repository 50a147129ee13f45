"""Predicting by request: one example, some, or a stream of lines; what is predicted may wait for its label."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from novikoff.server.http.errors import encode_problem, to_request_error
from novikoff.server.http.schemas import PredictionList, PredictRequest, PredictResponse
from novikoff.server.models.ndjson_batch import LineRun
from novikoff.server.models.registry import ModelRegistry
from novikoff.server.models.served_model import ServedModel
from novikoff.server.models.validation import RequestError, check_features, decode_body
from novikoff.server.ops import clock
from novikoff.server.ops.metrics import Metrics

EXAMPLES_BETWEEN_YIELDS = 100  # examples of a body
encode = msgspec.json.encode


class PredictService:
    """By one model."""

    def __init__(self, registry: ModelRegistry, served: ServedModel, numbers: Metrics) -> None:
        self.registry, self.served, self.numbers = registry, served, numbers

    async def body(self, body: bytes) -> PredictResponse | PredictionList:
        """A body with one example, or with some."""
        request: PredictRequest = decode_body(self.served.decoders.prediction, body)
        if (request.features is msgspec.UNSET) == (request.examples is msgspec.UNSET):
            raise RequestError('Say either "features" or "examples".', "invalid-body")
        if request.features is not msgspec.UNSET:
            return self._one(request.features, keep=request.keep)
        examples: Any = request.examples
        most = self.registry.limits.examples
        if len(examples) > most:
            sentence = f"A body may have {most:,} examples, but {len(examples):,} came: send them as lines."
            raise RequestError(sentence, "too-many-examples")
        answers = []
        for k, example in enumerate(examples, 1):
            answers.append(self._one(example.features, keep=request.keep))
            if k % EXAMPLES_BETWEEN_YIELDS == 0:
                await asyncio.sleep(0)  # others want to be answered, too
        return PredictionList(answers)

    async def lines(self, blocks: AsyncIterator[bytes], *, keep: bool) -> AsyncIterator[bytes]:
        """Lines of answers. What is wrong in the first block is raised, and has a status of its own; later on it is the
        last line."""
        answers = self._iter_responses(blocks, keep=keep)
        first = await anext(answers, b"")

        async def all_answers() -> AsyncIterator[bytes]:
            yield first
            try:
                async for answer in answers:
                    yield answer
            except RequestError as problem:
                yield encode_problem(to_request_error(problem)) + b"\n"

        return all_answers()

    async def _iter_responses(self, blocks: AsyncIterator[bytes], *, keep: bool) -> AsyncIterator[bytes]:
        before = 0
        async for block in blocks:
            answers = bytearray()
            for found in self.registry.reader.runs(block):
                if isinstance(found, LineRun) and not found.labelled:
                    for i, prediction in enumerate(self.served.predict_run(found)):
                        kept = found.features(i) if keep else None
                        answers += encode(self._build_response(kept, *prediction)) + b"\n"
                    continue
                for number, line in found.iter_lines():
                    try:
                        features = decode_body(self.served.decoders.example, line).features
                        answers += encode(self._one(features, keep=keep)) + b"\n"
                    except RequestError as problem:
                        if answers:
                            yield bytes(answers)
                        raise RequestError(f"Line {before + number}: {problem}", problem.code, problem.status) from None
            before += block.count(b"\n")
            yield bytes(answers)

    def _one(self, features: Any, *, keep: bool) -> PredictResponse:
        check_features(features, self.registry.limits)
        return self._build_response(features if keep else None, *self.served.predict(features))

    def _build_response(self, kept: Any, label: Any, score: float) -> PredictResponse:
        self.numbers.predicted += 1
        return PredictResponse(
            None if kept is None else self.registry.keep(self.served, kept, clock.now()), label, score
        )
