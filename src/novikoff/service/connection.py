"""Connections: uvicorn's, with an end to patience. Clients that take too long for the head of a request, for the next
piece of its body or to fetch the next piece of the answer are let go; so are heads that are too large or no HTTP.

One look at all connections, twice a second, finds those that are late: no request pays for a timer.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from novikoff.service.at_once import CYCLE, head
from novikoff.service.client_limits import BodyRate, ConnectionLimit
from novikoff.service.limits import Limits
from novikoff.service.rate import neighbourhood
from novikoff.service.refusal import PRIVATE, Refusal
from novikoff.service.routes import NDJSON
from novikoff.service.visit import LATE, LEFT

EVERY = 0.5
"""Seconds between looks."""

NO_HTTP = Refusal(400, "malformed-request", "This is no HTTP request: the connection is closed.")
HALF = Refusal(400, "incomplete-request", "The request ended before it was complete: the connection is closed.")
LARGE_HEAD = Refusal(431, "head-too-large", "The head of the request is too large: the connection is closed.")
SLOW_HEAD = Refusal(408, "slow-head", "The head of the request took too long: the connection is closed.")
SLOW_BODY = Refusal(408, "slow-body", "The next piece of the body took too long: the connection is closed.")
LOW_RATE = Refusal(408, "slow-body", "The body comes too slowly: the connection is closed.")
CROWD = Refusal(503, "too-many-connections", "There are too many connections: try again.", ((b"retry-after", b"1"),))


class Connection(HttpToolsProtocol):
    """`connections(limits)` makes the class that a server takes: `uvicorn.Config(…, http=connections(limits))`."""

    limits = Limits()
    watch: Watch

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.in_head = True
        """Whether a head is awaited. On a connection that has had one, uvicorn waits for the next to begin."""
        self.begun = False
        """Whether some of that head has come."""
        self.since = self.loop.time()
        """When the head began, the latest piece of the body came, or the client stopped fetching its answer."""
        self.fed = 0
        """Bytes since something was understood: a long header, or what trails a body."""
        self.understood = 0
        """Bytes of the headers."""
        self.thrown_away = 0
        """Bytes of a body that came after its answer."""
        self.large = False
        self.watch.greet(self)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.cycle is not None:
            self.cycle.scope[LEFT] = True  # type: ignore[literal-required]
        self.watch.left(self)

    def data_received(self, data: bytes) -> None:
        if not self.in_head and not self.flow.write_paused:
            self.since = self.loop.time()
        self.fed += len(data)
        super().data_received(data)
        if self.fed > self.limits.head:
            self.dismiss(LARGE_HEAD)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if not self.in_head:
            self.since = self.loop.time()
        self.in_head = self.begun = True
        self.understood = self.thrown_away = 0

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._weigh(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._weigh(len(name) + len(value) + 4)
        if self.in_head:  # what trails a body was not looked at by the gate
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self.in_head = self.begun = False
        self.fed = self.understood = 0
        self.since = self.loop.time()
        self.rate = BodyRate(self.since, self.limits.body_rate_seconds, self.limits.body_rate)
        super().on_headers_complete()
        self.scope[CYCLE] = self.cycle  # type: ignore[literal-required]

    def on_message_complete(self) -> None:
        self.fed = 0
        super().on_message_complete()

    def on_body(self, body: bytes) -> None:
        self.fed = 0
        self.rate.receive(len(body))
        if self.cycle.response_complete:
            self.thrown_away += len(body)
            if self.thrown_away > self.limits.body:  # the client has had time to see its answer
                self.transport.close()
        super().on_body(body)

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client has sent all that it will; what it asked for is still answered."""
        if self.scheme == "https" or self.transport.is_closing():
            return False
        cycle = self.cycle
        if cycle is None or cycle.response_complete or cycle.more_body:
            if self.begun or (cycle is not None and not cycle.response_complete):
                self.dismiss(HALF)
            return False
        cycle.keep_alive = False
        return True

    def pause_writing(self) -> None:
        super().pause_writing()
        self.since = self.loop.time()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.since = self.loop.time()

    def send_400_response(self, msg: str) -> None:
        self.dismiss(LARGE_HEAD if self.large else NO_HTTP)

    def _unsupported_upgrade_warning(self) -> None:
        """Nobody's log fills because of that."""

    def _weigh(self, size: int) -> None:
        self.understood += size
        if self.understood > self.limits.head:
            self.large = True
            raise ValueError("the head is too large")  # which the parser tells as its own error

    def dismiss(self, refusal: Refusal) -> None:
        """Tells why, where somebody waits for an answer and none is on its way, and closes the connection."""
        if self.transport.is_closing():
            return
        cycle: RequestResponseCycle | None = self.cycle
        told = not self.begun
        if cycle is not None and not cycle.response_complete:
            told = cycle.response_started
            cycle.disconnected = True
            cycle.message_event.set()
        elif cycle is None:
            told = False
        if not told:
            self.transport.write(_whole(refusal))
        self.since = self.loop.time()
        self.transport.close()

    def look(self, now: float) -> None:
        """Whether the client is late."""
        limits, cycle = self.limits, self.cycle
        waited = now - self.since
        if self.flow.write_paused or self.transport.is_closing():
            if limits.answer_seconds and waited > limits.answer_seconds:
                self.transport.abort()
        elif self.in_head:
            if limits.head_seconds and waited > limits.head_seconds:
                if self.begun:
                    self.dismiss(SLOW_HEAD)
                else:
                    self.transport.close()
        elif cycle is None:
            return
        elif not cycle.response_complete:
            if cycle.more_body and self.flow.read_paused:
                self.since = now  # it is for the app to fetch what has come
                self.rate.pause(now)
                return
            self.rate.resume(now)
            if cycle.more_body and self._is_too_slow(now):
                cycle.scope[LATE] = True  # type: ignore[literal-required]
                self.dismiss(LOW_RATE)
            elif cycle.more_body and limits.body_seconds and waited > limits.body_seconds:
                cycle.scope[LATE] = True  # type: ignore[literal-required]
                self.dismiss(SLOW_BODY)
        elif limits.body_seconds and waited > limits.body_seconds and self.timeout_keep_alive_task is None:
            self.transport.close()  # the rest of a body that nobody wants, or empty lines

    def _is_too_slow(self, now: float) -> bool:
        """Return whether the body is below the minimum rate. Streams of lines may be as slow as their source."""
        visit = self.cycle.scope.get("visit")
        return getattr(visit, "media", None) != NDJSON and self.rate.is_too_slow(now)


class Watch:
    """All connections of a server. When there are too many, who has waited longest with its head makes room."""

    def __init__(self, limits: Limits) -> None:
        self.most = limits.concurrent + limits.concurrent // 2
        self.clients = ConnectionLimit(limits.client_connections)
        self.connections: set[Connection] = set()
        self._next: asyncio.TimerHandle | None = None

    def greet(self, newcomer: Connection) -> None:
        peer, crowd = newcomer.client, None
        client = neighbourhood(peer[0]) if peer else None
        if client is not None and not self.clients.open(peer, client):
            crowd = [one for one in self.connections if self.clients.owner(one.client) == client]
        elif self.most and len(self.connections) >= self.most:
            crowd = list(self.connections)
        if crowd is not None:
            leaving = min((one for one in crowd if one.in_head), key=lambda one: one.since, default=newcomer)
            leaving.dismiss(CROWD)
            self.clients.close(leaving.client)
            if client is not None and leaving is not newcomer and self.clients.owner(peer) is None:
                self.clients.open(peer, client)
        self.connections.add(newcomer)
        if self._next is None:
            self._next = newcomer.loop.call_later(EVERY, self._look, newcomer.loop)

    def left(self, connection: Connection) -> None:
        self.connections.discard(connection)
        self.clients.close(connection.client)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for connection in list(self.connections):
            connection.look(now)
        self._next = loop.call_later(EVERY, self._look, loop) if self.connections else None


def connections(limits: Limits) -> type[Connection]:
    """The class of connections of one server."""
    return type("Connection", (Connection,), {"limits": limits, "watch": Watch(limits)})


def _whole(refusal: Refusal) -> bytes:
    body = refusal.body()
    before = head(refusal.status, "application/json", ((b"connection", b"close"), *refusal.headers, *PRIVATE))
    return b"%b%d\r\n\r\n%b" % (before, len(body), body)
