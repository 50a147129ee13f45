"""The middleware of the server: tokens, limits, headers, audit log."""

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
from novikoff.server.http.auth import Grant, TokenRejection, TokenStore
from novikoff.server.http.routes import OPERATIONS, PUBLIC_PATHS, SCOPES, Operation
from novikoff.server.ops.audit import AuditLog
from novikoff.server.ops.limits import Limits
from tests.helpers.server.middleware import (
    JSON_TYPE,
    LINES_TYPE,
    AsgiResponse,
    MiddlewareStack,
    bearer_header,
    echo_body_size,
    request,
    send_request,
    stack_with_tokens,
    stack_without_tokens,
)

# --- Tokens ---


def expire_refresh(reader: TokenStore) -> None:
    """Make the interval until the next check of the file elapse."""
    reader.next_refresh = 0.0


def test_only_the_hash_of_a_token_is_stored(tmp_path: Path) -> None:
    secret = auth.create_token(tmp_path, ["learn"], None, "shop")
    assert re.fullmatch(r"nvk_[0-9a-f]{8}_[A-Za-z0-9_-]{43}", secret)
    file = tmp_path / "tokens.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert secret.split("_", 2)[2] not in file.read_text()
    assert secret[13:] not in file.read_text()
    granted = TokenStore(tmp_path).check(bearer_header(secret))
    assert isinstance(granted, Grant)
    assert (granted.name, granted.scopes) == ("shop", {"learn"})
    assert [token.name for token in auth.list_tokens(tmp_path)] == ["shop"]


def test_admin_implies_the_others(tmp_path: Path) -> None:
    granted = TokenStore(tmp_path)
    assert not granted.requires_token()
    secret = auth.create_token(tmp_path, ["admin"], 1, "me")
    expire_refresh(granted)
    found = granted.check(bearer_header(secret))
    assert isinstance(found, Grant)
    assert found.scopes == set(SCOPES)
    assert granted.requires_token()


def test_invalid_tokens_are_refused(tmp_path: Path) -> None:
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
        (bearer_header(mixed), "invalid-token"),
        (bearer_header(secret[:-1]), "invalid-token"),
        (bearer_header(secret + "A"), "invalid-token"),
        (bearer_header(secret.upper()), "invalid-token"),
        (bearer_header(auth.list_tokens(tmp_path)[0].sha256), "invalid-token"),
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

    def compare_and_record(a: str, b: str) -> bool:
        compared.append((len(a), len(b)))
        return true(a, b)

    monkeypatch.setattr(auth.hmac, "compare_digest", compare_and_record)
    for header in (bearer_header(secret), bearer_header("nvk_00000000_" + secret[13:]), b"Bearer nonsense"):
        reader.check(header)
    assert compared == [(64, 64)] * 3


def test_a_token_expires_and_is_revoked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short, long = (auth.create_token(tmp_path, ["predict"], days, f"t{days}") for days in (1, 30))
    reader = TokenStore(tmp_path)
    granted = reader.check(bearer_header(short))
    assert isinstance(granted, Grant)
    assert reader.is_still_granted(granted)
    now = time.time()
    with monkeypatch.context() as later:
        later.setattr(auth.time, "time", lambda: now + 86_401)
        refused = reader.check(bearer_header(short))
        assert isinstance(refused, TokenRejection)
        assert refused.code == "expired-token"
        assert not reader.is_still_granted(granted)
        assert isinstance(reader.check(bearer_header(long)), Grant)
    auth.revoke_token(tmp_path, "t1")
    auth.revoke_token(tmp_path, auth.list_tokens(tmp_path)[0].id)
    expire_refresh(reader)
    assert not reader.is_still_granted(granted)
    assert reader.check(bearer_header(short)) == reader.check(bearer_header(long)) == auth.UNKNOWN_TOKEN
    assert reader.requires_token()
    assert len(reader) == 0
    (tmp_path / "tokens.json").unlink()  # removing the file does not open a running server
    expire_refresh(reader)
    assert reader.requires_token()
    assert reader.check(bearer_header(short)) == auth.UNKNOWN_TOKEN
    with pytest.raises(InputError, match=r"no token 'x'\. Existing tokens: none"):
        auth.revoke_token(tmp_path, "x")


def test_the_token_file_is_checked_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_an_invalid_token_file_refuses_every_request(tmp_path: Path, content: bytes, mode: int, sentence: str) -> None:
    secret = auth.create_token(tmp_path, ["admin"], None, "me")
    reader = TokenStore(tmp_path)
    file = tmp_path / "tokens.json"
    file.write_bytes(content)
    file.chmod(mode)
    with pytest.raises(InputError, match=sentence):
        TokenStore(tmp_path)
    with pytest.raises(InputError, match=sentence):
        auth.create_token(tmp_path, ["admin"], None, "you")
    expire_refresh(reader)
    assert reader.check(bearer_header(secret)) == auth.TOKENS_UNREADABLE
    assert reader.problem is not None
    assert sentence in reader.problem
    assert reader.requires_token()


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
def test_token_options_are_validated(tmp_path: Path, scopes: list[str], days: float, name: str) -> None:
    with pytest.raises(InputError):
        auth.create_token(tmp_path, scopes, days, name)
    assert auth.list_tokens(tmp_path) == []


def test_concurrently_created_tokens_are_all_stored(tmp_path: Path) -> None:
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


def fill_path(route: Operation) -> str:
    return route.path.replace("{name}", "spam")


def headers_for(route: Operation, secret: str | None = None) -> dict[str, str]:
    kind = {"content-type": next(iter(route.takes))} if route.takes else {}
    return kind | ({"authorization": f"Bearer {secret}"} if secret else {})


@pytest.mark.parametrize("route", OPERATIONS, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_requires_its_scope(tmp_path: Path, route: Operation) -> None:
    secrets = {scope: auth.create_token(tmp_path, [scope], 1, scope) for scope in SCOPES}
    stack = stack_with_tokens(tmp_path)
    for header in (None, "Bearer nvk_00000000_" + "a" * 43, "Basic eDp5"):
        refused = request(stack, route.method, fill_path(route), headers_for(route) | {"authorization": header})
        assert refused.status == 401
        assert refused.headers["www-authenticate"] == "Bearer"
    for scope, secret in secrets.items():
        answer = request(stack, route.method, fill_path(route), headers_for(route, secret))
        assert answer.status == (200 if scope in {route.scope, "admin"} else 403), scope
        if route.method == "GET":
            assert request(stack, "HEAD", fill_path(route), headers_for(route, secret)).status == answer.status
    auth.revoke_token(tmp_path, "admin")
    expire_refresh(stack.security.tokens)
    assert request(stack, route.method, fill_path(route), headers_for(route, secrets["admin"])).status == 401


def test_public_routes_are_open_and_unknown_routes_are_hidden(tmp_path: Path) -> None:
    secret = auth.create_token(tmp_path, ["predict"], 1, "p")
    stack = stack_with_tokens(tmp_path)
    for path in PUBLIC_PATHS:
        assert request(stack, "GET", path).status == 200
        assert request(stack, "HEAD", path).status == 200
        assert request(stack, "POST", path).status == 401
    me = {"authorization": f"Bearer {secret}"}
    for path in (
        "/v1", "/v1/", "/v2/models", "/v1/models/", "/v1/models//predict", "/v1/models/a/b/download", "/V1/models", "*",
        "", "/v1/models/spam/download\n", "/v1/models/spam/download/", "/v1/models\n", "//v1/models", "/etc/passwd",
    ):  # fmt: skip
        assert request(stack, "GET", path).status == 401, path
        assert (answer := request(stack, "GET", path, me)).status == 404, path
        assert answer.code == "not-found"
    answer = request(stack, "PUT", "/v1/models/spam", me)
    assert (answer.status, answer.headers["allow"]) == (405, "DELETE, GET, HEAD")
    assert request(stack, "OPTIONS", "/v1/models/spam").status == 401


def test_remote_requests_are_refused_without_a_token_file(tmp_path: Path) -> None:
    stack = MiddlewareStack(echo_body_size, tokens=TokenStore(tmp_path), limits=Limits(), loopback=False)
    assert request(stack, "GET", "/v1/models").status == 401
    assert request(stack, "GET", "/healthz").status == 200


def test_an_open_server_requires_tokens_once_the_first_is_created(tmp_path: Path) -> None:
    stack = stack_without_tokens(tmp_path)
    assert request(stack, "DELETE", "/v1/models/spam").status == 200
    auth.create_token(tmp_path, ["predict"], 1, "p")
    expire_refresh(stack.security.tokens)
    assert request(stack, "DELETE", "/v1/models/spam").status == 401


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
def test_cross_site_requests_are_refused(tmp_path: Path, headers: dict[str, str], status: int) -> None:
    path = "/v1/models/spam/promote"
    assert request(stack_without_tokens(tmp_path), "POST", path, headers).status == status
    secret = auth.create_token(tmp_path, ["admin"], 1, "me")
    if headers.get("host") is None or status == 200:  # with tokens every name is right
        headers = {**headers, "authorization": f"Bearer {secret}"}
        assert request(stack_with_tokens(tmp_path), "POST", path, headers).status == status


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
def test_form_content_types_are_refused(tmp_path: Path, kind: str, status: int) -> None:
    answer = request(stack_without_tokens(tmp_path), "POST", "/v1/models/spam/predict", {"content-type": kind}, [b"{}"])
    assert answer.status == status
    if status == 415:
        assert answer.code == "unsupported-media-type"


def test_unexpected_and_compressed_bodies_are_refused(tmp_path: Path) -> None:
    stack = stack_without_tokens(tmp_path)
    assert request(stack, "POST", "/v1/models/spam/promote", {"content-length": "0"}).status == 200
    assert request(stack, "POST", "/v1/models/spam/promote", {"content-length": "2"}).code == "unexpected-body"
    assert request(stack, "GET", "/v1/models", {"transfer-encoding": "chunked"}).code == "unexpected-body"
    packed = request(stack, "POST", "/v1/models/spam/learn", JSON_TYPE | {"content-encoding": "gzip"})
    assert (packed.status, packed.code) == (415, "unsupported-encoding")


def test_duplicate_headers_are_refused(tmp_path: Path) -> None:
    stack = stack_without_tokens(tmp_path)
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
        asyncio.run(stack(scope, send, send))  # type: ignore[arg-type]
        assert AsgiResponse(sent).code == "duplicate-header"


def test_large_bodies_are_refused(tmp_path: Path) -> None:
    stack = stack_without_tokens(tmp_path, Limits(body=10, upload=20))
    learn, made = "/v1/models/spam/learn", "/v1/models"
    file = {"content-type": "application/octet-stream"}
    refused = request(stack, "POST", learn, JSON_TYPE | {"content-length": "11"}, [{"type": "never read"}])
    assert (refused.status, refused.code) == (413, "body-too-large")
    assert request(stack, "POST", learn, JSON_TYPE | {"content-length": "9" * 5000}).status == 413
    assert request(stack, "POST", learn, JSON_TYPE | {"content-length": "10"}, [b"x" * 10]).body == b"10"
    assert request(stack, "POST", made, file | {"content-length": "20"}, [b"x" * 20]).body == b"20"
    assert request(stack, "POST", made, file | {"content-length": "21"}).status == 413
    # In chunks without a declared size.
    assert request(stack, "POST", learn, JSON_TYPE, [b"x" * 5] * 2).body == b"10"
    counted = request(stack, "POST", learn, JSON_TYPE, [b"x" * 5] * 3)
    assert (counted.status, counted.code, counted.ended) == (413, "body-too-large", True)
    assert request(stack, "POST", learn, LINES_TYPE, [b"x" * 5] * 300).body == b"1500"
    assert stack.security.active == 0


def test_request_rates_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("novikoff.server.http.middleware.time.monotonic", lambda: now[0])
    secrets = [auth.create_token(tmp_path, ["predict"], 1, name) for name in ("a", "b")]
    stack = stack_with_tokens(tmp_path, Limits(rate=3))
    me, you = ({"authorization": f"Bearer {secret}"} for secret in secrets)
    assert [request(stack, "GET", "/v1/models", me).status for _ in range(5)] == [200, 200, 200, 429, 429]
    assert request(stack, "GET", "/v1/models", you).status == 200
    refused = request(stack, "GET", "/v1/models", me)
    assert (refused.code, refused.headers["retry-after"]) == ("rate-limited", "1")
    now[0] += 0.34
    assert [request(stack, "GET", "/v1/models", me).status for _ in range(2)] == [200, 429]
    # Strangers share the bucket of their address.
    assert [request(stack, "GET", "/v1/models", {"authorization": f"Bearer {k}"}).status for k in range(4)] == [
        401
    ] * 3 + [429]


def test_idle_rate_buckets_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "MAX_CLIENTS", 10)
    rates = rate_limit.RateLimiter(1)
    assert all(rates.wait(f"c{k}", 1.0) == 0 for k in range(10))
    assert [rates.wait(f"d{k}", 1.1) > 0 for k in range(3)] == [False, True, True]  # they share one
    assert len(rates._buckets) == 11
    assert rates.wait("e", 5.0) == 0
    assert len(rates._buckets) == 1


def test_concurrent_requests_are_limited(tmp_path: Path) -> None:
    async def crowd() -> list[int]:
        release = asyncio.Event()

        async def respond_late(scope: Any, receive: Any, send: Any) -> None:
            await release.wait()
            await echo_body_size(scope, receive, send)

        stack = stack_without_tokens(tmp_path, Limits(concurrent=2), respond_late)
        first = [asyncio.create_task(send_request(stack, "GET", "/v1/models")) for _ in range(2)]
        await asyncio.sleep(0)
        third = await send_request(stack, "GET", "/v1/models")
        assert third.code == "too-many-concurrent-requests"
        assert third.headers["retry-after"] == "1"
        health = asyncio.create_task(send_request(stack, "GET", "/healthz"))  # also then
        release.set()
        done = [third.status, *[(await task).status for task in (*first, health)]]
        return [*done, (await send_request(stack, "GET", "/v1/models")).status]

    assert asyncio.run(crowd()) == [503, 200, 200, 200, 200]


def test_every_response_has_security_headers(tmp_path: Path) -> None:
    for stack, tls in ((stack_without_tokens(tmp_path), False), (stack_without_tokens(tmp_path, tls=True), True)):
        for path in ("/", "/healthz", "/v1/models", "/metrics", "/nowhere", "/v1/openapi.json"):
            headers = request(stack, "GET", path).headers
            assert "default-src 'none'" in headers["content-security-policy"]
            assert "frame-ancestors 'none'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
            assert ("strict-transport-security" in headers) is tls
            assert (headers.get("cache-control") == "no-store") is (path not in {"/", "/healthz"})


def test_an_application_error_gives_a_problem_document(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Any] = []

    async def fails(scope: Any, receive: Any, send: Any) -> None:
        raise KeyError("secret detail")

    stack = stack_without_tokens(tmp_path, app=fails, observe=lambda *what: seen.append(what))
    answer = request(stack, "GET", "/v1/models")
    assert (answer.status, answer.code) == (500, "internal-error")
    assert b"secret" not in answer.body
    assert "secret detail" in caplog.text
    assert seen[0][:2] == ("models", 500)
    assert seen[0][2] >= 0
    assert stack.security.active == 0


def test_every_request_is_observed(tmp_path: Path) -> None:
    seen: list[Any] = []

    def observe(name: str, status: int, seconds: float) -> None:
        seen.append((name, status))

    stack = stack_with_tokens(tmp_path, observe=observe)
    request(stack, "GET", "/healthz")
    request(stack, "GET", "/v1/models")
    request(stack, "GET", "/nowhere")
    stack = stack_without_tokens(tmp_path / "..", observe=observe)
    with pytest.raises(IndexError):  # nothing was sent: the client left while it sent its body
        request(stack, "POST", "/v1/models/spam/learn", JSON_TYPE, [b"x", {"type": "http.disconnect"}])
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
                expire_refresh(stack.security.tokens)
            await send({"type": "http.response.body", "body": b"data\n\n", "more_body": True})

    stack = stack_with_tokens(tmp_path, app=events)
    answer = request(stack, "GET", "/v1/events", {"authorization": f"Bearer {secret}"})
    assert (answer.body, answer.ended, sent) == (b"data\n\n" * 3, False, 3)
    # Streams of the client: the application sees a disconnected client.
    secret = auth.create_token(tmp_path, ["learn"], 1, "feeder")
    received: list[str] = []

    async def learn(scope: Any, receive: Any, send: Any) -> None:
        for k in range(5):
            received.append((await receive())["type"])
            if k == 1:
                auth.revoke_token(tmp_path, "feeder")
                expire_refresh(stack.security.tokens)
        await send({"type": "http.response.start", "status": 200, "headers": []})

    stack = stack_with_tokens(tmp_path, app=learn)
    me = LINES_TYPE | {"authorization": f"Bearer {secret}"}
    with pytest.raises(IndexError):
        request(stack, "POST", "/v1/models/spam/learn", me, [b"line\n"] * 5)
    assert received == ["http.request"] * 2 + ["http.disconnect"] * 3


def test_the_audit_log_records_changes(tmp_path: Path) -> None:
    secret = auth.create_token(tmp_path, ["admin"], 1, "boss")
    audit = AuditLog(tmp_path)
    stack = stack_with_tokens(tmp_path, audit=audit)
    boss = {"authorization": f"Bearer {secret}"}
    request(stack, "POST", "/v1/models", boss | JSON_TYPE, [b"{}"])
    request(stack, "POST", "/v1/models", boss | {"content-type": "application/octet-stream"})
    request(stack, "DELETE", "/v1/models/spam", boss)
    request(stack, "GET", "/v1/models/spam/download", boss)
    request(stack, "GET", "/v1/models", boss)  # not of an administrator
    request(stack, "GET", f"/v1/models/{secret}/ledger", {"authorization": f"Bearer {secret}x"})
    request(stack, "GET", "/v1/models/a\nb/ledger")
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


def test_unauthenticated_requests_cannot_fill_the_audit_log(tmp_path: Path) -> None:
    audit = AuditLog(tmp_path, size=4000, kept=2)
    stack = stack_with_tokens(tmp_path, audit=audit)
    for k in range(300):
        request(stack, "DELETE", "/v1/models/" + "x" * 5000, {"host": "a", "origin": "null"} if k % 2 else {})
    assert audit.left_out >= 195
    audit._refusals.left = 1.0
    request(stack, "GET", "/v1/models")
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


def test_an_unwritable_audit_log_does_not_block_requests(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stack = stack_without_tokens(tmp_path, audit=AuditLog(tmp_path / "missing"))
    assert request(stack, "DELETE", "/v1/models/spam").status == 200
    assert "can't be written" in caplog.text
