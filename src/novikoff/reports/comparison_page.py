"""A comparison of learners as one HTML file: mistakes made beside mistakes allowed, the table, the advice, the numbers.

Everything that comes from data is escaped. Times differ from run to run, everything else is the same for the same data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from novikoff.certificates.compare import Comparison
from novikoff.reports import html_page, plot_theme
from novikoff.reports.formatting import format_number
from novikoff.reports.plot_theme import PLOT_STYLES, TEXT_COLOUR

COMPARISON_FILE_NAME = "comparison.json"
TABLE_COLUMNS = ("learner", "mistakes", "updates", "progressive error", "seconds", "bound", "slack", "theorem")
ROW_PIXELS = 34  # pixels that a learner takes in the plot


def build_page(found: Comparison, titles: Sequence[str]) -> str:
    named = ", ".join([*titles[:3], *(["…"] if len(titles) > 3 else [])])
    rows = [entry.as_dict() for entry in found.entries]
    parts = [*html_page.render_head(f"Learners on {named} – novikoff"), *_render_head(named, found)]
    note = (
        "Circles: mistakes made, in this order of the examples. Diamonds: the tightest bound that was shown to hold for"
    )
    note += " every order; where there is none, no theorem was shown to apply. The axis is logarithmic."
    parts += [
        *html_page.render_figure(1, "Mistakes made, and the bound", _describe_plot(rows), _draw_plot(rows), note),
        *_render_table(rows),
    ]
    parts += [
        *_render_left_out(found),
        f"<p>{html_page.render_save_link('Save the numbers as JSON', COMPARISON_FILE_NAME)}</p>",
    ]
    text = "\n".join([*parts, *html_page.render_foot(json.dumps(found.as_dict(), ensure_ascii=False, indent=1))])
    return text.encode("utf-8", "replace").decode()


def _render_head(named: str, found: Comparison) -> Iterator[str]:
    yield '<header>\n<p class="lab">novikoff compare</p>'
    yield f"<h1>Learners on <bdi>{escape(named)}</bdi></h1>"
    yield f'<p class="question">{escape(found.advice)}</p>\n</header>\n{html_page.NO_SCRIPT_NOTICE}'


def _describe_plot(rows: list[dict[str, Any]]) -> str:
    return "; ".join(f"{row['learner']}: {row['mistakes']} mistakes" for row in rows)


def _draw_plot(rows: list[dict[str, Any]]) -> str:
    """One line for each learner, the fewest mistakes on top."""
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


def _render_table(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield "<p>The progressive error is about the run: each example was predicted before it was learned from.</p>"
    yield '<div class="table">\n<table>\n<thead><tr>'
    yield "".join(f'<th scope="col">{title}</th>' for title in TABLE_COLUMNS)
    yield "</tr></thead>\n<tbody>"
    for row in rows:
        allowed = "–" if row["bound"] is None else format_number(row["bound"])
        slack = "–" if row["slack"] is None else f"{row['slack']:.1f}"
        cells = (
            format_number(row["mistakes"]),
            format_number(row["updates"]),
            f"{row['progressive_error']:.4f}",
            f"{row['seconds']:.3f}",
        )
        texts = (*cells, allowed, slack, escape(row["theorem"] or "none was shown"))
        yield f'<tr><th scope="row">{escape(row["learner"])}</th>' + "".join(f"<td>{t}</td>" for t in texts) + "</tr>"
    yield "</tbody>\n</table>\n</div>"


def _render_left_out(found: Comparison) -> Iterator[str]:
    if found.skipped:
        yield "<section>\n<h2>Learners that were skipped</h2>\n<ul>"
        for name, why in found.skipped.items():
            yield f"<li>{escape(name)}: <bdi>{escape(why)}</bdi></li>"
        yield "</ul>\n</section>"
