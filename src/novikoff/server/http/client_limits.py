"""Counters for connection limits: open connections of each client, and the rate at which a body arrives.

A client is a token, or a network address as long as no token is known. Without such limits one client with slow bodies
could use up the limits of the whole server. The classes are independent of HTTP, and the caller passes the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable


class ConnectionLimit:
    """Open connections of each client. A connection belongs to its address until a token is known for it.

    Connections are identified by their peer: address and port. Behind a proxy all connections have the same address,
    and only tokens distinguish clients.

    >>> limit = ConnectionLimit(1)
    >>> limit.open(("192.0.2.7", 1), "192.0.2.7"), limit.open(("192.0.2.7", 2), "192.0.2.7")
    (True, False)
    >>> limit.assign(("192.0.2.7", 1), "shop")
    True
    >>> limit.open(("192.0.2.7", 2), "192.0.2.7")
    True
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.refused = 0
        """Number of connections refused because a client had too many."""
        self._owners: dict[Hashable, str] = {}
        self._counts: Counter[str] = Counter()

    def open(self, peer: Hashable, client: str) -> bool:
        """Count a new connection. Return False, without counting it, if the client has reached its limit."""
        if self._is_full(client):
            return False
        self._owners[peer] = client
        self._counts[client] += 1
        return True

    def assign(self, peer: Hashable, client: str) -> bool:
        """Count a connection for this client from now on. Return False if the client has reached its limit."""
        owner = self._owners.get(peer)
        if owner is None or owner == client:
            return True
        if self._is_full(client):
            return False
        self.close(peer)
        return self.open(peer, client)

    def close(self, peer: Hashable) -> None:
        """Stop counting a connection; one that is not counted is ignored."""
        owner = self._owners.pop(peer, None)
        if owner is not None:
            self._counts[owner] -= 1
            if not self._counts[owner]:
                del self._counts[owner]

    def owner(self, peer: Hashable) -> str | None:
        """Return the client for which a connection counts."""
        return self._owners.get(peer)

    def count(self, client: str) -> int:
        return self._counts.get(client, 0)

    def _is_full(self, client: str) -> bool:
        full = bool(self.limit) and self._counts.get(client, 0) >= self.limit
        self.refused += full
        return full


class BodyRate:
    """The mean rate at which one body arrives. Time in which the server does not read is not counted.

    >>> body = BodyRate(now=0.0, grace=10.0, minimum=100)
    >>> body.receive(500)
    >>> body.is_too_slow(9.0), body.is_too_slow(14.0), body.is_too_slow(16.0)
    (False, False, True)
    """

    __slots__ = ("_grace", "_minimum", "_paused_since", "_received", "_start")

    def __init__(self, now: float, grace: float, minimum: float) -> None:
        """Create the counter. `minimum` is in bytes per second, required after `grace` seconds; 0 means no minimum."""
        self._start, self._grace, self._minimum = now, grace, minimum
        self._received = 0
        self._paused_since: float | None = None

    def receive(self, size: int) -> None:
        self._received += size

    def pause(self, now: float) -> None:
        """Stop the clock because the server does not read for now."""
        if self._paused_since is None:
            self._paused_since = now

    def resume(self, now: float) -> None:
        if self._paused_since is not None:
            self._start += now - self._paused_since
            self._paused_since = None

    def is_too_slow(self, now: float) -> bool:
        """Return whether fewer bytes have arrived than the minimum rate requires."""
        if self._paused_since is not None or not self._minimum:
            return False
        late = now - self._start - self._grace
        return late > 0 and self._received < late * self._minimum
