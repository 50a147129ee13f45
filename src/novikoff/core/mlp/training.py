"""Stochastic gradient for a network: what an example, or a mini-batch of them, does to all weights; and the loop."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled, compiled_read_only
from novikoff.core.mlp.network import (
    N_CLASSES,
    N_GATHERED,
    N_STEPS,
    N_TOUCHED,
    NEW_CLASS_EXAMPLES,
    Network,
    NetworkWorkspace,
    backward,
    forward,
    output_error,
)
from novikoff.core.updaters.base import max_sq_norm
from novikoff.data.rows import Rows, end_term, first_term, indices_sorted, row_sq_norm, weight_slot
from novikoff.ledger import EXAMPLES, LOSS, SQUARED_RADIUS, UPDATES, WEIGHTED, LedgerCounters, count_mistake


@compiled
def step_weight(weights: NDArray[np.float64], sums: NDArray[np.float64], j: int, g: float, rate: float) -> None:
    """Moves one weight along its gradient."""
    if len(sums) > 0:
        sums[j] += g * g
        if sums[j] > 0.0:
            weights[j] -= rate * g / math.sqrt(sums[j])
    else:
        weights[j] -= rate * g


@compiled
def apply_gathered(
    weights: NDArray[np.float64], sums: NDArray[np.float64], gathered: NDArray[np.float64], fraction: float, rate: float
) -> None:
    """Moves a row of weights by what was gathered for it, which begins anew."""
    for u in range(len(weights)):
        step_weight(weights, sums, u, fraction * gathered[u], rate)
        gathered[u] = 0.0


@compiled
def use_gradient(
    weights: NDArray[np.float64],
    sums: NDArray[np.float64],
    gathered: NDArray[np.float64],
    j: int,
    g: float,
    rate: float,
) -> None:
    """The gradient of one weight: gathered, or used at once where nothing is gathered."""
    if len(gathered) > 0:
        gathered[j] += g
    else:
        step_weight(weights, sums, j, g, rate)


@compiled
def apply_gradients(
    net: Network, rows: Rows, i: int, weight: float, n_classes: int, rate: float, workspace: NetworkWorkspace
) -> None:
    """Uses or gathers the gradient of row i; δ and what units give are on the desk."""
    activations, deltas = workspace.given, workspace.deltas
    units = net.sizes[0]
    for k in range(first_term(rows, i) - 1, end_term(rows, i)):
        bias = k < first_term(rows, i)
        x = weight if bias else weight * np.float64(rows.values[k])
        j = 0 if bias else weight_slot(rows, i, k)
        if len(net.pulls) > 0 and net.marks[j] == 0:
            net.marks[j] = 1
            net.touched[net.counts[N_TOUCHED]] = j
            net.counts[N_TOUCHED] += 1
        squared_gradients = net.sums[j] if len(net.sums) > 0 else net.deep[:0]
        gathered = net.pulls[j] if len(net.pulls) > 0 else net.deep[:0]
        for u in range(units):
            use_gradient(net.weights[j], squared_gradients, gathered, u, deltas[u] * x, rate)
    below, here, at = 0, units, 0
    for layer in range(1, len(net.sizes)):
        inputs, units = net.sizes[layer - 1], net.sizes[layer]
        for u in range(units):
            d = weight * deltas[here + u]
            use_gradient(net.deep, net.deep_sums, net.deep_pulls, at, d, rate)
            for p in range(inputs):
                use_gradient(net.deep, net.deep_sums, net.deep_pulls, at + 1 + p, d * activations[below + p], rate)
            at += inputs + 1
        below, here = here, here + units
    for c in range(n_classes):
        d = weight * workspace.output_deltas[c]
        squared_gradients = net.top_sums[c] if len(net.top_sums) > 0 else net.deep[:0]
        gathered = net.top_pulls[c] if len(net.top_pulls) > 0 else net.deep[:0]
        use_gradient(net.top[c], squared_gradients, gathered, 0, d, rate)
        for p in range(units):
            use_gradient(net.top[c], squared_gradients, gathered, 1 + p, d * activations[below + p], rate)


@compiled
def finish_batch(net: Network, rate: float) -> None:
    """Moves all weights by the mean of what was gathered."""
    fraction = 1.0 / net.batch
    for k in range(net.counts[N_TOUCHED]):
        j = net.touched[k]
        apply_gathered(net.weights[j], net.sums[j] if len(net.sums) > 0 else net.deep[:0], net.pulls[j], fraction, rate)
        net.marks[j] = 0
    net.counts[N_TOUCHED] = 0
    apply_gathered(net.deep, net.deep_sums, net.deep_pulls, fraction, rate)
    for c in range(len(net.top)):
        squared_gradients = net.top_sums[c] if len(net.top_sums) > 0 else net.deep[:0]
        apply_gathered(net.top[c], squared_gradients, net.top_pulls[c], fraction, rate)


@compiled
def argmax_output(out: NDArray[np.float64], n_classes: int) -> int:
    best = -1
    for c in range(n_classes):
        if best < 0 or out[c] > out[best]:
            best = c
    return best


@compiled
def step_network(
    net: Network, rows: Rows, i: int, y: int, weight: float, workspace: NetworkWorkspace, counters: LedgerCounters
) -> bool:
    """Example i, of class y; False, with nothing changed, where it is refused."""
    sq_norm = row_sq_norm(rows, i) + 1.0
    n_classes_before = net.counts[N_CLASSES]
    n_classes = max(n_classes_before, y + 1)
    if not (sq_norm < max_sq_norm(rows.values) and forward(net, rows, i, n_classes, workspace)):
        return False
    wrong = n_classes > n_classes_before or argmax_output(workspace.out, n_classes_before) != y
    counters.counts[EXAMPLES] += 1
    net.counts[N_CLASSES] = n_classes
    net.counts[NEW_CLASS_EXAMPLES] += n_classes > n_classes_before
    counters.sums[SQUARED_RADIUS] = max(counters.sums[SQUARED_RADIUS], sq_norm)
    if wrong:
        count_mistake(counters)
    counters.sums[LOSS] += weight * output_error(net, y, n_classes, workspace)
    backward(net, n_classes, workspace)
    rate = net.rate / float(net.counts[N_STEPS] + 1) ** net.decay
    apply_gradients(net, rows, i, weight, n_classes, rate, workspace)
    net.counts[N_GATHERED] += 1
    if net.counts[N_GATHERED] == net.batch:
        if net.batch > 1:
            finish_batch(net, rate)
        net.counts[N_GATHERED] = 0
        net.counts[N_STEPS] += 1
        counters.counts[UPDATES] += 1
    return True


@compiled
def learn_network(
    net: Network,
    rows: Rows,
    classes: NDArray[np.int64],
    weights: NDArray[np.float64],
    slots: int,
    workspace: NetworkWorkspace,
    counters: LedgerCounters,
    canonical: bool,
) -> int:
    """One pass; returns how many rows were taken: fewer than there are where one was refused."""
    for i in range(len(classes)):
        if not (canonical or indices_sorted(rows, i, slots)):
            return i
        weight = 1.0
        if len(weights) > 0:
            weight = weights[i]
            if weight == 0.0:
                if not row_sq_norm(rows, i) < max_sq_norm(rows.values):
                    return i
                continue
        if not step_network(net, rows, i, classes[i], weight, workspace, counters):
            return i
        if weight != 1.0:
            counters.counts[WEIGHTED] += 1
    return len(classes)


@compiled_read_only
def score_network_rows(
    net: Network,
    rows: Rows,
    slots: int,
    n_classes: int,
    canonical: bool,
    workspace: NetworkWorkspace,
    out: NDArray[np.float64],
) -> int:
    """What the output units give for each row; stops at a row that is to be refused; returns how many there were."""
    for i in range(len(out)):
        if not ((canonical or indices_sorted(rows, i, slots)) and row_sq_norm(rows, i) < max_sq_norm(rows.values)):
            return i
        forward(net, rows, i, n_classes, workspace)
        for c in range(n_classes):
            out[i, c] = workspace.out[c]
    return len(out)


@compiled
def first_invalid_row(rows: Rows, count: int, slots: int, canonical: bool) -> int:
    """The first row that is not proper, not finite or has a value of 0; the number of rows where all are good."""
    for i in range(count):
        if not ((canonical or indices_sorted(rows, i, slots)) and row_sq_norm(rows, i) < max_sq_norm(rows.values)):
            return i
    return count
