"""Options of learn for figures of the learned model, and for what is chosen by them: --test, --holdout, --holdout-by,
--early-stopping and --decision-threshold."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from novikoff.cli.options.data_options import is_stream
from novikoff.data.reader import check_sources, is_builtin
from novikoff.errors import InputError

if TYPE_CHECKING:
    from novikoff.evaluation.thresholds import ThresholdRule

EVALUATION_FLAGS = ("--test", "--holdout", "--holdout-by", "--early-stopping", "--decision-threshold")


def add_evaluation_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--test", metavar="FILE", help="evaluate the learned model on this file at the end")
    parser.add_argument(
        "--holdout",
        metavar="SHARE",
        type=_parse_share,
        help="hold out this share of the rows, such as 0.2, and evaluate the learned model on them",
    )
    parser.add_argument(
        "--holdout-by",
        metavar="random|time|COLUMN",
        help="what to hold out: random rows (default), the last rows, or all rows with the same value of a column"
        " together (qid for queries)",
    )
    parser.add_argument(
        "--early-stopping",
        metavar="N",
        type=_parse_pass_count,
        help="stop after N passes without improvement on the held-out rows, else on the test file; keep the best model",
    )
    parser.add_argument(
        "--decision-threshold",
        metavar="T|RULE",
        type=_parse_threshold,
        help="predict the positive class from this probability on (models without probabilities: from this score on);"
        " or choose the threshold on the held-out rows: f1, precision:P, recall:R, or cost:FP:FN",
    )


def _parse_threshold(text: str) -> float | ThresholdRule:
    try:
        return float(text)
    except ValueError:
        from novikoff.evaluation.thresholds import ThresholdRule

        try:
            return ThresholdRule.parse(text)
        except InputError as problem:
            raise argparse.ArgumentTypeError(str(problem)) from None


def _parse_share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0.0 < share < 1.0:
        raise argparse.ArgumentTypeError(f"must be a share between 0 and 1, such as 0.2, not {text}")
    return share


def _parse_pass_count(text: str) -> int:
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"must be a number of passes from 1 on, not {text}")
    return int(text)


def check_evaluation_options(options: argparse.Namespace, passes: int) -> None:
    """Raise InputError for options that do not fit together, or whose figures would mislead."""
    if options.holdout_by is not None and options.holdout is None:
        raise InputError("--holdout-by says which rows are held out: add --holdout SHARE, such as --holdout 0.2.")
    if options.test is not None:
        _check_test_file(options)
    if options.holdout is not None:
        _check_holdout(options)
    if options.early_stopping is not None:
        _check_early_stopping(options, passes)
    if options.decision_threshold is not None:
        _check_threshold(options)


def _check_test_file(options: argparse.Namespace) -> None:
    check_sources([options.test])
    if is_stream(options.test):
        raise InputError(f"--test {options.test}: must be a file: write the data to a file first.")
    if _identify(options.test) in map(_identify, options.data):
        raise InputError(
            f"--test {options.test}: the model learns from this data, so its figures would not hold for new examples:"
            " name another file, or use --holdout."
        )


def _identify(title: str) -> str:
    return title if is_builtin(title) else os.path.realpath(title)


def _check_holdout(options: argparse.Namespace) -> None:
    streams = [title for title in options.data if is_stream(title)]
    if streams:
        name = "standard input" if streams[0] == "-" else streams[0]
        raise InputError(
            f"{name}: --holdout reads the data again to evaluate the held-out rows, and a pipe can be read once only."
            " Write the data to a file first, or use --test."
        )
    if options.resume:
        raise InputError(
            "--holdout is for a run from its beginning: a resumed model may have learned the rows that would be held"
            " out. Use --test."
        )
    _refuse_certificate(options, "--holdout", "rows that were held out are not part of the certified stream")
    if options.holdout_by not in (None, "random", "time") and options.bad_lines == "skip":
        raise InputError("--holdout-by COLUMN needs every row: leave out --bad-lines skip.")


def _check_early_stopping(options: argparse.Namespace, passes: int) -> None:
    if options.test is None and options.holdout is None:
        raise InputError("--early-stopping needs data to evaluate each pass on: add --holdout 0.2 or --test FILE.")
    if passes < 2:
        raise InputError("--early-stopping chooses among several passes: add --passes N.")
    _refuse_certificate(options, "--early-stopping", "the number of passes depends on the evaluation")


def _check_threshold(options: argparse.Namespace) -> None:
    threshold = options.decision_threshold
    if not isinstance(threshold, float) and options.holdout is None:
        raise InputError(f"--decision-threshold {threshold} is chosen on held-out rows: add --holdout 0.2.")
    if options.multiclass not in (None, "binary"):
        raise InputError("--decision-threshold is for two classes: leave out --multiclass.")


def _refuse_certificate(options: argparse.Namespace, flag: str, reason: str) -> None:
    wanted = "--certificate" if options.certificate else "--report" if options.report else None
    if wanted:
        raise InputError(f"{wanted} can't be used with {flag}: {reason}. Leave out one of them.")
