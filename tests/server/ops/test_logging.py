"""The log of the server: lines of text and JSON, levels, and the rate limit."""

from __future__ import annotations

import io
import json
import logging
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("msgspec", reason="the service is an extra: novikoff[serve]")

from novikoff.cli.main import main
from novikoff.server.ops import log_limits, logs
from novikoff.server.ops.audit import AuditLog
from novikoff.server.ops.log_limits import LogRateLimit
from tests.helpers.server.process import ForkServer, run_server


def record(message: str = "bad request", level: int = logging.INFO, **more: Any) -> logging.LogRecord:
    made = logging.LogRecord("novikoff.server", level, "", 0, message, (), None)
    made.__dict__.update(more)
    return made


# --- The rate limit ---


def test_lines_beyond_the_rate_are_counted_in_the_next_line() -> None:
    now = [1000.0]
    limit = LogRateLimit(3, clock=lambda: now[0])
    assert sum(limit.filter(record()) for _ in range(10)) == 3
    assert limit.suppressed == 7
    assert limit.report() == []  # the kind is still over its rate
    now[0] += 1.0
    next_line = record()
    assert limit.filter(next_line)
    assert next_line.suppressed == 7  # type: ignore[attr-defined]
    after = record()
    assert limit.filter(after)
    assert not hasattr(after, "suppressed")


def test_lines_of_different_kinds_do_not_suppress_each_other() -> None:
    limit = LogRateLimit(1, clock=lambda: 5.0)
    assert limit.filter(record("a"))
    assert not limit.filter(record("a"))
    assert limit.filter(record("b"))
    assert limit.filter(record("a", logging.ERROR))
    assert limit.filter(record("a", unlimited=True))


def test_suppressed_lines_are_reported_without_a_next_line() -> None:
    now = [0.0]
    limit = LogRateLimit(1, clock=lambda: now[0])
    for _ in range(5):
        limit.filter(record())
    now[0] = 2.0
    assert limit.report() == [(("novikoff.server", logging.INFO, "bad request"), 4)]
    assert limit.report() == []


def test_the_memory_of_the_rate_limit_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_limits, "MAX_LINE_KINDS", 10)
    limit = LogRateLimit(1, clock=lambda: 0.0)
    passed = sum(limit.filter(record(f"message {k}")) for k in range(100))
    assert passed == 11  # ten kinds, and one line for all others
    assert len(limit._buckets) == 11


def test_a_rate_of_0_is_no_limit() -> None:
    limit = LogRateLimit(0)
    assert all(limit.filter(record()) for _ in range(1_000))


# --- The formats ---


@pytest.fixture
def root_logger() -> Iterator[None]:
    """Restore the loggers that `configure` changes."""
    names = (None, "uvicorn", "uvicorn.error", "asyncio")
    before = [(logging.getLogger(name), logging.getLogger(name).level) for name in names]
    handlers = logging.getLogger().handlers[:]
    yield
    logging.getLogger().handlers[:] = handlers
    for logger, level in before:
        logger.setLevel(level)


@pytest.mark.usefixtures("root_logger")
def test_json_lines_have_time_level_message_and_fields() -> None:
    stream = io.StringIO()
    logs.configure_logging("json", "info", 0, stream)
    logs.log.debug("not written")
    logs.log.warning("%d wrong", 3, extra={"fields": {"route": "learn", "status": 400}})
    try:
        raise ValueError("secret nvk_0123abcd_abc in it\nand a second line")
    except ValueError as problem:
        logs.log.error("failed", exc_info=problem)
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", first.pop("time"))
    assert first == {
        "level": "warning", "logger": "novikoff.server", "message": "3 wrong", "route": "learn", "status": 400,
    }  # fmt: skip
    assert "ValueError" in second["traceback"]
    assert "nvk_0123" not in stream.getvalue()


@pytest.mark.usefixtures("root_logger")
def test_text_lines_can_not_be_forged() -> None:
    stream = io.StringIO()
    logs.configure_logging("text", "debug", 0, stream)
    logs.log.info("a path %s", "/x\n2026-01-01 error: forged\x1b[31m nvk_00000000_abc")
    logs.log.info("novikoff serves", extra={"banner": True})
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert "\\n2026-01-01" in lines[0]
    assert "\x1b" not in lines[0]
    assert "nvk_00000000" not in lines[0]
    assert lines[1] == "novikoff serves"


@pytest.mark.usefixtures("root_logger")
def test_requests_are_logged_by_their_status() -> None:
    stream = io.StringIO()
    limit = logs.configure_logging("json", "info", 2, stream)
    for status in (200, 404, 500):
        logs.log_request("predict", status, 0.0015)
    assert [(line["level"], line["status"]) for line in map(json.loads, stream.getvalue().splitlines())] == [
        ("info", 404),
        ("warning", 500),
    ]
    for _ in range(9):
        logs.log_request("predict", 400, 0.001)
    limit._clock = lambda: time.monotonic() + 5
    logs.log_suppressed(limit)
    last = json.loads(stream.getvalue().splitlines()[-1])
    assert (last["suppressed"], last["kind"]) == (8, "request refused")


@pytest.mark.parametrize("arguments", [["--log-format", "xml"], ["--log-level", "loud"], ["--max-log-lines", "-1"]])
def test_invalid_log_options_are_refused(tmp_path: Path, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        raise SystemExit(main(["serve", "--data-dir", str(tmp_path / "data"), *arguments]))
    assert caught.value.code == 2


# --- The audit log ---


def test_failed_actions_share_the_rate_of_refused_requests(tmp_path: Path) -> None:
    audit = AuditLog(tmp_path)
    for _ in range(1_000):
        audit.action("create", status=400, path="/v1/models")
    for _ in range(300):
        audit.action("create", status=201, path="/v1/models")
    audit.close()
    statuses = [json.loads(line)["status"] for line in (tmp_path / "audit.log").read_text().splitlines()]
    assert 100 <= statuses.count(400) <= 110
    assert statuses.count(201) == 300
    assert audit.left_out >= 890


# --- A server ---


def test_a_server_logs_lines_of_json_and_suppresses_floods(fork_server: ForkServer, tmp_path: Path) -> None:
    with run_server(fork_server, tmp_path / "data", "--log-format", "json", "--max-log-lines", "5") as server:
        server.make()
        for _ in range(200):
            assert server.ask("POST", "/v1/models/m/learn", b"no JSON")[0] == 400
        deadline = time.monotonic() + 10
        while b"suppressed" not in server.log.read_bytes() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.05)
        metrics = server.ask("GET", "/metrics")[1].decode()
        server.stop()
    lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    assert lines[0]["url"] == server.url
    refused = [line for line in lines if line.get("status") == 400]
    assert 5 <= len(refused) <= 30
    assert len(refused) + sum(line.get("suppressed", 0) for line in lines) == 200
    assert int(re.search(r"log_lines_suppressed_total (\d+)", metrics)[1]) == 200 - len(refused)  # type: ignore[index]
