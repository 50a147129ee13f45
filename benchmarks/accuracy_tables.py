"""Render the tables of `benchmarks.accuracy`, and a line for each claim that says whether it holds."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import NamedTuple

AUTO = "auto"
TEN = "auto, 10 passes"
CONVERGED = "LinearSVC, converged"
UNITS = "other units: "
OTHERS = ("vw ", "sklearn ", "river ", "plain ")

Means = dict[str, dict[str, float]]
"""Mean by data set and column."""

BEHIND = 0.5  # points that auto may be behind the best column of a row, and that units may cost
DRIFTING, FOLLOWED = "elec2", 85.5
NEAR = 0.2  # points from LIBLINEAR


class Claim(NamedTuple):
    holds: bool | None  # None: not all was measured
    what: str
    numbers: str

    def line(self) -> str:
        said = {True: "yes", False: "no", None: "not measured"}[self.holds]
        return f"- **{said}**: {self.what}. {self.numbers}"


def render_results(means: Means) -> str:
    return "\n".join(
        [
            "## One pass, defaults\n",
            "### Others, and auto\n",
            *iter_table_lines(means, [AUTO, *_columns(means, OTHERS), CONVERGED]),
            "\n### Learners of novikoff\n",
            *iter_table_lines(means, _ours(means)),
            "\n## Columns times random powers of ten, 10⁻³ to 10³: points lost\n",
            *iter_table_lines(
                _lost(means), list(dict.fromkeys(c for row in _lost(means).values() for c in row)), sign="+"
            ),
            "\n## Ten passes beside LIBLINEAR\n",
            *iter_table_lines(means, [TEN, CONVERGED], mean=False),
            "\n## What must hold\n",
            *(claim.line() for claim in iter_claims(means)),
            "",
        ]
    )


def iter_table_lines(means: Means, columns: Sequence[str], sign: str = "", mean: bool = True) -> Iterator[str]:
    """Yield the lines of a table. The best of a row is bold; the mean of an incomplete column is in brackets."""
    yield f"| data | {' | '.join(columns)} |"
    yield f"|---{'|---:' * len(columns)}|"
    for name, row in means.items():
        best = min(row.values()) if sign else max((row[c] for c in columns if c in row), default=0.0)
        cells = ("" if c not in row else _bold(f"{row[c]:{sign}.2f}", not sign and row[c] == best) for c in columns)
        yield f"| {name} | {' | '.join(cells)} |"
    if mean:
        cells = (_mean(means, column, sign) for column in columns)
        yield f"| mean | {' | '.join(cells)} |"


def iter_claims(means: Means) -> Iterator[Claim]:
    yield _above_on_average(means)
    yield _behind(means, _columns(means, OTHERS), "of others, one pass")
    yield _behind(means, [*_columns(means, OTHERS), CONVERGED], "of others, LinearSVC after convergence too")
    yield _behind(means, _ours(means), "of novikoff's own learners")
    yield _units(means)
    followed = means.get(DRIFTING, {}).get(AUTO)
    yield Claim(
        None if followed is None else followed >= FOLLOWED,
        f"auto on {DRIFTING} is at least {FOLLOWED}",
        "" if followed is None else f"{followed:.2f}",
    )
    yield _near(means)


def _above_on_average(means: Means) -> Claim:
    """Compare means over all sets; incomplete columns are compared on the sets that they have."""
    ahead = {}
    for column in _columns(means, OTHERS):
        both = [row for row in means.values() if column in row and AUTO in row]
        ahead[column] = statistics.fmean(row[AUTO] - row[column] for row in both) if both else 0.0
    what = "The mean of auto over the sets is above that of every other column"
    if not ahead:
        return Claim(None, what, "")
    least = min(ahead, key=lambda column: ahead[column])
    return Claim(min(ahead.values()) > 0, what, f"Least ahead, by {ahead[least]:+.2f} points, of {least}")


def _behind(means: Means, columns: Sequence[str], whose: str) -> Claim:
    behind = {}
    for name, row in means.items():
        known = {column: row[column] for column in columns if column in row and column != AUTO}
        if known and AUTO in row:
            best = max(known, key=lambda column: known[column])
            behind[name] = (known[best] - row[AUTO], best)
    what = f"On no set is auto more than {BEHIND} points below the best column {whose}"
    if not behind:
        return Claim(None, what, "")
    far = [f"{name} by {points:.2f} ({best})" for name, (points, best) in behind.items() if points > BEHIND]
    worst = max(behind, key=lambda name: behind[name][0])
    points, best = behind[worst]
    return Claim(not far, what, f"Farther: {', '.join(far)}" if far else f"Farthest: {worst}, {points:+.2f} ({best})")


def _units(means: Means) -> Claim:
    lost = {name: row[AUTO] for name, row in _lost(means).items() if AUTO in row}
    what = f"Columns in other units cost auto at most {BEHIND} points on any set"
    if not lost:
        return Claim(None, what, "")
    worst = max(lost, key=lambda name: lost[name])
    return Claim(
        lost[worst] <= BEHIND, what, f"Most: {worst}, {lost[worst]:+.2f}; mean {statistics.fmean(lost.values()):+.2f}"
    )


def _near(means: Means) -> Claim:
    short = {name: row[CONVERGED] - row[TEN] for name, row in means.items() if CONVERGED in row and TEN in row}
    what = f"After ten passes auto is within {NEAR} points of LIBLINEAR, or above it"
    if not short:
        return Claim(None, what, "")
    far = [f"{name} by {points:.2f}" for name, points in short.items() if points > NEAR]
    mean = f"Mean of LIBLINEAR less auto: {statistics.fmean(short.values()):+.2f}"
    return Claim(not far, what, f"Farther: {', '.join(far)}. {mean}" if far else mean)


def _lost(means: Means) -> Means:
    """Return the points that other units cost each column."""
    return {
        name: {column: row[column] - row[UNITS + column] for column in row if UNITS + column in row}
        for name, row in means.items()
        if any(column.startswith(UNITS) for column in row)
    }


def _columns(means: Means, beginnings: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(c for row in means.values() for c in row if c.startswith(beginnings)))


def _ours(means: Means) -> list[str]:
    apart = (*OTHERS, UNITS, TEN, CONVERGED, "the label before")
    return list(dict.fromkeys(c for row in means.values() for c in row if not c.startswith(apart)))


def _mean(means: Means, column: str, sign: str) -> str:
    values = [row[column] for row in means.values() if column in row]
    if not values:
        return ""
    shown = f"{statistics.fmean(values):{sign}.2f}"
    return shown if len(values) == len(means) else f"({shown})"


def _bold(text: str, bold: bool) -> str:
    return f"**{text}**" if bold else text
