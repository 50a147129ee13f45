"""The log of the server, by the standard library: lines of text or of JSON on standard error, with a rate limit.

A record may carry `extra={"fields": {…}}`: members of the JSON object, and `name=value` pairs in text.
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
"""How often suppressed lines are looked for."""
SECRET_PATTERN = re.compile(r"nvk_[^/?&\s\"']*")
log = logging.getLogger("novikoff.server")


class TextFormatter(logging.Formatter):
    """One line for people: time, level, message, fields. Messages of the start-up stand alone (`banner`)."""

    def format(self, record: logging.LogRecord) -> str:
        message = _redact_message(record)
        if getattr(record, "banner", False):
            return message
        pairs = "".join(f" {name}={value}" for name, value in _get_fields(record).items())
        more = "".join(f"\n{text}" for text in [_format_traceback(self, record)] if text)
        return f"{_format_time(record)} {record.levelname.lower()}: {_escape_control_characters(message + pairs)}{more}"


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and the fields of the record."""

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
    """Send all lines of the process to standard error; return their rate limit."""
    limit = LogRateLimit(per_second)
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if kind == "json" else TextFormatter())
    handler.addFilter(limit)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in ("uvicorn", "uvicorn.error", "asyncio"):  # their lines about starting and stopping say nothing new
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    return limit


async def report_suppressed(limit: LogRateLimit) -> None:
    """Log how many lines were suppressed, also where no line of that kind follows; until it is cancelled."""
    while True:
        await asyncio.sleep(REPORT_INTERVAL_SECONDS)
        log_suppressed(limit)


def log_suppressed(limit: LogRateLimit) -> None:
    for (name, level, message), count in limit.report():
        fields = {"suppressed": count, "kind": message}
        extra = {"fields": fields, "unlimited": True}
        logging.getLogger(name).log(level, "similar lines were suppressed", extra=extra)


def log_request(route: str, status: int, seconds: float) -> None:
    """Log one request: failures of the server as warnings, refused requests as information, others for debugging."""
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
    """Escape control characters: a client must not be able to forge lines."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
