"""The status of an upload of lines: "already learned" only if an earlier request has learned its lines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helpers.server.process import NDJSON, ForkServer, Server, run_server


@pytest.fixture
def server(fork_server: ForkServer, tmp_path: Any) -> Any:
    with run_server(fork_server, tmp_path / "data") as running:
        running.make()
        yield running


def upload(server: Server, *lines: Any, **headers: str) -> tuple[str, int, Any]:
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    status, said = server.ask("POST", "/v1/models/m/learn?bad_lines=skip", body, NDJSON | headers)
    assert status == 200, said
    return said["status"], said["examples"], said["refused"]


GOOD = {"features": {"a": 1.0}, "label": "x"}


def test_lines_that_are_all_invalid_are_not_reported_as_already_learned(server: Server) -> None:
    assert upload(server, {"features": 1, "label": "x"}) == ("learned", 0, {"invalid-body": 1})


def test_lines_that_are_all_refused_are_not_reported_as_already_learned(server: Server) -> None:
    assert upload(server, GOOD, GOOD | {"label": "y"})[:2] == ("learned", 2)
    assert upload(server, GOOD | {"label": "third"}) == ("learned", 0, {"not-learned": 1})


def test_repeated_lines_are_reported_as_already_learned(server: Server) -> None:
    key = {"Idempotency-Key": "k"}
    assert upload(server, GOOD, {"label": 1}, **key) == ("learned", 1, {"invalid-body": 1})
    assert upload(server, GOOD, {"label": 1}, **key)[:2] == ("already learned", 0)
    late = {"id": server.predict({"a": 1.0})["id"], "label": "x"}
    assert upload(server, late) == ("learned", 1, {})
    assert upload(server, late) == ("already learned", 0, {"already-learned": 1})
