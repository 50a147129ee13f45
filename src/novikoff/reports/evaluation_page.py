"""Build the page of an evaluation: figures of all models, curves, calibration, confusion, slices and comparisons."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from novikoff.evaluation.confusion import ClassMetrics
from novikoff.evaluation.intervals import Interval, PairedComparison
from novikoff.evaluation.results import ClassificationResult, LabelSetResult, RankingResult, Result
from novikoff.reports import evaluation_plots as plots
from novikoff.reports.evaluation_plots import Estimate
from novikoff.reports.rendering import render_page

MAX_CLASSES = 60
"""Classes in a table, and in a plot of a confusion matrix."""
MAX_CONFUSIONS = 20
MAX_SLICES = 40


class Pair(NamedTuple):
    """Two models compared on the same examples."""

    first: str
    second: str
    comparison: PairedComparison


class Figure(NamedTuple):
    """A plot with what is said about it."""

    title: str
    description: str
    caption: str
    plot: str


class Table(NamedTuple):
    title: str
    heads: list[str]
    rows: list[list[str]]


class _Page:
    """Figures and tables of a page; each plot gets a place of its own."""

    def __init__(self) -> None:
        self.figures: list[Figure] = []

    def add(self, title: str, description: str, caption: str, draw: Callable[[str], str]) -> None:
        self.figures.append(Figure(title, description, caption, draw(f"plot-{len(self.figures)}")))


def build_page(
    results: Sequence[tuple[str, Result]],
    pairs: Sequence[Pair],
    *,
    data: str,
    document: dict[str, Any],
    delta: float,
    by: str | None = None,
) -> str:
    """Return the page of models, given by name, on the same data; `document` has all numbers for the saved JSON."""
    classified = [(name, result) for name, result in results if isinstance(result, ClassificationResult)]
    page = _Page()
    if classified:
        _add_errors(page, classified)
    _add_differences(page, pairs, delta)
    _add_curves(page, classified)
    for name, result in classified:
        _add_model(page, name, result, by)
    values = {
        "data": data,
        "models": [name for name, _ in results],
        "lead": [_describe_intervals(delta)],
        "summary": _summarize(results),
        "figures": page.figures,
        "tables": [table for name, result in results for table in _build_tables(name, result, by)],
        "comparisons": _build_comparisons(pairs, delta),
        "uncalibrated": [name for name, result in classified if result.log_loss is None],
    }
    return render_page("evaluation.html", json.dumps(document, ensure_ascii=False, indent=1), values)


def _describe_intervals(delta: float) -> str:
    return (
        f"All figures are of the saved models on these examples. Intervals have confidence {1.0 - delta:g}. They hold"
        " for new examples if these are an i.i.d. sample that the models have not learned from."
    )


# --- Plots ---


def _add_errors(page: _Page, classified: Sequence[tuple[str, ClassificationResult]]) -> None:
    first = classified[0][1]
    baselines = {
        "always the most frequent label": 1.0 - first.majority_accuracy,
        "the label of the row before": 1.0 - first.no_change_accuracy,
    }
    errors = [Estimate(name, result.error, result.error_interval) for name, result in classified]
    described = "; ".join(f"{one.name}: error {_percent(one.value)}" for one in errors)
    caption = (
        "The share of wrong predictions, with its exact interval. A model is of use if its error is below both lines."
    )
    page.add("Error", described, caption, lambda place: plots.draw_errors(errors, baselines, place))


def _add_differences(page: _Page, pairs: Sequence[Pair], delta: float) -> None:
    if not pairs:
        return
    rows = [Estimate(f"{a} − {b}", pair.difference, pair.interval(delta)) for a, b, pair in pairs]
    described = "; ".join(f"{row.name}: {_format_signed_percent(row.value)}" for row in rows)
    caption = (
        "Both models predict the same examples. Where the interval is left of 0, the first model is better;"
        " where it contains 0, chance explains the difference."
    )
    page.add("Paired comparison", described, caption, lambda place: plots.draw_differences(rows, place))


def _add_curves(page: _Page, classified: Sequence[tuple[str, ClassificationResult]]) -> None:
    scored = [(name, result) for name, result in classified if result.roc is not None]
    roc = {name: result.roc for name, result in scored if result.roc is not None}
    recall = {name: result.precision_recall for name, result in scored if result.precision_recall is not None}
    if scored:
        rate = _positive_rate(scored[0][1])
        described = "; ".join(f"{name}: AUC {_percent(result.auc.value)}" for name, result in scored if result.auc)
        caption = "Each point is a threshold of the score. A better ranking is nearer to the upper left corner."
        page.add("ROC", described, caption, lambda place: plots.draw_roc(roc, place))
        described = "; ".join(f"{name}: average precision {result.average_precision:.4f}" for name, result in scored)
        caption = f"The positive class is {scored[0][1].positive}: {_percent(rate)} of the examples."
        page.add(
            "Precision and recall", described, caption, lambda place: plots.draw_precision_recall(recall, rate, place)
        )
    curves = {
        name: ([b.mean_probability for b in result.reliability], [b.observed_rate for b in result.reliability])
        for name, result in classified
        if result.reliability
    }
    if curves:
        described = "; ".join(
            f"{name}: calibration error {result.calibration_error:.4f}" for name, result in classified if name in curves
        )
        caption = (
            "Each point is a bin with about the same number of examples. Calibrated probabilities are on the diagonal."
        )
        page.add("Calibration", described, caption, lambda place: plots.draw_reliability(curves, place))


def _positive_rate(result: ClassificationResult) -> float:
    supports = [metrics.support for metrics in result.per_class.values()]
    positive = result.per_class[result.positive or result.classes[-1]].support
    return positive / (sum(supports) or 1)


def _add_model(page: _Page, name: str, result: ClassificationResult, by: str | None) -> None:
    if result.score_histogram is not None:
        page.add(
            f"Scores of {name}",
            f"Histogram of the scores of both classes; the numbers are in the JSON of {name}.",
            "Where the bars overlap, no threshold separates the classes. The end bins hold all scores beyond them.",
            lambda place: plots.draw_scores(result, place),
        )
    if len(result.classes) <= MAX_CLASSES:
        page.add(
            f"Confusion of {name}",
            f"{result.errors:,} of {result.examples:,} examples are off the diagonal.",
            "A row for each true class. The colour is the share of the row: a good model is dark on the diagonal only.",
            lambda place: plots.draw_confusion(result, place),
        )
    if result.slices:
        slices = [Estimate(one.value, one.error, one.error_interval) for one in result.slices[:MAX_SLICES]]
        more = len(result.slices) - len(slices)
        rest = f" {more:,} more values are in the JSON." if more else ""
        page.add(
            f"Error of {name} by {by or 'value'}",
            "; ".join(f"{one.name}: {_percent(one.value)}" for one in slices),
            f"One row for each value, the most frequent first, with the exact interval of each.{rest}",
            lambda place: plots.draw_slices(slices, result.error, place),
        )


# --- Tables ---


def _summarize(results: Sequence[tuple[str, Result]]) -> list[Table]:
    """Return one table for each kind of result, with a row for each model."""
    kinds: list[tuple[type, Callable[[Any], dict[str, str]]]] = [
        (ClassificationResult, _classification_cells),
        (LabelSetResult, _label_set_cells),
        (RankingResult, lambda r: {"queries": f"{r.queries:,}", "NDCG@10": f"{r.ndcg:.4f}", "MAP": f"{r.map:.4f}"}),
    ]
    tables = []
    for kind, describe in kinds:
        found = [(name, describe(result)) for name, result in results if isinstance(result, kind)]
        heads = list(dict.fromkeys(head for _, cells in found for head in cells))
        rows = [[name, *(cells.get(head, "–") for head in heads)] for name, cells in found]
        tables += [Table("Models", ["model", *heads], rows)] if found else []
    return tables


def _classification_cells(result: ClassificationResult) -> dict[str, str]:
    cells = {
        "examples": f"{result.examples:,}",
        "accuracy": _percent(result.accuracy),
        "error": _percent(result.error),
        "interval of the error": _interval(result.error_interval),
        "F1" if result.positive else "macro F1": f"{result.f1:.4f}",
    }
    if result.auc is not None:
        cells["AUC"] = _percent(result.auc.value)
        cells["interval of AUC"] = _interval(Interval(result.auc.low, result.auc.high))
    return cells | {name: f"{figure:.4f}" for name, figure in result.further_figures.items()}


def _label_set_cells(result: LabelSetResult) -> dict[str, str]:
    return {
        "examples": f"{result.examples:,}",
        "exact match": _percent(result.exact_match),
        "interval of its error": _interval(result.error_interval),
        "Hamming loss": f"{result.hamming_loss:.4f}",
        "micro F1": f"{result.micro.f1:.4f}",
        "macro F1": f"{result.macro.f1:.4f}",
    }


def _build_tables(name: str, result: Result, by: str | None) -> list[Table]:
    if isinstance(result, RankingResult):
        return []
    averages = {"micro": result.micro, "macro": result.macro}
    if isinstance(result, LabelSetResult):
        return [_class_table(name, result.per_class, averages)]
    tables = [_class_table(name, result.per_class, {**averages, "weighted": result.weighted})]
    if len(result.classes) > MAX_CLASSES:
        tables.append(_confusion_table(name, result))
    if result.slices:
        rows = [
            [one.value, f"{one.examples:,}", f"{one.errors:,}", _percent(one.error), _interval(one.error_interval)]
            for one in result.slices[:MAX_SLICES]
        ]
        heads = [by or "value", "examples", "wrong", "error", "interval"]
        tables.append(Table(f"Error of {name} by {by or 'value'}", heads, rows))
    return tables


def _class_table(name: str, per_class: dict[str, ClassMetrics], averages: dict[str, ClassMetrics]) -> Table:
    listed = [*list(per_class.items())[:MAX_CLASSES], *averages.items()]
    rows = [[label, f"{m.precision:.4f}", f"{m.recall:.4f}", f"{m.f1:.4f}", f"{m.support:,}"] for label, m in listed]
    return Table(f"Classes of {name}", ["class", "precision", "recall", "F1", "examples"], rows)


def _confusion_table(name: str, result: ClassificationResult) -> Table:
    """Return the most frequent confusions, where there are too many classes for a matrix."""
    counts = [
        (count, true, predicted)
        for true, row in zip(result.classes, result.confusion, strict=True)
        for predicted, count in zip(result.classes, row, strict=True)
        if count and true != predicted
    ]
    most = sorted(counts, key=lambda entry: -entry[0])[:MAX_CONFUSIONS]
    rows = [[true, predicted, f"{count:,}"] for count, true, predicted in most]
    return Table(f"Most frequent confusions of {name}", ["true class", "predicted", "examples"], rows)


def _build_comparisons(pairs: Sequence[Pair], delta: float) -> Table | None:
    heads = ["models", "only the first wrong", "only the second wrong", "difference of the errors", "interval"]
    rows = [
        [
            f"{first} − {second}",
            f"{pair.only_first_wrong:,}",
            f"{pair.only_second_wrong:,}",
            _format_signed_percent(pair.difference),
            _interval(pair.interval(delta)),
        ]
        for first, second, pair in pairs
    ]
    return Table("Paired comparison", heads, rows) if rows else None


def _percent(value: float) -> str:
    return f"{100.0 * value:.2f} %"


def _format_signed_percent(value: float) -> str:
    return f"{100.0 * value:+.2f} %"


def _interval(interval: Interval | None) -> str:
    return "–" if interval is None else f"{100.0 * interval.low:.2f} to {100.0 * interval.high:.2f} %"
