"""Draw the panels of experiments: observed counts as lines with marks, bounds dashed and pale, fits dotted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from novikoff.experiments.curve_fit import Fit
from novikoff.experiments.result import Axis, Panel, PanelColumn
from novikoff.reports import plot_theme
from novikoff.reports.plot_theme import AXIS_COLOUR, PLOT_STYLES, TEXT_COLOUR, PlotStyle


def assign_styles(panels: Iterable[Panel]) -> dict[str, PlotStyle]:
    """Return a style for each learner, the same in all panels."""
    learners = dict.fromkeys(c.learner for panel in panels for c in panel.columns if c.role == "observed")
    return {learner: PLOT_STYLES[place % len(PLOT_STYLES)] for place, learner in enumerate(learners)}


def render_panel(panel: Panel, fits: Iterable[Fit], styles: dict[str, PlotStyle], place: str) -> str:
    """Return the HTML of the plot in a <div> with the id `place`."""
    return plot_theme.render_plot(_build_traces(panel, fits, styles), _build_layout(panel), place)


def _build_traces(panel: Panel, fits: Iterable[Fit], styles: dict[str, PlotStyle]) -> list[dict[str, Any]]:
    at = next(panel.values(column.key) for column in panel.columns if column.role == "x")
    columns = [column for column in panel.columns if column.role not in ("x", "other")]
    columns.sort(key=lambda column: column.theorem is None)  # draw bounds below counts
    drawn = [{**_column_trace(panel, column, styles), "legendrank": panel.columns.index(column)} for column in columns]
    dots = {"color": TEXT_COLOUR, "width": 1.5, "dash": "dot"}
    named = {column.key: column.learner for column in panel.columns}
    drawn += [
        {"name": f"{named[fit.of]} ≈ {fit.title}", "y": fit.at, "mode": "lines", "line": dots, "hoverinfo": "skip"}
        for fit in fits
    ]
    return [{"type": "scatter", "x": at, **trace} for trace in drawn]


def _column_trace(panel: Panel, column: PanelColumn, styles: dict[str, PlotStyle]) -> dict[str, Any]:
    values = panel.values(column.key)
    if column.role == "reference":
        line = {"color": AXIS_COLOUR, "width": 1.5}
        return {"name": column.title, "y": values, "mode": "lines", "line": line}
    style = styles[column.learner]
    if column.theorem is None:
        marks = len(panel.rows) <= 30
        return {
            "name": column.learner,
            "y": values,
            "mode": "lines+markers" if marks else "lines",
            "line": {"color": style.colour, "width": 2},
            "marker": {"symbol": style.mark, "size": 8},
        }
    alone = sum(value is not None for value in values) == 1  # a line needs two points
    return {
        "name": f"{column.learner} {'≤' if column.role == 'upper bound' else '≥'} {column.theorem.formula}",
        "y": values,
        "mode": "markers" if alone else "lines",
        "opacity": 1.0 if alone else 0.45,
        "line": {"color": style.colour, "width": 5, "dash": "8px 5px"},
        "marker": {"symbol": f"{style.mark}-open", "size": 13, "line": {"width": 2}, "color": style.colour},
    }


def _build_layout(panel: Panel) -> dict[str, Any]:
    at = [v for column in panel.columns if column.role == "x" for v in panel.values(column.key) if v is not None]
    zero = {} if panel.y.log else {"rangemode": "tozero"}
    return plot_theme.build_layout(
        hovermode="x unified", xaxis=_build_axis(panel.x, at), yaxis={**_build_axis(panel.y), **zero}
    )


def _build_axis(axis: Axis, values: list[float] | None = None) -> dict[str, Any]:
    if not axis.log:
        return plot_theme.build_axis(axis.title, type="linear")
    return plot_theme.build_log_axis(axis.title, few_decades=values is not None and max(values) <= 200.0 * min(values))
