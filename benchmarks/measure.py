"""Compare two measurements in alternate rounds: the ratio of each round, its median and spread.

Machines vary by half within minutes; measurements of one round vary together.
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
"""The measurements of each round that counts."""


class Cells(NamedTuple):
    """The cells of a table row."""

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
    """A ratio theirs ÷ ours with a target that it is to reach, and an additional condition."""

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
    """A ratio, megabytes or seconds with a limit that it is not to exceed."""

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
    """The growth of time with a size: the slope in logarithms, which is to be within `near` of the target."""

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
    """A measured process ended with an error."""


class Child(NamedTuple):
    seconds: float
    out: str
    err: str


def seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def run_python(*arguments: str | Path) -> Child:
    """Run a Python process with these arguments."""
    return run_process(sys.executable, *arguments)


def run_process(*command: str | Path) -> Child:
    began = time.perf_counter()
    done = subprocess.run([*map(str, command)], check=False, capture_output=True, text=True)
    took = time.perf_counter() - began
    if done.returncode != 0:
        raise ChildError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
    return Child(took, done.stdout, done.stderr)


def warm_page_cache(file: Path) -> None:
    """Read a file and its binary caches, so that the page cache holds them."""
    for each in sorted(file.parent.glob(f"{file.name}*")):
        if each.is_file():
            subprocess.run(["cat", str(each)], check=True, stdout=subprocess.DEVNULL)


def compare_times(
    title: str, ours: Callable[[], object], theirs: Callable[[], object], target: float, rounds: int = 11, per: int = 1
) -> Row:
    """Compare the times of two calls as theirs ÷ ours; `per` is the number of events in a call."""
    return compare_values(title, lambda: seconds(ours) / per, lambda: seconds(theirs) / per, target, rounds)


def compare_values(
    title: str, ours: Callable[[], float], theirs: Callable[[], float], target: float, rounds: int = 5
) -> Row:
    """Compare the numbers that two calls return as theirs ÷ ours."""
    pairs = _rounds(ours, theirs, rounds)
    require_positive(*(value for pair in pairs for value in pair))
    ratios = [b / a for a, b in pairs]
    return Row(title, *_medians(pairs), *_spread(ratios), target, rounds=tuple(pairs))


def measure_limit(
    title: str,
    before: Callable[[], float],
    after: Callable[[], float],
    most: float,
    unit: str = "×",
    rounds: int = 5,
) -> Limit:
    """Measure after ÷ before, or after − before for the units MB and s; less is better."""
    pairs = _rounds(before, after, rounds)
    found = [b / a if unit == "×" else b - a for a, b in pairs]
    return Limit(title, *_medians(pairs), *_spread(found), most, unit, tuple(pairs))


def require_positive(*times: float) -> None:
    """Raise ChildError if a time without start-up is not positive: its ratio would be meaningless."""
    if min(times) <= 0:
        raise ChildError("a run took no longer than a start: the machine is too busy, or the text too short")


def measure_rounds(call: Callable[[], Sequence[float]], rounds: int = 5) -> Rounds:
    """Return the measurements of a call at several sizes, for each round."""
    call()
    return tuple(tuple(call()) for _ in range(rounds))


def measure_slope(title: str, sizes: Sequence[float], rounds: Rounds, target: float = 1.0, near: float = 0.05) -> Slope:
    """Fit the slope by least squares in each round."""
    slopes = [statistics.linear_regression([*map(math.log, sizes)], [*map(math.log, each)]).slope for each in rounds]
    seconds = tuple(statistics.median(column) for column in zip(*rounds, strict=True))
    return Slope(title, tuple(sizes), seconds, *_spread(slopes), target, near, rounds)


def attempt(title: str, row: Callable[[str], Row | Limit]) -> Row | Limit | Failed:
    """Return the row, or a Failed entry, so that one failure does not end the table."""
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
    """Print the rows when they are measured, and return them."""
    print(f"\n{heading}")
    print(Cells("", left, right, "ratio", "(rounds)", "target").line(), flush=True)
    kept = []
    for row in rows:
        print(row.cells().line(), flush=True)
        kept.append(row)
    return kept


def _time(value: float) -> str:
    return f"{value:.3f} s" if value > 0.01 else f"{value * 1e6:.2f} µs"
