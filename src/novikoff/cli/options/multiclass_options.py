"""Which scheme a stream asks for: two labels, more of them, sets of labels, a tree of labels, or queries."""

from __future__ import annotations

import argparse
from typing import Any

from novikoff.base.internals import inner_learner_of, scheme_info_of, setting_defaults_of
from novikoff.cli.options.shuffle_options import run_settings
from novikoff.data.reader import Batch
from novikoff.errors import InputError, LabelError

SCHEME_ALIASES = {"ova": "one-vs-all", "ava": "all-vs-all", "ecoc": "output-code"}
BATCH_SCHEMES = ("adaboost", "bagging", "random-forest")
"""Schemes that need all examples in memory."""
SCHEME_CHOICES = (
    "binary",
    "kesler",
    "one-vs-all",
    "all-vs-all",
    "output-code",
    "multi-label",
    "hierarchical",
    "query-ranking",
    "online-bagging",
    "online-boosting",
    *BATCH_SCHEMES,
    *SCHEME_ALIASES,
)
SEPARATORS = ("/", ":")
MAX_EXAMINED_EXAMPLES = 4096  # examples of the first batch whose labels are looked at


def add_multiclass_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("more than two classes")
    group.add_argument(
        "--multiclass",
        metavar="SCHEME",
        choices=SCHEME_CHOICES,
        help=f"how binary learners become a multiclass model, or an ensemble: {', '.join(SCHEME_CHOICES)} (default: by"
        " the labels; kesler for more than two)",
    )
    group.add_argument(
        "--update",
        choices=("each", "top", "uniform", "proportional"),
        help="kesler, multi-label, hierarchical, query-ranking: which preferences are learned from",
    )
    group.add_argument("--decision", choices=("majority", "tournament"), help="all-vs-all: how pairs decide")
    group.add_argument("--code", choices=("dense", "sparse", "exhaustive"), help="output-code: how words are made")
    group.add_argument("--decoding", choices=("hamming", "loss"), help="output-code: what the nearest word is")
    group.add_argument("--code-length", metavar="BITS", type=int, help="output-code: bits of a word")
    group.add_argument("--separator", metavar="TEXT", help="hierarchical: what separates levels (default: found)")
    group = parser.add_argument_group("ensembles")
    group.add_argument("--n-estimators", metavar="N", type=int, help="how many members vote; adaboost: at most")
    group.add_argument("--max-depth", metavar="N", type=int, help="random-forest: the most questions to a leaf")
    group.add_argument("--n-jobs", metavar="N", type=int, help="bagging, random-forest: how many threads learn")


CLASS_SETTINGS = ("update", "decision", "code", "decoding", "code_length", "separator")
ENSEMBLE_SETTINGS = ("n_estimators", "max_depth", "n_jobs")
SCHEME_SETTINGS = (*CLASS_SETTINGS, *ENSEMBLE_SETTINGS)


def _flag(setting: str) -> str:
    return f"--{setting.replace('_', '-')}"


def get_named_scheme(options: argparse.Namespace) -> str | None:
    """The scheme that the user has named."""
    name: str | None = options.multiclass
    return None if name is None else SCHEME_ALIASES.get(name, name)


def wrap_multiclass(learner: Any, name: str, options: argparse.Namespace, found: dict[str, Any]) -> Any:
    """The learner in its scheme, with the settings that the user gave, or that were found."""
    if name == "binary":
        given = given_settings(options, setting_defaults_of(learner))
        if given:
            what = "more than two classes" if next(iter(given)) in CLASS_SETTINGS else "ensembles and networks"
            raise InputError(f"{_flag(next(iter(given)))} is for {what}: leave it out.")
        return learner
    from novikoff import scheme_registry

    scheme_type = scheme_registry.scheme_class(name)
    given = select_settings(options, name, scheme_type, setting_defaults_of(learner))
    return scheme_type(learner, **{**found, **given, **run_settings(scheme_type, options)})


def given_settings(options: argparse.Namespace, of_learner: Any) -> dict[str, Any]:
    """What the user has said of the scheme, except for what is meant for the learner alone."""
    given = {key: getattr(options, key) for key in SCHEME_SETTINGS if getattr(options, key) is not None}
    return {key: value for key, value in given.items() if key not in of_learner}


def select_settings(options: argparse.Namespace, name: str, scheme_type: Any, of_learner: Any = ()) -> dict[str, Any]:
    """The settings of a scheme that the user gave."""
    known = {
        key: value for key, value in given_settings(options, ()).items() if key in setting_defaults_of(scheme_type)
    }
    unknown = [key for key in given_settings(options, of_learner) if key not in known]
    if unknown:
        raise InputError(f"{_flag(unknown[0])} has no meaning for {name}: leave it out.")
    return known


def find_changed_settings(model: Any, options: argparse.Namespace) -> dict[str, Any]:
    """What the user has said of the scheme that is not so in a model to go on with."""
    wanted = given_settings(options, setting_defaults_of(inner_learner_of(model)))
    changed = {key: value for key, value in wanted.items() if value != getattr(model, key, None)}
    name = get_named_scheme(options)
    if name is not None and name != scheme_info_of(model).get("multiclass", "binary"):
        changed["multiclass"] = name
    return changed


def infer_scheme(batch: Batch, labels: list[Any] | None = None) -> tuple[str, dict[str, Any]]:
    """The scheme that the first examples ask for, and settings that go with it. `labels` are those of all examples,
    where they are known."""
    parsed = batch.parsed
    if parsed.sets is not None:
        return "multi-label", {}
    if parsed.groups is not None and parsed.groups.max() >= 0:
        return "query-ranking", {}
    labels = [label for label in (read_first_labels(batch) if labels is None else labels) if label is not None]
    if any(isinstance(label, list) for label in labels):
        return "multi-label", {}
    distinct = {str(label) for label in labels}
    if len(distinct) <= 2:
        return "binary", {}
    separator = _find_separator(labels)
    return ("kesler", {}) if separator is None else ("hierarchical", {"separator": separator})


def read_first_labels(batch: Batch) -> list[Any]:
    """Return the distinct labels of the first examples of a batch."""
    found: dict[int, Any] = {}
    for i, key in enumerate(batch.parsed.keys[:MAX_EXAMINED_EXAMPLES].tolist()):
        if key not in found:
            try:
                found[key] = batch.parsed.label(i)
            except LabelError:  # to be raised when the example is learned
                continue
    return list(found.values())


def _find_separator(labels: list[Any]) -> str | None:
    """What separates the levels of these labels: it is in all of them, and some have the same beginning."""
    if not all(isinstance(label, str) for label in labels):
        return None
    for separator in SEPARATORS:
        if all(separator in label.strip(separator) for label in labels):
            tops = {label.split(separator)[0] for label in labels}
            if len(tops) < len(labels):
                return separator
    return None
