"""Evaluation results as text: figures with what they mean, tables for classes, slices and the confusion matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence

from novikoff.evaluation.confusion import ClassMetrics
from novikoff.evaluation.intervals import Interval, PairedComparison
from novikoff.evaluation.results import ClassificationResult, LabelSetResult, RankingResult, Result

MAX_CLASSES_SHOWN = 30
MAX_CONFUSION_CLASSES = 12
MAX_SLICES_SHOWN = 40


def format_result(result: Result, *, by: str | None = None) -> list[str]:
    """Return the lines for a result."""
    if isinstance(result, RankingResult):
        return [
            _line("NDCG@10", f"{result.ndcg:.4f}", f"mean over {result.queries:,} queries"),
            _line("MAP", f"{result.map:.4f}"),
        ]
    if isinstance(result, LabelSetResult):
        return _format_label_sets(result)
    return _format_classification(result, by)


def _line(name: str, figure: str, note: str = "") -> str:
    return f"{name:<18}{figure:>10}" + (f"   ({note})" if note else "")


def format_interval(interval: Interval | None, confidence: float) -> str:
    """Return an interval in per cent, its ends rounded outward."""
    if interval is None:
        return ""
    low, high = math.floor(1e4 * interval[0]) / 100.0, math.ceil(1e4 * interval[1]) / 100.0
    return f"{100.0 * confidence:g} % interval {low:.2f} to {high:.2f} %"


def _format_classification(result: ClassificationResult, by: str | None) -> list[str]:
    right = result.examples - result.errors
    wrong = f"{result.errors:,} wrong, {format_interval(result.error_interval, result.confidence)}".rstrip(", ")
    lines = [
        _line("accuracy", f"{100.0 * result.accuracy:.2f} %", f"{right:,} of {result.examples:,} right"),
        _line("error", f"{100.0 * result.error:.2f} %", wrong),
        _line("majority", f"{100.0 * result.majority_accuracy:.2f} %", "accuracy of always the most frequent label"),
        _line("no change", f"{100.0 * result.no_change_accuracy:.2f} %", "accuracy of the label of the row before"),
    ]
    if result.auc is not None:
        ends = format_interval(Interval(result.auc.low, result.auc.high), result.confidence)
        lines.append(_line("AUC", f"{100.0 * result.auc.value:.2f} %", f"{ends}, asymptotic"))
    lines += [_line(name, f"{figure:.4f}") for name, figure in result.further_figures.items()]
    lines += ["", *_class_table(result.per_class, {"macro": result.macro, "weighted": result.weighted})]
    if len(result.classes) <= MAX_CONFUSION_CLASSES:
        lines += ["", "confusion (a row for each true class, a column for each predicted class)"]
        lines += _align_table([["", *result.classes], *_confusion_rows(result)])
    if result.slices:
        lines += ["", *_slice_table(result, by or "value")]
    return lines


def _confusion_rows(result: ClassificationResult) -> list[list[str]]:
    return [
        [label, *(f"{count:,}" for count in row)] for label, row in zip(result.classes, result.confusion, strict=True)
    ]


def _class_table(per_class: dict[str, ClassMetrics], averages: dict[str, ClassMetrics]) -> list[str]:
    rows = [[label, *_metric_cells(m)] for label, m in list(per_class.items())[:MAX_CLASSES_SHOWN]]
    more = len(per_class) - len(rows)
    rows += [[f"… {more:,} more", "", "", "", ""]] if more else []
    rows += [[name, *_metric_cells(m)] for name, m in averages.items()]
    return _align_table([["class", "precision", "recall", "F1", "examples"], *rows])


def _metric_cells(metrics: ClassMetrics) -> list[str]:
    return [f"{metrics.precision:.4f}", f"{metrics.recall:.4f}", f"{metrics.f1:.4f}", f"{metrics.support:,}"]


def _slice_table(result: ClassificationResult, by: str) -> list[str]:
    rows = [
        [s.value, f"{s.examples:,}", f"{100.0 * s.error:.2f} %", format_interval(s.error_interval, result.confidence)]
        for s in result.slices[:MAX_SLICES_SHOWN]
    ]
    more = len(result.slices) - len(rows)
    return _align_table([[by, "examples", "error", ""], *rows]) + ([f"… {more:,} more values"] if more else [])


def _format_label_sets(result: LabelSetResult) -> list[str]:
    return [
        _line("exact match", f"{100.0 * result.exact_match:.2f} %", f"whole sets, of {result.examples:,} examples"),
        _line("Hamming loss", f"{result.hamming_loss:.4f}", "share of wrong decisions over examples and labels"),
        _line("micro F1", f"{result.micro.f1:.4f}"),
        _line("macro F1", f"{result.macro.f1:.4f}"),
        "",
        *_class_table(result.per_class, {"micro": result.micro, "macro": result.macro}),
    ]


def format_comparison(first: str, second: str, pair: PairedComparison, delta: float) -> list[str]:
    """Return the lines that compare two models on the same examples."""
    interval = pair.interval(delta)
    better = second if pair.difference > 0.0 else first
    decided = interval is not None and not interval.low <= 0.0 <= interval.high
    verdict = f"{better} is better" if decided else "the difference is within what chance explains"
    ends = "" if interval is None else f", {format_interval(interval, 1.0 - delta)}"
    return [
        f"{first} against {second}: difference of the errors {100.0 * pair.difference:+.2f} %{ends}",
        f"  only {first} wrong: {pair.only_first_wrong:,}, only {second} wrong: {pair.only_second_wrong:,}; {verdict}",
    ]


def _align_table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    return ["  ".join(_align(row, widths)).rstrip() for row in rows]


def _align(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return the cells padded to their widths: the first to the left, numbers to the right."""
    return [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
