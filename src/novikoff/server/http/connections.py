"""Connections: time-outs and limits in front of uvicorn's HTTP protocol, and responses in one write.

uvicorn has no options for slow heads and bodies, unread responses or the size of a head, and an ASGI application sees a
request only when its head is complete. So `ClientConnection`, the class for `uvicorn.Config(http=…)`, stands between
the transport and uvicorn's protocol. It tracks requests with its own parser and forwards all events. uvicorn's protocol
is used through the interface of `asyncio.Protocol` only. The middleware finds the connection in the state of the scope.

One check of all connections, twice a second, finds those that are late, so no request needs a timer.
"""

from __future__ import annotations

import asyncio
import http
from collections import deque
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from novikoff.server.http.client_limits import BodyRate, ConnectionLimit
from novikoff.server.http.errors import API_HEADERS, PROBLEM_JSON, encode_problem
from novikoff.server.http.rate_limit import client_network
from novikoff.server.http.routes import NDJSON
from novikoff.server.models.validation import Headers, RequestError
from novikoff.server.ops.limits import Limits

if TYPE_CHECKING:
    from novikoff.server.http.auth import Grant
    from novikoff.server.http.middleware import ApiRequest

CHECK_INTERVAL_SECONDS = 0.5
MALFORMED_REQUEST = RequestError(
    "The data is not a valid HTTP request. The connection is closed.", "malformed-request", 400
)
INCOMPLETE_REQUEST = RequestError(
    "The request ended before it was complete. The connection is closed.", "incomplete-request", 400
)
HEAD_TOO_LARGE = RequestError(
    "The head of the request is too large. The connection is closed.", "header-too-large", 431
)
SLOW_HEAD = RequestError("The head of the request took too long. The connection is closed.", "header-timeout", 408)
SLOW_BODY = RequestError("The next part of the body took too long. The connection is closed.", "body-timeout", 408)
LOW_BODY_RATE = RequestError("The body arrives too slowly. The connection is closed.", "body-timeout", 408)
TOO_MANY_CONNECTIONS = RequestError(
    "The server has too many open connections. Try again later.",
    "too-many-connections",
    503,
    ((b"retry-after", b"1"),),
)


@lru_cache(maxsize=100)
def build_response_head(status: int, media: str, headers: Headers) -> bytes:
    """Return the head of a response up to the value of Content-Length, which comes last."""
    start = f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}\r\ncontent-type: {media}\r\n"
    return start.encode() + b"".join(b"%b: %b\r\n" % header for header in headers) + b"content-length: "


def write_response(cycle: Any, head: bytes, body: bytes) -> bool:
    """Write head and body in one call. Return False if the response must be sent through the ASGI interface instead.

    `cycle` is a private object of uvicorn. ASGI sends head and body in two messages, and uvicorn checks and writes
    each of them. Latencies in µs with and without this function, alternating, 40 rounds of 0.25 s on two shared cores,
    20th percentile of the rounds: predict with one client p50 226 and 265, p99 413 and 478; with 16 clients p50 3268
    and 3881, p99 6471 and 7924; learn with 16 clients p50 2754 and 3722, p99 12144 and 16053; with one p50 524 and 550.
    """
    if cycle.response_started or cycle.disconnected or cycle.flow.write_paused or cycle.scope["method"] == "HEAD":
        return False
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    end = b"".join([b"%b: %b\r\n" % header for header in cycle.default_headers])
    if not cycle.keep_alive:
        end += b"connection: close\r\n"
    cycle.transport.write(b"%b%d\r\n%b\r\n%b" % (head, len(body), end, body))
    cycle.message_event.set()
    if not cycle.keep_alive:
        cycle.transport.close()
    cycle.on_response()
    return True


class ClientConnection(asyncio.Protocol):
    """One connection. `build_protocol` returns the class for `uvicorn.Config(http=…)`."""

    limits = Limits()
    monitor: ConnectionMonitor
    request: ApiRequest | None = None  # the request that the middleware is handling
    grant: tuple[bytes, float, Grant] | None = None  # last valid Authorization header, TokenStore.next_refresh, grant
    lost = half_closed = write_paused = False  # closed; closed for reading; the client does not read the response
    in_head = True  # a head is expected; after the first request uvicorn's keep-alive time-out waits for it to begin
    head_started = has_requests = more_body = False  # a head is incomplete; one was complete; a body is incomplete
    has_stray_data = False  # data after a response ended uvicorn's keep-alive time-out
    unparsed_bytes = 0  # since the parser last completed a head or a part of a body
    discarded_bytes = 0  # of a body after the response
    body_bytes = 0  # of the body, not yet counted by `body_rate`
    body_rate: BodyRate | None = None  # created when a check first finds the body incomplete

    def __init__(self, app_state: dict[str, Any], **settings: Any) -> None:
        self.uvicorn: asyncio.Protocol = HttpToolsProtocol(app_state={**app_state, "connection": self}, **settings)
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # both parsers must read the same
        self.heads: deque[int] = deque()  # header counts of the requests that the middleware has not started

    # --- Events of the transport ---

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport, self.loop = transport, asyncio.get_running_loop()
        peer = transport.get_extra_info("peername")
        self.peer = (peer[0], peer[1]) if isinstance(peer, tuple) else None
        self.since = self.loop.time()  # start of the head, latest part of the body, or start of the pause in writing
        self.uvicorn.connection_made(transport)
        self.monitor.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._disconnect(exc)
        self.monitor.remove(self)

    def data_received(self, data: bytes) -> None:
        if not self.in_head and not self.write_paused:
            self.since = self.loop.time()
        self.unparsed_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # uvicorn answers it like any other request
        except httptools.HttpParserError:
            self.reject(MALFORMED_REQUEST)
        if self.unparsed_bytes > self.limits.head:
            self.reject(HEAD_TOO_LARGE)
        if not self.lost:
            self.has_stray_data = self.is_answered and not self.in_head
            self.uvicorn.data_received(data)

    def eof_received(self) -> bool:
        """Handle a client that has half-closed the connection: answer a complete request, reject an incomplete one."""
        if self.transport.get_extra_info("sslcontext") is not None or self.transport.is_closing():
            return False
        if self.is_answered or self.more_body:
            if self.head_started or not self.is_answered:
                self.reject(INCOMPLETE_REQUEST)
            return False
        self.half_closed = True
        return True

    def pause_writing(self) -> None:
        self.write_paused, self.since = True, self.loop.time()
        self.uvicorn.pause_writing()

    def resume_writing(self) -> None:
        self.write_paused, self.since = False, self.loop.time()
        self.uvicorn.resume_writing()

    # --- Events of the parser ---

    def on_message_begin(self) -> None:
        if not self.in_head:
            self.since = self.loop.time()
        self.in_head = self.head_started = True
        self.discarded_bytes = self.head_bytes = self.header_count = 0
        self.url = b""

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.header_count += 1
        self.head_bytes += len(name) + len(value) + 4

    def on_headers_complete(self) -> None:
        if len(self.url) + self.head_bytes > self.limits.head:
            self.reject(HEAD_TOO_LARGE)
            raise ValueError("the head is too large")  # the parser reports it as its own error
        if not self.url.startswith(b"/") or not self.url.isascii():
            httptools.parse_url(self.url).path.decode("ascii")  # raises an error where uvicorn could not route it
        self.heads.append(self.header_count)
        self.in_head = self.head_started = False
        self.has_requests = self.more_body = True
        self.unparsed_bytes = self.body_bytes = 0
        self.since = self.body_start = self.loop.time()
        self.body_rate = None

    def on_body(self, body: bytes) -> None:
        self.unparsed_bytes = 0
        self.body_bytes += len(body)
        if not self.heads and self.request is None:
            self.discarded_bytes += len(body)
            if self.discarded_bytes > self.limits.body:  # the client has had time to read the response
                self.transport.close()

    def on_message_complete(self) -> None:
        self.more_body = False

    # --- Requests ---

    def begin(self, request: ApiRequest) -> int:
        """Record that the middleware handles a request. Return the number of its headers without trailers."""
        self.request = request
        return self.heads.popleft()

    def end(self) -> None:
        """Record that the request is answered."""
        self.request = None
        if self.half_closed and not self.heads:
            self.transport.close()

    @property
    def is_answered(self) -> bool:
        return self.request is None and not self.heads

    def reject(self, error: RequestError) -> None:
        """Close the connection. Send the error if a response is due and none has started."""
        if self.lost or self.transport.is_closing():
            return
        is_due = bool(self.heads) or self.head_started or not self.has_requests
        if is_due if self.request is None else self.request.abort(error):
            body = encode_problem(error)
            headers = ((b"connection", b"close"), *error.headers, *API_HEADERS)
            head = build_response_head(error.status, PROBLEM_JSON, headers)
            self.transport.write(b"%b%d\r\n\r\n%b" % (head, len(body), body))
        self.since = self.loop.time()
        self.transport.close()
        self._disconnect(None)

    def _disconnect(self, exc: Exception | None) -> None:
        if not self.lost:
            self.lost = True
            self.uvicorn.connection_lost(exc)

    # --- Time-outs ---

    def check(self, now: float) -> None:
        """Close the connection if the client has exceeded a time-out."""
        limits, waited = self.limits, now - self.since
        if self.write_paused or self.transport.is_closing():
            if 0 < limits.answer_seconds < waited:
                self.transport.abort()
        elif self.in_head:
            if 0 < limits.head_seconds < waited:
                self.reject(SLOW_HEAD) if self.head_started else self.transport.close()
        elif self.is_answered:
            if 0 < limits.body_seconds < waited and self.has_stray_data:
                self.transport.close()
        elif self.more_body:
            self._check_body(now, waited)

    def _check_body(self, now: float, waited: float) -> None:
        if self.body_rate is None:
            self.body_rate = BodyRate(self.body_start, self.limits.body_rate_seconds, self.limits.body_rate)
        self.body_rate.receive(self.body_bytes)
        self.body_bytes = 0
        if not self.transport.is_reading():  # the application has not read the received data yet
            self.since = now
            self.body_rate.pause(now)
            return
        self.body_rate.resume(now)
        is_stream = getattr(self.request, "media", None) == NDJSON  # streams may be as slow as their source
        if not is_stream and self.body_rate.is_too_slow(now):
            self.reject(LOW_BODY_RATE)
        elif 0 < self.limits.body_seconds < waited:
            self.reject(SLOW_BODY)


class ConnectionMonitor:
    """All connections of a server.

    If the server or one client has too many, the one that has been waiting longest for its head is closed.
    """

    def __init__(self, limits: Limits) -> None:
        self.max_connections = limits.concurrent + limits.concurrent // 2
        self.clients = ConnectionLimit(limits.client_connections)
        self.connections: set[ClientConnection] = set()
        self._next: asyncio.TimerHandle | None = None

    def add(self, new: ClientConnection) -> None:
        peer, candidates = new.peer, None
        client = client_network(peer[0]) if peer else None
        if client is not None and not self.clients.open(peer, client):
            candidates = [other for other in self.connections if self.clients.owner(other.peer) == client]
        elif self.max_connections and len(self.connections) >= self.max_connections:
            candidates = list(self.connections)
        if candidates is not None:
            waiting = (other for other in candidates if other.in_head)
            evicted = min(waiting, key=lambda other: other.since, default=new)
            evicted.reject(TOO_MANY_CONNECTIONS)
            self.clients.close(evicted.peer)
            if client is not None and evicted is not new and self.clients.owner(peer) is None:
                self.clients.open(peer, client)
        self.connections.add(new)
        if self._next is None:
            self._next = new.loop.call_later(CHECK_INTERVAL_SECONDS, self._check, new.loop)

    def remove(self, connection: ClientConnection) -> None:
        self.connections.discard(connection)
        self.clients.close(connection.peer)

    def _check(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for connection in list(self.connections):
            connection.check(now)
        self._next = loop.call_later(CHECK_INTERVAL_SECONDS, self._check, loop) if self.connections else None


def build_protocol(limits: Limits) -> type[ClientConnection]:
    """Return the protocol class of one server."""
    return type("Connection", (ClientConnection,), {"limits": limits, "monitor": ConnectionMonitor(limits)})
