"""--online-to-batch: which of the hypotheses that a learner goes through is the one to keep, and what it promises."""

from __future__ import annotations

import argparse
from typing import Any

from novikoff.cli.options.shuffle_options import run_settings
from novikoff.errors import InputError

METHODS = {
    "random-stopping": "the one that predicted an example drawn at random: its mean error is M/m",
    "controlled-testing": "the first to be right (1/ε)ln(1/δ_i) times in a row, δ_i = δ/(i+2)²: error at most ε",
    "next-stretch": "the first to be right (1/ε)ln(M/δ) times in a row, M the most mistakes: error at most ε",
    "longest-survivor": "the one that was right longest: error at most 1 − δ_i^(1/S)",
    "penalised": "the one with the fewest mistakes later on, penalised: error at most M/m + 6√(ln(2(m+1)/δ)/m)",
    "average": "the average of all: nothing is guaranteed",
    "vote": "the vote of all: error at most 2(M/m + √(ln(1/δ)/(2m)))",
}
METHODS_HELP = "\n".join(f"  {name:<20}{text}" for name, text in METHODS.items())
METHOD_OPTIONS = (
    "epsilon",
    "delta",
    "max_mistakes",
    "stream_radius",
    "stream_margin",
    "max_hypotheses",
)


def add_online_to_batch_options(parser: argparse.ArgumentParser) -> None:
    """After the settings of the learner: a learner may have an ε of its own."""
    group = parser.add_argument_group(
        "a saved model with a guarantee for its own error, if examples are i.i.d. (docs/online_to_batch.md)"
    )
    group.add_argument("--online-to-batch", metavar="METHOD", choices=tuple(METHODS), help="which one: see below")
    taken = "--epsilon" in parser._option_string_actions
    group.add_argument(
        "--online-to-batch-epsilon" if taken else "--epsilon",
        metavar="E",
        type=float,
        dest="epsilon",
        help="ε, the error that is tested for (default: 0.1)",
    )
    group.add_argument("--max-mistakes", metavar="M", type=int, help="next-stretch: the most the learner can make")
    group.add_argument("--stream-radius", metavar="R", type=float, help="next-stretch: max ‖x‖, the bias included, and")
    group.add_argument("--stream-margin", metavar="G", type=float, help="… γ, for M = (R/γ)² of the Perceptron")
    group.add_argument("--max-hypotheses", metavar="N", type=int, help="penalised: how many are tried (default: 1000)")


def wrap_online_to_batch(learner: Any, options: argparse.Namespace) -> Any:
    """The learner, made to put out one hypothesis where the user asks for that."""
    given = _given_settings(options)
    if options.online_to_batch is None:
        given.pop("delta", None)  # certificates and ensembles have it, too
        if given:
            option = next(iter(given)).replace("_", "-")
            raise InputError(f"--{option} is for --online-to-batch METHOD: say which, or leave it out.")
        return learner
    from novikoff.online_to_batch.online_to_batch import OnlineToBatch

    return OnlineToBatch(learner, method=options.online_to_batch, **given, **run_settings(OnlineToBatch, options))


def find_changed_settings(model: Any, options: argparse.Namespace) -> dict[str, Any]:
    """What the user has said of it that is not so in a model to go on with."""
    wanted = {"method": options.online_to_batch} if options.online_to_batch is not None else {}
    wanted |= _given_settings(options)
    return {name: value for name, value in wanted.items() if value != getattr(model, name, None)}


def _given_settings(options: argparse.Namespace) -> dict[str, Any]:
    return {name: getattr(options, name) for name in METHOD_OPTIONS if getattr(options, name) is not None}


def format_guarantee(guarantee: dict[str, Any]) -> list[tuple[str, str]]:
    """What is promised of the hypothesis that predicts, as lines of a summary."""
    rows = []
    if "stop_reason" in guarantee:
        rows = [("this model", f"{guarantee['chosen']} ({guarantee['method']})"), ("reason", guarantee["stop_reason"])]
        if guarantee["stopped"]:
            rows.append(("used", f"{guarantee['examples_used']:,} examples; it is frozen since then"))
        if guarantee.get("later"):
            wrong, later = guarantee["later_mistakes"], guarantee["later"]
            about = f"(error of this model on the {later:,} examples after it was frozen: {wrong:,} wrong)"
            rows.append(("later", f"{wrong / later:.4f}   {about}"))
    rows.append(("guarantee", guarantee["sentence"]))
    return [*rows, ("assumes", guarantee["assumes"])] if guarantee["bound"] is not None else rows
