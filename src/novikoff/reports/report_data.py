"""All that a report shows: the certificate, and beside it what it was made from, as curves, histograms and weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.base.online_classifier import OnlineClassifier
from novikoff.base.state_scoring import StateScoredClassifier
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
"""Features that are shown."""


class ReportData(NamedTuple):
    """A run as it came out: pure numbers and words, the same for the same data and settings."""

    certificate: Certificate
    titles: tuple[str, ...]
    """What the data was called, folders left out; empty for arrays."""
    features: int
    weighted: int
    """Examples whose weight was not 1."""
    mistakes: MistakeCurve
    errors: ErrorCurve
    witness: str | None
    """Whose margins are shown: of the tightest bound."""
    witness_margins: Histogram | None
    learned_margins: Histogram | None
    weights: tuple[FeatureWeight, ...] | None
    """Of the most important features; None where there is no single weight vector."""
    hypothesis: str | None
    """What was learned in words, where weights don't say it."""
    outcomes: str = "sides"
    """What examples are to the theorems."""
    intercept: float | None = None
    """The weight of the bias, where there is one."""
    sampled: int | None = None
    """How many examples the standard deviations of the features come from."""

    @property
    def document(self) -> dict[str, Any]:
        return self.certificate.document

    @property
    def first_pass(self) -> int:
        """The examples of one pass."""
        examples: int = self.document["observed"]["examples"]
        return examples // int(self.document["passes"])


def build_report_data(
    certificate: Certificate, model: OnlineClassifier, source: DataSource, titles: Sequence[str] = ()
) -> ReportData:
    """Of a certificate and the model that `make` or `certify` made it for; reads the data once more."""
    document, state = certificate.document, model._require_fitted()
    passes, first = int(document["passes"]), int(document["observed"]["mistakes_of_first_pass"])
    curve = curves.build_mistake_curve(state.ledger, first, passes)
    chosen = _choose_witness(certificate)
    seen, reached = _margin_histograms(certificate, chosen, model, source)
    weights = (
        rank_features(model, N_TOP_FEATURES)
        if model.outcomes in ("sides", "kernel")
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
        outcomes=model.outcomes,
        intercept=constant if isinstance(constant := read_intercept(model), float) else None,
        sampled=count_sampled_examples(model),
    )


def _drop_band(found: ErrorCurve, document: dict[str, Any]) -> ErrorCurve:
    """Without a band where the run has no fixed length: a run that ended by itself has no error that is typical."""
    return found if document["new_data"] else found._replace(band=())


def _read_delta(document: dict[str, Any]) -> float:
    return float(document["new_data"]["delta"]) if document["new_data"] else 0.05


def _choose_witness(certificate: Certificate) -> str | None:
    """The one of the tightest bound, or any."""
    known = certificate.document["witnesses"]
    best = certificate.headline
    if best is not None and best.get("witness") in known:
        return str(best["witness"])
    return next(iter(known), None)


def _margin_histograms(
    certificate: Certificate, chosen: str | None, model: OnlineClassifier, source: DataSource
) -> tuple[Histogram | None, Histogram | None]:
    """Return the margins of the witness and of the learned weights; None where there are none.

    A model that predicts by a vote, such as Auto, may have weights, but it errs on other examples than they do.
    """
    state = model._require_fitted()
    votes = isinstance(getattr(model, "inner", model), StateScoredClassifier)
    nothing: NDArray[np.floating] = np.zeros(1)
    witness = nothing if chosen is None else certificate.witness(chosen)
    space = find_space(model)
    if model.outcomes == "kernel":  # neither is a vector of weights
        return None, None
    if space is not None:
        learned = nothing if votes else np.vstack([model.intercept_, model.coef_.T])
        seen, own = space.histograms([witness, learned], lambda: source.told(model))
        return seen, own
    try:
        learned = nothing if votes else np.concatenate([model.intercept_, model.coef_[0]])
    except AttributeError:
        learned = nothing
    if not (witness.any() or learned.any()):
        return None, None
    found, reached = build_histograms(source.batches(state.labels, state.features), [witness, learned])
    return found, reached
