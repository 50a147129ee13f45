"""Measure the server under load, compared with a plain "hello" of the same server stack and with `vw --daemon`.

vw's daemon speaks lines over TCP, keeps no journal and answers one connection after another: the rows beside it show
the cost of HTTP, JSON and durability.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import Failed, Limit, Row, attempt, compare_values

SECONDS = 1.5
CLIENTS = 16
LINES = 200_000
HELLO = """
import socket, sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
async def hello(request):
    await request.body()
    return Response(b'{"hello": "world"}', media_type="application/json")
app = Starlette(routes=[Route("/", hello, methods=["POST"])])
taken = socket.create_server(("127.0.0.1", 0))
print(f"http://127.0.0.1:{taken.getsockname()[1]} ", file=sys.stderr, flush=True)
config = uvicorn.Config(app, loop="uvloop", http="httptools", ws="none", log_config=None, access_log=False)
uvicorn.Server(config).run(sockets=[taken])
"""


HALF = """
import http.client, sys, time
body, line = sys.stdin.buffer.read(), http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
while True:
    began = time.perf_counter()
    line.request("POST", "/v1/models/m/learn", body, {"Content-Type": "application/x-ndjson"})
    answer = line.getresponse()
    assert answer.status == 200, answer.read()
    answer.read()
    time.sleep(time.perf_counter() - began)
"""
"""Learn, then pause for the same time: half of the full load."""


VW = "import sys; from vowpalwabbit import pyvw; pyvw.pylibvw.vw.run_parser(pyvw.Workspace(arg_list=sys.argv[1:]))"
"""Like `-m vowpalwabbit`, which exits without reading a line if no file is named."""


class Load(NamedTuple):
    requests: float
    """Requests a second."""
    p50: float
    p99: float
    """Latencies in seconds."""


@contextlib.contextmanager
def start_server(*command: str) -> Iterator[int]:
    """Start a process that prints its address on stderr, and yield its port."""
    child = subprocess.Popen([sys.executable, *command], stderr=subprocess.PIPE, text=True)
    try:
        assert child.stderr is not None
        for line in child.stderr:
            found = re.search(r"http://127.0.0.1:(\d+) ", line)
            if found:
                threading.Thread(target=child.stderr.read, daemon=True).start()
                yield int(found[1])
                break
        else:
            raise AssertionError("the server did not start")
    finally:
        child.terminate()
        child.wait()


@contextlib.contextmanager
def run_server() -> Iterator[int]:
    folder = tempfile.mkdtemp(dir=Path.cwd())
    try:
        with start_server("-m", "novikoff", "serve", "--data-dir", folder, "--port", "0") as port:
            post(port, "/v1/models", json.dumps({"name": "m"}).encode(), "application/json")
            yield port
    finally:
        shutil.rmtree(folder)


def post(port: int, path: str, body: bytes, media: str) -> dict[str, float]:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=600)) as line:
        line.request("POST", path, body, {"Content-Type": media})
        answer = line.getresponse()
        content = answer.read()
        assert answer.status < 300, content
        return dict(json.loads(content))


def make_examples(count: int, seed: int = 0) -> list[dict[str, float]]:
    rng = random.Random(seed)
    names = [f"feature_{k}" for k in range(5000)]
    return [{name: round(rng.gauss(0, 1), 4) for name in rng.sample(names, 20)} for _ in range(count)]


def encode_labelled_lines(some: list[dict[str, float]]) -> bytes:
    rng = random.Random(1)
    lines = (json.dumps({"features": x, "label": rng.choice(("spam", "ham"))}) for x in some)
    return "\n".join(lines).encode() + b"\n"


def encode_request(path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class RequestLoop(asyncio.Protocol):
    """A client that sends a request, waits for the response, and repeats."""

    def __init__(self, requests: list[bytes], pause: float, times: list[float]) -> None:
        self.requests, self.pause, self.times = requests, pause, times
        self.next, self.received = 0, b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.send_request()

    def send_request(self) -> None:
        self.began = time.perf_counter()
        self.transport.write(self.requests[self.next])
        self.next = (self.next + 1) % len(self.requests)

    def data_received(self, data: bytes) -> None:
        self.received += data
        end = self.received.find(b"\r\n\r\n")
        if end < 0:
            return
        length = int(self.received[: end + 2].lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        if len(self.received) < end + 4 + length:
            return
        assert self.received.startswith(b"HTTP/1.1 200"), self.received
        self.times.append(time.perf_counter() - self.began)
        self.received = b""
        if self.pause:
            asyncio.get_running_loop().call_later(self.pause, self.send_request)
        else:
            self.send_request()


def measure_load(
    port: int, requests: list[bytes], *, clients: int, seconds: float = SECONDS, pause: float = 0.0
) -> Load:
    times: list[float] = []

    async def run_clients() -> None:
        loop = asyncio.get_running_loop()
        for _ in range(clients):
            await loop.create_connection(lambda: RequestLoop(requests, pause, times), "127.0.0.1", port)
        await asyncio.sleep(seconds / 4)
        times.clear()
        await asyncio.sleep(seconds)

    import uvloop

    uvloop.run(run_clients())
    ordered = sorted(times)
    return Load(len(times) / seconds, statistics.median(ordered), ordered[int(0.99 * len(ordered))])


def run() -> Iterator[Row | Limit | Failed]:
    some = make_examples(1000)
    asks = [encode_request("/v1/models/m/predict", json.dumps({"features": x}).encode()) for x in some]
    yield attempt("predict, one example: requests beside hello", lambda title: measure_predictions(title, asks))
    yield attempt("learn, NDJSON, 20 features: seconds a 100,000", measure_bulk_learning)
    yield attempt("p99 of predict in ms, learning at half load", lambda title: measure_busy_predictions(title, asks))
    yield attempt("predict, one client: beside vw --daemon", lambda title: compare_with_vw(title, some, asks))


def measure_predictions(title: str, asks: list[bytes]) -> Row:
    """Measure both alternately; the target is twice the time of hello."""
    with run_server() as port, start_server("-c", HELLO) as bare:
        post(port, "/v1/models/m/learn", encode_labelled_lines(make_examples(2000)), "application/x-ndjson")
        hello = [encode_request("/", ask.partition(b"\r\n\r\n")[2]) for ask in asks]
        return compare_values(
            title,
            lambda: 1 / measure_load(port, asks, clients=CLIENTS).requests,
            lambda: 1 / measure_load(bare, hello, clients=CLIENTS).requests,
            0.5,
        )


def measure_bulk_learning(title: str) -> Limit:
    """Measure the seconds for 100,000 examples with the journal on; the limit is 1."""
    body = encode_labelled_lines(make_examples(LINES))
    found = []
    with run_server() as port:
        for _ in range(4):
            began = time.perf_counter()
            assert post(port, "/v1/models/m/learn", body, "application/x-ndjson")["examples"] == LINES
            found.append((time.perf_counter() - began) * 100_000 / LINES)
    found = found[1:]  # the first run adds new names
    return Limit(title, found[0], found[-1], statistics.median(found), min(found), max(found), 1.0, "s")


def measure_busy_predictions(title: str, asks: list[bytes]) -> Limit:
    part = encode_labelled_lines(make_examples(5_000))
    with run_server() as port:
        post(port, "/v1/models/m/learn", part, "application/x-ndjson")
        idle = [measure_load(port, asks, clients=2, pause=0.002).p99 for _ in range(3)]
        learner = subprocess.Popen([sys.executable, "-c", HALF, str(port)], stdin=subprocess.PIPE)
        try:
            assert learner.stdin is not None
            learner.stdin.write(part)
            learner.stdin.close()
            time.sleep(1)
            busy = [measure_load(port, asks, clients=2, pause=0.002).p99 for _ in range(3)]
            assert learner.poll() is None
        finally:
            learner.kill()
            learner.wait()
    ms = sorted(1000 * p for p in busy)
    return Limit(title, statistics.median(idle), statistics.median(busy), ms[1], ms[0], ms[2], 10.0, "ms")


def compare_with_vw(title: str, some: list[dict[str, float]], asks: list[bytes]) -> Row:
    lines = [("| " + " ".join(f"{n}:{v}" for n, v in x.items()) + "\n").encode() for x in some]
    with run_vw_daemon() as theirs, run_server() as port:
        post(port, "/v1/models/m/learn", encode_labelled_lines(make_examples(2000)), "application/x-ndjson")
        return compare_values(
            title,
            lambda: 1 / measure_load(port, asks, clients=1).requests,
            lambda: measure_vw_latency(theirs, lines),
            0.0,
        )


@contextlib.contextmanager
def run_vw_daemon() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ("--daemon", "--foreground", "--port", str(port), "--num_children", "1", "--quiet")
    nothing = subprocess.DEVNULL
    child = subprocess.Popen(
        [sys.executable, "-c", VW, *options], stdout=nothing, stderr=nothing, start_new_session=True
    )
    try:
        time.sleep(3)  # a connection to test it would use its only child
        yield port
    finally:
        os.killpg(child.pid, signal.SIGKILL)  # it has children
        child.wait()


def measure_vw_latency(port: int, lines: list[bytes]) -> float:
    """Return the seconds for a prediction, with one request after another."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as line, line.makefile("rb") as answers:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        began, count = time.perf_counter(), 0
        while time.perf_counter() - began < SECONDS:
            line.sendall(lines[count % len(lines)])
            assert answers.readline()
            count += 1
        return (time.perf_counter() - began) / count
