"""A whole answer in one write. As a head and a body, each sent by itself, it costs twice as much as to predict."""

from __future__ import annotations

import http
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

CYCLE = "cycle"
"""Where the scope has uvicorn's cycle of request and response, if it is uvicorn that serves."""


@lru_cache(maxsize=100)
def head(status: int, media: str, more: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """Up to the length of the body, which comes last."""
    start = f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}\r\ncontent-type: {media}\r\n"
    return start.encode() + lines(more) + b"content-length: "


def lines(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"".join(b"%b: %b\r\n" % header for header in headers)


def sent(cycle: Any, before: bytes, body: bytes) -> bool:
    """Sends what begins with this head; False where that can't be done at once: then it is to be sent as usual."""
    if cycle.response_started or cycle.disconnected or cycle.flow.write_paused or cycle.scope["method"] == "HEAD":
        return False
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    end = lines(cycle.default_headers)
    if not cycle.keep_alive:
        end += b"connection: close\r\n"
    cycle.transport.write(b"%b%d\r\n%b\r\n%b" % (before, len(body), end, body))
    cycle.message_event.set()
    if not cycle.keep_alive:
        cycle.transport.close()
    cycle.on_response()
    return True
