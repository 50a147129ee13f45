"""Servers for tests: real processes on free ports, and plain requests to them."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NDJSON = {"Content-Type": "application/x-ndjson"}
IS_MEASURING_COVERAGE = "COVERAGE_PROCESS_CONFIG" in os.environ
"""Whether coverage is measured: servers are then stopped, since a killed one writes no data."""
KillPoint = tuple[str, str, int, str]
"""Module, function, number of the call, and "before" or "after" it."""


class ServerStartError(AssertionError):
    """A server ended, or took too long, before it printed its address."""


class ForkServer:
    """A process that forks servers (see fork_server.py)."""

    def __init__(self) -> None:
        here = Path(__file__).with_name("fork_server.py")
        self.process = subprocess.Popen(
            [sys.executable, str(here)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def start_server(self, arguments: list[str], log: Path, limit: int | None, die: KillPoint | None) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        launch = {"arguments": arguments, "log": str(log), "limit": limit, "die": die}
        print(json.dumps(launch), file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()


class Server:
    """A running server with one connection to it."""

    def __init__(
        self,
        fork_server: ForkServer,
        folder: Path,
        *options: str,
        limit: int | None = None,
        die: KillPoint | None = None,
    ) -> None:
        self.folder = folder
        self.log = folder.with_name(f"{folder.name}.log")
        began = self.log.stat().st_size if self.log.exists() else 0
        self.number = fork_server.start_server(
            ["--data-dir", str(folder), "--port", "0", *options], self.log, limit, die
        )
        until = time.monotonic() + 60
        while True:
            said = self.log.read_bytes()[began:].decode(errors="replace") if self.log.exists() else ""
            found = re.search(r"https?://[^ ]*:(\d+) ", said)
            if found:
                break
            if not self.runs() or time.monotonic() > until:
                raise ServerStartError(f"no server: {said}")
            time.sleep(0.002)
        self.said = said
        self.connect_to(int(found[1]))

    def connect_to(self, port: int) -> None:
        self.port = port
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.asked = time.monotonic()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        """Return the status, and the parsed JSON or the bytes of the response."""
        sent = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        if time.monotonic() - self.asked > 10:  # the server closes idle connections
            self.connection.close()
        self.asked = time.monotonic()
        self.connection.request(method, path, body, sent)
        answer = self.connection.getresponse()
        content = answer.read()
        if "json" in (answer.getheader("Content-Type") or "") and "ndjson" not in str(answer.getheader("Content-Type")):
            return answer.status, json.loads(content)
        return answer.status, content

    def make(self, name: str = "m", learner: str = "perceptron", **more: Any) -> Any:
        status, said = self.ask("POST", "/v1/models", {"name": name, "learner": learner, **more})
        assert status == 201, said
        return said

    def learn(self, features: Any, label: Any, name: str = "m", key: str | None = None) -> tuple[int, Any]:
        headers = {} if key is None else {"Idempotency-Key": key}
        return self.ask("POST", f"/v1/models/{name}/learn", {"features": features, "label": label}, headers)

    def predict(self, features: Any, name: str = "m") -> Any:
        status, said = self.ask("POST", f"/v1/models/{name}/predict", {"features": features})
        assert status == 200, said
        return said

    def lines(self, examples: Any, name: str = "m", query: str = "", **headers: str) -> tuple[int, Any]:
        body = b"".join(json.dumps({"features": x, "label": y}).encode() + b"\n" for x, y in examples)
        return self.ask("POST", f"/v1/models/{name}/learn{query}", body, NDJSON | headers)

    def runs(self) -> bool:
        try:
            os.kill(self.number, 0)
        except ProcessLookupError:
            return False
        return True

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.number, how)
        self.wait_until_ended()

    def wait_until_ended(self) -> None:
        until = time.monotonic() + 30
        while self.runs():
            assert time.monotonic() < until, "the server does not end"
            time.sleep(0.002)
        with contextlib.suppress(AttributeError):
            self.connection.close()


@contextlib.contextmanager
def run_server(
    fork_server: ForkServer, folder: Path, *options: str, limit: int | None = None, die: KillPoint | None = None
) -> Iterator[Server]:
    server = Server(fork_server, folder, *options, limit=limit, die=die)
    try:
        yield server
    finally:
        server.stop() if IS_MEASURING_COVERAGE else server.kill()
