"""The path of a request through the service: which modules it enters."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the service is an extra: novikoff[serve]")

import uvicorn

from novikoff.service.app import App
from novikoff.service.http_protocol import build_protocol
from novikoff.service.limits import Limits
from novikoff.service.metrics import Metrics
from novikoff.service.middleware import Security
from novikoff.service.opening import opened
from novikoff.service.tokens import Tokens
from tests.service import Server

MAX_MODULES = 9
"""Of novikoff.service, between the first byte of a learning request and the last of its response."""


class Recorder:
    """A profile function that notes the modules of the service whose functions are called while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.entered: set[str] = set()

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        name = frame.f_globals.get("__name__", "")
        if self.on and event == "call" and name.startswith("novikoff.service."):
            self.entered.add(name.rpartition(".")[2])


def test_learning_enters_few_modules(tmp_path: Path) -> None:
    house, recorder = opened(tmp_path / "data", Limits()), Recorder()

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        house.start()
        yield
        await house.stop()

    protocol, metrics = build_protocol(house.limits), Metrics()
    security = Security(Tokens(house.folder), house.limits, loopback=True, observe=metrics.http.observe,
                        connections=protocol.monitor.clients)  # fmt: skip
    app = App(house, metrics, security).build(lifespan)
    server = uvicorn.Server(uvicorn.Config(app, port=0, http=protocol, ws="none", log_level="critical"))
    threading.setprofile(recorder)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        client = Server.__new__(Server)
        client.connect_to(server.servers[0].sockets[0].getsockname()[1])
        client.make()
        for label in ("spam", "ham", "spam"):
            assert client.learn({"word": 1.0}, label)[0] == 200
        recorder.on = True
        assert client.learn({"word": 1.0}, "ham", key="k")[0] == 200
        recorder.on = False
        client.connection.close()
    finally:
        threading.setprofile(None)  # type: ignore[arg-type]
        server.should_exit = True
        thread.join()
    assert {"middleware", "app", "stream", "journal"} <= recorder.entered
    assert len(recorder.entered) <= MAX_MODULES, sorted(recorder.entered)
