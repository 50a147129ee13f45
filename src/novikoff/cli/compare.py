"""Compares linear learners on the same data in one run, each with its mistake bound.

Tries all learners with one weight vector that take the data, with their default settings; kernel-perceptron and
multilayer-perceptron only where --learners names them, and no ensembles. Shows mistakes, updates, the progressive error
of each run, time, what the theorems allow, and whether they favour additive or multiplicative updates. Learners that
were skipped are listed with the reason.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from novikoff import learner_registry
from novikoff.cli.options import run_options
from novikoff.cli.options.data_options import DATA_HELP, add_data_options, build_reading_options
from novikoff.cli.output.data_summary import describe_files, show_description
from novikoff.cli.output.model_output import check_writable
from novikoff.cli.output.report_output import add_report_option
from novikoff.data.reader import is_builtin

if TYPE_CHECKING:
    from novikoff.certificates.compare import Comparison

EPILOG = f"""\
{DATA_HELP}

examples:
  novikoff compare breast-cancer --report learners.html
  novikoff compare train.svm --learners perceptron,balanced-winnow,sgd --passes 3
  novikoff generate disjunction --attributes 500 --relevant 4 --output d.svm; novikoff compare d.svm --json
"""


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("data", nargs="+", metavar="DATA", help="data to learn, in this order")
    parser.add_argument(
        "--learners", metavar="NAMES", type=_parse_names, help="the learners to compare, separated by commas"
    )
    parser.add_argument(
        "--passes", metavar="N", type=int, default=1, help="number of passes over the data (default: 1)"
    )
    parser.add_argument("--positive-label", metavar="LABEL", help="learn this label against all others")
    run_options.add_shuffle(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    run_options.add_max_model_memory(parser, run_options.DEFAULT_LIMIT_TEXT)
    add_report_option(parser)
    add_data_options(parser)


def _parse_names(text: str) -> list[str]:
    chosen = text.split(",")
    unknown = [name for name in chosen if name not in learner_registry.names()]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"unknown learner {unknown[0]}: choose from {', '.join(learner_registry.names())}"
        )
    return chosen


def run(options: argparse.Namespace) -> int:
    from novikoff.certificates.compare import compare

    if options.report:
        check_writable(Path(options.report))
    if options.shuffle is None:
        options.shuffle = all(map(is_builtin, options.data))
    if options.shuffle:
        run_options.check_shuffle(options)
    reading_options = build_reading_options(options)
    read = describe_files(options.data, reading_options)
    show_description(read, quiet=options.quiet)
    found = compare(
        options.data,
        reading_options,
        positive=options.positive_label,
        passes=options.passes,
        only=options.learners or (),
        random_state=(options.random_state or 0) if options.shuffle else None,
    )
    order = found.label_order
    late = [run_options.describe_sorted_labels(order, options)] if order is not None and order.is_sorted else []
    for warning in late:
        print(f"warning: {warning}", file=sys.stderr)
    if options.report:
        from novikoff.model_file import write_atomically
        from novikoff.reports.comparison_page import build_page

        names = [Path(title).name for title in options.data]
        write_atomically(Path(options.report), build_page(found, names).encode())
    document = {**found.as_dict(), "read": read.description, "notes": read.notes, "warnings": [*read.doubts, *late]}
    print(json.dumps(document, ensure_ascii=False) if options.json else _format_text(found))
    broken = any(entry.bound is not None and entry.bound["verdict"] == "violated" for entry in found.entries)
    return 1 if broken else 0


def _format_text(found: Comparison) -> str:
    titles = (
        f"{'mistakes':>10}{'updates':>10}{'progressive error':>19}{'bound':>13}{'slack':>8}{'seconds':>10}   theorem"
    )
    wide = max(20, *(len(name) + 2 for name in [*found.skipped, *(entry.name for entry in found.entries)]))
    lines = [f"{'learner':<{wide}}{titles}"]
    for entry in found.entries:
        row = entry.as_dict()
        allowed = "" if row["bound"] is None else f"{row['bound']:,.0f}"
        slack = "" if row["slack"] is None else f"{row['slack']:.1f}"
        lines.append(
            f"{row['learner']:<{wide}}{row['mistakes']:>10,}{row['updates']:>10,}{row['progressive_error']:>19.4f}"
            f"{allowed:>13}{slack:>8}{row['seconds']:>10.3f}   {row['theorem'] or 'none shown'}"
        )
    lines += [f"{name:<{wide}}skipped: {why}" for name, why in found.skipped.items()]
    about = "Progressive error: each example was predicted before it was learned. No saved model has this error."
    return "\n".join([*lines, "", about, found.advice])
