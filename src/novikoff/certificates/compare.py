"""Several learners on the same stream in one go, each with its bound: which kind of learner suits the data?

The stream is parsed once for all learners, kept in memory as far as it is needed for the search of witnesses, and gone
through once more to measure them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from novikoff.certificates import certificate
from novikoff.certificates.witness_selection import Guess
from novikoff.certificates.bound_evaluation import judged
from novikoff.certificates.measure import Batch
from novikoff.certificates.sampling import gathered
from novikoff.certificates.data_source import Files
from novikoff.certificates.spaces.base import space_of
from novikoff.certificates.shuffle_buffer import Spool
from novikoff.certificates.streaming_search import Searched, searched
from novikoff.errors import InputError, NovikoffError, TooManyLabels
from novikoff.learner_registry import learner_class, names, variant_settings
from novikoff.memory_limit import limit_memory, model_limit
from novikoff.data.shuffle.external import Shuffler
from novikoff.data.labels.label_order import LabelOrder
from novikoff.data.labels.binary_labels import Labels
from novikoff.data.options import Options
from novikoff.data.reader import Reading
from novikoff.theory import mistake_bounds
from novikoff.scheme_registry import scheme_class

DEFAULT = "perceptron"
REDUCTIONS = ("one-vs-all", "all-vs-all", "output-code")


class Entry(NamedTuple):
    """One learner."""

    name: str
    model: Any
    seconds: float
    bound: dict[str, Any] | None
    """The tightest that holds for every order of the examples."""

    def as_dict(self) -> dict[str, Any]:
        ledger = self.model.ledger_
        return {
            "learner": self.name,
            "settings": {k: v for k, v in self.model.plain_settings().items() if k != "passes"},
            "mistakes": ledger.mistakes,
            "updates": ledger.updates,
            "progressive_error": ledger.progressive_error,
            "seconds": self.seconds,
            "bound": None if self.bound is None else self.bound["allowed"],
            "theorem": None if self.bound is None else self.bound["name"],
            "slack": None if self.bound is None else self.bound["slack"],
            "verdict": None if self.bound is None else self.bound["verdict"],
        }


class Comparison(NamedTuple):
    entries: list[Entry]
    """The fewest mistakes first."""
    left_out: dict[str, str]
    """Learners that don't take this stream, and why."""
    additive: float | None
    """M_p of THEORY §5.7 for the best direction found; None where none separates."""
    multiplicative: float | None
    """M_w, likewise."""
    many: bool = False
    """Whether there are more than two classes, for which the theorems give no such advice."""
    label_order: LabelOrder | None = None
    """How often the label changes in the order in which the examples were learned."""

    @property
    def advice(self) -> str:
        best = f"{self.entries[0].name} made the fewest mistakes on this stream"
        if self.many:
            return f"{best}."
        if self.additive is None or self.multiplicative is None:
            return f"{best}. Nothing that separates it was found, so the theorems don't say which kind suits it better."
        kinds = ("additive", "multiplicative")
        better = kinds[self.multiplicative < self.additive]
        return (
            f"{best}. The theorems favour {better} updates: {self.additive:,.0f} mistakes allowed for additive ones,"
            f" {self.multiplicative:,.0f} for multiplicative ones."
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "learners": [entry.as_dict() for entry in self.entries],
            "left_out": self.left_out,
            "additive": self.additive,
            "multiplicative": self.multiplicative,
            "advice": self.advice,
        }


def compare(
    titles: list[str],
    options: Options,
    *,
    positive: str | None = None,
    passes: int = 1,
    only: Sequence[str] = (),
    random_state: int | None = None,
) -> Comparison:
    """Compare the learners that `tried` lists, or only these; where there are more than two labels, in schemes for
    that. With `random_state` the examples are learned in random order, the same for all learners.

    All models are in memory together, so each has an equal share of the memory limit."""
    chosen = list(only) or tried()

    def run(models: dict[str, Any], positive: str | None) -> Comparison:
        with limit_memory(model_limit() // len(models)):
            return _compared(titles, options, models, positive, passes, random_state)

    try:
        found = run({name: _fresh(name) for name in chosen}, positive)
    except TooManyLabels:
        if positive is not None:
            raise
        found = run(stacked(chosen), None)
    return found if only else found._replace(left_out={**found.left_out, **not_tried()})


def tried() -> list[str]:
    """Return the learners that are compared where none are named: all with one weight vector, in one pass each."""
    return [name for name in names() if not learner_class(name).takes_classes]


def not_tried() -> dict[str, str]:
    """Return the learners that are compared only where they are named, and why."""
    slow = "slow on long streams, so it is tried only where it is named with --learners"
    return {name: slow for name in names() if learner_class(name).takes_classes}


def _compared(
    titles: list[str],
    options: Options,
    models: dict[str, Any],
    positive: str | None,
    passes: int,
    random_state: int | None,
) -> Comparison:
    reading = Reading(titles, options)
    if random_state is not None:
        reading.shuffler = Shuffler(random_state, queries=True)
    left_out = _that_do_not_fit(models)
    runs = {name: model.following(reading, positive=positive) for name, model in models.items() if name not in left_out}
    seconds = dict.fromkeys(runs, 0.0)
    for _ in range(passes):
        for batch in reading.batches():
            for name in list(runs):
                began = time.perf_counter()
                try:
                    runs[name].take(batch)
                except TooManyLabels:
                    raise
                except NovikoffError as problem:
                    left_out[name] = str(problem)
                    del runs[name]
                    continue
                seconds[name] += time.perf_counter() - began
        for run in runs.values():
            run.end()
    if not runs:
        raise InputError(f"No learner takes this stream: {next(iter(left_out.values()))}")
    models = {name: run.model for name, run in runs.items()}
    # Files keep their order where bounds are measured: those that are shown hold for every order.
    if all(model.outcomes != "sides" or not model.two_classes for model in models.values()):
        found = _judged_as_many(models, seconds, left_out, Files(titles, options), passes)
    else:
        found = _judged(models, seconds, left_out, titles, options, passes)
    return found._replace(label_order=next(iter(models.values()))._fitted().label_order)


def _fresh(name: str) -> Any:
    return learner_class(name)(**variant_settings(name))


def _that_do_not_fit(models: dict[str, Any]) -> dict[str, str]:
    """Schemes that don't take the learner inside them, and why."""
    found = {}
    for name, model in models.items():
        if model.outcomes != "sides":
            try:
                model._check_all()
            except InputError as problem:
                found[name] = str(problem)
    return found


def stacked(chosen: Sequence[str]) -> dict[str, Any]:
    """These learners in schemes for more than two classes: each in Kesler's construction, the first in all others."""
    first = DEFAULT if DEFAULT in chosen else chosen[0]
    alone = {name: _fresh(name) for name in chosen if learner_class(name).takes_classes}
    pairs = [("kesler", name) for name in chosen if name not in alone] + [(scheme, first) for scheme in REDUCTIONS]
    return {f"{scheme}({name})": scheme_class(scheme)(_fresh(name)) for scheme, name in pairs} | alone


def _judged_as_many(
    models: dict[str, Any], seconds: dict[str, float], left_out: dict[str, str], source: Files, passes: int
) -> Comparison:
    entries = []
    gatherer: Any = None
    for name, model in models.items():
        space = space_of(model)
        if space is None:  # no theorem is declared
            bounds = []
        elif model.takes_classes:
            bounds = _judged_by_itself(model, source, passes)
        else:
            if gatherer is None:  # classes have the same numbers for all
                gatherer = space.gatherer()
                for rows, codes in source.told(model):
                    gatherer.add(rows, codes)
            bounds = _judged_by(gatherer, space, model, source, passes)
        entries.append(Entry(name, model, seconds[name], _tightest(bounds)))
    entries.sort(key=lambda entry: (entry.model.ledger_.mistakes, entry.name))
    return Comparison(entries, left_out, None, None, many=True)


def _judged_by(gatherer: Any, space: Any, model: Any, source: Files, passes: int) -> list[dict[str, Any]]:
    """What the theorems say, with witnesses from this sample."""
    sample = gatherer.sample()
    if sample is None:
        raise InputError("There are no examples to compare learners on.")
    found = space.witnesses(sample, certificate.effort(sample, 1.0) // 2)
    return judged(model, found, {}, partial(source.told, model), passes)


def _judged_by_itself(model: Any, source: Files, passes: int) -> list[dict[str, Any]]:
    """The same for a learner whose space is its own."""
    space: Any = space_of(model)
    gatherer = space.gatherer()
    for rows, codes in source.told(model):
        gatherer.add(rows, codes)
    return _judged_by(gatherer, space, model, source, passes)


def _tightest(bounds: list[dict[str, Any]]) -> dict[str, Any] | None:
    shown = [b for b in bounds if "allowed" in b and b["any_order"]]
    return min(shown, key=lambda b: float(b["allowed"]), default=None)


def _judged(
    models: dict[str, Any], seconds: dict[str, float], left_out: dict[str, str], titles: list[str], options: Options,
    passes: int,
) -> Comparison:  # fmt: skip
    labels = _two_labels(models)
    features = max(model._fitted().features for model in models.values())

    def stream() -> Iterator[Batch]:
        return Files(titles, options).batches(labels, features)

    with Spool() as spool:
        sample = gathered(stream(), spool)
        if sample is None:
            raise InputError("There are no examples to compare learners on.")
        effort = certificate.effort(sample, 1.0)
        sides = {bias: searched(sample, spool, features, bias=bias, budget=effort // 2) for bias in (False, True)}
    entries = []
    for name, model in models.items():
        if model.outcomes == "sides":
            bounds = certificate.bounds_of(model, sample, sides[bool(model.bias)], stream, passes)
        else:
            bounds = _judged_by_itself(model, Files(titles, options), passes)
        entries.append(Entry(name, model, seconds[name], _tightest(bounds)))
    entries.sort(key=lambda entry: (entry.model.ledger_.mistakes, entry.name))
    return Comparison(entries, left_out, *_kinds(sides[True], features))


def _two_labels(models: dict[str, Any]) -> Labels:
    known: list[Any] = [model._fitted().labels for model in models.values()]
    found = next((labels for labels in known if isinstance(labels, Labels)), None)
    if found is None and len(known[0]) > 2:
        raise InputError("These learners take any number of classes: compare them one by one with learn.")
    return Labels.sorted(known[0].known()) if found is None else found


def _kinds(search: Searched, features: int) -> tuple[float | None, float | None]:
    """(M_p, M_w) for the directions that suit each best."""
    additive, multiplicative = [], []
    for direction in search.directions.values():
        e = Guess(search.judge, direction, bias=True, target={}).evidence(1.0)
        if e.margin > 0.0:
            additive.append(mistake_bounds.additive(norm2=e.norm, radius2=e.radius, margin=e.margin))
            multiplicative.append(
                mistake_bounds.multiplicative(
                    features=features + 1, norm1=e.norm_q(1.0), radius_inf=e.radius_p(np.inf), margin=e.margin
                )
            )
    return min(additive, default=None), min(multiplicative, default=None)
