"""A certificate in plain words."""

from __future__ import annotations

import math
from typing import Any

from novikoff.reports.formatting import capitalize, format_count, format_factor, format_percent
from novikoff.reports.report_data import ReportData


def list_lead_paragraphs(report: ReportData) -> list[str]:
    """Return the paragraphs at the top of the page."""
    paragraphs = (
        describe_mistakes(report),
        describe_bound(report),
        format_guarantee(report),
        describe_saved_model(report),
    )
    return [text for text in paragraphs if text]


def select_best_bound(report: ReportData) -> dict[str, Any] | None:
    """The tightest for every order, or else the tightest of this one."""
    stated = [b for b in report.certificate.bounds if "allowed" in b]
    return report.certificate.headline or min(stated, key=lambda b: float(b["allowed"]), default=None)


def describe_mistakes(report: ReportData) -> str:
    seen, passes = report.document["observed"], int(report.document["passes"])
    mistakes = "no mistake" if seen["mistakes"] == 0 else format_count(seen["mistakes"], "mistakes")
    again = f", gone over {passes:,} times" if passes > 1 else ""
    run = f"{format_count(report.first_pass, 'examples')}{again}"
    text = (
        f"{capitalize(report.document['learner'])} made {mistakes} on {run}, each predicted before it was learned from"
    )
    return f"{text} (progressive validation).{describe_first_pass(report)}"


def describe_first_pass(report: ReportData) -> str:
    """The progressive error of the first pass, as a sentence; empty where there is one pass only."""
    seen, passes = report.document["observed"], int(report.document["passes"])
    if passes == 1:
        return ""
    wrong = int(seen["mistakes_of_first_pass"])
    share = format_percent(wrong / max(report.first_pass, 1))
    return f" In the first pass {wrong:,} were wrong ({share}); later passes have seen the labels."


def describe_bound(report: ReportData) -> str:
    """What the theorems say of the count."""
    best, seen = select_best_bound(report), report.document["observed"]
    if best is None:
        return _explain_no_bound(report)
    most, counts = math.floor(float(best["allowed"])), str(best["counts"])
    order = "in whatever order they come" if best["any_order"] else "in the order in which they came"
    text = f"The theorems allow at most {format_count(most, counts)} on these very examples, {order} ({best['name']})."
    if best["verdict"] == "broken":
        return f"{text} More were made: that is a defect of novikoff, please report it."
    if best["slack"] is not None:
        about = "made" if counts == "mistakes" else f"the {format_count(best['made'], counts)} made"
        text += (
            f" That is {format_factor(best['slack'])} times as many as"
            f" {'were ' if counts == 'mistakes' else ''}{about}."
        )
    if most >= seen["examples"]:
        text += " It is no fewer than there are examples, so on this stream it says nothing."
    return text


def _explain_no_bound(report: ReportData) -> str:
    if report.weighted:
        some = format_count(report.weighted, "examples")
        return f"The theorems say nothing of this run: {some} had a weight other than 1, and they are for plain runs."
    if report.certificate.bounds:
        return "No theorem gives a number for this run: the table of bounds says why."
    return "There is no theorem for this learner with these settings."


def format_guarantee(report: ReportData) -> str:
    """Of the hypothesis that predicts, where a theorem speaks of that one."""
    said = report.document.get("hypothesis")
    return f"{said['sentence']} That is if {said['assumes']}." if said and said["bound"] is not None else ""


def describe_saved_model(report: ReportData) -> str:
    """What is known of the error of the saved model."""
    said = report.document.get("hypothesis")
    if said and said["bound"] is not None:
        return ""  # `format_guarantee` has it
    return (
        "These numbers are about the run, not about the saved model. For the error of the saved model, compare its"
        " predictions with the labels of examples that it has not seen (novikoff predict)."
    )


def describe_new_data(report: ReportData) -> str:
    """Which hypotheses the bounds for i.i.d. examples are about; empty where there are none."""
    new = report.document["new_data"]
    if new is None:
        return ""
    if float(new["mean_error_bound"]) >= 1.0:
        return "There are too few examples to bound the mean error of the hypotheses used while learning."
    return (
        f"These bounds are about the {new['of'].split(';')[0]}, on {format_count(new['examples'], 'examples')}."
        f" None of them is the error of the saved model. They assume that {new['assumes']} (i.i.d.);"
        f" where it says “at most”, confidence is {format_percent(new['confidence'])}."
    )
