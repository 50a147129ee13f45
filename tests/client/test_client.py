"""The Python client against a small server that does not answer, is busy, or closes the connection."""

from __future__ import annotations

import inspect
import json
import pickle
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from novikoff import Client, InputError, ServiceError
from novikoff.client import client, transport

MODEL = {"name": "fruit", "learner": "perceptron", "role": "champion"}


class Service(ThreadingHTTPServer):
    """Server that learns once for each key; `trouble` lists a failure for each request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.trouble: list[str | tuple[int, dict[str, str]] | None] = []
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.examples: list[Any] = []
        self.keys: dict[str, dict[str, Any]] = {}
        self.connections = 0
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that closed their connection."""

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
        path, _, query = path.partition("?")
        *_, what = path.split("/")
        lines = (
            [json.loads(line) for line in body.splitlines()] if "ndjson" in headers.get("content-type", "") else None
        )
        if what == "learn":
            return self.learn(headers["idempotency-key"], lines or [json.loads(body)])
        if what == "predict":
            kept = "keep=false" not in query and (lines is not None or json.loads(body)["keep"])
            wanted = query.split("&") if lines is not None else [f"{k}=true" for k in json.loads(body)]
            more: dict[str, Any] = {}
            if "probabilities=true" in wanted:
                more["probabilities"] = [{"label": "apple", "probability": 0.25}, {"label": 7, "probability": 0.75}]
            if "explain=true" in wanted:
                more["explanation"] = {"bias": 1.0, "contributions": []}
            found = [
                {"id": f"p{k}" if kept else None, "label": "banana", "score": k} | more
                for k in range(len(lines or [1]))
            ]
            return 200, found if lines is not None else found[0]
        plain = {
            "examples": self.examples,
            "download": b"\x00model",
            "ledger": {"examples": len(self.examples), "mistakes": 0, "updates": 0},
        }
        if what in plain:
            return 200, plain[what]
        if method == "DELETE":
            return 204, b""
        if method == "GET" and path == "/v1/models":
            return 200, {"models": [MODEL]}
        return (201 if path == "/v1/models" else 200), {**MODEL, "query": query}

    def learn(self, key: str, lines: list[Any]) -> tuple[int, Any]:
        with self.lock:
            if key not in self.keys:
                if any(line["label"] == "full" for line in lines):
                    return 507, {"error": "The disk is full.", "code": "disk-full", "learned": 1}
                self.examples += lines
                self.keys[key] = {"status": "learned", "examples": len(lines), "mistakes": 1, "updates": 1}
                if len(lines) > 1:
                    self.keys[key]["refused"] = {"odd": 2}
            return 200, self.keys[key]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Service

    def setup(self) -> None:
        super().setup()
        with self.server.lock:
            self.server.connections += 1

    def log_message(self, *_: Any) -> None:
        pass

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.server.lock:
            self.server.asked.append((self.command, self.path, headers, body))
            trouble = self.server.trouble.pop(0) if self.server.trouble else None
        if trouble == "leave before":
            self.close_connection = True
            return
        if isinstance(trouble, tuple):
            status, more = trouble
            self.reply(status, {"error": "There is trouble.", "code": "trouble"}, **more)
            return
        status, answer = self.server.answer(self.command, self.path, headers, body)
        if trouble == "leave after":
            self.close_connection = True
        elif trouble == "nonsense":
            self.reply(200, b"<html>")
        elif trouble == "short":
            self.reply(200, b"0123456789", **{"Content-Length": "20"})
            self.close_connection = True
        else:
            self.reply(status, answer)
            if trouble == "close then":  # as an idle connection is closed
                self.close_connection = True

    do_GET = do_POST = do_DELETE = handle_any  # noqa: N815

    def reply(self, status: int, answer: Any, **more: str) -> None:
        if isinstance(answer, list):
            answer = b"".join(json.dumps(line).encode() + b"\n" for line in answer)
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(content))} | more).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the delays of the client between its attempts."""
    seen: list[float] = []
    monkeypatch.setattr(transport, "time", type("Clock", (), {"sleep": seen.append, "time": time.time}))
    return seen


def test_the_docstring_example_runs(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    code = textwrap.dedent(inspect.getdoc(Client).partition("Example::")[2])  # type: ignore[union-attr]
    exec(code.replace("http://127.0.0.1:8000", service.url), {})  # noqa: S102 - our own page
    assert capsys.readouterr().out == "banana 3\n"


def test_every_method_requests_its_route(service: Service, tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(b"file")
    calls: list[tuple[Callable[[Client], Any], str, str]] = [
        (lambda c: c.create("a", "sgd", {"loss": "log"}, "b"), "POST", "/v1/models"),
        (lambda c: c.upload("a", tmp_path / "m", "b"), "POST", "/v1/models?name=a&challenges=b"),
        (lambda c: c.upload("a", b"file"), "POST", "/v1/models?name=a"),
        (lambda c: c.models(), "GET", "/v1/models"),
        (lambda c: c.model("a/../b?"), "GET", "/v1/models/a%2F..%2Fb%3F"),
        (lambda c: c.delete("a"), "DELETE", "/v1/models/a"),
        (lambda c: c.promote("a"), "POST", "/v1/models/a/promote"),
        (lambda c: c.predict("a", {"x": 1.0}), "POST", "/v1/models/a/predict"),
        (lambda c: c.predict_many("a", [["x"]], keep=False), "POST", "/v1/models/a/predict?keep=false"),
        (lambda c: c.learn("a", ["x"], True), "POST", "/v1/models/a/learn"),
        (lambda c: c.label("a", "id", "x"), "POST", "/v1/models/a/learn"),
        (lambda c: c.learn_stream("a", [(["x"], 1)], bad_lines="skip"), "POST", "/v1/models/a/learn?bad_lines=skip"),
        (lambda c: c.ledger("a"), "GET", "/v1/models/a/ledger"),
        (lambda c: c.certificate("a"), "GET", "/v1/models/a/certificate"),
        (lambda c: c.inspect("a", 5), "GET", "/v1/models/a/inspect?top=5"),
        (lambda c: c.download("a"), "GET", "/v1/models/a/download"),
        (lambda c: list(c.examples("a")), "GET", "/v1/models/a/examples"),
        (
            lambda c: c.predict_many("a", [["x"]], explain=True, probabilities=True),
            "POST",
            "/v1/models/a/predict?probabilities=true&explain=true",
        ),
    ]
    with Client(service.url + "/", "nvk_secret") as talker:
        results = [call(talker) for call, _, _ in calls]
    assert [(method, path) for method, path, _, _ in service.asked] == [(method, path) for _, method, path in calls]
    assert all(headers["authorization"] == "Bearer nvk_secret" for _, _, headers, _ in service.asked)
    assert json.loads(service.asked[0][3]) == {
        "name": "a", "learner": "sgd", "settings": {"loss": "log"}, "challenges": "b",
    }  # fmt: skip
    assert [body for _, _, _, body in service.asked[1:3]] == [b"file"] * 2
    assert results[3] == [MODEL]
    assert results[5] is None
    assert results[7] == client.PredictionResult("p0", "banana", 0)
    assert results[8] == [client.PredictionResult(None, "banana", 0)]
    assert results[10].status == "learned"
    assert results[15] == b"\x00model"
    assert [line["label"] for line in results[16]] == [True, "x", 1]


def test_each_thread_keeps_one_open_connection(service: Service) -> None:
    talker = Client(service.url)
    for _ in range(5):
        talker.models()
    assert service.connections == 1
    threads = [threading.Thread(target=lambda: [talker.learn("a", ["x"], k) for k in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert service.connections == 5
    assert len(service.examples) == len(service.keys) == 80
    talker.close()
    assert talker.models() == [MODEL]
    talker.close()


def test_a_retried_learn_is_applied_once(service: Service, waits: list[float]) -> None:
    with Client(service.url) as talker:
        service.trouble = ["leave after", (503, {}), "leave before", (502, {})]
        assert talker.learn("a", ["x"], 1).examples == 1
        assert len(service.examples) == 1
        assert len({headers["idempotency-key"] for _, _, headers, _ in service.asked}) == 1
        assert len({body for _, _, _, body in service.asked}) == 1
        # One that had been answered on before is opened again without a pause.
        assert all(low <= wait <= 2 * low for wait, low in zip(waits, (0.05, 0.1, 0.2), strict=True))
        talker.learn("a", ["x"], 1)
        assert len(service.keys) == len(service.examples) == 2


def test_retry_after_is_respected(service: Service, waits: list[float]) -> None:
    with Client(service.url) as talker:
        service.trouble = [
            (429, {"Retry_After": "7"}),
            (503, {"Retry_After": "100000"}),
            (503, {"Retry_After": "soon"}),
        ]
        talker.models()
    assert 7 <= waits[0] <= 7.7
    assert 60 <= waits[1] <= 66
    assert waits[2] < 1


def test_permanent_errors_are_not_retried(service: Service, waits: list[float]) -> None:
    with Client(service.url) as talker:
        with pytest.raises(ServiceError, match="disk is full") as caught:
            talker.learn("a", ["x"], "full")
        assert (caught.value.status, caught.value.code, caught.value.learned) == (507, "disk-full", 1)
        for status in (400, 401, 403, 404, 409, 410, 413, 422, 500):
            service.trouble = [(status, {})]
            with pytest.raises(ServiceError, match="There is trouble") as caught:
                talker.models()
            assert (caught.value.status, caught.value.code) == (status, "trouble")
        assert not waits
        copy = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own
        assert (copy.status, copy.code, str(copy)) == (500, "trouble", "There is trouble.")


def test_requests_that_are_not_idempotent_are_retried_only_after_a_refusal(
    service: Service, waits: list[float]
) -> None:
    with Client(service.url) as talker:
        for trouble in ("leave before", "leave after", (502, {}), (504, {})):
            service.asked.clear()
            service.trouble = [trouble]  # type: ignore[list-item]
            with pytest.raises(ServiceError):
                talker.create("a")
            assert len(service.asked) == 1
        service.trouble = [(503, {}), (429, {})]
        assert talker.promote("a")["name"] == "fruit"
        assert len(waits) == 2


def test_a_connection_closed_while_idle_is_reopened(service: Service, waits: list[float]) -> None:
    with Client(service.url, retries=0) as talker:
        for _ in range(3):
            service.trouble = ["close then"]
            talker.models()
        talker.learn("a", ["x"], 1)
    assert not waits
    assert len(service.examples) == 1


def test_retries_are_limited(service: Service, waits: list[float]) -> None:
    with Client(service.url, retries=2) as talker:
        service.trouble = ["leave before"] * 9
        with pytest.raises(ServiceError, match="does not respond") as caught:
            talker.models()
        assert (caught.value.status, len(service.asked)) == (0, 3)
        service.trouble, service.asked = [(503, {})] * 9, []
        with pytest.raises(ServiceError) as caught:
            talker.models()
        assert (caught.value.status, len(service.asked)) == (503, 3)
        service.trouble = ["nonsense"]
        with pytest.raises(ServiceError, match="is not a novikoff server"):
            talker.models()


def test_an_unreachable_server_is_an_error(waits: list[float]) -> None:
    with pytest.raises(ServiceError, match="refused") as caught:
        Client("http://127.0.0.1:9", retries=1).models()
    assert caught.value.code == "unreachable"
    assert len(waits) == 1
    with pytest.raises(ServiceError):
        list(Client("http://127.0.0.1:9").examples("a"))


def test_streams_are_sent_in_blocks(service: Service, waits: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "BLOCK_LINES", 10)
    with Client(service.url) as talker:
        service.trouble = [None, "leave after", None, (503, {})]
        learned = talker.learn_stream("a", (({"x": float(k)}, k) for k in range(35)))
        assert learned == client.LearnResult("learned", 35, 4, 4, {"odd": 8})
        assert [line["label"] for line in service.examples] == list(range(35))
        assert len(service.keys) == 4
        with pytest.raises(ServiceError) as caught:
            talker.learn_stream("a", ((["x"], "full" if k == 25 else "ok") for k in range(35)))
        assert caught.value.learned == 21
        service.asked.clear()
        assert [one.score for one in talker.predict_stream("a", [["x"]] * 25)] == [*range(10), *range(10), *range(5)]
        assert len(service.asked) == 3
        assert talker.learn_stream("a", []) == client.LearnResult("learned", 0, 0, 0, {})
        assert list(talker.predict_stream("a", [])) == []
    monkeypatch.setattr(client, "BLOCK_BYTES", 100)
    assert [len(block) for block in client._iter_blocks([b"x" * 60] * 5)] == [2, 2, 1]


def test_probabilities_and_explanations_are_returned_if_requested(service: Service) -> None:
    with Client(service.url) as talker:
        plain = talker.predict("a", ["x"])
        assert (plain.probabilities, plain.explanation) == (None, None)
        assert json.loads(service.asked[-1][3]) == {"features": ["x"], "keep": True}
        found = talker.predict("a", ["x"], probabilities=True)
        assert (found.probabilities, found.explanation) == ({"apple": 0.25, 7: 0.75}, None)
        found = talker.predict("a", ["x"], explain=True)
        assert (found.probabilities, found.explanation) == (None, {"bias": 1.0, "contributions": []})
        for one in talker.predict_many("a", [["x"], ["y"]], keep=False, probabilities=True, explain=True):
            assert one.id is None
            assert one.probabilities == {"apple": 0.25, 7: 0.75}
            assert one.explanation == {"bias": 1.0, "contributions": []}


def test_a_truncated_response_is_an_error(service: Service) -> None:
    with Client(service.url, retries=0) as talker:
        service.trouble = ["short"]
        with pytest.raises(ServiceError, match="does not respond"):
            talker.download("a")


def test_numpy_numbers_are_sent_and_unserializable_values_refused(service: Service) -> None:
    with Client(service.url) as talker:
        talker.learn("a", MappingProxyType({"x": np.float32(0.5), "y": np.int64(3)}), np.bool_(True))  # type: ignore[arg-type]
        assert service.examples == [{"features": {"x": 0.5, "y": 3}, "label": True}]
        asked = len(service.asked)
        for wrong in ({"x": float("nan")}, {"x": float("inf")}, {"x": object()}, {"x": b"bytes"}):
            with pytest.raises(InputError, match="must be"):
                talker.predict("a", wrong)  # type: ignore[arg-type]
        assert len(service.asked) == asked


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8000", "ftp://x", "http://", "http://x:port", "http://x/?a=b", "http://[::1"]
)
def test_invalid_addresses_are_refused(url: str) -> None:
    with pytest.raises(InputError, match="url must be"):
        Client(url)


def test_a_token_with_a_line_break_is_refused() -> None:
    with pytest.raises(InputError, match="token"):
        Client("http://localhost", "a\r\nX: y")
