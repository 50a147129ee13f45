"""Which theorems hold for a mixed run, and why: with M = Σ_n Σ_i μ_{i,n}·M_{i,n}, what they say is the same.

Each of these proofs follows two numbers of the weights: one that is linear in them and gains at each mistake, and one
that is convex and can't have grown much. Within a shard both change as they always do. Mixing takes the mean of the
first, and at most the mean of the second (Jensen), so that a mistake in shard i counts μ_i on either side:

    Perceptron          u·w ≥ M − L (‖u‖ free)        ‖w‖² ≤ R²·M, and Σ μ‖x‖² for `this run`
    MarginPerceptron    u·w ≥ γ·U                     max(‖w‖, R²/(εγ) + R) grows by (1−ε/2)γ an update at most
    PNormPerceptron     u·θ ≥ γ·M                     ‖θ‖_p² ≤ (p−1)·X_p²·M
    BalancedWinnow      u·ℓ ≥ γ·M − L                 ln Σ (α^ℓ + α^−ℓ) ≤ ln 2n + M·η²X²/2
    Winnow              Σ ℓ over the target's literals, and the total weight Σ α^ℓ
    SGD, constant rate  Σ μ(ℓ_t(w_t) − ℓ_t(u)) ≤ ‖u‖²/(2r) + (r/2)·Σ μ‖g‖², from ‖w − u‖²

L, the squared slack and the energy are sums with the same μ. For AdaGrad, whose steps depend on the gradients of all
shards, none of this is claimed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from novikoff.base.internals import inner_learner_of, outcome_type_of, state_of
from novikoff.distributed.ledger import DistributedLedger
from novikoff.distributed.measure import round_up
from novikoff.distributed.worker_tasks import deserialize_model, serialize_model
from novikoff.ledger import ENERGY, WEIGHTED
from novikoff.theory.bound_declaration import Bound

SUPPORTED_LEARNERS = ("Perceptron", "MarginPerceptron", "PNormPerceptron", "BalancedWinnow", "Winnow")
MIXED_COUNT_PREFIX = "M = Σ_n Σ_i μ_{i,n}·M_{i,n}: "


def with_mixed_counts(model: Any, ledger: DistributedLedger) -> Any:
    """The same model with the energy that the theorems ask for, and examples weighted only where they were so in the
    data: what `bounds` of it says holds of M as it is defined here, if it carries over."""
    twin = deserialize_model(serialize_model(model))
    counters = state_of(twin).ledger.book
    counters.counts[WEIGHTED] = ledger.weighted
    counters.sums[ENERGY] = round_up(ledger.mixed("energy"))
    return twin


def derive_bounds(model: Any, ledger: DistributedLedger) -> Sequence[Bound]:
    """Those of a model after a mixed run; of a single shard all that the learner has."""
    twin, inner = with_mixed_counts(model, ledger), inner_learner_of(model)
    if ledger.shards == 1:
        return tuple(twin.bounds())
    constant = type(inner).__name__ == "SGD" and inner.schedule == "constant"
    if not (type(inner).__name__ in SUPPORTED_LEARNERS or constant) or _needs_rows(model):
        return ()
    return tuple(bound._replace(statement=MIXED_COUNT_PREFIX + bound.statement) for bound in twin.bounds())


def _needs_rows(model: Any) -> bool:
    """Whether max‖x‖_p is asked for in a space other than that of the features: it is not measured on shards."""
    return type(inner_learner_of(model)).__name__ == "PNormPerceptron" and outcome_type_of(model) != "sides"
