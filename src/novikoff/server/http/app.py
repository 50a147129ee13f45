"""The Starlette application: the handlers of the API, and the router that puts them behind their middleware."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from starlette.middleware import Middleware
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from novikoff.errors import NovikoffError
from novikoff.model_file import snapshot
from novikoff.reports.model_summary import describe_model
from novikoff.server import dashboard
from novikoff.server.http import middleware, schemas
from novikoff.server.http.docs_page import DOCS_POLICY, render_docs
from novikoff.server.http.errors import API_HEADERS, page_headers
from novikoff.server.http.event_stream import Events
from novikoff.server.http.middleware import ApiRequest, RequestMiddleware, Security
from novikoff.server.http.openapi import document
from novikoff.server.http.routes import EVENTS, FILE, JSON, NDJSON, PUBLIC, ROUTES, TEXT
from novikoff.server.models.learn_stream import LearnStream
from novikoff.server.models.line_chunks import blocks
from novikoff.server.models.predict import Predicting
from novikoff.server.models.registry import House
from novikoff.server.models.served_model import Served, compiled_for, made, uploaded, warmed
from novikoff.server.models.validation import Refused, decoded
from novikoff.server.ops.metrics import Metrics
from novikoff.server.storage.journal import entries, reader

CREATION = msgspec.json.Decoder(schemas.Creation)
KEY = b"idempotency-key"
KEYS = re.compile(rb"[!-~]{1,200}")
encode = msgspec.json.encode
Handler = Callable[[ApiRequest], Awaitable[Any]]
Query = TypeVar("Query")


class Reject:
    """An ASGI application that answers every request with one error."""

    def __init__(self, refused: Refused) -> None:
        self.refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["request"].reject(self.refused)


def build_router(security: Security, endpoints: Mapping[str, ASGIApp], lifespan: Any = None) -> Router:
    """Return the application. `endpoints` are ASGI applications by the name of their operation or the path of their
    public page. Without a valid token unknown paths and methods answer 401, like those that exist."""
    routes, allowed = [], dict[str, set[str]]()
    for operation in ROUTES:
        guard = Middleware(RequestMiddleware, security, operation.name, middleware.OPERATION_CHECKS, operation)
        routes.append(Route(operation.path, endpoints[operation.name], methods=[operation.method], middleware=[guard]))
    for path, name in PUBLIC.items():
        policy = DOCS_POLICY if path == "/docs" else dashboard.POLICY
        headers = API_HEADERS if path.startswith("/v1/") else page_headers(policy)
        guard = Middleware(RequestMiddleware, security, name, middleware.PUBLIC_CHECKS, headers=headers)
        routes.append(Route(path, endpoints[path], methods=["GET"], middleware=[guard]))
    for route in routes:
        allowed.setdefault(route.path, set()).update(route.methods or ())
    for path, methods in allowed.items():
        names = ", ".join(sorted(methods))
        refused = Refused(f"This path takes {names} only.", "other-method", 405, ((b"allow", names.encode()),))
        routes.append(Route(path, RequestMiddleware(Reject(refused), security, "unknown", middleware.UNKNOWN_CHECKS)))
    for route in routes:  # Starlette's "$" matches before a newline at the end, too
        route.path_regex = re.compile(route.path_regex.pattern.removesuffix("$") + r"\Z")
    missing = Reject(Refused("There is nothing at this path: see /v1/openapi.json.", "no-such-path", 404))
    default = RequestMiddleware(missing, security, "unknown", middleware.UNKNOWN_CHECKS)
    return Router(routes, redirect_slashes=False, default=default, lifespan=lifespan)


class Endpoint:
    """An ASGI application around one handler, whose result is sent as JSON. The middleware answers its exceptions."""

    def __init__(self, handler: Handler, house: House, status: int = 200) -> None:
        self._handler, self._house, self._status = handler, house, status

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._house.open:
            raise Refused("The server is stopping.", "stopping", 503)
        result = await self._handler(scope["request"])
        if result is None:
            result = Response(status_code=self._status)
        if isinstance(result, Response):
            await result(scope, receive, send)
        else:
            await scope["request"].respond(self._status, JSON, encode(result))


class App:
    """The handlers of all operations: `App.predict` is that of the operation `predict`, and so on."""

    def __init__(self, house: House, metrics: Metrics, security: Security) -> None:
        self.house, self.limits, self.numbers, self.security = house, house.limits, metrics, security
        self.live = Events(house, metrics)

    def build(self, lifespan: Any) -> ASGIApp:
        """Return the ASGI application; `lifespan` begins before the first request and ends after the last."""
        endpoints: dict[str, ASGIApp] = {
            operation.name: Endpoint(getattr(self, operation.name), self.house, operation.status)
            for operation in ROUTES
        }
        for path, name in {"/": dashboard.FILES[0], **{f"/{name}": name for name in dashboard.FILES}}.items():
            content, media = dashboard.read(name)
            endpoints[path] = Response(content, media_type=media)
        endpoints["/docs"] = Response(render_docs(document()), media_type=dashboard.TYPES["html"])
        endpoints["/healthz"] = Response(b"alive\n", media_type="text/plain")
        endpoints["/readyz"] = Endpoint(self.ready, self.house)
        endpoints["/v1/openapi.json"] = Endpoint(self.openapi, self.house)
        return build_router(self.security, endpoints, lifespan)

    def _find(self, request: ApiRequest) -> Served:
        name = request.scope["path_params"]["name"]
        return self.house.models.get(name) or self.house.find(name)

    # --- Predicting ---

    async def predict(self, request: ApiRequest) -> Any:
        predicting = Predicting(self.house, self._find(request), self.numbers)
        if request.media != NDJSON:
            return await predicting.body(await request.body())
        keep = _read_query(request, schemas.PredictQuery).keep
        answers = await predicting.lines(blocks(request.stream(), self.limits.line), keep=keep)
        return StreamingResponse(answers, media_type=NDJSON)

    # --- Learning ---

    async def learn(self, request: ApiRequest) -> Any:
        served = self._find(request)
        stream = self.house.streams[served.stream]
        stream.check_learner(served)
        key = request.header.get(KEY)
        if key is not None and not KEYS.fullmatch(key):
            raise Refused("An Idempotency-Key has 1 to 200 characters of ASCII without spaces.", "bad-key", 400)
        name = None if key is None else key.decode()
        if request.media != NDJSON:
            return await stream.learn_one(await request.body(), name)
        skip = _read_query(request, schemas.LearnQuery).bad_lines == "skip"
        lines, learning = blocks(request.stream(), self.limits.line), LearnStream(stream, name, skip=skip)
        if NDJSON.encode() in request.header.get(b"accept", b""):
            return StreamingResponse(learning.report(lines), media_type=NDJSON)
        return await learning.learn_all(lines)

    # --- Models ---

    async def models(self, request: ApiRequest) -> schemas.Models:
        return schemas.Models([self._describe(served) for served in self.house.models.values()])

    async def model(self, request: ApiRequest) -> schemas.Model:
        return self._describe(self._find(request))

    def _describe(self, served: Served) -> schemas.Model:
        return served.described(self.house.champion_of(served).name)

    async def create(self, request: ApiRequest) -> schemas.Model:
        if request.media == FILE:
            query = _read_query(request, schemas.UploadQuery, "bad-name", 422)
            request.model = query.name
            content = await request.body()
            self.house.check_memory(query.name, len(content))
            learner = await asyncio.to_thread(uploaded, content)
            await asyncio.to_thread(compiled_for, learner)
            return self._describe(await self.house.create(query.name, learner, query.challenges or None, content))
        asked: schemas.Creation = decoded(CREATION, await request.body())
        request.model = asked.name
        learner = made(asked.learner, asked.settings)
        await asyncio.to_thread(warmed, learner)
        return self._describe(await self.house.create(asked.name, learner, asked.challenges))

    async def delete(self, request: ApiRequest) -> None:
        served = self._find(request)
        await self.house.delete(served)
        self.live.certifier.forget(served.name)

    async def promote(self, request: ApiRequest) -> schemas.Model:
        return self._describe(await self.house.promote(self._find(request)))

    async def ledger(self, request: ApiRequest) -> schemas.LedgerPage:
        served = self._find(request)
        stream = self.house.streams[served.stream]
        counts = msgspec.structs.asdict(served.counts())
        return schemas.LedgerPage(**counts, pending=stream.waiting.counted(), stream=stream.side_by_side())

    async def certificate(self, request: ApiRequest) -> schemas.CertificateDocument:
        models = self.house.models
        return await self.live.certifier.certify(self._find(request), lambda one: models.get(one.name) is one)

    async def inspect(self, request: ApiRequest) -> schemas.Inspection:
        served, query = self._find(request), _read_query(request, schemas.InspectQuery)
        served.check_learned()
        try:
            return msgspec.convert(describe_model(served.learner, query.top), schemas.Inspection)
        except NovikoffError as problem:
            raise Refused(str(problem), "not-shown", 409) from None

    async def history(self, request: ApiRequest) -> schemas.History:
        return self.live.history(self._find(request))

    async def download(self, request: ApiRequest) -> Response:
        served = self._find(request)
        served.check_learned()
        content = await asyncio.to_thread(snapshot(served.learner))
        headers = {"Content-Disposition": f'attachment; filename="{served.name}.model"'}
        return Response(content, media_type=FILE, headers=headers)

    async def examples(self, request: ApiRequest) -> Response:
        served = self._find(request)
        if request.method == "HEAD":
            return Response(media_type=NDJSON)

        def lines() -> Iterator[bytes]:
            with reader(self.house.folder) as on:
                for entry in entries(on, served.stream, served.joined):
                    yield entry.body if entry.body.endswith(b"\n") else entry.body + b"\n"

        return StreamingResponse(lines(), media_type=NDJSON)

    # --- The server ---

    async def events(self, request: ApiRequest) -> Response:
        if request.method == "HEAD":
            return Response(media_type=EVENTS)
        return StreamingResponse(self.live.stream(), media_type=EVENTS)

    async def metrics(self, request: ApiRequest) -> Response:
        return Response(self.numbers.text(self.house), media_type=TEXT)

    async def openapi(self, request: ApiRequest) -> dict[str, Any]:
        return document(closed=self.security.tokens.closed())

    async def ready(self, request: ApiRequest) -> Response:
        if self.house.disk_is_full or not self.house.writer.is_alive():
            raise Refused("Nothing can be written to the disk: predicting only.", "disk-full", 503)
        return Response(b"ready\n", media_type="text/plain")


def _read_query(request: ApiRequest, kind: type[Query], code: str = "bad-query", status: int = 400) -> Query:
    try:
        return msgspec.convert(request.query, kind, strict=False)
    except msgspec.ValidationError as problem:
        raise Refused(f"The query is not valid: {problem}.", code, status) from None
