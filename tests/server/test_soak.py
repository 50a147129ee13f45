"""Ten minutes of mixed traffic at 80 % of capacity: no errors, stable memory, ledgers that add up."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.server.process import NDJSON, ForkServer, run_server

SECONDS = float(os.environ.get("NOVIKOFF_SOAK", "600"))
CAPACITY_SECONDS = SECONDS / 30
"""How long customers ask as fast as they can, to find the capacity."""
LOAD = 0.8
"""The share of it at which they ask then."""
PENDING = 2_000


class Customer(threading.Thread):
    """Client that learns, predicts, sends late labels and streams, and reads reports."""

    def __init__(self, port: int, name: str, until: float, seed: int, pause: float = 0.0) -> None:
        """`pause`: seconds from one request to the next; 0 for as soon as it is answered."""
        super().__init__()
        self.pause = pause
        self.port, self.model, self.until, self.rng = port, name, until, random.Random(seed)
        self.learned = self.asked = 0
        self.ids: list[str] = []
        self.problems: list[str] = []

    def run(self) -> None:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as line:
            next_at = time.monotonic()
            while time.monotonic() < self.until and not self.problems:
                self._send_one(line)
                next_at = max(next_at + self.pause, time.monotonic() - 1.0)
                time.sleep(max(0.0, next_at - time.monotonic()))

    def _send_one(self, line: http.client.HTTPConnection) -> None:
        how = self.rng.random()
        if how < 0.5:
            self.ids.append(self._ask(line, "predict", {"features": self._x()})["id"])
            self.ids = self.ids[-50:]
        elif how < 0.7:
            self._learn(line, {"features": self._x(), "label": self.rng.choice("ab")})
        elif how < 0.9 and self.ids:
            name = self.ids.pop(self.rng.randrange(len(self.ids)))
            self._learn(line, {"id": name, "label": self.rng.choice("ab")})
        elif how < 0.97:
            lines = (json.dumps({"features": self._x(), "label": self.rng.choice("ab")}) for _ in range(50))
            self._learn(line, "\n".join(lines).encode())
        else:
            self._ask(line, self.rng.choice(["ledger", "inspect", "history"]), None)

    def _learn(self, line: http.client.HTTPConnection, body: object) -> None:
        self.learned += self._ask(line, "learn", body)["examples"]

    def _ask(self, line: http.client.HTTPConnection, what: str, body: object) -> dict[str, Any]:
        self.asked += 1
        media = NDJSON if isinstance(body, bytes) else {"Content-Type": "application/json"}
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        method = "GET" if body is None else "POST"
        line.request(method, f"/v1/models/{self.model}/{what}", content, media if content else {})
        answer = line.getresponse()
        said = answer.read()
        if answer.status != 200 and not (answer.status == 409 and what == "inspect"):
            self.problems.append(f"{what}: {answer.status} {said!r}")
        found: dict[str, Any] = json.loads(said)
        return {"examples": 0, "id": "", **found}

    def _x(self) -> dict[str, float]:
        return {f"f{self.rng.randrange(500)}": self.rng.gauss(0, 1) for _ in range(10)}


def measure_resident(number: int) -> float:
    """Return the resident memory of a process in megabytes."""
    pages = int(Path(f"/proc/{number}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.slow
def test_mixed_traffic_keeps_memory_and_ledgers_stable(tmp_path: Path) -> None:
    fork_server = ForkServer()
    options = (
        "--checkpoint-examples",
        "5000",
        "--max-journal-bytes",
        "30000000",
        "--max-pending",
        str(PENDING),
    )
    with run_server(fork_server, tmp_path / "data", *options, "--max-idempotency-keys", "1000") as server:
        for name in ("one", "two"):
            server.make(name)
        server.make("three", "sgd", challenges="one")
        until = time.monotonic() + CAPACITY_SECONDS
        hurried = [Customer(server.port, ("one", "two")[k % 2], until, 10 + k) for k in range(4)]
        for customer in hurried:
            customer.start()
        for customer in hurried:
            customer.join()
        capacity = sum(customer.asked for customer in hurried) / CAPACITY_SECONDS
        until = time.monotonic() + SECONDS
        pause = 4 / (LOAD * capacity)
        paced = [Customer(server.port, ("one", "two")[k % 2], until, k, pause) for k in range(4)]
        for customer in paced:
            customer.start()
        customers = hurried + paced
        sizes = []
        while time.monotonic() < until:
            time.sleep(SECONDS / 60)
            sizes.append(measure_resident(server.number))
        for customer in customers:
            customer.join()
            assert customer.problems == []
        for name in ("one", "two"):
            learned = sum(customer.learned for customer in customers if customer.model == name)
            assert server.ask("GET", f"/v1/models/{name}/ledger")[1]["examples"] == learned > 0
        third, last = max(sizes[15:30]), max(sizes[45:])
        rate = sum(customer.asked for customer in paced) / SECONDS
        print(f"{rate:.0f} requests a second of {capacity:.0f}; {sizes[0]:.1f} MB at first, {sizes[-1]:.1f} MB at last")
        print(f"{sum(c.asked for c in customers):,} requests, {third:.0f} MB, later {last:.0f} MB")
        assert last < third * 1.05 + 3
    fork_server.close()
