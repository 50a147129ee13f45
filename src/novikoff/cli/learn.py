"""Learns a stream, example by example, and shows the ledger: examples, mistakes, updates, radius."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from novikoff import learners
from novikoff.cli import settings
from novikoff.cli.progress import Progress
from novikoff.cli.writing import check_writable
from novikoff.errors import InputError, OverflowRefused
from novikoff.stream import source
from novikoff.stream.labels import Labels, merged, one_against_the_rest
from novikoff.stream.rows import cut, how_many

HELP = "learn a stream"
EPILOG = """\
DATA is an svmlight file (gzip or not), - for standard input, or a built-in stream: breast-cancer, digits, iris, wine.
Each learner has its own settings: novikoff learn --learner sgd --help shows those of sgd.

examples:
  novikoff learn breast-cancer --passes 5
  novikoff learn train.svm --learner sgd --loss hinge --l2 0.001 --save spam.model
  novikoff learn more.svm --resume spam.model --save spam.model
  novikoff learn digits --positive 3 --json
  zcat *.svm.gz | novikoff learn - --average
"""


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("data", nargs="+", metavar="DATA", help="what to learn from, in this order")
    parser.add_argument(
        "--learner", choices=learners.names(), help=f"the algorithm (default: {settings.DEFAULT_LEARNER})"
    )
    parser.add_argument("--save", metavar="MODEL", help="write the model to this file")
    parser.add_argument("--resume", metavar="MODEL", help="go on from the model in this file")
    parser.add_argument("--positive", metavar="LABEL", help="learn this label against all others")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    for name in learners.names() if arguments is None else [settings.chosen_learner(arguments)]:
        settings.add_settings(parser, name)


def run(options: argparse.Namespace) -> int:
    began = time.perf_counter()
    sources = [source.find(title) for title in options.data]
    model, passes = _model(options)
    _can_be_read(sources, passes)
    if options.save:
        check_writable(Path(options.save))
    before = model.ledger_.examples if options.resume else 0
    _learn(model, sources, passes, options)
    if len(model.classes_) < 2:
        raise InputError(
            f"{', '.join(options.data)}: all labels are {model.classes_[0]}: with one class there is nothing to learn."
        )
    if options.save:
        from novikoff.store import save

        save(model, options.save)
    report = _summary(model, before, time.perf_counter() - began)
    print(json.dumps(report) if options.json else _as_text(report, options))
    return 0


def _model(options: argparse.Namespace) -> tuple[Any, int]:
    """A new learner, or the one in the file to go on from, and the number of passes."""
    given = settings.given(options)
    if not options.resume:
        model = learners.learner_class(options.learner or settings.DEFAULT_LEARNER)(**given)
        return model, model.passes
    from novikoff.store import load

    model = load(options.resume)
    passes = given.pop("passes", 1)
    name = learners.name_of(type(model))
    changed = {k: v for k, v in given.items() if v != getattr(model, k, None)}
    if options.positive not in (None, model._state.labels.positive):
        changed["positive"] = options.positive
    if changed or options.learner not in (None, name):
        raise InputError(
            f"{options.resume}: goes on as it began, as {model!r}: leave out --learner and the settings"
            f" {', '.join(sorted(changed)) or name!r} that differ."
        )
    return model, passes


def _can_be_read(sources: list[source.Source], passes: int) -> None:
    if [s.title for s in sources].count("-") * passes > 1:
        raise InputError("Standard input can be read once only: for --passes, or to name it twice, use a file.")


def _learn(model: Any, sources: list[source.Source], passes: int, options: argparse.Namespace) -> None:
    model._check_all()
    state = model._state
    progress: Progress | None = None
    for _ in range(passes):
        for stream in sources:
            for chunk in stream.chunks():
                if state is None:
                    labels = Labels() if options.positive is None else one_against_the_rest(options.positive)
                    state = model.fresh_state(chunk.features, chunk.rows.values.dtype, stream.names, labels)
                _same_kind(state, stream)
                state.make_room(chunk.features)
                rows = chunk.rows._replace(values=chunk.rows.values.astype(state.kind, copy=False))
                progress = progress or Progress(state.ledger, quiet=options.quiet)
                _learn_chunk(model, state, rows, merged(chunk.labels, state.labels), progress)


def _learn_chunk(model: Any, state: Any, rows: Any, labels: Any, progress: Progress) -> None:
    """In pieces that end where a line of progress is due; how a stream is cut changes nothing."""
    start, count = 0, how_many(rows)
    while start < count:
        stop = min(count, start + progress.until_next(state.ledger))
        signs, known = state.labels.signs(labels[start:stop])
        try:
            model.learn_rows(state, cut(rows, start, stop), signs, known)
        except OverflowRefused:
            raise InputError(
                f"The weights grew out of range at example {state.ledger.examples + 1:,}, and nothing was saved: scale"
                " the features, lower --rate, or choose a --schedule whose steps shrink."
            ) from None
        progress.show(state.ledger)
        start = stop


def _same_kind(state: Any, stream: source.Source) -> None:
    """Columns are known by name or by number; a stream must do as the model does."""
    known = list(state.names.columns) if state.names is not None else None
    if known != stream.names:
        raise InputError(
            f"{stream.title}: its features are not those of the model: one has the columns"
            f" {', '.join((known or stream.names or [])[:3])} …, the other does not."
        )


def _summary(model: Any, before: int, seconds: float) -> dict[str, Any]:
    ledger = model.ledger_
    return {
        "learner": learners.name_of(type(model)),
        "examples": ledger.examples,
        "features": model.n_features_in_,
        "mistakes": ledger.mistakes,
        "updates": ledger.updates,
        "error": ledger.error,
        "seconds": seconds,
        "examples_per_second": (ledger.examples - before) / seconds,
        "radius": ledger.radius,
    }


def _as_text(report: dict[str, Any], options: argparse.Namespace) -> str:
    saved = f"\nsaved       {Path(options.save)}" if options.save else ""
    return (
        f"learner     {report['learner']}\n"
        f"examples    {report['examples']:,}\n"
        f"features    {report['features']:,}\n"
        f"mistakes    {report['mistakes']:,}\n"
        f"updates     {report['updates']:,}\n"
        f"error       {report['error']:.4f}   (mistakes ÷ examples, each predicted before its label was told)\n"
        f"radius      {report['radius']:.6g}\n"
        f"seconds     {report['seconds']:.3f}   ({report['examples_per_second']:,.0f} examples/s)"
    ) + saved
