"""Learns a stream, example by example, and shows the ledger: examples, mistakes, updates, radius."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Sequence
from itertools import chain, count
from typing import Any

from novikoff._compiled import jit
from novikoff import learner_registry
from novikoff.cli import (signals, online_to_batch_options, kernel_options, multiclass_options, learner_options)
from novikoff.cli.certify import add_certifying, certified
from novikoff.cli.data_summary import show_description
from novikoff.cli.figures import progressive_error_lines
from novikoff.cli.memory_options import HALF, add_max_model_memory, within_model_memory
from novikoff.cli.progress import Progress
from novikoff.cli.provenance import add_provenance, begin_provenance, finish_provenance
from novikoff.cli.data_options import (DATA, add_reading, is_stream, options_of, reading_for)
from novikoff.cli.report_output import add_report
from novikoff.cli.shuffle_options import (SEED_SETTINGS, add_shuffle, describe_run, order_warnings, run_settings, settle_shuffle, shuffle_reading, summary_line)
from novikoff.cli.model_output import check_writable
from novikoff.errors import InputError, TooManyLabels, TooManyNames
from novikoff.data.names.hashing import DEFAULT_BITS
from novikoff.data.options import Options
from novikoff.data.reader import Reading
from novikoff.meta.default_learner import CHANGES_SELDOM, DEFAULT, FALLBACK

EPILOG = f"""\
{DATA}
Each learner has its own settings: novikoff learn --learner sgd --help shows those of sgd.
The scheme follows from the labels: two of them are told apart by one learner, more by Kesler's construction; sets of
labels (1,3,7 or a list) are multi-label, labels such as a/b/c hierarchical, data with qid is ranked.

METHOD of --output-hypothesis, and what it promises of the saved model, if examples are i.i.d. and come once:
{online_to_batch_options.ABOUT}

examples:
  novikoff learn breast-cancer --passes 5
  novikoff learn sorted.csv --shuffle --random-state 1
  novikoff learn train.svm --learner sgd --loss hinge --l2 0.001 --save spam.model
  novikoff learn more.svm --resume spam.model --save spam.model
  novikoff learn digits --learner perceptron --average
  novikoff learn digits --learner kernel-perceptron --kernel poly:4 --vote
  novikoff learn train.svm --learner kernel-perceptron --kernel poly:2 --representation auto
  novikoff learn train.svm --map poly:2 --map-bits 22 --save products.model
  novikoff learn digits --scheme ova --learner sgd --save digits.model
  novikoff learn digits --positive 3 --json
  novikoff learn train.svm --certificate spam.certificate --report spam.html
  novikoff learn train.svm --output-hypothesis controlled-testing --epsilon 0.05 --delta 0.01 --save spam.model
  novikoff learn digits --scheme random-forest --trees 200 --jobs 2 --save forest.model
  novikoff learn digits --scheme online-bagging --members 20
  zcat *.svm.gz | novikoff learn -
"""


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("data", nargs="+", metavar="DATA", help="what to learn from, in this order")
    default = f"{DEFAULT}, which follows several; {CHANGES_SELDOM} with --output-hypothesis"
    parser.add_argument("--learner", choices=learner_registry.names(), help=f"the algorithm (default: {default})")
    parser.add_argument("--save", metavar="MODEL", help="write the model to this file")
    parser.add_argument("--resume", metavar="MODEL", help="go on from the model in this file")
    add_provenance(parser)
    parser.add_argument("--certificate", metavar="FILE", help="write what the theorems say of this run to this file")
    add_report(parser)
    add_certifying(parser)
    parser.add_argument("--positive", metavar="LABEL", help="learn this label against all others")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    parser.add_argument(
        "--keep-names", metavar="MB", type=int, nargs="?", const=64, help="keep names of hashed features for inspect"
    )
    add_max_model_memory(parser, HALF)
    add_shuffle(parser)
    multiclass_options.add_scheme(parser)
    add_reading(parser)
    for name in learner_registry.names() if arguments is None else [learner_options.chosen_learner(arguments)]:
        learner_options.add_settings(parser, name)
    online_to_batch_options.add_output(parser)
    kernel_options.add_representation(parser)


@within_model_memory
def run(options: argparse.Namespace) -> int:
    began = time.perf_counter()
    if options.budget is not None and not (options.certificate or options.report):
        own = " (--learner-budget is the learner's own)" if options.learner == kernel_options.LEARNER else ""
        raise InputError(f"--budget is how hard a --certificate or --report looks for witnesses: leave it out{own}.")
    if multiclass_options.named(options) in multiclass_options.AT_ONCE:
        from novikoff.cli import learn_batch

        for option in ("output_hypothesis", "representation"):
            if getattr(options, option) is not None:
                flag = f"--{option.replace('_', '-')}"
                raise InputError(f"{flag} has no meaning for {options.scheme}: leave it out.")
        online_to_batch_options.wrapped(None, options)  # refuses what goes with that
        options.shuffle = options.shuffle is not False  # of its members, as in `fit`: all examples are in memory
        return learn_batch.run(options, str(multiclass_options.named(options)))
    settle_shuffle(options)
    kernel_options.settle(options)
    learner, passes = _model(options)
    learner._check_all()
    resumed = learner if options.resume else None
    asked = "--certificate" if options.certificate else "--report" if options.report else None
    _can_be_read(options.data, passes)
    for path in filter(None, (options.save, options.certificate, options.report)):
        from pathlib import Path

        check_writable(Path(path))
    if asked and (options.resume or "-" in options.data):
        raise InputError(f"{asked} is for a run from its beginning on files: not with --resume or standard input.")
    seen = begin_provenance(options)
    before = learner.ledger_.examples if resumed else 0
    model, reading, first_pass = _learned(learner, passes, options)
    known: list[Any] = model._state.labels.known() if model.two_classes else []
    if model.two_classes and len(known) < 2:
        found = f"all labels are {known[0]}: with one class" if known else "no example was read: without examples"
        raise InputError(f"{', '.join(options.data)}: {found} there is nothing to learn.")
    if options.save:
        from novikoff.model_file import save

        save(model, options.save, provenance=finish_provenance(options, seen))
    report = _summary(model, reading, before, time.perf_counter() - began, first_pass)
    late = order_warnings(model._state.label_order, options)
    report["warnings"] = [*reading.doubts, *late]
    compiling = min(jit.seconds_compiling, report["seconds"])
    if asked:
        report["certificate"] = certified(model, _reading_options(model, options), passes, options)
    print(_as_json(report) if options.json else _as_text(report, options, compiling))
    for warning in late:  # the others came before learning
        print(f"warning: {warning}", file=sys.stderr)
    return 0


def _learned(learner: Any, passes: int, options: argparse.Namespace) -> tuple[Any, Reading, dict[str, int] | None]:
    """Return the model after all passes. Files are read again from the beginning where a third label needs a scheme for
    many classes, or where there are so many categories that they must be hashed."""
    name = "resumed" if options.resume else "binary" if _for_two(options) else multiclass_options.named(options)
    can_restart = not options.resume and not any(is_stream(title) for title in options.data)
    for begun in count(1):
        try:
            return _passes(learner, name, passes, options, begun)
        except TooManyLabels as problem:
            if name is not None or not can_restart:
                raise
            name, message = "kesler", f"{problem}\nStarting again with --scheme kesler."
        except TooManyNames as problem:
            if not can_restart:
                raise
            options.bits, message = DEFAULT_BITS, f"{problem}\nStarting again with --bits {DEFAULT_BITS}."
        if not options.quiet:
            print(message, file=sys.stderr)
        learner = type(learner)(**learner.get_params())
    raise AssertionError  # the loop has no end


def _for_two(options: argparse.Namespace) -> bool:
    """Whether there can only be two labels."""
    if options.output_hypothesis and multiclass_options.named(options) not in (None, "binary"):
        raise InputError(f"--output-hypothesis is for two labels: leave out --scheme {options.scheme}.")
    if options.output_hypothesis and len({os.path.realpath(title) for title in options.data}) < len(options.data):
        raise InputError("--output-hypothesis is for examples that come once: name each file once.")
    return bool(options.positive or options.output_hypothesis)


def _passes(
    learner: Any, name: str | None, passes: int, options: argparse.Namespace, begun: int
) -> tuple[Any, Reading, dict[str, int] | None]:
    """The model, what was read, and the counts of the first pass where there are several. `begun` is how often the run
    was begun."""
    reading = reading_for(options.data, _reading_options(learner, options), learner._state)
    if options.shuffle:
        shuffle_reading(reading, options, ranking=_may_rank(learner, name))
    batches = reading.batches()
    first = next(batches)
    reading.describe(first)
    if begun == 1:
        show_description(reading, quiet=options.quiet)
    found: dict[str, Any] = {}
    if name is None:
        name, found = multiclass_options.asked_for(first, None if reading.shuffler is None else reading.shuffler.labels)
        if name == "kesler" and learner.takes_classes:
            name = "binary"  # it takes as many classes as come
        if name == "kesler" and options.representation:
            name = "one-vs-all"  # as kernels have it
    if name == "one-vs-all" and learner.takes_classes and learner.two_classes:  # which it is by itself
        name = "binary"
    model = learner if name == "resumed" else multiclass_options.stacked(_inside(learner, name, options), name, options, found)
    model._check_all()
    first = first.settled()
    ledger = model.ledger_ if options.resume else None
    already, mistakes = (ledger.examples, ledger.mistakes) if ledger is not None else (0, 0)
    progress = Progress(quiet=options.quiet, already=already, mistakes=mistakes)
    following = model.following(reading, positive=options.positive)
    following.all(chain([first], batches), progress)
    signals.check()
    ledger = model.ledger_
    first_pass = {"examples": ledger.examples - already, "mistakes": ledger.mistakes - mistakes}
    for _ in range(passes - 1):
        following.once(progress)
        signals.check()
    return model, reading, first_pass if passes > 1 else None


def _may_rank(learner: Any, name: str | None) -> bool:
    """Whether queries in the data would be ranked."""
    if name == "resumed":
        return bool(learner.about_scheme().get("scheme") == "query-ranking")
    return name in (None, "query-ranking")


def _inside(learner: Any, name: str, options: argparse.Namespace) -> Any:
    """The learner for that scheme: where the user has named none, AROW stands for Auto in those that Auto can't do."""
    if options.learner or name == "binary" or (name == "kesler" and options.update in (None, "top")):
        return learner
    own = sorted(learner_options.given(options).keys() - {"bias", "passes"})
    if own:
        raise InputError(f"--{own[0]} is for --learner auto, which is for one label each: leave it out, or --scheme.")
    if not options.quiet:
        print(f"auto can't be used with --scheme {name}: using {FALLBACK}", file=sys.stderr)
    kind = learner_registry.learner_class(FALLBACK)
    return kind(bias=learner.bias, passes=learner.passes, **run_settings(kind, options))


def _reading_options(model: Any, options: argparse.Namespace) -> Options:
    """As the user has said it; a learner that takes values up to 1 keeps the largest of what shares a slot, where it is
    not said otherwise and the format has slots."""
    ways = options_of(options)
    ways.prefer_largest = options.together is None and model._range()[1] < math.inf
    ways.hashes_names = model._needs_all_features() is not None  # a dictionary would bring new ones
    return ways


def _model(options: argparse.Namespace) -> tuple[Any, int]:
    """A new learner, or the one in the file to go on from, and the number of passes."""
    given = learner_options.given(options)
    if not options.resume:
        name = options.learner or learner_options.default_learner(chosen_from=bool(options.output_hypothesis))
        kind = learner_registry.learner_class(name)
        model = kind(**{**learner_registry.variant_settings(name), **given}, **run_settings(kind, options))
        return online_to_batch_options.wrapped(model, options), model.passes
    from novikoff.model_file import load_learner

    model = load_learner(options.resume)
    if not hasattr(model, "ledger_"):
        raise InputError(f"{options.resume}: {type(model).__name__} learns from all examples at once and can't go on.")
    passes = given.pop("passes", 1)
    inner = model.inner
    name = learner_registry.name_of(type(inner))
    wanted = {**learner_registry.variant_settings(options.learner or name), **given}
    changed = {k: v for k, v in wanted.items() if v != getattr(inner, k, None)}
    changed |= multiclass_options.different(model, options) | online_to_batch_options.different(model, options)
    seeds = [getattr(part, seed, None) for part in (model, inner) for seed in SEED_SETTINGS]
    if not options.shuffle and options.random_state not in (None, *seeds):
        changed["random_state"] = options.random_state
    if options.positive not in (None, getattr(model._state.labels, "positive", None)):
        changed["positive"] = options.positive
    kind = learner_registry.learner_class(options.learner or name)
    if changed or not isinstance(inner, kind):
        raise InputError(
            f"{options.resume}: goes on as it began, as {model!r}: leave out --learner and the settings"
            f" {', '.join(sorted(changed)) or name!r} that differ."
        )
    return model, passes


def _can_be_read(titles: list[str], passes: int) -> None:
    streams = [t for t in titles if is_stream(t)]
    if len(streams) * passes > 1 and (passes > 1 or len(set(streams)) < len(streams)):
        raise InputError(f"{streams[0]}: can be read once only: for --passes, or to name it twice, use a file.")


def _with_error(counts: dict[str, int]) -> dict[str, Any]:
    return {**counts, "progressive_error": counts["mistakes"] / max(counts["examples"], 1)}


def _summary(
    model: Any, reading: Reading, before: int, seconds: float, first_pass: dict[str, int] | None
) -> dict[str, Any]:
    ledger = model.ledger_
    return {
        "learner": learner_registry.name_of(type(model.inner)),
        **model.about_scheme(),
        "examples": ledger.examples,
        "features": model.n_features_in_,
        "mistakes": ledger.mistakes,
        "updates": ledger.updates,
        "progressive_error": ledger.progressive_error,
        **({} if first_pass is None else {"first_pass": _with_error(first_pass)}),
        "seconds": seconds,
        "examples_per_second": (ledger.examples - before) / seconds,
        "radius": ledger.radius,
        "read": reading.description,
        "notes": reading.notes,
        **reading.report(),
        **describe_run(reading),
    }


def _as_json(report: dict[str, Any]) -> str:
    import json

    return json.dumps(report)


def _as_text(report: dict[str, Any], options: argparse.Namespace, compiling: float) -> str:
    more = [f"{title:<12}{text}" for title, text in _more(report)]
    if options.save:
        from pathlib import Path

        more.append(f"saved       {Path(options.save)}")
    saved = "".join(f"\n{line}" for line in more)
    scheme = "".join(f"{key:<12}{value}\n" for key, value in report.items() if key in ("scheme", "classes"))
    errors = "\n".join(progressive_error_lines(report["mistakes"], report["examples"], report.get("first_pass")))
    # A first run makes its machine code: without a word, its pace would be taken for that of learning.
    once = f"; {compiling:.1f} s of it compiling, once" if compiling >= 0.1 else ""
    return (
        f"learner     {report['learner']}\n"
        f"{scheme}"
        f"examples    {report['examples']:,}\n"
        f"features    {report['features']:,}\n"
        f"mistakes    {report['mistakes']:,}\n"
        f"updates     {report['updates']:,}\n"
        f"{errors}\n"
        f"radius      {report['radius']:.6g}\n"
        f"seconds     {report['seconds']:.3f}   ({report['examples_per_second']:,.0f} examples/s{once})"
    ) + saved


def _allowed(document: dict[str, Any]) -> str:
    from novikoff.certificates.certificate import Certificate

    best = Certificate(document).headline
    if best is None:
        return "no theorem was shown to hold for this run"
    return f"{best['allowed']:,.1f} {best['counts']} at most ({best['name']}: {best['verdict']})"


def _more(report: dict[str, Any]) -> list[tuple[str, str]]:
    """What is worth saying about the hypothesis, and about how the data was read."""
    rows = online_to_batch_options.lines(report["output_hypothesis"]) if "output_hypothesis" in report else []
    if "certificate" in report:
        rows.append(("allowed", _allowed(report["certificate"])))
    if "shuffle" in report:
        rows.append(("shuffled", summary_line(report["shuffle"])))
    if "slots" in report:
        about = "" if report["collisions_counted"] else "about "
        used = f"{report['slots_used']:,} of {report['slots']:,} slots used"
        rows.append(("hashed", f"{used}; {about}{report['collisions']:,} names share one with another"))
    if report.get("bad_lines"):
        reasons = ", ".join(f"{reason}: {count:,}" for reason, count in report["bad_lines"].items())
        rows.append(("left out", f"{sum(report['bad_lines'].values()):,} lines ({reasons})"))
    return rows
