"""Answers without the app: a status, a sentence, a word for programs; and the headers that every answer has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple

import msgspec

from novikoff.service.protocol import Problem

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = tuple[tuple[bytes, bytes], ...]

POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGES: Headers = (
    (b"content-security-policy", POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
PRIVATE: Headers = (*PAGES, (b"cache-control", b"no-store"))
TLS = (b"strict-transport-security", b"max-age=31536000")


class Refusal(NamedTuple):
    status: int
    code: str
    sentence: str
    headers: Headers = ()

    def body(self) -> bytes:
        return msgspec.json.encode(Problem(self.sentence, self.code))

    async def send(self, send: Send, secure: Headers = PRIVATE) -> None:
        body = self.body()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            *self.headers,
            *secure,
        ]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
