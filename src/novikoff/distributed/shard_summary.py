"""Inspection of the beginning of the first shard: its format and its first labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from novikoff.data.formats.base import ReadOptions
from novikoff.distributed import worker_tasks
from novikoff.distributed.dask_executor import DaskExecutor
from novikoff.distributed.inputs import make_shards
from novikoff.distributed.shards import FirstExamples
from novikoff.multiclass.kesler import Kesler


def describe_first_shard(names: Sequence[str], options: ReadOptions, client: Any) -> FirstExamples:
    """Return a description of the first shard, read on a worker, with the names of all shards as `files`."""
    shards = make_shards(list(names), None, options, None).shards
    executor = DaskExecutor(client)

    def describe() -> Any:
        return executor.results([executor.call(worker_tasks.describe_first_examples, shards[0])])[0]

    found: FirstExamples = executor.run_with_retry(describe)
    return found._replace(description={**found.description, "files": [shard.name for shard in shards]})


def read_first_labels(names: Sequence[str], options: ReadOptions, client: Any) -> Sequence[Any]:
    """Return the labels in the first block of the first shard, read on a worker."""
    shards = make_shards(list(names), None, options, None).shards
    executor, message = DaskExecutor(client), worker_tasks.serialize_model(Kesler())

    def summarize() -> Any:
        return executor.results(
            [executor.call(worker_tasks.summarize_shard, shards[0], None, executor.share(message), False)]
        )[0]

    return tuple(executor.run_with_retry(summarize).labels)
