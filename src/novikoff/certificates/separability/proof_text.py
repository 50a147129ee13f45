"""Parsing of saved separability proofs. The parsed proof is not trusted: call `Proof.check`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.separability.cycling_perceptron import Cycle
from novikoff.certificates.separability.proofs import DataDescription, NotSeparable, Proof, Separable, Undecided
from novikoff.errors import InputError


def proof_from(document: dict[str, Any]) -> Proof:
    """Parse the document that `as_dict` wrote; raise InputError if it is malformed."""
    try:
        labels = document["labels"]
        about = DataDescription(
            document["examples"],
            document["features"],
            document["fit_intercept"],
            labels["negative"],
            labels["positive"],
        )
        if document["separable"] is False:
            pairs = document["combination"]
            rows, counts = tuple(row for row, _ in pairs), tuple(int(count, 0) for _, count in pairs)
            return NotSeparable(about, rows, counts, _parse_cycle(document.get("cycle")))
        u = _parse_weights(document["witness"], about)
        if document["separable"] is True:
            return Separable(about, u, document["margin"], document["radius"], document["allowance"])
        return Undecided(
            about, u, document["wrong"], document["margin"], document["time_limit"], tuple(document["tried"])
        )
    except (KeyError, TypeError, ValueError, IndexError) as problem:
        raise InputError(
            f"This is not a proof of novikoff separable: {problem!r}. Write it again with --proof."
        ) from None


def _parse_cycle(document: dict[str, Any] | None) -> Cycle | None:
    if document is None:
        return None
    return Cycle(int(document["first"]), int(document["last"]), tuple(int(w) for w in document["weights"]))


def _parse_weights(document: dict[str, Any], about: DataDescription) -> NDArray[np.float64]:
    u = np.zeros(about.features + bool(about.bias))
    for j, value in document["weights"]:
        if not 0 <= j < about.features:
            raise ValueError(f"feature {j}")
        u[j + bool(about.bias)] = value
    if about.bias:
        u[0] = document["intercept"]
    return u
