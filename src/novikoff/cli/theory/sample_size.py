"""`novikoff theory consistent | agnostic | vc | vc-agnostic | lower | hoeffding`: the third of m, ε and δ."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from novikoff.cli.theory.common import (add_capacity, add_finite_class, add_topic, dimension_of, say, size_of)
from novikoff.cli.model_output import check_writable
from novikoff.errors import InputError
from novikoff.theory.formula_text import whole
from novikoff.theory.samples.sample_size import (EPSILONS, LAWS, Law, ask, check, table)
from novikoff.theory.class_size import Size

CLASS = {
    "hypotheses": "--class conjunctions --variables 10",
    "dimension": "--class half-spaces --variables 2",
    "": "",
}


def add_topics(topics: Any) -> None:
    for name, law in LAWS.items():
        parser = add_topic(topics, name, law.about, _answer, _examples(law))
        if law.of == "hypotheses":
            add_finite_class(parser)
        elif law.of == "dimension":
            add_capacity(parser)
        for option, metavar, kind, text in (
            ("examples", "M", int, "m, the number of examples"),
            ("epsilon", "E", float, "ε, the error, between 0 and 1"),
            ("delta", "P", float, "δ, the probability to fail, between 0 and 1"),
        ):
            parser.add_argument(f"--{option}", metavar=metavar, type=kind, help=text)
        parser.add_argument("--table", action="store_true", help="m for ε from 0.5 down to 0.001, for this δ")
        parser.add_argument(
            "--plot", metavar="FILE.html", help="draw that, with all bounds that hold for the class, as a page"
        )


def _examples(law: Law) -> str:
    head = f"  novikoff theory {law.name} {CLASS[law.of]}".rstrip()
    lines = [f"{head} --epsilon 0.1 --delta 0.05"]
    if not law.necessary:
        lines += [f"{head} --examples 1000 --delta 0.05", f"{head} --examples 1000 --epsilon 0.1 --delta 0.05"]
    return "\n".join([*lines, f"{head} --delta 0.05 --table --plot sizes.html", ""])


def _answer(options: argparse.Namespace) -> int:
    law = LAWS[options.topic]
    described = _described(options, law)
    if options.table or options.plot:
        return _tabled(options, law, described)
    given = {"examples": options.examples, "epsilon": options.epsilon, "delta": options.delta}
    if None not in given.values():
        found = check(law.name, **given, **described)
        say(options, found.sentence, {"law": law.name, **found.as_dict()})
        return 0 if found.enough else 1
    answer = ask(law.name, **given, **described)
    say(options, answer, answer.as_dict())
    return 0


def _described(options: argparse.Namespace, law: Law) -> dict[str, Any]:
    if law.of == "hypotheses":
        return {"hypotheses": size_of(options)}
    return {"dimension": dimension_of(options, at_most=not law.necessary)} if law.of else {}


def _tabled(options: argparse.Namespace, law: Law, described: dict[str, Any]) -> int:
    if options.delta is None or options.examples is not None or options.epsilon is not None:
        raise InputError("A table or plot of m against ε must be told --delta, and neither --examples nor --epsilon.")
    rows = table(law.name, delta=options.delta, **described)
    if options.plot:
        _plot(Path(options.plot), law.name, described, options.delta)
    lines = [f"{'ε':>8}  {'m':>20}", *(f"{epsilon:>8g}  {whole(many):>20}" for epsilon, many in rows)]
    lines += ["", f"formula     {law.directions['examples'].formula}", f"source      {law.source}"]
    lines += [f"plot        {Path(options.plot)}"] if options.plot else []
    about = {
        "law": law.name,
        "delta": options.delta,
        **{key: value.formula if isinstance(value, Size) else value for key, value in described.items()},
        "formula": law.directions["examples"].formula,
        "table": [{"epsilon": epsilon, "examples": many} for epsilon, many in rows],
    }
    say(options, "\n".join(lines), about)
    return 0


def _plot(path: Path, law: str, described: dict[str, Any], delta: float) -> None:
    from novikoff.reports.sample_size_page import page
    from novikoff.model_file import write_atomically

    check_writable(path)
    write_atomically(path, page(law, described, delta, EPSILONS).encode())
