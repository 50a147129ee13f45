"""ASGI middleware, and the request that it passes on.

`RequestMiddleware` wraps each endpoint. It counts and times requests, adds security headers, writes the audit log, and
answers unexpected exceptions. A request reaches the endpoint if all checks of its route pass, in this order:

    check_headers → check_site → authenticate → limit_rate → authorize → check_body → limit_concurrency

Time-outs and limits of connections are those of http_protocol.py.
"""

from __future__ import annotations

import logging
import math
import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from novikoff.service.attribution import CURRENT_CLIENT
from novikoff.service.audit import Audit
from novikoff.service.client_limits import ConnectionLimit
from novikoff.service.errors import API_HEADERS, PROBLEM_JSON, Error, Headers
from novikoff.service.http_protocol import CYCLE, response_head, write_response
from novikoff.service.limits import Limits
from novikoff.service.logs import log_request
from novikoff.service.origin import is_loopback, same_site
from novikoff.service.rate import Rates, neighbourhood
from novikoff.service.routes import ADMIN, FILE, JSON, NDJSON
from novikoff.service.tokens import Granted, Tokens

CLIENT_CLOSED_REQUEST = 499
"""The status that is counted where a client left before it was answered."""
AUDITED_STATUSES = {401, 403, 408, 413, 429, 503}
SINGLE_HEADERS = (b"host", b"authorization", b"origin", b"content-type", b"content-length", b"idempotency-key")
DISCONNECT = {"type": "http.disconnect"}
CLOSE, RETRY = (b"connection", b"close"), (b"retry-after", b"1")
TLS_HEADER = (b"strict-transport-security", b"max-age=31536000")
BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
MAX_RECENT_REQUESTS = 1_000
log = logging.getLogger("novikoff.service")


@dataclass
class Security:
    """Settings and state that the middleware of one server shares."""

    tokens: Tokens
    limits: Limits
    loopback: bool
    """The server can be reached from this machine only: it is open until the first token is made."""
    audit: Audit | None = None
    observe: Callable[[str, int, float], None] | None = None
    """Called with the route, the status and the seconds of each request."""
    tls: bool = False
    connections: ConnectionLimit | None = None
    """Open connections of each client; those of `ConnectionMonitor`."""
    active: int = 0
    """Requests under way."""

    def __post_init__(self) -> None:
        self.clients = ConcurrencyLimit(self.limits.client_requests)
        self.rates = Rates(self.limits.rate)

    def is_open(self) -> bool:
        if time.monotonic() >= self.tokens.next_look:
            self.tokens.refresh()
        return self.loopback and not self.tokens.in_use


class ApiRequest(Request):
    """A request with what the middleware knows about it; `scope["request"]`."""

    # Class attributes are the defaults: most are never set, and each request pays for those that are.
    model: str | None = None
    """The name in the path; the handler that creates a model sets it, for the audit log."""
    media: str | None = None
    """The media type of the body, one of those that the route takes."""
    grant: Granted | None = None
    """The token of the request; None where none is needed."""
    denied: Error | None = None
    """Why the token, or its absence, is not accepted."""
    slot_owner: str | None = None
    """The client whose slot of concurrent requests this request uses."""
    is_authorized = False
    max_body: int | None = None
    """Bytes; None for streams."""
    status = 0
    code: str | None = None
    """The error with which the request was refused before its endpoint could answer it."""
    ended = False
    """No more messages are exchanged: the client left, or the request was refused while its body came."""
    _received = 0

    def __init__(self, scope: Scope, receive: Receive, send: Send, guard: RequestMiddleware) -> None:
        super().__init__(scope, receive, send)
        self.guard = guard
        self.header: dict[bytes, bytes] = dict(scope["headers"])

    @property
    def address(self) -> str:
        client = self.scope.get("client")
        return client[0] if client else "local"

    @property
    def client_id(self) -> str:
        """The client for which limits count: a token, or an address where there is none."""
        return self.grant.id if self.grant is not None else neighbourhood(self.address)

    def check_pieces(self) -> None:
        """Check the size of the body, or the token of a stream, with each piece."""
        receive = self._receive

        async def receive_checked() -> Message:
            message = DISCONNECT if self.ended else await receive()
            if message["type"] != "http.request":
                self.ended = True
            elif self.max_body is not None:
                self._received += len(message.get("body", b""))
                if self._received > self.max_body:
                    await self.reject(_too_large(self.max_body))
            elif message.get("more_body", False) and not self._is_still_granted():
                self.ended = True
            return DISCONNECT if self.ended else message

        self._receive = receive_checked

    async def send(self, message: Message) -> None:
        if self.ended:
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), *self.guard.headers]
        elif message.get("more_body", False) and (self._has_left() or not self._is_still_granted()):
            self.ended = True
            raise ConnectionAbortedError("The client left, or its token was revoked or has expired.")
        await self._send(message)

    async def respond(self, status: int, media: str, body: bytes, more: Headers = ()) -> None:
        """Send a complete response, in one write where uvicorn serves."""
        if self.ended:
            return
        headers = (*more, *self.guard.headers) if more else self.guard.headers
        cycle = None if CLOSE in more else self.scope.get(CYCLE)  # uvicorn closes the connection by the header
        if cycle is not None and write_response(cycle, response_head(status, media, headers), body):
            self.status = status
            return
        start = [(b"content-type", media.encode()), (b"content-length", b"%d" % len(body)), *more]
        await self.send({"type": "http.response.start", "status": status, "headers": start})
        await self.send({"type": "http.response.body", "body": body})

    async def reject(self, error: Error) -> None:
        """Answer with an error, unless the endpoint has answered already; nothing is exchanged after it."""
        if not self.status:
            await self.respond(error.status, PROBLEM_JSON, error.body(), error.headers)
            self.code = error.code
        self.ended = True

    def end(self, error: Error) -> None:
        """Note an error with which the connection was closed."""
        self.status, self.code, self.ended = error.status, error.code, True

    def _has_left(self) -> bool:
        return CYCLE in self.scope and self.scope[CYCLE].disconnected

    def _is_still_granted(self) -> bool:
        """A stream may be long: its token may be revoked meanwhile."""
        return self.grant is None or self.guard.security.tokens.still(self.grant)


Check = Callable[[ApiRequest], Error | None]


class RequestMiddleware:
    """The middleware of one route."""

    def __init__(
        self,
        app: ASGIApp,
        security: Security,
        name: str,
        checks: Iterable[Check],
        scope: str | None = None,
        media_types: Iterable[str] = (),
        headers: Headers = API_HEADERS,
    ) -> None:
        """`scope` None: any valid token will do. `headers` are added to each response."""
        self.app, self.security, self.name, self.scope = app, security, name, scope
        self.checks = [check for check in checks if check is not limit_rate or security.limits.rate]
        self.headers = (*headers, TLS_HEADER) if security.tls else headers
        self.media_types = tuple(media_types)
        self.max_bytes = {JSON: security.limits.body, FILE: security.limits.upload, NDJSON: None}
        self.spellings = {  # what clients usually send; media_type parses other spellings
            f"{media}{end}".encode(): media
            for media in self.media_types
            for end in ("", "; charset=utf-8", ";charset=utf-8")
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start, security = time.perf_counter(), self.security
        request = scope["request"] = ApiRequest(scope, receive, send, self)
        security.active += 1
        try:
            for check in self.checks:
                error = check(request)
                if error is not None:
                    await request.reject(error)
                    break
            else:
                await self.app(scope, request.receive, request.send)
        except Exception:
            if not request.ended and not request._has_left():  # else the exception says that the client left
                if request.status:
                    raise
                log.exception("%s %s failed", scope["method"], scope["path"])
                await request.reject(Error(500, "failure", "The server failed at this request: see its log."))
        finally:
            security.active -= 1
            if request.slot_owner is not None:
                security.clients.release(request.slot_owner)
            del scope["request"]  # reference cycles: without them a request needs no garbage collection
            scope.pop(CYCLE, None)
            self._observe(request, request.status or CLIENT_CLOSED_REQUEST, time.perf_counter() - start)

    def _observe(self, request: ApiRequest, status: int, seconds: float) -> None:
        security = self.security
        if security.observe is not None:
            security.observe(self.name, status, seconds)
        if status >= 400 or log.isEnabledFor(logging.DEBUG):
            log_request(self.name, status, seconds)
        is_admin = self.scope == ADMIN and request.is_authorized
        if security.audit is not None and (is_admin or status in AUDITED_STATUSES):
            about = {
                "client": request.address,
                "token": request.grant.name if request.grant is not None else None,
                "method": request.method,
                "path": request.scope["path"],
                "status": status,
            }
            if request.code is not None:
                security.audit.refused(**about, code=request.code)
            elif is_admin:
                event = "upload" if self.name == "create" and request.media == FILE else self.name
                security.audit.action(event, **about, model=request.model)


# --- Checks ---


def check_headers(request: ApiRequest) -> Error | None:
    """Refuse ambiguous heads, and names of this machine that another site may have made up."""
    headers, received = request.header, request.scope["headers"]
    if len(headers) != len(received):
        names = [name for name, _ in received]
        if any(names.count(name) > 1 for name in SINGLE_HEADERS):
            allowed = ", ".join(name.decode() for name in SINGLE_HEADERS)
            return Error(400, "header-twice", f"The headers {allowed} may come only once.")
    host, origin = headers.get(b"host"), headers.get(b"origin")
    if host is None:
        return Error(400, "no-host", "A request must have a Host header.")
    if request.guard.security.is_open() and not is_loopback(host):
        detail = "Without tokens the service is asked as localhost or by a loopback address: see the Host header."
        return Error(403, "foreign-host", detail)
    return None if origin is None or same_site(origin, host) else _cross_origin()


def check_site(request: ApiRequest) -> Error | None:
    """Refuse requests that a page of another site makes a browser send."""
    is_foreign = request.header.get(b"sec-fetch-site", b"none") not in {b"same-origin", b"none"}
    return _cross_origin() if is_foreign else None


def authenticate(request: ApiRequest) -> Error | None:
    """Identify the token. `authorize` refuses, after failed attempts are rate-limited.

    From here on the connection counts for the token; a token with too many connections is refused.
    """
    security = request.guard.security
    if security.is_open():
        return None
    found = security.tokens.check(request.header.get(b"authorization"))
    if not isinstance(found, Granted):
        challenge = ((b"www-authenticate", b"Bearer"),) if found.status == 401 else ()
        request.denied = Error(found.status, found.code, found.sentence, challenge)
        return None
    request.grant = found
    CURRENT_CLIENT.set(found.id)
    connections, peer = security.connections, request.scope.get("client")
    if connections is None or peer is None or connections.assign(tuple(peer), found.id):
        return None
    detail = "This client has too many open connections: close some of them."
    return Error(429, "too-many-connections-of-client", detail, (RETRY, CLOSE))


def limit_rate(request: ApiRequest) -> Error | None:
    """Take a token from the client's bucket."""
    wait = request.guard.security.rates.wait(request.client_id, time.monotonic())
    if wait <= 0:
        return None
    seconds = max(1, math.ceil(wait))
    retry = ((b"retry-after", b"%d" % seconds),)
    return Error(429, "too-often", f"These are too many requests: wait {seconds} s.", retry)


def authorize(request: ApiRequest) -> Error | None:
    """Refuse requests without a valid token, or with one that lacks the scope of the route."""
    request.is_authorized = True
    request.model = request.path_params.get("name")
    grant, required = request.grant, request.guard.scope
    if request.denied is not None or grant is None or required is None or required in grant.scopes:
        return request.denied
    has = ", ".join(sorted(grant.scopes))
    return Error(403, "scope", f"This needs a token with {required}, but {grant.name} has {has}.")


def check_body(request: ApiRequest) -> Error | None:
    """Refuse bodies of another media type, or larger than the limit of their media type."""
    headers, guard = request.header, request.guard
    length, kind = headers.get(b"content-length"), headers.get(b"content-type")
    if not guard.media_types:
        if length in {None, b"0"} and b"transfer-encoding" not in headers:
            return None
        return Error(400, "body-not-wanted", "This request takes no body: send none.")
    request.media = media = None if kind is None else guard.spellings.get(kind) or media_type(kind, guard.media_types)
    if media is None:
        found = "none came" if kind is None else f"{kind.decode('latin-1')[:100]!r} came"
        expected = " or ".join(guard.media_types)
        return Error(415, "other-media-type", f"The Content-Type must be {expected}, but {found}.")
    if headers.get(b"content-encoding", b"identity") != b"identity":
        return Error(415, "packed", "Bodies are taken as they are: send them without a Content-Encoding.")
    request.max_body = limit = guard.max_bytes[media]
    if limit is None or length is None:
        request.check_pieces()
    elif len(length) > 18 or int(length) > limit:
        return _too_large(limit)
    return None


def limit_concurrency(request: ApiRequest) -> Error | None:
    """Refuse requests beyond the number that may be under way, in all or of one client."""
    security = request.guard.security
    if security.active > security.limits.concurrent > 0:
        return Error(503, "too-many-requests-at-once", "Too many requests are under way: try again.", (RETRY,))
    client = request.client_id
    if not security.clients.acquire(client):
        detail = "This client has too many requests under way: wait until some of them have ended."
        return Error(429, "too-many-requests-of-client", detail, (RETRY,))
    request.slot_owner = client
    return None


def media_type(header: bytes, accepted: Iterable[str]) -> str | None:
    """Return the media type of a Content-Type header if it is accepted. The only charset is UTF-8.

    >>> media_type(b'Application/JSON ; charset="UTF-8"', [JSON, NDJSON])
    'application/json'
    >>> media_type(b"application/json; charset=utf-16", [JSON])
    """
    kind, *parameters = header.decode("latin-1").lower().split(";")
    for parameter in parameters:
        name, _, value = parameter.strip().partition("=")
        if name == "charset" and value.strip('"') not in {"utf-8", "utf8", "us-ascii"}:
            return None
    return next((media for media in accepted if media == kind.strip()), None)


def _cross_origin() -> Error:
    return Error(403, "foreign-page", "Pages of other sites may not ask this service: its Origin is another.")


def _too_large(limit: int) -> Error:
    return Error(413, "too-large", f"The body may have {limit:,} bytes, but has more: send it in parts or as a stream.")


# --- Counters ---


class ConcurrencyLimit:
    """Slots for requests of each client; a limit of 0 means unlimited.

    >>> limit = ConcurrencyLimit(1)
    >>> limit.acquire("shop"), limit.acquire("shop"), limit.acquire("blog")
    (True, False, True)
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.refused = 0
        """How often there was no slot left."""
        self._used: dict[str, int] = {}

    def acquire(self, client: str) -> bool:
        """Take a slot; return False where all slots of the client are in use."""
        used = self._used.get(client, 0)
        if 0 < self.limit <= used:
            self.refused += 1
            return False
        self._used[client] = used + 1
        return True

    def release(self, client: str) -> None:
        """Give a slot back that `acquire` has returned."""
        self._used[client] -= 1
        if not self._used[client]:
            del self._used[client]  # clients without requests take no memory

    def used(self, client: str) -> int:
        return self._used.get(client, 0)

    def __len__(self) -> int:
        """Return the number of clients with slots in use."""
        return len(self._used)


class RequestMetrics:
    """Requests by route and status, and their latencies."""

    def __init__(self, recorded: Iterable[str]) -> None:
        """The latencies of the latest requests are recorded for these routes."""
        self.requests: Counter[tuple[str, int]] = Counter()
        self.buckets: dict[str, list[int]] = {}
        self.seconds: dict[str, float] = {}
        self.latest: dict[str, deque[float]] = {name: deque(maxlen=MAX_RECENT_REQUESTS) for name in recorded}

    def observe(self, route: str, status: int, seconds: float) -> None:
        self.requests[route, status] += 1
        self.seconds[route] = self.seconds.get(route, 0.0) + seconds
        counts = self.buckets.get(route)
        if counts is None:
            counts = self.buckets[route] = [0] * (len(BUCKETS) + 1)
        counts[bisect_left(BUCKETS, seconds)] += 1
        if route in self.latest:
            self.latest[route].append(seconds)
