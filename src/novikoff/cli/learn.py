"""Learns a stream, example by example, and shows the ledger: examples, mistakes, updates, radius."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from novikoff import learners
from novikoff.cli import interrupt, settings
from novikoff.cli.certify import add_certifying, chosen
from novikoff.cli.progress import Progress
from novikoff.cli.reading import DATA, add_reading, options_of, reading_for
from novikoff.cli.reporting import add_report, write_report
from novikoff.cli.writing import check_writable
from novikoff.errors import InputError
from novikoff.learners.following import Following
from novikoff.stream.reading import Options, Reading

EPILOG = f"""\
{DATA}
Each learner has its own settings: novikoff learn --learner sgd --help shows those of sgd.

examples:
  novikoff learn breast-cancer --passes 5
  novikoff learn train.svm --learner sgd --loss hinge --l2 0.001 --save spam.model
  novikoff learn more.svm --resume spam.model --save spam.model
  novikoff learn digits --positive 3 --json
  novikoff learn train.svm --certificate spam.certificate --report spam.html
  zcat *.svm.gz | novikoff learn - --average
"""


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("data", nargs="+", metavar="DATA", help="what to learn from, in this order")
    parser.add_argument(
        "--learner", choices=learners.names(), help=f"the algorithm (default: {settings.DEFAULT_LEARNER})"
    )
    parser.add_argument("--save", metavar="MODEL", help="write the model to this file")
    parser.add_argument("--resume", metavar="MODEL", help="go on from the model in this file")
    parser.add_argument("--certificate", metavar="FILE", help="write what the theorems say of this run to this file")
    add_report(parser)
    add_certifying(parser)
    parser.add_argument("--positive", metavar="LABEL", help="learn this label against all others")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    parser.add_argument(
        "--keep-names", metavar="MB", type=int, nargs="?", const=64, help="keep names of hashed features for inspect"
    )
    add_reading(parser)
    for name in learners.names() if arguments is None else [settings.chosen_learner(arguments)]:
        settings.add_settings(parser, name)


def run(options: argparse.Namespace) -> int:
    began = time.perf_counter()
    model, passes = _model(options)
    model._check_all()
    reading = reading_for(options.data, _reading_options(model, options), model._state)
    _can_be_read(options.data, passes)
    for path in (options.save, options.certificate, options.report):
        if path:
            check_writable(Path(path))
    asked = "--certificate" if options.certificate else "--report" if options.report else None
    if asked and (options.resume or "-" in options.data):
        raise InputError(f"{asked} is for a run from its beginning on files: not with --resume or standard input.")
    before = model.ledger_.examples if options.resume else 0
    following = Following(model, reading, positive=options.positive)
    progress = Progress(quiet=options.quiet, already=before, mistakes=model.ledger_.mistakes if before else 0)
    for _ in range(passes):
        following.once(progress)
        interrupt.check()
    if len(model.classes_) < 2:
        raise InputError(
            f"{', '.join(options.data)}: all labels are {model.classes_[0]}: with one class there is nothing to learn."
        )
    if options.save:
        from novikoff.store import save

        save(model, options.save)
    report = _summary(model, reading, before, time.perf_counter() - began)
    if asked:
        report["certificate"] = _certified(model, passes, options)
    print(json.dumps(report) if options.json else _as_text(report, options))
    return 0


def _reading_options(model: Any, options: argparse.Namespace) -> Options:
    """As the user has said it; a learner that takes values up to 1 keeps the largest of what shares a slot, where it is
    not said otherwise and the format has slots."""
    ways = options_of(options)
    ways.prefer_largest = options.together is None and model._range()[1] < math.inf
    return ways


def _certified(model: Any, passes: int, options: argparse.Namespace) -> dict[str, Any]:
    """Writes the certificate, made from a run of its own, and its page; returns its document."""
    from novikoff.certificates.certificate import make
    from novikoff.certificates.source import Files
    from novikoff.store import write_atomically

    ways = _reading_options(model, options)
    fresh, source = type(model)(**model.get_params()), Files(options.data, ways, options.positive)
    certificate, _ = make(fresh, source, passes=passes, **chosen(options))
    if options.certificate:
        write_atomically(Path(options.certificate), (certificate.as_json() + "\n").encode())
    if options.report:
        write_report(options.report, certificate, model, source, options.data)
    return certificate.document


def _model(options: argparse.Namespace) -> tuple[Any, int]:
    """A new learner, or the one in the file to go on from, and the number of passes."""
    given = settings.given(options)
    if not options.resume:
        name = options.learner or settings.DEFAULT_LEARNER
        model = learners.learner_class(name)(**{**learners.variant_settings(name), **given})
        return model, model.passes
    from novikoff.store import load

    model = load(options.resume)
    passes = given.pop("passes", 1)
    name = learners.name_of(type(model))
    wanted = {**learners.variant_settings(options.learner or name), **given}
    changed = {k: v for k, v in wanted.items() if v != getattr(model, k, None)}
    if options.positive not in (None, model._state.labels.positive):
        changed["positive"] = options.positive
    kind = learners.learner_class(options.learner or name)
    if changed or not isinstance(model, kind):
        raise InputError(
            f"{options.resume}: goes on as it began, as {model!r}: leave out --learner and the settings"
            f" {', '.join(sorted(changed)) or name!r} that differ."
        )
    return model, passes


def _can_be_read(titles: list[str], passes: int) -> None:
    streams = [t for t in titles if t == "-" or (Path(t).exists() and not Path(t).is_file())]
    if len(streams) * passes > 1 and (passes > 1 or len(set(streams)) < len(streams)):
        raise InputError(f"{streams[0]}: can be read once only: for --passes, or to name it twice, use a file.")


def _summary(model: Any, reading: Reading, before: int, seconds: float) -> dict[str, Any]:
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
        **reading.report(),
    }


def _as_text(report: dict[str, Any], options: argparse.Namespace) -> str:
    more = [f"{title:<12}{text}" for title, text in _more(report)]
    saved = "".join(f"\n{line}" for line in [*more, *([f"saved       {Path(options.save)}"] if options.save else [])])
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


def _allowed(document: dict[str, Any]) -> str:
    from novikoff.certificates.certificate import Certificate

    best = Certificate(document).headline
    if best is None:
        return "no theorem was shown to hold for this run"
    return f"{best['allowed']:,.1f} {best['counts']} at most ({best['name']}: {best['verdict']})"


def _more(report: dict[str, Any]) -> list[tuple[str, str]]:
    """What is worth saying about how the data was read."""
    rows = []
    if "certificate" in report:
        rows.append(("allowed", _allowed(report["certificate"])))
    if "slots" in report:
        about = "" if report["collisions_counted"] else "about "
        used = f"{report['slots_used']:,} of {report['slots']:,} slots used"
        rows.append(("hashed", f"{used}; {about}{report['collisions']:,} names share one with another"))
    if report.get("bad_lines"):
        reasons = ", ".join(f"{reason}: {count:,}" for reason, count in report["bad_lines"].items())
        rows.append(("left out", f"{sum(report['bad_lines'].values()):,} lines ({reasons})"))
    return rows
