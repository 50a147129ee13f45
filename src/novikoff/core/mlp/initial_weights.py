"""How a network begins: random weights that depend on the seed and on their place alone.

So a layer that grows, by new features or new classes, begins as if it had been there from the start.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from novikoff.core.counter_rng import uniform
from novikoff.core.mlp.network import Network


def fresh(
    hidden: Sequence[int],
    slots: int,
    *,
    seed: int,
    spread: float,
    adagrad: bool,
    rate: float,
    decay: float,
    batch: int,
    entropy: bool,
) -> Network:
    """A network with these hidden layers and no output yet."""
    first = first_slots(seed, spread, 0, slots, hidden[0])
    deep = np.concatenate([np.zeros(0), *(_deep(seed, layer, hidden) for layer in range(1, len(hidden)))])
    top, gathers = np.zeros((0, hidden[-1] + 1)), batch > 1

    def beside(array: NDArray[np.float64], needed: bool) -> NDArray[np.float64]:
        return np.zeros(array.shape if needed else (0, *array.shape[1:]))

    return Network(
        slots=first,
        sums=beside(first, adagrad),
        pulls=beside(first, gathers),
        marks=np.zeros(slots if gathers else 0, np.int8),
        touched=np.zeros(slots if gathers else 0, np.int64),
        deep=deep,
        deep_sums=beside(deep, adagrad),
        deep_pulls=beside(deep, gathers),
        top=top,
        top_sums=beside(top, adagrad),
        top_pulls=beside(top, gathers),
        counts=np.zeros(5, np.int64),
        sizes=np.array(hidden, np.int64),
        rate=rate,
        decay=decay,
        batch=batch,
        entropy=entropy,
    )


def first_slots(seed: int, spread: float, start: int, stop: int, units: int) -> NDArray[np.float64]:
    """The first layer's weights in the slots from start to stop."""
    return spread * _around_zero(seed, 0, np.arange(start, stop), units)


def with_outputs(net: Network, classes: int, seed: int) -> Network:
    """The same with an output unit for each class."""
    have, width = net.top.shape
    if classes <= have:
        return net
    # Not by how many classes there will be, which nobody knows.
    more = _reach(width - 1, 1) * _around_zero(seed, len(net.sizes), np.arange(have, classes), width)
    adagrad, gathers = len(net.sums) > 0, len(net.pulls) > 0
    return net._replace(
        top=np.concatenate([net.top, more]),
        top_sums=_longer(net.top_sums, classes) if adagrad else net.top_sums,
        top_pulls=_longer(net.top_pulls, classes) if gathers else net.top_pulls,
    )


def _deep(seed: int, layer: int, hidden: Sequence[int]) -> NDArray[np.float64]:
    below, here = hidden[layer - 1], hidden[layer]
    return (_reach(below, here) * _around_zero(seed, layer, np.arange(here), below + 1)).reshape(-1)


def _around_zero(seed: int, layer: int, rows: NDArray[np.int64], columns: int) -> NDArray[np.float64]:
    return 2.0 * uniform(seed, layer, rows, columns) - 1.0


def _reach(below: int, above: int) -> float:
    return 2.0 * math.sqrt(6.0 / (below + above))


def _longer(array: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
    return np.concatenate([array, np.zeros((rows - len(array), array.shape[1]))])
