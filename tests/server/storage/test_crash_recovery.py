"""kill -9 at any time: acknowledged examples are there once, and the weights equal those of an undisturbed run.

Three clients, each with a model of its own, send one request after another; one that was not answered is sent again
with its key when the server is back. So the order of each model's examples is known, whatever was interrupted.
"""

from __future__ import annotations

import asyncio
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
from novikoff.server.models.validation import RequestError
from novikoff.server.ops.limits import Limits
from novikoff.server.ops.maintenance import MaintenanceTask
from novikoff.server.storage import checkpoint, recovery
from novikoff.server.storage.journal import Journal
from tests.helpers.server.process import NDJSON, ForkServer, KillPoint, Server, ServerStartError, run_server

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


# --- Refused examples ---


def learn_key(server: Server, label: str, key: str = "k") -> tuple[int, Any]:
    status, said = server.learn({"a": 1.0}, label, key=key)
    return status, said.get("code", said.get("status"))


def learn_two_labels(server: Server) -> None:
    for label in "xy":
        assert server.learn({"a": 1.0}, label)[0] == 200


def kill_before(function: str) -> KillPoint:
    return "novikoff.server.storage.journal", f"Journal.{function}", 1, "before"


def test_the_key_of_a_refused_example_is_free_after_a_crash(fork_server: ForkServer, tmp_path: Path) -> None:
    """The server is killed after the example and its key are durable, and before the key is deleted."""
    with run_server(fork_server, tmp_path / "data", die=kill_before("forget_keys")) as server:
        server.make()
        learn_two_labels(server)
        assert learn_key(server, "x", key="learned") == (200, "learned")
        with contextlib.suppress(OSError, http.client.HTTPException):
            assert learn_key(server, "third") == (422, "not-learned")
        server.wait_until_ended()
    for _ in range(2):
        with run_server(fork_server, tmp_path / "data") as server:
            assert learn_key(server, "third") == (422, "not-learned")
            assert learn_key(server, "x", key="learned") == (200, "already learned")
            server.kill()
    with run_server(fork_server, tmp_path / "data") as server:
        assert learn_key(server, "y") == (200, "learned")
        server.kill()
    with run_server(fork_server, tmp_path / "data") as server:  # the replay refuses the entries with "third" again
        assert learn_key(server, "y") == (200, "already learned")
        assert server.ask("GET", "/v1/models/m/ledger")[1]["examples"] == 4


def test_a_refused_late_label_is_not_recorded_after_a_crash(fork_server: ForkServer, tmp_path: Path) -> None:
    with run_server(fork_server, tmp_path / "data", die=kill_before("remove_answers")) as server:
        server.make()
        learn_two_labels(server)
        names = [server.predict({"a": 2.0})["id"] for _ in range(3)]
        assert server.ask("POST", "/v1/models/m/learn", {"id": names[0], "label": "x"})[0] == 200
        lines = [{"id": names[1], "label": "y"}, {"id": names[2], "label": "third"}]
        body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        with contextlib.suppress(OSError, http.client.HTTPException):
            server.ask("POST", "/v1/models/m/learn", body, NDJSON)
        server.wait_until_ended()
    for status in ("learned", "already learned"):
        with run_server(fork_server, tmp_path / "data") as server:
            for name, label, expected in zip(names, "xyx", ("already learned", "already learned", status), strict=True):
                said = server.ask("POST", "/v1/models/m/learn", {"id": name, "label": label})
                assert (said[0], said[1]["status"]) == (200, expected)
            assert server.ask("GET", "/v1/models/m/ledger")[1]["examples"] == 5
            server.kill()


def test_an_example_that_a_promoted_challenger_refuses_stays_learned(fork_server: ForkServer, tmp_path: Path) -> None:
    """The replay must not ask the present champion about examples that an earlier champion accepted."""
    with run_server(fork_server, tmp_path / "data") as server:
        server.make("m", "kesler")
        server.make("challenger", "perceptron", challenges="m")
        learn_two_labels(server)
        assert learn_key(server, "third") == (200, "learned")
        assert server.ask("POST", "/v1/models/challenger/promote")[0] == 200
        server.kill()
    with run_server(fork_server, tmp_path / "data") as server:
        status, said = server.learn({"a": 1.0}, "third", name="challenger", key="k")
        assert (status, said["status"]) == (200, "already learned")


def test_an_example_that_only_a_challenger_learned_is_refused_again_after_a_crash(
    fork_server: ForkServer, tmp_path: Path
) -> None:
    with run_server(fork_server, tmp_path / "data", die=kill_before("forget_keys")) as server:
        server.make("m", "perceptron")
        server.make("challenger", "kesler", challenges="m")
        learn_two_labels(server)
        with contextlib.suppress(OSError, http.client.HTTPException):
            assert learn_key(server, "third") == (422, "not-learned")
        server.wait_until_ended()
    with run_server(fork_server, tmp_path / "data") as server:
        assert learn_key(server, "third") == (422, "not-learned")


def test_a_file_is_saved_only_after_the_keys_of_refused_examples_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay from that file would not see the refused example."""
    may_delete, forget_keys = threading.Event(), Journal.forget_keys

    def forget_later(journal: Journal, stream: int, keys: list[str]) -> None:
        may_delete.wait()
        forget_keys(journal, stream, keys)

    monkeypatch.setattr(Journal, "forget_keys", forget_later)
    recovery.prepare_folder(tmp_path)

    async def run() -> None:
        registry = recovery.open_registry(tmp_path, Limits())
        registry.start()
        served = await registry.create("m", Perceptron(), None)
        stream = registry.streams[served.stream]
        for label in "xy":
            await stream.learn_one(json.dumps({"features": {"a": 1.0}, "label": label}).encode(), None)
        with pytest.raises(RequestError):
            await stream.learn_one(b'{"features": {"a": 1.0}, "label": "third"}', "k")
        saved = asyncio.create_task(MaintenanceTask(registry).save(served))
        await asyncio.sleep(0.2)
        assert checkpoint.list_positions(tmp_path, served.id) == []
        may_delete.set()
        await saved
        assert checkpoint.list_positions(tmp_path, served.id) == [3]
        await registry.stop()

    asyncio.run(run())


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
