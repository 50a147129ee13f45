"""Predicts a label for each example: one per line, in the order of the data."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from novikoff.base.internals import (
    build_scorer,
    decide_labels,
    display_scores,
    explain_missing_probabilities,
    format_label,
    state_of,
    to_probabilities,
)
from novikoff.cli.options.data_options import (
    DATA_HELP,
    add_data_options,
    build_reading_options,
    is_stream,
    open_reading,
)
from novikoff.cli.output.data_summary import show_notes
from novikoff.cli.output.model_output import check_writable
from novikoff.cli.output.status_line import StatusLine
from novikoff.data.labels.binary_labels import to_plain_label
from novikoff.data.reader import DataReader, FileBatch
from novikoff.data.rows import Rows
from novikoff.errors import FeatureRangeError, InputError, LabelError
from novikoff.multiclass.internals import edge_counter_of

INTERVAL_DELTA = 0.05
"""The probability that the interval does not contain the error of the model."""
EPILOG = f"""\
{DATA_HELP}
It is read like the data that the model was learned from. Where there are labels, they are compared with the
predictions, and the error of this model on DATA is shown on stderr with its exact 95 % interval (Clopper and Pearson).
The interval holds for new examples if DATA is an i.i.d. sample that the model has not learned from.
The weight of features that the model has never seen is 0 (for Winnow 1, the initial weight).
Sets of labels are separated by commas; a ranking prints the score of each document. --scores prints a score for each
class, in the order in which inspect shows them; --probabilities prints a probability for each class instead.

examples:
  novikoff predict spam.model new.svm
  novikoff predict spam.model new.svm --probabilities
  novikoff predict spam.model new.svm --scores --output predictions.tsv
  novikoff predict spam.model monday.svm tuesday.svm
"""


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("model", metavar="MODEL", help="a file that learn --save wrote")
    parser.add_argument("data", nargs="+", metavar="DATA", help="data to predict, in this order")
    parser.add_argument(
        "--scores",
        action="store_true",
        help="print the score after the label, or one score for each class, separated by tabs",
    )
    parser.add_argument(
        "--probabilities",
        action="store_true",
        help="print the probability of each class after the label, separated by tabs",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the predictions here instead of stdout")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout; needs --output")
    parser.add_argument("-q", "--quiet", action="store_true", help="nothing on stderr")
    add_data_options(parser)


def run(options: argparse.Namespace) -> int:
    from novikoff.model_file import load_learner, write_atomically

    if options.json and not options.output:
        raise InputError("--json needs --output FILE: stdout can't take both the predictions and the JSON object.")
    if options.output:
        check_writable(Path(options.output))
    _check_streams(options.data)
    model = load_learner(options.model)
    if options.probabilities:
        _check_probabilities(model, options)
    reading_options = build_reading_options(options)
    reading_options.unlabelled = True
    reading = open_reading(options.data, reading_options, state_of(model))
    score = build_scorer(model, known=True)
    examples, compared = 0, _LabelComparison(model)
    lines: list[str] = []
    title = ""
    with StatusLine(reading, wanted=not options.quiet and not _prints_to_terminal(options)) as status:
        for batch in status.watch(reading.batches()):
            if batch.title != title:
                title = batch.title
                check_same_columns(model, reading, batch, title, options.model)
            scores = score_batch(score, batch)
            predicted = decide_labels(model, scores)
            examples += len(scores)
            texts = [format_label(model, label) for label in predicted]
            compared.add(batch, texts, scores)
            numbers = to_probabilities(model, scores) if options.probabilities else None
            text = _format_lines(texts, display_scores(model, scores) if options.scores else numbers)
            if options.output:
                lines.append(text)
            else:
                sys.stdout.write(text)
                sys.stdout.flush()
    if options.output:
        write_atomically(Path(options.output), "".join(lines).encode())
    show_notes(reading, quiet=options.quiet)
    _print_report(examples, compared, options)
    return 0


def _prints_to_terminal(options: argparse.Namespace) -> bool:
    """Return whether predictions appear on a terminal, where a status line would stand between them."""
    return not options.output and sys.stdout is not None and sys.stdout.isatty()


def _check_probabilities(model: Any, options: argparse.Namespace) -> None:
    """Raise InputError if the model has no probabilities, or scores are wanted too."""
    if options.scores:
        raise InputError("--scores and --probabilities exclude each other: leave one out.")
    reason = explain_missing_probabilities(model)
    if reason is not None:
        raise InputError(f"{options.model}: the model has no probabilities: {reason}")


def score_batch(score: Callable[[Rows], Any], batch: FileBatch) -> Any:
    """Return the scores of a batch; InputError names the line of a value that is out of the learner's range."""
    try:
        return score(batch.rows)
    except FeatureRangeError as problem:
        raise InputError(f"{batch.get_location(problem.row)}: {problem}") from None


def check_same_columns(model: Any, reading: DataReader, batch: FileBatch, data: str, path: str) -> None:
    names = state_of(model).names
    columns = list(reading.names.columns) if reading.names is not None else reading.columns(data)
    known = None if names is None else list(names.columns)
    if (reading.names is None and columns != known) or (batch.table and batch.features != state_of(model).features):
        raise InputError(f"{data}: its columns are not those that {path} was learned from.")


class _LabelComparison:
    """Compares predictions with the labels in the data, where there are any."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.ranks = hasattr(model, "rank")
        self.edges = edge_counter_of(model)
        self.labelled = self.wrong = self.apart = 0
        self.queries: list[tuple[str, Any, Any, Any]] = []
        """The file, the scores, the grades and the query numbers of each batch."""

    def add(self, batch: FileBatch, texts: list[str], scores: Any) -> None:
        if self.ranks:
            if batch.parsed.groups is not None and batch.parsed.numbers is not None:
                grades, queries = batch.parsed.numbers.copy(), batch.parsed.groups.copy()
                self.queries.append((batch.title, scores.copy(), grades, queries))
            return
        known_labels: dict[int, str | None] = {}
        sets = batch.parsed.sets
        for i, (key, guess) in enumerate(zip(batch.parsed.keys.tolist(), texts, strict=True)):
            if sets is not None:
                label: str | None = format_label(
                    self.model, [to_plain_label(v) for v in sets[1][sets[0][i] : sets[0][i + 1]]]
                )
            else:
                if key not in known_labels:
                    known_labels[key] = self._format_true_label(batch, i)
                label = known_labels[key]
            if label is not None:
                self.labelled += 1
                self.wrong += label != guess
                self.apart += self.edges(label, guess) if self.edges is not None and label else 0

    def _format_true_label(self, batch: FileBatch, i: int) -> str | None:
        """Return the label of an example as predictions are written; a text that equals no class if it is invalid."""
        try:
            label = batch.parsed.label(i)
        except LabelError:
            return ""
        return None if label is None else format_label(self.model, label)

    def as_dict(self) -> dict[str, Any]:
        found = self.ranking()
        if found is not None:
            return found
        counts: dict[str, Any] = {"labelled": self.labelled, "errors": self.wrong, "model_error": self.share}
        if self.share is not None:
            counts |= {"accuracy": 1.0 - self.share, "model_error_interval": self.interval(), "delta": INTERVAL_DELTA}
            counts |= {} if self.edges is None else {"tree_loss": self.apart / self.labelled}
        return counts

    @property
    def share(self) -> float | None:
        return self.wrong / self.labelled if self.labelled else None

    def interval(self) -> list[float] | None:
        """Return the ends of the exact interval for the error of this model; None for too many examples."""
        from novikoff.theory import binomial

        if not 0 < self.labelled <= binomial.MAX_EXAMPLES:
            return None
        counts: dict[str, Any] = {"mistakes": self.wrong, "examples": self.labelled, "delta": INTERVAL_DELTA / 2.0}
        return [binomial.lower(**counts), binomial.upper(**counts)]

    def ranking(self) -> dict[str, Any] | None:
        """Return NDCG and MAP, where documents have grades and queries."""
        if not self.queries:
            return None
        import numpy as np

        from novikoff.evaluation.ranking import find_query_starts_of_files, measure_ranking

        titles, *parts = zip(*self.queries, strict=True)
        scores, grades, queries = (np.concatenate(part) for part in parts)
        if (queries < 0).any() or np.isnan(grades).any():
            return None
        starts = find_query_starts_of_files(list(zip(titles, parts[2], strict=True)))
        return {**measure_ranking(scores, grades, starts)._asdict()}

    def describe(self, data: str) -> str:
        """Return the result of the comparison as one or two lines."""
        found = self.ranking()
        if found is not None:
            return f"{found['queries']:,} queries, NDCG@10 {found['ndcg']:.4f}, MAP {found['map']:.4f}"
        if self.share is None:
            return "no labels to compare with"
        text = (
            f"accuracy {100.0 * (1.0 - self.share):.2f} % ({self.wrong:,} of {self.labelled:,} wrong)\n"
            f"error of this model on {data}: {100.0 * self.share:.2f} %"
        )
        ends = self.interval()
        if ends is not None:  # rounded outward
            low, high = math.floor(1e4 * ends[0]) / 100.0, math.ceil(1e4 * ends[1]) / 100.0
            text += f", {100.0 * (1.0 - INTERVAL_DELTA):g} % interval {low:.2f} to {high:.2f} %"
            text += f" (if {data} is an i.i.d. sample that the model has not learned from)"
        return text if self.edges is None else f"{text}; tree loss {self.apart / self.labelled:.4f}"


def _format_lines(texts: list[str], scores: Any) -> str:
    if scores is None:
        return "".join(f"{label}\n" for label in texts)
    rows = ("\t".join(map(repr, row)) for row in scores.tolist())
    return "".join(f"{label}\t{row}\n" for label, row in zip(texts, rows, strict=True))


def _check_streams(titles: list[str]) -> None:
    """Raise InputError where a pipe is named twice."""
    twice = [title for title in titles if is_stream(title) and titles.count(title) > 1]
    if twice:
        raise InputError(f"{twice[0]}: can be read once only: to name it twice, use a file.")


def _name_data(titles: list[str]) -> str:
    """Return the name of the data in messages."""
    names = ["standard input" if title == "-" else Path(title).name for title in titles]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _print_report(examples: int, compared: _LabelComparison, options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps({"examples": examples, **compared.as_dict()}))
    if not options.quiet:
        among = "" if compared.labelled in (0, examples) else f"{compared.labelled:,} with a label, "
        data = _name_data(options.data)
        with contextlib.suppress(BrokenPipeError):
            print(f"{examples:,} examples, {among}{compared.describe(data)}", file=sys.stderr)
