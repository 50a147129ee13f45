"""Train a multilayer perceptron by stochastic gradient descent, with one example or a mini-batch per step."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled, compiled_read_only
from novikoff.core.class_weights import class_weight, count_class
from novikoff.core.cursor import sample_weight
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
from novikoff.ledger import LedgerCounters, count_example, count_loss, count_mistake, count_sample_weight, count_update


@compiled
def step_weight(weights: NDArray[np.float64], sums: NDArray[np.float64], j: int, g: float, rate: float) -> None:
    """Move one weight along its gradient g; with AdaGrad, `sums` are the sums of g²."""
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
    """Move a row of weights along its gathered gradients, and reset those to 0."""
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
    """Use the gradient of one weight: add it to the gathered ones, or move the weight where nothing is gathered."""
    if len(gathered) > 0:
        gathered[j] += g
    else:
        step_weight(weights, sums, j, g, rate)


@compiled
def apply_gradients(
    net: Network, rows: Rows, i: int, weight: float, n_classes: int, rate: float, workspace: NetworkWorkspace
) -> None:
    """Use the gradient of row i in all layers; `workspace` holds its activations and the δ of all units."""
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
    """Move all weights along the mean of the gradients of a mini-batch."""
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
    """Return the first class with the largest output, −1 where there are no classes."""
    best = -1
    for c in range(n_classes):
        if best < 0 or out[c] > out[best]:
            best = c
    return best


# Stochastic gradient descent, for t = 1, 2, …:
#
#     out = network(x)                 forward          the prediction is the class with the largest output
#     if it is wrong: mistake          count_mistake
#     δ = ∂ loss(out, y) / ∂ units     backward
#     gather weight · δ · inputs       apply_gradients  or, without mini-batches, move the weights at once
#     after each mini-batch:           count_update
#         w = w − rate · mean          finish_batch     AdaGrad divides by √Σg² per weight


@compiled
def step_network(
    net: Network, rows: Rows, i: int, y: int, weight: float, workspace: NetworkWorkspace, counters: LedgerCounters
) -> bool:
    """Learn example i of class y; return False, with nothing changed, where it is rejected."""
    sq_norm = row_sq_norm(rows, i) + 1.0
    n_classes_before = net.counts[N_CLASSES]
    n_classes = max(n_classes_before, y + 1)
    if not (sq_norm < max_sq_norm(rows.values) and forward(net, rows, i, n_classes, workspace)):
        return False
    count_example(counters, sq_norm)
    net.counts[N_CLASSES] = n_classes
    net.counts[NEW_CLASS_EXAMPLES] += n_classes > n_classes_before
    if n_classes > n_classes_before or argmax_output(workspace.out, n_classes_before) != y:
        count_mistake(counters)
    count_loss(counters, weight * output_error(net, y, n_classes, workspace))
    backward(net, n_classes, workspace)
    rate = net.rate / float(net.counts[N_STEPS] + 1) ** net.decay
    apply_gradients(net, rows, i, weight, n_classes, rate, workspace)
    net.counts[N_GATHERED] += 1
    if net.counts[N_GATHERED] == net.batch:
        if net.batch > 1:
            finish_batch(net, rate)
        net.counts[N_GATHERED] = 0
        net.counts[N_STEPS] += 1
        count_update(counters, 0.0)
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
    """Learn the rows in one pass; return the number of rows learned: all, or those before a rejected row."""
    for i in range(len(classes)):
        if not (canonical or indices_sorted(rows, i, slots)):
            return i
        weight = sample_weight(weights, i)
        if weight == 0.0:
            if not row_sq_norm(rows, i) < max_sq_norm(rows.values):
                return i
            continue
        weight *= class_weight(counters.class_weights, classes[i])
        if not step_network(net, rows, i, classes[i], weight, workspace, counters):
            return i
        count_sample_weight(counters, weight)
        count_class(counters.class_weights, classes[i])
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
    """Write the outputs of each row up to one that is rejected; return their number."""
    for i in range(len(out)):
        if not ((canonical or indices_sorted(rows, i, slots)) and row_sq_norm(rows, i) < max_sq_norm(rows.values)):
            return i
        forward(net, rows, i, n_classes, workspace)
        for c in range(n_classes):
            out[i, c] = workspace.out[c]
    return len(out)


@compiled
def first_invalid_row(rows: Rows, count: int, slots: int, canonical: bool) -> int:
    """Return the first row that is not sorted, not finite or has a value of 0, or the number of rows."""
    for i in range(count):
        if not ((canonical or indices_sorted(rows, i, slots)) and row_sq_norm(rows, i) < max_sq_norm(rows.values)):
            return i
    return count
