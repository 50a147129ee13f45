"""What the beginning of the first shard says: how it is read, and whether there are more than two labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from novikoff.distributed import worker_tasks
from novikoff.distributed.inputs import shards_of
from novikoff.distributed.dask_executor import OnDask
from novikoff.distributed.shards import FirstExamples
from novikoff.data.options import Options
from novikoff.multiclass.kesler import Kesler


def describe_first(names: Sequence[str], options: Options, client: Any) -> FirstExamples:
    """Describe what is read from the first shard, on a worker, where the files are; `files` are all shards."""
    shards = shards_of(list(names), None, options, None).shards
    engine = OnDask(client)

    def describe() -> Any:
        return engine.results([engine.call(worker_tasks.describe, shards[0])])[0]

    found: FirstExamples = engine.surely(describe)
    return found._replace(description={**found.description, "files": [shard.name for shard in shards]})


def labels_of(names: Sequence[str], options: Options, client: Any) -> Sequence[Any]:
    """Looked at on a worker, where the files are."""
    shards = shards_of(list(names), None, options, None).shards
    engine, message = OnDask(client), worker_tasks.sent(Kesler())

    def look() -> Any:
        return engine.results([engine.call(worker_tasks.look, shards[0], None, engine.share(message), False)])[0]

    return tuple(engine.surely(look).labels)
