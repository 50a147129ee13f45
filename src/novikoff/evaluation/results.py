"""Results of an evaluation: plain records that can be printed, compared and written as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from novikoff.evaluation.confusion import ClassMetrics
from novikoff.evaluation.curves import AucEstimate
from novikoff.evaluation.intervals import Interval
from novikoff.evaluation.probabilities import ReliabilityBin
from novikoff.evaluation.score_histogram import ScoreHistogram


@dataclass(frozen=True)
class SliceResult:
    """The error on the examples that share one value of a column."""

    value: str
    examples: int
    errors: int
    error: float
    error_interval: Interval | None


@dataclass(frozen=True)
class ClassificationResult:
    """How well a model predicts one label for each example.

    All figures are of this model on these examples. The intervals hold for new examples if these are an i.i.d. sample
    that the model has not learned from.
    """

    examples: int
    errors: int
    accuracy: float
    error: float
    error_interval: Interval | None
    """Exact (Clopper and Pearson); None without examples or beyond 10⁸."""
    confidence: float
    classes: list[str]
    confusion: list[list[int]]
    """Counts by true class (rows) and predicted class (columns)."""
    per_class: dict[str, ClassMetrics]
    micro: ClassMetrics
    """Of all decisions together; with one label for each example all three figures are the accuracy."""
    macro: ClassMetrics
    weighted: ClassMetrics
    majority_accuracy: float
    no_change_accuracy: float
    positive: str | None = None
    """The positive class of two; None for more classes."""
    auc: AucEstimate | None = None
    average_precision: float | None = None
    log_loss: float | None = None
    brier: float | None = None
    calibration_error: float | None = None
    reliability: list[ReliabilityBin] = field(default_factory=list)
    roc: tuple[list[float], list[float]] | None = None
    """False-positive and true-positive rates."""
    precision_recall: tuple[list[float], list[float]] | None = None
    """Recall and precision."""
    score_histogram: ScoreHistogram | None = None
    slices: list[SliceResult] = field(default_factory=list)
    tree_loss: float | None = None
    """The mean number of edges between true and predicted label, where labels are the nodes of a tree."""

    @property
    def further_figures(self) -> dict[str, float]:
        """The figures, by name, that only some models have."""
        found = {
            "average precision": self.average_precision,
            "log-loss": self.log_loss,
            "Brier score": self.brier,
            "calibration error": self.calibration_error,
            "tree loss": self.tree_loss,
        }
        return {name: figure for name, figure in found.items() if figure is not None}

    @property
    def f1(self) -> float:
        """F1 of the positive class; with more than two classes the macro average."""
        return (self.macro if self.positive is None else self.per_class[self.positive]).f1

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; figures that are not defined are left out."""
        return _to_plain_dict(self)


@dataclass(frozen=True)
class LabelSetResult:
    """How well a model predicts a set of labels for each example."""

    examples: int
    hamming_loss: float
    """The share of wrong decisions over all examples and labels."""
    exact_match: float
    """The share of examples whose whole set is right."""
    error: float
    """1 − exact_match."""
    error_interval: Interval | None
    confidence: float
    per_class: dict[str, ClassMetrics]
    micro: ClassMetrics
    macro: ClassMetrics

    def to_dict(self) -> dict[str, Any]:
        return _to_plain_dict(self)


@dataclass(frozen=True)
class RankingResult:
    """How well a model ranks the documents of each query."""

    queries: int
    ndcg: float
    """NDCG@10, the mean over the queries."""
    map: float
    """Mean average precision."""

    def to_dict(self) -> dict[str, Any]:
        return _to_plain_dict(self)


Result = ClassificationResult | LabelSetResult | RankingResult


def _to_plain_dict(result: Any) -> dict[str, Any]:
    found = asdict(result, dict_factory=lambda pairs: {name: _to_plain(value) for name, value in pairs})
    return {name: value for name, value in found.items() if value is not None and value != []}


def _to_plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return value._asdict()
    if isinstance(value, dict):
        return {str(key): _to_plain(one) for key, one in value.items()}
    return [_to_plain(one) for one in value] if isinstance(value, list | tuple) else value
