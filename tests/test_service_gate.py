"""The middleware of the service: tokens, limits, headers, audit."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("msgspec", reason="the service is an extra: novikoff[serve]")

from novikoff.errors import InputError
from novikoff.server.http import auth, rate_limit
from novikoff.server.http.app import build_router
from novikoff.server.http.auth import Grant, TokenRejection, TokenStore
from novikoff.server.http.middleware import Security
from novikoff.server.http.routes import OPERATIONS, PUBLIC_PATHS, SCOPES, Operation
from novikoff.server.ops.audit import AuditLog
from novikoff.server.ops.limits import Limits

# --- Tokens ---


def bearer(secret: str) -> bytes:
    return f"Bearer {secret}".encode()


def look_again(reader: TokenStore) -> None:
    """As if the second until the next look were over."""
    reader.next_refresh = 0.0


def test_only_the_hash_of_a_token_is_kept(tmp_path: Path) -> None:
    secret = auth.create_token(tmp_path, ["learn"], None, "shop")
    assert re.fullmatch(r"nvk_[0-9a-f]{8}_[A-Za-z0-9_-]{43}", secret)
    file = tmp_path / "tokens.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert secret.split("_", 2)[2] not in file.read_text()
    assert secret[13:] not in file.read_text()
    granted = TokenStore(tmp_path).check(bearer(secret))
    assert isinstance(granted, Grant)
    assert (granted.name, granted.scopes) == ("shop", {"learn"})
    assert [token.name for token in auth.list_tokens(tmp_path)] == ["shop"]


def test_admin_implies_the_others(tmp_path: Path) -> None:
    granted = TokenStore(tmp_path)
    assert not granted.closed()
    secret = auth.create_token(tmp_path, ["admin"], 1, "me")
    look_again(granted)
    found = granted.check(bearer(secret))
    assert isinstance(found, Grant)
    assert found.scopes == set(SCOPES)
    assert granted.closed()


def test_what_is_not_a_token_is_refused(tmp_path: Path) -> None:
    secret = auth.create_token(tmp_path, ["predict"], None, "a")
    other = auth.create_token(tmp_path, ["predict"], None, "b")
    reader = TokenStore(tmp_path)
    mixed = secret[:13] + other[13:]
    wrong: list[tuple[bytes | None, str]] = [
        (None, "missing-token"),
        (b"", "missing-token"),
        (b"Basic " + secret.encode(), "missing-token"),
        (b"Bearer", "missing-token"),
        (b"Bearer ", "invalid-token"),
        (b"Bearer nvk_", "invalid-token"),
        (b"Bearer \xff\xfe_\xff_\x00", "invalid-token"),
        (bearer(mixed), "invalid-token"),
        (bearer(secret[:-1]), "invalid-token"),
        (bearer(secret + "A"), "invalid-token"),
        (bearer(secret.upper()), "invalid-token"),
        (bearer(auth.list_tokens(tmp_path)[0].sha256), "invalid-token"),
    ]
    for header, code in wrong:
        refused = reader.check(header)
        assert isinstance(refused, TokenRejection), header
        assert (refused.status, refused.code) == (401, code), header
        assert secret not in refused.sentence
    assert isinstance(reader.check(b"bearer  " + secret.encode() + b" "), Grant)


def test_every_secret_is_compared_in_constant_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = auth.create_token(tmp_path, ["predict"], None, "a")
    reader = TokenStore(tmp_path)
    compared: list[tuple[int, int]] = []
    true = auth.hmac.compare_digest

    def watched(a: str, b: str) -> bool:
        compared.append((len(a), len(b)))
        return true(a, b)

    monkeypatch.setattr(auth.hmac, "compare_digest", watched)
    for header in (bearer(secret), bearer("nvk_00000000_" + secret[13:]), b"Bearer nonsense"):
        reader.check(header)
    assert compared == [(64, 64)] * 3


def test_a_token_expires_and_is_revoked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short, long = (auth.create_token(tmp_path, ["predict"], days, f"t{days}") for days in (1, 30))
    reader = TokenStore(tmp_path)
    granted = reader.check(bearer(short))
    assert isinstance(granted, Grant)
    assert reader.is_still_granted(granted)
    now = time.time()
    with monkeypatch.context() as later:
        later.setattr(auth.time, "time", lambda: now + 86_401)
        refused = reader.check(bearer(short))
        assert isinstance(refused, TokenRejection)
        assert refused.code == "expired-token"
        assert not reader.is_still_granted(granted)
        assert isinstance(reader.check(bearer(long)), Grant)
    auth.revoke_token(tmp_path, "t1")
    auth.revoke_token(tmp_path, auth.list_tokens(tmp_path)[0].id)
    look_again(reader)
    assert not reader.is_still_granted(granted)
    assert reader.check(bearer(short)) == reader.check(bearer(long)) == auth.UNKNOWN_TOKEN
    assert reader.closed()
    assert len(reader) == 0
    (tmp_path / "tokens.json").unlink()  # nobody opens a running server by removing the file
    look_again(reader)
    assert reader.closed()
    assert reader.check(bearer(short)) == auth.UNKNOWN_TOKEN
    with pytest.raises(InputError, match="no token 'x', but none at all"):
        auth.revoke_token(tmp_path, "x")


def test_the_file_is_looked_at_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = TokenStore(tmp_path)
    looks: list[Any] = []
    true = os.stat
    monkeypatch.setattr(auth.os, "stat", lambda path: looks.append(path) or true(path))
    start = time.monotonic()
    monkeypatch.setattr(auth.time, "monotonic", lambda: start + 1.5)
    for _ in range(100):
        reader.check(None)
    assert len(looks) == 1


@pytest.mark.parametrize(
    ("content", "mode", "sentence"),
    [
        (b"{", 0o600, "is damaged"),
        (b'{"format": 1, "tokens": [{"id": "a"}]}', 0o600, "is damaged"),
        (b'{"format": 1, "tokens": [], "more": 1}', 0o600, "is damaged"),
        (
            b'{"format":1,"tokens":[{"id":"a","name":"n","scopes":["root"],"made":"2026-01-01T00:00:00Z",'
            b'"expires":null,"sha256":"' + b"0" * 64 + b'"}]}',
            0o600,
            "token 'n'",
        ),
        (b'{"format": 2, "tokens": []}', 0o600, "has format 2"),
        (b'{"format": 1, "tokens": []}', 0o644, "chmod 600"),
        (b'{"format": 1, "tokens": []}', 0o640, "chmod 600"),
    ],
)
def test_a_file_that_is_not_right_lets_nobody_in(tmp_path: Path, content: bytes, mode: int, sentence: str) -> None:
    secret = auth.create_token(tmp_path, ["admin"], None, "me")
    reader = TokenStore(tmp_path)
    file = tmp_path / "tokens.json"
    file.write_bytes(content)
    file.chmod(mode)
    with pytest.raises(InputError, match=sentence):
        TokenStore(tmp_path)
    with pytest.raises(InputError, match=sentence):
        auth.create_token(tmp_path, ["admin"], None, "you")
    look_again(reader)
    assert reader.check(bearer(secret)) == auth.TOKENS_UNREADABLE
    assert reader.problem is not None
    assert sentence in reader.problem
    assert reader.closed()


@pytest.mark.parametrize(
    ("scopes", "days", "name"),
    [
        ([], 1, "a"),
        (["root"], 1, "a"),
        (["predict"], 0, "a"),
        (["predict"], -1, "a"),
        (["predict"], float("nan"), "a"),
        (["predict"], 1e9, "a"),
        (["predict"], 1, ""),
        (["predict"], 1, "a\nb"),
        (["predict"], 1, "x" * 65),
    ],
)
def test_a_token_must_make_sense(tmp_path: Path, scopes: list[str], days: float, name: str) -> None:
    with pytest.raises(InputError):
        auth.create_token(tmp_path, scopes, days, name)
    assert auth.list_tokens(tmp_path) == []


def test_tokens_made_at_the_same_time_are_all_there(tmp_path: Path) -> None:
    threads = [threading.Thread(target=auth.create_token, args=(tmp_path, ["predict"], 1, f"t{k}")) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {token.name for token in auth.list_tokens(tmp_path)} == {f"t{k}" for k in range(8)}
    with pytest.raises(InputError, match="already"):
        auth.create_token(tmp_path, ["predict"], 1, "t0")
    assert auth.list_tokens(tmp_path)[0].expires > datetime.now(UTC) + timedelta(hours=23)  # type: ignore[operator]
    assert json.loads((tmp_path / "tokens.json").read_text())["format"] == 1


# --- Middleware ---

Pieces = list[bytes | dict[str, Any]]


class Endpoint:
    """An ASGI function as an endpoint: Starlette would call a function with a request."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.app(scope, receive, send)


class Gate:
    """The router and its middleware, with one endpoint for all routes."""

    def __init__(self, app: Any, **settings: Any) -> None:
        self.security = Security(**settings)
        names = [*(operation.name for operation in OPERATIONS), *PUBLIC_PATHS]
        self.router = build_router(self.security, dict.fromkeys(names, Endpoint(app)))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.router(scope, receive, send)


class Answer:
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


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """An app that reads the body and tells how long it was."""
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise RuntimeError("the client left")
        size, more = size + len(message["body"]), message.get("more_body", False)
    scope["request"].model = scope["request"].model or "made"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": b"%d" % size})


def ask(gate: Gate, method: str, path: str, headers: dict[str, str] | Any = (), pieces: Pieces = [b""]) -> Answer:  # noqa: B006
    return asyncio.run(asking(gate, method, path, headers, pieces))


async def asking(gate: Gate, method: str, path: str, headers: Any = (), pieces: Pieces = [b""]) -> Answer:  # noqa: B006
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

    await gate(scope, receive, send)
    return Answer(sent)


JSON_TYPE = {"content-type": "application/json"}
LINES_TYPE = {"content-type": "application/x-ndjson"}


def closed_gate(folder: Path, limits: Limits | None = None, app: Any = echo, **more: Any) -> Gate:
    """With a token file, for others than this machine."""
    if not (folder / "tokens.json").exists():
        auth.create_token(folder, ["predict"], 1, "first")
    return Gate(app, tokens=TokenStore(folder), limits=limits or Limits(), loopback=False, **more)


def open_gate(folder: Path, limits: Limits | None = None, app: Any = echo, **more: Any) -> Gate:
    return Gate(app, tokens=TokenStore(folder), limits=limits or Limits(), loopback=True, **more)


def filled(route: Operation) -> str:
    return route.path.replace("{name}", "spam")


def headers_for(route: Operation, secret: str | None = None) -> dict[str, str]:
    kind = {"content-type": next(iter(route.takes))} if route.takes else {}
    return kind | ({"authorization": f"Bearer {secret}"} if secret else {})


@pytest.mark.parametrize("route", OPERATIONS, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_asks_for_its_scope(tmp_path: Path, route: Operation) -> None:
    secrets = {scope: auth.create_token(tmp_path, [scope], 1, scope) for scope in SCOPES}
    gate = closed_gate(tmp_path)
    for header in (None, "Bearer nvk_00000000_" + "a" * 43, "Basic eDp5"):
        refused = ask(gate, route.method, filled(route), headers_for(route) | {"authorization": header})
        assert refused.status == 401
        assert refused.headers["www-authenticate"] == "Bearer"
    for scope, secret in secrets.items():
        answer = ask(gate, route.method, filled(route), headers_for(route, secret))
        assert answer.status == (200 if scope in {route.scope, "admin"} else 403), scope
        if route.method == "GET":
            assert ask(gate, "HEAD", filled(route), headers_for(route, secret)).status == answer.status
    auth.revoke_token(tmp_path, "admin")
    look_again(gate.security.tokens)
    assert ask(gate, route.method, filled(route), headers_for(route, secrets["admin"])).status == 401


def test_what_has_no_data_is_open_and_what_is_not_there_is_not_told_to_strangers(tmp_path: Path) -> None:
    secret = auth.create_token(tmp_path, ["predict"], 1, "p")
    gate = closed_gate(tmp_path)
    for path in PUBLIC_PATHS:
        assert ask(gate, "GET", path).status == 200
        assert ask(gate, "HEAD", path).status == 200
        assert ask(gate, "POST", path).status == 401
    me = {"authorization": f"Bearer {secret}"}
    for path in (
        "/v1", "/v1/", "/v2/models", "/v1/models/", "/v1/models//predict", "/v1/models/a/b/download", "/V1/models", "*",
        "", "/v1/models/spam/download\n", "/v1/models/spam/download/", "/v1/models\n", "//v1/models", "/etc/passwd",
    ):  # fmt: skip
        assert ask(gate, "GET", path).status == 401, path
        assert (answer := ask(gate, "GET", path, me)).status == 404, path
        assert answer.code == "not-found"
    answer = ask(gate, "PUT", "/v1/models/spam", me)
    assert (answer.status, answer.headers["allow"]) == (405, "DELETE, GET, HEAD")
    assert ask(gate, "OPTIONS", "/v1/models/spam").status == 401


def test_nobody_is_let_in_from_afar_without_a_token_file(tmp_path: Path) -> None:
    gate = Gate(echo, tokens=TokenStore(tmp_path), limits=Limits(), loopback=False)
    assert ask(gate, "GET", "/v1/models").status == 401
    assert ask(gate, "GET", "/healthz").status == 200


def test_an_open_server_closes_when_the_first_token_is_made(tmp_path: Path) -> None:
    gate = open_gate(tmp_path)
    assert ask(gate, "DELETE", "/v1/models/spam").status == 200
    auth.create_token(tmp_path, ["predict"], 1, "p")
    look_again(gate.security.tokens)
    assert ask(gate, "DELETE", "/v1/models/spam").status == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "127.0.0.1:8000"}, 200),
        ({"host": "127.9.9.9"}, 200),
        ({"host": "[::1]:8000"}, 200),
        ({"host": "LocalHost"}, 200),
        ({"host": "evil.example"}, 403),
        ({"host": "localhost.evil.example:8000"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"host": "10.0.0.1"}, 403),
        ({"host": ""}, 403),
        ({"host": None}, 400),
        ({"origin": "http://localhost:8000"}, 200),
        ({"origin": "http://localhost:3000"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "https://localhost:8000.evil.example"}, 403),
        ({"host": "localhost", "origin": "http://localhost:80"}, 200),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
    ],
)
def test_browsers_are_not_sent_by_other_sites(tmp_path: Path, headers: dict[str, str], status: int) -> None:
    path = "/v1/models/spam/promote"
    assert ask(open_gate(tmp_path), "POST", path, headers).status == status
    secret = auth.create_token(tmp_path, ["admin"], 1, "me")
    if headers.get("host") is None or status == 200:  # with tokens every name is right
        headers = {**headers, "authorization": f"Bearer {secret}"}
        assert ask(closed_gate(tmp_path), "POST", path, headers).status == status


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("Application/JSON;charset=UTF-8", 200),
        ("application/x-ndjson", 200),
        ("application/json; charset=utf-16", 415),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("application/octet-stream", 415),
        ("application/jsonx", 415),
        ("", 415),
        (None, 415),
    ],
)
def test_bodies_are_of_a_kind_that_no_form_can_send(tmp_path: Path, kind: str, status: int) -> None:
    answer = ask(open_gate(tmp_path), "POST", "/v1/models/spam/predict", {"content-type": kind}, [b"{}"])
    assert answer.status == status
    if status == 415:
        assert answer.code == "unsupported-media-type"


def test_bodies_where_none_is_wanted_and_packed_ones(tmp_path: Path) -> None:
    gate = open_gate(tmp_path)
    assert ask(gate, "POST", "/v1/models/spam/promote", {"content-length": "0"}).status == 200
    assert ask(gate, "POST", "/v1/models/spam/promote", {"content-length": "2"}).code == "unexpected-body"
    assert ask(gate, "GET", "/v1/models", {"transfer-encoding": "chunked"}).code == "unexpected-body"
    packed = ask(gate, "POST", "/v1/models/spam/learn", JSON_TYPE | {"content-encoding": "gzip"})
    assert (packed.status, packed.code) == (415, "unsupported-encoding")


def test_a_header_that_comes_twice_is_refused(tmp_path: Path) -> None:
    gate = open_gate(tmp_path)
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    for name in (b"host", b"authorization", b"content-type", b"origin", b"idempotency-key"):
        headers = [
            (b"host", b"localhost"),
            (name, b"localhost"),
            (name, b"127.0.0.1"),
            (b"accept", b"a"),
            (b"accept", b"b"),
        ]
        scope = {"type": "http", "method": "GET", "path": "/v1/models", "headers": headers, "client": None}
        sent.clear()
        asyncio.run(gate(scope, send, send))  # type: ignore[arg-type]
        assert Answer(sent).code == "duplicate-header"


def test_large_bodies(tmp_path: Path) -> None:
    gate = open_gate(tmp_path, Limits(body=10, upload=20))
    learn, made = "/v1/models/spam/learn", "/v1/models"
    file = {"content-type": "application/octet-stream"}
    refused = ask(gate, "POST", learn, JSON_TYPE | {"content-length": "11"}, [{"type": "never read"}])
    assert (refused.status, refused.code) == (413, "body-too-large")
    assert ask(gate, "POST", learn, JSON_TYPE | {"content-length": "9" * 5000}).status == 413
    assert ask(gate, "POST", learn, JSON_TYPE | {"content-length": "10"}, [b"x" * 10]).body == b"10"
    assert ask(gate, "POST", made, file | {"content-length": "20"}, [b"x" * 20]).body == b"20"
    assert ask(gate, "POST", made, file | {"content-length": "21"}).status == 413
    # In pieces of which nobody said the size before.
    assert ask(gate, "POST", learn, JSON_TYPE, [b"x" * 5] * 2).body == b"10"
    counted = ask(gate, "POST", learn, JSON_TYPE, [b"x" * 5] * 3)
    assert (counted.status, counted.code, counted.ended) == (413, "body-too-large", True)
    assert ask(gate, "POST", learn, LINES_TYPE, [b"x" * 5] * 300).body == b"1500"
    assert gate.security.active == 0


def test_rates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("novikoff.server.http.middleware.time.monotonic", lambda: now[0])
    secrets = [auth.create_token(tmp_path, ["predict"], 1, name) for name in ("a", "b")]
    gate = closed_gate(tmp_path, Limits(rate=3))
    me, you = ({"authorization": f"Bearer {secret}"} for secret in secrets)
    assert [ask(gate, "GET", "/v1/models", me).status for _ in range(5)] == [200, 200, 200, 429, 429]
    assert ask(gate, "GET", "/v1/models", you).status == 200
    refused = ask(gate, "GET", "/v1/models", me)
    assert (refused.code, refused.headers["retry-after"]) == ("rate-limited", "1")
    now[0] += 0.34
    assert [ask(gate, "GET", "/v1/models", me).status for _ in range(2)] == [200, 429]
    # Strangers share the bucket of their address.
    assert [ask(gate, "GET", "/v1/models", {"authorization": f"Bearer {k}"}).status for k in range(4)] == [401] * 3 + [
        429
    ]


def test_buckets_of_clients_who_left_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "MAX_CLIENTS", 10)
    rates = rate_limit.RateLimiter(1)
    assert all(rates.wait(f"c{k}", 1.0) == 0 for k in range(10))
    assert [rates.wait(f"d{k}", 1.1) > 0 for k in range(3)] == [False, True, True]  # they share one
    assert len(rates._buckets) == 11
    assert rates.wait("e", 5.0) == 0
    assert len(rates._buckets) == 1


def test_crowds(tmp_path: Path) -> None:
    async def crowd() -> list[int]:
        door = asyncio.Event()

        async def slow(scope: Any, receive: Any, send: Any) -> None:
            await door.wait()
            await echo(scope, receive, send)

        gate = open_gate(tmp_path, Limits(concurrent=2), slow)
        first = [asyncio.create_task(asking(gate, "GET", "/v1/models")) for _ in range(2)]
        await asyncio.sleep(0)
        third = await asking(gate, "GET", "/v1/models")
        assert third.code == "too-many-concurrent-requests"
        assert third.headers["retry-after"] == "1"
        health = asyncio.create_task(asking(gate, "GET", "/healthz"))  # also then
        door.set()
        done = [third.status, *[(await task).status for task in (*first, health)]]
        return [*done, (await asking(gate, "GET", "/v1/models")).status]

    assert asyncio.run(crowd()) == [503, 200, 200, 200, 200]


def test_security_headers_are_on_every_answer(tmp_path: Path) -> None:
    for gate, tls in ((open_gate(tmp_path), False), (open_gate(tmp_path, tls=True), True)):
        for path in ("/", "/healthz", "/v1/models", "/metrics", "/nowhere", "/v1/openapi.json"):
            headers = ask(gate, "GET", path).headers
            assert "default-src 'none'" in headers["content-security-policy"]
            assert "frame-ancestors 'none'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
            assert ("strict-transport-security" in headers) is tls
            assert (headers.get("cache-control") == "no-store") is (path not in {"/", "/healthz"})


def test_an_app_that_fails_is_told_in_a_sentence(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Any] = []

    async def fails(scope: Any, receive: Any, send: Any) -> None:
        raise KeyError("secret detail")

    gate = open_gate(tmp_path, app=fails, observe=lambda *what: seen.append(what))
    answer = ask(gate, "GET", "/v1/models")
    assert (answer.status, answer.code) == (500, "internal-error")
    assert b"secret" not in answer.body
    assert "secret detail" in caplog.text
    assert seen[0][:2] == ("models", 500)
    assert seen[0][2] >= 0
    assert gate.security.active == 0


def test_every_request_is_observed(tmp_path: Path) -> None:
    seen: list[Any] = []

    def observe(name: str, status: int, seconds: float) -> None:
        seen.append((name, status))

    gate = closed_gate(tmp_path, observe=observe)
    ask(gate, "GET", "/healthz")
    ask(gate, "GET", "/v1/models")
    ask(gate, "GET", "/nowhere")
    gate = open_gate(tmp_path / "..", observe=observe)
    with pytest.raises(IndexError):  # nothing was sent: the client left while it sent its body
        ask(gate, "POST", "/v1/models/spam/learn", JSON_TYPE, [b"x", {"type": "http.disconnect"}])
    assert seen == [("healthz", 200), ("models", 401), ("unknown", 401), ("learn", 499)]


def test_a_stream_ends_when_its_token_is_revoked(tmp_path: Path) -> None:
    secret = auth.create_token(tmp_path, ["predict", "learn"], 1, "dashboard")
    sent = 0

    async def events(scope: Any, receive: Any, send: Any) -> None:
        nonlocal sent
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for sent in range(5):
            if sent == 3:
                auth.revoke_token(tmp_path, "dashboard")
                look_again(gate.security.tokens)
            await send({"type": "http.response.body", "body": b"data\n\n", "more_body": True})

    gate = closed_gate(tmp_path, app=events)
    answer = ask(gate, "GET", "/v1/events", {"authorization": f"Bearer {secret}"})
    assert (answer.body, answer.ended, sent) == (b"data\n\n" * 3, False, 3)
    # Streams that come: the app sees a client that left.
    secret = auth.create_token(tmp_path, ["learn"], 1, "feeder")
    came: list[str] = []

    async def learn(scope: Any, receive: Any, send: Any) -> None:
        for k in range(5):
            came.append((await receive())["type"])
            if k == 1:
                auth.revoke_token(tmp_path, "feeder")
                look_again(gate.security.tokens)
        await send({"type": "http.response.start", "status": 200, "headers": []})

    gate = closed_gate(tmp_path, app=learn)
    me = LINES_TYPE | {"authorization": f"Bearer {secret}"}
    with pytest.raises(IndexError):
        ask(gate, "POST", "/v1/models/spam/learn", me, [b"line\n"] * 5)
    assert came == ["http.request"] * 2 + ["http.disconnect"] * 3


def test_the_audit_log(tmp_path: Path) -> None:
    secret = auth.create_token(tmp_path, ["admin"], 1, "boss")
    audit = AuditLog(tmp_path)
    gate = closed_gate(tmp_path, audit=audit)
    boss = {"authorization": f"Bearer {secret}"}
    ask(gate, "POST", "/v1/models", boss | JSON_TYPE, [b"{}"])
    ask(gate, "POST", "/v1/models", boss | {"content-type": "application/octet-stream"})
    ask(gate, "DELETE", "/v1/models/spam", boss)
    ask(gate, "GET", "/v1/models/spam/download", boss)
    ask(gate, "GET", "/v1/models", boss)  # not of an administrator
    ask(gate, "GET", f"/v1/models/{secret}/ledger", {"authorization": f"Bearer {secret}x"})
    ask(gate, "GET", "/v1/models/a\nb/ledger")
    text = (tmp_path / "audit.log").read_text()
    assert (tmp_path / "audit.log").stat().st_mode & 0o777 == 0o600
    assert secret not in text
    assert secret[13:] not in text
    lines = [json.loads(line) for line in text.splitlines()]
    assert [(line["event"], line["token"], line["status"]) for line in lines] == [
        ("create", "boss", 200), ("upload", "boss", 200), ("delete", "boss", 200), ("download", "boss", 200),
        ("refused", None, 401), ("refused", None, 401),
    ]  # fmt: skip
    assert [line.get("model") for line in lines[:4]] == ["made", "made", "spam", "spam"]
    assert lines[4]["code"] == "invalid-token"
    assert lines[5]["path"] == "/v1/models/a\nb/ledger"
    assert all(line["client"] == "192.0.2.1" and line["time"].startswith("20") for line in lines)


def test_strangers_cannot_fill_the_disk(tmp_path: Path) -> None:
    audit = AuditLog(tmp_path, size=4000, kept=2)
    gate = closed_gate(tmp_path, audit=audit)
    for k in range(300):
        ask(gate, "DELETE", "/v1/models/" + "x" * 5000, {"host": "a", "origin": "null"} if k % 2 else {})
    assert audit.left_out >= 195
    audit._refusals.left = 1.0
    ask(gate, "GET", "/v1/models")
    for k in range(50):
        audit.action("create", number=k)
    files = sorted(path.name for path in tmp_path.glob("audit.log*"))
    assert files == ["audit.log", "audit.log.1", "audit.log.2"]
    assert all(
        path.stat().st_size <= 4000 and path.stat().st_mode & 0o777 == 0o600 for path in tmp_path.glob("audit.log*")
    )
    lines = [json.loads(line) for name in reversed(files) for line in (tmp_path / name).read_text().splitlines()]
    assert [line["number"] for line in lines if line["event"] == "create"] == list(range(50))
    assert sum(line.get("left_out", 0) for line in lines) >= 195
    audit.close()


def test_a_log_that_cannot_be_written_stops_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    gate = open_gate(tmp_path, audit=AuditLog(tmp_path / "missing"))
    assert ask(gate, "DELETE", "/v1/models/spam").status == 200
    assert "can't be written" in caplog.text
