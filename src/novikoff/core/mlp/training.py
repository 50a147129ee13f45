"""Stochastic gradient for a network: what an example, or a mini-batch of them, does to all weights; and the loop."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled, compiled_reader
from novikoff.ledger import EXAMPLES, LOSS, SQUARED_RADIUS, UPDATES, WEIGHTED, Book, note_mistake
from novikoff.core.updaters.base import limit
from novikoff.core.mlp.network import (GATHERED, KNOWN, NEW, STEPS, TOUCHED, Desk, Network, backward, error_of, forward)
from novikoff.data.rows import (Rows, first, last, proper, slot, squared)


@compiled
def shift(weights: NDArray[np.float64], sums: NDArray[np.float64], j: int, g: float, rate: float) -> None:
    """Moves one weight along its gradient."""
    if len(sums) > 0:
        sums[j] += g * g
        if sums[j] > 0.0:
            weights[j] -= rate * g / math.sqrt(sums[j])
    else:
        weights[j] -= rate * g


@compiled
def settle_row(
    weights: NDArray[np.float64], sums: NDArray[np.float64], pulls: NDArray[np.float64], share: float, rate: float
) -> None:
    """Moves a row of weights by what was gathered for it, which begins anew."""
    for u in range(len(weights)):
        shift(weights, sums, u, share * pulls[u], rate)
        pulls[u] = 0.0


@compiled
def put_to_use(
    weights: NDArray[np.float64], sums: NDArray[np.float64], pulls: NDArray[np.float64], j: int, g: float, rate: float
) -> None:
    """The gradient of one weight: gathered, or used at once where nothing is gathered."""
    if len(pulls) > 0:
        pulls[j] += g
    else:
        shift(weights, sums, j, g, rate)


@compiled
def descend(net: Network, rows: Rows, i: int, weight: float, known: int, rate: float, desk: Desk) -> None:
    """Uses or gathers the gradient of row i; δ and what units give are on the desk."""
    given, deltas = desk.given, desk.deltas
    units = net.sizes[0]
    for k in range(first(rows, i) - 1, last(rows, i)):
        bias = k < first(rows, i)
        x = weight if bias else weight * np.float64(rows.values[k])
        j = 0 if bias else slot(rows, i, k)
        if len(net.pulls) > 0 and net.marks[j] == 0:
            net.marks[j] = 1
            net.touched[net.counts[TOUCHED]] = j
            net.counts[TOUCHED] += 1
        own = net.sums[j] if len(net.sums) > 0 else net.deep[:0]
        pulls = net.pulls[j] if len(net.pulls) > 0 else net.deep[:0]
        for u in range(units):
            put_to_use(net.slots[j], own, pulls, u, deltas[u] * x, rate)
    below, here, at = 0, units, 0
    for layer in range(1, len(net.sizes)):
        inputs, units = net.sizes[layer - 1], net.sizes[layer]
        for u in range(units):
            d = weight * deltas[here + u]
            put_to_use(net.deep, net.deep_sums, net.deep_pulls, at, d, rate)
            for p in range(inputs):
                put_to_use(net.deep, net.deep_sums, net.deep_pulls, at + 1 + p, d * given[below + p], rate)
            at += inputs + 1
        below, here = here, here + units
    for c in range(known):
        d = weight * desk.out_deltas[c]
        own = net.top_sums[c] if len(net.top_sums) > 0 else net.deep[:0]
        pulls = net.top_pulls[c] if len(net.top_pulls) > 0 else net.deep[:0]
        put_to_use(net.top[c], own, pulls, 0, d, rate)
        for p in range(units):
            put_to_use(net.top[c], own, pulls, 1 + p, d * given[below + p], rate)


@compiled
def finish_batch(net: Network, rate: float) -> None:
    """Moves all weights by the mean of what was gathered."""
    share = 1.0 / net.batch
    for k in range(net.counts[TOUCHED]):
        j = net.touched[k]
        settle_row(net.slots[j], net.sums[j] if len(net.sums) > 0 else net.deep[:0], net.pulls[j], share, rate)
        net.marks[j] = 0
    net.counts[TOUCHED] = 0
    settle_row(net.deep, net.deep_sums, net.deep_pulls, share, rate)
    for c in range(len(net.top)):
        own = net.top_sums[c] if len(net.top_sums) > 0 else net.deep[:0]
        settle_row(net.top[c], own, net.top_pulls[c], share, rate)


@compiled
def winner(out: NDArray[np.float64], known: int) -> int:
    best = -1
    for c in range(known):
        if best < 0 or out[c] > out[best]:
            best = c
    return best


@compiled
def step(net: Network, rows: Rows, i: int, y: int, weight: float, desk: Desk, book: Book) -> bool:
    """Example i, of class y; False, with nothing changed, where it is refused."""
    square = squared(rows, i) + 1.0
    before = net.counts[KNOWN]
    known = max(before, y + 1)
    if not (square < limit(rows.values) and forward(net, rows, i, known, desk)):
        return False
    wrong = known > before or winner(desk.out, before) != y
    book.counts[EXAMPLES] += 1
    net.counts[KNOWN] = known
    net.counts[NEW] += known > before
    book.sums[SQUARED_RADIUS] = max(book.sums[SQUARED_RADIUS], square)
    if wrong:
        note_mistake(book)
    book.sums[LOSS] += weight * error_of(net, y, known, desk)
    backward(net, known, desk)
    rate = net.rate / float(net.counts[STEPS] + 1) ** net.decay
    descend(net, rows, i, weight, known, rate, desk)
    net.counts[GATHERED] += 1
    if net.counts[GATHERED] == net.batch:
        if net.batch > 1:
            finish_batch(net, rate)
        net.counts[GATHERED] = 0
        net.counts[STEPS] += 1
        book.counts[UPDATES] += 1
    return True


@compiled
def learn_network(
    net: Network,
    rows: Rows,
    classes: NDArray[np.int64],
    weights: NDArray[np.float64],
    slots: int,
    desk: Desk,
    book: Book,
    tidy: bool,
) -> int:
    """One pass; returns how many rows were taken: fewer than there are where one was refused."""
    for i in range(len(classes)):
        if not (tidy or proper(rows, i, slots)):
            return i
        weight = 1.0
        if len(weights) > 0:
            weight = weights[i]
            if weight == 0.0:
                if not squared(rows, i) < limit(rows.values):
                    return i
                continue
        if not step(net, rows, i, classes[i], weight, desk, book):
            return i
        if weight != 1.0:
            book.counts[WEIGHTED] += 1
    return len(classes)


@compiled_reader
def judge_network(
    net: Network, rows: Rows, slots: int, known: int, tidy: bool, desk: Desk, out: NDArray[np.float64]
) -> int:
    """What the output units give for each row; stops at a row that is to be refused; returns how many there were."""
    for i in range(len(out)):
        if not ((tidy or proper(rows, i, slots)) and squared(rows, i) < limit(rows.values)):
            return i
        forward(net, rows, i, known, desk)
        for c in range(known):
            out[i, c] = desk.out[c]
    return len(out)


@compiled
def first_improper(rows: Rows, count: int, slots: int, tidy: bool) -> int:
    """The first row that is not proper, not finite or has a value of 0; the number of rows where all are good."""
    for i in range(count):
        if not ((tidy or proper(rows, i, slots)) and squared(rows, i) < limit(rows.values)):
            return i
    return count
