"""Results of experiments: panels of observed counts and bounds. Every bound shown is checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from novikoff.experiments.curve_fit import Fit
from novikoff.experiments.theorems import Theorem

RELATIVE_TOLERANCE = 1e-9
"""Relative differences below this are rounding errors of the bounds."""

Value = float | None
Role = Literal["x", "observed", "upper bound", "lower bound", "reference", "other"]


class PanelColumn(NamedTuple):
    """One series of numbers, with its role.

    An `observed` column is drawn. `upper bound` and `lower bound` are bounds of another column. A `reference` is
    drawn for comparison, `other` is only listed.
    """

    key: str
    title: str
    role: Role
    learner: str = ""
    limits: str = ""
    """The key of the column that a bound holds for."""
    theorem: Theorem | None = None

    def as_dict(self) -> dict[str, Any]:
        about = {"key": self.key, "title": self.title, "role": self.role}
        bound = {"limits": self.limits, "theorem": self.theorem.name} if self.theorem else {}
        return {**about, **({"learner": self.learner} if self.learner else {}), **bound}


def x_column(key: str, title: str) -> PanelColumn:
    return PanelColumn(key, title, "x")


def observed_column(key: str, learner: str) -> PanelColumn:
    return PanelColumn(key, learner, "observed", learner)


def upper_bound_column(of: PanelColumn, theorem: Theorem) -> PanelColumn:
    return PanelColumn(f"{of.key}_bound", "bound", "upper bound", of.learner, of.key, theorem)


def lower_bound_column(of: PanelColumn, theorem: Theorem) -> PanelColumn:
    return PanelColumn(f"{of.key}_lower_bound", "lower bound", "lower bound", of.learner, of.key, theorem)


class Axis(NamedTuple):
    title: str
    log: bool = False


class Panel(NamedTuple):
    """One plot and its table."""

    name: str
    title: str
    note: str
    """A description of the plot in a sentence or two."""
    x: Axis
    y: Axis
    columns: tuple[PanelColumn, ...]
    rows: tuple[tuple[Value, ...], ...]

    def values(self, key: str) -> list[Value]:
        place = [column.key for column in self.columns].index(key)
        return [row[place] for row in self.rows]

    def points(self) -> list[dict[str, Value]]:
        keys = [column.key for column in self.columns]
        return [dict(zip(keys, row, strict=True)) for row in self.rows]


def build_panel(
    name: str,
    title: str,
    note: str,
    axes: tuple[Axis, Axis],
    columns: tuple[PanelColumn, ...],
    points: Iterable[Mapping[str, Value]],
) -> Panel:
    rows = tuple(tuple(point[column.key] for column in columns) for point in points)
    return Panel(name, title, note, *axes, columns, rows)


class BoundCheck(NamedTuple):
    """One number against its bound."""

    panel: str
    where: str
    theorem: str
    learner: str
    made: float
    sense: Literal["at most", "at least"]
    bound: float

    @property
    def holds(self) -> bool:
        slack = RELATIVE_TOLERANCE * abs(self.bound)
        return self.made <= self.bound + slack if self.sense == "at most" else self.made >= self.bound - slack

    def __str__(self) -> str:
        return (
            f"{self.panel}, {self.where}: {self.learner} has {self.made:g},"
            f" {self.theorem} says {self.sense} {self.bound:g}"
        )


class ExperimentResult(NamedTuple):
    """The result of an experiment: numbers and texts, equal for equal settings."""

    name: str
    title: str
    question: str
    seen: tuple[str, ...]
    """The findings, as paragraphs."""
    settings: dict[str, Any]
    panels: tuple[Panel, ...]
    fits: tuple[Fit, ...] = ()

    @property
    def theorems(self) -> tuple[Theorem, ...]:
        named = (column.theorem for panel in self.panels for column in panel.columns)
        return tuple(dict.fromkeys(theorem for theorem in named if theorem is not None))

    @property
    def checks(self) -> list[BoundCheck]:
        return [check for panel in self.panels for check in _iter_checks(panel)]

    @property
    def violated(self) -> list[BoundCheck]:
        return [check for check in self.checks if not check.holds]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "experiment": self.name,
            "title": self.title,
            "settings": self.settings,
            "panels": [
                {
                    "name": panel.name,
                    "title": panel.title,
                    "columns": [column.as_dict() for column in panel.columns],
                    "points": panel.points(),
                }
                for panel in self.panels
            ],
            "fits": [fit.as_dict() for fit in self.fits],
            "theorems": [theorem._asdict() for theorem in self.theorems],
            "bounds_checked": len(self.checks),
            "bounds_violated": [str(check) for check in self.violated],
        }


def _iter_checks(panel: Panel) -> Iterator[BoundCheck]:
    at = next(column for column in panel.columns if column.role == "x")
    for point in panel.points():
        for column in panel.columns:
            bound = point[column.key]
            if column.theorem is None or bound is None:
                continue
            count = point[column.limits]
            if count is None:
                raise AssertionError(f"{panel.name}: {column.key} bounds nothing at {point[at.key]}.")
            sense: Any = "at most" if column.role == "upper bound" else "at least"
            where = f"{at.title} = {point[at.key]:g}"
            yield BoundCheck(panel.name, where, column.theorem.name, column.learner, count, sense, bound)
