"""The certificate: what was run, on which data, what happened, and what the theorems allow.

It is made from four things: the data, the learner and its settings, the number of passes, and witnesses. All else
follows from these by replaying and measuring, and `verify` does just that again. Nothing here knows a learner by name:
learners declare their theorems, and a theorem is asked with what was measured of each witness.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates import batch_models, target_concepts
from novikoff.certificates.witness_selection import Found, chosen, own_direction
from novikoff.certificates.serialization import described, unpacked
from novikoff.certificates.bound_evaluation import judged
from novikoff.certificates.measure import Batches
from novikoff.certificates.sampling import Gatherer
from novikoff.certificates.data_source import Arrays, Source
from novikoff.certificates.spaces.base import Space, space_of
from novikoff.certificates.shuffle_buffer import Spool
from novikoff.certificates.streaming_search import Searched, searched
from novikoff.certificates.witness_search import Sample
from novikoff.errors import InputError
from novikoff.base.online_classifier import Learner
from novikoff.theory.samples.guarantee import IID
from novikoff.scheme_registry import model_class
from novikoff.meta.batch_estimator import Solved

LEAST_BUDGET = 32_000_000  # terms that the search for witnesses looks at: a fraction of a second
SAMPLE_ONLY = 0.1  # a budget below that is for a sample of a long stream, and no temporary file is made


class Certificate:
    """A document and its readings. Two certificates are equal where their documents are."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    @property
    def bounds(self) -> list[dict[str, Any]]:
        bounds: list[dict[str, Any]] = self.document["bounds"]
        return bounds

    @property
    def headline(self) -> dict[str, Any] | None:
        """The tightest bound among those for every order of the examples, or for this one where there are no others."""
        shown = [b for b in self.bounds if "allowed" in b]
        every = [b for b in shown if b["any_order"]]
        return min(every or shown, key=lambda b: float(b["allowed"]), default=None)

    def witness(self, name: str) -> NDArray[np.float32]:
        """A witness of this document, the bias's weight first."""
        return unpacked(name, self.document["witnesses"][name]).witness

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
                lines.append(f"  {b['name']}: not applicable, {b['why']}")
            else:
                lines.append(
                    f"  {b['name']}: at most {b['allowed']:,.1f} {b['counts']} ({b['verdict']}, {b['statement']})"
                )
        new = self.document["new_data"]
        if new is not None and "model_error_bound" in new:
            lines.append(
                f"  error of the saved model (the vote) on new data: at most {new['model_error_bound']:.4f} with"
                f" confidence {new['confidence']:g}, if {new['assumes']}"
            )
        elif new is not None:
            lines.append(
                f"  mean error on new data of the hypotheses used while learning (not of the saved model): at most"
                f" {new['mean_error_bound']:.4f} with confidence {new['confidence']:g}, if {IID}"
            )
        if "hypothesis" in self.document:
            lines.append(f"  the saved model: {self.document['hypothesis']['sentence']}")
        return "\n".join(lines)


def make(
    model: Any, source: Source, *, passes: int, confidence: float = 0.95, budget: float = 1.0
) -> tuple[Certificate, Any]:
    """The certificate of a fresh learner on a stream, and the learner after it."""
    if isinstance(model, Solved):
        return Certificate(batch_models.document(model, source, confidence)), model
    space = space_of(model)
    if space is not None:
        return _made_in(space, model, source, passes, confidence, budget), model
    with Spool() as spool:
        gatherer = Gatherer(spool if budget >= SAMPLE_ONLY else None)
        first = source.learn(model, passes, gatherer.add)
        sample = gatherer.sample()
        if sample is None:
            raise no_examples()
        found = _witnesses(model, _search(model, sample, spool, effort(sample, budget)))
        target = _target(model, sample, passes)
        # What lies in the file is there to be measured at once: a text would have to be parsed again.
        stream = spool.in_order if spool.rows == sample.total else _stream(model, source)
        return Certificate(described(model, source, stream, found, target, first, passes, confidence)), model


def _made_in(
    space: Space, model: Learner, source: Source, passes: int, confidence: float, budget: float
) -> Certificate:
    """The same for a learner of many outcomes."""
    gatherer = space.gatherer()
    first = source.learn(model, passes, gatherer.add)
    sample = gatherer.sample()
    if sample is None:
        raise no_examples()
    found = space.witnesses(sample, effort(sample, budget))
    return Certificate(described(model, source, _stream(model, source), found, {}, first, passes, confidence))


def _stream(model: Learner, source: Source) -> Batches:
    """The stream once more, as theorems are asked about it."""
    state = model._fitted()
    if model.outcomes == "sides":
        return lambda: source.batches(state.labels, state.features)
    return lambda: source.told(model)


def no_examples() -> InputError:
    return InputError("There are no examples to certify anything about.")


def _target(model: Learner, sample: Sample | None, passes: int) -> Mapping[str, float]:
    """What is shown of a target, where a theorem asks for one."""
    if sample is None or not any(bound.by_target for bound in model.bounds()):
        return {}
    return target_concepts.known(model, sample, model._fitted().features, passes)


def effort(sample: Sample, budget: float) -> int:
    """How many terms the search for witnesses may look at."""
    terms = int(sample.share() * len(sample.rows.values))
    return int(budget * max(LEAST_BUDGET, 2 * terms))


def _search(model: Learner, sample: Sample, spool: Spool, budget: int) -> Searched:
    if not any(bound.by_witness for bound in model.bounds()):
        return Searched({}, sample)
    return searched(sample, spool, model._fitted().features, bias=bool(model.bias), budget=budget)


def _witnesses(model: Learner, search: Searched) -> list[Found]:
    bounds, bias = [bound for bound in model.bounds() if bound.by_witness], bool(model.bias)
    own = own_direction(model, bias) if bounds else None
    directions = search.directions if own is None else {**search.directions, "own": own}
    return chosen(bounds, directions, search.judge, bias=bias, target={})


def bounds_of(
    model: Learner,
    sample: Sample,
    search: Searched,
    stream: Batches,
    passes: int,
) -> list[dict[str, Any]]:
    """What the theorems say of a model after its run, with the best of the directions found and its own."""
    return judged(model, _witnesses(model, search), _target(model, sample, passes), stream, passes)


def certify(
    model: Learner | Solved, X: Any, y: Any, *, qid: Any = None, confidence: float = 0.95, budget: float = 1.0
) -> Certificate:
    """The certificate of a fitted model for the data that it was fitted to: fit is replayed and must give this model.
    `qid` names the query of each row, for rankings.

    >>> from novikoff import Perceptron, certify, verify
    >>> X, y = [[0, 1], [1, 0], [2, 1], [0, 3]], ["up", "right", "right", "up"]
    >>> certificate = certify(Perceptron(passes=3).fit(X, y), X, y)
    >>> certificate.headline["allowed"] >= certificate.document["observed"]["mistakes"]
    True
    >>> verify(certificate, X, y)
    []
    """
    from novikoff.model_file import to_bytes

    model = as_ordered(model.working_model())
    fresh = type(model).from_settings(model.plain_settings())
    passes = 1 if isinstance(model, Solved) else int(model.passes)
    certificate, replayed = make(fresh, Arrays(X, y, qid), passes=passes, confidence=confidence, budget=budget)
    if to_bytes(replayed) != to_bytes(model):
        raise InputError(
            "This model is not what fit, or one call of partial_fit, gives for this data: certify with all that was"
            " learned, in the same order."
        )
    return certificate


def as_ordered(model: Any) -> Any:
    """Return the model with the settings `shuffle` and `random_state` that its run had.

    `partial_fit` and `learn_one` keep the order of the rows, whatever the settings say, and settings may be changed
    after `fit`. The model's record of the permutation says what was done.
    """
    if isinstance(model, Solved) or model._state is None:
        return model
    record = model._state.shuffle
    done = {"shuffle": False} if record is None else {"shuffle": True, "random_state": record["seed"]}
    if all(getattr(model.inner, name) == value for name, value in done.items()):
        return model
    twin = copy.deepcopy(model)
    twin.inner.set_params(**done)
    return twin


def again(document: dict[str, Any], source: Source) -> Certificate:
    """The certificate that this data, and what the document says of learner and witnesses, really give."""
    model = _named(document)
    if isinstance(model, Solved):
        return Certificate(batch_models.document(model, source, confidence_of(document)))
    found = [unpacked(name, packed) for name, packed in document["witnesses"].items()]
    confidence = confidence_of(document)
    space = space_of(model)
    if space is not None:
        first = source.learn(model, document["passes"])
        fits_in(found, space.slots(), "feature and the bias in each column of weights")
        stream = _stream(model, source)
        return Certificate(described(model, source, stream, found, {}, first, document["passes"], confidence))
    gatherer = Gatherer()
    first = source.learn(model, document["passes"], gatherer.add)
    slots = model._fitted().features + 1
    fits_in(found, slots, "feature and the bias")
    target = _target(model, gatherer.sample(), document["passes"])
    stream = _stream(model, source)
    return Certificate(described(model, source, stream, found, target, first, document["passes"], confidence))


def confidence_of(document: dict[str, Any]) -> float:
    return float(document["new_data"]["confidence"]) if document["new_data"] else 0.95


def _named(document: dict[str, Any]) -> Any:
    """A fresh learner as the document says."""
    try:
        model = model_class(document["learner"]).from_settings(document["settings"])
    except (AttributeError, ImportError, KeyError, TypeError, ValueError) as problem:
        raise InputError(f"there is no learner with these settings ({problem})") from None
    return model


def fits_in(found: list[Found], slots: int, what: str) -> None:
    if any(len(f.witness) != slots for f in found):
        raise InputError(f"a witness must have {slots} numbers, one for each {what}")
