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


def build_network(
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
    """Return a network with these hidden layers and no output yet."""
    first = initial_first_layer(seed, spread, 0, slots, hidden[0])
    deep = np.concatenate(
        [np.zeros(0), *(_initial_hidden_layer(seed, layer, hidden) for layer in range(1, len(hidden)))]
    )
    top, gathers = np.zeros((0, hidden[-1] + 1)), batch > 1

    def zeros_like(array: NDArray[np.float64], needed: bool) -> NDArray[np.float64]:
        return np.zeros(array.shape if needed else (0, *array.shape[1:]))

    return Network(
        weights=first,
        sums=zeros_like(first, adagrad),
        pulls=zeros_like(first, gathers),
        marks=np.zeros(slots if gathers else 0, np.int8),
        touched=np.zeros(slots if gathers else 0, np.int64),
        deep=deep,
        deep_sums=zeros_like(deep, adagrad),
        deep_pulls=zeros_like(deep, gathers),
        top=top,
        top_sums=zeros_like(top, adagrad),
        top_pulls=zeros_like(top, gathers),
        counts=np.zeros(5, np.int64),
        sizes=np.array(hidden, np.int64),
        rate=rate,
        decay=decay,
        batch=batch,
        entropy=entropy,
    )


def initial_first_layer(seed: int, spread: float, start: int, stop: int, units: int) -> NDArray[np.float64]:
    """Return the weights of the first layer in the slots from start to stop."""
    return spread * _symmetric_uniform(seed, 0, np.arange(start, stop), units)


def add_outputs(net: Network, classes: int, seed: int) -> Network:
    """Return the network with an output unit for each class."""
    n_outputs, width = net.top.shape
    if classes <= n_outputs:
        return net
    # Not scaled by the number of classes, which is unknown in a stream.
    new_outputs = _init_range(width - 1, 1) * _symmetric_uniform(
        seed, len(net.sizes), np.arange(n_outputs, classes), width
    )
    adagrad, gathers = len(net.sums) > 0, len(net.pulls) > 0
    return net._replace(
        top=np.concatenate([net.top, new_outputs]),
        top_sums=_pad_rows(net.top_sums, classes) if adagrad else net.top_sums,
        top_pulls=_pad_rows(net.top_pulls, classes) if gathers else net.top_pulls,
    )


def _initial_hidden_layer(seed: int, layer: int, hidden: Sequence[int]) -> NDArray[np.float64]:
    below, here = hidden[layer - 1], hidden[layer]
    return (_init_range(below, here) * _symmetric_uniform(seed, layer, np.arange(here), below + 1)).reshape(-1)


def _symmetric_uniform(seed: int, layer: int, rows: NDArray[np.int64], columns: int) -> NDArray[np.float64]:
    return 2.0 * uniform(seed, layer, rows, columns) - 1.0


def _init_range(below: int, above: int) -> float:
    return 2.0 * math.sqrt(6.0 / (below + above))


def _pad_rows(array: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
    return np.concatenate([array, np.zeros((rows - len(array), array.shape[1]))])
