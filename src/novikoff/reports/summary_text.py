"""A certificate in plain words."""

from __future__ import annotations

import math
from typing import Any

from novikoff.reports.report_data import Account
from novikoff.reports.formatting import shown

NEW_DATA = {
    "mean_error_bound": "mean error of the hypotheses used while learning, at most",
    "expected_error_of_random_hypothesis": (
        "expected error of one of these hypotheses, drawn at random, in the mean over all streams"
    ),
    "error_bound_of_penalised_choice": "error of the hypothesis that the penalised choice picks among them, at most",
}
"""The figures of `new_data`, none of which is about the saved model."""
NUMBERS = {"radius": "R", "norm": "‖u‖", "margin": "γ", "hinge": "L"}
LEGEND = (
    "Every vector u gives a true bound; the witness is one that makes it small. The certificate holds it, so that"
    " everybody can measure again: R is the largest ‖x‖, γ the least y·u·x/‖u‖ where u separates, L the hinge loss."
    " All numbers are rounded so that rounding only weakens what is said."
)

IN_PREFERENCES = (
    " Here examples are preferences a ≻ b: u has a number for each feature in each column of weights, γ and L are those"
    " of the preference that is met worst, and R is the largest length of a preference."
)
OF_COLUMNS = " Here each column of weights has a witness of its own, and R, ‖u‖ and L are of all of them together."


def legend(account: Account) -> str:
    more = {"preferences": IN_PREFERENCES, "queries": IN_PREFERENCES, "columns": OF_COLUMNS}
    return LEGEND + more.get(account.outcomes, "")


def times(slack: float) -> str:
    return f"{slack:.3g}" if slack < 1000.0 else shown(slack)


def capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def percent(value: float) -> str:
    return f"{100.0 * value:.3g} %"


def at_most(value: float) -> str:
    """An upper end in percent: rounded up, so that what is read is true."""
    if value <= 0.0:
        return percent(value)
    unit = 10.0 ** (math.floor(math.log10(100.0 * value)) - 2)
    return f"{math.ceil(100.0 * value / unit - 1e-9) * unit:.3g} %"


def count(number: int, what: str) -> str:
    return f"{number:,} {what if number != 1 else what.removesuffix('s')}"


def best_bound(account: Account) -> dict[str, Any] | None:
    """The tightest for every order, or else the tightest of this one."""
    stated = [b for b in account.certificate.bounds if "allowed" in b]
    return account.certificate.headline or min(stated, key=lambda b: float(b["allowed"]), default=None)


def made(account: Account) -> str:
    seen, passes = account.document["observed"], int(account.document["passes"])
    mistakes = "no mistake" if seen["mistakes"] == 0 else count(seen["mistakes"], "mistakes")
    again = f", gone over {passes:,} times" if passes > 1 else ""
    run = f"{count(account.first_pass, 'examples')}{again}"
    text = f"{capital(account.document['learner'])} made {mistakes} on {run}, each predicted before it was learned from"
    return f"{text} (progressive validation).{first_pass(account)}"


def first_pass(account: Account) -> str:
    """The progressive error of the first pass, as a sentence; empty where there is one pass only."""
    seen, passes = account.document["observed"], int(account.document["passes"])
    if passes == 1:
        return ""
    wrong = int(seen["mistakes_of_first_pass"])
    share = percent(wrong / max(account.first_pass, 1))
    return f" In the first pass {wrong:,} were wrong ({share}); later passes have seen the labels."


def allowed(account: Account) -> str:
    """What the theorems say of the count."""
    best, seen = best_bound(account), account.document["observed"]
    if best is None:
        return _no_bound(account)
    most, counts = math.floor(float(best["allowed"])), str(best["counts"])
    order = "in whatever order they come" if best["any_order"] else "in the order in which they came"
    text = f"The theorems allow at most {count(most, counts)} on these very examples, {order} ({best['name']})."
    if best["verdict"] == "broken":
        return f"{text} More were made: that is a defect of novikoff, please report it."
    if best["slack"] is not None:
        about = "made" if counts == "mistakes" else f"the {count(best['made'], counts)} made"
        text += f" That is {times(best['slack'])} times as many as {'were ' if counts == 'mistakes' else ''}{about}."
    if most >= seen["examples"]:
        text += " It is no fewer than there are examples, so on this stream it says nothing."
    return text


def _no_bound(account: Account) -> str:
    if account.weighted:
        some = count(account.weighted, "examples")
        return f"The theorems say nothing of this run: {some} had a weight other than 1, and they are for plain runs."
    if account.certificate.bounds:
        return "No theorem gives a number for this run: the table of bounds says why."
    return "There is no theorem for this learner with these settings."


def promised(account: Account) -> str:
    """Of the hypothesis that predicts, where a theorem speaks of that one."""
    said = account.document.get("hypothesis")
    return f"{said['sentence']} That is if {said['assumes']}." if said and said["bound"] is not None else ""


def saved_model(account: Account) -> str:
    """What is known of the error of the saved model."""
    said = account.document.get("hypothesis")
    if said and said["bound"] is not None:
        return ""  # `promised` has it
    return (
        "These numbers are about the run, not about the saved model. For the error of the saved model, compare its"
        " predictions with the labels of examples that it has not seen (novikoff predict)."
    )


def new_data(account: Account) -> str:
    """Which hypotheses the bounds for i.i.d. examples are about; empty where there are none."""
    new = account.document["new_data"]
    if new is None:
        return ""
    if float(new["mean_error_bound"]) >= 1.0:
        return "There are too few examples to bound the mean error of the hypotheses used while learning."
    return (
        f"These bounds are about the {new['of'].split(';')[0]}, on {count(new['examples'], 'examples')}."
        f" None of them is the error of the saved model. They assume that {new['assumes']} (i.i.d.);"
        f" where it says “at most”, confidence is {percent(new['confidence'])}."
    )


def mistakes_note(account: Account) -> str:
    curve = account.mistakes
    bounds = [b for b in account.certificate.bounds if "allowed" in b]
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


def errors_note(account: Account) -> str:
    new = account.document["new_data"]
    about = "The progressive error of the run: mistakes per example so far. It is not the error of the saved model."
    if new is None:
        return about
    sure = f"{new['confidence']:g}"
    text = (
        f"{about} The band is where the mean error on new data of the hypotheses used so far lies,"
        f" if examples are i.i.d.: each end, at each point taken by itself, with confidence {sure}"
        " (progressive validation). The bounds on mistakes need no such assumption."
    )
    if account.first_pass < account.mistakes.examples[-1]:
        text += " After the first pass the examples are not new any more: there is no band."
    if account.mistakes.stride > 1:
        text += " It is drawn where the ledger knows the count exactly."
    return text
