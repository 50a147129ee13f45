"""The server keeps to its OpenAPI document for any input: no 5xx, no other shape, no access without a token."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from novikoff.server.http import auth
from novikoff.server.http.routes import OPERATIONS
from tests.helpers.server.process import NDJSON, ForkServer, Server, run_server

FUZZ_SECONDS = float(os.environ.get("NOVIKOFF_FUZZ", "1800"))
OPEN = ("/healthz", "/readyz", "/v1/openapi.json")
SCOPE_OF = {(route.method, route.path.replace("{name}", "m")): route.scope for route in OPERATIONS}


@pytest.fixture
def server(fork_server: ForkServer, tmp_path: Path) -> Iterator[Server]:
    with run_server(fork_server, tmp_path / "data") as one:
        one.make()
        one.lines([({"a": 1.0, "b": -1.0}, "x"), ({"a": -1.0}, "y")])
        yield one


@pytest.mark.parametrize("seconds", [0.0, pytest.param(FUZZ_SECONDS, marks=pytest.mark.slow)])
def test_schemathesis_finds_nothing(server: Server, seconds: float) -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is in the extra dev")
    from hypothesis import HealthCheck, Phase, given, settings
    from schemathesis.specs.openapi.checks import positive_data_acceptance  # a schema knows no names of learners

    schema = schemathesis.openapi.from_dict(server.ask("GET", "/v1/openapi.json")[1])
    schema.config.base_url = server.url
    tries, tried, until = 100 if seconds else 15, 0, time.monotonic() + seconds
    operations = [found.ok() for found in schema.get_all_operations()]
    while not tried or time.monotonic() < until:
        for operation in operations:
            if operation.path == "/v1/events":  # it never ends
                continue

            @given(case=operation.as_strategy())
            @settings(
                max_examples=tries, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
            )
            def ask(case: Any) -> None:
                nonlocal tried
                answer = case.call(timeout=30)
                case.validate_response(answer, excluded_checks=[positive_data_acceptance])
                assert answer.status_code < 500
                tried += 1

            ask()
    print(f"{tried:,} cases, no failure")
    assert tried > 10 * tries
    assert server.ask("GET", "/healthz")[0] == 200


def requests_of(document: Any) -> Iterator[tuple[str, str, Any]]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield method.upper(), path.replace("{name}", "m"), operation


def test_every_route_requires_the_right_token(fork_server: ForkServer, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    made = {scope: auth.create_token(folder, [scope], None, scope) for scope in ("predict", "learn", "admin")}
    expired = auth.create_token(folder, ["admin"], 7, "expired")
    file = json.loads((folder / auth.AUTH_FILE).read_text())
    file["tokens"][-1]["expires"] = "2020-01-01T00:00:00Z"
    (folder / auth.AUTH_FILE).write_text(json.dumps(file))
    revoked = auth.create_token(folder, ["admin"], None, "revoked")
    auth.revoke_token(folder, "revoked")
    with run_server(fork_server, folder) as server:

        def status(method: str, path: str, token: str | None) -> int:
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            body = b"{}" if method == "POST" and not path.endswith("promote") else None
            return server.ask(method, path, body, headers)[0]

        asked = 0
        for method, path, operation in requests_of(server.ask("GET", "/v1/openapi.json")[1]):
            if path in OPEN:
                assert status(method, path, None) == 200
                continue
            scope = SCOPE_OF[method, path]
            assert scope in operation["description"]
            for wrong in (None, "", "nvk_0_x", made["admin"][:-1] + "~", made["admin"].upper(), expired, revoked):
                assert status(method, path, wrong) == 401, (method, path, wrong)
            for other in {"predict", "learn"} - {scope}:
                assert status(method, path, made[other]) == 403, (method, path, other)
            if path != "/v1/events":
                assert status(method, path, made["admin"]) not in (401, 403, 500)
            asked += 1
        assert asked >= 14


def test_the_api_page_is_public_and_loads_no_other_file(fork_server: ForkServer, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    auth.create_token(folder, ["predict"], None, "p")
    with run_server(fork_server, folder) as server:
        server.connection.request("GET", "/docs")
        answer = server.connection.getresponse()
        content = answer.read()
        assert (answer.status, answer.getheader("content-type")) == (200, "text/html; charset=utf-8")
        assert "default-src 'none'; style-src 'sha256-" in str(answer.getheader("content-security-policy"))
        assert all(route.path.encode() in content for route in OPERATIONS)
        assert server.ask("POST", "/docs", b"{}")[0] == 401


def test_errors_are_problem_details(server: Server) -> None:
    server.connection.request("GET", "/v1/models/none")
    answer = server.connection.getresponse()
    assert (answer.status, answer.getheader("content-type")) == (404, "application/problem+json")
    assert json.loads(answer.read()) == {
        "type": "urn:novikoff:error:unknown-model", "title": "Unknown model", "status": 404,
        "detail": "There is no model 'none'.", "code": "unknown-model", "error": "There is no model 'none'.",
    }  # fmt: skip


def test_other_addresses_are_refused_without_tokens(fork_server: ForkServer, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="there are no tokens"):
        Server(fork_server, tmp_path / "data", "--host", "0.0.0.0")  # noqa: S104 - which is the point


def test_invalid_tls_options_are_refused(fork_server: ForkServer, tmp_path: Path) -> None:
    junk = tmp_path / "junk.pem"
    junk.write_text("no key")
    for certificate, key, sentence in (
        (junk, None, "TLS needs both"),
        (tmp_path / "none.pem", junk, r"none\.pem: can't be read: No such file"),
        (junk, junk, "must be a certificate and its key in PEM format"),
    ):
        options = ["--tls-certificate", str(certificate), *(["--tls-key", str(key)] if key else [])]
        with pytest.raises(AssertionError, match=sentence):
            Server(fork_server, tmp_path / "data", *options)


BODIES = [
    b"", b"{", b"null", b"[]", b'"x"', b"1e999", b"\xff\xfe\x00", b"[" * 100_000, b'{"a":' * 50_000,
    b'{"features": null, "label": "x"}', b'{"features": {"a": {}}, "label": "x"}',
    b'{"features": {"a": true}, "label": 1}', b'{"features": {"a": 1e999}, "label": 1}',
    b'{"features": {"a": NaN}, "label": 1}', b'{"features": {"a": -Infinity}}',
    b'{"features": {"a": 1' + b"0" * 5000 + b'}, "label": 1}', b'{"features": {"a": 1}, "label": null}',
    b'{"features": {"\\ud800": 1}, "label": "x"}', b'{"features": {"a": 1}, "label": "\\udfff"}',
    b'{"features": {"a": 1}, "label": 1e300}', b'{"features": {"a": 1}, "label": [[1]]}',
    b'{"features": {"a": 1}, "label": {}}', b'{"features": {"a": 1e300}, "label": "x"}', b'{"id": 5, "label": "x"}',
    b'{"id": "x", "features": {}, "label": "x"}', b'{"features": [1, 2], "label": "x"}',
    b'{"features": {"' + b"n" * 5000 + b'": 1}, "label": "x"}', b'{"examples": {}}', b'{"examples": [{"features": 1}]}',
]  # fmt: skip


def test_invalid_bodies_change_nothing(server: Server) -> None:
    before = server.ask("GET", "/v1/models/m/download")[1]
    for path in ("/v1/models", "/v1/models/m/learn", "/v1/models/m/predict"):
        for body in BODIES:
            status, said = server.ask("POST", path, body or b" ")
            assert 400 <= status < 500, (path, body[:60], status, said)
            assert re.fullmatch(r"\S.*[.]", said["error"], re.S), said
    assert server.ask("GET", "/v1/models/m/download")[1] == before
    assert len(server.ask("GET", "/v1/models")[1]["models"]) == 1


def test_mutated_bodies_do_not_crash_the_server(server: Server) -> None:
    rng = random.Random(7)
    good = b'{"features": {"alpha": 1.5, "b\\u00e9": -2e3}, "label": "x"}\n{"features": ["a", "b"], "label": "y"}\n'
    for _ in range(150):
        body = bytearray(good * rng.choice([1, 3]))
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(body))
            how = rng.randrange(3)
            if how == 0:
                body[at] = rng.randrange(256)
            elif how == 1:
                del body[at : at + rng.randrange(1, 9)]
            else:
                body[at:at] = rng.choice([b'"', b"{", b"}", b"\\u", b"1e400", b"\n", b"\x00", b",", b"null"])
            body = body or bytearray(b" ")
        for path, media in (("learn", NDJSON), ("predict", NDJSON), ("learn", {}), ("learn?bad_lines=skip", NDJSON)):
            status, _ = server.ask("POST", f"/v1/models/m/{path}", bytes(body), media)
            assert status < 500
    assert server.ask("GET", "/healthz")[0] == 200


def test_clients_that_disconnect_do_not_stop_the_server(server: Server) -> None:
    body = b'{"features": {"a": 1}, "label": "x"}'
    head = b"POST /v1/models/m/learn HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    before = server.ask("GET", "/v1/models/m/ledger")[1]["examples"]
    for sent in (
        head,
        head + b"Content-Length: 36\r\n\r\n",
        head + b"Content-Length: 99\r\n\r\n" + body,
        head + b"Transfer-Encoding: chunked\r\n\r\n24\r\n" + body[:20],
        b"\x16\x03\x01" * 50,
        b"GET / HTTP/9\r\n\r\n",
    ):
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", server.port)) as line:
                line.sendall(sent)
    assert server.ask("GET", "/v1/models/m/ledger")[1]["examples"] == before
    with socket.create_connection(("127.0.0.1", server.port)) as line:  # a half-closed connection gets a response
        line.sendall(head + b"Content-Length: 36\r\nConnection: close\r\n\r\n" + body)
        line.shutdown(socket.SHUT_WR)
        answer = http.client.HTTPResponse(line)
        answer.begin()
        assert answer.status == 200
        answer.close()


def answers_of(line: socket.socket, count: int, method: str = "POST") -> list[tuple[http.client.HTTPResponse, bytes]]:
    """Yield the responses on a connection, one after another."""
    file, found = line.makefile("rb"), []
    for _ in range(count):
        answer = http.client.HTTPResponse(line, method=method)
        answer.fp.close()
        answer.fp = file  # bytes read ahead belong to the next response
        answer.begin()
        found.append((answer, file.read(answer.length or 0)))
    return found


def test_a_response_in_one_write_is_valid_http(server: Server) -> None:
    body = b'{"features": {"a": 1}}'
    head = "POST /v1/models/m/predict HTTP/1.{}\r\nHost: localhost\r\nContent-Type: application/json\r\n{}\r\n"
    length = f"Content-Length: {len(body)}\r\n"

    def connect() -> socket.socket:
        return socket.create_connection(("127.0.0.1", server.port), timeout=30)

    def ask(version: int = 1, more: str = "") -> bytes:
        return head.format(version, length + more).encode() + body

    with connect() as line:  # two in one packet
        line.sendall(ask() * 2)
        for answer, content in answers_of(line, 2):
            assert (answer.status, answer.getheader("content-type")) == (200, "application/json")
            assert json.loads(content)["label"] in ("x", "y")
            assert answer.getheader("date")
            assert answer.getheader("cache-control") == "no-store"
            assert answer.getheader("x-content-type-options") == "nosniff"
            assert answer.getheader("connection") is None
    for closing in (ask(more="Connection: close\r\n"), ask(version=0)):
        with connect() as line:
            line.sendall(closing)
            ((answer, content),) = answers_of(line, 1)
            assert (answer.status, answer.getheader("connection")) == (200, "close")
            assert json.loads(content)["id"]
            assert line.recv(1) == b""
    with connect() as line:
        line.sendall(ask(more="Expect: 100-continue\r\n")[: -len(body)])
        assert line.recv(100).startswith(b"HTTP/1.1 100 ")
        line.sendall(body)
        assert answers_of(line, 1)[0][0].status == 200
    with connect() as line:  # as GET, without a body
        line.sendall(b"HEAD /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        said = b"".join(iter(lambda: line.recv(65536), b""))
        assert said.startswith(b"HTTP/1.1 200 ")
        assert said.endswith(b"\r\n\r\n")
    with connect() as line:  # in pieces, which are put together
        line.sendall(head.format(1, "Transfer-Encoding: chunked\r\n").encode())
        for piece in (body[:5], body[5:]):
            line.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
        line.sendall(b"0\r\n\r\n")
        assert json.loads(answers_of(line, 1)[0][1])["id"]
