"""Build the HTML page of the benchmark tables: ratios with their spread beside their targets, and growth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.measure import Limit, Row, Slope
from benchmarks.tables import Table, describe_conditions, encode_tables
from novikoff.reports import plot_theme
from novikoff.reports.plot_theme import AXIS_COLOUR, PLOT_STYLES, TEXT_COLOUR
from novikoff.reports.rendering import render_page

HEIGHT = 32  # pixels that a row takes in a plot
LEAST = 0.01  # smallest share of a target or limit that is drawn: the axis is logarithmic


def render_results(tables: Sequence[Table]) -> str:
    rows = [row for table in tables for row in table.rows]
    lead = (
        f"{sum(row.reached() for row in rows)} of {len(rows)} rows reach their target. Both sides of a row are"
        " measured in alternate rounds; the ratio is the median over the rounds, the spread goes from the least to the"
        " largest."
    )
    values = {"lead": [lead], "parts": [_describe_table(number, table) for number, table in enumerate(tables, 1)]}
    return render_page("benchmarks.html", encode_tables(tables), values, package="benchmarks")


def _describe_table(number: int, table: Table) -> dict[str, Any]:
    """Return plots and rows: ratios and limits are shares of their targets, so that all units share one axis."""
    rows = [row for row in table.rows if isinstance(row, Row | Limit)]
    slopes = [row for row in table.rows if isinstance(row, Slope)]
    return {
        "heading": table.heading,
        "about": describe_conditions(table),
        "heads": ["", table.left, table.right, "found", "of the rounds", "target", ""],
        "rows": [list(row.cells()) for row in table.rows],
        "ratio_plot": _ratios(rows, f"ratios-{number}") if rows else "",
        "ratio_description": "; ".join(
            f"{row.title}: {row.cells().found}, target {row.cells().target}" for row in rows
        ),
        "growth_plot": _lines(slopes, f"growth-{number}") if slopes else "",
        "growth_description": "; ".join(f"{row.title} {row.cells().found}" for row in slopes),
    }


def compute_target_shares(row: Row | Limit) -> tuple[float, float, float]:
    """Return the median, the least and the largest as shares of the target; more is better.

    >>> shares(Row("a", 1.0, 3.0, 3.0, 2.0, 4.0, 2.0))
    (1.5, 1.0, 2.0)
    >>> shares(Limit("b", 1.0, 2.0, 2.0, 1.0, 4.0, 4.0, "×"))
    (2.0, 1.0, 4.0)
    """
    if isinstance(row, Row):
        found, low, high = (max(value / row.target, LEAST) for value in (row.ratio, row.low, row.high))
        return found, low, high
    found, high, low = (row.limit / max(value, row.limit * LEAST) for value in (row.found, row.low, row.high))
    return found, low, high


def _ratios(rows: Sequence[Row | Limit], place: str) -> str:
    rows = [row for row in rows if not (isinstance(row, Row) and row.target == 0.0)]  # rows without a target
    found = [compute_target_shares(row) for row in rows]
    names = [plot_theme.escape_for_plotly(row.title) for row in rows]
    marks = [PLOT_STYLES[2] if row.reached() else PLOT_STYLES[0] for row in rows]
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": [middle for middle, _, _ in found],
        "y": names,
        "text": [f"{row.cells().found} {row.cells().spread}, target {row.cells().target}" for row in rows],
        "hovertemplate": "%{y}<br>%{text}<extra></extra>",
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [high - middle for middle, _, high in found],
            "arrayminus": [middle - low for middle, low, _ in found],
            "color": AXIS_COLOUR,
        },
        "marker": {
            "symbol": [look.mark for look in marks],
            "color": [look.colour for look in marks],
            "size": 11,
            "line": {"color": TEXT_COLOUR, "width": 1},
        },
        "showlegend": False,
    }
    target = {
        "type": "line",
        "x0": 1,
        "x1": 1,
        "y0": 0,
        "y1": 1,
        "yref": "paper",
        "line": {"color": TEXT_COLOUR, "dash": "dash"},
    }
    layout = plot_theme.build_layout(
        height=130 + HEIGHT * len(rows),
        xaxis=plot_theme.build_axis("share of the target", type="log", dtick="D2"),
        yaxis={"autorange": "reversed", "automargin": True, "gridcolor": plot_theme.GRID_COLOUR},
        shapes=[target],
    )
    return plot_theme.render_plot([trace], layout, place)


def _lines(slopes: Sequence[Slope], place: str) -> str:
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": plot_theme.escape_for_plotly(f"{row.title} {row.slope:.3f}"),
            "x": list(row.sizes),
            "y": list(row.seconds),
            "line": {"color": look.colour},
            "marker": {"symbol": look.mark, "size": 10},
        }
        for row, look in zip(slopes, PLOT_STYLES * len(slopes), strict=False)
    ]
    axes = {"xaxis": plot_theme.build_log_axis("examples"), "yaxis": plot_theme.build_log_axis("seconds")}
    return plot_theme.render_plot(traces, plot_theme.build_layout(height=460, **axes), place)
