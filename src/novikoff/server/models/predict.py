"""Prediction requests: one example, a list or a stream of lines. Predictions can be kept until their labels arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from novikoff.server.http.errors import encode_problem, to_request_error
from novikoff.server.http.schemas import PredictionList, PredictQuery, PredictRequest, PredictResponse
from novikoff.server.models.line_runs import LineRun
from novikoff.server.models.registry import ModelRegistry
from novikoff.server.models.served_model import ServedModel
from novikoff.server.models.validation import RequestError, check_features, decode_body
from novikoff.server.ops import clock
from novikoff.server.ops.metrics import Metrics

EXAMPLES_BETWEEN_YIELDS = 100  # of one body, until other requests are handled
MAX_EXPLAINED_EXAMPLES = 1_000  # of one body: an explanation is many times as long as its example
encode = msgspec.json.encode
Options = PredictRequest | PredictQuery
"""What a request asks for beside label and score: those of a body stand in it, those of a stream in the query."""


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
            return self._one(request.features, request)
        examples: Any = request.examples
        self._check_number(len(examples), request)
        answers, step = [], 1 if request.explain else EXAMPLES_BETWEEN_YIELDS
        for k, example in enumerate(examples, 1):
            answers.append(self._one(example.features, request))
            if k % step == 0:
                await asyncio.sleep(0)  # let other requests run
        return PredictionList(answers)

    def _check_number(self, examples: int, options: Options) -> None:
        most = self.registry.limits.examples
        if options.explain:
            most = min(most, MAX_EXPLAINED_EXAMPLES)
        if examples > most:
            what = "examples to explain" if options.explain else "examples"
            detail = f"A body may have at most {most:,} {what}, got {examples:,}. Send them as NDJSON lines."
            raise RequestError(detail, "too-many-examples")

    async def lines(self, blocks: AsyncIterator[bytes], options: Options) -> AsyncIterator[bytes]:
        """Return an iterator over blocks of response lines.

        An error in the first block is raised, so that the response has an error status. A later error is the last
        line of the response.
        """
        answers = self._iter_explained(blocks, options) if options.explain else self._iter_responses(blocks, options)
        first = await anext(answers, b"")

        async def all_answers() -> AsyncIterator[bytes]:
            yield first
            try:
                async for answer in answers:
                    yield answer
            except RequestError as problem:
                yield encode_problem(to_request_error(problem)) + b"\n"

        return all_answers()

    async def _iter_responses(self, blocks: AsyncIterator[bytes], options: Options) -> AsyncIterator[bytes]:
        before, is_plain = 0, not options.probabilities
        async for block in blocks:
            answers = bytearray()
            for found in self.registry.reader.runs(block):
                if is_plain and isinstance(found, LineRun) and not found.labelled:
                    for i, prediction in enumerate(self.served.predict_run(found)):
                        kept = found.features(i) if options.keep else None
                        answers += encode(self._build_response(kept, *prediction)) + b"\n"
                    continue
                for number, line in found.iter_lines():
                    try:
                        answers += self._answer_line(line, before + number, options)
                    except RequestError:
                        if answers:
                            yield bytes(answers)
                        raise
            before += block.count(b"\n")
            yield bytes(answers)

    async def _iter_explained(self, blocks: AsyncIterator[bytes], options: Options) -> AsyncIterator[bytes]:
        """Yield responses line by line: explanations of a whole block would need much memory."""
        before = 0
        async for block in blocks:
            for found in self.registry.reader.runs(block):
                for number, line in found.iter_lines():
                    yield self._answer_line(line, before + number, options)
                    await asyncio.sleep(0)  # let other requests run
            before += block.count(b"\n")

    def _answer_line(self, line: bytes, number: int, options: Options) -> bytes:
        try:
            features = decode_body(self.served.decoders.example, line).features
            return encode(self._one(features, options)) + b"\n"
        except RequestError as problem:
            raise RequestError(f"Line {number}: {problem}", problem.code, problem.status) from None

    def _one(self, features: Any, options: Options) -> PredictResponse:
        check_features(features, self.registry.limits)
        prediction = self.served.predict(features)
        probabilities = self.served.predict_probabilities(features) if options.probabilities else msgspec.UNSET
        explanation = self.served.explain(features) if options.explain else msgspec.UNSET
        response = self._build_response(features if options.keep else None, *prediction)
        response.probabilities, response.explanation = probabilities, explanation
        return response

    def _build_response(self, kept: Any, label: Any, score: float) -> PredictResponse:
        self.numbers.predicted += 1
        return PredictResponse(
            None if kept is None else self.registry.keep(self.served, kept, clock.now()), label, score
        )
