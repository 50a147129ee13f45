"""Raw rows (dicts, texts, data frames) for models that were trained from files: see `data/raw/encoding.py`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data import validation
from novikoff.data.raw.batches import encode_batch
from novikoff.errors import InputError


def encode_example(state: Any, x: Any) -> Any:
    """Return one raw row as an array or as a dict of column or name → value; return anything else unchanged."""
    encoding = None if state is None else _find_encoding(state)
    return x if encoding is None else encoding.example(x)


def has_raw_dicts(state: Any) -> bool:
    """Return whether a dict with names as keys is a raw row, which must be encoded, and not a dict of features."""
    if state.reading is None or state.names is None:
        return False
    encoding = _find_encoding(state)
    return encoding is not None and encoding.accepts_dicts


def score_raw_rows(model: Any, X: Any) -> NDArray[Any] | None:
    """Return the scores of raw rows, equal to those of `novikoff predict`; None if X is not raw rows."""
    state = model._require_fitted()
    encoding = _find_encoding(state)
    if encoding is None or not encoding.accepts(unwrap_rows(X)):
        return None
    score = model._build_scorer(known=True)
    parts = [score(batch.rows) for batch in encoding.batches(unwrap_rows(X), state.names)]
    if not parts:
        raise InputError("Found array with 0 sample(s) while a minimum of 1 is required.")
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def encode_raw_batch(state: Any, X: Any) -> validation.ValidatedBatch | None:
    """Return encoded raw rows for learning, None if X is not raw rows; new names are added to those of the model."""
    encoding = _find_encoding(state)
    if encoding is None or not encoding.accepts(unwrap_rows(X)):
        return None
    return encode_batch(encoding, unwrap_rows(X), state.names, state.kind)


def unwrap_rows(X: Any) -> Any:
    """Return rows without column declarations, which a fitted model has already."""
    from novikoff.data.raw.table import RawRows

    return X.X if isinstance(X, RawRows) else X


@contextmanager
def undo_new_features(state: Any) -> Iterator[None]:
    """Drop names and features that raw rows have added if the rows are refused."""
    if getattr(state, "reading", None) is None:
        yield
        return
    features, examples, names = state.features, state.ledger.examples, 0 if state.names is None else len(state.names)
    try:
        yield
    except BaseException:
        if state.ledger.examples == examples:  # unless a part of the batch was learned
            state.features = features
            if state.names is not None:
                state.names.forget(names)
        raise


def _find_encoding(state: Any) -> Any:
    if getattr(state, "reading", None) is None:
        return None
    from novikoff.data.raw.encoding import get_encoding

    return get_encoding(state)
