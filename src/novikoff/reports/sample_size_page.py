"""Build the page of sample sizes against ε: all bounds that hold for a hypothesis class, the requested one first."""

from __future__ import annotations

import json
from typing import Any

from novikoff.reports import plot_theme
from novikoff.reports.plot_theme import PLOT_STYLES
from novikoff.reports.rendering import render_page
from novikoff.theory.class_size import ClassSize
from novikoff.theory.formula_text import format_integer, format_number
from novikoff.theory.samples.sample_size import SAMPLE_SIZE_BOUNDS, table

TableRows = dict[str, list[tuple[float, int]]]
REQUESTED_LINE: dict[str, Any] = {"width": 3}
OTHER_LINE: dict[str, Any] = {"width": 1.5, "dash": "6px 4px"}


def build_page(law: str, class_params: dict[str, Any], delta: float, epsilons: tuple[float, ...]) -> str:
    columns = _build_tables(law, class_params, delta, epsilons)
    numbers = {
        "law": law,
        "delta": delta,
        "class": {key: value.formula if isinstance(value, ClassSize) else value for key, value in class_params.items()},
        "tables": {name: [{"epsilon": e, "examples": m} for e, m in rows] for name, rows in columns.items()},
    }
    values = {
        "law": law,
        "confidence": f"{1.0 - delta:.12g}",
        "lead": [_describe_class(class_params)],
        "plot": _draw_plot(law, columns),
        "heads": ["ε", *columns],
        "rows": [
            [f"{row[0][0]:g}", *(format_integer(count) for _, count in row)]
            for row in zip(*columns.values(), strict=True)
        ],
        "bounds": {name: SAMPLE_SIZE_BOUNDS[name] for name in columns},
    }
    return render_page("sample_size.html", json.dumps(numbers, ensure_ascii=False), values)


def _build_tables(law: str, class_params: dict[str, Any], delta: float, epsilons: tuple[float, ...]) -> TableRows:
    """Return the requested bound first, then the others that hold for the class. VC(H) ≤ log₂|H|."""
    more = dict(class_params)
    if "hypotheses" in class_params:
        more["dimension"] = int(class_params["hypotheses"].log2)
    names = [law, *(name for name in SAMPLE_SIZE_BOUNDS if name != law)]
    return {
        name: table(name, delta=delta, epsilons=epsilons, **more) for name in names if _is_applicable(name, law, more)
    }


def _is_applicable(name: str, law: str, class_params: dict[str, Any]) -> bool:
    if name == law:
        return True
    known = SAMPLE_SIZE_BOUNDS[name].of
    if SAMPLE_SIZE_BOUNDS[name].necessary and "hypotheses" in class_params:
        return False  # log₂|H| bounds the VC dimension only from above
    return bool(known) and known in class_params and (name != "vc-agnostic" or class_params["dimension"] >= 1)


def _describe_class(class_params: dict[str, Any]) -> str:
    texts = {"hypotheses": "A class of {} hypotheses.", "dimension": "A class of VC dimension {}."}
    return " ".join(texts[key].format(format_number(value)) for key, value in class_params.items()) or "One hypothesis."


def _draw_plot(law: str, rows: TableRows) -> str:
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "x": [epsilon for epsilon, _ in one],
            # Counts that overflow a float are not drawn.
            "y": [float(many) if many.bit_length() < 1000 else None for _, many in one],
            "line": {"color": style.colour, **(REQUESTED_LINE if name == law else OTHER_LINE)},
            "marker": {"symbol": style.mark, "size": 8},
        }
        for style, (name, one) in zip(PLOT_STYLES, rows.items(), strict=False)
    ]
    x = {**plot_theme.build_log_axis("ε"), "autorange": "reversed"}
    return plot_theme.render_plot(
        traces, plot_theme.build_layout(xaxis=x, yaxis=plot_theme.build_log_axis("examples")), "plot-0"
    )
