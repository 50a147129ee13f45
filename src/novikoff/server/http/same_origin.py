"""Same-origin checks against cross-site requests and DNS rebinding.

A page of another site can make a browser send requests, also to host names of its own that resolve to this machine. It
can't forge the headers Host, Origin and Sec-Fetch-Site.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache


@lru_cache(maxsize=1000)
def is_loopback_host(host: bytes) -> bool:
    """Return whether a Host header names this machine.

    >>> [is_loopback_host(host) for host in (b"localhost:8000", b"127.0.0.1", b"[::1]:80", b"127.0.0.1.evil.example")]
    [True, True, True, False]
    """
    text = host.decode("latin-1").lower()
    name = text[1:].partition("]")[0] if text.startswith("[") else text.partition(":")[0]
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def is_same_site(origin: bytes, host: bytes) -> bool:
    """Return whether an Origin header names the same site as a Host header.

    >>> is_same_site(b"https://example.org", b"example.org:443"), is_same_site(b"http://localhost:1", b"localhost:2")
    (True, False)
    """
    scheme, _, name = origin.lower().partition(b"://")
    port = {b"http": b":80", b"https": b":443"}.get(scheme)
    return port is not None and name.removesuffix(port) == host.lower().removesuffix(port)
