"""Certificate documents: plain values that describe a run, its counts and its witnesses, for JSON files."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff import __version__
from novikoff.base import internals
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.certificates.bound_evaluation import evaluate_bound, measure_witnesses
from novikoff.certificates.data_source import DataSource
from novikoff.certificates.measure import BatchStream, WitnessMeasurement
from novikoff.certificates.search.witness_selection import NamedWitness
from novikoff.errors import InputError
from novikoff.learner_registry import name_of
from novikoff.theory import online_to_batch
from novikoff.theory.samples.guarantee import IID_ASSUMPTION, no_guarantee

CERTIFICATE_FORMAT = 3
MEAN_OF_HYPOTHESES = "mean of the hypotheses used while learning, in the first pass; not the saved model"
"""The subject of `compute_new_data_bounds` for models that learn one example at a time."""


def to_document(
    model: OnlineClassifier,
    source: DataSource,
    stream: BatchStream,
    found: list[NamedWitness],
    target: Mapping[str, float],
    first: int,
    passes: int,
    delta: float,
) -> dict[str, Any]:
    """Return the document of a run with its measured witnesses."""
    from novikoff.model_file import to_bytes

    state = internals.require_state(model)
    ledger = state.ledger
    measured, facts = measure_witnesses(model, found, target, stream, passes)
    document = {
        "certificate": CERTIFICATE_FORMAT,
        "novikoff": __version__,
        "data": source.describe(),
        "learner": name_of(type(model)),
        "settings": internals.plain_settings_of(model),
        "passes": passes,
        **({} if state.shuffle is None else {"shuffle": state.shuffle}),
        "labels": state.labels.listed(),
        "precision": state.kind.name,
        "model": hashlib.sha256(to_bytes(model)).hexdigest(),
        "observed": {**ledger.as_dict(), **internals.run_facts_of(model), "mistakes_of_first_pass": first},
        "bounds": [evaluate_bound(bound, facts, ledger) for bound in model.bounds()],
        "target": dict(target),
        "new_data": compute_new_data_bounds(
            first, ledger.examples // passes if internals.has_fixed_length(model) else 0, delta
        ),
        **_describe_guarantee(model, source, passes, delta),
        "witnesses": {
            f.name: {**encode_witness(f), "measured": measurement_to_dict(m)}
            for f, m in zip(found, measured, strict=True)
        },
    }
    plain: dict[str, Any] = json.loads(json.dumps(document))  # as a reader of the file gets it
    return plain


def _describe_guarantee(model: OnlineClassifier, source: DataSource, passes: int, delta: float) -> dict[str, Any]:
    """Return the guarantee for the final hypothesis; its consistency with the examples is measured."""
    promised = internals.describe_guarantee(model, model.ledger_.examples // passes, delta)
    if promised is None:
        return {}
    files = [tuple(one.items()) for one in source.describe().get("files", ())]
    if len(set(files)) < len(files):
        return {
            "hypothesis": {**promised, **no_guarantee("this hypothesis", "a file was read more than once").as_dict()}
        }
    if promised.get("consistent"):
        wrong = _count_errors(model, source)
        if wrong:
            why = f"it is wrong on {wrong:,} of its examples"
            return {"hypothesis": {**promised, "consistent": False, **no_guarantee("this hypothesis", why).as_dict()}}
    return {"hypothesis": promised}


def _count_errors(model: OnlineClassifier, source: DataSource) -> int:
    """Count the examples on which the final hypothesis is wrong."""
    state, score, wrong = internals.require_state(model), internals.build_scorer(model, known=True), 0
    for rows, labels in source.batches(state.labels, state.features):
        labelled = labels != 0
        signs = np.where(score(rows) >= 0.0, 1, -1)
        wrong += int(np.count_nonzero(labelled & (signs != labels)))
    return wrong


def compute_new_data_bounds(mistakes: int, examples: int, delta: float) -> dict[str, Any] | None:
    """Return bounds for the hypotheses used while learning, on i.i.d. data; None without a fixed run length.

    None of them bounds the error of the saved model.
    """
    if not 0.0 < delta < 1.0:
        raise InputError(f"delta must be between 0 and 1, but is {delta}.")
    if examples == 0:
        return None
    numbers: dict[str, Any] = {"mistakes": mistakes, "examples": examples}
    return {
        "of": MEAN_OF_HYPOTHESES,
        "assumes": IID_ASSUMPTION,
        "delta": delta,
        **numbers,
        "mean_error_bound": online_to_batch.progressive(**numbers, delta=delta),
        "expected_error_of_random_hypothesis": online_to_batch.random_stopping(**numbers),
        "error_bound_of_penalised_choice": min(1.0, online_to_batch.penalised(**numbers, delta=delta)),
    }


def measurement_to_dict(found: WitnessMeasurement | list[WitnessMeasurement]) -> dict[str, Any]:
    """Return the sums of one pass as plain values; a list holds independently learned columns."""
    if isinstance(found, list):
        return {"columns": [measurement_to_dict(one) for one in found]}
    return {
        "examples": found.examples,
        "squared_radius": found.squared_radius,
        "largest": found.largest,
        "margin": found.margin,
        "hinge": found.hinge,
        "logistic": found.logistic,
        "squared": found.squared,
        "squared_slacks": list(found.slacks.values()),
    }


def encode_witness(found: NamedWitness) -> dict[str, Any]:
    """Encode a witness as text: its nonzero slots and their float32 values."""
    slots = np.flatnonzero(found.witness).astype(np.uint32)
    values = found.witness[slots]
    return {
        "slots": len(found.witness),
        "places": base64.b64encode(slots.astype("<u4").tobytes()).decode(),
        "values": base64.b64encode(values.astype("<f4").tobytes()).decode(),
        "widths": list(found.widths),
    }


def decode_witness(name: str, packed: dict[str, Any]) -> NamedWitness:
    """Decode a witness of a document; raise InputError if it is malformed."""
    try:
        u: NDArray[np.float32] = np.zeros(int(packed["slots"]), np.float32)
        places = np.frombuffer(base64.b64decode(packed["places"], validate=True), "<u4")
        values = np.frombuffer(base64.b64decode(packed["values"], validate=True), "<f4")
        if not (
            len(places) == len(values) and np.isfinite(values).all() and (np.diff(places.astype(np.int64)) > 0).all()
        ):
            raise ValueError("places and values don't fit")
        u[places] = values
        widths = tuple(float(width) for width in packed["widths"])
    except (KeyError, TypeError, ValueError, IndexError, MemoryError) as problem:
        raise InputError(
            f"The certificate's witness {name!r} can't be read ({problem}): build the certificate again."
        ) from None
    return NamedWitness(name, u, widths)
