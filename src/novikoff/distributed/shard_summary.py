"""What the beginning of the first shard says: how it is read, and whether there are more than two labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from novikoff.data.options import ReadOptions
from novikoff.distributed import worker_tasks
from novikoff.distributed.dask_executor import DaskExecutor
from novikoff.distributed.inputs import make_shards
from novikoff.distributed.shards import FirstExamples
from novikoff.multiclass.kesler import Kesler


def describe_first_shard(names: Sequence[str], options: ReadOptions, client: Any) -> FirstExamples:
    """Describe what is read from the first shard, on a worker, where the files are; `files` are all shards."""
    shards = make_shards(list(names), None, options, None).shards
    executor = DaskExecutor(client)

    def describe() -> Any:
        return executor.results([executor.call(worker_tasks.describe_first_examples, shards[0])])[0]

    found: FirstExamples = executor.run_with_retry(describe)
    return found._replace(description={**found.description, "files": [shard.name for shard in shards]})


def read_first_labels(names: Sequence[str], options: ReadOptions, client: Any) -> Sequence[Any]:
    """Looked at on a worker, where the files are."""
    shards = make_shards(list(names), None, options, None).shards
    executor, message = DaskExecutor(client), worker_tasks.serialize_model(Kesler())

    def look() -> Any:
        return executor.results(
            [executor.call(worker_tasks.summarize_shard, shards[0], None, executor.share(message), False)]
        )[0]

    return tuple(executor.run_with_retry(look).labels)
