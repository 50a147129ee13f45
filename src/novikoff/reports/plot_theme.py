"""What all plots share: colours, marks, axes, and how a figure becomes a piece of a page.

The colours are those of Okabe and Ito, which people of every colour vision tell apart; each line has its own mark, dash
or pattern beside its colour.
"""

from __future__ import annotations

from html import escape
from typing import Any, NamedTuple

from novikoff.errors import needed

INK, GREY, LINES = "#1f2933", "#6b7280", "#e5e7eb"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
CONFIG = {"displaylogo": False, "responsive": True, "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d"]}


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


def as_html(traces: list[dict[str, Any]], layout: dict[str, Any], place: str) -> str:
    """A <div> with the id `place`, and the script that draws in it; Plotly's own script must come before."""
    go = needed("plotly.graph_objects", "report", "A report")

    figure = go.Figure(data=traces, layout=layout)
    html: str = figure.to_html(full_html=False, include_plotlyjs=False, div_id=place, config=CONFIG)
    return html


def library() -> str:
    """Plotly's JavaScript, to be put into the page."""
    script: str = needed("plotly.offline", "report", "A report").get_plotlyjs()
    return script


def layout(height: int = 560, **more: Any) -> dict[str, Any]:
    return {
        "template": "none",
        "height": height,
        "font": {"family": FONT, "size": 14, "color": INK},
        "margin": {"l": 64, "r": 12, "t": 12, "b": 56},
        "legend": {"orientation": "h", "y": -0.16, "yanchor": "top", "x": 0, "font": {"size": 12}},
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        **more,
    }


def axis(title: str, **more: Any) -> dict[str, Any]:
    return {
        "title": {"text": title, "standoff": 8},
        "gridcolor": LINES,
        "zeroline": False,
        "showline": True,
        "linecolor": GREY,
        "ticks": "outside",
        "tickcolor": GREY,
        "automargin": True,
        **more,
    }


def log_axis(title: str, *, few_decades: bool = False) -> dict[str, Any]:
    ticks = {
        "dtick": "D2" if few_decades else 1,
        "exponentformat": "power",
        "minor": {"ticks": "outside", "ticklen": 3},
    }
    return axis(title, type="log", **ticks)


def literal(text: str, most: int = 200) -> str:
    """A text from data as Plotly is to show it, letter by letter: Plotly takes some tags, and $…$, for its own."""
    clean = "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
    return escape(clean if len(clean) <= most else f"{clean[: most - 1]}…", quote=False).replace("$", "&#36;")
