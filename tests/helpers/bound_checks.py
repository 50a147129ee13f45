"""Checks of declared bounds, and arguments for every mistake bound."""

from __future__ import annotations

from typing import Any

import numpy as np

from novikoff.theory.bound_declaration import Evidence
from tests.helpers.streams import evidence

BOUND_ARGUMENTS: dict[str, Any] = {
    "radius": 2.0, "margin": 0.5, "norm": 3.0, "loss": 4.0, "energy": 9.0, "slack": 1.0, "epsilon": 0.5, "norm2": 1.5,
    "radius2": 2.5, "features": 64, "norm1": 2.0, "radius_inf": 1.0, "p": 4.0, "radius_p": 1.5, "norm_q": 1.0,
    "literals": 3, "alpha": 2.0, "threshold": 64.0, "gained": 4, "floor": 0.5, "separation": 0.5, "weight": 3.0,
    "learning_rate": 0.1, "hypotheses": 1024, "errors": 2, "steps": 7,
}  # fmt: skip


def evidence_of_target(**target: float) -> Evidence:
    nothing = evidence(np.ones((1, 1)), np.ones(1), np.ones(2), False)
    return nothing._replace(target=target)


def check_bounds(model: Any, facts: Evidence) -> int:
    """Assert every bound that the evidence allows to evaluate; return their number."""
    spoke = 0
    for bound in model.bounds():
        allowed = bound.value(facts)
        if allowed is not None:
            spoke += 1
            assert getattr(model.ledger_, bound.counts) <= allowed * (1 + 1e-9), (model, bound.name)
            assert model.ledger_.mistakes <= allowed * (1 + 1e-9)
    return spoke
