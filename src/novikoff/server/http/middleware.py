"""ASGI middleware for authentication, body-size limits and rate limiting, and the request object for handlers.

`RequestMiddleware` wraps each endpoint. It counts and times requests, adds security headers, writes the audit log, and
turns exceptions into responses. A request reaches its endpoint if all checks of the route pass, in this order:

    check_headers → authorize, with limit_rate → check_body → limit_concurrency

connections.py has the time-outs and limits of connections.
"""

from __future__ import annotations

import hmac
import logging
import math
import time
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from novikoff.server.http.auth import Grant, TokenStore
from novikoff.server.http.client_limits import ConnectionLimit
from novikoff.server.http.connections import ClientConnection, build_response_head, write_response
from novikoff.server.http.errors import API_HEADERS, PROBLEM_JSON, encode_problem, to_request_error
from novikoff.server.http.rate_limit import RateLimiter, client_network
from novikoff.server.http.routes import ADMIN_SCOPE, JSON, NDJSON, OCTET_STREAM, Operation
from novikoff.server.http.same_origin import is_loopback_host, is_same_site
from novikoff.server.models.validation import Headers, RequestError
from novikoff.server.ops.audit import AuditLog
from novikoff.server.ops.limits import Limits
from novikoff.server.ops.logs import log_request
from novikoff.server.storage.attribution import CURRENT_CLIENT

CLIENT_CLOSED_REQUEST = 499  # the status in metrics if a client disconnected before it got a response
AUDITED_STATUSES = {401, 403, 408, 413, 429, 503}
SINGLE_HEADERS = (b"host", b"authorization", b"origin", b"content-type", b"content-length", b"idempotency-key")
DISCONNECT_MESSAGE = {"type": "http.disconnect"}
ASGI_VERSION = {"version": "3.0", "spec_version": "2.4"}
"""`ApiRequest.send` raises an OSError if the client has disconnected, as ASGI requires since 2.4. For earlier versions
Starlette's streaming responses call `receive` to detect that, which would take the body from the handler."""
CLOSE_HEADER, RETRY_HEADER = (b"connection", b"close"), (b"retry-after", b"1")
TLS_HEADER = (b"strict-transport-security", b"max-age=31536000")
LATENCY_BUCKETS_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
MAX_RECENT_REQUESTS = 1_000
log = logging.getLogger("novikoff.server")


@dataclass
class Security:
    """Settings and state shared by all routes of one server."""

    tokens: TokenStore
    limits: Limits
    loopback: bool
    """The server can be reached from this machine only, and needs no tokens until the first one is created."""
    audit: AuditLog | None = None
    observe: Callable[[str, int, float], None] | None = None
    """Callback with the route, the status and the seconds of each request."""
    tls: bool = False
    connections: ConnectionLimit | None = None
    """Open connections of each client, counted by `ConnectionMonitor`."""
    active: int = 0
    """Number of requests in progress."""

    def __post_init__(self) -> None:
        self.clients = ConcurrencyLimit(self.limits.client_requests)
        self.rates = RateLimiter(self.limits.rate)
        self.max_bytes = {JSON: self.limits.body, OCTET_STREAM: self.limits.upload, NDJSON: None}

    def allows_anonymous(self) -> bool:
        """Return whether requests need no token."""
        if time.monotonic() >= self.tokens.next_refresh:
            self.tokens.refresh()
        return self.loopback and not self.tokens.in_use


class ApiRequest:
    """A request with its ASGI channels and the results of the checks. Handlers find it in `scope["request"]`."""

    # Class attributes are the defaults: an instance attribute that is rarely set would cost every request time.
    model: str | None = None  # the name in the path, or of the model that a handler creates; for the audit log
    media: str | None = None  # the media type of the body, one of those that the route accepts
    max_body: int | None = None  # in bytes; None for streams
    grant: Grant | None = None  # None if no token is needed
    slot_owner: str | None = None  # the client whose slot of concurrent requests this request uses
    connection: ClientConnection | None = None  # None if the application is called without uvicorn, as in tests
    needs_token = True
    is_authorized = is_admitted = False  # the token is valid; all checks have passed
    status = received_bytes = 0
    code: str | None = None  # error code with which the middleware refused the request
    ended = False  # no more messages: the client disconnected, lost its token, or its connection sent an error

    def __init__(self, scope: Scope, receive: Receive, send: Send, middleware: RequestMiddleware) -> None:
        self.scope, self.middleware = scope, middleware
        scope["asgi"] = ASGI_VERSION
        self.receive, self._server_receive, self._server_send = receive, receive, send
        if "state" in scope and "connection" in scope["state"]:
            connection = self.connection = scope["state"]["connection"]
            scope["headers"] = scope["headers"][: connection.begin(self)]  # drop trailers: no check covers them
        self.header: dict[bytes, bytes] = dict(scope["headers"])
        self.address: str = scope["client"][0] if scope["client"] else "local"
        self.client_id = client_network(self.address)  # the client for limits; its token if one is needed

    def is_disconnected(self) -> bool:
        return self.connection is not None and self.connection.lost

    def _is_still_granted(self) -> bool:
        """Return whether the token of the request is still valid: it may be revoked during a long stream."""
        return self.grant is None or self.middleware.security.tokens.is_still_granted(self.grant)

    # --- The body ---

    async def body(self) -> bytes:
        """Return the body. Most bodies arrive in one message: Starlette's generator would add 10 % to a prediction."""
        message = await self.receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            return bytes(message.get("body", b""))
        return b"".join([message.get("body", b""), *[piece async for piece in self.stream()]])

    def stream(self) -> AsyncIterator[bytes]:
        """Return an iterator over the parts of the body."""
        return Request(self.scope, self.receive).stream()

    async def receive_checked(self) -> Message:
        """Receive the next part of a body. Check the size so far, or for a stream that its token is still valid."""
        message = DISCONNECT_MESSAGE if self.ended else await self._server_receive()
        if message["type"] != "http.request":
            self.ended = True
        elif self.max_body is not None:
            self.received_bytes += len(message.get("body", b""))
            if self.received_bytes > self.max_body:
                self.code = "too-large"
                raise _body_too_large_error(self.max_body)
        elif message.get("more_body", False) and not self._is_still_granted():
            self.ended = True
        return DISCONNECT_MESSAGE if self.ended else message

    # --- The response ---

    async def send(self, message: Message) -> None:
        if self.ended:
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), *self.middleware.headers]
        elif message.get("more_body", False) and (self.is_disconnected() or not self._is_still_granted()):
            self.ended = True
            raise ConnectionAbortedError("The client disconnected, or its token was revoked or has expired.")
        await self._server_send(message)

    async def respond(self, status: int, media: str, body: bytes, more: Headers = ()) -> None:
        """Send a complete response, in one write if uvicorn runs the application."""
        if self.connection is not None and not self.ended and CLOSE_HEADER not in more:  # uvicorn acts on that header
            headers = (*more, *self.middleware.headers) if more else self.middleware.headers
            cycle = getattr(self._server_send, "__self__", None)
            if write_response(cycle, build_response_head(status, media, headers), body):
                self.status = status
                return
        start = [(b"content-type", media.encode()), (b"content-length", b"%d" % len(body)), *more]
        await self.send({"type": "http.response.start", "status": status, "headers": start})
        await self.send({"type": "http.response.body", "body": body})

    async def respond_error(self, error: RequestError) -> None:
        await self.respond(error.status, PROBLEM_JSON, encode_problem(error), error.headers)
        if not self.is_admitted:
            self.code = error.code

    def abort(self, error: RequestError) -> bool:
        """End the request because its connection sends an error. Return False if a response was started already."""
        if self.status:
            return False
        self.status, self.code, self.ended = error.status, error.code, True
        return True


RequestCheck = Callable[[ApiRequest], None]
"""Raises RequestError if a request does not pass."""


class RequestMiddleware:
    """The middleware of one route. Without an operation any valid token is accepted."""

    def __init__(
        self,
        app: ASGIApp,
        security: Security,
        name: str,
        checks: tuple[RequestCheck, ...],
        operation: Operation | None = None,
        headers: Headers = API_HEADERS,
    ) -> None:
        """Create the middleware; `headers` are added to each response."""
        self.app, self.security, self.name, self.checks = app, security, name, checks
        self.required_scope = None if operation is None else operation.scope
        self.media_types = () if operation is None else tuple(operation.takes)
        self.headers = (*headers, TLS_HEADER) if security.tls else headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start, security = time.perf_counter(), self.security
        request = scope["request"] = ApiRequest(scope, receive, send, self)
        security.active += 1
        try:
            if request.connection is not None and request.connection.lost:
                raise ClientDisconnect
            for check in self.checks:
                check(request)
            request.is_admitted = True
            await self.app(scope, request.receive, request.send)
        except Exception as problem:
            if request.status and not request.ended and not request.is_disconnected():
                raise  # the response has started, so only uvicorn can end it now: it closes the connection
            if not request.status and not request.ended:
                await request.respond_error(to_request_error(problem))
        finally:
            security.active -= 1
            if request.slot_owner is not None:
                security.clients.release(request.slot_owner)
            del scope["request"]  # break the reference cycle, so that no garbage collection is needed
            if request.connection is not None:
                request.connection.end()
            self._observe(request, request.status or CLIENT_CLOSED_REQUEST, time.perf_counter() - start)

    def _observe(self, request: ApiRequest, status: int, seconds: float) -> None:
        security = self.security
        if security.observe is not None:
            security.observe(self.name, status, seconds)
        if status >= 400 or log.isEnabledFor(logging.DEBUG):
            log_request(self.name, status, seconds)
        is_admin = self.required_scope == ADMIN_SCOPE and request.is_authorized
        if security.audit is not None and (is_admin or status in AUDITED_STATUSES):
            token = None if request.grant is None else request.grant.name
            about = {"client": request.address, "token": token, "method": request.scope["method"],
                     "path": request.scope["path"], "status": status}  # fmt: skip
            if request.code is not None:
                security.audit.refused(**about, code=request.code)
            elif is_admin:
                event = "upload" if self.name == "create" and request.media == OCTET_STREAM else self.name
                security.audit.action(event, **about, model=request.model)


# --- Checks ---


def check_headers(request: ApiRequest) -> None:
    """Refuse duplicate headers, untrusted Host names (DNS rebinding) and cross-origin requests of browsers."""
    headers, received, middleware = request.header, request.scope["headers"], request.middleware
    if len(headers) != len(received):
        names = [name for name, _ in received]
        if any(names.count(name) > 1 for name in SINGLE_HEADERS):
            allowed = ", ".join(name.decode() for name in SINGLE_HEADERS)
            raise RequestError(f"Each of the headers {allowed} may be sent only once.", "duplicate-header", 400)
    host, origin, site = headers.get(b"host"), headers.get(b"origin"), headers.get(b"sec-fetch-site", b"none")
    if host is None:
        raise RequestError("A request must have a Host header.", "missing-host", 400)
    request.needs_token = not middleware.security.allows_anonymous()
    if not request.needs_token and not is_loopback_host(host):
        detail = "Without tokens the Host header must be localhost or a loopback address."
        raise RequestError(detail, "untrusted-host", 403)
    is_foreign = site not in {b"same-origin", b"none"} and authorize in middleware.checks  # links to pages are allowed
    if is_foreign or (origin is not None and not is_same_site(origin, host)):
        raise RequestError("Cross-origin requests from pages of other sites are not allowed.", "cross-origin", 403)


def authorize(request: ApiRequest) -> None:
    """Refuse requests without a valid token, and those whose token lacks the scope of the route."""
    required = request.middleware.required_scope
    if request.needs_token:
        request.grant = grant = _known_grant(request) or _check_token(request)
        request.client_id = grant.id
        CURRENT_CLIENT.set(grant.id)
    limit_rate(request)
    if request.grant is not None and required is not None and required not in request.grant.scopes:
        has = ", ".join(sorted(request.grant.scopes))
        raise RequestError(
            f"This request needs a token with the scope {required}, but the token {request.grant.name} has {has}.",
            "insufficient-scope",
            403,
        )
    request.is_authorized, request.model = True, request.scope.get("path_params", {}).get("name")


def _known_grant(request: ApiRequest) -> Grant | None:
    """Return the grant of the connection's previous request if the token is the same and the token file unchanged.

    The token file is read again once a second; until then the earlier check is valid.
    """
    if request.connection is None or request.connection.grant is None:
        return None
    known, next_refresh, grant = request.connection.grant
    is_valid = next_refresh == request.middleware.security.tokens.next_refresh and time.time() < grant.expires
    return grant if is_valid and hmac.compare_digest(known, request.header.get(b"authorization", b"")) else None


def _check_token(request: ApiRequest) -> Grant:
    """Look up the token, and count the connection for it. Refuse a token that has too many connections."""
    security, header = request.middleware.security, request.header.get(b"authorization")
    found, peer = security.tokens.check(header), request.scope.get("client")
    if not isinstance(found, Grant):
        limit_rate(request)
        challenge = ((b"www-authenticate", b"Bearer"),) if found.status == 401 else ()
        raise RequestError(found.sentence, found.code, found.status, challenge)
    if security.connections is not None and peer is not None and not security.connections.assign(tuple(peer), found.id):
        request.grant = found
        detail = "This client has too many open connections. Close some of them."
        raise RequestError(detail, "too-many-client-connections", 429, (RETRY_HEADER, CLOSE_HEADER))
    if request.connection is not None and header is not None:
        request.connection.grant = header, security.tokens.next_refresh, found
    return found


def limit_rate(request: ApiRequest) -> None:
    """Apply the rate limit of the client, or of its address if its token is invalid."""
    security = request.middleware.security
    if security.limits.rate and (wait := security.rates.wait(request.client_id, time.monotonic())) > 0:
        seconds = max(1, math.ceil(wait))
        retry = ((b"retry-after", b"%d" % seconds),)
        raise RequestError(
            f"This client sends too many requests. Try again in {seconds} s.", "rate-limited", 429, retry
        )


def check_body(request: ApiRequest) -> None:
    """Refuse bodies with an unsupported media type, and those larger than the limit of their media type."""
    headers, expected = request.header, request.middleware.media_types
    length, kind = headers.get(b"content-length"), headers.get(b"content-type")
    if not expected:
        if length not in {None, b"0"} or b"transfer-encoding" in headers:
            raise RequestError("This request must not have a body.", "unexpected-body", 400)
        return
    request.media = media = None if kind is None else parse_media_type(kind, expected)
    if media is None:
        found = "none" if kind is None else repr(kind.decode("latin-1")[:100])
        detail = f"The Content-Type must be {' or '.join(expected)}, got {found}."
        raise RequestError(detail, "unsupported-media-type", 415)
    if headers.get(b"content-encoding", b"identity") != b"identity":
        detail = "Content-Encoding is not supported. Send the body uncompressed, without that header."
        raise RequestError(detail, "unsupported-encoding", 415)
    request.max_body = limit = request.middleware.security.max_bytes[media]
    if limit is None or length is None:
        request.receive = request.receive_checked
    elif len(length) > 18 or int(length) > limit:
        raise _body_too_large_error(limit)


def limit_concurrency(request: ApiRequest) -> None:
    """Refuse requests above the limit of concurrent requests, in total or of one client."""
    security, client = request.middleware.security, request.client_id
    if security.active > security.limits.concurrent > 0:
        detail = "The server has too many requests in progress. Try again later."
        raise RequestError(detail, "too-many-concurrent-requests", 503, (RETRY_HEADER,))
    if not security.clients.acquire(client):
        detail = "This client has too many requests in progress. Wait until some of them are answered."
        raise RequestError(detail, "too-many-client-requests", 429, (RETRY_HEADER,))
    request.slot_owner = client


PUBLIC_CHECKS = (check_headers, limit_rate, check_body)
UNKNOWN_CHECKS = (check_headers, authorize)
OPERATION_CHECKS = (*UNKNOWN_CHECKS, check_body, limit_concurrency)


@lru_cache(maxsize=1000)
def parse_media_type(header: bytes, accepted: tuple[str, ...]) -> str | None:
    """Return the media type of a Content-Type header, or None if it is not accepted. The charset must be UTF-8.

    >>> parse_media_type(b'Application/JSON ; charset="UTF-8"', (JSON, NDJSON))
    'application/json'
    >>> parse_media_type(b"application/json; charset=utf-16", (JSON,))
    """
    kind, *parameters = header.decode("latin-1").lower().split(";")
    for parameter in parameters:
        name, _, value = parameter.strip().partition("=")
        if name == "charset" and value.strip('"') not in {"utf-8", "utf8", "us-ascii"}:
            return None
    return next((media for media in accepted if media == kind.strip()), None)


def _body_too_large_error(limit: int) -> RequestError:
    detail = f"The body is larger than the limit of {limit:,} bytes. Send it in parts or as a stream."
    return RequestError(detail, "body-too-large", 413)


# --- Counters ---


class ConcurrencyLimit:
    """Slots for the concurrent requests of each client; a limit of 0 means unlimited.

    >>> limit = ConcurrencyLimit(1)
    >>> limit.acquire("shop"), limit.acquire("shop"), limit.acquire("blog")
    (True, False, True)
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.refused = limit, 0
        """`refused` counts the requests for which no slot was free."""
        self._used: dict[str, int] = {}

    def acquire(self, client: str) -> bool:
        """Take a slot; return False if all slots of the client are in use."""
        used = self._used.get(client, 0)
        if 0 < self.limit <= used:
            self.refused += 1
            return False
        self._used[client] = used + 1
        return True

    def release(self, client: str) -> None:
        """Give back a slot taken by `acquire`."""
        left = self._used.pop(client) - 1
        if left:  # clients without requests take no memory
            self._used[client] = left

    def used(self, client: str) -> int:
        return self._used.get(client, 0)

    def __len__(self) -> int:
        """Return the number of clients with slots in use."""
        return len(self._used)


class RequestMetrics:
    """Requests by route and status, and their latencies."""

    def __init__(self, recorded: Iterable[str]) -> None:
        """Create empty metrics. For the routes in `recorded` the latencies of the latest requests are kept."""
        self.requests: Counter[tuple[str, int]] = Counter()
        self.buckets: defaultdict[str, Counter[int]] = defaultdict(Counter)
        """Number of requests of each route by the index of the latency bucket."""
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.latest: dict[str, deque[float]] = {name: deque(maxlen=MAX_RECENT_REQUESTS) for name in recorded}

    def observe(self, route: str, status: int, seconds: float) -> None:
        self.requests[route, status] += 1
        self.seconds[route] += seconds
        self.buckets[route][bisect_left(LATENCY_BUCKETS_SECONDS, seconds)] += 1
        if route in self.latest:
            self.latest[route].append(seconds)
