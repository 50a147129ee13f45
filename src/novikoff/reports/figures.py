"""A panel as a Plotly figure: what was made is a line with marks, what is allowed broad, pale and dashed.

Fits are dotted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from novikoff.experiments.curve_fit import Fit
from novikoff.experiments.result import Axis, Column, Panel
from novikoff.reports import plot_theme
from novikoff.reports.plot_theme import (GREY, INK, LOOKS, Look)


def looks(panels: Iterable[Panel]) -> dict[str, Look]:
    """A look for each learner, the same in all panels."""
    learners = dict.fromkeys(c.learner for panel in panels for c in panel.columns if c.role == "made")
    return {learner: LOOKS[place % len(LOOKS)] for place, learner in enumerate(learners)}


def as_html(panel: Panel, fits: Iterable[Fit], look_of: dict[str, Look], place: str) -> str:
    """A <div> with the id `place`, and the script that draws in it; Plotly's own script must come before."""
    return plot_theme.as_html(_traces(panel, fits, look_of), _layout(panel), place)


def _traces(panel: Panel, fits: Iterable[Fit], look_of: dict[str, Look]) -> list[dict[str, Any]]:
    at = next(panel.values(column.key) for column in panel.columns if column.role == "x")
    columns = [column for column in panel.columns if column.role not in ("x", "other")]
    columns.sort(key=lambda column: column.theorem is None)  # bounds lie below
    drawn = [{**_column(panel, column, look_of), "legendrank": panel.columns.index(column)} for column in columns]
    dots = {"color": INK, "width": 1.5, "dash": "dot"}
    named = {column.key: column.learner for column in panel.columns}
    drawn += [
        {"name": f"{named[fit.of]} ≈ {fit.title}", "y": fit.at, "mode": "lines", "line": dots, "hoverinfo": "skip"}
        for fit in fits
    ]
    return [{"type": "scatter", "x": at, **trace} for trace in drawn]


def _column(panel: Panel, column: Column, look_of: dict[str, Look]) -> dict[str, Any]:
    values = panel.values(column.key)
    if column.role == "reference":
        line = {"color": GREY, "width": 1.5}
        return {"name": column.title, "y": values, "mode": "lines", "line": line}
    look = look_of[column.learner]
    if column.theorem is None:
        marks = len(panel.rows) <= 30
        return {
            "name": column.learner,
            "y": values,
            "mode": "lines+markers" if marks else "lines",
            "line": {"color": look.colour, "width": 2},
            "marker": {"symbol": look.mark, "size": 8},
        }
    alone = sum(value is not None for value in values) == 1  # a line needs two
    return {
        "name": f"{column.learner} {'≤' if column.role == 'most' else '≥'} {column.theorem.formula}",
        "y": values,
        "mode": "markers" if alone else "lines",
        "opacity": 1.0 if alone else 0.45,
        "line": {"color": look.colour, "width": 5, "dash": "8px 5px"},
        "marker": {"symbol": f"{look.mark}-open", "size": 13, "line": {"width": 2}, "color": look.colour},
    }


def _layout(panel: Panel) -> dict[str, Any]:
    at = [v for column in panel.columns if column.role == "x" for v in panel.values(column.key) if v is not None]
    zero = {} if panel.y.log else {"rangemode": "tozero"}
    return plot_theme.layout(hovermode="x unified", xaxis=_axis(panel.x, at), yaxis={**_axis(panel.y), **zero})


def _axis(axis: Axis, values: list[float] | None = None) -> dict[str, Any]:
    if not axis.log:
        return plot_theme.axis(axis.title, type="linear")
    return plot_theme.log_axis(axis.title, few_decades=values is not None and max(values) <= 200.0 * min(values))
