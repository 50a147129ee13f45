"""Predicts a label for each example, one a line, in the order of the data."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from novikoff.cli.reading import DATA, add_reading, options_of, reading_for
from novikoff.cli.writing import check_writable
from novikoff.errors import InputError, LabelError, RangeRefused
from novikoff.stream.labels import Labels, merged_label
from novikoff.stream.reading import Batch, Reading
from novikoff.stream.rows import Dense, Rows

EPILOG = f"""\
{DATA}
It is read as what the model was learned from. The labels in it, if there are any, are compared with the predictions,
and the share of differences shown on stderr.
Features that the model has never seen weigh nothing (1 for Winnow, where weights start).

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
    add_reading(parser)


def run(options: argparse.Namespace) -> int:
    from novikoff.store import load, write_atomically

    if options.json and not options.output:
        raise InputError("--json needs --output FILE: stdout can't take both the predictions and the JSON object.")
    if options.output:
        check_writable(Path(options.output))
    model = load(options.model)
    how = options_of(options)
    how.unlabelled = True
    reading = reading_for([options.data], how, model._state)
    score = model.scorer(known=True)
    examples, labelled, wrong = 0, 0, 0
    lines: list[str] = []
    for batch in reading.batches():
        if examples == 0:
            _same_columns(model, reading, batch, options)
        scores = _scored(score, batch)
        predicted = model.choose(scores)
        examples += len(scores)
        compared, different = _differences(predicted, batch, model._state.labels)
        labelled += compared
        wrong += different
        text = _lines(predicted, scores, options)
        if options.output:
            lines.append(text)
        else:
            sys.stdout.write(text)
            sys.stdout.flush()
    if options.output:
        write_atomically(Path(options.output), "".join(lines).encode())
    _report(examples, labelled, wrong, options)
    return 0


def _scored(score: Callable[[Rows], Any], batch: Batch) -> Any:
    """The scores of a batch; a value that the learner does not take is told with its line."""
    try:
        return score(batch.rows)
    except RangeRefused as problem:
        raise InputError(f"{batch.where(problem.row)}: {problem}") from None


def _same_columns(model: Any, reading: Reading, batch: Batch, options: argparse.Namespace) -> None:
    names = model._state.names
    columns = list(reading.names.columns) if reading.names is not None else reading.columns(options.data)
    known = None if names is None else list(names.columns)
    if (reading.names is None and columns != known) or (
        isinstance(batch.rows, Dense) and batch.features != model._state.features
    ):
        raise InputError(f"{options.data}: its columns are not those that {options.model} has learned.")


def _differences(predicted: Any, batch: Batch, labels: Labels) -> tuple[int, int]:
    """How many examples have a label, and how many of these are not as predicted."""
    told: dict[int, str | None] = {}
    labelled, wrong = 0, 0
    for i, (key, guess) in enumerate(zip(batch.parsed.keys.tolist(), predicted.tolist(), strict=True)):
        if key not in told:
            told[key] = _told(batch, i, labels)
        label = told[key]
        if label is not None:
            labelled += 1
            wrong += label != str(guess)
    return labelled, wrong


def _told(batch: Batch, i: int, labels: Labels) -> str | None:
    """The label of an example as predictions are spelled; one that can't be a class is like none of them."""
    try:
        label = batch.parsed.label(i)
    except LabelError:
        return ""
    return None if label is None else str(merged_label(label, labels))


def _lines(predicted: Any, scores: Any, options: argparse.Namespace) -> str:
    if options.scores:
        return "".join(f"{label}\t{score!r}\n" for label, score in zip(predicted, scores.tolist(), strict=True))
    return "".join(f"{label}\n" for label in predicted)


def _report(examples: int, labelled: int, wrong: int, options: argparse.Namespace) -> None:
    share = wrong / labelled if labelled else None
    if options.json:
        print(json.dumps({"examples": examples, "labelled": labelled, "errors": wrong, "error": share}))
    if not options.quiet:
        compared = "no labels to compare with"
        if share is not None:
            among = "" if labelled == examples else f"{labelled:,} with a label, "
            compared = f"{among}{wrong:,} predicted otherwise than labelled ({share:.4f})"
        with contextlib.suppress(BrokenPipeError):
            print(f"{examples:,} examples, {compared}", file=sys.stderr)
