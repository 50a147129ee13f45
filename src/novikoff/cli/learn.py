"""Learns data example by example, and shows the ledger: examples, mistakes, updates, radius."""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from novikoff import learner_registry
from novikoff._compiled import jit
from novikoff.base import internals
from novikoff.cli import signals
from novikoff.cli.certify import add_certificate_options, write_certificate
from novikoff.cli.options import data_options, kernel_options, model_options, run_options
from novikoff.cli.options.evaluation_options import add_evaluation_options
from novikoff.cli.output.data_summary import show_description
from novikoff.cli.output.formatter import CommandParser
from novikoff.cli.output.model_output import check_writable
from novikoff.cli.output.progress import TrainingProgress
from novikoff.cli.output.provenance import add_provenance, begin_provenance, finish_provenance
from novikoff.cli.output.report_output import add_report_option
from novikoff.cli.output.status_line import StatusLine
from novikoff.data.formats.base import ReadOptions
from novikoff.data.names.hashing import DEFAULT_HASH_BITS
from novikoff.data.reader import DataReader, FileBatch, is_builtin
from novikoff.errors import InputError, TooManyLabelsError, TooManyNamesError
from novikoff.model_factory import (
    BATCH_SCHEMES,
    DEFAULT_LEARNER,
    STABLE_LEARNER,
    UNKNOWN_TASK,
    ModelSettings,
    build_learner,
    build_model,
    inspect_task,
)

if TYPE_CHECKING:
    from novikoff.cli.learn_evaluation import RunEvaluation

EPILOG = f"""\
{data_options.DATA_HELP}
Each learner has its own settings: novikoff learn --learner sgd --help shows those of sgd.
The scheme follows from the labels: one learner for two labels, Kesler's construction for more; sets of labels (1,3,7
or a list) are multi-label, labels such as a/b/c hierarchical, data with qid is ranked.

METHOD of --online-to-batch is the hypothesis to save, with its guarantee if examples are i.i.d. and are learned once:
{model_options.METHODS_HELP}

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
  novikoff learn train.svm --test test.svm
  novikoff learn train.svm --holdout 0.2 --passes 20 --early-stopping 3 --save spam.model
  novikoff learn train.svm --certificate spam.certificate --report spam.html
  novikoff learn train.svm --online-to-batch controlled-testing --epsilon 0.05 --delta 0.01 --save spam.model
  novikoff learn digits --multiclass random-forest --n-estimators 200 --n-jobs 2 --save forest.model
  novikoff learn digits --multiclass online-bagging --n-estimators 20
  zcat *.svm.gz | novikoff learn -
"""

COMMON_OPTIONS = (
    "--learner", "--passes", "--shuffle", "--save", "--resume", "--test", "--holdout", "--label", "--text", "--ignore",
    "--format", "--multiclass", "--certificate", "--random-state", "--json", "--quiet",
)  # fmt: skip
"""Options in --help; --help-all shows all."""


def add_arguments(parser: CommandParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("data", nargs="+", metavar="DATA", help="data to learn, in this order")
    default = f"{DEFAULT_LEARNER}, which combines four; {STABLE_LEARNER} with --online-to-batch"
    parser.add_argument("--learner", choices=learner_registry.names(), help=f"the algorithm (default: {default})")
    parser.add_argument("--save", metavar="MODEL", help="write the model to this file")
    parser.add_argument("--resume", metavar="MODEL", help="continue with the model in this file")
    add_provenance(parser)
    parser.add_argument("--certificate", metavar="FILE", help="write a certificate of the mistake bounds to this file")
    add_report_option(parser)
    add_certificate_options(parser)
    parser.add_argument("--positive-label", metavar="LABEL", help="learn this label against all others")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    parser.add_argument(
        "--keep-names", metavar="MB", type=int, nargs="?", const=64, help="keep names of hashed features for inspect"
    )
    run_options.add_max_model_memory(parser, run_options.DEFAULT_LIMIT_TEXT)
    run_options.add_shuffle(parser)
    add_evaluation_options(parser)
    model_options.add_multiclass_options(parser)
    data_options.add_data_options(parser)
    names = learner_registry.names() if arguments is None else [model_options.find_learner_name(arguments)]
    for name in names:
        model_options.add_learner_settings(parser, name)
    model_options.add_online_to_batch_options(parser)
    kernel_options.add_kernel_options(parser)
    named = any(argument.partition("=")[0] == "--learner" for argument in arguments or ())
    parser.limit_help(COMMON_OPTIONS, [f"settings of {names[0]}"] if named else [])


def run(options: argparse.Namespace) -> int:
    began = time.perf_counter()
    if options.search_effort is not None and not (options.certificate or options.report):
        raise InputError("--search-effort is for the witness search of --certificate or --report: leave it out.")
    if model_options.get_scheme_name(options) in BATCH_SCHEMES:
        from novikoff.cli import learn_batch

        return learn_batch.run(options, model_options.read_model_settings(options))
    if options.shuffle is None:
        options.shuffle = all(map(is_builtin, options.data))
    if options.shuffle:
        run_options.check_shuffle(options)
    if options.kernel_form is not None:
        kernel_options.resolve_representation(options)
    settings, draft, passes = _resume(options) if options.resume else _draft_model(options)
    before = draft.ledger_.examples if options.resume else 0
    _check_outputs(options, passes)
    seen = begin_provenance(options) if options.provenance else None
    evaluation = _begin_evaluation(options, passes)
    model, reading, first_pass = _train(settings, draft, passes, options, evaluation)
    _check_labels(model, options)
    if options.save:
        from novikoff.model_file import save

        save(model, options.save, provenance=finish_provenance(options, seen) if options.provenance else None)
    report = _summarize(model, reading, before, time.perf_counter() - began, first_pass)
    order = internals.state_of(model).label_order
    late = [run_options.describe_sorted_labels(order, options)] if order is not None and order.is_sorted else []
    report["warnings"] = [*reading.doubts, *late]
    if evaluation is not None:
        report |= evaluation.measure(model)
    compiling = min(jit.seconds_compiling, report["seconds"])
    if options.certificate or options.report:
        report["certificate"] = write_certificate(model, _build_reading_options(model, options), passes, options)
    if options.json:
        print(_format_json(report))
    else:
        print(_format_text(report, options, compiling))
        if evaluation is not None:
            print(evaluation.format_text())
    for warning in late:  # other warnings were printed before learning
        print(f"warning: {warning}", file=sys.stderr)
    return 0


def _begin_evaluation(options: argparse.Namespace, passes: int) -> RunEvaluation | None:
    """Return the evaluation of the run, where an option asks for one."""
    names = ("test", "holdout", "holdout_by", "early_stopping", "decision_threshold")
    if all(getattr(options, name) is None for name in names):
        return None
    from novikoff.cli.learn_evaluation import RunEvaluation

    return RunEvaluation(options, passes)


def _train(
    settings: ModelSettings | None,
    draft: Any,
    passes: int,
    options: argparse.Namespace,
    evaluation: RunEvaluation | None,
) -> tuple[Any, DataReader, dict[str, int] | None]:
    """Return the model after all passes, the reader, and the counts of the first pass where there are several.

    Files are read again from the start where a third label requires a multiclass scheme, or where the
    categories are too many to be named and must be hashed.
    """
    can_restart = settings is not None and not any(data_options.is_stream(title) for title in options.data)
    for attempt in count(1):
        try:
            return _run_passes(settings, draft, passes, options, evaluation, show_data=attempt == 1)
        except TooManyLabelsError as problem:
            if options.decision_threshold is not None:
                raise InputError(f"--decision-threshold is for two classes. {problem}") from None
            if settings is None or settings.multiclass is not None or not can_restart:
                raise
            settings = settings._replace(multiclass="kesler")
            message = f"{problem}\nRestarting with --multiclass kesler."
        except TooManyNamesError as problem:
            if not can_restart:
                raise
            options.hash_bits = DEFAULT_HASH_BITS
            message = f"{problem}\nRestarting with --hash-bits {DEFAULT_HASH_BITS}."
        _notify(message, options)
    raise AssertionError  # the loop has no end


def _run_passes(
    settings: ModelSettings | None,
    draft: Any,
    passes: int,
    options: argparse.Namespace,
    evaluation: RunEvaluation | None,
    *,
    show_data: bool,
) -> tuple[Any, DataReader, dict[str, int] | None]:
    """Build the model from the first batch, and learn all batches of all passes. Without settings, `draft` is a model
    to resume."""
    reading = data_options.open_reading(options.data, _build_reading_options(draft, options), internals.state_of(draft))
    if options.shuffle:
        run_options.shuffle_reading(reading, options, ranking=_is_ranking_possible(settings, draft))
    if evaluation is not None:
        evaluation.begin(reading)
    batches = reading.batches()
    first = next(batches)
    reading.describe(first)
    if show_data and (reading.doubts or not options.quiet):
        show_description(reading, quiet=options.quiet)
    if settings is None:
        model = draft
    else:
        named = settings.multiclass is not None or settings.online_to_batch is not None
        labels = None if reading.shuffler is None else reading.shuffler.labels
        task = UNKNOWN_TASK if named else inspect_task(first, labels)
        model = build_model(settings, task, notify=lambda message: _notify(message, options))
    internals.check_settings(model)
    if evaluation is not None:
        evaluation.check_model(model)
    examples, mistakes = (draft.ledger_.examples, draft.ledger_.mistakes) if settings is None else (0, 0)
    training = internals.build_file_trainer(model, reading, positive=options.positive_label)
    with contextlib.nullcontext() if options.quiet else StatusLine(reading, passes=passes) as status:
        watch: Callable[[Iterator[FileBatch]], Iterator[FileBatch]] = iter
        progress = None
        if status is not None:
            progress = TrainingProgress(already=examples, mistakes=mistakes, before_line=status.erase)
            watch = status.watch
        _learn_pass(training, watch(chain([first.to_numpy()], batches)), progress)
        ledger = model.ledger_
        first_pass = {"examples": ledger.examples - examples, "mistakes": ledger.mistakes - mistakes}
        for _ in range(passes - 1):
            if evaluation is not None and evaluation.should_stop(model):
                break
            _learn_pass(training, watch(reading.batches()), progress)
    if evaluation is not None:
        model = evaluation.finish(model)
    return model, reading, first_pass if passes > 1 else None


def _learn_pass(training: Any, batches: Iterator[FileBatch], progress: TrainingProgress | None) -> None:
    """Learn all batches, in pieces that end where a line of progress is due."""
    for batch in training.iter_batches(batches):
        encoded, start = training.encode(batch), 0
        while start < len(encoded.codes):
            if progress is None:
                start = training.learn(encoded)
            else:
                start = training.learn(encoded, start, start + progress.examples_until_line(training.state.ledger))
                progress.show(training.state.ledger)
            if signals.was_interrupted:
                raise KeyboardInterrupt
    training.end_pass()


def _draft_model(options: argparse.Namespace) -> tuple[ModelSettings, Any, int]:
    """Return the settings, a model to read data for before its scheme is known, and the number of passes."""
    settings = model_options.read_model_settings(options)
    if options.online_to_batch and len({os.path.realpath(title) for title in options.data}) < len(options.data):
        raise InputError("--online-to-batch is for examples that are learned once: name each file once.")
    draft = build_learner(settings) if settings.online_to_batch is None else build_model(settings, UNKNOWN_TASK)
    internals.check_settings(draft)
    return settings, draft, internals.inner_learner_of(draft).passes


def _resume(options: argparse.Namespace) -> tuple[None, Any, int]:
    """Return the model to resume and the number of passes; InputError where options contradict the model."""
    from novikoff.model_file import load_learner

    model = load_learner(options.resume)
    if not hasattr(model, "ledger_"):
        kind = type(model).__name__
        raise InputError(f"{options.resume}: {kind} learns from all examples at once and can't be resumed.")
    inner = internals.inner_learner_of(model)
    name = learner_registry.name_of(type(inner))
    changed = model_options.find_changed_settings(model, options)
    seeds = [getattr(part, "random_state", None) for part in (model, inner)]
    if not options.shuffle and options.random_state not in (None, *seeds):
        changed["random_state"] = options.random_state
    if options.positive_label not in (None, getattr(internals.state_of(model).labels, "positive", None)):
        changed["positive_label"] = options.positive_label
    if changed or not isinstance(inner, learner_registry.learner_class(options.learner or name)):
        raise InputError(
            f"{options.resume}: is resumed with the settings that it began with, {model!r}: leave out --learner and the"
            f" settings {', '.join(sorted(changed)) or name!r} that differ."
        )
    internals.check_settings(model)
    return None, model, model_options.collect_learner_settings(options).get("passes", 1)


def _is_ranking_possible(settings: ModelSettings | None, draft: Any) -> bool:
    """Return whether queries in the data would be ranked."""
    if settings is None:
        return bool(internals.scheme_info_of(draft).get("multiclass") == "query-ranking")
    return settings.multiclass in (None, "query-ranking") and settings.online_to_batch is None


def _build_reading_options(model: Any, options: argparse.Namespace) -> ReadOptions:
    """Return the reading options. Where --collisions is not given, a learner whose values have a maximum keeps the
    largest of the values that share a slot."""
    reading_options = data_options.build_reading_options(options)
    reading_options.prefer_largest = options.collisions is None and internals.feature_range_of(model)[1] < math.inf
    reading_options.hashes_names = internals.fixed_width_reason_of(model) is not None  # a dictionary would add features
    return reading_options


def _notify(message: str, options: argparse.Namespace) -> None:
    if not options.quiet:
        print(message, file=sys.stderr)


def _check_outputs(options: argparse.Namespace, passes: int) -> None:
    """Raise InputError for files that can't be written, or data that can't be read as often as needed."""
    _check_rereadable(options.data, passes)
    for path in filter(None, (options.save, options.certificate, options.report)):
        check_writable(path)
    wanted = "--certificate" if options.certificate else "--report" if options.report else None
    if wanted and (options.resume or "-" in options.data):
        raise InputError(f"{wanted} is for a run from its beginning on files: not with --resume or standard input.")


def _check_labels(model: Any, options: argparse.Namespace) -> None:
    """Raise InputError where fewer than two classes were learned."""
    known: list[Any] = internals.state_of(model).labels.known() if internals.needs_two_classes(model) else []
    if internals.needs_two_classes(model) and len(known) < 2:
        found = f"all labels are {known[0]}: with one class" if known else "no example was read: without examples"
        raise InputError(f"{', '.join(options.data)}: {found} there is nothing to learn.")


def _check_rereadable(titles: list[str], passes: int) -> None:
    streams = [t for t in titles if data_options.is_stream(t)]
    if len(streams) * passes > 1 and (passes > 1 or len(set(streams)) < len(streams)):
        raise InputError(f"{streams[0]}: can be read once only: for --passes, or to name it twice, use a file.")


def _summarize(
    model: Any, reading: DataReader, before: int, seconds: float, first_pass: dict[str, int] | None
) -> dict[str, Any]:
    ledger = model.ledger_
    first: dict[str, Any] = {}
    if first_pass is not None:
        error = first_pass["mistakes"] / max(first_pass["examples"], 1)
        first = {"first_pass": {**first_pass, "progressive_error": error}}
    return {
        "learner": learner_registry.name_of(type(internals.inner_learner_of(model))),
        **internals.scheme_info_of(model),
        "examples": ledger.examples,
        "features": model.n_features_in_,
        "mistakes": ledger.mistakes,
        "updates": ledger.updates,
        "progressive_error": ledger.progressive_error,
        **first,
        "seconds": seconds,
        "examples_per_second": (ledger.examples - before) / seconds,
        "radius": ledger.radius,
        "read": reading.description,
        "notes": reading.notes,
        **reading.report(),
        **({} if reading.shuffler is None else {"shuffle": run_options.describe_shuffle(reading.shuffler)}),
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
    # Kernels that are not in the library are compiled at their first use: that time is not learning time.
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


def progressive_error_lines(mistakes: int, examples: int, first_pass: dict[str, int] | None = None) -> list[str]:
    """Return the line for the progressive error of a run and, over several passes, that of the first pass alone.

    >>> print("\\n".join(progressive_error_lines(6, 60, {"mistakes": 4, "examples": 20})))
    error       0.1000   (progressive error of the run: 6 of 60 predictions made while learning were wrong)
    first pass  0.2000   (progressive error: 4 of 20 predictions; later passes have seen the labels)
    """
    made = f"{mistakes:,} of {examples:,} predictions made while learning were wrong"
    lines = [f"error       {mistakes / max(examples, 1):.4f}   (progressive error of the run: {made})"]
    if first_pass is not None:
        wrong, seen = first_pass["mistakes"], first_pass["examples"]
        share = wrong / max(seen, 1)
        lines.append(
            f"first pass  {share:.4f}   (progressive error: {wrong:,} of {seen:,} predictions; later passes have seen"
            " the labels)"
        )
    return lines


def _describe_bound(document: dict[str, Any]) -> str:
    from novikoff.certificates.certificate import Certificate

    best = Certificate(document).headline
    if best is None:
        return "no theorem was shown to hold for this run"
    return f"{best['bound']:,.1f} {best['counts']} at most ({best['name']}: {best['verdict']})"


def _extra_rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Return rows about the hypothesis, and about how the data was read."""
    rows: list[tuple[str, str]] = []
    if "online_to_batch" in report:
        from novikoff.cli.output.guarantee_text import format_guarantee

        rows = format_guarantee(report["online_to_batch"])
    if "certificate" in report:
        rows.append(("bound", _describe_bound(report["certificate"])))
    if "shuffle" in report:
        rows.append(("shuffled", run_options.summary_line(report["shuffle"])))
    if "slots" in report:
        about = "" if report["collisions_counted"] else "about "
        used = f"{report['slots_used']:,} of {report['slots']:,} slots used"
        rows.append(("hash", f"{used}; {about}{report['collisions']:,} names share one with another"))
    if report.get("bad_lines"):
        reasons = ", ".join(f"{reason}: {count:,}" for reason, count in report["bad_lines"].items())
        rows.append(("skipped", f"{sum(report['bad_lines'].values()):,} lines ({reasons})"))
    return rows
