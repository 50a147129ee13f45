"""Shows a model: learner, settings, labels, ledger, and the most important features."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from novikoff.base.internals import describe_guarantee, scheme_info_of
from novikoff.cli.learn import progressive_error_lines
from novikoff.cli.output.guarantee_text import format_guarantee
from novikoff.errors import InputError

MAX_LABELS_SHOWN = 20
EPILOG = """\
Elimination, Halving and Rectangle state a bound for the error of this model, if examples are i.i.d. and some hypothesis
of the class makes no mistake; with --epsilon, whether it has seen enough examples.

examples:
  novikoff inspect spam.model
  novikoff inspect rule.model --epsilon 0.05 --delta 0.01
  novikoff inspect spam.model --top 50 --json
"""


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("model", metavar="MODEL", help="a file that learn --save wrote")
    parser.add_argument(
        "--top", metavar="N", type=int, default=20, help="number of features, the most important first (default: 20)"
    )
    parser.add_argument("--epsilon", metavar="E", type=float, help="ε, the error that the model should not exceed")
    parser.add_argument("--delta", metavar="P", type=float, help="δ, the probability to fail (default: 0.05)")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")


def run(options: argparse.Namespace) -> int:
    from novikoff.model_file import load_learner, read_provenance
    from novikoff.reports.model_summary import describe_model

    model = load_learner(options.model)
    description = {**describe_model(model, options.top), **_describe_guarantee(model, options)}
    provenance = read_provenance(options.model)
    if provenance is not None:
        description["provenance"] = provenance
    print(json.dumps(description, ensure_ascii=False) if options.json else _format_text(description))
    return 0


def _describe_guarantee(model: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Return the guarantee of the hypothesis, and whether it has seen enough examples, where a theorem applies."""
    delta = 0.05 if options.delta is None else options.delta
    settled = "online_to_batch" in scheme_info_of(model)
    if settled and options.delta not in (None, model.delta):
        raise InputError(f"--delta: this hypothesis was chosen for delta {model.delta}: learn with another --delta.")
    promised = None if settled else describe_guarantee(model, delta=delta)
    found = {} if promised is None else {"guarantee": promised}
    asked = options.epsilon is not None or (options.delta is not None and not settled)
    if asked and not hasattr(model, "sample_check"):
        raise InputError(
            "--epsilon and --delta are for hypotheses without a mistake: of elimination, halving and rectangle."
        )
    if options.epsilon is None:
        return found
    return {**found, "sample_check": model.sample_check(epsilon=options.epsilon, delta=delta)._asdict()}


def _format_text(description: dict[str, Any]) -> str:
    ledger = description["ledger"]
    lines = [
        f"learner     {description['learner']}",
        "settings    " + ", ".join(f"{k}={v}" for k, v in description["settings"].items()),
        *_label_lines(description),
        f"features    {description['features']:,}",
        *_holdout_lines(description),
        *_threshold_lines(description),
        *_run_lines(ledger, int(description["settings"].get("passes", 1))),
        *_guarantee_lines(description),
        *_provenance_lines(description),
        "",
    ]
    if description["weights"] is None:
        return "\n".join([*lines, description["hypothesis"] or "There is no single weight vector."])
    return "\n".join([*lines, *_feature_lines(description)])


def _holdout_lines(description: dict[str, Any]) -> list[str]:
    if "holdout" not in description:
        return []
    from novikoff.data.holdout import HoldoutRule

    return [f"held out    {HoldoutRule(**description['holdout'])}"]


def _threshold_lines(description: dict[str, Any]) -> list[str]:
    if "threshold" not in description:
        return []
    from novikoff.base.decision_threshold import DecisionThreshold

    return [f"threshold   {DecisionThreshold(**description['threshold'])}"]


def _provenance_lines(description: dict[str, Any]) -> list[str]:
    lines = []
    for run in description.get("provenance", {}).get("runs", []):
        lines.append(f"provenance  novikoff {run['novikoff']}, {run['created']}")
        for file in run["files"]:
            digest = f", {file['bytes']:,} bytes, sha256 {file['sha256']}" if "sha256" in file else ", no digest"
            lines.append(f"            {file['name']}{digest}")
    return lines


def _feature_lines(description: dict[str, Any]) -> list[str]:
    weights = description["weights"]
    many = "multiclass" in description and any("speaks_for" in w for w in weights)
    heads = ["feature", "importance", "weight", "std", *(["for"] if many else [])]
    rows = [
        [str(w["feature"]), _format_number(w["importance"]), f"{w['weight']:+.6g}", _format_number(w["std"])]
        + ([str(w["speaks_for"])] if many else [])
        for w in weights
    ]
    widths = [max(len(row[k]) for row in [heads, *rows]) for k in range(len(heads))]
    lines = [
        "   ".join(f"{cell:<{wide}}" for cell, wide in zip(row, widths, strict=True)).rstrip() for row in [heads, *rows]
    ]
    sampled = description["sampled_examples"] or 0
    meaning = f"importance = |weight| × standard deviation of the feature, from {sampled:,} sampled examples"
    return [*lines, *_intercept_lines(description["intercept"]), "", meaning]


def _format_number(number: float | None) -> str:
    return "unknown" if number is None else f"{number:.4g}"


def _intercept_lines(intercept: float | dict[str, float] | None) -> list[str]:
    if intercept is None:
        return []
    if isinstance(intercept, float):
        return ["", f"intercept   {intercept:+.6g}"]
    shown = ", ".join(f"{name}: {value:+.6g}" for name, value in list(intercept.items())[:MAX_LABELS_SHOWN])
    return ["", f"intercept   {shown}{', …' if len(intercept) > MAX_LABELS_SHOWN else ''}"]


def _guarantee_lines(description: dict[str, Any]) -> list[str]:
    promised = description.get("online_to_batch", description.get("guarantee"))
    rows = [] if promised is None else format_guarantee(promised)
    rows += [("enough", description["sample_check"]["sentence"])] if "sample_check" in description else []
    return [f"{title:<12}{text}" for title, text in rows]


def _run_lines(ledger: dict[str, Any] | None, passes: int) -> list[str]:
    if ledger is None:  # the model learned all examples at once
        return []
    errors = progressive_error_lines(ledger["mistakes"], ledger["examples"])
    if passes > 1:
        errors.append(f"            (over {passes:,} passes; later passes have seen the labels)")
    return [
        f"examples    {ledger['examples']:,}   mistakes {ledger['mistakes']:,}   updates {ledger['updates']:,}",
        *errors,
        f"radius      {ledger['radius']:.6g}",
    ]


def _label_lines(description: dict[str, Any]) -> list[str]:
    labels = description["labels"]
    if "multiclass" not in description:
        return ["labels      " + ", ".join(f"{sign}: {label}" for sign, label in zip("−+", labels, strict=False))]
    shown = ", ".join(map(str, labels[:MAX_LABELS_SHOWN])) + (", …" if len(labels) > MAX_LABELS_SHOWN else "")
    about = [f"multiclass  {description['multiclass']}"]
    return [*about, f"labels      {len(labels)}: {shown}"] if labels else about
