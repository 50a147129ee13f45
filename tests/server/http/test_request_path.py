"""The modules that a request passes through."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the service is an extra: novikoff[serve]")

import uvicorn

from novikoff.server.http import auth, connections
from novikoff.server.http.app import ApiHandlers
from novikoff.server.http.auth import TokenStore
from novikoff.server.http.connections import build_protocol
from novikoff.server.http.middleware import Security
from novikoff.server.ops.limits import Limits
from novikoff.server.ops.metrics import Metrics
from novikoff.server.storage.recovery import open_registry, prepare_folder
from tests.helpers.server.process import Server

MAX_MODULES = 9
"""Of novikoff.server, between the first byte of a learning request and the last of its response."""


class Recorder:
    """A profile function that notes the modules of the service whose functions are called while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.entered: set[str] = set()

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        name = frame.f_globals.get("__name__", "")
        if self.on and event == "call" and name.startswith("novikoff.server."):
            self.entered.add(name.rpartition(".")[2])


@contextlib.contextmanager
def run_traced(folder: Path, recorder: Recorder) -> Iterator[Server]:
    """Run a server in a thread whose calls are recorded, and a connected client."""
    registry = open_registry(folder, Limits())

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        registry.start()
        yield
        await registry.stop()

    protocol, metrics = build_protocol(registry.limits), Metrics()
    security = Security(TokenStore(registry.folder), registry.limits, loopback=True, observe=metrics.http.observe,
                        connections=protocol.monitor.clients)  # fmt: skip
    app = ApiHandlers(registry, metrics, security).build(lifespan)
    server = uvicorn.Server(uvicorn.Config(app, port=0, http=protocol, ws="none", log_level="critical"))
    threading.setprofile(recorder)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        client = Server.__new__(Server)
        client.connect_to(server.servers[0].sockets[0].getsockname()[1])
        yield client
        client.connection.close()
    finally:
        threading.setprofile(None)  # type: ignore[arg-type]
        server.should_exit = True
        thread.join()


@pytest.fixture(autouse=True)
def stop_periodic_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable periodic checks of late connections and of the token file: they are not part of a request."""
    monkeypatch.setattr(connections, "CHECK_INTERVAL_SECONDS", 3600.0)
    monkeypatch.setattr(auth, "REFRESH_INTERVAL_SECONDS", 3600.0)


@pytest.mark.parametrize("with_token", [False, True])
def test_a_learn_request_enters_few_modules(tmp_path: Path, with_token: bool) -> None:
    folder, recorder = tmp_path / "data", Recorder()
    prepare_folder(folder)
    secret = auth.create_token(folder, ["admin"], 1, "shop") if with_token else None
    headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
    with run_traced(folder, recorder) as client:
        assert client.ask("POST", "/v1/models", {"name": "m", "learner": "perceptron"}, headers)[0] == 201

        def learn(label: str, **more: str) -> int:
            body = {"features": {"word": 1.0}, "label": label}
            return client.ask("POST", "/v1/models/m/learn", body, headers | more)[0]

        assert [learn(label) for label in ("spam", "ham", "spam")] == [200] * 3
        recorder.on = True
        assert learn("ham", **{"Idempotency-Key": "k"}) == 200
        recorder.on = False
    assert {"connections", "middleware", "app", "model_stream", "journal"} <= recorder.entered
    assert len(recorder.entered) <= MAX_MODULES, " ".join(sorted(recorder.entered))
