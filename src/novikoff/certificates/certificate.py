"""Certificates of runs: the learner, the data, the observed counts, and the bounds that the theorems give.

A certificate follows from four things: the data, the learner with its settings, the number of passes, and the
witnesses. Everything else is computed by replaying the run and measuring the witnesses, and `verify` repeats that.
This module knows no learner by name: each learner declares its theorems, which are evaluated on the measured
witnesses.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.base import internals
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.certificates import batch_models
from novikoff.certificates.bound_evaluation import evaluate_bounds
from novikoff.certificates.data_source import ArraySource, DataSource
from novikoff.certificates.measure import BatchStream
from novikoff.certificates.sampling import StreamSampler
from novikoff.certificates.search import target_concepts
from novikoff.certificates.search.streaming_search import SearchResult, search_stream
from novikoff.certificates.search.witness_search import BinarySample
from novikoff.certificates.search.witness_selection import NamedWitness, extract_direction, select_witnesses
from novikoff.certificates.serialization import decode_witness, to_document
from novikoff.certificates.shuffle_buffer import ShuffleBuffer
from novikoff.certificates.spaces.base import Space, find_space
from novikoff.errors import InputError
from novikoff.meta.batch_estimator import BatchEstimator
from novikoff.scheme_registry import model_class
from novikoff.theory.samples.guarantee import IID_ASSUMPTION

MIN_BUDGET_TERMS = 32_000_000  # least budget of the witness search: a fraction of a second
SAMPLE_ONLY_EFFORT = 0.1  # below it, only a sample is searched, without a temporary file


class Certificate:
    """A certificate, with its document of plain values. Equal documents make equal certificates."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    @property
    def bounds(self) -> list[dict[str, Any]]:
        bounds: list[dict[str, Any]] = self.document["bounds"]
        return bounds

    @property
    def headline(self) -> dict[str, Any] | None:
        """The tightest bound that holds for every order; if there is none, the tightest for this order."""
        shown = [b for b in self.bounds if "bound" in b]
        every = [b for b in shown if b["any_order"]]
        return min(every or shown, key=lambda b: float(b["bound"]), default=None)

    def witness(self, name: str) -> NDArray[np.float32]:
        """Return a witness of the document; its first number is the weight of the bias."""
        return decode_witness(name, self.document["witnesses"][name]).witness

    def as_json(self) -> str:
        return json.dumps(self.document, ensure_ascii=False, indent=1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Certificate) and self.document == other.document

    def __hash__(self) -> int:
        return hash(self.as_json())

    def __str__(self) -> str:
        seen, lines = self.document["observed"], []
        if "mistakes" in seen:
            run = f"{seen['mistakes']:,} mistakes and {seen['updates']:,} updates"
            if "mixed_mistakes" in seen:  # of a cluster
                run += f" ({seen['mixed_mistakes']:,.6g} and {seen['mixed_updates']:,.6g} as the mixtures count them)"
        elif "training_errors" in seen:
            run = f"{seen['training_errors']:,} training errors of the saved model"
        else:
            run = f"{seen['errors']:,} out-of-bag errors of the saved model"
        lines.append(f"{run} on {seen['examples']:,} examples")
        for b in self.bounds:
            if b["verdict"] == "not applicable":
                lines.append(f"  {b['name']}: not applicable, {b['reason']}")
            else:
                lines.append(
                    f"  {b['name']}: at most {b['bound']:,.1f} {b['counts']} ({b['verdict']}, {b['statement']})"
                )
        new = self.document["new_data"]
        if new is not None and "model_error_bound" in new:
            lines.append(
                f"  error of the saved model (the vote) on new data: at most {new['model_error_bound']:.4f} with"
                f" confidence {1.0 - new['delta']:g}, if {new['assumes']}"
            )
        elif new is not None:
            lines.append(
                f"  mean error on new data of the hypotheses used while learning (not of the saved model): at most"
                f" {new['mean_error_bound']:.4f} with confidence {1.0 - new['delta']:g}, if {IID_ASSUMPTION}"
            )
        if "hypothesis" in self.document:
            lines.append(f"  the saved model: {self.document['hypothesis']['sentence']}")
        return "\n".join(lines)


def build_certificate(
    model: Any, source: DataSource, *, passes: int, delta: float = 0.05, search_effort: float = 1.0
) -> tuple[Certificate, Any]:
    """Run a fresh learner on a source; return the certificate and the fitted learner."""
    if isinstance(model, BatchEstimator):
        return Certificate(batch_models.build_batch_document(model, source, delta)), model
    space = find_space(model)
    if space is not None:
        return _build_in_space(space, model, source, passes, delta, search_effort), model
    with ShuffleBuffer() as shuffle_buffer:
        sampler = StreamSampler(shuffle_buffer if search_effort >= SAMPLE_ONLY_EFFORT else None)
        first = source.learn(model, passes, sampler.add)
        sample = sampler.sample()
        if sample is None:
            raise build_no_examples_error()
        found = _select_witnesses(
            model, _search_directions(model, sample, shuffle_buffer, compute_search_budget(sample, search_effort))
        )
        target = _find_target(model, sample, passes)
        # Measure the temporary file if it has all examples: a text would have to be parsed again.
        stream = shuffle_buffer.iter_in_order if shuffle_buffer.rows == sample.total else _replay_stream(model, source)
        return Certificate(to_document(model, source, stream, found, target, first, passes, delta)), model


def _build_in_space(
    space: Space, model: OnlineClassifier, source: DataSource, passes: int, delta: float, search_effort: float
) -> Certificate:
    """Build the certificate of a learner whose theorems live in a space of their own (`spaces`)."""
    sampler = space.make_sampler()
    first = source.learn(model, passes, sampler.add)
    sample = sampler.sample()
    if sample is None:
        raise build_no_examples_error()
    found = space.witnesses(sample, compute_search_budget(sample, search_effort))
    return Certificate(to_document(model, source, _replay_stream(model, source), found, {}, first, passes, delta))


def _replay_stream(model: OnlineClassifier, source: DataSource) -> BatchStream:
    """Return the stream again, in the encoding that the bounds need."""
    state = internals.require_state(model)
    if internals.outcome_type_of(model) == "sides":
        return lambda: source.batches(state.labels, state.features)
    return lambda: source.iter_encoded(model)


def build_no_examples_error() -> InputError:
    return InputError("There are no examples to certify: give at least one row.")


def _find_target(model: OnlineClassifier, sample: BinarySample | None, passes: int) -> Mapping[str, float]:
    """Return the facts about a target, if a theorem of the model needs one."""
    if sample is None or not any(bound.by_target for bound in model.bounds()):
        return {}
    return target_concepts.find_targets(model, sample, internals.require_state(model).features, passes)


def compute_search_budget(sample: BinarySample, search_effort: float) -> int:
    """Return how many terms the search for witnesses may read."""
    terms = int(sample.share() * len(sample.rows.values))
    return int(search_effort * max(MIN_BUDGET_TERMS, 2 * terms))


def _search_directions(
    model: OnlineClassifier, sample: BinarySample, shuffle_buffer: ShuffleBuffer, budget: int
) -> SearchResult:
    if not any(bound.by_witness for bound in model.bounds()):
        return SearchResult({}, sample)
    return search_stream(
        sample, shuffle_buffer, internals.require_state(model).features, bias=bool(model.fit_intercept), budget=budget
    )


def _select_witnesses(model: OnlineClassifier, search: SearchResult) -> list[NamedWitness]:
    bounds, bias = [bound for bound in model.bounds() if bound.by_witness], bool(model.fit_intercept)
    own = extract_direction(model, bias) if bounds else None
    directions = search.directions if own is None else {**search.directions, "own": own}
    return select_witnesses(bounds, directions, search.judge, bias=bias, target={})


def evaluate_model_bounds(
    model: OnlineClassifier, sample: BinarySample, search: SearchResult, stream: BatchStream, passes: int
) -> list[dict[str, Any]]:
    """Evaluate the bounds of a model after its run, with the directions found and its own weights."""
    return evaluate_bounds(model, _select_witnesses(model, search), _find_target(model, sample, passes), stream, passes)


def certify(
    model: OnlineClassifier | BatchEstimator,
    X: Any,
    y: Any,
    *,
    qid: Any = None,
    delta: float = 0.05,
    search_effort: float = 1.0,
) -> Certificate:
    """Build the certificate of a fitted model for the data that it was fitted to.

    The fit is replayed on the data and must give exactly this model.

    Parameters
    ----------
    model : estimator
        A fitted online learner, multiclass scheme, batch model or `Auto`.
    X, y : examples and labels
        All data that the model has learned, in the same order.
    qid : array, optional
        The query of each row, for ranking models.
    delta : float
        Probability that a bound on new data may fail; its confidence is 1 − delta.
    search_effort : float
        Factor of the budget of the witness search. More effort gives tighter bounds.

    Returns
    -------
    certificate : Certificate
        `str()` gives a summary, `as_json()` the whole document; `verify` checks it.

    Raises
    ------
    InputError
        If fitting to this data does not give this model, or if there are no examples.

    Examples
    --------
    >>> from novikoff import Perceptron, certify, verify
    >>> X, y = [[0, 1], [1, 0], [2, 1], [0, 3]], ["up", "right", "right", "up"]
    >>> certificate = certify(Perceptron(passes=3).fit(X, y), X, y)
    >>> certificate.headline["bound"] >= certificate.document["observed"]["mistakes"]
    True
    >>> verify(certificate, X, y)
    []
    """
    from novikoff.model_file import to_bytes

    model = restore_run_order(internals.working_model_of(model))
    fresh = internals.build_unfitted(model)
    passes = 1 if isinstance(model, BatchEstimator) else int(model.passes)
    certificate, replayed = build_certificate(
        fresh, ArraySource(X, y, qid), passes=passes, delta=delta, search_effort=search_effort
    )
    if to_bytes(replayed) != to_bytes(model):
        raise InputError(
            "This model is not what fit, or one call of partial_fit, gives for this data: certify with all that was"
            " learned, in the same order."
        )
    return certificate


def restore_run_order(model: Any) -> Any:
    """Return the model with the settings `shuffle` and `random_state` that its run had.

    `partial_fit` and `learn_one` keep the order of the rows whatever the settings say, and settings may change after
    `fit`. The model records the permutation that was applied.
    """
    if isinstance(model, BatchEstimator) or internals.state_of(model) is None:
        return model
    record = internals.state_of(model).shuffle
    done = {"shuffle": False} if record is None else {"shuffle": True, "random_state": record["random_state"]}
    if all(getattr(internals.inner_learner_of(model), name) == value for name, value in done.items()):
        return model
    twin = copy.deepcopy(model)
    internals.inner_learner_of(twin).set_params(**done)
    return twin


def rebuild_certificate(document: dict[str, Any], source: DataSource) -> Certificate:
    """Rebuild a certificate from the data and from the learner and the witnesses in its document."""
    model = _model_from_document(document)
    if isinstance(model, BatchEstimator):
        return Certificate(batch_models.build_batch_document(model, source, read_delta(document)))
    found = [decode_witness(name, packed) for name, packed in document["witnesses"].items()]
    delta = read_delta(document)
    space = find_space(model)
    if space is not None:
        first = source.learn(model, document["passes"])
        check_witness_lengths(found, space.slots(), "feature and the bias in each column of weights")
        stream = _replay_stream(model, source)
        return Certificate(to_document(model, source, stream, found, {}, first, document["passes"], delta))
    sampler = StreamSampler()
    first = source.learn(model, document["passes"], sampler.add)
    slots = internals.require_state(model).features + 1
    check_witness_lengths(found, slots, "feature and the bias")
    target = _find_target(model, sampler.sample(), document["passes"])
    stream = _replay_stream(model, source)
    return Certificate(to_document(model, source, stream, found, target, first, document["passes"], delta))


def read_delta(document: dict[str, Any]) -> float:
    return float(document["new_data"]["delta"]) if document["new_data"] else 0.05


def _model_from_document(document: dict[str, Any]) -> Any:
    """Build the unfitted learner that the document describes."""
    try:
        model = internals.build_from_settings(model_class(document["learner"]), document["settings"])
    except (AttributeError, ImportError, KeyError, TypeError, ValueError) as problem:
        raise InputError(f"there is no learner with these settings ({problem})") from None
    return model


def check_witness_lengths(found: list[NamedWitness], slots: int, what: str) -> None:
    if any(len(f.witness) != slots for f in found):
        raise InputError(f"a witness must have {slots} numbers, one for each {what}")
