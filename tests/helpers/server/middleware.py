"""The router with its middleware, called as an ASGI application without a server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("msgspec", reason="the service is an extra: novikoff[serve]")

from novikoff.server.http import auth
from novikoff.server.http.app import build_router
from novikoff.server.http.auth import TokenStore
from novikoff.server.http.middleware import Security
from novikoff.server.http.routes import OPERATIONS, PUBLIC_PATHS
from novikoff.server.ops.limits import Limits


def bearer_header(secret: str) -> bytes:
    return f"Bearer {secret}".encode()


BodyChunks = list[bytes | dict[str, Any]]


class Endpoint:
    """An ASGI function as an endpoint: Starlette would pass a Request to a plain function."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.app(scope, receive, send)


class MiddlewareStack:
    """The router and its middleware, with one endpoint for all routes."""

    def __init__(self, app: Any, **settings: Any) -> None:
        self.security = Security(**settings)
        names = [*(operation.name for operation in OPERATIONS), *PUBLIC_PATHS]
        self.router = build_router(self.security, dict.fromkeys(names, Endpoint(app)))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.router(scope, receive, send)


class AsgiResponse:
    def __init__(self, sent: list[Any]) -> None:
        start = sent[0]
        self.status: int = start["status"]
        self.headers = {name.decode(): value.decode() for name, value in start["headers"]}
        self.body = b"".join(message.get("body", b"") for message in sent[1:])
        self.ended = not sent[-1].get("more_body", False)

    @property
    def code(self) -> str:
        problem = json.loads(self.body)
        assert set(problem) == {"type", "title", "status", "detail", "error", "code"}
        assert problem["error"].endswith(".")
        assert problem["error"] == problem["detail"]
        assert problem["status"] == self.status
        assert problem["type"] == f"urn:novikoff:error:{problem['code']}"
        assert self.headers["content-type"] == "application/problem+json"
        return str(problem["code"])


async def echo_body_size(scope: Any, receive: Any, send: Any) -> None:
    """Read the body and respond with its length."""
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise RuntimeError("the client left")
        size, more = size + len(message["body"]), message.get("more_body", False)
    scope["request"].model = scope["request"].model or "made"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": b"%d" % size})


def request(
    stack: MiddlewareStack,
    method: str,
    path: str,
    headers: dict[str, str] | Any = (),
    pieces: BodyChunks = [b""],  # noqa: B006
) -> AsgiResponse:
    return asyncio.run(send_request(stack, method, path, headers, pieces))


async def send_request(
    stack: MiddlewareStack,
    method: str,
    path: str,
    headers: Any = (),
    pieces: BodyChunks = [b""],  # noqa: B006
) -> AsgiResponse:
    lines = [(b"host", b"localhost:8000")] if "host" not in dict(headers) else []
    lines += [(name.encode(), value.encode()) for name, value in dict(headers).items() if value is not None]
    scope = {"type": "http", "method": method, "path": path, "headers": lines, "client": ("192.0.2.1", 5)}
    waiting = [
        piece if isinstance(piece, dict) else {"type": "http.request", "body": piece, "more_body": k + 1 < len(pieces)}
        for k, piece in enumerate(pieces)
    ]
    sent: list[Any] = []

    async def receive() -> Any:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await stack(scope, receive, send)
    return AsgiResponse(sent)


JSON_TYPE = {"content-type": "application/json"}
LINES_TYPE = {"content-type": "application/x-ndjson"}


def stack_with_tokens(
    folder: Path, limits: Limits | None = None, app: Any = echo_body_size, **more: Any
) -> MiddlewareStack:
    """Return a stack with a token file that also serves remote clients."""
    if not (folder / "tokens.json").exists():
        auth.create_token(folder, ["predict"], 1, "first")
    return MiddlewareStack(app, tokens=TokenStore(folder), limits=limits or Limits(), loopback=False, **more)


def stack_without_tokens(
    folder: Path, limits: Limits | None = None, app: Any = echo_body_size, **more: Any
) -> MiddlewareStack:
    return MiddlewareStack(app, tokens=TokenStore(folder), limits=limits or Limits(), loopback=True, **more)
