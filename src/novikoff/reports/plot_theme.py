"""What all plots share: colours, marks, axes, and how a figure becomes a piece of a page.

The colours are those of Okabe and Ito, which people of every colour vision tell apart; each line has its own mark, dash
or pattern beside its colour.
"""

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


def render_plot(traces: list[dict[str, Any]], layout: dict[str, Any], place: str) -> str:
    """A <div> with the id `place`, and the script that draws in it; Plotly's own script must come before."""
    go = import_optional("plotly.graph_objects", "report", "A report")

    figure = go.Figure(data=traces, layout=layout)
    html: str = figure.to_html(full_html=False, include_plotlyjs=False, div_id=place, config=PLOTLY_CONFIG)
    return html


def plotly_script() -> str:
    """Plotly's JavaScript, to be put into the page."""
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
    """A text from data as Plotly is to show it, letter by letter: Plotly takes some tags, and $…$, for its own."""
    clean = "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
    return escape(clean if len(clean) <= most else f"{clean[: most - 1]}…", quote=False).replace("$", "&#36;")
