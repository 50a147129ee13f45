"""Define the colours, marks and axes of all plots, and turn a Plotly figure into HTML."""

from __future__ import annotations

from html import escape
from typing import Any, NamedTuple

from novikoff.errors import import_optional

TEXT_COLOUR, AXIS_COLOUR, GRID_COLOUR = "#1f2933", "#6b7280", "#e5e7eb"
FONT_FAMILY = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
PLOTLY_CONFIG = {
    "displaylogo": False,
    "responsive": True,
    "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d"],
}


class PlotStyle(NamedTuple):
    colour: str
    mark: str


PLOT_STYLES = (
    PlotStyle("#D55E00", "circle"),
    PlotStyle("#0072B2", "square"),
    PlotStyle("#009E73", "diamond"),
    PlotStyle("#CC79A7", "triangle-up"),
    PlotStyle("#E69F00", "cross"),
    PlotStyle("#56B4E9", "triangle-down"),
    PlotStyle("#000000", "x"),
)
"""The palette of Okabe and Ito, which readers with any colour vision can distinguish."""


def render_plot(traces: list[dict[str, Any]], layout: dict[str, Any], place: str) -> str:
    """Return a <div> with the id `place` and the script that draws in it; the page must load Plotly before."""
    go = import_optional("plotly.graph_objects", "report", "A report")

    figure = go.Figure(data=traces, layout=layout)
    html: str = figure.to_html(full_html=False, include_plotlyjs=False, div_id=place, config=PLOTLY_CONFIG)
    return html


def plotly_script() -> str:
    """Return Plotly's JavaScript, to be embedded in the page."""
    script: str = import_optional("plotly.offline", "report", "A report").get_plotlyjs()
    return script


def build_layout(height: int = 560, **more: Any) -> dict[str, Any]:
    return {
        "template": "none",
        "height": height,
        "font": {"family": FONT_FAMILY, "size": 14, "color": TEXT_COLOUR},
        "margin": {"l": 64, "r": 12, "t": 12, "b": 56},
        "legend": {"orientation": "h", "y": -0.16, "yanchor": "top", "x": 0, "font": {"size": 12}},
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        **more,
    }


def build_axis(title: str, **more: Any) -> dict[str, Any]:
    return {
        "title": {"text": title, "standoff": 8},
        "gridcolor": GRID_COLOUR,
        "zeroline": False,
        "showline": True,
        "linecolor": AXIS_COLOUR,
        "ticks": "outside",
        "tickcolor": AXIS_COLOUR,
        "automargin": True,
        **more,
    }


def build_log_axis(title: str, *, few_decades: bool = False) -> dict[str, Any]:
    ticks = {
        "dtick": "D2" if few_decades else 1,
        "exponentformat": "power",
        "minor": {"ticks": "outside", "ticklen": 3},
    }
    return build_axis(title, type="log", **ticks)


def escape_for_plotly(text: str, most: int = 200) -> str:
    """Escape a text from data, because Plotly interprets some tags and $…$; cut it to `most` characters."""
    clean = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return escape(clean if len(clean) <= most else f"{clean[: most - 1]}…", quote=False).replace("$", "&#36;")
