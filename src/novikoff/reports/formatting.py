"""Numbers as people read them, and tables of no more rows than they look at."""

from __future__ import annotations

from novikoff.experiments.result import Panel, PanelColumn, Value

MAX_TABLE_ROWS = 12


def format_number(value: Value) -> str:
    """Whole numbers in full, others to four digits; a dash where there is none."""
    if value is None:
        return "–"
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def build_table(panel: Panel) -> tuple[tuple[PanelColumn, ...], list[list[str]]]:
    """Evenly chosen rows, the first and the last among them; all of them are in the JSON."""
    count = len(panel.rows)
    n_shown = min(count, MAX_TABLE_ROWS)
    chosen = sorted({round(k * (count - 1) / max(n_shown - 1, 1)) for k in range(n_shown)})
    return panel.columns, [[format_number(value) for value in panel.rows[k]] for k in chosen]
