"""Runs an experiment, and compares every number with its bound."""

from __future__ import annotations

import argparse
import inspect
import json
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from novikoff import __version__
from novikoff.cli.output.model_output import check_writable
from novikoff.cli.output.progress import elapsed_time_printer
from novikoff.errors import InputError
from novikoff.experiments import EXPERIMENTS, experiment

EPILOG = f"""\
NAME, and what the experiment shows:
{chr(10).join(f"  {name:<23}{text}" for name, text in EXPERIMENTS.items())}

options of each experiment, beside --random-state:
  irrelevant-attributes  --attributes --relevant
  irrelevant-dimensions  --attributes --relevant --margin --examples
  drift                  --attributes --relevant --drift --examples
  margin                 --attributes --margin --epsilon --examples
  noise                  --attributes --relevant --noise --examples

The report is one HTML file that needs no network and contains the numbers of --json. The exit code is 1 if a bound was
violated, which would be a defect.

examples:
  novikoff experiment irrelevant-attributes --report irrelevant.html
  novikoff experiment drift --json > drift.json
  novikoff experiment margin --epsilon 0.05 --report margin.html
  novikoff experiment noise --noise 0.2 --random-state 7
"""
TEXT_WIDTH = 110
"""Columns at which lines are wrapped."""

EXPERIMENT_OPTIONS = (
    ("attributes", "N", int, "number of attributes, or the largest number (default: 100000; irrelevant-dimensions"
     " and noise 1000, drift 1024, margin 20)"),
    ("relevant", "K", int, "number of relevant attributes (default: 5)"),
    ("drift", "C", int, "largest number of changes (default: 256, or a quarter of the attributes)"),
    ("margin", "G", float, "margin, or the smallest margin (default: irrelevant-dimensions 0.2, margin 0.003)"),
    ("epsilon", "E", float, "share of the margin that the Margin Perceptron may lose, beside ½ (default: 0.1)"),
    ("noise", "P", float, "largest share of flipped labels (default: 0.3)"),
    ("examples", "M", int, "number of examples (default: irrelevant-dimensions 5000, drift 100000, margin 4000,"
     " noise 20000)"),
    ("random_state", "N", int, "seed of the streams (default: 0)"),
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("name", metavar="NAME", choices=tuple(EXPERIMENTS), help="see below")
    for name, metavar, value_type, text in EXPERIMENT_OPTIONS:
        parser.add_argument(
            f"--{name.replace('_', '-')}", metavar=metavar, type=value_type, default=argparse.SUPPRESS, help=text
        )
    parser.add_argument("--report", metavar="FILE.html", help="write a page with the plots to this file")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")


def run(options: argparse.Namespace) -> int:
    began = time.perf_counter()
    perform = experiment(options.name)
    given = _collect_options(options, perform)
    if options.report:
        check_writable(Path(options.report))
    result = perform(**given, tell=elapsed_time_printer(quiet=options.quiet))
    if options.report:
        _write_report(result, Path(options.report))
    seconds = time.perf_counter() - began
    about = {**result.as_dict(), "version": __version__, "seconds": seconds}
    print(json.dumps(about) if options.json else _format_text(result, options.report, seconds))
    for check in result.violated:
        print(f"novikoff: a bound was violated: {check}", file=sys.stderr)
    return 1 if result.violated else 0


def _collect_options(options: argparse.Namespace, perform: Callable[..., Any]) -> dict[str, Any]:
    known = inspect.signature(perform).parameters
    given = {name: getattr(options, name) for name, *_ in EXPERIMENT_OPTIONS if name in options}
    strange = [f"--{name.replace('_', '-')}" for name in given if name not in known]
    if strange:
        allowed = ", ".join(f"--{name.replace('_', '-')}" for name, *_ in EXPERIMENT_OPTIONS if name in known)
        raise InputError(f"{options.name} has no {' and no '.join(strange)}: its options are {allowed}.")
    return given


def _write_report(result: Any, path: Path) -> None:
    from novikoff.model_file import write_atomically
    from novikoff.reports.experiment_page import build_page

    write_atomically(path, build_page(result).encode())


def _format_text(result: Any, report: str | None, seconds: float) -> str:
    from novikoff.reports.formatting import build_table

    lines = [result.title]
    for panel in result.panels:
        columns, rows = build_table(panel)
        cells = [[column.title for column in columns], *rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines += ["", panel.title]
        lines += ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
        named = {column.key: column.learner for column in columns}
        lines += [
            f"fit of {named[fit.of]}: {fit.title} (± the largest residual)"
            for fit in result.fits
            if fit.panel == panel.name
        ]
    lines.append("")
    for theorem in result.theorems:
        about = f"bound       {theorem.statement} Assumes: {theorem.assumes}"
        lines += textwrap.wrap(about, TEXT_WIDTH, subsequent_indent=12 * " ")
    verdict = f"{len(result.violated)} were violated" if result.violated else "no bound was violated"
    lines += ["", f"checked     {len(result.checks)} numbers against their bounds: {verdict}"]
    lines += [f"report      {Path(report)}"] if report else []
    return "\n".join([*lines, f"seconds     {seconds:.3f}"])
