"""Predicts a label for each example, one a line, in the order of the data."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from novikoff.cli.writing import check_writable
from novikoff.errors import InputError
from novikoff.stream import source
from novikoff.stream.labels import merged

HELP = "predict with a model"
EPILOG = """\
DATA is as for learn; the labels in it are compared with the predictions, and the share of differences shown on stderr.
Features that the model has never seen weigh nothing.

examples:
  novikoff predict spam.model new.svm
  novikoff predict spam.model new.svm --scores --output predictions.tsv
"""


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("model", metavar="MODEL", help="a file that learn --save wrote")
    parser.add_argument("data", metavar="DATA", help="what to predict")
    parser.add_argument("--scores", action="store_true", help="after the label a tab and the score")
    parser.add_argument("--output", metavar="FILE", help="write the predictions here instead of stdout")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout; needs --output")
    parser.add_argument("--quiet", action="store_true", help="nothing on stderr")


def run(options: argparse.Namespace) -> int:
    from novikoff.store import load, write_atomically

    if options.json and not options.output:
        raise InputError("--json needs --output FILE: stdout can't take both the predictions and the JSON object.")
    if options.output:
        check_writable(Path(options.output))
    model = load(options.model)
    stream = source.find(options.data)
    names = model._state.names
    if (list(names.columns) if names is not None else None) != stream.names:
        raise InputError(f"{options.data}: its columns are not those that {options.model} has learned.")
    examples, wrong = 0, 0
    lines: list[str] = []
    for chunk in stream.chunks():
        scores = model.score_rows(source.without_unknown(chunk.rows, model._state.room))
        predicted = model.choose(scores)
        examples += len(scores)
        told = merged(chunk.labels, model._state.labels)
        wrong += int(np.count_nonzero(predicted.astype(str) != told.astype(str)))
        text = _lines(predicted, scores, options)
        if options.output:
            lines.append(text)
        else:
            sys.stdout.write(text)
    if options.output:
        write_atomically(Path(options.output), "".join(lines).encode())
    _report(examples, wrong, options)
    return 0


def _lines(predicted: Any, scores: Any, options: argparse.Namespace) -> str:
    if options.scores:
        return "".join(f"{label}\t{score!r}\n" for label, score in zip(predicted, scores.tolist(), strict=True))
    return "".join(f"{label}\n" for label in predicted)


def _report(examples: int, wrong: int, options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps({"examples": examples, "errors": wrong, "error": wrong / examples}))
    if not options.quiet:
        with contextlib.suppress(BrokenPipeError):
            print(
                f"{examples:,} examples, {wrong:,} predicted otherwise than labelled ({wrong / examples:.4f})",
                file=sys.stderr,
            )
