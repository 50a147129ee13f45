"""Learns shards on a Dask cluster: every shard learns from the same weights, which are then mixed, round after round.

The result depends on the shards alone, not on the number of workers. One shard gives the model that learn gives with
the same learner.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from novikoff import learner_registry
from novikoff.base.internals import feature_range_of, inner_learner_of, scheme_info_of
from novikoff.cli import signals
from novikoff.cli.certify import add_certificate_options, collect_certify_settings
from novikoff.cli.learn import progressive_error_lines
from novikoff.cli.options import model_options, run_options
from novikoff.cli.options.data_options import add_data_options, build_reading_options
from novikoff.cli.output.data_summary import show_description
from novikoff.cli.output.model_output import check_writable
from novikoff.errors import InputError, SortedLabelsWarning
from novikoff.memory_limit import ENVIRONMENT_VARIABLE
from novikoff.model_factory import DEFAULT_LEARNER, FALLBACK_LEARNER, ModelSettings, Task, build_learner, build_model

FALLBACK_MESSAGE = f"{DEFAULT_LEARNER} can't be mixed across shards: using {FALLBACK_LEARNER}"
SCHEME_CHOICES = ("binary", "kesler", "one-vs-all", "all-vs-all", "output-code", "ova", "ava", "ecoc")
ON_CLUSTER = Task(on_cluster=True)
EPILOG = """\
A shard is a file that every worker can open under the same name; a pattern stands for all files that match. Without
--scheduler the workers are processes on this machine, as many as it has processors. Start a cluster with Dask's own
tools: dask scheduler and dask worker, SSHCluster, dask-jobqueue (SLURM), dask-kubernetes, dask-yarn.

examples:
  novikoff cluster learn 'part-*.svm.gz' --rounds 5 --save clicks.model
  novikoff cluster learn 'part-*.svm.gz' --scheduler tcp://10.0.0.1:8786 --rounds 10 --checkpoint run.checkpoint
  novikoff cluster learn 'part-*.vw' --learner sgd --loss logistic --hash-bits 22 --rounds 3 --json
  novikoff cluster learn 'day-*.csv' --label y --learner perceptron --certificate clicks.certificate
  novikoff verify clicks.certificate day-*.csv
"""


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    learn = actions.add_parser(
        "learn", help="learn shards, round by round", allow_abbrev=False, description=__doc__, epilog=EPILOG
    )
    learn.set_defaults(parser=learn)
    learn.add_argument("data", nargs="+", metavar="SHARD", help="files, or patterns such as 'part-*.svm.gz'")
    learn.add_argument(
        "--scheduler", metavar="ADDRESS", help="address of the Dask scheduler (default: processes on this machine)"
    )
    learn.add_argument("--workers", metavar="N", type=int, help="number of processes, without --scheduler")
    learn.add_argument(
        "--rounds",
        metavar="N",
        type=int,
        default=5,
        help="number of rounds: each learns all shards and mixes (default: 5)",
    )
    learn.add_argument(
        "--mixing",
        choices=("uniform", "mistakes", "examples"),
        default="uniform",
        help="weight of each shard in the mixture (default: uniform)",
    )
    learn.add_argument(
        "--learner",
        choices=learner_registry.names(),
        help=f"the algorithm (default: {FALLBACK_LEARNER}, because {DEFAULT_LEARNER} can't be mixed)",
    )
    learn.add_argument(
        "--multiclass", choices=SCHEME_CHOICES, help="multiclass scheme (default: kesler for more than two classes)"
    )
    learn.add_argument("--classes", metavar="A,B,…", help="all labels, so that the files need not be searched for them")
    learn.add_argument("--positive-label", metavar="LABEL", help="learn this label against all others")
    learn.add_argument("--save", metavar="MODEL", help="write the model to this file")
    learn.add_argument(
        "--checkpoint", metavar="PATH", help="file written after each round; an interrupted run resumes from it"
    )
    learn.add_argument("--certificate", metavar="FILE", help="write a certificate of the mistake bounds to this file")
    add_certificate_options(learn)
    run_options.add_max_model_memory(learn, run_options.DEFAULT_LIMIT_TEXT)
    learn.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    learn.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    run_options.add_random_state(learn, "code words of --multiclass ecoc, initial weights of a network")
    add_data_options(learn)
    for name in (
        learner_registry.names()
        if arguments is None
        else [model_options.find_learner_name(arguments, FALLBACK_LEARNER)]
    ):
        model_options.add_learner_settings(learn, name)


def run(options: argparse.Namespace) -> int:
    from novikoff.distributed.dask_executor import connect
    from novikoff.distributed.distributed_learner import DistributedLearner
    from novikoff.distributed.inputs import make_shards
    from novikoff.distributed.shard_summary import describe_first_shard

    began = time.perf_counter()
    if options.max_model_memory is not None:
        os.environ[ENVIRONMENT_VARIABLE] = str(
            run_options.max_model_memory(options)
        )  # worker processes on this machine inherit it
    if options.workers is not None and (options.scheduler or options.workers < 1):
        raise InputError("--workers is the number of processes to start without --scheduler, at least 1.")
    if options.search_effort is not None and not options.certificate:
        raise InputError("--search-effort is for the witness search of --certificate: leave it out.")
    local = options.checkpoint if options.checkpoint and "://" not in options.checkpoint else None
    for path in (options.save, options.certificate, local):
        if path:
            check_writable(Path(path))
    reading_options = build_reading_options(options)
    settings = _read_model_settings(options)
    draft = build_learner(settings, ON_CLUSTER)
    make_shards(
        options.data, None, reading_options, options.positive_label
    )  # refuses patterns that match nothing before a cluster is started
    reading_options.prefer_largest = options.collisions is None and feature_range_of(draft)[1] < math.inf
    with connect(options.scheduler, options.workers) as client:
        _print_progress(options, f"scheduler   {client.scheduler.address}\ndashboard   {client.dashboard_link}")
        read = describe_first_shard(options.data, reading_options, client)
        show_description(read, quiet=options.quiet)
        shown = RoundProgress(quiet=options.quiet)
        classes = None if options.classes is None else [_parse_label(word) for word in options.classes.split(",")]
        found = None
        if settings.multiclass is None:
            found = _count_classes(options, reading_options, client, classes)
        model = build_model(settings, ON_CLUSTER._replace(classes=found))
        learner = DistributedLearner(
            model, rounds=options.rounds, mixing=options.mixing, client=client, checkpoint=options.checkpoint
        )
        with warnings.catch_warnings():  # printed below
            warnings.simplefilter("ignore", SortedLabelsWarning)
            learner.fit(
                options.data,
                options=reading_options,
                positive_label=options.positive_label,
                classes=classes,
                on_round=shown,
            )
        signals.raise_if_interrupted()
        report = _summarize(learner, time.perf_counter() - began)
        report |= {"read": read.description, "notes": [*read.notes, *learner.notes_]}
        report["warnings"] = [*read.doubts, *learner.warnings_]
        if options.save:
            from novikoff.model_file import save

            save(learner.model_, options.save)
        if options.certificate:
            report["certificate"] = _certify(learner, options)
    print(json.dumps(report) if options.json else _format_text(report, options))
    for note in () if options.quiet else learner.notes_:
        print(f"note: {note}", file=sys.stderr)
    for warning in learner.warnings_:  # other warnings were printed before learning
        print(f"warning: {warning}", file=sys.stderr)
    return 0


class RoundProgress:
    """Prints a line of progress for each round."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet, self.before, self.heading = quiet, time.perf_counter(), True

    def __call__(self, number: int, turn: Any) -> None:
        signals.raise_if_interrupted()
        if self.quiet:
            return
        if self.heading:
            print("   round    examples    mistakes  progressive error   examples/s   weights sent", file=sys.stderr)
        self.heading = False
        now, records = time.perf_counter(), turn.done.records
        examples, mistakes = (sum(getattr(r, name) for r in records) for name in ("examples", "mistakes"))
        rate = examples / max(now - self.before, 1e-9)
        print(
            f"{number:>8}{examples:>12,}{mistakes:>12,}{mistakes / max(examples, 1):>19.4f}{rate:>13,.0f}"
            f"{turn.sent / 1e6:>12.2f} MB",
            file=sys.stderr,
        )
        self.before = now


def _print_progress(options: argparse.Namespace, text: str) -> None:
    if not options.quiet:
        print(text, file=sys.stderr)


def _parse_label(word: str) -> Any:
    return int(word) if word.lstrip("+-").isdigit() else word


def _read_model_settings(options: argparse.Namespace) -> ModelSettings:
    """Return what the options say of the model."""
    given = model_options.collect_learner_settings(options)
    if "passes" in given:
        raise InputError("--passes: a cluster goes over the data once in each round: use --rounds.")
    if options.learner is None:
        _print_progress(options, FALLBACK_MESSAGE)
    scheme = model_options.get_scheme_name(options)
    if scheme is None and options.positive_label is not None:
        scheme = "binary"
    return ModelSettings(
        options.learner,
        given,
        scheme,
        run_settings=model_options.run_settings(options, shuffled=False),
        flag=model_options.flag,
    )


def _count_classes(options: argparse.Namespace, reading_options: Any, client: Any, classes: Any) -> int:
    """Return the number of classes: the given ones, or those of the first labels, which a worker reads."""
    if classes is not None:
        return len(classes)
    from novikoff.distributed.shard_summary import read_first_labels

    return len(read_first_labels(options.data, reading_options, client))


def _summarize(learner: Any, seconds: float) -> dict[str, Any]:
    model, ledger = learner.model_, learner.ledger_
    return {
        "learner": learner_registry.name_of(type(inner_learner_of(model))),
        **scheme_info_of(model),
        "shards": ledger.shards,
        "rounds": len(ledger.rounds),
        "mixing": learner.mixing,
        "examples": ledger.examples,
        "features": model.n_features_in_,
        "mistakes": ledger.mistakes,
        "mixed_mistakes": float(ledger.mixture_sum("mistakes")),
        "updates": model.ledger_.updates,
        "progressive_error": ledger.mistakes / max(ledger.examples, 1),
        **({"first_pass": _summarize_first_round(ledger)} if len(ledger.rounds) > 1 else {}),
        "seconds": seconds,
        "examples_per_second": ledger.examples / seconds,
        "radius": model.ledger_.radius,
    }


def _summarize_first_round(ledger: Any) -> dict[str, Any]:
    records = ledger.rounds[0].records
    examples, mistakes = (sum(getattr(record, name) for record in records) for name in ("examples", "mistakes"))
    return {"examples": examples, "mistakes": mistakes, "progressive_error": mistakes / max(examples, 1)}


def _certify(learner: Any, options: argparse.Namespace) -> dict[str, Any]:
    from novikoff.model_file import write_atomically

    certificate = learner.certify(**collect_certify_settings(options))
    write_atomically(Path(options.certificate), (certificate.as_json() + "\n").encode())
    return dict(certificate.document)


def _format_text(report: dict[str, Any], options: argparse.Namespace) -> str:
    lines = [f"{key:<12}{report[key]}" for key in ("learner", "multiclass", "classes") if key in report]
    lines += [f"{key:<12}{report[key]:,}" for key in ("shards", "rounds", "examples", "features")]
    mixed = f"({report['mixed_mistakes']:,.6g} as the mixtures count them)"
    lines.append(f"mistakes    {report['mistakes']:,}   {mixed}")
    lines.append(f"updates     {report['updates']:,}")
    lines += progressive_error_lines(report["mistakes"], report["examples"], report.get("first_pass"))
    lines.append(f"radius      {report['radius']:.6g}")
    lines.append(f"seconds     {report['seconds']:.3f}   ({report['examples_per_second']:,.0f} examples/s)")
    if "certificate" in report:
        from novikoff.certificates.certificate import Certificate

        best = Certificate(report["certificate"]).headline
        bound = "no theorem was shown to hold for this run"
        if best is not None:
            bound = f"{best['bound']:,.1f} {best['counts']} at most ({best['name']}: {best['verdict']})"
        lines.append(f"bound       {bound}")
    return "\n".join([*lines, *([f"saved       {Path(options.save)}"] if options.save else [])])
