"""From what users bring to shards: files, Dask arrays, data frames and bags, delayed batches, batches as they are."""

from __future__ import annotations

import glob
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Any, NamedTuple

from novikoff.data.options import ReadOptions, check_options
from novikoff.distributed.shards import BatchShard, FileShard, Shard
from novikoff.errors import InputError


class ShardedInput(NamedTuple):
    shards: list[Shard]
    data: list[Any] | None
    """What is to be computed for each shard, delayed or not; None for files."""


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
            f"Shards must be names of files or batches (X, y), but there is only a {type(data).__name__}: give the"
            " labels, too, as fit(X, y)."
        )
    items = list(data)
    if not items:
        raise InputError("There are no shards: name some files, or give some batches.")
    if not all(isinstance(item, str | PathLike) for item in items):
        return _make_batch_shards(items)
    return _make_file_shards([fspath(item) for item in items], options, positive)


def _make_file_shards(names: Sequence[str], options: ReadOptions | None, positive: str | None) -> ShardedInput:
    reading_options = replace(check_options(ReadOptions() if options is None else options), hashes_names=True)
    if reading_options.keep_names:
        raise InputError("--keep-names is for one machine: a cluster hashes names and forgets them. Leave it out.")
    paths: list[str] = []
    for name in names:
        found = sorted(glob.glob(name)) if glob.has_magic(name) else [name]
        if not found:
            raise InputError(f"{name}: no file matches: every worker, and this machine, must find the shards.")
        paths += found
    if "-" in paths:
        raise InputError("-: a cluster learns from files that every worker can read, not from standard input.")
    twice = next((title for k, title in enumerate(paths) if title in paths[:k]), None)
    if twice is not None:
        raise InputError(f"{twice}: is named twice: each shard comes once in a round.")
    return ShardedInput([FileShard(title, reading_options, positive) for title in paths], None)


def _delayed_blocks(X: Any, y: Any) -> list[Any]:
    """Blocks of rows with their labels, as delayed pairs."""
    if not hasattr(y, "to_delayed"):
        raise InputError("y must be in parts as X is: make it a Dask array with the same chunks of rows.")
    if hasattr(X, "rechunk"):
        X = X.rechunk({1: -1}) if X.ndim == 2 else X
        if (
            hasattr(y, "rechunk")
            and y.chunks[0] != X.chunks[0]
            and not _has_unknown_chunks(X)
            and not _has_unknown_chunks(y)
        ):
            if y.shape[0] != X.shape[0]:
                raise InputError(f"There must be a label for each row: {X.shape[0]} rows, but {y.shape[0]} labels.")
            y = y.rechunk({0: X.chunks[0]})
    rows, labels = _flatten(X.to_delayed()), _flatten(y.to_delayed())
    if len(rows) != len(labels):
        raise InputError(f"X and y must be in the same parts, but X has {len(rows)} and y has {len(labels)}.")
    return [_delayed_pair(*both) for both in zip(rows, labels, strict=True)]


def _is_delayed(one: Any) -> bool:
    """By its class, since it says of every attribute that it has it; does not import Dask for that."""
    module = sys.modules.get("dask.delayed")
    return module is not None and isinstance(one, module.Delayed)


def _has_unknown_chunks(array: Any) -> bool:
    """Whether it is not known how long its parts will be, as after a choice of rows."""
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
