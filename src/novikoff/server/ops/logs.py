"""The server's log: text or JSON lines on standard error, by the logging module, with a rate limit.

A record may have `extra={"fields": {…}}`: they become members of the JSON object, or `name=value` pairs in text.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

from novikoff.server.ops.log_limits import LogRateLimit

LOG_FORMATS = ("text", "json")
LOG_LEVELS = ("debug", "info", "warning", "error")
REPORT_INTERVAL_SECONDS = 1.0
"""Interval between reports of suppressed lines."""
SECRET_PATTERN = re.compile(r"nvk_[^/?&\s\"']*")
log = logging.getLogger("novikoff.server")


class TextFormatter(logging.Formatter):
    """Formats a record as text: time, level, message, fields. The start-up message (`banner`) is written alone."""

    def format(self, record: logging.LogRecord) -> str:
        message = _redact_message(record)
        if getattr(record, "banner", False):
            return message
        pairs = "".join(f" {name}={value}" for name, value in _get_fields(record).items())
        more = "".join(f"\n{text}" for text in [_format_traceback(self, record)] if text)
        return f"{_format_time(record)} {record.levelname.lower()}: {_escape_control_characters(message + pairs)}{more}"


class JsonFormatter(logging.Formatter):
    """Formats a record as a JSON object in one line: time, level, logger, message, and the fields of the record."""

    def format(self, record: logging.LogRecord) -> str:
        about: dict[str, Any] = {
            "time": _format_time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _redact_message(record),
            **_get_fields(record),
        }
        traceback = _format_traceback(self, record)
        if traceback:
            about["traceback"] = traceback
        return json.dumps(about, default=str)


def configure_logging(kind: str, level: str, per_second: int, stream: TextIO | None = None) -> LogRateLimit:
    """Send all log lines of the process to standard error; return their rate limit."""
    limit = LogRateLimit(per_second)
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if kind == "json" else TextFormatter())
    handler.addFilter(limit)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in ("uvicorn", "uvicorn.error", "asyncio"):  # their start-up and shutdown messages are redundant
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    return limit


async def report_suppressed(limit: LogRateLimit) -> None:
    """Log the numbers of suppressed lines of kinds without further lines, until the task is cancelled."""
    while True:
        await asyncio.sleep(REPORT_INTERVAL_SECONDS)
        log_suppressed(limit)


def log_suppressed(limit: LogRateLimit) -> None:
    for (name, level, message), count in limit.report():
        fields = {"suppressed": count, "kind": message}
        extra = {"fields": fields, "unlimited": True}
        logging.getLogger(name).log(level, "similar lines were suppressed", extra=extra)


def log_request(route: str, status: int, seconds: float) -> None:
    """Log one request: server errors at level WARNING, refused requests at INFO, others at DEBUG."""
    level = logging.WARNING if status >= 500 else logging.INFO if status >= 400 else logging.DEBUG
    if log.isEnabledFor(level):
        fields = {"route": route, "status": status, "ms": round(1000 * seconds, 3)}
        log.log(level, "request refused" if status >= 400 else "request", extra={"fields": fields})


def _redact_message(record: logging.LogRecord) -> str:
    return SECRET_PATTERN.sub("nvk_…", record.getMessage())


def _get_fields(record: logging.LogRecord) -> dict[str, Any]:
    fields = dict(getattr(record, "fields", {}))
    if hasattr(record, "suppressed"):
        fields["suppressed"] = record.suppressed
    return fields


def _format_time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def _format_traceback(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    if not record.exc_info:
        return ""
    return SECRET_PATTERN.sub("nvk_…", formatter.formatException(record.exc_info))


def _escape_control_characters(text: str) -> str:
    """Escape control characters, so that clients can't forge log lines."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
