"""Figures of the model that `learn` learns: on a test file and on held-out rows, after each pass and at the end.

The model is evaluated as its file holds it: it is serialized and loaded, which also leaves the run untouched.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import Any, NamedTuple

from novikoff.base.decision_threshold import DecisionThreshold
from novikoff.base.internals import decides_by_score, is_calibrated, needs_two_classes, state_of
from novikoff.cli.evaluate import evaluate_reading, score_labelled
from novikoff.cli.options.data_options import build_reading_options, open_reading
from novikoff.cli.options.evaluation_options import check_evaluation_options
from novikoff.cli.output.data_summary import show_notes
from novikoff.cli.output.evaluation_text import format_result
from novikoff.data.holdout import HoldoutRule, RowFilter, find_first_held_out
from novikoff.data.reader import DataReader
from novikoff.decision_threshold import check_model, set_threshold, store_choice
from novikoff.errors import InputError
from novikoff.evaluation.results import LabelSetResult, RankingResult, Result
from novikoff.evaluation.thresholds import ThresholdChoice
from novikoff.model_file import from_bytes, to_bytes


class PassFigures(NamedTuple):
    """The figures by which a pass is compared with others."""

    number: int
    """From 1."""
    error: float | None
    """None for rankings."""
    measure: str
    loss: float
    """Of the measure; lower is better."""


class RunEvaluation:
    """Holds out rows, evaluates the model after each of several passes, and keeps the best for --early-stopping."""

    def __init__(self, options: argparse.Namespace, passes: int) -> None:
        check_evaluation_options(options, passes)
        self.options, self.passes = options, passes
        self.sources = [name for name in ("holdout", "test") if getattr(options, name) is not None]
        """The data to evaluate on. The first one compares the passes."""
        self.rule = None if options.holdout is None else _build_rule(options)
        self.filter: RowFilter | None = None
        self.history: list[PassFigures] = []
        self.stopped = False
        self.best_content = b""
        self.results: dict[str, Result] = {}
        self.threshold: DecisionThreshold | None = None
        self.choice: ThresholdChoice | None = None
        """The threshold that was chosen on the held-out rows, and what it does on them."""

    @property
    def best(self) -> PassFigures:
        """The first of the passes with the lowest loss."""
        return min(self.history, key=lambda figures: figures.loss)

    def begin(self, reading: DataReader) -> None:
        """Hold out rows of a reading whose first pass is about to begin."""
        self.history, self.stopped, self.best_content = [], False, b""
        if self.rule is not None:
            first = find_first_held_out(self.rule, reading.titles, reading.options)
            self.filter = RowFilter(self.rule, reading.options, held_out=False, first_held_out=first)
            reading.row_filter = self.filter

    def check_model(self, model: Any) -> None:
        """Raise InputError if a threshold is wanted that the model cannot have."""
        if self.options.decision_threshold is not None and not decides_by_score(model):
            raise InputError(
                f"--decision-threshold is for two classes, but the data has more, or {type(model).__name__} does not"
                " decide by one score."
            )

    def should_stop(self, model: Any) -> bool:
        """Evaluate the model after a pass; return whether the last N passes of --early-stopping were not better."""
        if not self.sources or (needs_two_classes(model) and len(state_of(model).labels.known()) < 2):
            return False  # learn ends with an error
        content, patience = self._to_bytes(model), self.options.early_stopping
        result = self._evaluate(content, self.sources[0])
        self.history.append(PassFigures(len(self.history) + 1, _find_error(result), *_find_loss(result, model)))
        if patience is not None and self.best is self.history[-1]:
            self.best_content = content
        self._show_pass()
        self.stopped = patience is not None and len(self.history) - self.best.number >= patience
        return self.stopped

    def finish(self, model: Any) -> Any:
        """Return the model to save after the last pass: with --early-stopping that of the best pass."""
        if self.passes > 1 and not self.stopped:
            self.should_stop(model)
        if not self.best_content:
            self._to_bytes(model)
        else:
            best = from_bytes(self.best_content, "the model of the best pass")
            state_of(best).label_order = state_of(model).label_order
            model = best
        self._set_threshold(model)
        return model

    def _set_threshold(self, model: Any) -> None:
        """Set the threshold of --decision-threshold, or choose it on the held-out rows."""
        wanted = self.options.decision_threshold
        if wanted is None or len(state_of(model).labels.known()) < 2:  # learn ends with an error
            return
        if isinstance(wanted, float):
            set_threshold(model, wanted)
        else:
            working = check_model(model)
            scores, positive = score_labelled(working, self._open(model, "holdout"))
            self.choice = store_choice(working, wanted, wanted.choose(scores, positive))

    def measure(self, model: Any) -> dict[str, Any]:
        """Evaluate the final model, and return its figures for the summary."""
        content = self._to_bytes(model)
        self.results = {name: self._evaluate(content, name, notes=True) for name in self.sources}
        about = {"test": {"data": self.options.test}, "holdout": {} if self.rule is None else self.rule.record()}
        found: dict[str, Any] = {name: {**about[name], **result.to_dict()} for name, result in self.results.items()}
        if self.history:
            found |= {"per_pass": [figures._asdict() for figures in self.history], "best_pass": self.best.number}
        if self.best_content:
            found["saved_pass"] = self.best.number
        self.threshold = getattr(state_of(model), "threshold", None)
        if self.threshold is not None:
            found["threshold"] = self.threshold._asdict()
        return found

    def format_text(self) -> str:
        """Return the lines on the figures of `measure`, to print after those of the run."""
        model, lines = "saved model" if self.options.save else "learned model", []
        if self.best_content:
            of = f"{self.best.number} of {len(self.history)}"
            rows = "held-out rows" if self.sources[0] == "holdout" else "test file"
            lines.append(f"best pass   {of}, the {model}: lowest {self.best.measure} on the {rows}")
        if self.threshold is not None:
            lines.append(f"threshold   {self.threshold}")
        for k, result in enumerate(self.results.values()):
            lines += ["", f"{self._name_source(k)}: figures of the {model}, not of the run", *format_result(result)]
            chosen = ["the pass"] * bool(self.best_content) + ["the threshold"] * (self.choice is not None)
            if chosen and k == 0:
                lines.append(f"note: these rows chose {' and '.join(chosen)}, so the figures are optimistic")
        return "\n".join(lines)

    def _name_source(self, k: int) -> str:
        return f"test file {self.options.test}" if self.sources[k] == "test" else f"held-out rows ({self.rule})"

    def _to_bytes(self, model: Any) -> bytes:
        """Return the content of the model's file, which records which rows were held out."""
        if self.rule is not None:
            state_of(model).holdout = self.rule.record()
        return to_bytes(model)

    def _evaluate(self, content: bytes, source: str, *, notes: bool = False) -> Result:
        """Evaluate the model in the content of a file; print notes and warnings on the test file if asked."""
        model = from_bytes(content, "the learned model")
        reading = self._open(model, source)
        result = evaluate_reading(model, "the model", reading).result
        if notes and source == "test":
            show_notes(reading, quiet=self.options.quiet)
        return result

    def _open(self, model: Any, source: str) -> DataReader:
        """Open the test file or the held-out rows."""
        reading_options = replace(build_reading_options(self.options), keep_names=0)
        if source == "test":
            reading_options.unlabelled = True
            reading = open_reading([self.options.test], reading_options, state_of(model))
        else:  # with the options of the run, so that rows have the same numbers
            assert self.filter is not None  # noqa: S101 - set in `begin`
            reading = open_reading(self.options.data, reading_options, state_of(model))
            reading.row_filter = replace(self.filter, held_out=True)
        return reading

    def _show_pass(self) -> None:
        if self.options.quiet:
            return
        now = self.history[-1]
        figures = [] if now.error is None else [f"error {100.0 * now.error:6.2f} %"]
        figures += [] if now.measure == "error" else [f"{now.measure} {now.loss:.4f}"]
        mark = "   best so far" if self.best is now else ""
        text = f"pass {now.number:>3} of {self.passes}   {self.sources[0]} {'   '.join(figures)}{mark}"
        print(text, file=sys.stderr)


def _build_rule(options: argparse.Namespace) -> HoldoutRule:
    by = options.holdout_by or "random"
    column = None if by in ("random", "time") else by
    return HoldoutRule(options.holdout, by if column is None else "column", column, options.random_state or 0)


def _find_error(result: Result) -> float | None:
    return None if isinstance(result, RankingResult) else result.error


def _find_loss(result: Result, model: Any) -> tuple[str, float]:
    """Return the measure by which passes are compared, and its value: log-loss where the model learns probabilities.

    A calibration learns in the first pass only, so the log-loss of later passes would say little of them.
    """
    if isinstance(result, RankingResult):
        return "1 - NDCG@10", 1.0 - result.ndcg
    if isinstance(result, LabelSetResult):
        return "Hamming loss", result.hamming_loss
    if result.log_loss is None or is_calibrated(model):
        return "error", result.error
    return "log-loss", result.log_loss
