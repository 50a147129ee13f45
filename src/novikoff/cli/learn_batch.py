"""Run `learn` for ensembles that are fitted to all examples at once: the data is read into memory first."""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from novikoff.base.internals import require_state
from novikoff.cli import signals
from novikoff.cli.certify import write_certificate
from novikoff.cli.learn_evaluation import RunEvaluation
from novikoff.cli.options.data_options import build_reading_options, open_reading
from novikoff.cli.output.data_summary import show_description
from novikoff.cli.output.model_output import check_writable
from novikoff.cli.output.provenance import begin_provenance, finish_provenance
from novikoff.data.load_all import load_examples
from novikoff.errors import InputError
from novikoff.meta.internals import estimate_bytes, fit_dataset
from novikoff.model_factory import ModelSettings, Task, build_model

STREAMING_ALTERNATIVES = {"adaboost": "online-boosting", "bagging": "online-bagging", "random-forest": "online-bagging"}
"""The scheme for streams that is suggested instead."""
DEFAULT_DELTA = 0.05


def run(options: argparse.Namespace, settings: ModelSettings) -> int:
    began, name = time.perf_counter(), str(settings.multiclass)
    if options.resume:
        raise InputError(
            f"--resume: {name} learns from all examples at once and can't be resumed: learn all files together, or use"
            f" --multiclass {STREAMING_ALTERNATIVES[name]}."
        )
    wanted = "--certificate" if options.certificate else "--report" if options.report else None
    if wanted and "-" in options.data:
        raise InputError(f"{wanted} is for files that can be read again: not with standard input.")
    if options.holdout or options.holdout_by or options.early_stopping:
        raise InputError(
            f"--holdout and --early-stopping are for models that learn in passes, not for {name}: evaluate it with"
            " --test FILE."
        )
    for path in (options.save, options.certificate, options.report):
        if path:
            check_writable(Path(path))
    if not options.quiet:
        print(
            f"{name} learns from all examples at once: the data is read into memory first. For streams there is"
            f" --multiclass {STREAMING_ALTERNATIVES[name]}.",
            file=sys.stderr,
        )
    evaluation = RunEvaluation(options, passes=1) if options.test else None
    seen = begin_provenance(options)
    reading = open_reading(options.data, build_reading_options(options), None)
    needed = partial(_bytes_needed, settings)
    dataset = load_examples(reading, needed=needed, positive=options.positive_label)
    show_description(reading, quiet=options.quiet)
    signals.raise_if_interrupted()
    model = fit_dataset(build_model(settings, Task(len(set(dataset.y.tolist())))), dataset)
    signals.raise_if_interrupted()
    if options.save:
        from novikoff.model_file import save

        save(model, options.save, provenance=finish_provenance(options, seen))
    report = _summarize(model, name, len(dataset.y), time.perf_counter() - began, options)
    report |= {"read": reading.description, "notes": reading.notes, "warnings": reading.doubts}
    if wanted:
        report["certificate"] = write_certificate(model, build_reading_options(options), 1, options)
    if evaluation is not None:
        report |= evaluation.measure(model)
    print(json.dumps(report) if options.json else _format_text(report, options))
    if evaluation is not None and not options.json:
        print(evaluation.format_text())
    return 0


def _bytes_needed(settings: ModelSettings, classes: int, features: int) -> int:
    """Return the minimum memory of the ensemble with these numbers of classes and features."""
    return int(estimate_bytes(build_model(settings, Task(classes)), classes, features))


def _summarize(model: Any, name: str, examples: int, seconds: float, options: argparse.Namespace) -> dict[str, Any]:
    found = {
        "learner": options.learner or "decision-tree",
        "multiclass": name,
        "classes": len(model.classes_),
        "examples": examples,
        "features": model.n_features_in_,
        "n_estimators": len(require_state(model).weights),
    }
    if hasattr(model, "bound_"):
        found |= {"training_error": model.training_error_, "bound": model.bound_}
    else:
        out = model.out_of_bag_
        found |= {"out_of_bag_error": out.error, "out_of_bag_examples": out.judged}
        found |= {"model_error_bound": model.error_bound(delta=_delta(options)).value}
    return {**found, "seconds": seconds, "examples_per_second": examples / seconds}


def _delta(options: argparse.Namespace) -> float:
    return DEFAULT_DELTA if options.delta is None else float(options.delta)


def _format_text(report: dict[str, Any], options: argparse.Namespace) -> str:
    lines = [f"{key:<12}{report[key]}" for key in ("learner", "multiclass", "classes")]
    lines += [f"{key:<12}{report[key]:,}" for key in ("examples", "features")]
    lines.append(f"estimators  {report['n_estimators']:,}")
    if "bound" in report:
        about = "training error: of this model on the examples it learned from"
        lines.append(f"error       {report['training_error']:.4f}   ({about})")
        lines.append(f"bound       {report['bound']:.4g}   (bound of the training error, by the theorem of boosting)")
    else:
        lines.append(f"error       {report['out_of_bag_error']:.4f}   (out-of-bag estimate of the error of this model)")
        lines.append(
            f"at most     {report['model_error_bound']:.4f}   (error of this model, the vote, on new data, with"
            f" confidence {1.0 - _delta(options):g}, if i.i.d.)"
        )
    lines.append(f"seconds     {report['seconds']:.3f}   ({report['examples_per_second']:,.0f} examples/s)")
    return "\n".join([*lines, *([f"saved       {Path(options.save)}"] if options.save else [])])
