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

from novikoff import learner_registry
from novikoff._compiled import jit
from novikoff.base.internals import (
    build_file_trainer,
    check_settings,
    feature_range_of,
    fixed_width_reason_of,
    inner_learner_of,
    is_multiclass,
    needs_two_classes,
    scheme_info_of,
    state_of,
)
from novikoff.cli import signals
from novikoff.cli.certify import add_certificate_options, write_certificate
from novikoff.cli.options import kernel_options, learner_options, multiclass_options, online_to_batch_options
from novikoff.cli.options.data_options import (
    DATA_HELP,
    add_data_options,
    build_reading_options,
    is_stream,
    open_reading,
)
from novikoff.cli.options.memory_options import DEFAULT_LIMIT_TEXT, add_max_model_memory, within_model_memory
from novikoff.cli.options.shuffle_options import (
    add_shuffle,
    describe_run,
    order_warnings,
    resolve_shuffle,
    run_settings,
    shuffle_reading,
    summary_line,
)
from novikoff.cli.output.data_summary import show_description
from novikoff.cli.output.figures import progressive_error_lines
from novikoff.cli.output.model_output import check_writable
from novikoff.cli.output.progress import TrainingProgress
from novikoff.cli.output.provenance import add_provenance, begin_provenance, finish_provenance
from novikoff.cli.output.report_output import add_report_option
from novikoff.data.names.hashing import DEFAULT_HASH_BITS
from novikoff.data.options import ReadOptions
from novikoff.data.reader import DataReader
from novikoff.errors import InputError, TooManyLabelsError, TooManyNamesError
from novikoff.meta.default_learner import DEFAULT_LEARNER, FALLBACK_LEARNER, STABLE_LEARNER

EPILOG = f"""\
{DATA_HELP}
Each learner has its own settings: novikoff learn --learner sgd --help shows those of sgd.
The scheme follows from the labels: two of them are told apart by one learner, more by Kesler's construction; sets of
labels (1,3,7 or a list) are multi-label, labels such as a/b/c hierarchical, data with qid is ranked.

METHOD of --online-to-batch, and what it promises of the saved model, if examples are i.i.d. and come once:
{online_to_batch_options.METHODS_HELP}

examples:
  novikoff learn breast-cancer --passes 5
  novikoff learn sorted.csv --shuffle --random-state 1
  novikoff learn train.svm --learner sgd --loss hinge --l2 0.001 --save spam.model
  novikoff learn more.svm --resume spam.model --save spam.model
  novikoff learn digits --learner perceptron --average
  novikoff learn digits --learner kernel-perceptron --kernel poly:4 --vote
  novikoff learn train.svm --learner kernel-perceptron --kernel poly:2 --kernel-form auto
  novikoff learn train.svm --feature-map poly:2 --feature-map-bits 22 --save products.model
  novikoff learn digits --multiclass ova --learner sgd --save digits.model
  novikoff learn digits --positive-label 3 --json
  novikoff learn train.svm --certificate spam.certificate --report spam.html
  novikoff learn train.svm --online-to-batch controlled-testing --epsilon 0.05 --delta 0.01 --save spam.model
  novikoff learn digits --multiclass random-forest --n-estimators 200 --n-jobs 2 --save forest.model
  novikoff learn digits --multiclass online-bagging --n-estimators 20
  zcat *.svm.gz | novikoff learn -
"""


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("data", nargs="+", metavar="DATA", help="what to learn from, in this order")
    default = f"{DEFAULT_LEARNER}, which follows several; {STABLE_LEARNER} with --online-to-batch"
    parser.add_argument("--learner", choices=learner_registry.names(), help=f"the algorithm (default: {default})")
    parser.add_argument("--save", metavar="MODEL", help="write the model to this file")
    parser.add_argument("--resume", metavar="MODEL", help="go on from the model in this file")
    add_provenance(parser)
    parser.add_argument("--certificate", metavar="FILE", help="write what the theorems say of this run to this file")
    add_report_option(parser)
    add_certificate_options(parser)
    parser.add_argument("--positive-label", metavar="LABEL", help="learn this label against all others")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    parser.add_argument(
        "--keep-names", metavar="MB", type=int, nargs="?", const=64, help="keep names of hashed features for inspect"
    )
    add_max_model_memory(parser, DEFAULT_LIMIT_TEXT)
    add_shuffle(parser)
    multiclass_options.add_multiclass_options(parser)
    add_data_options(parser)
    for name in learner_registry.names() if arguments is None else [learner_options.find_learner_name(arguments)]:
        learner_options.add_settings(parser, name)
    online_to_batch_options.add_online_to_batch_options(parser)
    kernel_options.add_kernel_options(parser)


@within_model_memory
def run(options: argparse.Namespace) -> int:
    began = time.perf_counter()
    if options.search_effort is not None and not (options.certificate or options.report):
        raise InputError("--search-effort is how hard a --certificate or --report looks for witnesses: leave it out.")
    if multiclass_options.get_named_scheme(options) in multiclass_options.BATCH_SCHEMES:
        from novikoff.cli import learn_batch

        for option in ("online_to_batch", "kernel_form"):
            if getattr(options, option) is not None:
                flag = f"--{option.replace('_', '-')}"
                raise InputError(f"{flag} has no meaning for {options.multiclass}: leave it out.")
        online_to_batch_options.wrap_online_to_batch(None, options)  # refuses what goes with that
        options.shuffle = options.shuffle is not False  # of its members, as in `fit`: all examples are in memory
        return learn_batch.run(options, str(multiclass_options.get_named_scheme(options)))
    resolve_shuffle(options)
    kernel_options.resolve_representation(options)
    learner, passes = _build_model(options)
    check_settings(learner)
    resumed = learner if options.resume else None
    asked = "--certificate" if options.certificate else "--report" if options.report else None
    _check_rereadable(options.data, passes)
    for path in filter(None, (options.save, options.certificate, options.report)):
        from pathlib import Path

        check_writable(Path(path))
    if asked and (options.resume or "-" in options.data):
        raise InputError(f"{asked} is for a run from its beginning on files: not with --resume or standard input.")
    seen = begin_provenance(options)
    before = learner.ledger_.examples if resumed else 0
    model, reading, first_pass = _train(learner, passes, options)
    known: list[Any] = state_of(model).labels.known() if needs_two_classes(model) else []
    if needs_two_classes(model) and len(known) < 2:
        found = f"all labels are {known[0]}: with one class" if known else "no example was read: without examples"
        raise InputError(f"{', '.join(options.data)}: {found} there is nothing to learn.")
    if options.save:
        from novikoff.model_file import save

        save(model, options.save, provenance=finish_provenance(options, seen))
    report = _summarize(model, reading, before, time.perf_counter() - began, first_pass)
    late = order_warnings(state_of(model).label_order, options)
    report["warnings"] = [*reading.doubts, *late]
    compiling = min(jit.seconds_compiling, report["seconds"])
    if asked:
        report["certificate"] = write_certificate(model, _build_reading_options(model, options), passes, options)
    print(_format_json(report) if options.json else _format_text(report, options, compiling))
    for warning in late:  # the others came before learning
        print(f"warning: {warning}", file=sys.stderr)
    return 0


def _train(learner: Any, passes: int, options: argparse.Namespace) -> tuple[Any, DataReader, dict[str, int] | None]:
    """Return the model after all passes. Files are read again from the beginning where a third label needs a scheme for
    many classes, or where there are so many categories that they must be hashed."""
    name = (
        "resumed"
        if options.resume
        else "binary"
        if _is_binary_only(options)
        else multiclass_options.get_named_scheme(options)
    )
    can_restart = not options.resume and not any(is_stream(title) for title in options.data)
    for begun in count(1):
        try:
            return _run_passes(learner, name, passes, options, begun)
        except TooManyLabelsError as problem:
            if name is not None or not can_restart:
                raise
            name, message = "kesler", f"{problem}\nStarting again with --multiclass kesler."
        except TooManyNamesError as problem:
            if not can_restart:
                raise
            options.hash_bits, message = (
                DEFAULT_HASH_BITS,
                f"{problem}\nStarting again with --hash-bits {DEFAULT_HASH_BITS}.",
            )
        if not options.quiet:
            print(message, file=sys.stderr)
        learner = type(learner)(**learner.get_params())
    raise AssertionError  # the loop has no end


def _is_binary_only(options: argparse.Namespace) -> bool:
    """Whether there can only be two labels."""
    if options.online_to_batch and multiclass_options.get_named_scheme(options) not in (None, "binary"):
        raise InputError(f"--online-to-batch is for two labels: leave out --multiclass {options.multiclass}.")
    if options.online_to_batch and len({os.path.realpath(title) for title in options.data}) < len(options.data):
        raise InputError("--online-to-batch is for examples that come once: name each file once.")
    return bool(options.positive_label or options.online_to_batch)


def _run_passes(
    learner: Any, name: str | None, passes: int, options: argparse.Namespace, begun: int
) -> tuple[Any, DataReader, dict[str, int] | None]:
    """The model, what was read, and the counts of the first pass where there are several. `begun` is how often the run
    was begun."""
    reading = open_reading(options.data, _build_reading_options(learner, options), state_of(learner))
    if options.shuffle:
        shuffle_reading(reading, options, ranking=_is_ranking_possible(learner, name))
    batches = reading.batches()
    first = next(batches)
    reading.describe(first)
    if begun == 1:
        show_description(reading, quiet=options.quiet)
    found: dict[str, Any] = {}
    if name is None:
        name, found = multiclass_options.infer_scheme(
            first, None if reading.shuffler is None else reading.shuffler.labels
        )
        if name == "kesler" and is_multiclass(learner):
            name = "binary"  # it takes as many classes as come
        if name == "kesler" and options.kernel_form:
            name = "one-vs-all"  # as kernels have it
    if name == "one-vs-all" and is_multiclass(learner) and needs_two_classes(learner):  # which it is by itself
        name = "binary"
    model = (
        learner
        if name == "resumed"
        else multiclass_options.wrap_multiclass(_choose_inner_learner(learner, name, options), name, options, found)
    )
    check_settings(model)
    first = first.to_numpy()
    ledger = model.ledger_ if options.resume else None
    already, mistakes = (ledger.examples, ledger.mistakes) if ledger is not None else (0, 0)
    progress = TrainingProgress(quiet=options.quiet, already=already, mistakes=mistakes)
    following = build_file_trainer(model, reading, positive=options.positive_label)
    following.all(chain([first], batches), progress)
    signals.raise_if_interrupted()
    ledger = model.ledger_
    first_pass = {"examples": ledger.examples - already, "mistakes": ledger.mistakes - mistakes}
    for _ in range(passes - 1):
        following.once(progress)
        signals.raise_if_interrupted()
    return model, reading, first_pass if passes > 1 else None


def _is_ranking_possible(learner: Any, name: str | None) -> bool:
    """Whether queries in the data would be ranked."""
    if name == "resumed":
        return bool(scheme_info_of(learner).get("multiclass") == "query-ranking")
    return name in (None, "query-ranking")


def _choose_inner_learner(learner: Any, name: str, options: argparse.Namespace) -> Any:
    """The learner for that scheme: where the user has named none, AROW stands for Auto in those that Auto can't do."""
    if options.learner or name == "binary" or (name == "kesler" and options.update in (None, "top")):
        return learner
    own = sorted(learner_options.given_settings(options).keys() - {"fit_intercept", "passes"})
    if own:
        flag = f"--{own[0].replace('_', '-')}"
        raise InputError(f"{flag} is for --learner auto, which is for one label each: leave it out, or --multiclass.")
    if not options.quiet:
        print(f"auto can't be used with --multiclass {name}: using {FALLBACK_LEARNER}", file=sys.stderr)
    learner_type = learner_registry.learner_class(FALLBACK_LEARNER)
    return learner_type(
        fit_intercept=learner.fit_intercept, passes=learner.passes, **run_settings(learner_type, options)
    )


def _build_reading_options(model: Any, options: argparse.Namespace) -> ReadOptions:
    """As the user has said it; a learner that takes values up to 1 keeps the largest of what shares a slot, where it is
    not said otherwise and the format has slots."""
    reading_options = build_reading_options(options)
    reading_options.prefer_largest = options.collisions is None and feature_range_of(model)[1] < math.inf
    reading_options.hashes_names = fixed_width_reason_of(model) is not None  # a dictionary would bring new ones
    return reading_options


def _build_model(options: argparse.Namespace) -> tuple[Any, int]:
    """A new learner, or the one in the file to go on from, and the number of passes."""
    given = learner_options.given_settings(options)
    if not options.resume:
        name = options.learner or learner_options.default_learner(chosen_from=bool(options.online_to_batch))
        learner_type = learner_registry.learner_class(name)
        model = learner_type(
            **{**learner_registry.variant_settings(name), **given}, **run_settings(learner_type, options)
        )
        return online_to_batch_options.wrap_online_to_batch(model, options), model.passes
    from novikoff.model_file import load_learner

    model = load_learner(options.resume)
    if not hasattr(model, "ledger_"):
        raise InputError(f"{options.resume}: {type(model).__name__} learns from all examples at once and can't go on.")
    passes = given.pop("passes", 1)
    inner = inner_learner_of(model)
    name = learner_registry.name_of(type(inner))
    wanted = {**learner_registry.variant_settings(options.learner or name), **given}
    changed = {k: v for k, v in wanted.items() if v != getattr(inner, k, None)}
    changed |= multiclass_options.find_changed_settings(model, options) | online_to_batch_options.find_changed_settings(
        model, options
    )
    seeds = [getattr(part, "random_state", None) for part in (model, inner)]
    if not options.shuffle and options.random_state not in (None, *seeds):
        changed["random_state"] = options.random_state
    if options.positive_label not in (None, getattr(state_of(model).labels, "positive", None)):
        changed["positive_label"] = options.positive_label
    learner_type = learner_registry.learner_class(options.learner or name)
    if changed or not isinstance(inner, learner_type):
        raise InputError(
            f"{options.resume}: goes on as it began, as {model!r}: leave out --learner and the settings"
            f" {', '.join(sorted(changed)) or name!r} that differ."
        )
    return model, passes


def _check_rereadable(titles: list[str], passes: int) -> None:
    streams = [t for t in titles if is_stream(t)]
    if len(streams) * passes > 1 and (passes > 1 or len(set(streams)) < len(streams)):
        raise InputError(f"{streams[0]}: can be read once only: for --passes, or to name it twice, use a file.")


def _add_progressive_error(counts: dict[str, int]) -> dict[str, Any]:
    return {**counts, "progressive_error": counts["mistakes"] / max(counts["examples"], 1)}


def _summarize(
    model: Any, reading: DataReader, before: int, seconds: float, first_pass: dict[str, int] | None
) -> dict[str, Any]:
    ledger = model.ledger_
    return {
        "learner": learner_registry.name_of(type(inner_learner_of(model))),
        **scheme_info_of(model),
        "examples": ledger.examples,
        "features": model.n_features_in_,
        "mistakes": ledger.mistakes,
        "updates": ledger.updates,
        "progressive_error": ledger.progressive_error,
        **({} if first_pass is None else {"first_pass": _add_progressive_error(first_pass)}),
        "seconds": seconds,
        "examples_per_second": (ledger.examples - before) / seconds,
        "radius": ledger.radius,
        "read": reading.description,
        "notes": reading.notes,
        **reading.report(),
        **describe_run(reading),
    }


def _format_json(report: dict[str, Any]) -> str:
    import json

    return json.dumps(report)


def _format_text(report: dict[str, Any], options: argparse.Namespace, compiling: float) -> str:
    more = [f"{title:<12}{text}" for title, text in _extra_rows(report)]
    if options.save:
        from pathlib import Path

        more.append(f"saved       {Path(options.save)}")
    saved = "".join(f"\n{line}" for line in more)
    scheme = "".join(f"{key:<12}{value}\n" for key, value in report.items() if key in ("multiclass", "classes"))
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


def _describe_bound(document: dict[str, Any]) -> str:
    from novikoff.certificates.certificate import Certificate

    best = Certificate(document).headline
    if best is None:
        return "no theorem was shown to hold for this run"
    return f"{best['bound']:,.1f} {best['counts']} at most ({best['name']}: {best['verdict']})"


def _extra_rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    """What is worth saying about the hypothesis, and about how the data was read."""
    rows = online_to_batch_options.format_guarantee(report["online_to_batch"]) if "online_to_batch" in report else []
    if "certificate" in report:
        rows.append(("bound", _describe_bound(report["certificate"])))
    if "shuffle" in report:
        rows.append(("shuffled", summary_line(report["shuffle"])))
    if "slots" in report:
        about = "" if report["collisions_counted"] else "about "
        used = f"{report['slots_used']:,} of {report['slots']:,} slots used"
        rows.append(("hash", f"{used}; {about}{report['collisions']:,} names share one with another"))
    if report.get("bad_lines"):
        reasons = ", ".join(f"{reason}: {count:,}" for reason, count in report["bad_lines"].items())
        rows.append(("skipped", f"{sum(report['bad_lines'].values()):,} lines ({reasons})"))
    return rows
