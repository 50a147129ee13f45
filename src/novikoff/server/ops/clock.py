"""A wall clock that does not jump.

Pending predictions, idempotency keys and journal entries expire by age, a difference of wall-clock times. If the system
clock is set forward by days, all of them would expire at once. So the server reads the wall clock only at its start,
and adds the time of a monotonic clock.
"""

from __future__ import annotations

import time

MIN_JUMP_SECONDS = 60.0
"""Smaller differences between both clocks are corrections, not jumps."""
MONOTONIC_CLOCK_ID = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""On Linux, a monotonic clock that includes the time in which the machine is suspended."""


def read_monotonic() -> float:
    """Return the seconds since an arbitrary fixed time."""
    return time.clock_gettime(MONOTONIC_CLOCK_ID)


class SteadyClock:
    """Seconds since 1970: the wall clock at the start plus the time of a monotonic clock since then.

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
        """Return the seconds by which the system clock has jumped since the last call, or None."""
        ahead = time.time() - self.now()
        if abs(ahead - self._reported) < MIN_JUMP_SECONDS:
            return None
        self._reported, before = ahead, self._reported
        return ahead - before


CLOCK = SteadyClock()
now = CLOCK.now
