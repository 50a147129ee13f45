"""The handlers of the API. `App.build` puts them behind routes and middleware."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from novikoff.errors import NovikoffError
from novikoff.learners import name_of
from novikoff.report.described import described
from novikoff.service import page, proof
from novikoff.service.blocks import blocks
from novikoff.service.docs_page import render_docs
from novikoff.service.errors import PROBLEM_JSON, error_from
from novikoff.service.events import Events
from novikoff.service.house import House
from novikoff.service.journal import entries, reader
from novikoff.service.learn import ALREADY, LEARNED, LearnService
from novikoff.service.learn_stream import LearnStream
from novikoff.service.lessons import Refused, decoded
from novikoff.service.metrics import Metrics
from novikoff.service.middleware import RequestContext, Security
from novikoff.service.openapi import document
from novikoff.service.predicting import Predicting
from novikoff.service.protocol import (
    NAME,
    Creation,
    History,
    Learned,
    LedgerPage,
    Models,
    Point,
    Progress,
)
from novikoff.service.router import build_router
from novikoff.service.routes import EVENTS, FILE, JSON, NDJSON, ROUTES, TEXT
from novikoff.service.served import Served, compiled_for, made, uploaded, warmed
from novikoff.service.writer import DiskFull
from novikoff.store import frozen

CREATION = msgspec.json.Decoder(Creation)
KEY = "idempotency-key"
KEYS = re.compile(r"[!-~]{1,200}")
POINTS = 500
encode = msgspec.json.encode
Handler = Callable[[Request], Awaitable[Any]]


class Endpoint:
    """An ASGI application around one handler: results are sent as JSON, exceptions as problem details."""

    def __init__(self, handler: Handler, house: House, status: int = 200) -> None:
        self._handler, self._house, self._status = handler, house, status

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        context: RequestContext = scope["context"]
        try:
            if not self._house.open:
                raise Refused("The server is stopping.", "stopping", 503)
            result = await self._handler(Request(scope, receive))
        except Exception as problem:
            error = error_from(problem)
            await context.respond(error.status, PROBLEM_JSON, error.body(), error.headers)
            return
        if isinstance(result, Response):
            await result(scope, receive, send)
        elif result is None:
            await Response(status_code=self._status)(scope, receive, send)
        else:
            await context.respond(self._status, JSON, encode(result))


class App:
    """The handlers of all operations: `App.predict` is that of the operation `predict`, and so on."""

    def __init__(self, house: House, metrics: Metrics, security: Security) -> None:
        self.house, self.limits, self.numbers, self.security = house, house.limits, metrics, security
        self.events_of = Events(house, metrics)
        self._certificates: dict[str, tuple[Served, int, dict[str, Any]]] = {}
        self._certifying = asyncio.Lock()

    def build(self, lifespan: Any) -> ASGIApp:
        """Return the ASGI application; `lifespan` begins before the first request and ends after the last."""
        endpoints: dict[str, ASGIApp] = {
            operation.name: Endpoint(getattr(self, operation.name), self.house, operation.status)
            for operation in ROUTES
        }
        for path, name in {"/": page.FILES[0], **{f"/{name}": name for name in page.FILES}}.items():
            content, media = page.read(name)
            endpoints[path] = Response(content, media_type=media)
        endpoints["/docs"] = Response(render_docs(document()), media_type=page.TYPES["html"])
        endpoints["/healthz"] = Response(b"alive\n", media_type="text/plain")
        endpoints["/readyz"] = Endpoint(self.ready, self.house)
        endpoints["/v1/openapi.json"] = Endpoint(self.openapi, self.house)
        return build_router(self.security, endpoints, lifespan)

    def _served(self, request: Request) -> Served:
        return self.house.find(request.path_params["name"])

    # --- Predicting ---

    async def predict(self, request: Request) -> Any:
        predicting = Predicting(self.house, self._served(request), self.numbers)
        if _media(request) != NDJSON:
            return await predicting.body(await _body(request))
        keep = _choice(request, "keep", ("true", "false")) == "true"
        answers = await predicting.lines(blocks(request.stream(), self.limits.line), keep=keep)
        return StreamingResponse(answers, media_type=NDJSON)

    # --- Learning ---

    async def learn(self, request: Request) -> Any:
        service = LearnService(self.house, self._served(request))
        key = request.headers.get(KEY)
        if key is not None and not KEYS.fullmatch(key):
            raise Refused("An Idempotency-Key has 1 to 200 characters of ASCII without spaces.", "bad-key", 400)
        if _media(request) != NDJSON:
            return await service.learn_one(await _body(request), key)
        stream = LearnStream(service, key, skip=_choice(request, "bad_lines", ("error", "skip")) == "skip")
        applied = stream.learn(blocks(request.stream(), self.limits.line))
        if NDJSON in request.headers.get("accept", ""):
            return StreamingResponse(self._progress(stream, applied), media_type=NDJSON)
        try:
            async for _ in applied:
                pass
        except (Refused, DiskFull) as problem:
            problem.learned = stream.total.examples
            raise
        return self._summary(stream)

    async def _progress(self, stream: LearnStream, applied: AsyncIterator[int]) -> AsyncIterator[bytes]:
        """Yield a line after each block, and the summary or the error as the last line."""
        try:
            async for line in applied:
                yield encode(Progress(line, stream.total.examples)) + b"\n"
            yield encode(self._summary(stream)) + b"\n"
        except (Refused, DiskFull) as problem:
            problem.learned = stream.total.examples
            yield error_from(problem).body() + b"\n"

    def _summary(self, stream: LearnStream) -> Learned:
        total = stream.total
        if total.problem is not None and not stream.skip:
            detail = f"{sum(total.refused.values()):,} examples were refused, the first because: {total.problem}"
            problem = Refused(detail, "refused-examples")
            problem.learned = total.examples
            raise problem
        status = LEARNED if total.examples or not stream.line else ALREADY
        return Learned(status, total.examples, total.mistakes, total.updates, dict(total.refused))

    # --- Models ---

    async def models(self, request: Request) -> Models:
        return Models([self._described(served) for served in self.house.models.values()])

    async def model(self, request: Request) -> Any:
        return self._described(self._served(request))

    def _described(self, served: Served) -> Any:
        return served.described(self.house.champion_of(served).name)

    async def create(self, request: Request) -> Any:
        if _media(request) == FILE:
            name, challenges = request.query_params.get("name", ""), request.query_params.get("challenges")
            for given in (name, *([challenges] if challenges is not None else [])):
                if not re.fullmatch(NAME, given):
                    raise Refused(f"?name= must be letters, digits, '.', '_' and '-', but is {given!r}.", "bad-name")
            request.scope["context"].model = name
            content = await _body(request)
            self.house.check_memory(name, len(content))
            learner = await asyncio.to_thread(uploaded, content)
            await asyncio.to_thread(compiled_for, learner)
            return self._described(await self.house.create(name, learner, challenges, content))
        asked: Creation = decoded(CREATION, await _body(request))
        request.scope["context"].model = asked.name
        learner = made(asked.learner, asked.settings)
        await asyncio.to_thread(warmed, learner)
        return self._described(await self.house.create(asked.name, learner, asked.challenges))

    async def delete(self, request: Request) -> None:
        served = self._served(request)
        await self.house.delete(served)
        self._certificates.pop(served.name, None)
        self.events_of.certificates.pop(served.name, None)

    async def promote(self, request: Request) -> Any:
        return self._described(await self.house.promote(self._served(request)))

    async def ledger(self, request: Request) -> LedgerPage:
        served = self._served(request)
        counts, stream = served.counts(), self.house.streams[served.stream]
        return LedgerPage(
            counts.examples,
            counts.mistakes,
            counts.updates,
            counts.progressive_error,
            counts.radius,
            stream.waiting.counted(),
            stream.side_by_side(),
        )

    async def certificate(self, request: Request) -> Any:
        served = self._served(request)
        async with self._certifying:  # one at a time: it takes a processor for a while
            known = self._certificates.get(served.name)
            if known is None or known[0] is not served or known[1] != served.version:
                claim, version = proof.claim_of(served, name_of(type(served.learner))), served.version
                examples = served.ledger.examples
                try:
                    made_now = await asyncio.to_thread(proof.certified, self.house.folder, claim, self.limits)
                except Refused as problem:
                    if served.name not in self.events_of.certificates:  # an earlier bound stays true
                        self._note_certificate(served, {"examples": examples, "bound": None, "why": str(problem)})
                    raise
                self._certificates[served.name] = known = served, version, made_now
                self._note_certificate(served, proof.state_of(made_now, examples))
        return Response(encode(known[2]), media_type=JSON)

    def _note_certificate(self, served: Served, state: dict[str, Any]) -> None:
        if self.house.models.get(served.name) is served:  # it was not removed meanwhile
            self.events_of.certificates[served.name] = state

    async def inspect(self, request: Request) -> Any:
        served, top = self._served(request), _whole(request, "top", 20, 10_000)
        if not served.has_learned:
            raise Refused(f"{served.name!r} has learned nothing yet.", "nothing-learned", 409)
        try:
            return described(served.learner, top)
        except NovikoffError as problem:
            raise Refused(str(problem), "not-shown", 409) from None

    async def history(self, request: Request) -> History:
        served = self._served(request)
        ledger, certificate = served.ledger, self.events_of.certificate_of(served)

        def allowed(examples: int) -> float | None:
            if certificate is None or certificate["bound"] is None or examples > certificate["examples"]:
                return None
            return float(certificate["bound"]["allowed"])

        times, stride = ledger.mistake_times.tolist(), ledger.stride
        every = max(1, len(times) // POINTS + 1)
        points = [Point(times[k], (k + 1) * stride, allowed(times[k])) for k in range(0, len(times), every)]
        last = Point(ledger.examples, ledger.mistakes, allowed(ledger.examples))
        return History([Point(0, 0, allowed(0)), *points, last])

    async def download(self, request: Request) -> Response:
        served = self._served(request)
        if not served.has_learned:
            raise Refused(f"{served.name!r} has learned nothing yet: there is no file.", "nothing-learned", 409)
        content = await asyncio.to_thread(frozen(served.learner))
        headers = {"Content-Disposition": f'attachment; filename="{served.name}.model"'}
        return Response(content, media_type=FILE, headers=headers)

    async def examples(self, request: Request) -> Response:
        served = self._served(request)
        if request.method == "HEAD":
            return Response(media_type=NDJSON)

        def lines() -> Any:
            with reader(self.house.folder) as on:
                for entry in entries(on, served.stream, served.joined):
                    yield entry.body if entry.body.endswith(b"\n") else entry.body + b"\n"

        return StreamingResponse(lines(), media_type=NDJSON)

    # --- The server ---

    async def events(self, request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type=EVENTS)
        return StreamingResponse(self.events_of.stream(), media_type=EVENTS)

    async def metrics(self, request: Request) -> Response:
        return Response(self.numbers.text(self.house), media_type=TEXT)

    async def openapi(self, request: Request) -> Any:
        return document(closed=self.security.tokens.closed())

    async def ready(self, request: Request) -> Response:
        if self.house.disk_is_full or not self.house.writer.is_alive():
            raise Refused("Nothing can be written to the disk: predicting only.", "disk-full", 503)
        return Response(b"ready\n", media_type="text/plain")


async def _body(request: Request) -> bytes:
    """All of it, which mostly comes in one piece."""
    message = await request.receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        return bytes(message.get("body", b""))
    pieces = bytearray()
    while message["type"] == "http.request":
        pieces += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(pieces)
        message = await request.receive()
    raise ClientDisconnect


def _media(request: Request) -> str | None:
    """Return the media type of the body, which BodyMiddleware has checked."""
    media: str | None = request.scope["context"].media
    return media


def _choice(request: Request, name: str, choices: tuple[str, ...]) -> str:
    """The first one where nothing was said."""
    said = request.query_params.get(name, choices[0])
    if said not in choices:
        raise Refused(f"?{name}= must be {' or '.join(choices)}, but is {said!r}.", "bad-query", 400)
    return said


def _whole(request: Request, name: str, default: int, most: int) -> int:
    said = request.query_params.get(name, str(default))
    if not (said.isascii() and said.isdigit() and len(said) < 10 and int(said) <= most):
        raise Refused(f"?{name}= must be a whole number from 0 to {most:,}, but is {said!r}.", "bad-query", 400)
    return int(said)
