"""Build the page of an experiment: plots, checks, theorems, tables, settings and the numbers as JSON."""

from __future__ import annotations

import json
from typing import Any

from novikoff import __version__
from novikoff.experiments.result import ExperimentResult, Panel
from novikoff.reports import figures
from novikoff.reports.formatting import build_table
from novikoff.reports.rendering import render_page


def build_page(result: ExperimentResult) -> str:
    styles = figures.assign_styles(result.panels)
    fits = {panel.name: [fit for fit in result.fits if fit.panel == panel.name] for panel in result.panels}
    values = {
        "result": result,
        "version": __version__,
        "lead": [result.question],
        "plots": [
            (panel, figures.render_panel(panel, fits[panel.name], styles, f"plot-{number}"))
            for number, panel in enumerate(result.panels)
        ],
        "tables": [_build_panel_table(panel, fits[panel.name]) for panel in result.panels],
    }
    return render_page("experiment.html", json.dumps(result.as_dict(), ensure_ascii=False), values)


def _build_panel_table(panel: Panel, fits: list[Any]) -> dict[str, Any]:
    columns, rows = build_table(panel)
    learners = {column.key: column.learner for column in columns}
    shown = f" ({len(rows)} of {len(panel.rows)} rows)" if len(rows) < len(panel.rows) else ""
    return {
        "title": panel.title,
        "caption": f"{panel.title}{shown}",
        "heads": [column.title for column in columns],
        "rows": rows,
        "fits": [(learners[fit.of], fit.title) for fit in fits],
    }
