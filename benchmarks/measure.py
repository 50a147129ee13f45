"""Two things measured side by side: alternate rounds, the ratio of each round, its median and spread.

Machines swing by half within minutes; what is measured at the same time swings together.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple


class Row(NamedTuple):
    title: str
    ours: float
    theirs: float
    ratio: float
    low: float
    high: float
    target: float


def seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def compare(
    title: str, ours: Callable[[], object], theirs: Callable[[], object], target: float, rounds: int = 11, per: int = 1
) -> Row:
    """theirs ÷ ours, so that more is better; `per` divides both times (events per call)."""
    ours(), theirs()
    pairs = [(seconds(ours) / per, seconds(theirs) / per) for _ in range(rounds)]
    ratios = [b / a for a, b in pairs]
    return Row(
        title,
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        statistics.median(ratios),
        min(ratios),
        max(ratios),
        target,
    )


def show(heading: str, peer: str, rows: list[Row]) -> None:
    print(f"\n{heading}")
    print(f"{'':<49}{'novikoff':>12}{peer:>16}{'ratio':>9}{'(rounds)':>16}{'target':>9}")
    for row in rows:
        spread = f"({row.low:.1f}–{row.high:.1f})"
        reached = "" if row.ratio >= row.target else "   below"
        print(
            f"{row.title:<49}{_time(row.ours):>12}{_time(row.theirs):>16}{row.ratio:>8.2f}×{spread:>16}"
            f"{row.target:>8.2f}×{reached}"
        )


def _time(value: float) -> str:
    return f"{value:.3f} s" if value > 0.01 else f"{value * 1e6:.2f} µs"
