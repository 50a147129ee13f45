"""Measures how well models predict labelled data: accuracy, AUC, precision and recall, calibration, comparisons."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.base.decision_threshold import DecisionThreshold
from novikoff.base.internals import (
    build_scorer,
    decide_labels,
    display_scores,
    explain_missing_probabilities,
    format_label,
    predicts_one_label,
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
from novikoff.cli.output.evaluation_text import format_comparison, format_result
from novikoff.cli.output.model_output import check_writable
from novikoff.cli.output.status_line import StatusLine
from novikoff.cli.predict import check_same_columns, score_batch
from novikoff.data.column_values import ColumnValues
from novikoff.data.labels.binary_labels import to_plain_label
from novikoff.data.reader import DataReader, FileBatch
from novikoff.errors import InputError, LabelError
from novikoff.evaluation.evaluators import (
    DEFAULT_DELTA,
    UNLABELLED,
    ClassificationEvaluator,
    Codes,
    LabelIndex,
    LabelSetEvaluator,
)
from novikoff.evaluation.intervals import PairedComparison
from novikoff.evaluation.ranking import find_query_starts_of_files, measure_ranking
from novikoff.evaluation.results import RankingResult, Result

EPILOG = f"""\
{DATA_HELP}
It is read as the data that the model was learned from, and must have labels. All figures are of the saved model on
DATA. Intervals hold for new examples if DATA is an i.i.d. sample that the model has not learned from.
With several models each pair is compared on the same examples.

examples:
  novikoff evaluate spam.model test.svm
  novikoff evaluate old.model new.model test.csv
  novikoff evaluate bank.model test.csv --by job --json
  novikoff evaluate old.model new.model test.csv --report evaluation.html
"""


class ModelEvaluation(NamedTuple):
    """What is known of one model on the data."""

    model: str
    result: Result
    wrong: NDArray[np.uint8] | None
    """A bit for each labelled example, set where the prediction is wrong; None where predictions are not labels."""
    threshold: DecisionThreshold | None = None
    """The decision threshold that the model holds."""


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("models", nargs="+", metavar="MODEL", help="files that learn --save wrote")
    parser.add_argument("data", metavar="DATA", help="labelled examples")
    parser.add_argument("--by", metavar="COLUMN", help="also show the error for each value of this column or field")
    parser.add_argument(
        "--delta",
        metavar="D",
        type=float,
        default=DEFAULT_DELTA,
        help="how often an interval may be wrong (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.add_argument("-q", "--quiet", action="store_true", help="nothing on stderr but warnings")
    parser.add_argument("--report", metavar="FILE.html", help="also write a page with curves, plots and tables")
    add_data_options(parser)


def run(options: argparse.Namespace) -> int:
    if not 0.0 < options.delta < 1.0:
        raise InputError(f"--delta must be between 0 and 1, but is {options.delta}.")
    if is_stream(options.data) and (len(options.models) > 1 or options.by):
        raise InputError(f"{options.data}: can be read once only: for several models or --by use a file.")
    if options.report:
        check_writable(Path(options.report))
    found = [_evaluate_model(path, options) for path in options.models]
    pairs = [(a, b, _compare(a, b)) for a, b in combinations(found, 2) if a.wrong is not None and b.wrong is not None]
    document = _build_document(found, pairs, options)
    if options.report:
        _write_report(found, pairs, document, options)
    print(json.dumps(document) if options.json else _format_text(found, pairs, options))
    return 0


def _evaluate_model(path: str, options: argparse.Namespace) -> ModelEvaluation:
    from novikoff.model_file import load_learner

    model = load_learner(path)
    reading_options = build_reading_options(options)
    reading_options.unlabelled = True
    reading = open_reading([options.data], reading_options, state_of(model))
    slices = ColumnValues([options.data], build_reading_options(options), options.by, "--by") if options.by else None
    with StatusLine(reading, wanted=not options.quiet) as status:
        found = evaluate_reading(model, path, reading, delta=options.delta, slices=slices, status=status)
    show_notes(reading, quiet=options.quiet)
    return found


def evaluate_reading(
    model: Any,
    path: str,
    reading: DataReader,
    *,
    delta: float = DEFAULT_DELTA,
    slices: ColumnValues | None = None,
    status: StatusLine | None = None,
) -> ModelEvaluation:
    """Evaluate a model, which messages call `path`, on all examples of a reading."""
    batches, title = _iter_checked_batches(model, path, reading), reading.titles[0]
    batches = batches if status is None else status.watch(batches)
    if hasattr(model, "rank"):
        return ModelEvaluation(path, _evaluate_ranking(model, batches, title), None)
    if not predicts_one_label(model):
        return ModelEvaluation(path, _evaluate_label_sets(model, batches, delta), None)
    result, wrong = _evaluate_classes(model, batches, title, delta, slices)
    return ModelEvaluation(path, result, wrong, getattr(state_of(model), "threshold", None))


def _iter_checked_batches(model: Any, path: str, reading: DataReader) -> Iterator[FileBatch]:
    for number, batch in enumerate(reading.batches()):
        if number == 0:
            check_same_columns(model, reading, batch, reading.titles[0], path)
        yield batch


def _evaluate_classes(
    model: Any, batches: Iterator[FileBatch], title: str, delta: float, slices: ColumnValues | None
) -> tuple[Result, NDArray[Any]]:
    """Return the result, and which of the labelled predictions are wrong."""
    classes = list(model.classes_)
    index = LabelIndex([format_label(model, label) for label in classes])
    order = np.argsort(np.array(classes))
    score, edges = build_scorer(model, known=True), getattr(model, "edges", None)
    has_probabilities = explain_missing_probabilities(model) is None
    wrong: list[NDArray[np.bool_]] = []
    with ClassificationEvaluator(index, delta) as evaluator:
        for batch in batches:
            scores = score_batch(score, batch)
            predicted = order[np.searchsorted(np.array(classes), decide_labels(model, scores), sorter=order)]
            true = _true_codes(model, batch, index)
            shown = display_scores(model, scores)
            wrong.append(
                evaluator.add(
                    true,
                    predicted,
                    scores=(shown[:, -1] if shown.shape[1] == 1 else shown[:, 1] - shown[:, 0])
                    if evaluator.is_binary
                    else None,
                    probabilities=to_probabilities(model, scores) if has_probabilities else None,
                    slices=None if slices is None else slices.take(len(batch)),
                )
            )
            if edges is not None:
                evaluator.add_tree_edges(_count_edges(edges, index.labels, true, predicted))
        result = evaluator.result()
    if result.examples == 0:
        raise InputError(f"{title}: no example has a label: evaluate needs labels to compare with.")
    return result, np.concatenate(wrong)


def score_labelled(model: Any, reading: DataReader) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the score of each labelled example, and whether it is positive, for a model of two classes."""
    index, score = LabelIndex([format_label(model, label) for label in model.classes_]), build_scorer(model, known=True)
    scores, codes = [], []
    for batch in _iter_checked_batches(model, "the model", reading):
        scores.append(score_batch(score, batch).copy())
        codes.append(_true_codes(model, batch, index))
    all_scores, all_codes = np.concatenate(scores), np.concatenate(codes)
    labelled = all_codes != UNLABELLED
    return all_scores[labelled], all_codes[labelled] == 1


def _true_codes(model: Any, batch: FileBatch, index: LabelIndex) -> Codes:
    """Return the number of each true label; each distinct label of the batch is decoded once."""
    _, first, inverse = np.unique(batch.parsed.keys, return_index=True, return_inverse=True)
    codes = np.array([_true_code(model, batch, int(i), index) for i in first], np.int64)
    return codes[inverse]


def _true_code(model: Any, batch: FileBatch, i: int, index: LabelIndex) -> int:
    try:
        label = batch.parsed.label(i)
    except LabelError as problem:
        raise InputError(f"{batch.get_location(i)}: {problem}") from None
    return UNLABELLED if label is None else int(index.encode([format_label(model, label)])[0])


def _count_edges(edges: Any, labels: list[str], true: Codes, predicted: Codes) -> int:
    pairs, counts = np.unique(np.stack([true, predicted])[:, true != UNLABELLED], axis=1, return_counts=True)
    return sum(edges(labels[a], labels[b]) * n for (a, b), n in zip(pairs.T.tolist(), counts.tolist(), strict=True))


def _evaluate_label_sets(model: Any, batches: Iterator[FileBatch], delta: float) -> Result:
    evaluator = LabelSetEvaluator(LabelIndex([str(label) for label in model.classes_]), delta)
    score = build_scorer(model, known=True)
    for batch in batches:
        predicted = [[str(label) for label in labels] for labels in decide_labels(model, score_batch(score, batch))]
        evaluator.add([_true_set(batch, i) for i in range(len(batch))], predicted)
    return evaluator.result()


def _true_set(batch: FileBatch, i: int) -> list[str]:
    sets = batch.parsed.sets
    labels = batch.parsed.label(i) if sets is None else sets[1][sets[0][i] : sets[0][i + 1]].tolist()
    return [str(to_plain_label(v)) for v in (labels if isinstance(labels, list) else [labels]) if v is not None]


def _evaluate_ranking(model: Any, batches: Iterator[FileBatch], title: str) -> Result:
    score, batches_found = build_scorer(model, known=True), []
    for batch in batches:
        if batch.parsed.groups is None or batch.parsed.numbers is None:
            raise InputError(f"{title}: a ranking is evaluated on rows with a grade and a query (qid).")
        grades, queries = batch.parsed.numbers.copy(), batch.parsed.groups.copy()
        batches_found.append((batch.title, score_batch(score, batch).copy(), grades, queries))
    titles, *parts = zip(*batches_found, strict=True)
    scores, grades, queries = (np.concatenate(part) for part in parts)
    if (queries < 0).any() or np.isnan(grades).any():
        raise InputError(f"{title}: a ranking is evaluated on rows with a grade and a query (qid).")
    found = measure_ranking(scores, grades, find_query_starts_of_files(list(zip(titles, parts[2], strict=True))))
    return RankingResult(found.queries, found.ndcg, found.map)


def _compare(a: ModelEvaluation, b: ModelEvaluation) -> PairedComparison:
    first, second = a.wrong, b.wrong
    if first is None or second is None or len(first) != len(second):
        raise InputError(
            f"{a.model} and {b.model} read different numbers of labelled examples: they can't be compared."
        )
    return PairedComparison(int((first & ~second).sum()), int((second & ~first).sum()), len(first))


def _build_document(
    found: list[ModelEvaluation],
    pairs: list[tuple[ModelEvaluation, ModelEvaluation, PairedComparison]],
    options: argparse.Namespace,
) -> dict[str, Any]:
    shown: dict[str, Any] = {"data": options.data, "models": [_describe(one) for one in found]}
    if pairs:
        shown["comparisons"] = [
            {
                "first": a.model,
                "second": b.model,
                **pair._asdict(),
                "difference": pair.difference,
                "interval": pair.interval(options.delta),
                "confidence": 1.0 - options.delta,
            }
            for a, b, pair in pairs
        ]
    return shown


def _describe(one: ModelEvaluation) -> dict[str, Any]:
    threshold = {} if one.threshold is None else {"threshold": one.threshold._asdict()}
    return {"model": one.model, **threshold, **one.result.to_dict()}


def _write_report(
    found: list[ModelEvaluation],
    pairs: list[tuple[ModelEvaluation, ModelEvaluation, PairedComparison]],
    document: dict[str, Any],
    options: argparse.Namespace,
) -> None:
    from novikoff.model_file import write_atomically
    from novikoff.reports.evaluation_page import Pair, build_page

    names = _name_models([one.model for one in found])
    named = dict(zip(map(id, found), names, strict=True))
    page = build_page(
        list(zip(names, (one.result for one in found), strict=True)),
        [Pair(named[id(a)], named[id(b)], pair) for a, b, pair in pairs],
        data=_name_data(options.data),
        document=document,
        delta=options.delta,
        by=options.by,
    )
    write_atomically(Path(options.report), page.encode())


def _name_models(paths: list[str]) -> list[str]:
    """Return the names of the files without folders; numbered where names occur twice."""
    names = [Path(path).name for path in paths]
    return [name if names.count(name) == 1 else f"{k}: {name}" for k, name in enumerate(names, 1)]


def _name_data(data: str) -> str:
    return "standard input" if data == "-" else Path(data).name


def _format_text(
    found: list[ModelEvaluation],
    pairs: list[tuple[ModelEvaluation, ModelEvaluation, PairedComparison]],
    options: argparse.Namespace,
) -> str:
    data = "standard input" if options.data == "-" else options.data
    parts = []
    for one in found:
        head = [f"{one.model} on {data}"] if len(found) > 1 else []
        head += [] if one.threshold is None else [f"threshold   {one.threshold}"]
        parts.append("\n".join([*head, *format_result(one.result, by=options.by)]))
    parts += ["\n".join(format_comparison(a.model, b.model, pair, options.delta)) for a, b, pair in pairs]
    if not options.quiet:
        print(f"the figures are of the saved model on {data}", file=sys.stderr)
    return "\n\n".join(parts)
