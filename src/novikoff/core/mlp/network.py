"""A network of sigmoid units, layer upon layer, and back-propagation (Rumelhart, Hinton and Williams 1986).

Unit u of a layer gives a_u = σ(z_u), z_u its bias plus its weights times what the layer below gives; there is an output
unit for each class. With targets t (1 for the label's class, 0 for all others) the error of an example is

    squared         E = ½ Σ_c (a_c − t_c)²                               δ_c = (a_c − t_c)·a_c·(1 − a_c)
    cross-entropy   E = −Σ_c t_c·ln a_c + (1 − t_c)·ln(1 − a_c)          δ_c = a_c − t_c

δ_u = ∂E/∂z_u of a hidden unit is a_u·(1 − a_u)·Σ_v w_vu·δ_v over the units v above it, and ∂E/∂w_vu = δ_v·a_u. Weights
move by −rate·g, or by AdaGrad's −rate·g/√Σg², g being the gradient of one example or the mean over a mini-batch. What a
mini-batch has gathered is part of the state: it goes on wherever a batch of rows ends.

How weights move is in `core/mlp/training.py`. Weights of the first layer lie by slots, as those of all learners do, and
only features that are there cost anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.data.rows import Rows, end_term, first_term, weight_slot
from novikoff.schema import (
    CLASSES,
    MAX_COUNT,
    SLOTS,
    ArraySpec,
    Constraint,
    Entries,
    EqualTo,
    Finite,
    FreeSize,
    IndexInto,
    InRange,
    NamedSize,
    Schema,
)

N_GATHERED, N_STEPS, N_TOUCHED, N_CLASSES, NEW_CLASS_EXAMPLES = 0, 1, 2, 3, 4


class Network(NamedTuple):
    """Arrays are empty where the settings don't need them."""

    weights: NDArray[np.float64]
    """[slot][unit]: the first layer, slot 0 the biases."""
    sums: NDArray[np.float64]
    """Its Σg²; so are `deep_sums` and `top_sums`."""
    pulls: NDArray[np.float64]
    """Its gradient, gathered over a mini-batch; so are `deep_pulls` and `top_pulls`."""
    marks: NDArray[np.int8]
    """Slots that this mini-batch has touched, and `touched` the list of them."""
    touched: NDArray[np.int64]
    deep: NDArray[np.float64]
    """The layers above, each unit with its bias first, one after another."""
    deep_sums: NDArray[np.float64]
    deep_pulls: NDArray[np.float64]
    top: NDArray[np.float64]
    """[class][bias and unit of the last hidden layer]."""
    top_sums: NDArray[np.float64]
    top_pulls: NDArray[np.float64]
    counts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    """Units of each hidden layer."""
    rate: float
    decay: float
    """Step s has the length rate/s^decay."""
    batch: int
    entropy: bool
    bias: float = 1.0


def network_schema(hidden: Sequence[int], *, adagrad: bool, batch: int) -> Schema:
    """Return what a model file may hold of a network with these hidden layers.

    Slots that a mini-batch has touched are appended to `touched`, those that are not marked yet: as many must be marked
    as are listed, so that the list never outgrows the slots.
    """
    first, last, gathers = hidden[0], hidden[-1], batch > 1
    deep = sum(units * (below + 1) for below, units in pairwise(hidden))
    outputs = NamedSize("outputs")

    def real(needed: bool, count: int | NamedSize, *rest: int) -> ArraySpec:
        return ArraySpec("float64", count if needed else 0, *rest, checks=[Finite()])

    return Schema(
        {
            "sizes": ArraySpec("int64", len(hidden), checks=[EqualTo(hidden)]),
            "weights": real(True, SLOTS, first),
            "sums": real(adagrad, SLOTS, first),
            "pulls": real(gathers, SLOTS, first),
            "marks": ArraySpec("int8", SLOTS if gathers else 0, checks=[InRange(0, 1)]),
            "touched": ArraySpec("int64", SLOTS if gathers else 0, checks=[IndexInto(SLOTS)]),
            "deep": real(True, deep),
            "deep_sums": real(adagrad, deep),
            "deep_pulls": real(gathers, deep),
            "top": ArraySpec("float64", FreeSize("outputs"), last + 1, checks=[Finite()]),
            "top_sums": real(adagrad, outputs, last + 1),
            "top_pulls": real(gathers, outputs, last + 1),
            "counts": ArraySpec(
                "int64",
                5,
                checks=[
                    Entries(
                        gathered=(0, batch - 1),
                        steps=(0, MAX_COUNT),
                        touched=(0, SLOTS if gathers else 0),
                        known=(0, CLASSES),
                        new=(0, MAX_COUNT),
                    )
                ],
            ),
        },
        [
            Constraint("there are no more outputs than classes", lambda _, sizes: sizes["outputs"] <= sizes["classes"]),
            Constraint(
                "as many slots are marked as touched",
                lambda arrays, sizes: int(np.count_nonzero(arrays["marks"])) == sizes["touched"],
            ),
        ],
    )


class NetworkWorkspace(NamedTuple):
    """Room to work on one example: what units give, and their δ; hidden ones layer by layer, and outputs."""

    given: NDArray[np.float64]
    deltas: NDArray[np.float64]
    out: NDArray[np.float64]
    output_deltas: NDArray[np.float64]


@compiled
def sigmoid(z: float) -> float:
    e = math.exp(-abs(z))  # of a negative number only: it cannot overflow
    return 1.0 / (1.0 + e) if z >= 0.0 else e / (1.0 + e)


@compiled
def forward(net: Network, rows: Rows, i: int, n_classes: int, workspace: NetworkWorkspace) -> bool:
    """Compute the activations of all units for row i, with outputs for the first `n_classes`; return whether all sums
    are finite."""
    activations, units = workspace.given, net.sizes[0]
    for u in range(units):
        activations[u] = net.weights[0, u]
    for k in range(first_term(rows, i), end_term(rows, i)):
        x, j = np.float64(rows.values[k]), weight_slot(rows, i, k)
        for u in range(units):
            activations[u] += x * net.weights[j, u]
    all_finite = True
    for u in range(units):
        all_finite &= abs(activations[u]) < math.inf
        activations[u] = sigmoid(activations[u])
    below, here, at = 0, units, 0
    for layer in range(1, len(net.sizes)):
        inputs, units = net.sizes[layer - 1], net.sizes[layer]
        for u in range(units):
            z = net.deep[at]
            for p in range(inputs):
                z += net.deep[at + 1 + p] * activations[below + p]
            activations[here + u] = sigmoid(z)
            at += inputs + 1
        below, here = here, here + units
    for c in range(n_classes):
        z = net.top[c, 0]
        for p in range(units):
            z += net.top[c, 1 + p] * activations[below + p]
        workspace.out[c] = sigmoid(z)
    return all_finite


@compiled
def output_error(net: Network, y: int, n_classes: int, workspace: NetworkWorkspace) -> float:
    """Return the error E of an example of class y; write the δ of the output units."""
    total = 0.0
    for c in range(n_classes):
        a, t = workspace.out[c], 1.0 if c == y else 0.0
        workspace.output_deltas[c] = a - t
        if net.entropy:
            total -= math.log(max(a if c == y else 1.0 - a, 1e-300))
        else:
            workspace.output_deltas[c] *= a * (1.0 - a)
            total += 0.5 * (a - t) * (a - t)
    return total


@compiled
def backward(net: Network, n_classes: int, workspace: NetworkWorkspace) -> None:
    """Compute the δ of all hidden units from those of the outputs."""
    deltas, activations, layers = workspace.deltas, workspace.given, len(net.sizes)
    here = 0
    for layer in range(layers - 1):
        here += net.sizes[layer]
    for p in range(net.sizes[layers - 1]):
        total = 0.0
        for c in range(n_classes):
            total += net.top[c, 1 + p] * workspace.output_deltas[c]
        deltas[here + p] = total * activations[here + p] * (1.0 - activations[here + p])
    at = len(net.deep)
    for layer in range(layers - 1, 0, -1):
        inputs, units = net.sizes[layer - 1], net.sizes[layer]
        at -= units * (inputs + 1)
        below = here - inputs
        for p in range(inputs):
            total = 0.0
            for u in range(units):
                total += net.deep[at + u * (inputs + 1) + 1 + p] * deltas[here + u]
            deltas[below + p] = total * activations[below + p] * (1.0 - activations[below + p])
        here = below
