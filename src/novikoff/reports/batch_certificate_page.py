"""Build the page of a certificate for a model that is fitted to all examples at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from novikoff.certificates.certificate import Certificate
from novikoff.data.reader import is_builtin
from novikoff.reports import plot_theme
from novikoff.reports.formatting import capitalize, format_number
from novikoff.reports.plot_theme import PLOT_STYLES, TEXT_COLOUR
from novikoff.reports.rendering import render_page


def build_page(certificate: Certificate, model: Any, titles: Sequence[str] = ()) -> str:
    names = [title if is_builtin(title) else Path(title).name for title in titles]
    values = {
        "document": certificate.document,
        "learner": capitalize(certificate.document["learner"]),
        "name": ", ".join(names) or "arrays",
        "titles": names,
        "has_queries": False,
        "lead": [model.describe() or ""],
        "bounds": [(bound, _list_bound_facts(bound)) for bound in certificate.bounds],
        "margin_plot": _draw_margins(model),
        "run_facts": _list_run_facts(certificate.document),
    }
    return render_page("batch_certificate.html", certificate.as_json(), values)


def _list_bound_facts(bound: dict[str, Any]) -> dict[str, str]:
    return {
        "observed": format_number(bound["observed"]),
        "bound": format_number(bound["bound"]),
        "verdict": bound["verdict"],
        **{name: f"{value:.6g}" for name, value in bound["numbers"].items()},
    }


def _draw_margins(model: Any) -> str:
    """Plot the share of the training examples up to each margin; empty where votes are not weighted."""
    margins = getattr(model, "margin_distribution_", None)
    if margins is None:
        return ""
    line = {"color": PLOT_STYLES[1].colour, "width": 2}
    traces = [{"type": "scatter", "x": margins.tolist(), "y": list(range(len(margins))), "mode": "lines", "line": line}]
    axis = {"linecolor": TEXT_COLOUR, "gridcolor": plot_theme.GRID_COLOUR, "zeroline": False}
    layout = plot_theme.build_layout(420, xaxis={**axis, "title": {"text": "margin"}, "range": [-1.02, 1.02]})
    layout["yaxis"] = {**axis, "title": {"text": "% of the examples"}, "range": [0, 101]}
    return plot_theme.render_plot(traces, layout, "plot-0")


def _list_run_facts(document: dict[str, Any]) -> dict[str, str]:
    return {
        **{name.replace("_", " "): json.dumps(value) for name, value in document["observed"].items()},
        **{name: json.dumps(value, ensure_ascii=False) for name, value in document["settings"].items()},
        "data": json.dumps(document["data"], ensure_ascii=False),
        "model (sha256)": document["model"],
    }
