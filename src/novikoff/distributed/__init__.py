"""Distributed learning: shards are learned in parallel, and their weights are mixed after each round.

In each round, every shard is learned once, starting with the mixed weights of the round before. The result of the round
is Σ μ_i·w_i (iterative parameter mixing: McDonald, Hall and Mann 2010). Tasks are pure functions, which the coordinator
calls in this process or submits to Dask. Only dask_executor.py needs Dask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from novikoff.distributed.distributed_learner import DistributedLearner as DistributedLearner

__all__ = ["DistributedLearner"]


def __getattr__(name: str) -> Any:
    if name == "DistributedLearner":
        from novikoff.distributed.distributed_learner import DistributedLearner

        return DistributedLearner
    raise AttributeError(f"module 'novikoff.distributed' has no attribute {name!r}")
