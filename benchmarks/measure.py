"""Two things measured side by side: alternate rounds, the ratio of each round, its median and spread.

Machines swing by half within minutes; what is measured at the same time swings together.
"""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

Rounds = tuple[tuple[float, ...], ...]
"""What was measured in each round that counts."""


class Cells(NamedTuple):
    """A row as it is shown."""

    title: str
    left: str = ""
    right: str = ""
    found: str = ""
    spread: str = ""
    target: str = ""
    verdict: str = ""

    def line(self) -> str:
        widths = (49, -12, -16, -9, -16, -12)
        padded = (f"{text:<{w}}" if w > 0 else f"{text:>{-w}}" for text, w in zip(self, widths, strict=False))
        return f"{''.join(padded)}   {self.verdict}".rstrip()


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
    rounds: Rounds = ()

    def reached(self) -> bool:
        return self.ratio >= self.target and self.holds

    def cells(self) -> Cells:
        short = f"below by {100 * (1 - self.ratio / self.target):.1f} %" if self.ratio < self.target else ""
        verdict = [
            short or ("reached" if self.target else "no target"),
            "" if self.holds else "does not count: see the note",
            self.note,
        ]
        return Cells(
            self.title,
            _time(self.ours),
            _time(self.theirs),
            f"{self.ratio:.2f}×",
            f"({self.low:.1f}–{self.high:.1f})",
            f"{self.target:.2f}×",
            "; ".join(filter(None, verdict)),
        )


class Limit(NamedTuple):
    """What was found, a ratio, megabytes or seconds, is to be the limit or less."""

    title: str
    before: float
    after: float
    found: float
    low: float
    high: float
    limit: float
    unit: str
    rounds: Rounds = ()

    def reached(self) -> bool:
        return self.found <= self.limit

    def cells(self) -> Cells:
        before, after = (f"{v:.0f} MB" if self.unit == "MB" else _time(v) for v in (self.before, self.after))
        digits = 3 if self.unit == "s" else 1
        over = f"above by {100 * (self.found / self.limit - 1):.1f} %"
        return Cells(
            self.title,
            before if self.before else "",
            after,
            f"{self.found:.2f} {self.unit}",
            f"({self.low:.{digits}f}–{self.high:.{digits}f})",
            f"≤ {self.limit:.2f} {self.unit}",
            "reached" if self.reached() else over,
        )


class Slope(NamedTuple):
    """How time grows with a size: the slope of its logarithm over the size's, which is to be as near to the target."""

    title: str
    sizes: tuple[float, ...]
    seconds: tuple[float, ...]
    slope: float
    low: float
    high: float
    target: float
    near: float
    rounds: Rounds = ()

    def reached(self) -> bool:
        return abs(self.slope - self.target) <= self.near

    def cells(self) -> Cells:
        off = 100 * (abs(self.slope - self.target) - self.near) / self.target
        return Cells(
            self.title,
            _time(self.seconds[0]),
            _time(self.seconds[-1]),
            f"{self.slope:.3f}",
            f"({self.low:.3f}–{self.high:.3f})",
            f"{self.target:.2f} ± {self.near:.2f}",
            "reached" if self.reached() else f"{'below' if self.slope < self.target else 'above'} by {off:.1f} %",
        )


class Failed(NamedTuple):
    title: str
    why: str

    def reached(self) -> bool:
        return False

    def cells(self) -> Cells:
        return Cells(self.title, verdict=f"failed: {self.why}")


Entry = Row | Limit | Slope | Failed


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
    return process(sys.executable, *arguments)


def process(*command: str | Path) -> Child:
    began = time.perf_counter()
    done = subprocess.run([*map(str, command)], check=False, capture_output=True, text=True)
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
    positive(*(value for pair in pairs for value in pair))
    ratios = [b / a for a, b in pairs]
    return Row(title, *_medians(pairs), *_spread(ratios), target, rounds=tuple(pairs))


def limit(
    title: str,
    before: Callable[[], float],
    after: Callable[[], float],
    most: float,
    unit: str = "×",
    rounds: int = 5,
) -> Limit:
    """after ÷ before, or after − before where the unit is MB or s: less is better."""
    pairs = _rounds(before, after, rounds)
    found = [b / a if unit == "×" else b - a for a, b in pairs]
    return Limit(title, *_medians(pairs), *_spread(found), most, unit, tuple(pairs))


def positive(*times: float) -> None:
    """Refuses times from which so much was taken off that nothing is left: ratios of those say nothing."""
    if min(times) <= 0:
        raise ChildError("a run took no longer than a start: the machine is too busy, or the text too short")


def sweep(call: Callable[[], Sequence[float]], rounds: int = 5) -> Rounds:
    """What a call measures at several sizes, in as many rounds."""
    call()
    return tuple(tuple(call()) for _ in range(rounds))


def slope(title: str, sizes: Sequence[float], rounds: Rounds, target: float = 1.0, near: float = 0.05) -> Slope:
    """By least squares in each round."""
    slopes = [statistics.linear_regression([*map(math.log, sizes)], [*map(math.log, each)]).slope for each in rounds]
    seconds = tuple(statistics.median(column) for column in zip(*rounds, strict=True))
    return Slope(title, tuple(sizes), seconds, *_spread(slopes), target, near, rounds)


def attempt(title: str, row: Callable[[str], Row | Limit]) -> Row | Limit | Failed:
    """The row of that title, or why there is none: one that fails does not take the table with it."""
    try:
        return row(title)
    except ChildError as error:
        return Failed(title, str(error))


def _rounds(first: Callable[[], float], second: Callable[[], float], rounds: int) -> list[tuple[float, float]]:
    first(), second()
    return [(first(), second()) for _ in range(rounds)]


def _spread(values: Sequence[float]) -> tuple[float, float, float]:
    return statistics.median(values), min(values), max(values)


def _medians(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def show(heading: str, left: str, right: str, rows: Iterable[Entry]) -> list[Entry]:
    """Prints the rows as they come, and returns them."""
    print(f"\n{heading}")
    print(Cells("", left, right, "ratio", "(rounds)", "target").line(), flush=True)
    kept = []
    for row in rows:
        print(row.cells().line(), flush=True)
        kept.append(row)
    return kept


def _time(value: float) -> str:
    return f"{value:.3f} s" if value > 0.01 else f"{value * 1e6:.2f} µs"
