"""Format numbers for readers, and choose the rows of printed tables."""

from __future__ import annotations

import math

from novikoff.experiments.result import Panel, PanelColumn, Value

MAX_TABLE_ROWS = 12


def format_number(value: Value) -> str:
    """Format whole numbers in full and others to four digits; None is a dash."""
    if value is None:
        return "–"
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def format_count(number: int, noun: str) -> str:
    """Format a number of things; `noun` is a plural."""
    return f"{number:,} {noun if number != 1 else noun.removesuffix('s')}"


def format_factor(slack: float) -> str:
    return f"{slack:.3g}" if slack < 1000.0 else format_number(slack)


def format_slack(slack: float | None) -> str:
    return "–" if slack is None else f"{format_factor(slack)} ×"


def format_percent(value: float) -> str:
    return f"{100.0 * value:.3g} %"


def format_upper_percent(value: float) -> str:
    """Format an upper bound in percent, rounded up so that the printed bound holds."""
    if value <= 0.0:
        return format_percent(value)
    unit = 10.0 ** (math.floor(math.log10(100.0 * value)) - 2)
    return f"{math.ceil(100.0 * value / unit - 1e-9) * unit:.3g} %"


def format_error_bound(value: float) -> str:
    """Format an upper bound of an error rate; a bound of 1 or more is vacuous."""
    return format_upper_percent(value) if value < 1.0 else "vacuous"


def capitalize(name: str) -> str:
    return name[:1].upper() + name[1:]


def build_table(panel: Panel) -> tuple[tuple[PanelColumn, ...], list[list[str]]]:
    """Return the columns and evenly chosen rows, the first and the last included; the JSON has all rows."""
    count = len(panel.rows)
    n_shown = min(count, MAX_TABLE_ROWS)
    chosen = sorted({round(k * (count - 1) / max(n_shown - 1, 1)) for k in range(n_shown)})
    return panel.columns, [[format_number(value) for value in panel.rows[k]] for k in chosen]
