"""Raw rows (dicts, texts, data frames) for models that were trained from files: see `stream/encoding.py`."""

from __future__ import annotations

from typing import Any

from novikoff._arrays import NDArray, np
from novikoff.errors import InputError
from novikoff.stream import door
from novikoff.stream.rows import Dense, Rows, Sparse, how_many


def encode_one(state: Any, x: Any) -> Any:
    """Return one raw row as an array or as a dict of column or name → value; anything else as it is."""
    encoding = None if state is None else _encoding(state)
    return x if encoding is None else encoding.example(x)


def has_raw_dicts(state: Any) -> bool:
    """Whether a dict with names as keys is a raw row, which must be encoded, and not one of features by name."""
    if state.reading is None or state.names is None:
        return False
    encoding = _encoding(state)
    return encoding is not None and encoding.takes_dicts


def score_raw(model: Any, X: Any) -> NDArray[Any] | None:
    """Return the scores of many raw rows, as `novikoff predict` makes them; None where X is not raw rows."""
    state = model._fitted()
    encoding = _encoding(state)
    if encoding is None or not encoding.takes(X):
        return None
    score = model.scorer(known=True)
    parts = [score(batch.rows) for batch in encoding.batches(X, state.names)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def raw_batch(state: Any, X: Any) -> door.Batch | None:
    """Return many raw rows to be learned, None where X is not raw rows; new names are added to those of the model."""
    encoding = _encoding(state)
    if encoding is None or not encoding.takes(X):
        return None
    from novikoff.stream.encoding import joined

    parts, features = list[Rows](), 0
    for batch in encoding.batches(X, state.names, learns=True):
        values, features = batch.rows.values.astype(state.kind), max(features, batch.features)
        if isinstance(batch.rows, Dense):
            parts.append(Dense(values, batch.rows.width))
        else:
            starts, indices = batch.rows.starts.copy(), batch.rows.indices.copy()
            parts.append(Sparse(starts, indices, values))
    rows = joined(parts)
    if how_many(rows) == 0:
        raise InputError("There are no rows to learn from.")
    return door.Batch(rows, how_many(rows), features, None)


class undo_new_features:  # noqa: N801 - used as a function is
    """Forget names and features that raw rows have brought if they are refused."""

    def __init__(self, state: Any) -> None:
        self.state = state if getattr(state, "reading", None) is not None else None

    def __enter__(self) -> None:
        state = self.state
        if state is not None:
            self.before = state.features, state.ledger.examples, 0 if state.names is None else len(state.names)

    def __exit__(self, kind: Any, *_: object) -> None:
        state = self.state
        if state is None or kind is None:
            return
        features, examples, names = self.before
        if state.ledger.examples == examples:  # not where a part of the batch was taken
            state.features = features
            if state.names is not None:
                state.names.forget(names)


def _encoding(state: Any) -> Any:
    if getattr(state, "reading", None) is None:
        return None
    from novikoff.stream.encoding import encoding_of

    return encoding_of(state)
