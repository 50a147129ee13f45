"""Proofs that were written down, read back. Nothing in them is believed: see `Proof.check`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.separability.cycling_perceptron import Cycle
from novikoff.certificates.separability.proofs import (About, NotSeparable, Proof, Separable, Undecided)
from novikoff.errors import InputError


def proof_from(told: dict[str, Any]) -> Proof:
    """The proof that `as_dict` has written down; InputError where it is not one."""
    try:
        labels = told["labels"]
        about = About(told["examples"], told["features"], told["bias"], labels["negative"], labels["positive"])
        if told["separable"] is False:
            pairs = told["combination"]
            rows, counts = tuple(row for row, _ in pairs), tuple(int(count, 0) for _, count in pairs)
            return NotSeparable(about, rows, counts, _cycle(told.get("cycle")))
        u = _dense(told["witness"], about)
        if told["separable"] is True:
            return Separable(about, u, told["margin"], told["radius"], told["allowance"])
        return Undecided(about, u, told["wrong"], told["margin"], told["seconds"], tuple(told["tried"]))
    except (KeyError, TypeError, ValueError, IndexError) as problem:
        raise InputError(f"This is no proof of novikoff separable: {problem!r}. Write it anew with --proof.") from None


def _cycle(told: dict[str, Any] | None) -> Cycle | None:
    if told is None:
        return None
    return Cycle(int(told["first"]), int(told["last"]), tuple(int(w) for w in told["weights"]))


def _dense(told: dict[str, Any], about: About) -> NDArray[np.float64]:
    u = np.zeros(about.features + bool(about.bias))
    for j, value in told["weights"]:
        if not 0 <= j < about.features:
            raise ValueError(f"feature {j}")
        u[j + bool(about.bias)] = value
    if about.bias:
        u[0] = told["bias"]
    return u
