"""What mixing does to each geometry: how far a shard has moved the weights, and where all of them together move them.

All shards of a round begin with the same weights, so that Σ μ_i·w_i = w₀ + Σ μ_i·(w_i − w₀): shards hand over how far
they have come, which is 0 for every weight that they have not touched, and weights that nobody touched stay as they
are to the last bit. Weights that are kept in another form (lazily scaled, as exponents) are brought to the form in
which the theorem wants them mixed:

    additive            w                  the theorem's own: ‖Σ μ_i·w_i‖² ≤ Σ μ_i·‖w_i‖²
    p-norm              θ                  ‖θ‖_p² is convex, too
    multiplicative      ℓ = log_α w        ln Σ α^ℓ is convex: weights are mixed as geometric means, and one that some
                                           shard has set to 0 is 0
    AdaGrad             w; G is summed     it is the sum over all gradients that there were, in whichever shard
    AROW                w; 1/σ is summed   likewise: each example adds to the confidence

Means of all hypotheses are mixed round by round. With a_i the mean of the hypotheses of shard i in this round, the new
mean is that of before, of T₀ steps, and Σ μ_i·a_i, of the T₁ − T₀ steps that all shards have made. Where `sums` are
Σ (t−1)^p·δ (parts/averages.py), a_i − w₀ = (T_i^p·(w_i − w₀) − (sums_i − sums₀))/(T_i^p − T₀^p).
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.errors import InputError
from novikoff.linear.margin_perceptron import ROUNDING, SQUARE, Measured
from novikoff.linear.p_norm_perceptron import Power, link
from novikoff.core.updaters.adagrad import (REACH, STEPS, AdaGrad, settle_one)
from novikoff.core.updaters.additive import Additive, Averaged
from novikoff.core.updaters.arow import Confident
from novikoff.core.updaters.elastic_net import (AREA, SCALE, SHIFT, Decayed, renew)
from novikoff.core.updaters.base import arrays
from novikoff.core.updaters.multiplicative import Multiplicative, weight

Floats = NDArray[np.float64]
Times = NDArray[np.int64]


class Moved(NamedTuple):
    """How far weights have moved, by what they are called in the table above."""

    mixed: dict[str, Floats]
    """To be multiplied by μ_i, and added up."""
    summed: dict[str, Floats]
    """To be added up as they are."""
    largest: dict[str, Floats]
    """Of which the largest counts."""


@singledispatch
def displacement(start: Any, end: Any, before: Times, after: Times) -> Moved:
    """From `start` to `end`, two geometries of one size; columns of weights had learned from so many examples."""
    raise InputError(f"Weights of the kind {type(start).__name__} can't be mixed.")


@singledispatch
def moved(start: Any, by: Moved, before: Times, after: Times) -> Any:
    """A new geometry, from `start` by what all shards together have moved it; `after` counts the steps of all."""
    raise InputError(f"Weights of the kind {type(start).__name__} can't be mixed.")


MIXED = (Additive, Averaged, Decayed, AdaGrad, Confident, Measured, Power, Multiplicative)


# --- Additive ---


@displacement.register(Additive)
@displacement.register(Measured)
def _(start: Any, end: Any, before: Times, after: Times) -> Moved:
    return _plain(_wide(end.slots) - _wide(start.slots))


@moved.register(Additive)
def _(start: Additive, by: Moved, before: Times, after: Times) -> Additive:
    return start._replace(slots=_stored(_wide(start.slots) + by.mixed["w"], start.slots))


@displacement.register(Averaged)
def _(start: Averaged, end: Averaged, before: Times, after: Times) -> Moved:
    change = _wide(end.slots) - _wide(start.slots)
    return _plain(change, mean=_mean_moved(change, end.sums - start.sums, before, after, start.tail))


@moved.register(Averaged)
def _(start: Averaged, by: Moved, before: Times, after: Times) -> Averaged:
    slots = _stored(_wide(start.slots) + by.mixed["w"], start.slots)
    change = _wide(slots) - _wide(start.slots)
    return start._replace(slots=slots, sums=_new_sums(start.sums, change, by.mixed["mean"], before, after, start.tail))


@moved.register(Measured)
def _(start: Measured, by: Moved, before: Times, after: Times) -> Measured:
    slots, scalars = _stored(_wide(start.slots) + by.mixed["w"], start.slots), start.scalars.copy()
    if by.mixed["w"].any():
        scalars[SQUARE], scalars[ROUNDING] = np.cumsum(np.square(_wide(slots)))[-1], 0.0  # one after another
    return start._replace(slots=slots, scalars=scalars)


# --- With penalties ---


@displacement.register(Decayed)
def _(start: Decayed, end: Decayed, before: Times, after: Times) -> Moved:
    first, last = _renewed(start), _renewed(end)
    change = _wide(last.slots) - _wide(first.slots)
    return _plain(change, mean=_round_mean(first.sums - last.sums, before, after) if len(end.sums) else None)


@moved.register(Decayed)
def _(start: Decayed, by: Moved, before: Times, after: Times) -> Decayed:
    first = _renewed(start)
    slots = _stored(_wide(first.slots) + by.mixed["w"], first.slots)
    sums = first.sums - _times(by.mixed["mean"], after - before) if len(first.sums) else first.sums
    return first._replace(slots=slots, sums=sums)


def _renewed(geometry: Decayed) -> Decayed:
    """The same with weights as they are: no scale, no shift; sums are then −Σ w_t."""
    copies: dict[str, Any] = {name: array.copy() for name, array in arrays(geometry).items()}
    copied = geometry._replace(**copies)
    if tuple(copied.scalars[[SCALE, SHIFT, AREA]]) != (1.0, 0.0, 0.0):
        renew(copied)
    return copied


# --- Each weight with its own step ---


@displacement.register(AdaGrad)
def _(start: AdaGrad, end: AdaGrad, before: Times, after: Times) -> Moved:
    first, last = _settled(start), _settled(end)
    change = _wide(last.slots[:, 0]) - _wide(first.slots[:, 0])
    if not len(end.sums):
        mean = None
    elif len(end.seen):
        mean = _round_mean(last.sums - first.sums, before, after)
    else:
        mean = _mean_moved(change, last.sums - first.sums, before, after, start.tail)
    squares = _wide(last.slots[:, 1]) - _wide(first.slots[:, 1])
    return Moved(_named(w=change, mean=mean), {"G": squares}, {"reach": end.scalars[[REACH]]})


@moved.register(AdaGrad)
def _(start: AdaGrad, by: Moved, before: Times, after: Times) -> AdaGrad:
    first = _settled(start)
    slots, sums, scalars = first.slots.copy(), first.sums, first.scalars.copy()
    slots[:, 0] = _wide(slots[:, 0]) + by.mixed["w"]
    slots[:, 1] = _wide(slots[:, 1]) + by.summed["G"]
    if len(sums) and len(first.seen):
        sums = sums + _times(by.mixed["mean"], after - before)
    elif len(sums):
        change = _wide(slots[:, 0]) - _wide(first.slots[:, 0])
        sums = _new_sums(sums, change, by.mixed["mean"], before, after, start.tail)
    scalars[REACH] = max(scalars[REACH], by.largest["reach"][0])
    scalars[STEPS] = after.max(initial=0)
    return first._replace(slots=slots, sums=sums, scalars=scalars, seen=np.full(len(first.seen), scalars[STEPS]))


def _settled(geometry: AdaGrad) -> AdaGrad:
    """The same with every weight up to date."""
    if not len(geometry.seen):
        return geometry
    copied = geometry._replace(slots=geometry.slots.copy(), seen=geometry.seen.copy(), sums=geometry.sums.copy())
    settle_all(copied)
    return copied


@compiled
def settle_all(geometry: AdaGrad) -> None:
    for j in range(len(geometry.slots)):
        settle_one(geometry, j)


@displacement.register(Confident)
def _(start: Confident, end: Confident, before: Times, after: Times) -> Moved:
    change = _wide(end.slots[:, 0]) - _wide(start.slots[:, 0])
    mean = _mean_moved(change, end.sums - start.sums, before, after, start.tail) if len(end.sums) else None
    with np.errstate(divide="ignore", invalid="ignore"):
        gained = 1.0 / _wide(end.slots[:, 1]) - 1.0 / _wide(start.slots[:, 1])
    gained[end.slots[:, 1] == start.slots[:, 1]] = 0.0  # also where both are 0
    return Moved(_named(w=change, mean=mean), {"confidence": gained}, {})


@moved.register(Confident)
def _(start: Confident, by: Moved, before: Times, after: Times) -> Confident:
    slots, sums, gained = start.slots.copy(), start.sums, by.summed["confidence"]
    slots[:, 0] = _wide(slots[:, 0]) + by.mixed["w"]
    with np.errstate(divide="ignore"):
        slots[:, 1] = np.where(gained > 0.0, 1.0 / (1.0 / _wide(slots[:, 1]) + gained), slots[:, 1])
    if len(sums):
        change = _wide(slots[:, 0]) - _wide(start.slots[:, 0])
        sums = _new_sums(sums, change, by.mixed["mean"], before, after, start.tail)
    return start._replace(slots=slots, sums=sums)


# --- Other links ---


@displacement.register(Power)
def _(start: Power, end: Power, before: Times, after: Times) -> Moved:
    return Moved({"theta": end.slots[:, 1] - start.slots[:, 1]}, {}, {"unit": end.scalars[[0]]})


@moved.register(Power)
def _(start: Power, by: Moved, before: Times, after: Times) -> Power:
    geometry = start._replace(slots=start.slots.copy(), scalars=start.scalars.copy())
    geometry.slots[:, 1] += by.mixed["theta"]
    geometry.scalars[0] = max(geometry.scalars[0], by.largest["unit"][0])
    link_all(geometry)
    return geometry


@compiled
def link_all(geometry: Power) -> None:
    for j in range(len(geometry.slots)):
        geometry.slots[j, 0] = link(geometry, geometry.slots[j, 1])


@displacement.register(Multiplicative)
def _(start: Multiplicative, end: Multiplicative, before: Times, after: Times) -> Moved:
    with np.errstate(invalid="ignore"):
        exponents = _wide(end.slots[:, 1]) - _wide(start.slots[:, 1])
    exponents[end.slots[:, 1] == start.slots[:, 1]] = 0.0  # also where both are −∞
    mean = None
    if len(end.sums):
        change = _wide(end.slots[:, 0]) - _wide(start.slots[:, 0])
        mean = _mean_moved(change, end.sums - start.sums, before, after, 1.0)
    return Moved(_named(exponents=exponents, mean=mean), {}, {})


@moved.register(Multiplicative)
def _(start: Multiplicative, by: Moved, before: Times, after: Times) -> Multiplicative:
    slots, sums = start.slots.copy(), start.sums
    raise_all(start._replace(slots=slots), by.mixed["exponents"])
    if len(sums):
        change = _wide(slots[:, 0]) - _wide(start.slots[:, 0])
        sums = _new_sums(sums, change, by.mixed["mean"], before, after, 1.0)
    return start._replace(slots=slots, sums=sums)


@compiled
def raise_all(geometry: Multiplicative, exponents: Floats) -> None:
    """Adds to the exponents; the weights follow."""
    for j in range(len(exponents)):
        if exponents[j] != 0.0:
            geometry.slots[j, 1] = max(np.float64(geometry.slots[j, 1]) + exponents[j], geometry.lowest)
            geometry.slots[j, 0] = weight(geometry, np.float64(geometry.slots[j, 1]))


# --- Common ---


def _plain(w: Floats, *, mean: Floats | None = None) -> Moved:
    return Moved(_named(w=w, mean=mean), {}, {})


def _named(**arrays: Floats | None) -> dict[str, Floats]:
    return {name: array for name, array in arrays.items() if array is not None}


def _wide(array: NDArray[np.floating]) -> Floats:
    return np.asarray(array, np.float64)


def _stored(w: Floats, like: NDArray[np.floating]) -> NDArray[np.floating]:
    return w.astype(like.dtype)


def _times(array: Floats, by_column: NDArray[Any]) -> Floats:
    """A number for each slot and column, times one for each column."""
    product: Floats = (array.reshape(-1, len(by_column)) * by_column).reshape(-1)
    return product


def _shares(by_column: Floats) -> Floats:
    """1/x, and 0 for 0: a column that no example has come to has not moved."""
    return np.divide(1.0, by_column, out=np.zeros(len(by_column)), where=by_column != 0.0)


def _round_mean(total: Floats, before: Times, after: Times) -> Floats:
    """a_i, from the sum of the hypotheses of this round."""
    return _times(total, _shares((after - before).astype(np.float64)))


def _mean_moved(change: Floats, sums: Floats, before: Times, after: Times, tail: float) -> Floats:
    """a_i − w₀, from w_i − w₀ and sums_i − sums₀."""
    end, begin = after.astype(np.float64) ** tail, before.astype(np.float64) ** tail
    return _times(_times(change, end) - sums, _shares(end - begin))


def _new_sums(sums: Floats, change: Floats, mean: Floats, before: Times, after: Times, tail: float) -> Floats:
    """The sums that make of the mean of before, and w₀ + Σ μ_i·(a_i − w₀) for the steps of this round, the new mean."""
    end, begin = after.astype(np.float64) ** tail, before.astype(np.float64) ** tail
    return sums + (_times(change, end) - _times(mean, end - begin))
