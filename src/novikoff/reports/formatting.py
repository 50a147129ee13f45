"""Numbers as people read them, and tables of no more rows than they look at."""

from __future__ import annotations

from novikoff.experiments.result import Column, Panel, Value

ROWS = 12


def shown(value: Value) -> str:
    """Whole numbers in full, others to four digits; a dash where there is none."""
    if value is None:
        return "–"
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def table(panel: Panel) -> tuple[tuple[Column, ...], list[list[str]]]:
    """Evenly chosen rows, the first and the last among them; all of them are in the JSON."""
    count = len(panel.rows)
    kept = min(count, ROWS)
    chosen = sorted({round(k * (count - 1) / max(kept - 1, 1)) for k in range(kept)})
    return panel.columns, [[shown(value) for value in panel.rows[k]] for k in chosen]
