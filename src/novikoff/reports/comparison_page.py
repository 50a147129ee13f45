"""Build the page of a comparison of learners: mistakes made and allowed, the table, the advice and the numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from novikoff.certificates.compare import Comparison
from novikoff.reports import plot_theme
from novikoff.reports.formatting import format_number
from novikoff.reports.plot_theme import PLOT_STYLES, TEXT_COLOUR
from novikoff.reports.rendering import render_page

ROW_PIXELS = 34
"""Height of a learner in the plot."""


def build_page(found: Comparison, titles: Sequence[str]) -> str:
    entries = [entry.as_dict() for entry in found.entries]
    values = {
        "name": ", ".join([*titles[:3], *(["…"] if len(titles) > 3 else [])]),
        "lead": [found.advice],
        "description": "; ".join(f"{entry['learner']}: {entry['mistakes']} mistakes" for entry in entries),
        "plot": _draw_plot(entries),
        "rows": [_build_row(entry) for entry in entries],
        "skipped": found.skipped,
    }
    return render_page("comparison.html", json.dumps(found.as_dict(), ensure_ascii=False, indent=1), values)


def _draw_plot(rows: list[dict[str, Any]]) -> str:
    """Plot one row for each learner, the fewest mistakes on top."""
    names = [row["learner"] for row in rows]
    made, allowed = (
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": values,
            "y": names,
            "marker": {
                "symbol": style.mark,
                "size": 11,
                "color": style.colour,
                "line": {"color": TEXT_COLOUR, "width": 1},
            },
        }
        for name, values, style in (
            ("made", [max(row["mistakes"], 0.5) for row in rows], PLOT_STYLES[0]),
            ("bound", [row["bound"] for row in rows], PLOT_STYLES[2]),
        )
    )
    y = {"autorange": "reversed", "automargin": True, "gridcolor": plot_theme.GRID_COLOUR}
    layout = plot_theme.build_layout(
        height=160 + ROW_PIXELS * len(rows), xaxis=plot_theme.build_log_axis("mistakes"), yaxis=y
    )
    return plot_theme.render_plot([made, allowed], layout, "compared")


def _build_row(entry: dict[str, Any]) -> list[str]:
    return [
        entry["learner"],
        format_number(entry["mistakes"]),
        format_number(entry["updates"]),
        f"{entry['progressive_error']:.4f}",
        f"{entry['seconds']:.3f}",
        format_number(entry["bound"]),
        "–" if entry["slack"] is None else f"{entry['slack']:.1f}",
        entry["theorem"] or "none shown",
    ]
