"""The protocol of the server: predict, learn, late labels, retries, champions and challengers."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from novikoff import Kesler, Perceptron, save, verify
from novikoff.certificates.certificate import Certificate
from novikoff.model_file import to_bytes
from novikoff.server.models.certificates import build_matrix
from tests.helpers.server.process import NDJSON, ForkServer, Server, run_server
from tests.helpers.server.traffic import download_model, draw_examples, learn_stream


def test_the_server_predicts_and_learns_as_the_library(server: Server, tmp_path: Path) -> None:
    assert server.make()["ledger"]["examples"] == 0
    assert server.predict({"n1": 1.0})["label"] is None
    reference = Perceptron()
    for x, y in draw_examples(30):
        before = reference.predict_one(x) if reference.__sklearn_is_fitted__() else None
        said = server.predict(x)
        assert (said["label"], said["score"]) == (before, reference.score_one(x) if before else 0.0)
        mistakes = reference.ledger_.mistakes if before else 0
        reference.learn_one(x, y)
        answer = {"status": "learned", "examples": 1, "mistakes": reference.ledger_.mistakes - mistakes}
        assert server.learn(x, y)[1] == {**answer, "updates": answer["mistakes"]}
    assert to_bytes(download_model(server, tmp_path)) == to_bytes(reference)
    _, ledger = server.ask("GET", "/v1/models/m/ledger")
    seen = reference.ledger_
    assert (ledger["examples"], ledger["mistakes"], ledger["updates"]) == (30, seen.mistakes, seen.updates)


@pytest.mark.parametrize("learner", ["perceptron", "sgd", "kesler"])
def test_lines_are_learned_as_single_examples_are(server: Server, tmp_path: Path, learner: str) -> None:
    server.make("one", learner)
    server.make("many", learner)
    stream = draw_examples(60)
    for x, y in stream:
        assert server.learn(x, y, "one")[0] == 200
    status, said = server.lines(stream, "many")
    assert (status, said["examples"], said["refused"]) == (200, 60, {})
    one, many = (server.ask("GET", f"/v1/models/{name}/download")[1] for name in ("one", "many"))
    assert one == many


def test_lines_and_lists_are_predicted(server: Server) -> None:
    server.make()
    server.lines(draw_examples(50))
    asked = [x for x, _ in draw_examples(20, seed=1)]
    single = [server.predict(x) for x in asked]
    _, said = server.ask("POST", "/v1/models/m/predict", {"examples": [{"features": x} for x in asked], "keep": False})
    body = b"".join(json.dumps({"features": x}).encode() + b"\n" for x in asked)
    status, lines = server.ask("POST", "/v1/models/m/predict?keep=true", body, NDJSON)
    assert status == 200
    streamed = [json.loads(line) for line in lines.splitlines()]
    for mine, listed, line in zip(single, said["predictions"], streamed, strict=True):
        assert (mine["label"], mine["score"]) == (listed["label"], listed["score"]) == (line["label"], line["score"])
        assert listed["id"] is None
        assert line["id"] != mine["id"]
    assert server.ask("POST", "/v1/models/m/learn", {"id": streamed[0]["id"], "label": "spam"})[0] == 200


def test_lines_that_arrive_while_they_are_answered_are_not_lost(server: Server) -> None:
    server.make("slow")

    def ask(path: str, lines: list[bytes], accept: str) -> list[Any]:
        def send_slowly() -> Iterator[bytes]:
            for line in lines:
                yield line
                time.sleep(0.005)

        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        with contextlib.closing(connection):
            connection.request("POST", path, send_slowly(), NDJSON | {"Accept": accept})
            return [json.loads(line) for line in connection.getresponse().read().splitlines()]

    examples = [b'{"features": {"a%d": 1}, "label": %d}\n' % (k, k % 2) for k in range(20)]
    for accept in ("application/x-ndjson", "application/json"):
        assert ask("/v1/models/slow/learn", examples, accept)[-1]["examples"] == 20
    examples = [b'{"features": {"a%d": 1}}\n' % k for k in range(20)]
    assert len(ask("/v1/models/slow/predict?keep=false", examples, "application/x-ndjson")) == 20


def test_late_labels_are_learned(fork_server: ForkServer, tmp_path: Path) -> None:
    with run_server(fork_server, tmp_path / "data", "--max-pending", "3") as server:
        server.make()
        ids = [server.predict({"a": float(k)})["id"] for k in range(3)]
        for k in (2, 0):  # out of order: learned in the order of arrival
            assert server.ask("POST", "/v1/models/m/learn", {"id": ids[k], "label": "xy"[k > 1]})[1]["examples"] == 1
        again = server.ask("POST", "/v1/models/m/learn", {"id": ids[2], "label": "y"})
        assert (again[0], again[1]["status"], again[1]["examples"]) == (200, "already learned", 0)
        assert server.ask("POST", "/v1/models/m/learn", {"id": ids[2], "label": "x"})[0] == 409
        for unknown in ("never", ids[0][:-1] + ("A" if ids[0][-1] != "A" else "B"), "", "é" * 30):
            assert server.ask("POST", "/v1/models/m/learn", {"id": unknown, "label": "x"})[0] == 404
        server.make("other")
        assert server.ask("POST", "/v1/models/other/learn", {"id": ids[1], "label": "x"})[0] == 404
        for k in range(4):  # more than may wait
            server.predict({"b": float(k)})
        assert _wait_until(lambda: server.ask("POST", "/v1/models/m/learn", {"id": ids[1], "label": "x"})[0] == 410)
        reference = learn_stream([({"a": 2.0}, "y"), ({"a": 0.0}, "x")])
        assert to_bytes(download_model(server, tmp_path)) == to_bytes(reference)
        counts = server.ask("GET", "/v1/models/m/ledger")[1]["pending"]
        assert (counts["labelled"], counts["already_labelled"], counts["changed_labels"]) == (2, 1, 1)
        assert counts["unknown"] == 4
        assert counts["too_late"] >= 1
        assert counts["waiting"] == 3


def test_late_labels_survive_a_crash(fork_server: ForkServer, tmp_path: Path) -> None:
    with run_server(fork_server, tmp_path / "data") as server:
        server.make()
        first, second = (server.predict({"a": v})["id"] for v in (1.0, 2.0))
        server.ask("POST", "/v1/models/m/learn", {"id": first, "label": "x"})
        server.learn({"b": 1.0}, "y")  # its commit comes after that of the predictions
        server.kill()
    with run_server(fork_server, tmp_path / "data") as server:
        assert server.ask("POST", "/v1/models/m/learn", {"id": first, "label": "x"})[1]["status"] == "already learned"
        assert server.ask("POST", "/v1/models/m/learn", {"id": first, "label": "y"})[0] == 409
        assert server.ask("POST", "/v1/models/m/learn", {"id": second, "label": "y"})[1]["examples"] == 1


def test_a_retried_learn_is_applied_once(server: Server, fork_server: ForkServer) -> None:
    server.make()
    for _ in range(3):
        assert server.learn({"a": 1.0}, "x", key="k1")[0] == 200
    assert server.learn({"a": 2.0}, "x", key="k1")[0] == 422
    assert server.learn({"a": 2.0}, "x", key="k2")[1]["examples"] == 1
    server.kill()
    with run_server(fork_server, server.folder) as again:
        assert again.learn({"a": 1.0}, "x", key="k1")[1]["status"] == "already learned"
        assert again.ask("GET", "/v1/models/m/ledger")[1]["examples"] == 2
        assert again.learn({"a": 1.0}, "x", key="")[0] == 400


def test_a_repeated_stream_resumes_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.make()
    stream = draw_examples(400)
    body = b"".join(json.dumps({"features": x, "label": y}).encode() + b"\n" for x, y in stream)
    head = "POST /v1/models/m/learn HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
    head += f"Idempotency-Key: s1\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as line:
        line.sendall(head.encode() + body[: len(body) // 2])
        assert _wait_until(lambda: server.ask("GET", "/v1/models/m/ledger")[1]["examples"] > 50)
    half = server.ask("GET", "/v1/models/m/ledger")[1]["examples"]
    assert half < 400
    status, said = server.lines(stream, **{"Idempotency-Key": "s1"})
    assert (status, said["examples"]) == (200, 400 - half)
    assert to_bytes(download_model(server, tmp_path)) == to_bytes(learn_stream(stream))
    assert server.lines(stream, **{"Idempotency-Key": "s1"})[1]["status"] == "already learned"
    assert server.lines(stream[::-1], **{"Idempotency-Key": "s1"})[0] == 422
    assert server.lines(stream[:10], **{"Idempotency-Key": "s1"})[0] == 422


def test_invalid_lines_are_refused(server: Server, tmp_path: Path) -> None:
    server.make()
    good = b'{"features": {"a": 1}, "label": "x"}\n'
    bad = [b"{", b'{"features": {"a": "1"}, "label": "x"}', b'{"features": {"a": 1}}', b'{"label": "x"}', b"\xff\xfe",
           b'{"features": {"a": 1e400}, "label": "x"}', b'{"features": {"a": NaN}, "label": 1}', b"[" * 5000,
           b'{"features": {"a": 1}, "label": 0.5}', b'{"features": {}, "label": "x", "more": 1}', b"null"]  # fmt: skip
    for line in bad:
        status, said = server.ask("POST", "/v1/models/m/learn", good + line + b"\n" + good, NDJSON)
        assert status in (400, 422), (line, said)
        assert "Line 2" in said["error"]
        assert said["learned"] == 1
    status, said = server.ask(
        "POST", "/v1/models/m/learn?bad_lines=skip", b"\n".join([good.strip(), *bad, b""]), NDJSON
    )
    assert (status, said["examples"], sum(said["refused"].values())) == (200, 1, len(bad))
    assert server.ask("GET", "/v1/models/m/ledger")[1]["examples"] == len(bad) + 1
    # Examples that the learner refuses are skipped and reported.
    status, said = server.lines([({"a": 1.0}, y) for y in ("x", "y", "third", "x")])
    assert (status, said["learned"]) == (422, 3)
    assert "third" in said["error"]
    status, said = server.learn({"a": 1.0}, "fourth")
    assert status == 422


def test_a_challenger_is_trained_compared_and_promoted(server: Server, fork_server: ForkServer, tmp_path: Path) -> None:
    server.make("old")
    stream = draw_examples(60)
    server.lines(stream[:20], "old")
    server.make("new", "sgd", challenges="old")
    server.lines(stream[20:40], "old")
    assert server.learn({"a": 1.0}, "spam", "new")[0] == 409
    assert server.ask("DELETE", "/v1/models/old")[0] == 409
    _, ledger = server.ask("GET", "/v1/models/old/ledger")
    champion, challenger = ledger["stream"]
    assert (champion["examples"], challenger["examples"]) == (40, 20)
    before, after = learn_stream(stream[:20]), learn_stream(stream[:40])
    assert challenger["since_joined"]["champion_mistakes"] == after.ledger_.mistakes - before.ledger_.mistakes
    assert challenger["since_joined"]["mistakes"] == challenger["mistakes"]
    assert server.ask("POST", "/v1/models/new/promote")[1]["role"] == "champion"
    server.lines(stream[40:], "new")
    assert server.learn({"a": 1.0}, "spam", "old")[0] == 409
    server.kill()
    with run_server(fork_server, server.folder) as again:
        _, models = again.ask("GET", "/v1/models")
        assert {m["name"]: m["role"] for m in models["models"]} == {"old": "challenger", "new": "champion"}
        assert to_bytes(download_model(again, tmp_path, "old")) == to_bytes(learn_stream(stream))
        from novikoff import SGD

        assert to_bytes(download_model(again, tmp_path, "new")) == to_bytes(learn_stream(stream[20:], SGD()))
        assert again.ask("DELETE", "/v1/models/old")[0] == 204
        assert again.ask("DELETE", "/v1/models/new")[0] == 204
        assert again.ask("GET", "/v1/models")[1] == {"models": []}
        assert list((again.folder / "models").iterdir()) == []


def test_models_are_uploaded_and_downloaded(server: Server, fork_server: ForkServer, tmp_path: Path) -> None:
    stream = draw_examples(80)
    save(learn_stream(stream[:40], Kesler()), tmp_path / "k.model")
    content = (tmp_path / "k.model").read_bytes()
    file = {"Content-Type": "application/octet-stream"}
    status, said = server.ask("POST", "/v1/models?name=k", content, file)
    assert (status, said["ledger"]["examples"]) == (201, 40)
    for name in ("k", "..", "a/b", "", "x" * 65):
        assert server.ask("POST", f"/v1/models?name={name}", content, file)[0] in (409, 422)
    assert server.ask("POST", "/v1/models?name=z", content[:-1] + b"?", file)[0] == 422
    server.lines(stream[40:], "k")
    server.kill()
    with run_server(fork_server, server.folder) as again:
        assert to_bytes(download_model(again, tmp_path, "k")) == to_bytes(learn_stream(stream, Kesler()))
        assert again.ask("GET", "/v1/models/k/certificate")[0] == 422  # its past is not in the journal


def test_events_state_how_far_a_model_is_certified(server: Server, tmp_path: Path) -> None:
    """States: not yet, with a bound, without a theorem, and not possible (an uploaded model)."""

    def certificates() -> dict[str, Any]:
        time.sleep(1.2)  # a picture is kept for a second
        line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        line.request("GET", "/v1/events")
        answer = line.getresponse()
        answer.readline()
        live = json.loads(answer.readline().removeprefix(b"data: "))
        answer.close()
        line.close()
        return {model["name"]: model["certificate"] for model in live["models"]}

    stream, own = draw_examples(40), {"p": "perceptron", "a": "auto", "none": "arow"}
    for name, learner in own.items():
        assert server.ask("POST", "/v1/models", {"name": name, "learner": learner})[0] == 201
        server.lines(stream, name)
    save(learn_stream(stream), tmp_path / "up.model")
    file = {"Content-Type": "application/octet-stream"}
    assert server.ask("POST", "/v1/models?name=up", (tmp_path / "up.model").read_bytes(), file)[0] == 201
    before = certificates()
    assert [before[name] for name in own] == [None, None, None]
    assert before["up"]["bound"] is None
    assert "uploaded as a file" in before["up"]["reason"]
    status, problem = server.ask("GET", "/v1/models/up/certificate")
    assert status == 422
    assert before["up"]["reason"] in problem["error"]
    documents = {name: server.ask("GET", f"/v1/models/{name}/certificate")[1] for name in own}
    after = certificates()
    assert after["up"] == before["up"]
    for name, document in documents.items():
        state, best = after[name], Certificate(document).headline
        assert state["examples"] == 40
        assert (state["bound"] is None) == (best is None) == (name == "none")
        assert (state["reason"] is None) == (best is not None)
        if best is not None:
            assert state["bound"] == {key: best[key] for key in ("bound", "counts", "any_order", "statement")}
            assert state["bound"]["any_order"] == (name == "p")
            history = server.ask("GET", f"/v1/models/{name}/history")[1]["points"]
            assert {point["bound"] for point in history} == {best["bound"]}
    server.ask("DELETE", "/v1/models/p")
    assert server.ask("POST", "/v1/models", {"name": "p", "learner": "perceptron"})[0] == 201
    assert certificates()["p"] is None


def test_certificates_can_be_verified(server: Server) -> None:
    server.make()
    assert server.ask("GET", "/v1/models/m/certificate")[0] == 409
    stream = draw_examples(100)
    server.lines(stream)
    status, certificate = server.ask("GET", "/v1/models/m/certificate")
    assert status == 200
    assert certificate["observed"]["mistakes"] == learn_stream(stream).ledger_.mistakes
    shown = [b["bound"] for b in certificate["bounds"] if "bound" in b]
    assert shown
    assert min(shown) >= certificate["observed"]["mistakes"]
    lines = map(json.loads, server.ask("GET", "/v1/models/m/examples")[1].splitlines())
    X, y = build_matrix((line["features"], line["label"]) for line in lines)
    assert verify(certificate, X, y) == []
    certificate["observed"]["mistakes"] -= 1
    assert verify(certificate, X, y) != []


def test_status_metrics_and_inspection_are_served(server: Server) -> None:
    server.make()
    server.lines(draw_examples(100))
    assert server.ask("GET", "/healthz") == (200, b"alive\n")
    assert server.ask("GET", "/readyz")[0] == 200
    _, text = server.ask("GET", "/metrics")
    assert b'novikoff_examples_total{model="m"} 100' in text
    _, said = server.ask("GET", "/v1/models/m/inspect?top=3")
    assert len(said["weights"]) == 3
    _, said = server.ask("GET", "/v1/models/m/history")
    assert said["points"][-1]["examples"] == 100
    for path in ("/v1/models/none", "/v1/models/none/ledger", "/v1/nothing", "/v1/models/m/inspect/x"):
        status, said = server.ask("GET", path)
        assert status == 404
        assert said["error"].endswith(".")
    assert server.ask("PUT", "/v1/models")[0] == 405
    assert server.ask("GET", "/v1/models/m/inspect?top=many")[0] == 400


def test_invalid_creations_are_refused(server: Server) -> None:
    for body in ({"name": "../x"}, {"name": "a" * 65}, {"name": "x", "learner": "none"}, {"name": "x", "settings": 1},
                 {"name": "x", "settings": {"learning_rate": -1}}, {"name": "x", "settings": {"wings": 2}}, {}, [], "x",
                 None,
                 {"name": "x", "learner": "bagging"}, {"name": "x", "learner": "winnow"},
                 {"name": "x", "learner": "p-norm-perceptron"}, {"name": "x", "settings": {"learning_rate": "fast"}},
                 {"name": "x", "challenges": "unknown"},
                 {"name": "x", "learner": "kesler", "settings": {"estimator": 3}},
                 {"name": "x", "learner": "kesler", "settings": {"estimator": {"name": 3}}}):  # fmt: skip
        status, said = server.ask("POST", "/v1/models", json.dumps(body).encode())
        assert status in (400, 404, 422), (body, said)
        assert said["error"]
    assert server.ask("GET", "/v1/models")[1] == {"models": []}
    settings = {"estimator": {"name": "perceptron", "settings": {"learning_rate": 0.5}}}
    inner = server.make("x", "kesler", settings=settings)["settings"]["estimator"]
    assert (inner["name"], inner["settings"]["learning_rate"]) == ("perceptron", 0.5)
    assert server.ask("POST", "/v1/models", {"name": "x"})[0] == 409


def _wait_until(true: Any, seconds: float = 10.0) -> bool:
    import time

    until = time.monotonic() + seconds
    while not true():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def test_limits_of_features_and_classes_apply_to_new_examples_only(fork_server: ForkServer, tmp_path: Path) -> None:
    few = ("--max-model-features", "3", "--max-classes", "2")
    with run_server(fork_server, tmp_path / "data") as server:
        server.make("m", "kesler")
        server.lines([({f"f{k}": 1.0}, f"label {k % 4}") for k in range(20)])
        server.kill()
    with run_server(fork_server, tmp_path / "data", *few) as server:  # acknowledged examples are learned again
        assert server.ask("GET", "/v1/models/m/ledger")[1]["examples"] == 20
        assert server.learn({"new": 1.0}, "label 1")[1]["code"] == "too-many-model-features"
        server.make("n", "kesler")
        status, said = server.lines([({f"f{k % 3}": 1.0}, "ab"[k % 2]) for k in range(20)], "n")
        assert (status, said["examples"]) == (200, 20)
        assert server.lines([({"f0": 1.0}, "c")], "n")[1]["code"] == "too-many-labels"
        assert server.lines([({"f0": 1.0, "f4": 2.0}, "a")], "n", "?bad_lines=skip")[1]["refused"] == {
            "too-many-model-features": 1
        }
