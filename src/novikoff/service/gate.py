"""The gate: who may come in, how much they may bring, how often. Every request passes it, every answer too.

What is refused is answered here, in this order: heads that can be read in two ways, requests that a foreign page makes
a browser send, tokens, rates, paths that are not there, bodies that are too large or of another kind, crowds. The app
is asked for nothing that the table of routes has not. Time-outs are those of the connection (connection.py).
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterable

from novikoff.service.audit import Audit
from novikoff.service.client_limits import CURRENT_CLIENT, ConcurrencyLimit, ConnectionLimit
from novikoff.service.limits import Limits
from novikoff.service.origin import is_loopback, same_site
from novikoff.service.rate import Rates, neighbourhood
from novikoff.service.refusal import PAGES, PRIVATE, TLS, Headers, Receive, Refusal, Scope, Send
from novikoff.service.routes import ADMIN, FILE, JSON, NDJSON, ROUTES, Route
from novikoff.service.table import OPEN, Found, Table, media_type
from novikoff.service.tokens import Granted, Tokens
from novikoff.service.visit import LATE, LEFT, Visit, too_large

App = Callable[[Scope, Receive, Send], Awaitable[None]]
Observe = Callable[[str, int, float], None]

GONE = 499
"""The status that is counted where a client left before it was answered."""
AUDITED = {401, 403, 408, 413, 429, 503}
ONCE = (b"host", b"authorization", b"origin", b"content-type", b"content-length", b"idempotency-key")
SAME = {b"same-origin", b"none"}
log = logging.getLogger("novikoff.service")

TWICE = Refusal(400, "header-twice", f"The headers {', '.join(name.decode() for name in ONCE)} may come only once.")
NO_HOST = Refusal(400, "no-host", "A request must have a Host header.")
FOREIGN_HOST = Refusal(
    403,
    "foreign-host",
    "Without tokens the service is asked as localhost or by a loopback address: see the Host header.",
)
FOREIGN_PAGE = Refusal(403, "foreign-page", "Pages of other sites may not ask this service: its Origin is another.")
NOWHERE = Refusal(404, "no-such-path", "There is nothing at this path: see /v1/openapi.json.")
CROWD = Refusal(
    503, "too-many-requests-at-once", "Too many requests are under way: try again.", ((b"retry-after", b"1"),)
)
CLIENT_CROWD = Refusal(
    429,
    "too-many-requests-of-client",
    "This client has too many requests under way: wait until some of them have ended.",
    ((b"retry-after", b"1"),),
)
CLIENT_CONNECTIONS = Refusal(
    429,
    "too-many-connections-of-client",
    "This client has too many open connections: close some of them.",
    ((b"retry-after", b"1"), (b"connection", b"close")),
)
FAILURE = Refusal(500, "failure", "The service failed at this request: it is a mistake of the service, see its log.")
NO_BODY = Refusal(400, "body-not-wanted", "This request takes no body: send none.")
PACKED = Refusal(415, "packed", "Bodies are taken as they are: send them without a Content-Encoding.")
CHALLENGE = ((b"www-authenticate", b"Bearer"),)


class Gate:
    """An ASGI app around another one. `loopback`: the service can be reached from this machine only, so that it is
    open to all as long as there is no token file. `observe` is told the route, the status and the seconds of each
    request. The app finds a `Visit` in `scope["visit"]`."""

    def __init__(
        self,
        app: App,
        *,
        tokens: Tokens,
        limits: Limits,
        loopback: bool,
        audit: Audit | None = None,
        observe: Observe | None = None,
        tls: bool = False,
        connections: ConnectionLimit | None = None,
        routes: Iterable[Route] = ROUTES,
        pages: dict[str, str] = OPEN,
    ) -> None:
        self._app, self._tokens, self._limits, self._loopback = app, tokens, limits, loopback
        self._audit, self._observe = audit, observe
        self._table = Table(routes, pages)
        self._rates = Rates(limits.rate) if limits.rate else None
        self.clients, self._connections = ConcurrencyLimit(limits.client_requests), connections
        self._most = {JSON: limits.body, FILE: limits.upload, NDJSON: None}
        self._hosts: dict[bytes, bool] = {}
        self._pages: Headers = (*PAGES, TLS) if tls else PAGES
        self._private: Headers = (*PRIVATE, TLS) if tls else PRIVATE
        self.inside = 0
        """Requests under way."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            else:
                await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        visit = scope["visit"] = Visit(scope, self._tokens, receive, send)
        refusal = self._look(scope, visit)
        self.inside += 1
        try:
            if refusal is not None:
                await visit.refuse(refusal)
            else:
                await self._app(scope, visit.receive if visit.watched else receive, visit.send)
        except Exception:
            if not visit.ended and LEFT not in scope:  # else the app was told that the client left
                if visit.status:
                    raise
                log.exception("%s %s failed", scope["method"], scope["path"])
                await visit.refuse(FAILURE)
        finally:
            self.inside -= 1
            if visit.client is not None:
                self.clients.release(visit.client)
            status = visit.status or (408 if LATE in scope else GONE)
            if self._observe is not None:
                self._observe(visit.name, status, time.perf_counter() - start)
            if self._audit is not None and (visit.scope == ADMIN or status in AUDITED):
                self._note(self._audit, scope, visit, status)

    def _look(self, scope: Scope, visit: Visit) -> Refusal | None:
        """Why a request is refused. Fills in the visit as far as it goes."""
        lines = scope["headers"]
        headers = dict(lines)
        methods, visit.model = self._table.find(scope["path"])
        found = methods.get(scope["method"])
        free = self._loopback and not self._tokens.closed()
        if found is None:
            visit.secure = self._private
        else:
            visit.name, visit.scope = found.name, found.scope
            visit.secure = self._private if found.private else self._pages
        return (
            (_twice(lines) if len(headers) != len(lines) else None)
            or self._foreign(headers, found, free)
            or self._stranger(scope, headers, found, visit, free)
            or (self._burden(headers, found, visit) if found is not None else _nothing_there(methods))
            or self._client_crowd(scope, visit)
        )

    def _client_crowd(self, scope: Scope, visit: Visit) -> Refusal | None:
        """Take one of the client's slots; it is given back when the request has ended."""
        if visit.scope is not None:
            client = _who(scope, visit)
            if not self.clients.acquire(client):
                return CLIENT_CROWD
            visit.client = client
        return None

    def _foreign(self, headers: dict[bytes, bytes], found: Found | None, free: bool) -> Refusal | None:
        """A browser was made to ask: by a name that points here, or from another site."""
        host = headers.get(b"host")
        if host is None:
            return NO_HOST
        if free:
            good = self._hosts.get(host)
            if good is None:
                good = is_loopback(host)
                if len(self._hosts) < 1000:
                    self._hosts[host] = good
            if not good:
                return FOREIGN_HOST
        origin = headers.get(b"origin")
        if origin is not None and not same_site(origin, host):
            return FOREIGN_PAGE
        if headers.get(b"sec-fetch-site", b"none") not in SAME and (found is None or found.scope is not None):
            return FOREIGN_PAGE
        return None

    def _stranger(
        self, scope: Scope, headers: dict[bytes, bytes], found: Found | None, visit: Visit, free: bool
    ) -> Refusal | None:
        """No token, not the right one, or one that came too often."""
        refusal = None
        if not free and (found is None or found.scope is not None):
            refusal = self._ask_for_token(headers.get(b"authorization"), found, visit)
        if refusal is None and visit.granted is not None and self._connections is not None:
            peer = scope.get("client")
            if peer is not None and not self._connections.assign(tuple(peer), visit.granted.id):
                return CLIENT_CONNECTIONS
        if self._rates is not None:
            wait = self._rates.wait(_who(scope, visit), time.monotonic())
            if wait > 0:
                return _too_often(wait)
        return refusal

    def _ask_for_token(self, header: bytes | None, found: Found | None, visit: Visit) -> Refusal | None:
        granted = self._tokens.check(header)
        if not isinstance(granted, Granted):
            return Refusal(granted.status, granted.code, granted.sentence, CHALLENGE if granted.status == 401 else ())
        visit.granted = granted
        CURRENT_CLIENT.set(granted.id)
        if found is not None and found.scope not in granted.scopes:
            has = ", ".join(sorted(granted.scopes))
            return Refusal(403, "scope", f"This needs a token with {found.scope}, but {granted.name} has {has}.")
        return None

    def _burden(self, headers: dict[bytes, bytes], found: Found, visit: Visit) -> Refusal | None:
        """A body of the wrong kind or size, or more requests than can be borne."""
        length, kind = headers.get(b"content-length"), headers.get(b"content-type")
        if not found.media:
            if length not in {None, b"0"} or b"transfer-encoding" in headers:
                return NO_BODY
        else:
            media = None if kind is None else found.media.get(kind) or media_type(kind, found.media.values())
            if media is None:
                return _other_media(kind, found)
            if headers.get(b"content-encoding", b"identity") != b"identity":
                return PACKED
            visit.media = media
            visit.most = most = self._most[media]
            if most is None or length is None:
                visit.watched = True
            elif len(length) > 18 or int(length) > most:
                return too_large(most)
        return CROWD if found.scope is not None and 0 < self._limits.concurrent <= self.inside else None

    @staticmethod
    def _note(audit: Audit, scope: Scope, visit: Visit, status: int) -> None:
        about = {
            "client": _address(scope),
            "token": visit.granted.name if visit.granted is not None else None,
            "method": scope["method"],
            "path": scope["path"],
            "status": status,
        }
        if visit.code is not None or LATE in scope:
            audit.refused(**about, code=visit.code)
        elif visit.scope == ADMIN:
            event = "upload" if visit.name == "create" and visit.media == FILE else visit.name
            audit.action(event, **about, model=visit.model)


def _twice(lines: list[tuple[bytes, bytes]]) -> Refusal | None:
    names = [name for name, _ in lines]
    return TWICE if any(names.count(name) > 1 for name in ONCE) else None


def _too_often(wait: float) -> Refusal:
    seconds = max(1, math.ceil(wait))
    return Refusal(
        429, "too-often", f"These are too many requests: wait {seconds} s.", ((b"retry-after", b"%d" % seconds),)
    )


def _nothing_there(methods: dict[str, Found]) -> Refusal:
    if not methods:
        return NOWHERE
    allowed = ", ".join(sorted(methods))
    return Refusal(405, "other-method", f"This path takes {allowed} only.", ((b"allow", allowed.encode()),))


def _other_media(kind: bytes | None, found: Found) -> Refusal:
    came = "none came" if kind is None else f"{kind.decode('latin-1')[:100]!r} came"
    known = " or ".join(dict.fromkeys(found.media.values()))
    return Refusal(415, "other-media-type", f"The Content-Type must be {known}, but {came}.")


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else "local"


def _who(scope: Scope, visit: Visit) -> str:
    return visit.granted.id if visit.granted is not None else neighbourhood(_address(scope))
