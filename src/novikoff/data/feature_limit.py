"""Messages that name the row, the table or the option that would make a model too large."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from novikoff._compiled.lazy_numpy import np
from novikoff.data.reader import DataReader, FileBatch
from novikoff.data.rows import Sparse, count_rows
from novikoff.errors import ModelTooLarge
from novikoff.memory_limit import COMMAND_LINE_OPTION, build_too_large_error, index_limit, model_limit

MIN_FEATURES_ADDED = 1 << 20
"""Features that a batch must add before its indices are looked at: fewer need little memory."""
MIN_VALUES_BEYOND = 1000
"""Values of one batch from which on large indices are those of data with many features."""


def build_row_too_wide_error(
    rows: Sparse,
    features: int,
    where: Callable[[int], str],
    needed: Callable[[int], int],
    limit: int,
    columns: Mapping[str, Any] | None = None,
) -> ModelTooLarge:
    """Return the error for the first of these rows with a feature that exceeds the memory limit.

    `needed` returns the bytes of the model by its number of features; `columns` has the names of features, in order.
    """
    first = max(bisect_right(range(features), limit, key=needed) - 1, 0)
    beyond = rows.indices[: int(rows.starts[count_rows(rows)])] >= first
    if not beyond.any():  # an earlier row has such a feature: these rows have new labels
        advice = f"Renumber the features, or raise {COMMAND_LINE_OPTION}."
        return build_too_large_error(
            f"{where(0)}: {features:,} features with new labels", needed(features), limit, advice
        )
    at = int(np.argmax(beyond))
    row, column = int(np.searchsorted(rows.starts, at, side="right")) - 1, int(rows.indices[at])
    if columns is None:
        feature, advice = f"feature index {column}", "Renumber the features"
    else:
        name = next(islice(columns, column, None), "")
        feature, advice = f"feature {name!r}, the {column + 1:,}th,", "Use --hash-bits to hash features"
    return build_too_large_error(
        f"{where(row)}: {feature}", needed(column + 1), limit, f"{advice}, or raise {COMMAND_LINE_OPTION}."
    )


def build_batch_too_wide_error(
    batch: FileBatch, reading: DataReader, needed: Callable[[int], int], limit: int, columns: Mapping[str, Any] | None
) -> ModelTooLarge:
    """Return the error that names the cause in this batch: a row, the table's width, or the option for features."""
    rows, options = batch.rows, reading.options
    if options.feature_map is not None:
        what = f"{batch.title}: {batch.features:,} columns of --feature-map {options.feature_map}"
        advice = "Use fewer --feature-map-bits" if options.feature_map_bits else "Use --feature-map-bits to hash them"
    elif reading.format is not None and reading.format.bits_used:
        what, advice = batch.title, "Use fewer --hash-bits"
    elif isinstance(rows, Sparse):
        return build_row_too_wide_error(rows, batch.features, batch.get_location, needed, limit, columns)
    else:
        what, advice = f"{batch.title}: {batch.features:,} columns", "Leave out columns with --ignore"
    return build_too_large_error(what, needed(batch.features), limit, f"{advice}, or raise {COMMAND_LINE_OPTION}.")


def check_width(batch: FileBatch, reading: DataReader, needed: Callable[[int], int], before: int) -> None:
    """Raise ModelTooLarge where the model would exceed the memory limit with this batch.

    `needed` returns the bytes by the number of features, of which there were `before`.
    """
    limit = model_limit()
    if needed(batch.features) > limit:
        columns = None if reading.names is None else reading.names.columns
        raise build_batch_too_wide_error(batch.to_numpy(), reading, needed, limit, columns)
    check_isolated_indices(batch, reading, needed, before)


def check_isolated_indices(batch: FileBatch, reading: DataReader, needed: Callable[[int], int], before: int) -> None:
    """Raise ModelTooLarge where fewer than MIN_VALUES_BEYOND values would add more than `index_limit` to the model.

    Such an index is more likely an error than one of many features. The model had `before` features so far.
    """
    has_indices = reading.options.feature_map is None and reading.format is not None and not reading.format.bits_used
    if batch.features - before > MIN_FEATURES_ADDED and has_indices and isinstance(batch.rows, Sparse):
        check_isolated_terms(batch.to_numpy(), batch.features, needed, before)


def check_isolated_terms(rows_with_place: Any, features: int, needed: Callable[[int], int], before: int) -> None:
    """Check rows as `check_isolated_indices` does: `rows_with_place` has `rows`, and `get_location` for a row."""
    limit = needed(before) + index_limit()
    if not limit < needed(features) or limit >= model_limit():
        return
    rows = rows_with_place.rows
    first = bisect_right(range(features), limit, key=needed) - 1
    beyond = rows.indices[: int(rows.starts[count_rows(rows)])] >= first
    if 0 < np.count_nonzero(beyond) < MIN_VALUES_BEYOND:
        raise build_row_too_wide_error(rows, features, rows_with_place.get_location, needed, limit)
