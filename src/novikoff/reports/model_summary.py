"""Describe a model as plain values: learner, settings, labels, ledger and the most important features."""

from __future__ import annotations

from typing import Any

from novikoff import learner_registry
from novikoff.base.internals import inner_learner_of, plain_settings_of, scheme_info_of, state_of
from novikoff.reports.weights import count_sampled_examples, rank_features, read_intercept


def describe_model(model: Any, top: int) -> dict[str, Any]:
    return {
        "learner": learner_registry.name_of(type(inner_learner_of(model))),
        **scheme_info_of(model),
        "settings": {**plain_settings_of(inner_learner_of(model)), **_scheme_settings(model)},
        "labels": _list_labels(model),
        "features": model.n_features_in_,
        **_holdout_record(model),
        **_threshold_record(model),
        "ledger": model.ledger_.as_dict() if hasattr(model, "ledger_") else None,
        "weights": _list_weights(model, top),
        "intercept": read_intercept(model),
        "sampled_examples": count_sampled_examples(model),
        "hypothesis": model.describe(),
    }


def _holdout_record(model: Any) -> dict[str, Any]:
    record = getattr(state_of(model), "holdout", None)
    return {} if record is None else {"holdout": record}


def _threshold_record(model: Any) -> dict[str, Any]:
    threshold = getattr(state_of(model), "threshold", None)
    return {} if threshold is None else {"threshold": threshold._asdict()}


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
    settings = plain_settings_of(model) if inner_learner_of(model) is not model else {}
    return {key: value for key, value in settings.items() if key != "estimator"}
