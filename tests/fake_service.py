"""A small stand-in for `novikoff serve`: a perceptron over names behind the routes that the dashboard asks, in memory.

It speaks the protocol, so that a scenario that passes here is one for the real service; it keeps nothing.
"""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from novikoff.service import page

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
CONFIDENT = math.log(1 / 0.05)


class Refused(Exception):
    def __init__(self, status: int, sentence: str, code: str) -> None:
        super().__init__(sentence)
        self.status, self.code = status, code


class Model:
    """A perceptron of two labels, and its ledger."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.name, self.learner, self.settings = told["name"], told["learner"], told["settings"]
        self.challenges = told["challenges"]
        self.created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.weights: dict[str, float] = {}
        self.labels: list[Any] = []
        self.run = {"examples": 0, "mistakes": 0, "updates": 0}
        self.mistaken: list[bool] = []
        self.waiting: dict[str, Any] = {}
        self.told: dict[str, Any] = {}
        self.points: list[dict[str, Any]] = []
        self.bound: dict[str, Any] | None = None

    @property
    def role(self) -> str:
        return "champion" if self.challenges is None else "challenger"

    @property
    def error(self) -> float:
        return self.run["mistakes"] / self.run["examples"] if self.run["examples"] else 0.0

    def score(self, features: dict[str, float]) -> float:
        return sum(value * self.weights.get(name, 0.0) for name, value in features.items())

    def predicted(self, features: dict[str, float]) -> Any:
        return self.labels[int(self.score(features) >= 0.0) if len(self.labels) > 1 else 0] if self.labels else None

    def learn(self, features: dict[str, float], label: Any) -> dict[str, Any]:
        if label not in self.labels:
            if len(self.labels) == 2:
                raise Refused(422, f"{self.learner} takes two labels, but {label!r} is a third.", "bad-label")
            self.labels.append(label)
        sign = 1 if label == self.labels[-1] else -1
        wrong = self.predicted(features) != label or self.score(features) * sign <= 0.0
        for name, value in features.items() if wrong else ():
            self.weights[name] = self.weights.get(name, 0.0) + sign * value
        for key, one in (("examples", 1), ("mistakes", wrong), ("updates", wrong)):
            self.run[key] += int(one)
        self.mistaken.append(wrong)
        self.points.append({**self.run, "bound": None})
        del self.points[:-500], self.points[-1]["updates"]
        return {"status": "learned", "examples": 1, "mistakes": int(wrong), "updates": int(wrong)}

    def as_told(self) -> dict[str, Any]:
        return {
            **{key: getattr(self, key) for key in ("name", "learner", "settings", "role", "challenges", "created")},
            "labels": self.labels,
            "features": len(self.weights),
            "ledger": {**self.run, "error": self.error, "radius": 1.0},
        }

    def live(self) -> dict[str, Any]:
        last, m = self.mistaken[-1000:], self.run["examples"]
        recent = {"examples": len(last), "mistakes": sum(last), "error": sum(last) / len(last) if last else 0.0}
        return {
            **{key: getattr(self, key) for key in ("name", "role", "learner", "error", "bound")},
            **self.run,
            "recent": recent,
            "error_at_most": self.error + math.sqrt(CONFIDENT / (2 * m)) if m else None,
            "pending": len(self.waiting),
            "labelled_late": len(self.told),
            "expired": 0,
            "refused": 0,
        }

    def certificate(self) -> dict[str, Any]:
        if not self.run["examples"]:
            raise Refused(409, f"{self.name} has learned nothing yet: there is nothing to certify.", "no-examples")
        allowed, statement = 2.0 * self.run["mistakes"] + 3.5, "M ≤ (R/γ)², separable by γ"
        self.bound = {"allowed": allowed, "statement": statement, "examples": self.run["examples"]}
        bound = {"name": "novikoff", "counts": "mistakes", "statement": statement, "made": self.run["mistakes"]}
        assumes = "the examples are drawn independently from one distribution, and so is new data"
        new = {"assumes": assumes, "confidence": 0.95, "progressive": self.live()["error_at_most"]}
        judged = {"allowed": allowed, "any_order": True, "verdict": "holds"}
        observed = {**self.run, "error": self.error, "radius": 1.0}
        return {"learner": self.learner, "observed": observed, "bounds": [{**bound, **judged}], "new data": new}


class House:
    """All models, and who may ask."""

    def __init__(self, token: str | None) -> None:
        self.token = token
        self.models: dict[str, Model] = {}
        self.lock = threading.Lock()
        self.closed = threading.Event()

    def create(self, told: dict[str, Any]) -> dict[str, Any]:
        if not NAME.fullmatch(told["name"]):
            raise Refused(422, f"A name has letters, digits, points, _ and -, but is {told['name']!r}.", "bad-name")
        if told["learner"] not in ("perceptron", "arow", "sgd"):
            raise Refused(422, f"There is no learner {told['learner']!r}.", "unknown-learner")
        if told["name"] in self.models:
            raise Refused(409, f"There is a model {told['name']!r} already.", "exists")
        model = self.models[told["name"]] = Model(told)
        return model.as_told()

    def learn(self, model: Model, told: dict[str, Any]) -> dict[str, Any]:
        if model.challenges is not None:
            raise Refused(409, f"{model.name} learns with its champion {model.challenges}.", "challenger")
        if "id" in told:
            return self.late(model, told["id"], told["label"])
        for other in self.models.values():
            if other.challenges == model.name:
                other.learn(told["features"], told["label"])
        return model.learn(told["features"], told["label"])

    def late(self, model: Model, number: str, label: Any) -> dict[str, Any]:
        if number in model.told:
            if model.told[number] != label:
                raise Refused(409, f"{number} was labelled before, and with another label.", "changed-label")
            return {"status": "already learned", "examples": 0, "mistakes": 0, "updates": 0}
        if number not in model.waiting:
            raise Refused(404, f"There is no prediction with the id {number!r}.", "unknown-id")
        model.told[number] = label
        return self.learn(model, {"features": model.waiting.pop(number), "label": label})

    def predict(self, model: Model, told: dict[str, Any]) -> dict[str, Any]:
        number = f"{model.name}-{len(model.waiting) + len(model.told)}"
        model.waiting[number] = told["features"]
        return {"id": number, "label": model.predicted(told["features"]), "score": model.score(told["features"])}

    def ledger(self, model: Model) -> dict[str, Any]:
        head = model.challenges or model.name
        stream = [
            {"name": m.name, "role": m.role, **m.run, "error": m.error, "refused": 0, "since_joined": None}
            for m in self.models.values()
            if head in (m.name, m.challenges)
        ]
        for one in stream[1:]:
            same = {"examples": one["examples"], "mistakes": one["mistakes"]}
            one["since_joined"] = {**same, "champion_mistakes": stream[0]["mistakes"]}
        return {**model.as_told()["ledger"], "pending": {"waiting": len(model.waiting)}, "stream": stream}

    def inspect(self, model: Model) -> dict[str, Any]:
        largest = sorted(model.weights.items(), key=lambda item: -abs(item[1]))
        weights = [{"feature": name, "weight": w} for name, w in largest if w]
        return {"labels": model.labels, "features": len(model.weights), "weights": weights, "hypothesis": None}

    def event(self) -> dict[str, Any]:
        latency = {"p50": 0.21, "p99": 1.4}
        server = {
            "learned_per_second": 12.3,
            "predicted_per_second": 4567.0,
            "predict_ms": latency,
            "learn_ms": latency,
        }
        more = {"uptime": 4000.0, "journal_bytes": 1_234_567, "disk_full": False}
        return {"time": time.time(), "models": [m.live() for m in self.models.values()], "server": {**server, **more}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        name = self.path.lstrip("/") or page.FILES[0]
        if name in page.FILES:
            self.answer(200, *page.read(name))
        else:
            self.routed("GET", {})

    def do_POST(self) -> None:
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.routed("POST", told)

    def routed(self, method: str, told: dict[str, Any]) -> None:
        house = self.server.house
        try:
            if house.token is not None and self.headers["Authorization"] != f"Bearer {house.token}":
                raise Refused(401, "This server asks for a token: send Authorization: Bearer TOKEN.", "no-token")
            if self.path == "/v1/events":
                return self.events()
            with house.lock:
                status, answer = self.asked(house, method, self.path.partition("?")[0], told)
        except Refused as problem:
            status, answer = problem.status, {"error": str(problem), "code": problem.code}
        return self.answer(status, json.dumps(answer).encode(), "application/json")

    def asked(self, house: House, method: str, path: str, told: dict[str, Any]) -> tuple[int, Any]:
        if path == "/v1/models":
            if method == "POST":
                return 201, house.create(told)
            return 200, {"models": [m.as_told() for m in house.models.values()]}
        _, _, _, name, what = path.split("/")
        if name not in house.models:
            raise Refused(404, f"There is no model {name!r}.", "unknown-model")
        model = house.models[name]
        answers = {
            "predict": lambda: house.predict(model, told),
            "learn": lambda: house.learn(model, told),
            "ledger": lambda: house.ledger(model),
            "inspect": lambda: house.inspect(model),
            "certificate": model.certificate,
            "history": lambda: {"points": model.points},
        }
        return 200, answers[what]()

    def answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", page.POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def events(self) -> None:
        house = self.server.house
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            while not house.closed.wait(0.1):
                with house.lock:
                    told = json.dumps(house.event(), ensure_ascii=False)
                self.wfile.write(f": alive\r\n\r\nevent: models\ndata: {told}\n\n".encode())
                self.wfile.flush()
        except OSError:  # the page was closed
            pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, house: House) -> None:
        self.house = house
        super().__init__(("127.0.0.1", 0), Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser hangs up when it likes."""


@contextmanager
def served(token: str | None = None) -> Iterator[str]:
    """A server on a free port: its address."""
    house = House(token)
    server = Server(house)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        house.closed.set()
        server.shutdown()
        thread.join()
        server.server_close()
