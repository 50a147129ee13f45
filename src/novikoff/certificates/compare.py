"""Comparison of several learners on one stream, each with its bound.

The stream is parsed once for all learners. A sample stays in memory for the witness search, and a second pass over
the stream measures the witnesses.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from novikoff.base import internals
from novikoff.certificates import certificate
from novikoff.certificates.bound_evaluation import evaluate_bounds
from novikoff.certificates.data_source import FileSource
from novikoff.certificates.measure import SignedBatch
from novikoff.certificates.sampling import sample_stream
from novikoff.certificates.search.streaming_search import SearchResult, search_stream
from novikoff.certificates.search.witness_selection import SampleEvidence
from novikoff.certificates.shuffle_buffer import ShuffleBuffer
from novikoff.certificates.spaces.base import find_space
from novikoff.data.formats.base import ReadOptions
from novikoff.data.labels.binary_labels import BinaryLabels
from novikoff.data.labels.label_order import LabelOrder
from novikoff.data.reader import DataReader
from novikoff.data.shuffle.external import Shuffler
from novikoff.errors import InputError, NovikoffError, TooManyLabelsError
from novikoff.learner_registry import learner_class, names
from novikoff.memory_limit import share_limits
from novikoff.model_factory import UNKNOWN_TASK, ModelSettings, build_model
from novikoff.theory import mistake_bounds

DEFAULT_LEARNER = "perceptron"
REDUCTIONS = ("one-vs-all", "all-vs-all", "output-code")


class ComparedLearner(NamedTuple):
    """The result of one learner of a comparison."""

    name: str
    model: Any
    seconds: float
    bound: dict[str, Any] | None
    """The tightest bound that holds for every order of the examples."""

    def as_dict(self) -> dict[str, Any]:
        ledger = self.model.ledger_
        return {
            "learner": self.name,
            "settings": {k: v for k, v in internals.plain_settings_of(self.model).items() if k != "passes"},
            "mistakes": ledger.mistakes,
            "updates": ledger.updates,
            "progressive_error": ledger.progressive_error,
            "seconds": self.seconds,
            "bound": None if self.bound is None else self.bound["bound"],
            "theorem": None if self.bound is None else self.bound["name"],
            "slack": None if self.bound is None else self.bound["slack"],
            "verdict": None if self.bound is None else self.bound["verdict"],
        }


class Comparison(NamedTuple):
    entries: list[ComparedLearner]
    """Learners by increasing number of mistakes."""
    skipped: dict[str, str]
    """Learners that can't learn this stream, with the reason."""
    additive: float | None
    """M_p (`mistake_bounds.additive`) of the best direction found; None where none separates."""
    multiplicative: float | None
    """M_w (`mistake_bounds.multiplicative`), likewise."""
    many: bool = False
    """Whether there are more than two classes, for which the theorems give no advice."""
    label_order: LabelOrder | None = None
    """Counts of label changes in the order in which the examples were learned."""

    @property
    def advice(self) -> str:
        best = f"{self.entries[0].name} made the fewest mistakes on this stream"
        if self.many:
            return f"{best}."
        if self.additive is None or self.multiplicative is None:
            return f"{best}. No separator was found, so the theorems give no advice on the kind of updates."
        kinds = ("additive", "multiplicative")
        better = kinds[self.multiplicative < self.additive]
        return (
            f"{best}. The theorems favour {better} updates: {self.additive:,.0f} mistakes allowed for additive ones,"
            f" {self.multiplicative:,.0f} for multiplicative ones."
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "learners": [entry.as_dict() for entry in self.entries],
            "skipped": self.skipped,
            "additive": self.additive,
            "multiplicative": self.multiplicative,
            "advice": self.advice,
        }


def compare(
    titles: list[str],
    options: ReadOptions,
    *,
    positive: str | None = None,
    passes: int = 1,
    only: Sequence[str] = (),
    random_state: int | None = None,
) -> Comparison:
    """Compare the learners that `list_default_learners` lists, or only these; where there are more than two labels,
    in schemes for that. With `random_state` the examples are learned in random order, the same for all learners.

    All models are in memory together, so each has an equal share of the memory limit."""
    chosen = list(only) or list_default_learners()

    def run(models: dict[str, Any], positive: str | None) -> Comparison:
        with share_limits(len(models)):
            return _run_comparison(titles, options, models, positive, passes, random_state)

    try:
        found = run({name: _build_learner(name) for name in chosen}, positive)
    except TooManyLabelsError:
        if positive is not None:
            raise
        found = run(wrap_multiclass(chosen), None)
    return found if only else found._replace(skipped={**found.skipped, **explain_excluded_learners()})


def list_default_learners() -> list[str]:
    """Return the learners that are compared where none are named: all with one weight vector, in one pass each."""
    return [name for name in names() if not internals.is_multiclass(learner_class(name))]


def explain_excluded_learners() -> dict[str, str]:
    """Return the learners that are compared only on request, with the reason."""
    slow = "slow on long streams, so it is tried only where it is named with --learners"
    return {name: slow for name in names() if internals.is_multiclass(learner_class(name))}


def _run_comparison(
    titles: list[str],
    options: ReadOptions,
    models: dict[str, Any],
    positive: str | None,
    passes: int,
    random_state: int | None,
) -> Comparison:
    reading = DataReader(titles, options)
    if random_state is not None:
        reading.shuffler = Shuffler(random_state, queries=True)
    skipped = _find_incompatible(models)
    runs = {
        name: internals.build_file_trainer(model, reading, positive=positive)
        for name, model in models.items()
        if name not in skipped
    }
    seconds = dict.fromkeys(runs, 0.0)
    for _ in range(passes):
        for batch in reading.batches():
            for name in list(runs):
                began = time.perf_counter()
                try:
                    runs[name].learn(runs[name].encode(batch))
                except TooManyLabelsError:
                    raise
                except NovikoffError as problem:
                    skipped[name] = str(problem)
                    del runs[name]
                    continue
                seconds[name] += time.perf_counter() - began
        for run in runs.values():
            run.end_pass()
    if not runs:
        raise InputError(f"No learner can learn this stream: {next(iter(skipped.values()))}")
    models = {name: run.model for name, run in runs.items()}
    # Files keep their order where bounds are measured: those that are shown hold for every order.
    if all(
        internals.outcome_type_of(model) != "sides" or not internals.needs_two_classes(model)
        for model in models.values()
    ):
        found = _evaluate_multiclass(models, seconds, skipped, FileSource(titles, options), passes)
    else:
        found = _evaluate_binary(models, seconds, skipped, titles, options, passes)
    return found._replace(label_order=internals.require_state(next(iter(models.values()))).label_order)


def _build_learner(name: str, scheme: str = "binary") -> Any:
    return build_model(ModelSettings(name, multiclass=scheme), UNKNOWN_TASK)


def _find_incompatible(models: dict[str, Any]) -> dict[str, str]:
    """Return the schemes that don't support their inner learner, with the reason."""
    found = {}
    for name, model in models.items():
        if internals.outcome_type_of(model) != "sides":
            try:
                internals.check_settings(model)
            except InputError as problem:
                found[name] = str(problem)
    return found


def wrap_multiclass(chosen: Sequence[str]) -> dict[str, Any]:
    """Return models for more than two classes: Kesler's construction of each learner, other schemes of the first."""
    first = DEFAULT_LEARNER if DEFAULT_LEARNER in chosen else chosen[0]
    alone = {name: _build_learner(name) for name in chosen if internals.is_multiclass(learner_class(name))}
    pairs = [("kesler", name) for name in chosen if name not in alone] + [(scheme, first) for scheme in REDUCTIONS]
    return {f"{scheme}({name})": _build_learner(name, scheme) for scheme, name in pairs} | alone


def _evaluate_multiclass(
    models: dict[str, Any], seconds: dict[str, float], skipped: dict[str, str], source: FileSource, passes: int
) -> Comparison:
    entries = []
    sampler: Any = None
    for name, model in models.items():
        space = find_space(model)
        if space is None:  # no theorem is declared
            bounds = []
        elif internals.is_multiclass(model):
            bounds = _evaluate_in_own_space(model, source, passes)
        else:
            if sampler is None:  # class numbers are the same for all models
                sampler = space.make_sampler()
                for rows, codes in source.iter_encoded(model):
                    sampler.add(rows, codes)
            bounds = _evaluate_with_sampler(sampler, space, model, source, passes)
        entries.append(ComparedLearner(name, model, seconds[name], _select_tightest(bounds)))
    entries.sort(key=lambda entry: (entry.model.ledger_.mistakes, entry.name))
    return Comparison(entries, skipped, None, None, many=True)


def _evaluate_with_sampler(
    sampler: Any, space: Any, model: Any, source: FileSource, passes: int
) -> list[dict[str, Any]]:
    """Evaluate the bounds of a model with witnesses from this sample."""
    sample = sampler.sample()
    if sample is None:
        raise InputError("There are no examples to compare learners on.")
    found = space.witnesses(sample, certificate.compute_search_budget(sample, 1.0) // 2)
    return evaluate_bounds(model, found, {}, partial(source.iter_encoded, model), passes)


def _evaluate_in_own_space(model: Any, source: FileSource, passes: int) -> list[dict[str, Any]]:
    """Evaluate the bounds of a model whose space is its own."""
    space: Any = find_space(model)
    sampler = space.make_sampler()
    for rows, codes in source.iter_encoded(model):
        sampler.add(rows, codes)
    return _evaluate_with_sampler(sampler, space, model, source, passes)


def _select_tightest(bounds: list[dict[str, Any]]) -> dict[str, Any] | None:
    shown = [b for b in bounds if "bound" in b and b["any_order"]]
    return min(shown, key=lambda b: float(b["bound"]), default=None)


def _evaluate_binary(
    models: dict[str, Any], seconds: dict[str, float], skipped: dict[str, str], titles: list[str], options:
    ReadOptions, passes: int,
) -> Comparison:  # fmt: skip
    labels = _find_binary_labels(models)
    features = max(internals.require_state(model).features for model in models.values())

    def stream() -> Iterator[SignedBatch]:
        return FileSource(titles, options).batches(labels, features)

    with ShuffleBuffer() as shuffle_buffer:
        sample = sample_stream(stream(), shuffle_buffer)
        if sample is None:
            raise InputError("There are no examples to compare learners on.")
        effort = certificate.compute_search_budget(sample, 1.0)
        sides = {
            bias: search_stream(sample, shuffle_buffer, features, bias=bias, budget=effort // 2)
            for bias in (False, True)
        }
    entries = []
    for name, model in models.items():
        if internals.outcome_type_of(model) == "sides":
            bounds = certificate.evaluate_model_bounds(model, sample, sides[bool(model.fit_intercept)], stream, passes)
        else:
            bounds = _evaluate_in_own_space(model, FileSource(titles, options), passes)
        entries.append(ComparedLearner(name, model, seconds[name], _select_tightest(bounds)))
    entries.sort(key=lambda entry: (entry.model.ledger_.mistakes, entry.name))
    return Comparison(entries, skipped, *_compare_update_families(sides[True], features))


def _find_binary_labels(models: dict[str, Any]) -> BinaryLabels:
    known: list[Any] = [internals.require_state(model).labels for model in models.values()]
    found = next((labels for labels in known if isinstance(labels, BinaryLabels)), None)
    if found is None and len(known[0]) > 2:
        raise InputError("These learners take any number of classes: compare them one by one with learn.")
    return BinaryLabels.sorted(known[0].known()) if found is None else found


def _compare_update_families(search: SearchResult, features: int) -> tuple[float | None, float | None]:
    """Return (M_p, M_w), each for its best direction."""
    additive, multiplicative = [], []
    for direction in search.directions.values():
        e = SampleEvidence(search.judge, direction, bias=True, target={}).evidence(1.0)
        if e.margin > 0.0:
            additive.append(mistake_bounds.additive(norm2=e.norm, radius2=e.radius, margin=e.margin))
            multiplicative.append(
                mistake_bounds.multiplicative(
                    features=features + 1, norm1=e.norm_q(1.0), radius_inf=e.radius_p(np.inf), margin=e.margin
                )
            )
    return min(additive, default=None), min(multiplicative, default=None)
