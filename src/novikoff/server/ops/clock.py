"""A wall clock that does not jump.

Ages are differences of wall-clock times: of pending predictions, idempotency keys and journal entries. When the clock
of the machine is set forward by days, all of them would expire at once. So the server reads the wall clock once, when
it starts, and counts on with a clock that only runs forward.
"""

from __future__ import annotations

import time

MIN_JUMP_SECONDS = 60.0
"""Differences between both clocks below this are corrections, not jumps."""


MONOTONIC_CLOCK_ID = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Of Linux: a monotonic clock that counts on while the machine is suspended."""


def read_monotonic() -> float:
    """Return seconds since an arbitrary moment."""
    return time.clock_gettime(MONOTONIC_CLOCK_ID)


class SteadyClock:
    """Seconds since 1970, by the wall clock at the start and a monotonic clock from then on.

    >>> clock = SteadyClock()
    >>> 0 <= clock.now() - time.time() + 1 < 2
    True
    """

    def __init__(self) -> None:
        self._offset = time.time() - read_monotonic()
        self._reported = 0.0

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        return self._offset + read_monotonic()

    def new_jump(self) -> float | None:
        """Return by how many seconds the clock of the machine has jumped, once for each jump; None without one."""
        ahead = time.time() - self.now()
        if abs(ahead - self._reported) < MIN_JUMP_SECONDS:
            return None
        self._reported, before = ahead, self._reported
        return ahead - before


CLOCK = SteadyClock()
now = CLOCK.now
