"""Concurrent requests: the same key twice, roles that change, a label that is refused."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from novikoff import SGD, Perceptron, save
from novikoff.errors import InputError
from novikoff.model_file import to_bytes
from novikoff.server.models.served_model import ServedModel
from novikoff.server.models.validation import RequestError
from novikoff.server.ops.limits import Limits
from novikoff.server.storage.recovery import open_registry, prepare_folder
from tests.helpers.server.process import NDJSON, ForkServer, Server, run_server
from tests.helpers.server.traffic import call_concurrently, download_model, draw_examples, learn_stream


@pytest.fixture
def server(fork_server: ForkServer, tmp_path: Path) -> Iterator[Server]:
    with run_server(fork_server, tmp_path / "data") as one:
        one.make()
        yield one


def ask(server: Server, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, Any]:
    """Send a request on a new connection."""
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        line.request(method, path, body, headers)
        answer = line.getresponse()
        return answer.status, answer.read()
    finally:
        line.close()


def test_a_stream_sent_twice_concurrently_is_learned_once(server: Server) -> None:
    for k in range(8):
        body = b"".join(json.dumps({"features": x, "label": y}).encode() + b"\n" for x, y in draw_examples(10, seed=k))
        headers = {**NDJSON, "Idempotency-Key": f"k{k}"}
        for status, _ in call_concurrently(
            *[lambda b=body, h=headers: ask(server, "POST", "/v1/models/m/learn", b, **h)] * 3
        ):
            assert status == 200
    assert server.ask("GET", "/v1/models/m/ledger")[1]["examples"] == 80


def test_refused_examples_are_not_reported_as_learned(server: Server) -> None:
    server.lines([({"a": 1.0}, "x"), ({"a": -1.0}, "y")])
    for _ in range(2):
        assert server.learn({"a": 1.0}, "third", key="k")[0] == 422
    name = server.predict({"a": 1.0})["id"]
    for _ in range(2):
        assert server.ask("POST", "/v1/models/m/learn", {"id": name, "label": "third"})[0] == 422
    assert server.ask("POST", "/v1/models/m/learn", {"id": name, "label": "x"})[1]["status"] == "learned"
    counts = server.ask("GET", "/v1/models/m/ledger")[1]["pending"]
    assert (counts["labelled"], counts["waiting"]) == (1, 0)


def test_a_stream_has_one_champion_under_concurrent_promotion(server: Server, fork_server: ForkServer) -> None:
    json_type = {"Content-Type": "application/json"}
    for turn in range(6):
        name, first, second = f"c{turn}", f"a{turn}", f"b{turn}"
        server.make(name)
        server.make(first, challenges=name)
        body = json.dumps({"name": second, "challenges": name}).encode()
        call_concurrently(
            lambda n=first: ask(server, "POST", f"/v1/models/{n}/promote"),
            lambda b=body: ask(server, "POST", "/v1/models", b, **json_type),
            lambda n=name: ask(server, "DELETE", f"/v1/models/{n}"),
            lambda n=first: ask(server, "DELETE", f"/v1/models/{n}"),
        )
    status, before = server.ask("GET", "/v1/models")
    assert status == 200
    server.kill()
    with run_server(fork_server, server.folder) as again:
        assert again.ask("GET", "/v1/models")[1] == before
        assert "stream repaired" not in again.said
        for model in before["models"]:
            _, ledger = again.ask("GET", f"/v1/models/{model['name']}/ledger")
            assert [member["role"] for member in ledger["stream"]].count("champion") == 1


def test_concurrent_requests_are_learned_in_the_order_of_the_journal(server: Server, tmp_path: Path) -> None:
    """Clients send single examples, late labels and lines; both models equal those of a replay."""
    server.make("second", "sgd", challenges="m")
    json_type = {"Content-Type": "application/json"}

    def client(number: int) -> None:
        for turn, (x, y) in enumerate(draw_examples(40, seed=number)):
            body, headers = json.dumps({"features": x, "label": y}).encode(), json_type
            if turn % 4 == 1:
                headers = {**json_type, "Idempotency-Key": f"{number}-{turn}"}
            elif turn % 4 == 2:
                asked = ask(server, "POST", "/v1/models/m/predict", json.dumps({"features": x}).encode(), **json_type)
                body = json.dumps({"id": json.loads(asked[1])["id"], "label": y}).encode()
            elif turn % 4 == 3:
                body, headers = (body + b"\n") * 12, NDJSON
            status, content = ask(server, "POST", "/v1/models/m/learn", body, **headers)
            assert status == 200, content

    call_concurrently(*[lambda k=k: client(k) for k in range(8)])
    lines = [json.loads(line) for line in server.ask("GET", "/v1/models/m/examples")[1].splitlines()]
    assert len(lines) == 8 * (30 + 10 * 12)
    stream = [(line["features"], line["label"]) for line in lines]
    for name, learner in (("m", Perceptron()), ("second", SGD())):
        assert to_bytes(download_model(server, tmp_path, name)) == to_bytes(learn_stream(stream, learner))


def test_several_clients_can_read_the_examples(server: Server) -> None:
    server.lines(draw_examples(3000))
    for status, body in call_concurrently(*[lambda: ask(server, "GET", "/v1/models/m/examples")] * 4):
        assert (status, body.count(b"\n")) == (200, 3000)


def test_a_server_with_event_streams_stops_at_once(server: Server) -> None:
    watcher = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    watcher.request("GET", "/v1/events")
    answer = watcher.getresponse()
    assert b"models" in answer.readline()
    ended = threading.Timer(8.0, server.kill)
    ended.start()
    server.stop()
    assert ended.is_alive()
    ended.cancel()
    answer.close()
    watcher.close()
    assert "Traceback" not in server.log.read_text()


def test_a_cancelled_request_is_learned_once_and_frees_its_key(tmp_path: Path) -> None:
    prepare_folder(tmp_path)

    def build_body(label: str) -> bytes:
        return json.dumps({"features": {"a": 1.0}, "label": label}).encode()

    async def run() -> None:
        registry = open_registry(tmp_path, Limits())
        registry.start()
        served = await registry.create("m", Perceptron(), None)
        group = registry.streams[served.stream]
        cancelled = asyncio.create_task(group.learn_one(build_body("x"), "k"))
        await asyncio.sleep(0)
        assert list(group.in_flight_names) == ["k"]
        cancelled.cancel()
        assert (await group.learn_one(build_body("x"), "k")).status == "already learned"
        assert cancelled.cancelled()
        assert not group.in_flight_names
        assert (await group.learn_one(build_body("y"), None)).status == "learned"
        assert (served.position, served.ledger.examples) == (2, 2)
        refused = asyncio.create_task(group.learn_one(build_body("third"), "refused"))
        await asyncio.sleep(0)
        refused.cancel()
        with pytest.raises(RequestError, match="third"):
            await group.learn_one(build_body("third"), "refused")
        assert list(group.keys) == ["k"]
        await registry.stop()

    asyncio.run(run())


def test_no_bound_is_claimed_for_uploaded_models(server: Server, tmp_path: Path) -> None:
    stream = draw_examples(60)
    X = [[x.get(f"n{k}", 0.0) for k in range(40)] for x, _ in stream]
    save(Perceptron(passes=50).fit(X, [y for _, y in stream]), tmp_path / "much.model")
    file = (tmp_path / "much.model").read_bytes()
    status, _ = server.ask("POST", "/v1/models?name=much", file, {"Content-Type": "application/octet-stream"})
    assert status == 201
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    line.request("GET", "/v1/events")
    answer = line.getresponse()
    answer.readline()
    live = json.loads(answer.readline().removeprefix(b"data: "))
    answer.close()
    line.close()
    assert [model["mean_error_bound"] for model in live["models"] if model["name"] == "much"] == [None]
    assert server.predict({"3": 1.0}, "much")["label"] in ("spam", "ham")
    assert server.learn({"3": 1.0, "7": -1.0}, "spam", "much")[0] == 200


def test_the_list_of_recent_errors_is_bounded() -> None:
    served = ServedModel("m", Perceptron(), Limits(), created=0.0)
    served.learn(b'{"features":{"a":1},"label":"x"}\n{"features":{"a":-1},"label":"y"}')
    for _ in range(3000):
        served.learn(b'{"features":{"a":1},"label":"z"}')
    assert served.refused == 3000
    for _ in range(3000):
        served.learn(b'{"features":{"a":1},"label":"x"}')
    assert len(served.recent) <= 1001


def test_a_failed_model_does_not_stop_the_others(
    fork_server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with run_server(fork_server, tmp_path / "data") as server:
        server.make("one")
        server.make("two")
        for name in ("one", "two"):
            server.lines(draw_examples(20), name)
        server.kill()
    learn = ServedModel.learn

    def fails(self: ServedModel, body: bytes) -> Any:
        if self.name == "one":
            raise MemoryError
        return learn(self, body)

    monkeypatch.setattr(ServedModel, "learn", fails)
    registry = open_registry(tmp_path / "data", Limits())
    registry.journal.close()
    assert any("'one' was stopped" in sentence for sentence in registry.said)
    assert to_bytes(registry.models["two"].learner) == to_bytes(learn_stream(draw_examples(20)))
    monkeypatch.undo()
    registry = open_registry(tmp_path / "data", Limits())
    registry.journal.close()
    assert to_bytes(registry.models["one"].learner) == to_bytes(learn_stream(draw_examples(20)))


def test_the_journal_writer_responds_when_the_folder_is_moved(fork_server: ForkServer, tmp_path: Path) -> None:
    with run_server(fork_server, tmp_path / "data") as server:
        server.make()
        server.learn({"a": 1.0}, "x")
        (tmp_path / "data").rename(tmp_path / "elsewhere")
        assert server.learn({"a": 1.0}, "y")[0] in (200, 507)
        assert server.predict({"a": 1.0})["label"] == "x"
        (tmp_path / "elsewhere").rename(tmp_path / "data")


def test_limits_must_be_numbers() -> None:
    with pytest.raises(InputError, match="an integer"):
        Limits(body=-1)
