"""`novikoff theory consistent | agnostic | vc | vc-agnostic | lower | hoeffding`: solve for one of m, ε and δ."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from novikoff.cli.output.model_output import check_writable
from novikoff.cli.theory import common
from novikoff.errors import InputError
from novikoff.theory.class_size import ClassSize
from novikoff.theory.formula_text import format_integer
from novikoff.theory.samples.sample_size import SAMPLE_SIZE_BOUNDS, TABLE_EPSILONS, SampleSizeBound, ask, check, table

EXAMPLE_CLASS_OPTIONS = {
    "hypotheses": "--class conjunctions --variables 10",
    "dimension": "--class half-spaces --variables 2",
    "": "",
}


def add_topics(topics: Any) -> None:
    for name, law in SAMPLE_SIZE_BOUNDS.items():
        parser = common.add_topic(topics, name, law.about, _answer, _build_examples(law))
        if law.of == "hypotheses":
            common.add_finite_class_options(parser)
        elif law.of == "dimension":
            common.add_dimension_options(parser)
        for option, metavar, value_type, text in (
            ("examples", "M", int, "m, the number of examples"),
            ("epsilon", "E", float, "ε, the error, between 0 and 1"),
            ("delta", "P", float, "δ, the probability to fail, between 0 and 1"),
        ):
            parser.add_argument(f"--{option}", metavar=metavar, type=value_type, help=text)
        parser.add_argument("--table", action="store_true", help="print m for ε from 0.5 to 0.001, for this δ")
        parser.add_argument(
            "--plot", metavar="FILE.html", help="write a page that plots the table, with all bounds for the class"
        )


def _build_examples(law: SampleSizeBound) -> str:
    head = f"  novikoff theory {law.name} {EXAMPLE_CLASS_OPTIONS[law.of]}".rstrip()
    lines = [f"{head} --epsilon 0.1 --delta 0.05"]
    if not law.necessary:
        lines += [f"{head} --examples 1000 --delta 0.05", f"{head} --examples 1000 --epsilon 0.1 --delta 0.05"]
    return "\n".join([*lines, f"{head} --delta 0.05 --table --plot sizes.html", ""])


def _answer(options: argparse.Namespace) -> int:
    law = SAMPLE_SIZE_BOUNDS[options.topic]
    class_params = _read_class(options, law)
    if options.table or options.plot:
        return _answer_table(options, law, class_params)
    given = {"examples": options.examples, "epsilon": options.epsilon, "delta": options.delta}
    if None not in given.values():
        found = check(law.name, **given, **class_params)
        common.print_answer(options, found.sentence, {"law": law.name, **found.as_dict()})
        return 0 if found.enough else 1
    answer = ask(law.name, **given, **class_params)
    common.print_answer(options, answer, answer.as_dict())
    return 0


def _read_class(options: argparse.Namespace, law: SampleSizeBound) -> dict[str, Any]:
    if law.of == "hypotheses":
        return {"hypotheses": common.read_class_size(options)}
    return {"dimension": common.read_dimension(options, at_most=not law.necessary)} if law.of else {}


def _answer_table(options: argparse.Namespace, law: SampleSizeBound, class_params: dict[str, Any]) -> int:
    if options.delta is None or options.examples is not None or options.epsilon is not None:
        raise InputError("A table or plot of m against ε needs --delta, and neither --examples nor --epsilon.")
    rows = table(law.name, delta=options.delta, **class_params)
    if options.plot:
        _write_plot(Path(options.plot), law.name, class_params, options.delta)
    lines = [f"{'ε':>8}  {'m':>20}", *(f"{epsilon:>8g}  {format_integer(many):>20}" for epsilon, many in rows)]
    lines += ["", f"formula     {law.directions['examples'].formula}", f"source      {law.source}"]
    lines += [f"plot        {Path(options.plot)}"] if options.plot else []
    about = {
        "law": law.name,
        "delta": options.delta,
        **{key: value.formula if isinstance(value, ClassSize) else value for key, value in class_params.items()},
        "formula": law.directions["examples"].formula,
        "table": [{"epsilon": epsilon, "examples": many} for epsilon, many in rows],
    }
    common.print_answer(options, "\n".join(lines), about)
    return 0


def _write_plot(path: Path, law: str, class_params: dict[str, Any], delta: float) -> None:
    from novikoff.model_file import write_atomically
    from novikoff.reports.sample_size_page import build_page

    check_writable(path)
    write_atomically(path, build_page(law, class_params, delta, TABLE_EPSILONS).encode())
