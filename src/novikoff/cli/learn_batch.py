"""`learn` for models that need all examples at once: the data is read into memory first."""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from novikoff import learner_registry
from novikoff.cli import signals, multiclass_options, learner_options
from novikoff.cli.certify import certified
from novikoff.cli.data_summary import show_description
from novikoff.cli.provenance import begin_provenance, finish_provenance
from novikoff.cli.data_options import options_of, reading_for
from novikoff.cli.shuffle_options import run_settings
from novikoff.cli.model_output import check_writable
from novikoff.errors import InputError
from novikoff.data.load_all import gathered

STREAMS = {"adaboost": "online-boosting", "bagging": "online-bagging", "random-forest": "online-bagging"}
"""What to use where data has no end."""


def run(options: argparse.Namespace, name: str) -> int:
    began = time.perf_counter()
    if options.resume:
        raise InputError(
            f"--resume: {name} learns from all examples at once and can't go on: learn all files together, or use"
            f" --scheme {STREAMS[name]}."
        )
    asked = "--certificate" if options.certificate else "--report" if options.report else None
    if asked and "-" in options.data:
        raise InputError(f"{asked} is for files that can be read again: not with standard input.")
    for path in (options.save, options.certificate, options.report):
        if path:
            check_writable(Path(path))
    if not options.quiet:
        print(
            f"{name} learns from all examples at once: the data is read into memory first. For streams there is"
            f" --scheme {STREAMS[name]}.",
            file=sys.stderr,
        )
    seen = begin_provenance(options)
    reading = reading_for(options.data, options_of(options), None)
    needed = partial(_bytes_needed, options, name)
    whole = gathered(reading, needed=needed, positive=options.positive)
    show_description(reading, quiet=options.quiet)
    signals.check()
    model = _model(options, name, len(set(whole.y.tolist()))).fit_whole(whole)
    signals.check()
    if options.save:
        from novikoff.model_file import save

        save(model, options.save, provenance=finish_provenance(options, seen))
    report = _summary(model, name, len(whole.y), time.perf_counter() - began, options)
    report |= {"read": reading.description, "notes": reading.notes, "warnings": reading.doubts}
    if asked:
        report["certificate"] = certified(model, options_of(options), 1, options)
    print(json.dumps(report) if options.json else _as_text(report, options))
    return 0


def _bytes_needed(options: argparse.Namespace, name: str, classes: int, features: int) -> int:
    """Return the memory that the ensemble needs at least with so many classes and features."""
    return int(_model(options, name, classes).bytes_needed(classes, features))


def _model(options: argparse.Namespace, name: str, classes: int) -> Any:
    """The ensemble; its members are trees where no learner is named, and else that one, for more than two labels in
    Kesler's construction."""
    from novikoff import scheme_registry

    kind = scheme_registry.scheme_class(name)
    given = {**multiclass_options.settings_for(options, name, kind), **run_settings(kind, options)}
    if options.learner is None:
        told = learner_options.given(options)
        if told:
            raise InputError(f"--{next(iter(told)).replace('_', '-')} is a setting of a learner: name it by --learner.")
        return kind(**given)
    if "learner" not in kind.settings():
        raise InputError(f"{name} is made of trees: leave out --learner, or use --scheme bagging.")
    said = {**learner_registry.variant_settings(options.learner), **learner_options.given(options)}
    member = learner_registry.learner_class(options.learner)
    learner = member(**said, **run_settings(member, options))
    if learner.two_classes and not learner.takes_classes and classes > 2:
        learner = scheme_registry.scheme_class("kesler")(learner)
    return kind(learner, **given)


def _summary(model: Any, name: str, examples: int, seconds: float, options: argparse.Namespace) -> dict[str, Any]:
    found = {
        "learner": options.learner or "decision-tree",
        "scheme": name,
        "classes": len(model.classes_),
        "examples": examples,
        "features": model.n_features_in_,
        "members": len(model._fitted().weights),
    }
    if hasattr(model, "bound_"):
        found |= {"training_error": model.training_error_, "bound": model.bound_}
    else:
        out = model.out_of_bag_
        found |= {"out_of_bag_error": out.error, "out_of_bag_examples": out.judged}
        found |= {"model_error_bound": model.error_bound(options.confidence or 0.95).value}
    return {**found, "seconds": seconds, "examples_per_second": examples / seconds}


def _as_text(report: dict[str, Any], options: argparse.Namespace) -> str:
    lines = [f"{key:<12}{report[key]}" for key in ("learner", "scheme", "classes")]
    lines += [f"{key:<12}{report[key]:,}" for key in ("examples", "features", "members")]
    if "bound" in report:
        about = "training error: of this model on the examples it learned from"
        lines.append(f"error       {report['training_error']:.4f}   ({about})")
        lines.append(f"allowed     {report['bound']:.4g}   (bound of the training error, by the theorem of boosting)")
    else:
        lines.append(f"error       {report['out_of_bag_error']:.4f}   (out-of-bag estimate of the error of this model)")
        sure = options.confidence or 0.95
        lines.append(
            f"at most     {report['model_error_bound']:.4f}   (error of this model, the vote, on new data, with"
            f" confidence {sure:g}, if i.i.d.)"
        )
    lines.append(f"seconds     {report['seconds']:.3f}   ({report['examples_per_second']:,.0f} examples/s)")
    return "\n".join([*lines, *([f"saved       {Path(options.save)}"] if options.save else [])])
