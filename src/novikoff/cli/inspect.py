"""Shows what a model is: learner, settings, labels, ledger, and the weights that matter most."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from novikoff import learners

EPILOG = """\
examples:
  novikoff inspect spam.model
  novikoff inspect spam.model --top 50 --json
"""


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("model", metavar="MODEL", help="a file that learn --save wrote")
    parser.add_argument(
        "--top", metavar="N", type=int, default=20, help="how many weights, the largest first (default: 20)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")


def run(options: argparse.Namespace) -> int:
    from novikoff.store import load

    model = load(options.model)
    description = {
        "learner": learners.name_of(type(model)),
        "settings": model.get_params(),
        "labels": model.classes_.tolist(),
        "features": model.n_features_in_,
        "ledger": model.ledger_.as_dict(),
        "weights": _weights(model, options.top),
        "hypothesis": model.describe(),
    }
    print(json.dumps(description, ensure_ascii=False) if options.json else _as_text(description))
    return 0


def _weights(model: Any, top: int) -> list[dict[str, Any]] | None:
    from novikoff.report.weights import largest

    found = largest(model, top)
    return None if found is None else [weight._asdict() for weight in found]


def _as_text(description: dict[str, Any]) -> str:
    ledger = description["ledger"]
    lines = [
        f"learner     {description['learner']}",
        "settings    " + ", ".join(f"{k}={v}" for k, v in description["settings"].items()),
        "labels      "
        + ", ".join(f"{sign}: {label}" for sign, label in zip("−+", description["labels"], strict=False)),
        f"features    {description['features']:,}",
        f"examples    {ledger['examples']:,}   mistakes {ledger['mistakes']:,}   updates {ledger['updates']:,}",
        f"error       {ledger['error']:.4f}",
        f"radius      {ledger['radius']:.6g}",
        "",
    ]
    if description["weights"] is None:
        return "\n".join([*lines, description["hypothesis"] or "There is no single weight vector."])
    width = max((len(str(w["feature"])) for w in description["weights"]), default=7)
    lines.append(f"{'feature':<{width}}   weight")
    lines += [f"{w['feature']!s:<{width}}   {w['weight']:+.6g}" for w in description["weights"]]
    return "\n".join(lines)
