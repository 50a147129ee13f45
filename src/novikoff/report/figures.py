"""A panel as a Plotly figure: what was made is a line with marks, what is allowed broad, pale and dashed, fits dotted.

The colours are those of Okabe and Ito, which people of every colour vision tell apart; each learner has its own mark.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from novikoff.lab.fits import Fit
from novikoff.lab.result import Axis, Column, Panel

INK, GREY, LINES = "#1f2933", "#6b7280", "#e5e7eb"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


class Look(NamedTuple):
    colour: str
    mark: str


LOOKS = (
    Look("#D55E00", "circle"),
    Look("#0072B2", "square"),
    Look("#009E73", "diamond"),
    Look("#CC79A7", "triangle-up"),
    Look("#E69F00", "cross"),
    Look("#56B4E9", "triangle-down"),
    Look("#000000", "x"),
)
CONFIG = {"displaylogo": False, "responsive": True, "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d"]}


def looks(panels: Iterable[Panel]) -> dict[str, Look]:
    """A look for each learner, the same in all panels."""
    learners = dict.fromkeys(c.learner for panel in panels for c in panel.columns if c.role == "made")
    return {learner: LOOKS[place % len(LOOKS)] for place, learner in enumerate(learners)}


def as_html(panel: Panel, fits: Iterable[Fit], look_of: dict[str, Look], place: str) -> str:
    """A <div> with the id `place`, and the script that draws in it; Plotly's own script must come before."""
    import plotly.graph_objects as go

    figure = go.Figure(data=_traces(panel, fits, look_of), layout=_layout(panel))
    html: str = figure.to_html(full_html=False, include_plotlyjs=False, div_id=place, config=CONFIG)
    return html


def library() -> str:
    """Plotly's JavaScript, to be put into the page."""
    from plotly.offline import get_plotlyjs

    script: str = get_plotlyjs()
    return script


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
    at = next(panel.values(column.key) for column in panel.columns if column.role == "x")
    return {
        "template": "none",
        "height": 560,
        "font": {"family": FONT, "size": 14, "color": INK},
        "margin": {"l": 64, "r": 12, "t": 12, "b": 56},
        "hovermode": "x unified",
        "legend": {"orientation": "h", "y": -0.16, "yanchor": "top", "x": 0, "font": {"size": 12}},
        "xaxis": _axis(panel.x, [value for value in at if value is not None]),
        "yaxis": {**_axis(panel.y), **({} if panel.y.log else {"rangemode": "tozero"})},
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
    }


def _axis(axis: Axis, values: list[float] | None = None) -> dict[str, Any]:
    few_decades = values is not None and max(values) <= 200.0 * min(values)
    log = {"dtick": "D2" if few_decades else 1, "exponentformat": "power", "minor": {"ticks": "outside", "ticklen": 3}}
    return {
        "title": {"text": axis.title, "standoff": 8},
        "type": "log" if axis.log else "linear",
        "gridcolor": LINES,
        "zeroline": False,
        "showline": True,
        "linecolor": GREY,
        "ticks": "outside",
        "tickcolor": GREY,
        "automargin": True,
        **(log if axis.log else {}),
    }
