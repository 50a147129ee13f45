"""Explains one prediction: the contribution of each feature to the score, its value times its weight."""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from novikoff.base.internals import format_label, state_of
from novikoff.cli.options.data_options import add_data_options, build_reading_options, open_reading
from novikoff.data.reader import FileBatch
from novikoff.data.rows import Sparse
from novikoff.errors import InputError
from novikoff.explanation import Explanation, explain, explain_terms

EPILOG = """\
ROW is a JSON object of feature to number or of column to value, a line as the model's data has them, or FILE:LINE.
The bias and the contributions add up to the score. With two classes a positive score speaks for the positive class;
with more classes the score is that of the predicted class less that of its highest rival. Models without a linear
score, such as trees, kernels and votes, have no contributions.

examples:
  novikoff explain bank.model '{"age": 41, "job": "nurse"}'
  novikoff explain spam.model test.svm:17 --top 10
  novikoff explain digits.model digits.csv:2 --class 7 --json
"""


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("model", metavar="MODEL", help="a file that learn --save wrote")
    parser.add_argument("row", metavar="ROW", help="a JSON object, a line of data, or FILE:LINE")
    parser.add_argument("--class", dest="explained", metavar="LABEL", help="explain the score of this class")
    parser.add_argument(
        "--top", metavar="N", type=int, default=20, help="how many features, the largest first (default: 20)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout, with all features")
    add_data_options(parser)


def run(options: argparse.Namespace) -> int:
    from novikoff.model_file import load_learner

    if options.top < 0:
        raise InputError(f"--top must be at least 0, but is {options.top}.")
    model = load_learner(options.model)
    found = _explain_row(model, options)
    shown = found.to_dict()
    print(json.dumps(shown, ensure_ascii=False) if options.json else _format_text(model, found, options.top))
    return 0


def _explain_row(model: Any, options: argparse.Namespace) -> Explanation:
    text = options.row
    if text.lstrip().startswith("{"):
        return explain(model, _parse_object(model, text), label=options.explained)
    match = re.fullmatch(r"(.+):(\d+)", text, re.DOTALL)
    if match is not None and Path(match[1]).is_file():
        return _explain_line(model, match[1], int(match[2]), options)
    if match is not None and not re.search(r"\s", text) and Path(match[1]).suffix:
        raise InputError(f"{match[1]}: there is no such file. ROW is a JSON object, a line of data, or FILE:LINE.")
    with tempfile.TemporaryDirectory(prefix="novikoff-explain-") as folder:
        path, head = Path(folder) / "row", _build_header(model)
        path.write_text(f"{head}{text}\n", "utf-8")
        return _explain_line(model, str(path), 1 + head.count("\n"), options)


def _parse_object(model: Any, text: str) -> dict[Any, Any]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as problem:
        raise InputError(f"ROW is not valid JSON: {problem}.") from None
    reading = getattr(state_of(model), "reading", None) or {}
    numbered = state_of(model).names is None and reading.get("format") in (None, "svmlight")
    if numbered and all(key.isdecimal() for key in found):
        return {int(key): value for key, value in found.items()}
    return dict(found)


def _build_header(model: Any) -> str:
    """Return the header line that a table with one row needs to be read as the model's data."""
    reading = getattr(state_of(model), "reading", None) or {}
    if not reading.get("header"):
        return ""
    line = io.StringIO()
    csv.writer(line, delimiter=reading.get("delimiter", ","), lineterminator="\n").writerow(reading["names"])
    return line.getvalue()


def _explain_line(model: Any, path: str, number: int, options: argparse.Namespace) -> Explanation:
    reading_options = build_reading_options(options)
    reading_options.unlabelled = True
    reading = open_reading([path], reading_options, state_of(model))
    for batch in reading.batches():
        lines = batch.lines_before + np.asarray(batch.parsed.line_of) + 1
        found = np.flatnonzero(lines == number)
        if len(found):
            return explain_terms(model, *_read_terms(batch, int(found[0])), label=options.explained)
    raise InputError(f"{path}:{number}: there is no example on this line.")


def _read_terms(batch: FileBatch, i: int) -> tuple[Any, Any]:
    rows = batch.rows
    if isinstance(rows, Sparse):
        start, stop = int(rows.starts[i]), int(rows.starts[i + 1])
        return rows.indices[start:stop].copy(), rows.values[start:stop].astype(np.float64)
    values = rows.values[i * rows.width : (i + 1) * rows.width].astype(np.float64)
    return np.arange(rows.width, dtype=np.uint32), values


def _format_text(model: Any, found: Explanation, top: int) -> str:
    lines = []
    if found.predicted is not None:
        lines.append(f"predicted    {format_label(model, found.predicted)}")
    lines.append(f"score        {found.score:+.6g}{_describe_sides(model, found)}")
    if found.probability is not None:
        lines.append(f"probability  {found.probability:.4f}   (of {format_label(model, found.label)})")
    if found.members:
        lines += ["", *_align([["member", "weight", "score"], *_list_scores(found.members)])]
        lines += ["", *_align([["forecast", "weight", "log-odds"], *_list_scores(found.forecasts)])]
    shown = found.contributions[:top]
    rows = [[str(one.feature), f"{one.value:.6g}", f"{one.weight:+.6g}", f"{one.contribution:+.6g}"] for one in shown]
    rest = found.contributions[top:]
    if rest:
        rows.append([f"({len(rest):,} more)", "", "", f"{sum(one.contribution for one in rest):+.6g}"])
    rows.append(["(bias)", "", "", f"{found.bias:+.6g}"])
    return "\n".join([*lines, "", *_align([["feature", "value", "weight", "contribution"], *rows])])


def _describe_sides(model: Any, found: Explanation) -> str:
    if found.label is None:
        return ""
    against = "" if found.against is None else f" against {format_label(model, found.against)}"
    return f"   (for {format_label(model, found.label)}{against})"


def _list_scores(scores: Sequence[tuple[str, float, float]]) -> list[list[str]]:
    return [[name, f"{weight:+.4f}", f"{score:+.6g}"] for name, weight, score in scores]


def _align(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]).rstrip()
        for row in rows
    ]
