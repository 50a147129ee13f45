"""Mistake bounds of distributed runs. They have the usual form with M = Σ_n Σ_i μ_{i,n}·M_{i,n} mistakes.

Each proof compares two functions of the weights: one is linear and increases with each mistake, the other is convex and
has limited growth. Within a shard both change as in the original proof. Mixing gives the mean of the linear one, and at
most the mean of the convex one (Jensen). So a mistake in shard i counts μ_i on both sides:

    Perceptron          u·w ≥ M − L (‖u‖ free)        ‖w‖² ≤ R²·M, and Σ μ‖x‖² for `this run`
    MarginPerceptron    u·w ≥ γ·U                     max(‖w‖, R²/(εγ) + R) grows by (1−ε/2)γ an update at most
    PNormPerceptron     u·θ ≥ γ·M                     ‖θ‖_p² ≤ (p−1)·X_p²·M
    BalancedWinnow      u·ℓ ≥ γ·M − L                 ln Σ (α^ℓ + α^−ℓ) ≤ ln 2n + M·η²X²/2
    Winnow              Σ ℓ over the target's literals, and the total weight Σ α^ℓ
    SGD, constant rate  Σ μ(ℓ_t(w_t) − ℓ_t(u)) ≤ ‖u‖²/(2r) + (r/2)·Σ μ‖g‖², from ‖w − u‖²

L, the squared slack and the energy are sums with the same μ. There is no such bound for AdaGrad, because its steps
depend on the gradients of all shards.
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


def replace_counts_by_mixture(model: Any, ledger: DistributedLedger) -> Any:
    """Return a copy of the model whose ledger has the mixed energy and the number of examples weighted in the data.

    If the bounds of its learner hold for distributed runs, `bounds` of the copy bounds the mixed mistakes M.
    """
    twin = deserialize_model(serialize_model(model))
    counters = state_of(twin).ledger.book
    counters.counts[WEIGHTED] = ledger.weighted
    counters.sums[ENERGY] = round_up(ledger.mixture_sum("energy"))
    return twin


def derive_bounds(model: Any, ledger: DistributedLedger) -> Sequence[Bound]:
    """Return the bounds that hold for a distributed run. A run on one shard has all bounds of the learner."""
    twin, inner = replace_counts_by_mixture(model, ledger), inner_learner_of(model)
    if ledger.shards == 1:
        return tuple(twin.bounds())
    constant = type(inner).__name__ == "SGD" and inner.schedule == "constant"
    if not (type(inner).__name__ in SUPPORTED_LEARNERS or constant) or _needs_rows(model):
        return ()
    return tuple(bound._replace(statement=MIXED_COUNT_PREFIX + bound.statement) for bound in twin.bounds())


def _needs_rows(model: Any) -> bool:
    """Return whether the bound needs max‖x‖_p outside the space of the features, which is not measured on shards."""
    return type(inner_learner_of(model)).__name__ == "PNormPerceptron" and outcome_type_of(model) != "sides"
