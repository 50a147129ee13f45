"""ASGI middleware, in the order in which a request passes it.

`ContextMiddleware` wraps the whole application: security headers, metrics, the audit log, and a last resort for
exceptions. The others wrap each route, so that a refused request is counted under its route:

    SameOriginMiddleware → AuthMiddleware → RateLimitMiddleware → ScopeMiddleware
    → BodyMiddleware → ConcurrencyMiddleware

Time-outs and limits of connections are those of http_protocol.py.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from novikoff.service.audit import Audit
from novikoff.service.client_limits import CURRENT_CLIENT, ConcurrencyLimit, ConnectionLimit
from novikoff.service.errors import PROBLEM_JSON, Error, Headers
from novikoff.service.http_protocol import CYCLE, LATE, LEFT, response_head, write_response
from novikoff.service.limits import Limits
from novikoff.service.origin import is_loopback, same_site
from novikoff.service.rate import Rates, neighbourhood
from novikoff.service.routes import ADMIN, FILE, JSON, NDJSON
from novikoff.service.security_headers import API_HEADERS, TLS
from novikoff.service.tokens import Granted, Tokens

CLIENT_CLOSED_REQUEST = 499
"""The status that is counted where a client left before it was answered."""
AUDITED_STATUSES = {401, 403, 408, 413, 429, 503}
SINGLE_HEADERS = (b"host", b"authorization", b"origin", b"content-type", b"content-length", b"idempotency-key")
SAME_SITE = {b"same-origin", b"none"}
DISCONNECT = {"type": "http.disconnect"}
MAX_KNOWN_HOSTS = 1000
CLOSE = (b"connection", b"close")
log = logging.getLogger("novikoff.service")

REPEATED_HEADER = Error(
    400, "header-twice", f"The headers {', '.join(name.decode() for name in SINGLE_HEADERS)} may come only once."
)
NO_HOST = Error(400, "no-host", "A request must have a Host header.")
FOREIGN_HOST = Error(
    403,
    "foreign-host",
    "Without tokens the service is asked as localhost or by a loopback address: see the Host header.",
)
CROSS_ORIGIN = Error(403, "foreign-page", "Pages of other sites may not ask this service: its Origin is another.")
BUSY = Error(503, "too-many-requests-at-once", "Too many requests are under way: try again.", ((b"retry-after", b"1"),))
TOO_MANY_REQUESTS_OF_CLIENT = Error(
    429,
    "too-many-requests-of-client",
    "This client has too many requests under way: wait until some of them have ended.",
    ((b"retry-after", b"1"),),
)
TOO_MANY_CONNECTIONS_OF_CLIENT = Error(
    429,
    "too-many-connections-of-client",
    "This client has too many open connections: close some of them.",
    ((b"retry-after", b"1"), CLOSE),
)
FAILURE = Error(500, "failure", "The service failed at this request: it is a mistake of the service, see its log.")
UNEXPECTED_BODY = Error(400, "body-not-wanted", "This request takes no body: send none.")
ENCODED_BODY = Error(415, "packed", "Bodies are taken as they are: send them without a Content-Encoding.")


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
    clients: ConcurrencyLimit = field(init=False)
    """Requests under way of each client."""

    def __post_init__(self) -> None:
        self.clients = ConcurrencyLimit(self.limits.client_requests)

    def is_open(self) -> bool:
        return self.loopback and not self.tokens.closed()


class RequestContext:
    """What is known about one request; `scope["context"]`."""

    # Class attributes are the defaults: most are never set, and each request pays for those that are.
    route = "unknown"
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
    required_scope: str | None = None
    max_body: int | None = None
    """Bytes; None for streams."""
    counts_body = False
    """Whether `receive` checks each piece of the body: it is a stream, or its size was not announced."""
    status = 0
    code: str | None = None
    """The error of the middleware that refused the request."""
    closed = False
    """No more messages are exchanged: the client left, or the request was refused while its body came."""
    _received = 0

    def __init__(self, scope: Scope, receive: Receive, send: Send, security: Security) -> None:
        self.scope, self._receive, self._send, self._security = scope, receive, send, security
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.response_headers: Headers = API_HEADERS

    @property
    def address(self) -> str:
        client = self.scope.get("client")
        return client[0] if client else "local"

    @property
    def client(self) -> str:
        """The client for which limits count: a token, or an address where there is none."""
        return self.grant.id if self.grant is not None else neighbourhood(self.address)

    async def receive(self) -> Message:
        """Return the next piece of the body, while it is not too large and the token is valid."""
        if self.closed:
            return DISCONNECT
        message = await self._receive()
        if message["type"] != "http.request":
            self.closed = True
        elif self.max_body is not None:
            self._received += len(message.get("body", b""))
            if self._received > self.max_body:
                if not self.status:
                    await self.reject(_too_large(self.max_body))
                self.closed = True
        elif message.get("more_body", False) and not self._is_still_granted():
            self.closed = True
        return DISCONNECT if self.closed else message

    async def send(self, message: Message) -> None:
        if self.closed:
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), *self.response_headers]
        elif message.get("more_body", False) and (LEFT in self.scope or not self._is_still_granted()):
            self.closed = True
            raise ConnectionAbortedError("The client left, or its token was revoked or has expired.")
        await self._send(message)

    async def respond(self, status: int, media: str, body: bytes, more: Headers = ()) -> None:
        """Send a complete response, in one write where uvicorn serves."""
        if self.closed:
            return
        headers = (*more, *self.response_headers) if more else self.response_headers
        cycle = None if CLOSE in more else self.scope.get(CYCLE)  # uvicorn closes the connection by the header
        if cycle is not None and write_response(cycle, response_head(status, media, headers), body):
            self.status = status
            return
        start = [(b"content-type", media.encode()), (b"content-length", b"%d" % len(body)), *more]
        await self.send({"type": "http.response.start", "status": status, "headers": start})
        await self.send({"type": "http.response.body", "body": body})

    async def reject(self, error: Error) -> None:
        """Answer with an error of the middleware, which the audit log may name."""
        self.code = error.code
        await self.respond(error.status, PROBLEM_JSON, error.body(), error.headers)
        self.closed = True

    def _is_still_granted(self) -> bool:
        """A stream may be long: its token may be revoked meanwhile."""
        return self.grant is None or self._security.tokens.still(self.grant)


class ContextMiddleware:
    """Outermost: makes the request context, counts and times each request, and answers unexpected exceptions."""

    def __init__(self, app: ASGIApp, security: Security) -> None:
        self.app, self.security = app, security
        self._headers: Headers = (*API_HEADERS, TLS) if security.tls else API_HEADERS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, security = time.perf_counter(), self.security
        context = scope["context"] = RequestContext(scope, receive, send, security)
        context.response_headers = self._headers
        security.active += 1
        try:
            await self.app(scope, receive, context.send)
        except Exception:
            if not context.closed and LEFT not in scope:  # else the exception says that the client left
                if context.status:
                    raise
                log.exception("%s %s failed", scope["method"], scope["path"])
                await context.reject(FAILURE)
        finally:
            security.active -= 1
            if context.slot_owner is not None:
                security.clients.release(context.slot_owner)
            del scope["context"]  # reference cycles: without them a request needs no garbage collection
            scope.pop(CYCLE, None)
            status = context.status or (408 if LATE in scope else CLIENT_CLOSED_REQUEST)
            if security.observe is not None:
                security.observe(context.route, status, time.perf_counter() - start)
            if security.audit is not None and (context.required_scope == ADMIN or status in AUDITED_STATUSES):
                _write_audit(security.audit, context, status)


class CheckMiddleware:
    """Base of middleware that answers a request with an error or passes it on."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        context: RequestContext = scope["context"]
        error = self.check(context)
        if error is None:
            await self.app(scope, context.receive if context.counts_body else receive, send)
        else:
            await context.reject(error)

    def check(self, context: RequestContext) -> Error | None:
        raise NotImplementedError


class SameOriginMiddleware(CheckMiddleware):
    """Refuses ambiguous headers, and requests that a page of another site makes a browser send."""

    def __init__(self, app: ASGIApp, security: Security, *, route: str, public: bool) -> None:
        super().__init__(app)
        self.security, self._route, self._public = security, route, public
        self._hosts: dict[bytes, bool] = {}

    def check(self, context: RequestContext) -> Error | None:
        context.route, headers, received = self._route, context.headers, context.scope["headers"]
        if len(headers) != len(received):
            names = [name for name, _ in received]
            if any(names.count(name) > 1 for name in SINGLE_HEADERS):
                return REPEATED_HEADER
        host, origin = headers.get(b"host"), headers.get(b"origin")
        if host is None:
            return NO_HOST
        if self.security.is_open() and not self._is_loopback(host):
            return FOREIGN_HOST
        if origin is not None and not same_site(origin, host):
            return CROSS_ORIGIN
        if not self._public and headers.get(b"sec-fetch-site", b"none") not in SAME_SITE:
            return CROSS_ORIGIN
        return None

    def _is_loopback(self, host: bytes) -> bool:
        known = self._hosts.get(host)
        if known is None:
            known = is_loopback(host)
            if len(self._hosts) < MAX_KNOWN_HOSTS:
                self._hosts[host] = known
        return known


class PageHeadersMiddleware:
    """Gives a page the headers of pages, which browsers may cache, in place of those of the API."""

    def __init__(self, app: ASGIApp, headers: Headers) -> None:
        self.app, self._headers = app, headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["context"].response_headers = self._headers
        await self.app(scope, receive, send)


class AuthMiddleware(CheckMiddleware):
    """Authentication: identifies the token. `ScopeMiddleware` refuses, after failed attempts are rate-limited.

    From here on the connection counts for the token; a token with too many connections is refused.
    """

    def __init__(self, app: ASGIApp, security: Security) -> None:
        super().__init__(app)
        self.security = security

    def check(self, context: RequestContext) -> Error | None:
        if self.security.is_open():
            return None
        found = self.security.tokens.check(context.headers.get(b"authorization"))
        if not isinstance(found, Granted):
            challenge = ((b"www-authenticate", b"Bearer"),) if found.status == 401 else ()
            context.denied = Error(found.status, found.code, found.sentence, challenge)
            return None
        context.grant = found
        CURRENT_CLIENT.set(found.id)
        connections, peer = self.security.connections, context.scope.get("client")
        if connections is None or peer is None or connections.assign(tuple(peer), found.id):
            return None
        return TOO_MANY_CONNECTIONS_OF_CLIENT


class RateLimitMiddleware(CheckMiddleware):
    """A token bucket for each client."""

    def __init__(self, app: ASGIApp, rates: Rates) -> None:
        super().__init__(app)
        self._rates = rates

    def check(self, context: RequestContext) -> Error | None:
        wait = self._rates.wait(context.client, time.monotonic())
        if wait <= 0:
            return None
        seconds = max(1, math.ceil(wait))
        retry = ((b"retry-after", b"%d" % seconds),)
        return Error(429, "too-often", f"These are too many requests: wait {seconds} s.", retry)


class ScopeMiddleware(CheckMiddleware):
    """Authorization: refuses requests without a valid token, or with one that lacks the scope of the route."""

    def __init__(self, app: ASGIApp, scope: str | None) -> None:
        """`scope` None: any valid token will do."""
        super().__init__(app)
        self._required = scope

    def check(self, context: RequestContext) -> Error | None:
        context.required_scope = required = self._required
        context.model = context.scope.get("path_params", {}).get("name")
        grant = context.grant
        if context.denied is not None or grant is None or required is None or required in grant.scopes:
            return context.denied
        has = ", ".join(sorted(grant.scopes))
        return Error(403, "scope", f"This needs a token with {required}, but {grant.name} has {has}.")


class BodyMiddleware(CheckMiddleware):
    """Refuses bodies of another media type, or larger than the limit of their media type."""

    def __init__(self, app: ASGIApp, limits: Limits, media_types: Iterable[str]) -> None:
        super().__init__(app)
        self._max_bytes = {JSON: limits.body, FILE: limits.upload, NDJSON: None}
        self._media_types = tuple(media_types)
        self._spellings = {  # what clients usually send; media_type parses other spellings
            f"{media}{end}".encode(): media
            for media in self._media_types
            for end in ("", "; charset=utf-8", ";charset=utf-8")
        }

    def check(self, context: RequestContext) -> Error | None:
        headers = context.headers
        length, kind = headers.get(b"content-length"), headers.get(b"content-type")
        if not self._media_types:
            return UNEXPECTED_BODY if length not in {None, b"0"} or b"transfer-encoding" in headers else None
        media = None if kind is None else self._spellings.get(kind) or media_type(kind, self._media_types)
        if media is None:
            found = "none came" if kind is None else f"{kind.decode('latin-1')[:100]!r} came"
            expected = " or ".join(self._media_types)
            return Error(415, "other-media-type", f"The Content-Type must be {expected}, but {found}.")
        if headers.get(b"content-encoding", b"identity") != b"identity":
            return ENCODED_BODY
        context.media = media
        context.max_body = limit = self._max_bytes[media]
        if limit is None or length is None:
            context.counts_body = True
        elif len(length) > 18 or int(length) > limit:
            return _too_large(limit)
        return None


class ConcurrencyMiddleware(CheckMiddleware):
    """Refuses requests beyond the number that may be under way, in all or of one client.

    Those to public paths are always answered. `ContextMiddleware` gives the client's slot back.
    """

    def __init__(self, app: ASGIApp, security: Security) -> None:
        super().__init__(app)
        self.security = security

    def check(self, context: RequestContext) -> Error | None:
        if self.security.active > self.security.limits.concurrent > 0:
            return BUSY
        client = context.client
        if not self.security.clients.acquire(client):
            return TOO_MANY_REQUESTS_OF_CLIENT
        context.slot_owner = client
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


def _too_large(limit: int) -> Error:
    return Error(413, "too-large", f"The body may have {limit:,} bytes, but has more: send it in parts or as a stream.")


def _write_audit(audit: Audit, context: RequestContext, status: int) -> None:
    scope = context.scope
    about = {
        "client": context.address,
        "token": context.grant.name if context.grant is not None else None,
        "method": scope["method"],
        "path": scope["path"],
        "status": status,
    }
    if context.code is not None or LATE in scope:
        audit.refused(**about, code=context.code)
    elif context.required_scope == ADMIN:
        event = "upload" if context.route == "create" and context.media == FILE else context.route
        audit.action(event, **about, model=context.model)
