"""The audit log: one line of JSON for each administrative action and for refused requests, without secrets.

Unauthenticated clients can cause refused requests. So these are limited to one line per second, with a burst of 100,
and the next line gives the number of omitted ones. The log is rotated by size and old files are deleted, so it can't
fill the disk.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from novikoff.server.http.rate_limit import TokenBucket

AUDIT_FILE = "audit.log"
SECRET_PATTERN = re.compile(r"nvk_[^/?&\s]*")
MAX_PATH_CHARACTERS = 200
log = logging.getLogger("novikoff.server")


class AuditLog:
    """The audit log of a data folder, in the file audit.log."""

    def __init__(self, folder: Path, *, size: int = 16 << 20, kept: int = 5) -> None:
        """Open the log. A file is rotated at `size` bytes; `kept` older files stay, audit.log.1 being the latest."""
        self._path = folder / AUDIT_FILE
        self._size, self._kept = size, kept
        self._file: int | None = None
        self._written = 0
        self._refusals = TokenBucket(rate=1.0, most=100.0)
        self.left_out = 0
        """Number of refused requests omitted since the last line."""

    def action(self, event: str, **about: Any) -> None:
        """Record an administrative action. Failed requests share the rate limit of refused ones."""
        if about.get("status", 0) >= 400 and not self._may_write(about):
            return
        self._write({"event": event, **about})

    def refused(self, **about: Any) -> None:
        if self._may_write(about):
            self._write({"event": "refused", **about})

    def _may_write(self, about: dict[str, Any]) -> bool:
        """Return whether the rate limit allows a line. Add the number of omitted requests to `about`."""
        if self._refusals.wait(time.monotonic()) > 0:
            self.left_out += 1
            return False
        if self.left_out:
            about["left_out"], self.left_out = self.left_out, 0
        return True

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _write(self, entry: dict[str, Any]) -> None:
        path = entry.get("path")
        if path is not None:
            entry["path"] = SECRET_PATTERN.sub("nvk_…", path)[:MAX_PATH_CHARACTERS]
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": now, **entry}, ensure_ascii=True).encode() + b"\n"
        try:
            if self._file is None or self._written + len(line) > self._size:
                self._open(len(line))
            assert self._file is not None  # noqa: S101 - just opened
            self._written += os.write(self._file, line)
        except OSError as problem:  # a full disk must not stop predictions
            log.error("The audit log can't be written (%s): %s", problem.strerror, line.decode())

    def _open(self, needed: int) -> None:
        self.close()
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        self._written = os.fstat(self._file).st_size
        if self._written and self._written + needed > self._size:
            self.close()
            for number in range(self._kept, 0, -1):
                older = self._path if number == 1 else Path(f"{self._path}.{number - 1}")
                if older.exists():
                    os.replace(older, f"{self._path}.{number}")
            self._open(needed)
