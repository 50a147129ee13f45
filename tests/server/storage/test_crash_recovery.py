"""kill -9 at any time: acknowledged examples are there once, and the weights equal those of an undisturbed run.

Three clients, each with a model of its own, send one request after another; one that was not answered is sent again
with its key when the server is back. So the order of each model's examples is known, whatever was interrupted.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import zstandard

from novikoff import SGD, Kesler, Perceptron
from novikoff.model_file import to_bytes
from tests.helpers.server.process import NDJSON, ForkServer, ServerStartError, run_server

LEARNERS = {"perceptron": Perceptron, "sgd": SGD, "kesler": Kesler}
OFTEN = ("--checkpoint-examples", "20", "--maintenance-interval-ms", "3")


class Client(threading.Thread):
    """Client that sends the next request until the server ends. Earlier requests are certainly learned."""

    def __init__(self, name: str, seed: int) -> None:
        super().__init__()
        self.name_of_model, self.rng = name, random.Random(seed)
        self.reference: Any = LEARNERS[name]()
        self.acknowledged = 0
        self.requests = 0
        self.port = 0
        self.next: tuple[list[Any], str] | None = None
        self.problem: str | None = None

    def again(self, port: int) -> Client:
        """Continue in a new thread, since a thread can run only once."""
        fresh = Client.__new__(Client)
        threading.Thread.__init__(fresh)
        for name in ("name_of_model", "rng", "reference", "acknowledged", "requests", "next", "problem"):
            setattr(fresh, name, getattr(self, name))
        fresh.port = port
        return fresh

    def run(self) -> None:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as line:
            self._send(line)

    def _send(self, line: http.client.HTTPConnection) -> None:
        while self.problem is None:
            if self.next is None:
                self.requests += 1
                count = self.rng.choice([1, 1, 1, 40])
                self.next = [self._example() for _ in range(count)], f"{self.name_of_model}-{self.requests}"
            examples, key = self.next
            try:
                line.request("POST", f"/v1/models/{self.name_of_model}/learn", *self._body(examples, key))
                answer = line.getresponse()
                said = answer.read()
            except (OSError, http.client.HTTPException):
                return
            if answer.status != 200:
                self.problem = f"{answer.status}: {said!r}"
            self.acknowledged += len(examples)
            for x, y in examples:
                self.reference.learn_one(x, y)
            self.next = None

    def _example(self) -> tuple[dict[str, float], str]:
        x = {f"f{self.rng.randrange(200)}": self.rng.gauss(0, 1) for _ in range(8)}
        return x, self.rng.choice("ab" if self.name_of_model != "kesler" else "abcd")

    def _body(self, examples: list[Any], key: str) -> tuple[bytes, dict[str, str]]:
        lines = [json.dumps({"features": x, "label": y}).encode() for x, y in examples]
        if len(lines) == 1:
            return lines[0], {"Content-Type": "application/json", "Idempotency-Key": key}
        return b"\n".join(lines), {**NDJSON, "Idempotency-Key": key}


def crash_repeatedly(fork_server: ForkServer, folder: Path, times: int, *options: str) -> list[Client]:
    rng = random.Random(times)
    with run_server(fork_server, folder, *OFTEN, *options) as server:
        for name in LEARNERS:
            server.make(name, name)
        server.stop()
    clients = [Client(name, seed) for seed, name in enumerate(LEARNERS)]
    for turn in range(times):
        with run_server(fork_server, folder, *OFTEN, *options) as server:
            clients = [client.again(server.port) for client in clients]
            for client in clients:
                client.start()
            time.sleep(rng.expovariate(1 / 0.04))
            server.kill()
            for client in clients:
                client.join()
                assert client.problem is None, client.problem
        if turn % 20 == 19:
            compare(fork_server, folder, clients, *options)
    compare(fork_server, folder, clients, *options)
    return clients


def compare(fork_server: ForkServer, folder: Path, clients: list[Client], *options: str) -> None:
    """After all pending requests are repeated, each model equals its reference, byte for byte."""
    with run_server(fork_server, folder, *OFTEN, *options) as server:
        for client in clients:
            if client.next is not None:
                examples, key = client.next
                assert (
                    server.ask("POST", f"/v1/models/{client.name_of_model}/learn", *client._body(examples, key))[0]
                    == 200
                )
                for x, y in examples:
                    client.reference.learn_one(x, y)
                client.next = None
            status, content = server.ask("GET", f"/v1/models/{client.name_of_model}/download")
            assert status == 200
            assert content == to_bytes(client.reference)
        server.kill()


@pytest.mark.parametrize("kills", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_kills_lose_no_acknowledged_example(kills: int, fork_server: ForkServer, tmp_path: Path) -> None:
    clients = crash_repeatedly(fork_server, tmp_path / "data", kills)
    acknowledged = sum(client.acknowledged for client in clients)
    assert acknowledged > 1000 * kills // 150
    for client in clients:
        assert to_bytes(replay_journal(tmp_path / "data", client.name_of_model)) == to_bytes(client.reference)
    print(f"{kills:,} kills, {acknowledged:,} examples acknowledged, none lost")


def test_60_kills_during_compaction_lose_nothing(fork_server: ForkServer, tmp_path: Path) -> None:
    crash_repeatedly(fork_server, tmp_path / "data", 60, "--max-journal-bytes", "1")
    with sqlite3.connect(tmp_path / "data" / "journal.sqlite") as on:
        assert on.execute("SELECT min(first) FROM streams").fetchone()[0] > 1


MOMENTS = [
    ("novikoff.server.storage.checkpoint", "write_atomically"),
    ("novikoff.server.storage.checkpoint", "write"),
    ("novikoff.server.storage.checkpoint", "remove"),
    ("novikoff.server.storage.journal", "Journal.add"),
    ("novikoff.server.storage.journal", "Journal.set_model"),
    ("novikoff.server.storage.journal", "Journal.drop"),
    ("novikoff.server.storage.journal", "Journal.release_pages"),
    ("os", "replace"),
    ("os", "fsync"),
]


def test_kills_at_every_step_of_checkpoints_and_compaction_lose_nothing(
    fork_server: ForkServer, tmp_path: Path
) -> None:
    """The kills are not random: the server ends itself before and after each of these steps."""
    folder, options, rng = tmp_path / "data", (*OFTEN, "--max-journal-bytes", "1"), random.Random(5)
    with run_server(fork_server, folder, *options) as server:
        for name in LEARNERS:
            server.make(name, name)
        server.stop()
    clients = [Client(name, seed) for seed, name in enumerate(LEARNERS)]
    for module, function in MOMENTS:
        for when in ("before", "after"):
            die = (module, function, rng.randrange(1, 5), when)
            # Housekeeping may reach the step before the server says its address: that is a kill like the others.
            with contextlib.suppress(ServerStartError), run_server(fork_server, folder, *options, die=die) as server:
                clients = [client.again(server.port) for client in clients]
                for client in clients:
                    client.start()
                for client in clients:
                    client.join(60)
                    assert not client.is_alive(), f"{function} was not called"
                    assert client.problem is None, client.problem
                server.kill()
            compare(fork_server, folder, clients, *options)


def replay_journal(folder: Path, name: str) -> Any:
    """Return the models that follow from the journal alone, by a script that knows only its tables."""
    with sqlite3.connect(folder / "journal.sqlite") as on:
        stream, learner = on.execute("SELECT stream, learner FROM models WHERE name = ?", (name,)).fetchone()
        model = LEARNERS[learner]()
        for (body,) in on.execute("SELECT body FROM entries WHERE stream = ? ORDER BY position", (stream,)):
            text = zstandard.ZstdDecompressor().decompress(body) if body.startswith(b"\x28\xb5\x2f\xfd") else body
            for line in text.splitlines():
                example = json.loads(line)
                model.learn_one(example["features"], example["label"])
    return model
