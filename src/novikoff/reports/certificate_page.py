"""Build the page of a certificate for an online learner: summary, plots, tables and the certificate itself."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from novikoff.reports import charts, formatting, summary_text
from novikoff.reports.rendering import render_page
from novikoff.reports.report_data import ReportData
from novikoff.reports.weights import FeatureWeight

LEAD_PARAGRAPHS = (summary_text.describe_mistakes, summary_text.describe_bound, summary_text.describe_saved_model)


def build_page(report: ReportData) -> str:
    document = report.document
    files = document["data"].get("files", ())
    values = {
        "report": report,
        "document": document,
        "outcomes": report.outcomes,
        "labels": document["labels"],
        "learner": formatting.capitalize(document["learner"]),
        "name": ", ".join([*report.titles[:3], *(["…"] if len(report.titles) > 3 else [])]) or "arrays",
        "titles": report.titles,
        "has_queries": report.outcomes == "queries",
        "files": list(zip(report.titles or [""] * len(files), files, strict=True)),
        "stride": report.mistakes.stride,
        "lead": [describe(report) for describe in LEAD_PARAGRAPHS],
        "bound_summary": summary_text.describe_bound(report),
        "tile_items": list_tiles(report),
        "plots": _draw_plots(report),
        "margins": _list_margins(report),
        "guarantee": _list_guarantee_facts(document.get("hypothesis")),
        "short_certificate": _shorten_document(document),
        **_build_weight_table(report.weights or ()),
    }
    return render_page("certificate.html", report.certificate.as_json(), values)


def list_tiles(report: ReportData) -> Iterator[tuple[str, str, str]]:
    """Yield title, number and note of each tile; title and note name the run or the model that the number is about."""
    seen, best = report.document["observed"], summary_text.select_best_bound(report)
    error = f"{formatting.format_percent(seen['progressive_error'])} of {seen['examples']:,} predictions."
    note = f"progressive error of the run: {error}{summary_text.describe_first_pass(report)}"
    yield "Mistakes made while learning", formatting.format_number(seen["mistakes"]), note
    if best is not None:
        title = f"{str(best['counts']).capitalize()} allowed in this run, at most"
        yield title, formatting.format_number(math.floor(float(best["bound"]))), f"by {best['name']}, nothing assumed"
        made = f"{formatting.format_number(best['observed'])} made" if best["observed"] else "none made"
        yield "Slack of this run", formatting.format_slack(best["slack"]), f"bound ÷ {made}"
    promised = report.document.get("hypothesis")
    if promised is not None and promised["delta"] is not None and promised["bound"] < 1.0:
        confidence = (
            f"on new data, with confidence {formatting.format_percent(1.0 - promised['delta'])}, assuming i.i.d."
        )
        bound = formatting.format_upper_percent(promised["bound"])
        yield "Error of the saved model", f"≤ {bound}", f"{promised['about'].rstrip(',')}: {confidence}"


def _draw_plots(report: ReportData) -> dict[str, str]:
    has_margins = report.witness_margins is not None or report.learned_margins is not None
    return {
        "mistakes": charts.draw_mistakes(report, "plot-0"),
        "errors": charts.draw_errors(report, "plot-1") if report.errors.examples else "",
        "margins": charts.draw_margins(report, "plot-2") if has_margins else "",
        "weights": charts.draw_weights(report, "plot-3") if report.weights else "",
    }


def _list_margins(report: ReportData) -> list[tuple[str, Any, tuple[int, int]]]:
    both = (("Witness", report.witness_margins), ("Learned weights", report.learned_margins))
    return [(owner, found, charts.count_outliers(found)) for owner, found in both if found is not None]


def _build_weight_table(weights: tuple[FeatureWeight, ...]) -> dict[str, Any]:
    """Return titles and rows, with a column for the class where there are several."""
    many = bool(weights) and weights[0].speaks_for is not None
    titles = [*(["output"] if many else []), "feature", "importance", "weight", "standard deviation"]
    rows = [
        [
            *([weight.speaks_for] if many else []),
            weight.feature,
            *(_format_or_unknown(weight.importance), f"{weight.weight:+.6g}", _format_or_unknown(weight.std)),
        ]
        for weight in weights
    ]
    return {"weight_titles": titles, "weight_rows": rows}


def _format_or_unknown(number: float | None) -> str:
    return "unknown" if number is None else f"{number:.4g}"


def _list_guarantee_facts(promised: dict[str, Any] | None) -> dict[str, Any]:
    """Return what a theorem guarantees of the saved model; empty where no theorem is about it."""
    if promised is None:
        return {}
    facts = {"method": promised["method"], "chosen": promised.get("chosen"), "stop reason": promised.get("stop_reason")}
    if promised["bound"] is not None:
        facts["error at most"] = formatting.format_error_bound(promised["bound"])
        facts["confidence"] = None if promised["delta"] is None else formatting.format_percent(1.0 - promised["delta"])
        facts |= {"formula": promised["statement"], "assumes": promised["assumes"]}
    facts["examples used"] = promised["examples_used"]
    if promised.get("later"):
        later, wrong = promised["later"], promised["later_mistakes"]
        facts["wrong on examples after it was frozen"] = (
            f"{wrong:,} of {later:,} ({formatting.format_percent(wrong / later)})"
        )
    return {**facts, **promised["numbers"]}


def _shorten_document(document: dict[str, Any]) -> str:
    """Return the certificate as JSON with long strings cut, which are witnesses; the saved file has all of them."""

    def cut(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: cut(part) for name, part in value.items()}
        if isinstance(value, list):
            return [cut(part) for part in value]
        return f"{value[:60]}… ({len(value):,} characters)" if isinstance(value, str) and len(value) > 120 else value

    return json.dumps(cut(document), ensure_ascii=False, indent=1)
