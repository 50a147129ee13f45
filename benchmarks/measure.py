"""Two things measured side by side: alternate rounds, the ratio of each round, its median and spread.

Machines swing by half within minutes; what is measured at the same time swings together.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple


class Row(NamedTuple):
    """theirs ÷ ours is to be the target or more, and what else is asked must hold."""

    title: str
    ours: float
    theirs: float
    ratio: float
    low: float
    high: float
    target: float
    note: str = ""
    holds: bool = True

    def line(self) -> str:
        spread = f"({self.low:.1f}–{self.high:.1f})"
        reached = "" if self.ratio >= self.target and self.holds else "   below"
        return (
            f"{self.title:<49}{_time(self.ours):>12}{_time(self.theirs):>16}{self.ratio:>8.2f}×{spread:>16}"
            f"{self.target:>8.2f}×{reached}{self.note and '   ' + self.note}"
        )


class Limit(NamedTuple):
    """What was found, a ratio or megabytes, is to be the limit or less."""

    title: str
    before: float
    after: float
    found: float
    low: float
    high: float
    limit: float
    unit: str

    def line(self) -> str:
        before, after = (f"{v:.0f} MB" if self.unit == "MB" else _time(v) for v in (self.before, self.after))
        spread = f"({self.low:.1f}–{self.high:.1f})"
        kept = "" if self.found <= self.limit else "   above"
        return (
            f"{self.title:<49}{before:>12}{after:>16}{self.found:>7.2f}{self.unit:<2}{spread:>16}"
            f"{self.limit:>7.2f}{self.unit:<2}{kept}"
        )


class Failed(NamedTuple):
    title: str
    why: str

    def line(self) -> str:
        return f"{self.title:<49}   failed: {self.why}"


class ChildError(RuntimeError):
    """A process that was to be measured ended with an error."""


class Child(NamedTuple):
    seconds: float
    out: str
    err: str


def seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def python(*arguments: str | Path) -> Child:
    """A whole Python process, with these arguments."""
    began = time.perf_counter()
    done = subprocess.run([sys.executable, *map(str, arguments)], check=False, capture_output=True, text=True)
    took = time.perf_counter() - began
    if done.returncode != 0:
        raise ChildError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
    return Child(took, done.stdout, done.stderr)


def warm(file: Path) -> None:
    """Reads a file and what is kept beside it (its binary caches), so that the next reader finds them in memory."""
    for each in sorted(file.parent.glob(f"{file.name}*")):
        if each.is_file():
            subprocess.run(["cat", str(each)], check=True, stdout=subprocess.DEVNULL)


def compare(
    title: str, ours: Callable[[], object], theirs: Callable[[], object], target: float, rounds: int = 11, per: int = 1
) -> Row:
    """theirs ÷ ours, so that more is better; `per` divides both times (events per call)."""
    return weigh(title, lambda: seconds(ours) / per, lambda: seconds(theirs) / per, target, rounds)


def weigh(title: str, ours: Callable[[], float], theirs: Callable[[], float], target: float, rounds: int = 5) -> Row:
    """As compare, where the calls return the numbers to be compared."""
    pairs = _rounds(ours, theirs, rounds)
    ratios = [b / a for a, b in pairs]
    return Row(title, *_medians(pairs), statistics.median(ratios), min(ratios), max(ratios), target)


def limit(
    title: str,
    before: Callable[[], float],
    after: Callable[[], float],
    most: float,
    unit: str = "×",
    rounds: int = 5,
) -> Limit:
    """after ÷ before, or after − before where the unit is MB: less is better."""
    pairs = _rounds(before, after, rounds)
    found = [b - a if unit == "MB" else b / a for a, b in pairs]
    return Limit(title, *_medians(pairs), statistics.median(found), min(found), max(found), most, unit)


def attempt(title: str, row: Callable[[str], Row | Limit]) -> Row | Limit | Failed:
    """The row of that title, or why there is none: one that fails does not take the table with it."""
    try:
        return row(title)
    except ChildError as error:
        return Failed(title, str(error))


def _rounds(first: Callable[[], float], second: Callable[[], float], rounds: int) -> list[tuple[float, float]]:
    first(), second()
    return [(first(), second()) for _ in range(rounds)]


def _medians(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def show(heading: str, left: str, right: str, rows: Iterable[Row | Limit | Failed]) -> None:
    print(f"\n{heading}")
    print(f"{'':<49}{left:>12}{right:>16}{'ratio':>9}{'(rounds)':>16}{'target':>9}", flush=True)
    for row in rows:
        print(row.line(), flush=True)


def _time(value: float) -> str:
    return f"{value:.3f} s" if value > 0.01 else f"{value * 1e6:.2f} µs"
