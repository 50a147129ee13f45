"""A dictionary of feature names that all shards share.

A name must have the same column on every worker. Where the first shard is a table with few categories, every shard is
read once before the first round, and the names of all of them, in the order of the shards, are the columns of the
model. Otherwise names are hashed, which needs no agreement: if --hash-bits is given, if there are texts, and if there
are more than MOST_NAMES names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from novikoff.base.internals import fixed_width_reason_of
from novikoff.data import reader
from novikoff.data.names.hashing import DEFAULT_HASH_BITS
from novikoff.distributed import worker_tasks
from novikoff.distributed.coordinator import Plan
from novikoff.distributed.executor import Executor
from novikoff.distributed.shards import FileShard, Shard


class SharedNames(NamedTuple):
    """Shards and plan, with a dictionary of names if there are few names."""

    shards: list[Shard]
    plan: Plan
    note: str | None = None
    """The reason for hashing names if a dictionary was tried."""


def share_names(executor: Executor, shards: Sequence[Shard], plan: Plan) -> SharedNames:
    """Add a dictionary of names to the shards and the plan if there are few names; otherwise return them unchanged."""
    files = [shard for shard in shards if isinstance(shard, FileShard)]
    if (
        len(files) < len(shards)
        or files[0].options.hash_bits is not None
        or fixed_width_reason_of(plan.model) is not None
    ):
        return SharedNames(list(shards), plan)
    settings = _read_dictionary_format(executor, files[0])
    if settings is None:
        return SharedNames(list(shards), plan)
    names = _collect_names(executor, files, settings)
    if names is None:
        most = f"{reader.MAX_DICTIONARY_NAMES:,}"
        how = f"hashed as with --hash-bits {DEFAULT_HASH_BITS}"
        note = f"the shards have more than {most} different names, which are {how}"
        return SharedNames(list(shards), plan, note)
    named: list[Shard] = [replace(file, options=replace(file.options, hashes_names=False)) for file in files]
    return SharedNames(named, plan._replace(names=names))


def _read_dictionary_format(executor: Executor, first: FileShard) -> dict[str, Any] | None:
    def ask() -> Any:
        return executor.results([executor.call(worker_tasks.dictionary_format, first)])[0]

    found: dict[str, Any] | None = executor.run_with_retry(ask)
    return found


def _collect_names(executor: Executor, files: Sequence[FileShard], settings: dict[str, Any]) -> list[str] | None:
    """Return the names of all shards, read with `settings`; None if there are too many."""

    def ask() -> list[Any]:
        return executor.results([executor.call(worker_tasks.names, file, settings) for file in files])

    together: dict[str, None] = {}
    for names in executor.run_with_retry(ask):
        if names is None:
            return None
        together |= dict.fromkeys(names)
    return list(together) if len(together) <= reader.MAX_DICTIONARY_NAMES else None
