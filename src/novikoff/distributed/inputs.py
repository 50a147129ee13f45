"""Conversion of user input to shards: files, Dask arrays, data frames and bags, delayed batches and plain batches."""

from __future__ import annotations

import glob
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Any, NamedTuple

from novikoff.data.formats.base import ReadOptions, check_options
from novikoff.distributed.shards import BatchShard, FileShard, Shard
from novikoff.errors import InputError


class ShardedInput(NamedTuple):
    shards: list[Shard]
    data: list[Any] | None
    """The data of each shard, delayed or not; None for files."""


def make_shards(data: Any, y: Any, options: ReadOptions | None, positive: str | None) -> ShardedInput:
    if _is_delayed(data):
        return _make_batch_shards([data if y is None else _delayed_pair(data, y)])
    if y is not None:
        return _make_batch_shards(_delayed_blocks(data, y) if hasattr(data, "to_delayed") else [(data, y)])
    if hasattr(data, "to_delayed") and not hasattr(data, "shape"):  # a bag: each of its parts is a list of batches
        return _make_batch_shards(list(data.to_delayed()))
    if isinstance(data, str | PathLike):
        data = [data]
    if hasattr(data, "shape") or not isinstance(data, Iterable):
        raise InputError(
            f"Shards must be file names or batches (X, y), got a {type(data).__name__} without labels. Call fit(X, y)."
        )
    items = list(data)
    if not items:
        raise InputError("The list of shards is empty. Name files, or pass batches (X, y).")
    if not all(isinstance(item, str | PathLike) for item in items):
        return _make_batch_shards(items)
    return _make_file_shards([fspath(item) for item in items], options, positive)


def _make_file_shards(names: Sequence[str], options: ReadOptions | None, positive: str | None) -> ShardedInput:
    reading_options = replace(check_options(ReadOptions() if options is None else options), hashes_names=True)
    if reading_options.keep_names:
        raise InputError("--keep-names does not work on a cluster, which hashes names. Leave it out.")
    paths: list[str] = []
    for name in names:
        found = sorted(glob.glob(name)) if glob.has_magic(name) else [name]
        if not found:
            raise InputError(f"{name}: no file matches. All workers and this machine must be able to read the shards.")
        paths += found
    if "-" in paths:
        raise InputError("-: a cluster can't read standard input. Name files that every worker can read.")
    twice = next((title for k, title in enumerate(paths) if title in paths[:k]), None)
    if twice is not None:
        raise InputError(f"{twice}: the file is named twice. Name each shard once.")
    return ShardedInput([FileShard(title, reading_options, positive) for title in paths], None)


def _delayed_blocks(X: Any, y: Any) -> list[Any]:
    """Return blocks of rows with their labels, as delayed pairs."""
    if not hasattr(y, "to_delayed"):
        raise InputError("y must be a Dask collection like X, with the same chunks of rows.")
    if hasattr(X, "rechunk"):
        X = X.rechunk({1: -1}) if X.ndim == 2 else X
        if (
            hasattr(y, "rechunk")
            and y.chunks[0] != X.chunks[0]
            and not _has_unknown_chunks(X)
            and not _has_unknown_chunks(y)
        ):
            if y.shape[0] != X.shape[0]:
                raise InputError(f"X has {X.shape[0]} rows, but y has {y.shape[0]} labels.")
            y = y.rechunk({0: X.chunks[0]})
    rows, labels = _flatten(X.to_delayed()), _flatten(y.to_delayed())
    if len(rows) != len(labels):
        raise InputError(f"X and y must have the same chunks, but X has {len(rows)} and y has {len(labels)}.")
    return [_delayed_pair(*both) for both in zip(rows, labels, strict=True)]


def _is_delayed(one: Any) -> bool:
    """Return whether this is a delayed object, by its class: hasattr is true for any name. Dask is not imported."""
    module = sys.modules.get("dask.delayed")
    return module is not None and isinstance(one, module.Delayed)


def _has_unknown_chunks(array: Any) -> bool:
    """Return whether the lengths of chunks are unknown, as after a selection of rows."""
    return any(math.isnan(length) for length in array.chunks[0])


def _delayed_pair(X: Any, y: Any) -> Any:
    from dask import delayed

    return delayed(_pair)(X, y)


def _pair(X: Any, y: Any) -> list[tuple[Any, Any]]:
    return [(X, y)]


def _flatten(parts: Any) -> list[Any]:
    return list(parts.ravel()) if hasattr(parts, "ravel") else list(parts)


def _make_batch_shards(data: list[Any]) -> ShardedInput:
    return ShardedInput([BatchShard(f"shard {k} of {len(data)}") for k in range(1, len(data) + 1)], data)
