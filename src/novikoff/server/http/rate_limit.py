"""Rate limiting with a token bucket per client."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

MAX_CLIENTS = 10_000


class TokenBucket:
    """A bucket that fills with `rate` tokens per second up to `most`; each request takes one."""

    __slots__ = ("left", "most", "rate", "seen")

    def __init__(self, rate: float, most: float) -> None:
        self.rate, self.most, self.left, self.seen = rate, most, most, 0.0

    def wait(self, now: float) -> float:
        """Take a token and return 0, or return the seconds until one is available.

        >>> bucket = TokenBucket(rate=2.0, most=1.0)
        >>> bucket.wait(10.0), bucket.wait(10.0), bucket.wait(10.5)
        (0.0, 0.5, 0.0)
        """
        self.left = min(self.most, self.left + (now - self.seen) * self.rate)
        self.seen = now
        if self.left >= 1.0:
            self.left -= 1.0
            return 0.0
        return (1.0 - self.left) / self.rate

    def has_one(self, now: float) -> bool:
        """Return whether a token is available, without taking it."""
        return self.left + (now - self.seen) * self.rate >= 1.0


class RateLimiter:
    """A token bucket per client, each for the requests of one second. Buckets idle for a second are full again and can
    be dropped."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._buckets: dict[str, TokenBucket] = {}
        self._last_cleanup = 0.0

    def wait(self, client: str, now: float) -> float:
        bucket = self._buckets.get(client)
        if bucket is None:
            if len(self._buckets) >= MAX_CLIENTS:
                self._drop_full_buckets(now)
            if len(self._buckets) >= MAX_CLIENTS:
                client = "others"  # clients beyond the limit share one bucket
                bucket = self._buckets.get(client)
            if bucket is None:
                bucket = self._buckets[client] = TokenBucket(self._rate, self._rate)
        return bucket.wait(now)

    def _drop_full_buckets(self, now: float) -> None:
        if now - self._last_cleanup >= 1.0:
            self._last_cleanup = now
            self._buckets = {client: bucket for client, bucket in self._buckets.items() if now - bucket.seen < 1.0}


@lru_cache(maxsize=MAX_CLIENTS)
def client_network(address: str) -> str:
    """Return the network that counts as one client: an IPv4 address, or the /64 network of an IPv6 address.

    >>> client_network("192.0.2.7"), client_network("2001:db8:1:2:3:4:5:6")
    ('192.0.2.7', '2001:db8:1:2::/64')
    """
    if ":" not in address:
        return address
    try:
        return str(ipaddress.ip_network((address.partition("%")[0], 64), strict=False))
    except ValueError:
        return address
