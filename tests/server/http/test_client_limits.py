"""Limits for each client: concurrent requests, connections, slow bodies."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import socket
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("msgspec", reason="the service is an extra: novikoff[serve]")

from novikoff.server.http import auth
from novikoff.server.http.client_limits import BodyRate, ConnectionLimit
from novikoff.server.http.middleware import ConcurrencyLimit
from novikoff.server.ops.limits import Limits
from tests.helpers.server.middleware import JSON_TYPE, request, stack_with_tokens, stack_without_tokens
from tests.helpers.server.process import ForkServer, Server, run_server

SLOW_BODIES = 512


# --- The classes ---


def test_slots_are_counted_for_each_client() -> None:
    limit, rng, used = ConcurrencyLimit(3), random.Random(0), Counter[str]()
    for _ in range(2_000):
        client = rng.choice("abcd")
        if rng.random() < 0.6:
            assert limit.acquire(client) == (used[client] < 3)
            used[client] = min(3, used[client] + 1)
        elif used[client]:
            limit.release(client)
            used[client] -= 1
        assert limit.used(client) == used[client]
    assert len(limit) == len(+used)
    assert limit.refused > 0


def test_a_limit_of_0_is_no_limit() -> None:
    requests, connections = ConcurrencyLimit(0), ConnectionLimit(0)
    assert all(requests.acquire("a") for _ in range(1_000))
    assert all(connections.open(k, "a") for k in range(1_000))
    assert not BodyRate(0.0, 0.0, 0).is_too_slow(1e9)


def test_closed_clients_take_no_memory() -> None:
    requests, connections = ConcurrencyLimit(2), ConnectionLimit(2)
    for k in range(1_000):
        assert requests.acquire(str(k))
        requests.release(str(k))
        connections.open(k, str(k))
        connections.close(k)
        connections.close(k)  # a second time changes nothing
    assert len(requests) == 0
    assert not connections._counts
    assert not connections._owners


def test_a_connection_counts_for_its_token_once_that_is_known() -> None:
    limit = ConnectionLimit(2)
    assert limit.open(1, "address")
    assert limit.open(2, "address")
    assert not limit.open(3, "address")
    assert limit.assign(1, "shop")
    assert limit.assign(1, "shop")
    assert (limit.count("address"), limit.count("shop")) == (1, 1)
    assert limit.open(3, "address")
    assert limit.assign(2, "shop")
    assert not limit.assign(3, "shop")
    assert limit.owner(3) == "address"
    assert limit.assign("never opened", "shop")
    assert limit.count("shop") == 2


def test_time_without_server_reads_is_not_charged_to_the_client() -> None:
    body = BodyRate(now=100.0, grace=10.0, minimum=10)
    body.pause(101.0)
    body.pause(105.0)
    assert not body.is_too_slow(10_000.0)
    body.resume(10_001.0)
    assert not body.is_too_slow(10_009.0)
    assert body.is_too_slow(10_012.0)
    body.receive(1_000)
    assert not body.is_too_slow(10_012.0)
    body.resume(20_000.0)  # was not paused
    assert body.is_too_slow(10_200.0)


def test_client_limits_must_be_integers() -> None:
    for name in ("client_requests", "client_connections", "body_rate", "body_rate_seconds", "log_lines", "retain_days"):
        with pytest.raises(Exception, match=name):
            Limits(**{name: -1})


# --- The middleware ---


def test_a_client_with_too_many_requests_is_refused_and_others_are_not(tmp_path: Path) -> None:
    secrets = [auth.create_token(tmp_path, ["predict"], 1, name) for name in ("a", "b")]
    waiting: list[asyncio.Event] = []

    async def wait_forever(scope: object, receive: object, send: object) -> None:
        waiting.append(asyncio.Event())
        await waiting[-1].wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})  # type: ignore[operator]
        await send({"type": "http.response.body", "body": b""})  # type: ignore[operator]

    async def run() -> None:
        from tests.helpers.server.middleware import send_request

        middleware = stack_with_tokens(tmp_path, Limits(client_requests=2), wait_forever)

        def start_request(secret: str) -> asyncio.Task[object]:
            headers = JSON_TYPE | {"authorization": f"Bearer {secret}"}
            return asyncio.create_task(send_request(middleware, "POST", "/v1/models/m/predict", headers, [b"{}"]))

        first = [start_request(secrets[0]) for _ in range(2)]
        await asyncio.sleep(0.01)
        refused = await start_request(secrets[0])
        assert (refused.status, refused.code) == (429, "too-many-client-requests")  # type: ignore[attr-defined]
        assert refused.headers["retry-after"] == "1"  # type: ignore[attr-defined]
        other = start_request(secrets[1])
        await asyncio.sleep(0.01)
        assert len(waiting) == 3
        for event in waiting:
            event.set()
        await asyncio.gather(*first, other)
        assert len(middleware.security.clients) == 0

    asyncio.run(run())


def test_slots_are_released_however_a_request_ends(tmp_path: Path) -> None:
    async def fails(scope: object, receive: object, send: object) -> None:
        raise RuntimeError("a test")

    middleware = stack_without_tokens(tmp_path, Limits(client_requests=1), fails)
    for _ in range(3):
        assert request(middleware, "POST", "/v1/models/m/predict", JSON_TYPE, [b"{}"]).status == 500
        assert (
            request(middleware, "POST", "/v1/models/m/predict", {"content-type": "text/plain"}, [b"{}"]).status == 415
        )
        assert request(middleware, "GET", "/v1/nothing").status == 404
    assert len(middleware.security.clients) == 0


def test_a_token_with_too_many_connections_is_refused(tmp_path: Path) -> None:
    secret = auth.create_token(tmp_path, ["predict"], 1, "a")
    limit = ConnectionLimit(1)
    middleware = stack_with_tokens(tmp_path, connections=limit)
    me = JSON_TYPE | {"authorization": f"Bearer {secret}"}
    peer = ("192.0.2.1", 5)  # of the requests below
    limit.open(peer, "192.0.2.1")
    assert request(middleware, "POST", "/v1/models/m/predict", me, [b"{}"]).status == 200
    assert limit.owner(peer) == secret[4:12]
    limit.close(peer)
    limit.open(("192.0.2.1", 6), secret[4:12])
    limit.open(peer, "192.0.2.1")
    answer = request(middleware, "POST", "/v1/models/m/predict", me, [b"{}"])
    assert (answer.status, answer.code) == (429, "too-many-client-connections")
    assert answer.headers["connection"] == "close"


# --- A server ---


def open_slow_bodies(server: Server, secret: str, count: int) -> list[socket.socket]:
    """Open connections that have sent the head of a request and some of its body."""
    head = (
        f"POST /v1/models/m/predict HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {secret}\r\n"
        'Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"fea'
    ).encode()
    lines = []
    for k in range(count):
        line = socket.create_connection(("127.0.0.1", server.port), timeout=8)
        with contextlib.suppress(ConnectionError):
            line.sendall(head)
        lines.append(line)
        if k % 64 == 63:
            time.sleep(0.02)  # so that heads are read before the next connections come
    return lines


def latencies(server: Server, secret: str, count: int) -> tuple[Counter[int], list[float]]:
    statuses, times = Counter[int](), []
    for _ in range(count):
        start = time.perf_counter()
        status, _ = server.ask(
            "POST", "/v1/models/m/predict", {"features": {"a": 1}, "keep": False}, {"Authorization": f"Bearer {secret}"}
        )
        times.append(time.perf_counter() - start)
        statuses[status] += 1
    return statuses, sorted(times)


@pytest.mark.parametrize("limited", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_slow_bodies_of_one_client_do_not_delay_another(fork_server: ForkServer, tmp_path: Path, limited: bool) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    slow, shop = (auth.create_token(folder, ["admin"], 1, name) for name in ("slow", "shop"))
    options = [] if limited else ["--max-client-requests", "0", "--max-client-connections", "0"]
    with run_server(fork_server, folder, "--max-requests-per-second", "0", *options) as server:
        me = {"Authorization": f"Bearer {shop}"}
        assert server.ask("POST", "/v1/models", {"name": "m", "learner": "perceptron"}, me)[0] == 201
        _, before = latencies(server, shop, 100)
        lines = open_slow_bodies(server, slow, SLOW_BODIES)
        try:
            statuses, during = latencies(server, shop, 100)
        finally:
            for line in lines:
                line.close()
        if limited:
            assert statuses == {200: 100}
            assert during[50] < 10 * before[50] + 0.005  # not blocked; the machine may be busy
            assert during[98] < 0.5
            text = server.ask("GET", "/metrics", headers=me)[1].decode()
            assert 'novikoff_requests_total{route="predict",status="429"}' in text
        else:
            assert statuses[503] > 0  # without the limits they block everybody


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has all of 127.0.0.0/8 on loopback")
def test_connections_of_one_address_leave_room_for_another(fork_server: ForkServer, tmp_path: Path) -> None:
    limits = ("--max-client-connections", "40", "--max-concurrent-requests", "40")
    with run_server(fork_server, tmp_path / "data", *limits) as server:
        server.make()
        lines = [
            socket.create_connection(("127.0.0.1", server.port), timeout=8, source_address=("127.0.0.2", 0))
            for _ in range(100)
        ]
        try:
            for _ in range(20):
                server.predict({"a": 1.0})
            open_lines, closed, until = lines, 0, time.monotonic() + 8
            while closed < 60 and time.monotonic() < until:  # a loaded server may accept some connections late
                waiting = []
                for line in open_lines:
                    line.settimeout(0.001)
                    try:
                        closed += line.recv(100).startswith(b"HTTP/1.1 503 ")
                    except TimeoutError:
                        waiting.append(line)
                open_lines = waiting
            assert (closed, len(open_lines)) == (60, 40)  # the oldest made room for the newest of the same address
            lines[-1].settimeout(8)
            lines[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert lines[-1].recv(100).startswith(b"HTTP/1.1 200 ")
        finally:
            for line in lines:
                line.close()


def test_a_connection_beyond_the_limit_of_its_token_is_refused_and_closed(
    fork_server: ForkServer, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    secret = auth.create_token(folder, ["predict"], 1, "a")
    request = f"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {secret}\r\n\r\n".encode()
    with run_server(fork_server, folder, "--max-client-connections", "2") as server, contextlib.ExitStack() as stack:
        answers = []
        for _ in range(3):
            line = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=8))
            line.sendall(request)
            answers.append(line.recv(65536))
        assert [answer[:13] for answer in answers] == [b"HTTP/1.1 200 ", b"HTTP/1.1 200 ", b"HTTP/1.1 429 "]
        while piece := line.recv(65536):  # until the server closes the connection
            answers[-1] += piece
        assert answers[-1].lower().count(b"connection: close") == 1
        assert b"too-many-client-connections" in answers[-1]


def test_a_token_is_checked_again_on_an_open_connection(fork_server: ForkServer, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    first, other = (auth.create_token(folder, [scope], 1, scope) for scope in ("admin", "predict"))

    def ask(secret: str) -> int:
        return server.ask("POST", "/v1/models/m/promote", headers={"Authorization": f"Bearer {secret}"})[0]

    with run_server(fork_server, folder) as server:
        assert [ask(secret) for secret in (first, first, other, first, first[:-1])] == [404, 404, 403, 404, 401]
        assert ask(first) == 404
        auth.revoke_token(folder, "admin")
        until = time.monotonic() + 10
        while ask(first) == 404 and time.monotonic() < until:
            time.sleep(0.05)
        assert ask(first) == 401
        assert ask(other) == 403


@pytest.mark.slow
def test_a_body_below_the_minimum_rate_ends(fork_server: ForkServer, tmp_path: Path) -> None:
    options = ("--min-body-bytes-per-second", "1000", "--body-rate-grace-seconds", "1")
    with run_server(fork_server, tmp_path / "data", *options) as server:
        server.make()
        head = (
            b"POST /v1/models/m/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: %b\r\nContent-Length: 1000\r\n\r\n"
        )
        json_body, lines = (socket.create_connection(("127.0.0.1", server.port), timeout=8) for _ in range(2))
        with json_body, lines:
            json_body.sendall(head % b"application/json")
            lines.sendall(head % b"application/x-ndjson")
            said, start = b"", time.monotonic()
            json_body.settimeout(0.1)
            while b"body-timeout" not in said and time.monotonic() - start < 6:
                with contextlib.suppress(TimeoutError):
                    said += json_body.recv(65536)
                with contextlib.suppress(ConnectionError):
                    json_body.sendall(b" ")  # a byte now and then is not enough
                    lines.sendall(b" ")
            assert said.startswith(b"HTTP/1.1 408 ")
            assert time.monotonic() - start >= 1
            assert json.loads(said.partition(b"\r\n\r\n")[2])["code"] == "body-timeout"
            lines.settimeout(0.7)
            with pytest.raises(TimeoutError):  # streams of lines may be slow
                lines.recv(1)
