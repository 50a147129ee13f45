"""The Starlette application: the handlers of the API, and the router that wraps each of them in its middleware."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Match, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from novikoff.errors import NovikoffError
from novikoff.model_file import snapshot
from novikoff.reports.model_summary import describe_model
from novikoff.server import dashboard
from novikoff.server.http import middleware, schemas
from novikoff.server.http.docs_page import DOCS_POLICY, render_docs
from novikoff.server.http.errors import API_HEADERS, build_page_headers
from novikoff.server.http.event_stream import EventStream
from novikoff.server.http.middleware import ApiRequest, RequestMiddleware, Security
from novikoff.server.http.openapi import build_document
from novikoff.server.http.routes import EVENT_STREAM, JSON, METRICS_TEXT, NDJSON, OCTET_STREAM, OPERATIONS, PUBLIC_PATHS
from novikoff.server.models.line_blocks import iter_line_blocks
from novikoff.server.models.line_upload import LineUpload
from novikoff.server.models.predict import PredictService
from novikoff.server.models.registry import ModelRegistry
from novikoff.server.models.served_model import ServedModel, create_learner, load_uploaded, precompile, try_precompile
from novikoff.server.models.validation import RequestError, decode_body
from novikoff.server.ops.metrics import Metrics
from novikoff.server.storage.journal import iter_entries, open_read_only

CREATE_DECODER = msgspec.json.Decoder(schemas.CreateRequest)
KEY_HEADER = b"idempotency-key"
KEY_PATTERN = re.compile(rb"[!-~]{1,200}")
JSON_RESULTS = (msgspec.Struct, dict)
Handler = Callable[[ApiRequest], Awaitable[Any]]
QueryType = TypeVar("QueryType")


class HandlerEndpoint:
    """An ASGI application that calls one handler and sends its result. The middleware handles exceptions."""

    def __init__(self, handler: Handler, registry: ModelRegistry, status: int = 200) -> None:
        self._handler, self._registry, self._status = handler, registry, status

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._registry.open:
            raise RequestError("The server is shutting down.", "shutting-down", 503)
        request: ApiRequest = scope["request"]
        result = await self._handler(request)
        if isinstance(result, JSON_RESULTS):
            await request.respond(self._status, JSON, msgspec.json.encode(result))
            return
        response = Response(status_code=self._status) if result is None else result
        if isinstance(response, StreamingResponse) and scope["method"] == "HEAD":
            response = Response(media_type=response.media_type)  # a stream may be endless
        await response(scope, receive, send)


class CachedRouter(Router):
    """Starlette's router, which remembers the routes of recent requests: matching takes many calls."""

    def __init__(self, routes: Sequence[Route], **settings: Any) -> None:
        super().__init__(routes, redirect_slashes=False, **settings)
        self._find = lru_cache(maxsize=256)(self._match)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            app, scope["path_params"] = self._find(scope["method"], scope["path"])
            await app(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    def _match(self, method: str, path: str) -> tuple[ASGIApp, dict[str, Any]]:
        for route in () if path.endswith("\n") else self.routes:  # a pattern also matches before a final newline
            match, found = route.matches({"type": "http", "method": method, "path": path})
            if match is Match.FULL and isinstance(route, Route):
                return route.app, found["path_params"]
        return self.default, {}


def build_router(security: Security, endpoints: Mapping[str, ASGIApp], lifespan: Any = None) -> Router:
    """Return the application. `endpoints` maps operation names and paths of public pages to ASGI applications.

    Without a valid token unknown paths and methods get status 401, like existing ones.
    """

    def refuse(*error: Any) -> ASGIApp:
        def fail(request: ApiRequest) -> None:
            raise RequestError(*error)

        return RequestMiddleware(Response(), security, "unknown", (*middleware.UNKNOWN_CHECKS, fail))

    routes, methods = [], defaultdict[str, set[str]](set)
    for operation in OPERATIONS:
        checks = middleware.OPERATION_CHECKS
        app = RequestMiddleware(endpoints[operation.name], security, operation.name, checks, operation)
        routes.append(Route(operation.path, app, methods=[operation.method]))
    for path, name in PUBLIC_PATHS.items():
        policy = DOCS_POLICY if path == "/docs" else dashboard.CONTENT_SECURITY_POLICY
        headers = API_HEADERS if path.startswith("/v1/") else build_page_headers(policy)
        app = RequestMiddleware(endpoints[path], security, name, middleware.PUBLIC_CHECKS, headers=headers)
        routes.append(Route(path, app, methods=["GET"]))
    for route in routes:
        methods[route.path] |= route.methods or set()
    for path, found in methods.items():
        allowed = ", ".join(sorted(found))
        error = f"This path supports only {allowed}.", "method-not-allowed", 405, ((b"allow", allowed.encode()),)
        routes.append(Route(path, refuse(*error)))
    missing = refuse("Unknown path. /v1/openapi.json lists all paths.", "not-found", 404)
    return CachedRouter(routes, default=missing, lifespan=lifespan)


class ApiHandlers:
    """The handlers of all operations: each method handles the operation of its name."""

    def __init__(self, registry: ModelRegistry, metrics: Metrics, security: Security) -> None:
        self.registry, self.limits, self.numbers, self.security = registry, registry.limits, metrics, security
        self.event_stream = EventStream(registry, metrics)

    def build(self, lifespan: Any) -> ASGIApp:
        """Return the ASGI application. `lifespan` is Starlette's start-up and shutdown context."""
        endpoints: dict[str, ASGIApp] = {
            operation.name: HandlerEndpoint(getattr(self, operation.name), self.registry, operation.status)
            for operation in OPERATIONS
        }
        for name in dashboard.DASHBOARD_FILES:
            content, media = dashboard.read_dashboard_file(name)
            endpoints[f"/{name}"] = Response(content, media_type=media)
        endpoints["/"] = endpoints[f"/{dashboard.DASHBOARD_FILES[0]}"]
        endpoints["/docs"] = Response(render_docs(build_document()), media_type=dashboard.MEDIA_TYPES["html"])
        endpoints["/healthz"] = Response(b"alive\n", media_type="text/plain")
        endpoints["/readyz"] = HandlerEndpoint(self.ready, self.registry)
        endpoints["/v1/openapi.json"] = HandlerEndpoint(self.openapi, self.registry)
        return build_router(self.security, endpoints, lifespan)

    def _find(self, request: ApiRequest) -> ServedModel:
        name = request.scope["path_params"]["name"]
        return self.registry.models.get(name) or self.registry.find(name)

    # --- Predicting ---

    async def predict(self, request: ApiRequest) -> Any:
        service = PredictService(self.registry, self._find(request), self.numbers)
        if request.media != NDJSON:
            return await service.body(await request.body())
        query = _parse_query(request, schemas.PredictQuery)
        answers = await service.lines(iter_line_blocks(request.stream(), self.limits.line), query)
        return StreamingResponse(answers, media_type=NDJSON)

    # --- Learning ---

    async def learn(self, request: ApiRequest) -> Any:
        served = self._find(request)
        stream = self.registry.streams[served.stream]
        stream.check_accepts_examples(served)
        key = request.header.get(KEY_HEADER)
        if key is not None and not KEY_PATTERN.fullmatch(key):
            detail = "The Idempotency-Key must be 1 to 200 ASCII characters without spaces."
            raise RequestError(detail, "invalid-idempotency-key", 400)
        key_text = None if key is None else key.decode()
        if request.media != NDJSON:
            return await stream.learn_one(await request.body(), key_text)
        skip = _parse_query(request, schemas.LearnQuery).bad_lines == "skip"
        lines, learning = iter_line_blocks(request.stream(), self.limits.line), LineUpload(stream, key_text, skip=skip)
        if NDJSON.encode() in request.header.get(b"accept", b""):
            return StreamingResponse(learning.report(lines), media_type=NDJSON)
        return await learning.learn_all(lines)

    # --- Models ---

    async def models(self, request: ApiRequest) -> schemas.ModelList:
        return schemas.ModelList([self._describe(served) for served in self.registry.models.values()])

    async def model(self, request: ApiRequest) -> schemas.ModelInfo:
        return self._describe(self._find(request))

    def _describe(self, served: ServedModel) -> schemas.ModelInfo:
        return served.describe(self.registry.find_champion(served).name)

    async def create(self, request: ApiRequest) -> schemas.ModelInfo:
        if request.media == OCTET_STREAM:
            query = _parse_query(request, schemas.UploadQuery, "invalid-name", 422)
            request.model = query.name
            content = await request.body()
            self.registry.check_memory(query.name, len(content))
            learner = await asyncio.to_thread(load_uploaded, content)
            await asyncio.to_thread(try_precompile, learner)
            return self._describe(await self.registry.create(query.name, learner, query.challenges or None, content))
        creation: schemas.CreateRequest = decode_body(CREATE_DECODER, await request.body())
        request.model = creation.name
        learner = create_learner(creation.learner, creation.settings)
        await asyncio.to_thread(precompile, learner)
        return self._describe(await self.registry.create(creation.name, learner, creation.challenges))

    async def delete(self, request: ApiRequest) -> None:
        served = self._find(request)
        await self.registry.delete(served)
        self.event_stream.certifier.forget(served.name)

    async def promote(self, request: ApiRequest) -> schemas.ModelInfo:
        return self._describe(await self.registry.promote(self._find(request)))

    async def ledger(self, request: ApiRequest) -> schemas.LedgerResponse:
        served = self._find(request)
        stream = self.registry.streams[served.stream]
        counts = msgspec.structs.asdict(served.counts())
        return schemas.LedgerResponse(
            **counts, pending=stream.waiting.current_counts(), stream=stream.compare_members()
        )

    async def certificate(self, request: ApiRequest) -> schemas.CertificateDocument:
        models = self.registry.models
        return await self.event_stream.certifier.certify(self._find(request), lambda m: models.get(m.name) is m)

    async def inspect(self, request: ApiRequest) -> schemas.Inspection:
        served, query = self._find(request), _parse_query(request, schemas.InspectQuery)
        served.check_learned()
        try:
            return msgspec.convert(describe_model(served.learner, query.top), schemas.Inspection)
        except NovikoffError as problem:
            raise RequestError(str(problem), "not-certifiable", 409) from None

    async def history(self, request: ApiRequest) -> schemas.History:
        return self.event_stream.history(self._find(request))

    async def download(self, request: ApiRequest) -> Response:
        served = self._find(request)
        served.check_learned()
        content = await asyncio.to_thread(snapshot(served.learner))
        headers = {"Content-Disposition": f'attachment; filename="{served.name}.model"'}
        return Response(content, media_type=OCTET_STREAM, headers=headers)

    async def examples(self, request: ApiRequest) -> Response:
        served = self._find(request)

        def lines() -> Iterator[bytes]:
            with open_read_only(self.registry.folder) as connection:
                for entry in iter_entries(connection, served.stream, served.joined):
                    yield entry.body if entry.body.endswith(b"\n") else entry.body + b"\n"

        return StreamingResponse(lines(), media_type=NDJSON)

    # --- The server ---

    async def events(self, request: ApiRequest) -> Response:
        return StreamingResponse(self.event_stream.stream(), media_type=EVENT_STREAM)

    async def metrics(self, request: ApiRequest) -> Response:
        return Response(self.numbers.text(self.registry), media_type=METRICS_TEXT)

    async def openapi(self, request: ApiRequest) -> dict[str, Any]:
        return build_document(closed=self.security.tokens.requires_token())

    async def ready(self, request: ApiRequest) -> Response:
        if self.registry.disk_is_full or not self.registry.writer.is_alive():
            raise RequestError("The journal can't be written. Predictions are still answered.", "disk-full", 503)
        return Response(b"ready\n", media_type="text/plain")


def _parse_query(
    request: ApiRequest, kind: type[QueryType], code: str = "invalid-query", status: int = 400
) -> QueryType:
    try:
        return msgspec.convert(dict(Request(request.scope).query_params), kind, strict=False)
    except msgspec.ValidationError as problem:
        raise RequestError(f"Invalid query: {problem}.", code, status) from None
