"""Conversion of request features to the input of a model, and prediction of one example with its score."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from novikoff.base.internals import label_for_score, state_of
from novikoff.base.linear_classifier import LinearClassifier
from novikoff.data.raw.encoding import Encoding, get_encoding, warn_unknown_column
from novikoff.errors import InputError
from novikoff.server.ops.logs import log


def keep_names(x: Any) -> Any:
    return x


def get_served_encoding(state: Any, name: str = "") -> Encoding | None:
    """Return the encoding of a model trained from files, or None.

    The first column that the model does not know is logged with the model's `name`. The description of the model lists
    all of them.
    """
    found = get_encoding(state)
    if found is not None and found.report_unknown is warn_unknown_column:
        found.report_unknown = partial(_log_unknown, name)
    return found


def _log_unknown(model: str, column: str) -> None:
    fields = {**({"model": model} if model else {}), "column": column}
    log.warning("columns that the model has not learned are ignored", extra={"fields": fields})


def get_encoder(model: Any) -> Callable[[Any], Any]:
    """Return a function that converts the features of a request to the input of the model's `learn_one`.

    A model trained from files encodes raw rows itself. A model with named features, or one that has learned nothing
    yet, uses names unchanged. For a model with numbered columns the names must be these numbers.
    """
    state = state_of(model)
    if state is None:
        return keep_names
    encoding = get_served_encoding(state)
    if encoding is not None:
        return lambda x: _encode_raw(encoding, x, state)
    if (getattr(state, "reading", None) or {}).get("feature_map") is not None:
        raise InputError(
            "This model was trained on products of features (--feature-map) of a built-in stream. Use novikoff predict"
            " instead: the server can't compute the products."
        )
    return keep_names if state.names is not None or state.features == 0 else _encode_numbered


def _encode_raw(encoding: Encoding, x: Any, state: Any) -> Any:
    """Return the features for a model trained from files, encoded if the model would not encode them itself."""
    if encoding.accepts_dicts or isinstance(x, str):
        return encoding.example(x) if state.names is None else x
    if state.names is not None:
        return x
    if encoding.settings.get("hash_bits"):
        raise InputError(
            f"This model was trained from {encoding.settings['format']} with hashed features. Send"
            ' {"features": "…"} with a line of such a file as text, without the label.'
        )
    return _encode_numbered(x)


def _iter_items(x: Any) -> Iterable[tuple[Any, Any]]:
    return x.items() if isinstance(x, dict) else ((name, 1.0) for name in x)


def _encode_numbered(x: Any) -> dict[int, float]:
    out: dict[int, float] = {}
    for name, value in _iter_items(x):
        digits = str(name)
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 10):
            raise InputError(f"The features of this model are column numbers, got the name {name!r}.")
        out[int(digits)] = out.get(int(digits), 0.0) + value if int(digits) in out else value
    return out


def predict_with_score(model: Any, x: Any) -> tuple[Any, float]:
    """Return the predicted label of one encoded example, and its score.

    For a set of labels the score is that of the first label, or the highest one if the set is empty. Before anything
    was learned the result is None and 0.
    """
    if state_of(model) is None:
        return None, 0.0
    score = model.score_one(x)
    if type(model).predict_one is LinearClassifier.predict_one:  # the score determines the label: score only once
        return label_for_score(model, score), score
    label = model.predict_one(x)
    if not isinstance(score, dict):
        return label, float(score)
    if isinstance(label, list):
        return label, float(score[label[0]] if label else max(score.values(), default=0.0))
    return label, float(score[label])
