"""Summarize a certificate in sentences."""

from __future__ import annotations

import math
from typing import Any

from novikoff.reports.formatting import capitalize, format_count, format_factor, format_percent
from novikoff.reports.report_data import ReportData


def select_best_bound(report: ReportData) -> dict[str, Any] | None:
    """Return the tightest bound that holds for every order, otherwise the tightest for this order."""
    stated = [b for b in report.certificate.bounds if "bound" in b]
    return report.certificate.headline or min(stated, key=lambda b: float(b["bound"]), default=None)


def describe_mistakes(report: ReportData) -> str:
    seen, passes = report.document["observed"], int(report.document["passes"])
    mistakes = format_count(seen["mistakes"], "mistakes") if seen["mistakes"] else "no mistake"
    examples = format_count(report.first_pass, "examples") + (f" in {passes:,} passes" if passes > 1 else "")
    text = f"{capitalize(report.document['learner'])} made {mistakes} on {examples}, predicting each before learning"
    return f"{text} from it (progressive validation).{describe_first_pass(report)}"


def describe_first_pass(report: ReportData) -> str:
    """Return the progressive error of the first pass as a sentence; empty if there is only one pass."""
    if int(report.document["passes"]) == 1:
        return ""
    wrong = int(report.document["observed"]["mistakes_of_first_pass"])
    share = format_percent(wrong / max(report.first_pass, 1))
    return f" In the first pass {wrong:,} were wrong ({share}); later passes have seen the labels."


def describe_bound(report: ReportData) -> str:
    """Compare the tightest bound with the count of the run, or say why there is no bound."""
    best = select_best_bound(report)
    if best is None:
        return _explain_no_bound(report)
    most, counts = math.floor(float(best["bound"])), str(best["counts"])
    order = "in any order" if best["any_order"] else "in this order"
    text = f"The theorems allow at most {format_count(most, counts)} on these examples {order} ({best['name']})."
    if best["verdict"] == "violated":
        return f"{text} The run exceeds this bound: this is a defect of novikoff, please report it."
    if best["slack"] is not None:
        text += f" That is {format_factor(best['slack'])} times the {format_count(best['observed'], counts)} made."
    if most >= report.document["observed"]["examples"]:
        text += " This is at least the number of examples, so the bound is vacuous on this stream."
    return text


def _explain_no_bound(report: ReportData) -> str:
    if report.weighted:
        weighted = format_count(report.weighted, "examples")
        return f"The theorems do not cover this run: {weighted} had a weight other than 1."
    if report.certificate.bounds:
        return "No theorem bounds this run; the table of bounds gives the reasons."
    return "There is no theorem for this learner with these settings."


def describe_saved_model(report: ReportData) -> str:
    """Return the guarantee for the saved model, or how to estimate its error if no theorem is about it."""
    guarantee = report.document.get("hypothesis")
    if guarantee and guarantee["bound"] is not None:
        return f"{guarantee['sentence']} This assumes that {guarantee['assumes']}."
    return (
        "These numbers are about the run, not about the saved model. To estimate the error of the saved model, evaluate"
        " it on examples that it has not seen (novikoff predict)."
    )
