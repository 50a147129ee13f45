"""The audit log: one line of JSON for each action of an administrator and for refused requests, never with a secret.

Refused requests come from strangers, so they are written one a second (a hundred at once), and the line after says how
many were left out; the log is cut into files of one size, of which the last few are kept. So it can't fill the disk.
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
"""Characters of a path."""
log = logging.getLogger("novikoff.server")


class AuditLog:
    def __init__(self, folder: Path, *, size: int = 16 << 20, kept: int = 5) -> None:
        """Files grow to `size` bytes; `kept` older ones stay, as audit.log.1 (the latest) and so on."""
        self._path = folder / AUDIT_FILE
        self._size, self._kept = size, kept
        self._file: int | None = None
        self._written = 0
        self._refusals = TokenBucket(rate=1.0, most=100.0)
        self.left_out = 0
        """Refused requests since the last line that were not written."""

    def action(self, event: str, **about: Any) -> None:
        """Record what an administrator did; requests that failed share the rate of refused ones."""
        if about.get("status", 0) >= 400 and not self._may_write(about):
            return
        self._write({"event": event, **about})

    def refused(self, **about: Any) -> None:
        if self._may_write(about):
            self._write({"event": "refused", **about})

    def _may_write(self, about: dict[str, Any]) -> bool:
        """Return whether the rate allows a line, and add to it how many were left out before."""
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
