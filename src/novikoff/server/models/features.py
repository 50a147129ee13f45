"""From features as requests name them to what a model takes, and from a model to one answer."""

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
    """Return the encoding of a model that was trained from files. The first column that the model does not know is
    logged with the model's `name`; all of them are shown with the model."""
    found = get_encoding(state)
    if found is not None and found.report_unknown is warn_unknown_column:
        found.report_unknown = partial(_log_unknown, name)
    return found


def _log_unknown(model: str, column: str) -> None:
    fields = {**({"model": model} if model else {}), "column": column}
    log.warning("columns that the model has not learned are ignored", extra={"fields": fields})


def get_encoder(model: Any) -> Callable[[Any], Any]:
    """Return what makes, of the features of a request, what `learn_one` and `predict_one` of this model take.

    A model that was trained from files encodes raw rows by itself. One that was learned by names, or that has learned
    nothing yet, takes names as they are. The names of columns with numbers are these numbers.
    """
    state = state_of(model)
    if state is None:
        return keep_names
    encoding = get_served_encoding(state)
    if encoding is not None:
        return lambda x: _encode_raw(encoding, x, state)
    if (getattr(state, "reading", None) or {}).get("feature_map") is not None:
        raise InputError(
            "This model was learned from products of features (--feature-map) of a built-in stream: it can be asked by"
            " novikoff predict only."
        )
    return keep_names if state.names is not None or state.features == 0 else _encode_numbered


def _encode_raw(encoding: Encoding, x: Any, state: Any) -> Any:
    """Features for a model that was trained from files: encoded here once, where the model knows an encoded row from a
    raw one, as those by column number are."""
    if encoding.accepts_dicts or isinstance(x, str):
        return encoding.example(x) if state.names is None else x
    if state.names is not None:
        return x
    if encoding.settings.get("hash_bits"):
        raise InputError(
            f"This model was trained from {encoding.settings['format']} with hashed features: give"
            ' {"features": "…"} with the text as it stands in such a file, without a label.'
        )
    return _encode_numbered(x)


def _iter_items(x: Any) -> Iterable[tuple[Any, Any]]:
    return x.items() if isinstance(x, dict) else ((name, 1.0) for name in x)


def _encode_numbered(x: Any) -> dict[int, float]:
    out: dict[int, float] = {}
    for name, value in _iter_items(x):
        digits = str(name)
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 10):
            raise InputError(f"The features of this model are columns with numbers, but {name!r} is not a number.")
        out[int(digits)] = out.get(int(digits), 0.0) + value if int(digits) in out else value
    return out


def predict_with_score(model: Any, x: Any) -> tuple[Any, float]:
    """The label that is predicted for one example that is encoded, and its score; of several labels that of the first,
    or the highest where none is predicted. None and 0 before anything was learned."""
    if state_of(model) is None:
        return None, 0.0
    score = model.score_one(x)
    if type(model).predict_one is LinearClassifier.predict_one:  # the label is the score's sign: no need to ask twice
        return label_for_score(model, score), score
    label = model.predict_one(x)
    if not isinstance(score, dict):
        return label, float(score)
    if isinstance(label, list):
        return label, float(score[label[0]] if label else max(score.values(), default=0.0))
    return label, float(score[label])
