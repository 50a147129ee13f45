"""A model as JSON: the weights by the names of the features, and what turns scores into labels and probabilities."""

from __future__ import annotations

from typing import Any

from novikoff.base.internals import format_label
from novikoff.core.calibration import MAX_LINEAR_SCORE
from novikoff.explanation import build_feature_namer
from novikoff.export.linear_scores import LinearScores, Numbers, read_linear_scores


def export_weights(model: Any) -> dict[str, Any]:
    """Return the weights of a fitted model as plain values for JSON; weights of 0 are left out.

    >>> from novikoff import Perceptron
    >>> model = Perceptron(shuffle=False).fit([{"words": 3.0, "job": "nurse"}, {"words": 1.0, "job": "clerk"}], [0, 1])
    >>> found = export_weights(model)
    >>> found["classes"], found["scores"][0]["class"], sorted(found["scores"][0]["weights"])
    ([0, 1], 1, ['job=clerk', 'job=nurse', 'words'])
    """
    scores = read_linear_scores(model)
    name = build_feature_namer(model)
    speaks_for = scores.classes[1:] if scores.is_binary else scores.classes
    about: dict[str, Any] = {
        "model": repr(model),
        "classes": scores.classes,
        "features": len(scores.weights),
        "decision": _describe_decision(scores),
        "probabilities": _describe_probabilities(scores),
        "scores": [
            {
                "class": label,
                "intercept": float(scores.intercepts[k]),
                "weights": {str(name(c)): w for c, w in _list_weights(scores.weights[:, k])},
            }
            for k, label in enumerate(speaks_for)
        ],
    }
    return about


def _list_weights(column: Numbers) -> list[tuple[int, float]]:
    return [(c, float(column[c])) for c in column.nonzero()[0].tolist()]


def _describe_decision(scores: LinearScores) -> dict[str, Any]:
    if not scores.is_binary:
        return {"rule": "largest score"}
    positive = format_label(scores.model, scores.classes[1])
    if scores.threshold is None:
        return {"rule": "sign", "positive": positive, "zero_is_positive": scores.tie_is_positive}
    return {"rule": scores.threshold.scale, "positive": positive, "threshold": float(scores.threshold.value)}


def _describe_probabilities(scores: LinearScores) -> dict[str, Any]:
    found: dict[str, Any] = {"type": scores.probability_type}
    if scores.probability_type != "none":
        found["score_scale"] = scores.scale
    if scores.calibration is not None:
        found |= scores.calibration._asdict() | {"max_linear_score": MAX_LINEAR_SCORE}
    return found
