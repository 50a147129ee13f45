"""The labels that the first block of the first shard has: enough to know whether they are more than two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from novikoff.cluster import tasks
from novikoff.cluster.inputs import shards_of
from novikoff.cluster.on_dask import OnDask
from novikoff.stream.options import Options
from novikoff.wrap.kesler import Kesler


def labels_of(names: Sequence[str], options: Options, client: Any) -> Sequence[Any]:
    """Looked at on a worker, where the files are."""
    shards = shards_of(list(names), None, options, None).shards
    engine, message = OnDask(client), tasks.sent(Kesler())

    def look() -> Any:
        return engine.results([engine.call(tasks.look, shards[0], None, engine.share(message), False)])[0]

    return tuple(engine.surely(look).labels)
