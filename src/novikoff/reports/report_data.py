"""Collect the data of a report: the certificate, curves, margin histograms and weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.base.internals import inner_learner_of, outcome_type_of, require_state, spec_of
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.certificates.certificate import Certificate
from novikoff.certificates.data_source import DataSource
from novikoff.certificates.margin_histogram import Histogram, build_histograms
from novikoff.certificates.spaces.base import find_space
from novikoff.data.reader import is_builtin
from novikoff.reports import curves
from novikoff.reports.curves import ErrorCurve, MistakeCurve
from novikoff.reports.weights import (
    FeatureWeight,
    count_sampled_examples,
    rank_features,
    rank_features_by_column,
    read_intercept,
)

N_TOP_FEATURES = 20
"""Number of features shown."""


class ReportData(NamedTuple):
    """The data of a report; the same data and settings give the same record."""

    certificate: Certificate
    titles: tuple[str, ...]
    """File names of the data, without folders; empty for arrays."""
    features: int
    weighted: int
    """Examples whose weight was not 1."""
    mistakes: MistakeCurve
    errors: ErrorCurve
    witness: str | None
    """Name of the witness whose margins are shown: that of the tightest bound."""
    witness_margins: Histogram | None
    learned_margins: Histogram | None
    weights: tuple[FeatureWeight, ...] | None
    """The most important features; None if there is no single weight vector."""
    hypothesis: str | None
    """Description of a hypothesis that is not a weight vector."""
    outcomes: str = "sides"
    """Kind of examples that the bounds are about: sides, preferences, queries, columns or kernel."""
    intercept: float | None = None
    """The weight of the bias, if there is exactly one."""
    sampled: int | None = None
    """Number of examples that the standard deviations of the features are estimated from."""

    @property
    def document(self) -> dict[str, Any]:
        return self.certificate.document

    @property
    def first_pass(self) -> int:
        """The number of examples of one pass."""
        examples: int = self.document["observed"]["examples"]
        return examples // int(self.document["passes"])


def build_report_data(
    certificate: Certificate, model: OnlineClassifier, source: DataSource, titles: Sequence[str] = ()
) -> ReportData:
    """Return the report data of a certificate and its model; reads the data once more."""
    document, state = certificate.document, require_state(model)
    passes, first = int(document["passes"]), int(document["observed"]["mistakes_of_first_pass"])
    curve = curves.build_mistake_curve(state.ledger, first, passes)
    chosen = _choose_witness(certificate)
    seen, reached = _margin_histograms(certificate, chosen, model, source)
    weights = (
        rank_features(model, N_TOP_FEATURES)
        if outcome_type_of(model) in ("sides", "kernel")
        else rank_features_by_column(model, N_TOP_FEATURES)
    )
    return ReportData(
        certificate=certificate,
        titles=tuple(title if is_builtin(title) else Path(title).name for title in titles),
        features=state.features,
        weighted=state.ledger.weighted,
        mistakes=curve,
        errors=_drop_band(
            curves.build_error_curve(curve, state.ledger.examples // passes, _read_delta(document)), document
        ),
        witness=chosen,
        witness_margins=seen,
        learned_margins=reached,
        weights=None if weights is None else tuple(weights),
        hypothesis=model.describe(),
        outcomes=outcome_type_of(model),
        intercept=constant if isinstance(constant := read_intercept(model), float) else None,
        sampled=count_sampled_examples(model),
    )


def _drop_band(found: ErrorCurve, document: dict[str, Any]) -> ErrorCurve:
    """Remove the band if the certificate has no bounds for new data: the run then has no fixed length."""
    return found if document["new_data"] else found._replace(band=())


def _read_delta(document: dict[str, Any]) -> float:
    return float(document["new_data"]["delta"]) if document["new_data"] else 0.05


def _choose_witness(certificate: Certificate) -> str | None:
    """Return the witness of the tightest bound, otherwise the first one."""
    known = certificate.document["witnesses"]
    best = certificate.headline
    if best is not None and best.get("witness") in known:
        return str(best["witness"])
    return next(iter(known), None)


def _margin_histograms(
    certificate: Certificate, chosen: str | None, model: OnlineClassifier, source: DataSource
) -> tuple[Histogram | None, Histogram | None]:
    """Return the margins of the witness and of the learned weights; None if there are none.

    A model that predicts by a vote, such as Auto, may have weights, but its errors are not those of the weights.
    """
    state = require_state(model)
    votes = not spec_of(inner_learner_of(model)).scores_by_weights
    nothing: NDArray[np.floating] = np.zeros(1)
    witness = nothing if chosen is None else certificate.witness(chosen)
    space = find_space(model)
    if outcome_type_of(model) == "kernel":  # neither is a vector of weights
        return None, None
    if space is not None:
        learned = nothing if votes else np.vstack([model.intercept_, model.coef_.T])
        seen, own = space.histograms([witness, learned], lambda: source.iter_encoded(model))
        return seen, own
    try:
        learned = nothing if votes else np.concatenate([model.intercept_, model.coef_[0]])
    except AttributeError:
        learned = nothing
    if not (witness.any() or learned.any()):
        return None, None
    found, reached = build_histograms(source.batches(state.labels, state.features), [witness, learned])
    return found, reached
