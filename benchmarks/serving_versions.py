"""Latencies of the server of this checkout beside another one: `python -m benchmarks.serving_versions OTHER/src`.

Both servers run at once, and rounds of requests alternate between them, so that other work on the machine slows down
both. Ratios are medians over the rounds; below 1 this checkout is faster. CPU time is that of the server alone.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.serving import RequestLoop, encode_labelled_lines, encode_request, make_examples, post

THIS_SOURCE = Path(__file__).parents[1] / "src"


class Server(NamedTuple):
    port: int
    pid: int

    def cpu_seconds(self) -> float:
        tasks = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


class Round(NamedTuple):
    """Seconds a request."""

    p50: float
    p99: float
    cpu: float


@contextlib.contextmanager
def serve(source: Path, learner: str) -> Iterator[Server]:
    """Start the server of a source folder, with one model that has learned 2,000 examples."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        variables = os.environ | {"PYTHONPATH": str(source.resolve())}
        serve_command = [sys.executable, "-m", "novikoff", "serve"]
        usage = subprocess.run([*serve_command, "--help"], capture_output=True, text=True, env=variables, check=True)
        option = "--data-dir" if "--data-dir" in usage.stdout else "--data"  # the name in older versions
        command = [*serve_command, option, folder, "--port", "0"]
        child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=variables)
        try:
            assert child.stderr is not None
            found = next(filter(None, (re.search(r"http://127.0.0.1:(\d+)", line) for line in child.stderr)))
            threading.Thread(target=child.stderr.read, daemon=True).start()
            port = int(found[1])
            post(port, "/v1/models", json.dumps({"name": "m", "learner": learner}).encode(), "application/json")
            post(port, "/v1/models/m/learn", encode_labelled_lines(make_examples(2000)), "application/x-ndjson")
            yield Server(port, child.pid)
        finally:
            child.terminate()
            child.wait()


class CountingRequestLoop(RequestLoop):
    """A client that sends `count` requests, then closes its connection."""

    def __init__(self, requests: list[bytes], times: list[float], count: int) -> None:
        super().__init__(requests, 0.0, times)
        self.left, self.done = count, asyncio.get_running_loop().create_future()

    def send_request(self) -> None:
        self.left -= 1
        if self.left >= 0:
            super().send_request()
        else:
            self.transport.close()
            self.done.set_result(None)


def measure_round(server: Server, requests: list[bytes], clients: int, count: int) -> Round:
    times: list[float] = []

    async def run_clients() -> None:
        loop = asyncio.get_running_loop()
        loops = [CountingRequestLoop(requests[37 * k :] + requests, times, count // clients) for k in range(clients)]
        for client in loops:
            await loop.create_connection(lambda client=client: client, "127.0.0.1", server.port)  # type: ignore[misc]
        await asyncio.gather(*(client.done for client in loops))

    import uvloop

    before = server.cpu_seconds()
    uvloop.run(run_clients())
    cpu = server.cpu_seconds() - before
    times.sort()
    return Round(statistics.median(times), times[int(0.99 * len(times))], cpu / len(times))


def compare_times(
    title: str, servers: list[Server], requests: list[bytes], clients: int, rounds: int, count: int
) -> str:
    """Return one line of the table: medians of this and the other server in µs, and the ratio."""
    found: list[list[Round]] = [[], []]
    for number in range(-1, rounds):  # the first round warms up
        for which in (0, 1) if number % 2 else (1, 0):
            measured = measure_round(servers[which], requests, clients, count)
            if number >= 0:
                found[which].append(measured)
    cells = []
    for field in range(3):
        this, other = ([1e6 * one[field] for one in side] for side in found)
        ratio = statistics.median(a / b for a, b in zip(this, other, strict=True))
        cells.append(f"{statistics.median(this):8.0f} {statistics.median(other):8.0f} {ratio:6.3f}")
    return f"{title:22} | " + " | ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, help="the source folder of the other checkout")
    parser.add_argument("--learner", default="perceptron")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--requests", type=int, default=2000, help="in each round")
    options = parser.parse_args()
    asked = {
        "predict": [
            encode_request("/v1/models/m/predict", json.dumps({"features": x}).encode()) for x in make_examples(1000)
        ],
        "learn": [
            encode_request("/v1/models/m/learn", line)
            for line in encode_labelled_lines(make_examples(1000)).splitlines()
        ],
    }
    print(f"{'µs: this, other, ratio':22} | {'p50':24} | {'p99':24} | {'CPU':24}")
    with serve(THIS_SOURCE, options.learner) as this, serve(options.other, options.learner) as other:
        for clients in (1, 16):
            for name, requests in asked.items():
                title = f"{name}, {clients} client{'s' * (clients > 1)}"
                print(
                    compare_times(title, [this, other], requests, clients, options.rounds, options.requests), flush=True
                )


if __name__ == "__main__":
    main()
