"""A rate limit for log lines, so that clients with invalid requests can't fill the disk or hide other lines.

Lines of one kind (the same logger, level and message template) share a budget. The first line after a pause has the
number of suppressed lines, and `report` returns the numbers for kinds without further lines.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from novikoff.server.http.rate_limit import TokenBucket

MAX_LINE_KINDS = 1_000
"""Kinds with a budget of their own; further kinds share one budget."""
LineKind = tuple[str, int, str]
OTHER_LINES: LineKind = ("novikoff.server", logging.WARNING, "other lines")


class LogRateLimit(logging.Filter):
    """A filter that passes at most `per_second` lines of one kind per second; 0 means unlimited.

    `suppressed` counts all suppressed lines.
    """

    def __init__(self, per_second: int, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._per_second, self._clock = per_second, clock
        self._buckets: dict[LineKind, TokenBucket] = {}
        self._left_out: dict[LineKind, int] = {}
        self._lock = threading.Lock()  # lines are also logged by the journal's thread
        self.suppressed = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line may be written. Its attribute `suppressed` counts the lines suppressed before it."""
        if not self._per_second or getattr(record, "unlimited", False):
            return True
        with self._lock:
            kind = self._kind(record)
            if self._buckets[kind].wait(self._clock()) > 0:
                self._left_out[kind] = self._left_out.get(kind, 0) + 1
                self.suppressed += 1
                return False
            count = self._left_out.pop(kind, 0)
        if count:
            record.suppressed = count
        return True

    def _kind(self, record: logging.LogRecord) -> LineKind:
        kind = record.name, record.levelno, str(record.msg)
        if kind not in self._buckets:
            if len(self._buckets) >= MAX_LINE_KINDS:
                kind = OTHER_LINES
            if kind not in self._buckets:
                self._buckets[kind] = TokenBucket(self._per_second, self._per_second)
        return kind

    def report(self) -> list[tuple[LineKind, int]]:
        """Return the kinds that may be logged again, with the number of suppressed lines of each."""
        now = self._clock()
        with self._lock:
            done = [kind for kind in self._left_out if self._buckets[kind].has_one(now)]
            return [(kind, self._left_out.pop(kind)) for kind in done]
