"""The status line of long runs on a terminal: how much of the data is read, and how long the rest takes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from typing import Self

from novikoff.data.reader import DataReader, FileBatch

SECONDS_BEFORE_FIRST = 1.0
"""Shorter runs have no status line."""
SECONDS_BETWEEN_UPDATES = 0.2
ERASE = "\r\x1b[K"


class StatusLine:
    """A line on stderr that is overwritten, if stderr is a terminal and the size of the data is known."""

    def __init__(self, reading: DataReader, *, passes: int = 1, wanted: bool = True) -> None:
        self.reading, self.passes = reading, passes
        self.passes_done = 0
        self.is_active = wanted and _is_terminal()
        self.is_shown = False
        self.began = time.monotonic()
        self.next_update = self.began + SECONDS_BEFORE_FIRST

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.erase()

    def watch(self, batches: Iterator[FileBatch]) -> Iterator[FileBatch]:
        """Yield the batches of one pass; show how far it is after each of them."""
        if not self.is_active:
            yield from batches
            return
        for batch in batches:
            yield batch
            if time.monotonic() >= self.next_update:
                self._update()
        self.passes_done += 1
        self.erase()

    def erase(self) -> None:
        """Erase the line, before another one is printed."""
        if self.is_shown:
            self.is_shown = False
            print(ERASE, end="", file=sys.stderr, flush=True)

    def _update(self) -> None:
        now, fraction = time.monotonic(), self.reading.fraction_read()
        self.next_update = now + SECONDS_BETWEEN_UPDATES
        if fraction is None:
            return
        done = (self.passes_done + fraction) / self.passes
        text = f"{done:4.0%}"
        if self.passes > 1:
            text += f"   pass {self.passes_done + 1} of {self.passes}"
        if done > 0.0:
            text += f"   {format_duration((now - self.began) * (1.0 - done) / done)} left"
        print(ERASE + text, end="", file=sys.stderr, flush=True)
        self.is_shown = True


def format_duration(seconds: float) -> str:
    """Return a duration as hours, minutes and seconds.

    >>> format_duration(7.6), format_duration(185.0), format_duration(7385.0)
    ('8 s', '3:05 min', '2:03:05 h')
    """
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    if minutes == 0:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{minutes}:{rest:02} min" if hours == 0 else f"{hours}:{minutes:02}:{rest:02} h"


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):  # there is no stderr, or it is closed
        return False
