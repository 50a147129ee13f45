"""`python -m benchmarks.scaling`: simulate rounds of large clusters from costs that were measured on a small one.

A round is simulated task by task: the weights spread from worker to worker, the scheduler assigns one task after
another, a free worker takes the next shard, and the tree of sums waits for its slowest branch. The constants are
those that `python -m benchmarks.cluster model` prints; docs/scale.md has the results and their limits.
"""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

import numpy as np

from novikoff.distributed.coordinator import TREE_FANOUT


class Costs(NamedTuple):
    """Seconds, measured; bytes a second, assumed."""

    non_zero: float = 40e-9
    """To parse a non-zero from text and learn it, one thread."""
    learning: float = 14e-9
    """A weight, in a task that learns a shard."""
    gathering: float = 13.5e-9
    """A weight of one shard, in the lowest level of the tree."""
    adding: float = 12e-9
    """A weight of one branch, above the lowest level."""
    mixing: float = 45e-9
    """A weight, in the root."""
    client: float = 20e-9
    """A weight, in the process that stores the rounds."""
    task: float = 1e-3
    """The scheduler's time for a task."""
    network: float = 1.25e9
    """10 Gbit/s."""
    uneven: float = 0.15
    """The standard deviation of the logarithm of the time of equal shards."""


class Job(NamedTuple):
    non_zeros: float
    weights: float
    workers: int
    shards: int


def simulate_round(job: Job, costs: Costs = Costs(), seed: int = 0) -> dict[str, float]:  # noqa: B008 - it is a constant
    """Return the seconds of one round and its parts if every weight changes in every shard: the worst case."""
    rng = np.random.default_rng(seed)
    message, sums = 4.0 * job.weights, 8.0 * job.weights
    spread = (2.0 + math.ceil(math.log2(max(job.workers, 2)))) * message / costs.network
    free = [spread] * job.workers
    heapq.heapify(free)
    ends = []
    factors = rng.lognormal(0.0, costs.uneven, job.shards)
    for k in range(job.shards):
        begin = max(heapq.heappop(free), spread + (k + 1) * (1 + 1 / TREE_FANOUT) * costs.task)
        end = begin + job.non_zeros / job.shards * costs.non_zero * factors[k] + job.weights * costs.learning
        ends.append(end)
        heapq.heappush(free, end)
    learned = max(ends)  # the mixture needs all ledgers before sums begin
    level, now, size, each = job.shards, learned, message, costs.gathering
    while level > 1 or size == message:
        fan = min(TREE_FANOUT, level)
        now += (fan - 1) * size / costs.network + fan * job.weights * each
        now += math.ceil(level / TREE_FANOUT) * costs.task
        level, size, each = math.ceil(level / TREE_FANOUT), sums, costs.adding
    added = now
    now += job.weights * (costs.mixing + costs.client) + 2 * message / costs.network
    return {"spread": spread, "learn": learned - spread, "add": added - learned, "mix": now - added, "round": now}


def main() -> None:
    print("non-zeros   weights  workers  shards   spread   learn     add     mix   round   speed-up  non-zeros/s")
    for non_zeros, weights in ((1e10, 2**20), (1e12, 2**20), (1e12, 2**24)):
        alone = simulate_round(Job(non_zeros, weights, 1, 1))["round"]
        for workers in (1, 10, 100, 1000):
            for shards in sorted({workers, 4 * workers}):
                found = [simulate_round(Job(non_zeros, weights, workers, shards), seed=seed) for seed in range(5)]
                mean = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
                print(
                    f"{non_zeros:9.0e}{weights:>10,}{workers:>9}{shards:>8}"
                    + "".join(f"{mean[name]:>8.1f}" for name in ("spread", "learn", "add", "mix", "round"))
                    + f"{alone / mean['round']:>10.1f}{non_zeros / mean['round']:>13.2e}"
                )


if __name__ == "__main__":
    main()
