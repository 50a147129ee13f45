"""Connections, by raw sockets: slow, half-closed, endless and broken requests end with a response or a closed
connection, and the next client is served.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the service is an extra: novikoff[serve]")

import uvicorn

from novikoff import Client, ServiceError
from novikoff.server.http import connections
from novikoff.server.http.auth import TokenStore
from novikoff.server.http.connections import build_protocol
from novikoff.server.ops.audit import AuditLog
from novikoff.server.ops.limits import Limits
from tests.helpers.server.middleware import MiddlewareStack

LIMITS = Limits(body=100_000, upload=1_000_000, head=4096, concurrent=20)
PATIENCE = 0.4
for limit in ("head_seconds", "body_seconds", "answer_seconds"):
    object.__setattr__(LIMITS, limit, PATIENCE)  # users have whole seconds, tests have less time
HOST = b"Host: localhost\r\n"
LEARN = b"POST /v1/models/spam/learn HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Read the body and respond with its size, or -1 with a token; the response of `examples` is endless."""
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return
        size, more = size + len(message["body"]), message.get("more_body", False)
    if "/slow/" in scope["path"]:
        await asyncio.sleep(0.2)
    if any(name == b"authorization" for name, _ in scope["headers"]):
        size = -1
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while scope["path"].endswith("/examples"):
        await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
    await send({"type": "http.response.body", "body": b"%d" % size})


class Served:
    """A server in a thread, and what it observed."""

    def __init__(self, folder: Path, **more: Any) -> None:
        self.seen: list[tuple[str, int]] = []
        stack = MiddlewareStack(
            app, tokens=TokenStore(folder), limits=LIMITS, loopback=True, audit=AuditLog(folder),
            observe=lambda name, status, _: self.seen.append((name, status)),
        )  # fmt: skip
        self.gate = stack
        self.kind = build_protocol(LIMITS)
        config = uvicorn.Config(
            stack,
            port=0,
            http=self.kind,
            ws="none",
            log_level="critical",
            access_log=False,
            timeout_keep_alive=5,
            **more,
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        self.port = self.server.servers[0].sockets[0].getsockname()[1]

    def stop(self) -> None:
        self.server.should_exit = self.server.force_exit = True
        self.thread.join()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=8)

    def send(self, *pieces: bytes, pause: float = 0.0) -> bytes:
        """Send the pieces; return all bytes until the server closes the connection."""
        with self.connect() as line:
            with contextlib.suppress(ConnectionError):  # it may have closed it before
                for piece in pieces:
                    line.sendall(piece)
                    time.sleep(pause)
            return read_all(line)

    def is_well(self) -> bool:
        answer = self.send(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n")
        return answer.startswith(b"HTTP/1.1 200 ")


def read_all(line: socket.socket) -> bytes:
    answer = b""
    while True:
        try:
            more = line.recv(65536)
        except ConnectionResetError:
            return answer
        if not more:
            return answer
        answer += more


def code(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"x-content-type-options: nosniff" in head
    return int(head.split()[1]), json.loads(body)["code"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    connections.CHECK_INTERVAL_SECONDS = 0.05
    server = Served(tmp_path_factory.mktemp("served"))
    yield server
    assert server.is_well()
    assert server.gate.security.active == 0
    server.stop()
    connections.CHECK_INTERVAL_SECONDS = 0.5


def test_a_slow_head_times_out(served: Served) -> None:
    start = time.monotonic()
    answer = served.send(b"G", b"ET / HTTP/1.1\r\nX: ", *[b"y"] * 30, pause=PATIENCE / 8)
    assert time.monotonic() - start < 5
    assert answer == b"" or code(answer) == (408, "header-timeout")


def test_an_incomplete_head_times_out(served: Served) -> None:
    assert code(served.send(b"GET / HTTP/1.1\r\nHost: loc")) == (408, "header-timeout")


def test_an_idle_connection_is_closed_without_a_response(served: Served) -> None:
    start = time.monotonic()
    assert served.send() == b""
    assert served.send(b"\r\n") == b""
    assert 2 * PATIENCE < time.monotonic() - start < 5


def test_an_incomplete_body_times_out(served: Served) -> None:
    assert code(served.send(LEARN + b"Content-Length: 100\r\n\r\n{")) == (408, "body-timeout")
    assert served.seen[-1] == ("learn", 408)
    chunked = LEARN + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"
    assert code(served.send(chunked)) == (408, "body-timeout")


def test_a_slow_but_steady_body_is_accepted(served: Served) -> None:
    pieces = [LEARN + b"Connection: close\r\nContent-Length: 6\r\n\r\n", *[b"x"] * 6]
    assert served.send(*pieces, pause=PATIENCE * 0.3).endswith(b"\r\n6\r\n0\r\n\r\n")


def test_an_unread_response_times_out(served: Served) -> None:
    with served.connect() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.sendall(b"GET /v1/models/spam/examples HTTP/1.1\r\n" + HOST + b"\r\n")
        limit = time.monotonic() + 6
        while time.monotonic() < limit and not (served.seen and served.seen[-1][0] == "examples"):
            time.sleep(0.1)
    assert served.seen[-1] == ("examples", 200)  # it has ended


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"hello\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET http://[/ HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\n" + HOST + b"\r\n",
        b"CONNECT example.org:443 HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"X: a\x00b\r\n\r\n",
        LEARN + b"Content-Length: -1\r\n\r\n",
        LEARN + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        LEARN + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        LEARN + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}",
        LEARN + b"Content-Length: 99999999999999999999999\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_malformed_http_is_refused(served: Served, garbage: bytes) -> None:
    assert code(served.send(garbage)) == (400, "malformed-request")


def test_the_size_of_a_head_is_limited(served: Served) -> None:
    line = b"X-%d: " + b"y" * 90 + b"\r\n"
    assert code(served.send(b"GET / HTTP/1.1\r\n" + b"".join(line % k for k in range(60)))) == (431, "header-too-large")
    assert code(served.send(b"GET /" + b"y" * 5000 + b" HTTP/1.1\r\n" + HOST + b"\r\n")) == (431, "header-too-large")
    assert code(served.send(b"GET / HTTP/1.1\r\nX: ", *[b"y" * 1000] * 6, pause=0.01)) == (431, "header-too-large")
    assert code(served.send(b"GET / HTTP/1.1\r\nX: " + b"y" * 6000)) == (431, "header-too-large")
    nearly = b"GET /healthz HTTP/1.1\r\nConnection: close\r\n" + HOST + b"X: " + b"y" * 3900 + b"\r\n\r\n"
    assert served.send(nearly).startswith(b"HTTP/1.1 200 ")
    assert served.send(nearly[:50], nearly[50:2000], nearly[2000:]).startswith(b"HTTP/1.1 200 ")
    # Large bodies in the same packet as the head are not part of it, and many small chunks are no head either.
    large = LEARN + b"Connection: close\r\nContent-Length: 50000\r\n\r\n" + b"y" * 50000
    assert served.send(large).endswith(b"\r\n50000\r\n0\r\n\r\n")
    drops = LEARN + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\ny\r\n" * 5000 + b"0\r\n\r\n"
    assert served.send(drops).endswith(b"\r\n5000\r\n0\r\n\r\n")


def test_trailers_are_ignored_and_limited(served: Served) -> None:
    start = LEARN + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n1\r\ny\r\n0\r\n"
    assert served.send(start + b"Authorization: Bearer x\r\n\r\n").endswith(b"\r\n1\r\n0\r\n\r\n")
    assert code(served.send(start + b"X: ", *[b"y" * 1000] * 8, pause=0.01)) == (431, "header-too-large")
    refused = b"POST /v1/models/spam/learn HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: "
    assert code(served.send(refused, *[b"y" * 1000] * 8, pause=0.01)) == (415, "unsupported-media-type")


def test_trailers_of_one_request_are_not_headers_of_the_next(served: Served) -> None:
    first = LEARN + b"Transfer-Encoding: chunked\r\n\r\n1\r\ny\r\n0\r\nAuthorization: Bearer x\r\n\r\n"
    second = LEARN + b"Content-Length: 2\r\n\r\n{}"
    last = LEARN + b"Connection: close\r\nAuthorization: Bearer x\r\nContent-Length: 2\r\n\r\n{}"
    answer = served.send(first + second + first + last)
    sizes = [piece.partition(b"\r\n\r\n")[2].split(b"\r\n")[1] for piece in answer.split(b"HTTP/1.1 200 ")[1:]]
    assert sizes == [b"1", b"2", b"1", b"-1"]


def test_malformed_http_after_a_request_is_refused(served: Served) -> None:
    before = len(served.seen)
    one = LEARN.replace(b"spam", b"slow") + b"Content-Length: 2\r\n\r\n{}"
    assert code(served.send(one + b"hello\r\n\r\n")) == (400, "malformed-request")  # not handled at all
    assert code(served.send(one, b"hello\r\n\r\n", pause=0.05)) == (400, "malformed-request")
    limit = time.monotonic() + 5
    while len(served.seen) == before and time.monotonic() < limit:
        time.sleep(0.01)
    assert served.seen[before:] == [("learn", 400)]


def test_half_closed_connections_are_answered(served: Served) -> None:
    with served.connect() as line:
        line.sendall(LEARN.replace(b"spam", b"slow") + b"Content-Length: 2\r\n\r\n{}")
        line.shutdown(socket.SHUT_WR)
        assert read_all(line).endswith(b"\r\n2\r\n0\r\n\r\n")
    for half in (b"GET / HT", LEARN, LEARN + b"Content-Length: 5\r\n\r\n{}"):
        with served.connect() as line:
            line.sendall(half)
            line.shutdown(socket.SHUT_WR)
            assert code(read_all(line)) == (400, "incomplete-request")
    with served.connect() as line:
        line.shutdown(socket.SHUT_WR)
        assert read_all(line) == b""


def test_disconnected_clients_do_not_stop_the_server(served: Served) -> None:
    for piece in (b"", b"GET", LEARN, LEARN + b"Content-Length: 5\r\n\r\n{"):
        with served.connect() as line:
            line.sendall(piece)
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # by a reset
    assert served.is_well()


def test_the_client_can_read_why_its_body_is_refused(served: Served) -> None:
    """The response is sent at once; later body bytes are discarded for a limited time."""
    with served.connect() as line:
        line.sendall(LEARN + b"Content-Length: 100000000\r\n\r\n")
        assert line.recv(65536).startswith(b"HTTP/1.1 413 ")
        thrown = 0
        try:
            while thrown < 50_000_000:
                thrown += line.send(b"y" * 65536)
        except OSError:
            pass
        assert thrown < 20_000_000
    # A body that fits leaves the connection open for the next request.
    with served.connect() as line:
        line.sendall(b"POST /v1/models/spam/learn HTTP/1.1\r\n" + HOST + b"Content-Length: 50000\r\n\r\n")
        assert line.recv(65536).startswith(b"HTTP/1.1 415 ")
        line.sendall(b"y" * 50000 + b"GET /healthz HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n")
        assert read_all(line).startswith(b"HTTP/1.1 200 ")


def test_many_slow_clients_do_not_block_others(served: Served) -> None:
    lines = [served.connect() for _ in range(60)]
    for line in lines:
        line.sendall(b"GET / HTTP/1.1\r\nX: ")
    time.sleep(0.2)
    assert served.is_well()
    assert len(served.kind.monitor.connections) <= served.kind.monitor.max_connections + 1
    for line in lines:
        line.close()


def test_keep_alive_and_pipelined_requests_are_answered(served: Served) -> None:
    one = LEARN + b"Content-Length: 2\r\n\r\n{}"
    answer = served.send(one * 3 + one.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    assert answer.count(b"HTTP/1.1 200 ") == 4
    upgrade = b"GET /healthz HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" + HOST + b"\r\n"
    with served.connect() as line:
        line.sendall(upgrade)
        assert line.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_requests_with_the_head_of_an_earlier_request_are_answered(served: Served) -> None:
    one, upgrade = LEARN + b"Content-Length: 2\r\n\r\n", b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
    with served.connect() as line:

        def ask(*pieces: bytes) -> bytes:
            for piece in pieces:
                line.sendall(piece)
                time.sleep(0.03)
            return line.recv(65536).rpartition(b"\r\n\r\n")[0].partition(b"\r\n\r\n")[2]

        for body in (b"{}", b"\r\n", b"ab"):
            assert ask(one + body) == b"1\r\n2\r\n0"
            assert ask(one, body) == b"1\r\n2\r\n0"
            assert ask(one[:40], one[40:] + body) == b"1\r\n2\r\n0"
        assert ask(b"\r\n\r\n", one + b"{}") == b"1\r\n2\r\n0"
        assert ask(one + b"{}", one + b"{") == b"1\r\n2\r\n0"
        assert ask(b"}") == b"1\r\n2\r\n0"
        for _ in range(2):
            assert ask(b"GET /healthz HTTP/1.1\r\n" + upgrade + HOST + b"\r\n") == b"1\r\n0\r\n0"
        line.sendall(one + b"{}" + one + b"{}" + one + b"{")
        assert read_all(line).count(b"\r\n1\r\n2\r\n0\r\n\r\n") == 2
    assert served.seen[-1] == ("learn", 408)


def test_expect_100_continue_is_answered(served: Served) -> None:
    with served.connect() as line:
        line.sendall(LEARN + b"Expect: 100-continue\r\nContent-Length: 100000000\r\n\r\n")
        assert line.recv(65536).startswith(b"HTTP/1.1 413 ")
    with served.connect() as line:
        line.sendall(LEARN + b"Expect: 100-continue\r\nConnection: close\r\nContent-Length: 2\r\n\r\n")
        assert line.recv(65536).startswith(b"HTTP/1.1 100 ")
        line.sendall(b"{}")
        assert read_all(line).startswith(b"HTTP/1.1 200 ")


def test_timeouts_apply_to_tls_connections(tmp_path: Path) -> None:
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
         "-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "cert.pem"],
        cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode != 0:
        pytest.skip("there is no openssl here to make a certificate")
    served = Served(tmp_path, ssl_certfile=tmp_path / "cert.pem", ssl_keyfile=tmp_path / "key.pem")
    try:
        context = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        with context.wrap_socket(served.connect(), server_hostname="localhost") as line:
            line.sendall(LEARN + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}")
            assert read_all(line).endswith(b"\r\n2\r\n0\r\n\r\n")
        with context.wrap_socket(served.connect(), server_hostname="localhost") as line:
            line.sendall(b"GET / HTTP/1.1\r\nHost: loc")
            answer = read_all(line)
            assert answer == b"" or code(answer) == (408, "header-timeout")
    finally:
        served.stop()


def test_the_python_client_reports_the_reason_of_a_refusal(served: Served) -> None:
    """This also holds if the server stops reading long before the whole body is sent."""
    with Client(f"http://localhost:{served.port}", retries=0) as talker:
        for size in (150_000, 1_000_000, 20_000_000):
            with pytest.raises(ServiceError) as caught:
                talker.learn("spam", ["x" * size], 1)
            assert (caught.value.status, caught.value.code) == (413, "body-too-large")
        with pytest.raises(ServiceError) as caught:
            talker.upload("spam", b"x" * 30_000_000)
        assert (caught.value.status, caught.value.code) == (413, "body-too-large")
    with Client(f"http://0.0.0.0:{served.port}") as talker, pytest.raises(ServiceError) as caught:
        talker.models()
    assert (caught.value.status, caught.value.code) == (403, "untrusted-host")
