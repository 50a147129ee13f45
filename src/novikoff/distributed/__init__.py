"""Learning on many machines: shards learn side by side, weights are mixed after each round.

A round is one pass over every shard, each from the weights of the round before; what comes out is Σ μ_i·w_i (iterative
parameter mixing: McDonald, Hall and Mann 2010). Tasks are pure functions, which a loop calls in this process or gives
to Dask. Only on_dask.py imports that.
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
