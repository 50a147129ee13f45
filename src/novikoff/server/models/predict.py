"""Prediction requests: one example, a list or a stream of lines. Predictions can be kept until their labels arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from novikoff.server.http.errors import encode_problem, to_request_error
from novikoff.server.http.schemas import PredictionList, PredictRequest, PredictResponse
from novikoff.server.models.line_runs import LineRun
from novikoff.server.models.registry import ModelRegistry
from novikoff.server.models.served_model import ServedModel
from novikoff.server.models.validation import RequestError, check_features, decode_body
from novikoff.server.ops import clock
from novikoff.server.ops.metrics import Metrics

EXAMPLES_BETWEEN_YIELDS = 100  # of one body, until other requests are handled
encode = msgspec.json.encode


class PredictService:
    """Predicts with one model."""

    def __init__(self, registry: ModelRegistry, served: ServedModel, numbers: Metrics) -> None:
        self.registry, self.served, self.numbers = registry, served, numbers

    async def body(self, body: bytes) -> PredictResponse | PredictionList:
        """Return the prediction for a JSON body with one example, or the predictions for a list of them."""
        request: PredictRequest = decode_body(self.served.decoders.prediction, body)
        if (request.features is msgspec.UNSET) == (request.examples is msgspec.UNSET):
            raise RequestError('Send either "features" or "examples".', "invalid-body")
        if request.features is not msgspec.UNSET:
            return self._one(request.features, keep=request.keep)
        examples: Any = request.examples
        most = self.registry.limits.examples
        if len(examples) > most:
            detail = f"A body may have at most {most:,} examples, got {len(examples):,}. Send them as NDJSON lines."
            raise RequestError(detail, "too-many-examples")
        answers = []
        for k, example in enumerate(examples, 1):
            answers.append(self._one(example.features, keep=request.keep))
            if k % EXAMPLES_BETWEEN_YIELDS == 0:
                await asyncio.sleep(0)  # let other requests run
        return PredictionList(answers)

    async def lines(self, blocks: AsyncIterator[bytes], *, keep: bool) -> AsyncIterator[bytes]:
        """Return an iterator over blocks of response lines.

        An error in the first block is raised, so that the response has an error status. A later error is the last
        line of the response.
        """
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
