"""Batches of rows for learning, from whatever table users pass: numbers, texts, dicts or data frames."""

from __future__ import annotations

from typing import Any

from novikoff._compiled.lazy_numpy import np
from novikoff.data import validation
from novikoff.data.names.feature_names import FeatureNames
from novikoff.data.rows import Dense, Rows, Sparse, count_rows
from novikoff.errors import InputError


def prepare_first_batch(X: Any, *, warns: bool = False) -> validation.ValidatedBatch:
    """Return the rows to which a model is fitted. Raw rows (texts, dicts, frames with texts) are encoded, and the
    settings of their encoding are returned with them."""
    from novikoff.data.raw.table import infer_encoding, is_raw

    if not is_raw(X):
        return validation.validate_batch(X)
    from novikoff.data.raw.encoding import Encoding

    rows, settings = infer_encoding(X, warns=warns)
    encoding = Encoding(settings)
    grows, columns = encoding.grows, encoding.writer.format.columns
    names = FeatureNames() if grows else None
    batch = encode_batch(encoding, rows, names, np.dtype("float32"))
    known = list(names.columns) if names is not None else columns
    return batch._replace(names=known, features=len(known) if grows and known else batch.features, reading=settings)


def encode_batch(encoding: Any, X: Any, names: FeatureNames | None, dtype: Any) -> validation.ValidatedBatch:
    """Encode rows for learning; new names are added."""
    from novikoff.data.raw.encoding import concatenate_rows

    parts, features = list[Rows](), 0
    for batch in encoding.batches(X, names, learns=True):
        values, features = batch.rows.values.astype(dtype), max(features, batch.features)
        if isinstance(batch.rows, Dense):
            parts.append(Dense(values, batch.rows.width))
        else:
            starts, indices = batch.rows.starts.copy(), batch.rows.indices.copy()
            parts.append(Sparse(starts, indices, values))
    rows = concatenate_rows(parts)
    if count_rows(rows) == 0:
        raise InputError("There are no rows to learn from.")
    return validation.ValidatedBatch(rows, count_rows(rows), features, None)
