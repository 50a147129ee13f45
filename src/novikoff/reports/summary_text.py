"""A certificate in plain words."""

from __future__ import annotations

import math
from typing import Any

from novikoff.reports.formatting import format_number
from novikoff.reports.report_data import ReportData

NEW_DATA_TITLES = {
    "mean_error_bound": "mean error of the hypotheses used while learning, at most",
    "expected_error_of_random_hypothesis": (
        "expected error of one of these hypotheses, drawn at random, in the mean over all streams"
    ),
    "error_bound_of_penalised_choice": "error of the hypothesis that the penalised choice picks among them, at most",
}
"""The figures of `describe_new_data`, none of which is about the saved model."""
EVIDENCE_SYMBOLS = {"radius": "R", "norm": "‖u‖", "margin": "γ", "hinge": "L"}
BOUNDS_LEGEND = (
    "Every vector u gives a true bound; the witness is one that makes it small. The certificate holds it, so that"
    " everybody can measure again: R is the largest ‖x‖, γ the least y·u·x/‖u‖ where u separates, L the hinge loss."
    " All numbers are rounded so that rounding only weakens what is said."
)

PREFERENCES_LEGEND = (
    " Here examples are preferences a ≻ b: u has a number for each feature in each column of weights, γ and L are those"
    " of the preference that is met worst, and R is the largest length of a preference."
)
COLUMNS_LEGEND = " Here each column of weights has a witness of its own, and R, ‖u‖ and L are of all of them together."


def build_legend(report: ReportData) -> str:
    more = {"preferences": PREFERENCES_LEGEND, "queries": PREFERENCES_LEGEND, "columns": COLUMNS_LEGEND}
    return BOUNDS_LEGEND + more.get(report.outcomes, "")


def format_factor(slack: float) -> str:
    return f"{slack:.3g}" if slack < 1000.0 else format_number(slack)


def capitalize(name: str) -> str:
    return name[:1].upper() + name[1:]


def format_percent(value: float) -> str:
    return f"{100.0 * value:.3g} %"


def format_upper_percent(value: float) -> str:
    """An upper end in percent: rounded up, so that what is read is true."""
    if value <= 0.0:
        return format_percent(value)
    unit = 10.0 ** (math.floor(math.log10(100.0 * value)) - 2)
    return f"{math.ceil(100.0 * value / unit - 1e-9) * unit:.3g} %"


def format_count(number: int, what: str) -> str:
    return f"{number:,} {what if number != 1 else what.removesuffix('s')}"


def select_best_bound(report: ReportData) -> dict[str, Any] | None:
    """The tightest for every order, or else the tightest of this one."""
    stated = [b for b in report.certificate.bounds if "bound" in b]
    return report.certificate.headline or min(stated, key=lambda b: float(b["bound"]), default=None)


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
    most, counts = math.floor(float(best["bound"])), str(best["counts"])
    order = "in whatever order they come" if best["any_order"] else "in the order in which they came"
    text = f"The theorems allow at most {format_count(most, counts)} on these very examples, {order} ({best['name']})."
    if best["verdict"] == "violated":
        return f"{text} More were made: that is a defect of novikoff, please report it."
    if best["slack"] is not None:
        about = "made" if counts == "mistakes" else f"the {format_count(best['observed'], counts)} made"
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
        f" where it says “at most”, confidence is {format_percent(1.0 - new['delta'])}."
    )


def mistakes_note(report: ReportData) -> str:
    curve = report.mistakes
    bounds = [b for b in report.certificate.bounds if "bound" in b]
    text = "How many mistakes there were after so many examples."
    if bounds:
        text += (
            " Each bound was measured on the whole stream, so it is a horizontal line; mistakes never become fewer, so"
            " it holds for every beginning of the stream as well."
        )
    if any(b["counts"] == "updates" for b in bounds):
        text += " Where a bound counts updates, their number in the end is a star."
    if curve.stride > 1:
        text += (
            f" The ledger lists every {curve.stride:,}th mistake: the curve is exact at its corners, and off by less"
            f" than {curve.stride:,} between them."
        )
    return text


def errors_note(report: ReportData) -> str:
    new = report.document["new_data"]
    about = "The progressive error of the run: mistakes per example so far. It is not the error of the saved model."
    if new is None:
        return about
    sure = f"{1.0 - new['delta']:g}"
    text = (
        f"{about} The band is where the mean error on new data of the hypotheses used so far lies,"
        f" if examples are i.i.d.: each end, at each point taken by itself, with confidence {sure}"
        " (progressive validation). The bounds on mistakes need no such assumption."
    )
    if report.first_pass < report.mistakes.examples[-1]:
        text += " After the first pass the examples are not new any more: there is no band."
    if report.mistakes.stride > 1:
        text += " It is drawn where the ledger knows the count exactly."
    return text
