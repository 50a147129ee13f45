"""What a model is, in plain values: learner, settings, labels, ledger, and the features that matter most."""

from __future__ import annotations

from typing import Any

from novikoff import learner_registry
from novikoff.reports.weights import count_sampled_examples, rank_features, read_intercept


def describe_model(model: Any, top: int) -> dict[str, Any]:
    return {
        "learner": learner_registry.name_of(type(model.inner)),
        **model._scheme_info(),
        "settings": {**model.inner._plain_settings(), **_scheme_settings(model)},
        "labels": _list_labels(model),
        "features": model.n_features_in_,
        "ledger": model.ledger_.as_dict() if hasattr(model, "ledger_") else None,
        "weights": _list_weights(model, top),
        "intercept": read_intercept(model),
        "sampled_examples": count_sampled_examples(model),
        "hypothesis": model.describe(),
    }


def _list_weights(model: Any, top: int) -> list[dict[str, Any]] | None:
    found = rank_features(model, top)
    if found is None:
        return None
    rows = [weight._asdict() for weight in found]
    return [{key: value for key, value in row.items() if key != "speaks_for" or value is not None} for row in rows]


def _list_labels(model: Any) -> list[Any]:
    try:
        labels: list[Any] = model.classes_.tolist()
    except AttributeError:
        return []
    return labels


def _scheme_settings(model: Any) -> dict[str, Any]:
    settings = model._plain_settings() if model.inner is not model else {}
    return {key: value for key, value in settings.items() if key != "estimator"}
