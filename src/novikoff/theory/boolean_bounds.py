"""Mistake bounds of the Boolean concept learners, and the sizes of their classes."""

from __future__ import annotations

import math


def clauses(*, features: int, literals: int) -> int:
    """Σ C(n, i)·2^i for i = 1 … k: how many clauses of up to k literals, no variable twice, there are.

    >>> clauses(features=3, literals=2)
    18
    """
    return sum(math.comb(features, i) * 2**i for i in range(1, min(literals, features) + 1))


def elimination(*, features: int, literals: int = 1) -> int:
    """M ≤ N − Σ C(n, i) + 1, N = `clauses`, for a target that is a conjunction of clauses of up to k literals.

    The first mistake drops, of the 2^i clauses over the same i variables, the one that is false; each later one drops
    at least one clause. For k = 1, conjunctions, this is n + 1.

    >>> elimination(features=10), elimination(features=10, literals=2)
    (11, 146)
    """
    false = sum(math.comb(features, i) for i in range(1, min(literals, features) + 1))
    return clauses(features=features, literals=literals) - false + 1


def halving(*, hypotheses: int, errors: int = 0) -> float:
    """M ≤ log₂|H| where a hypothesis makes no error; (e + 1)·log₂|H| + e where the best one makes e.

    A mistake halves the version space at least. When it is empty all hypotheses come back: then each of them has made
    an error since the last time, so this happens e times at most.

    >>> halving(hypotheses=1024), halving(hypotheses=1024, errors=2)
    (10.0, 32.0)
    """
    return (errors + 1) * math.log2(hypotheses) + errors


def rectangle(*, steps: int) -> int:
    """M ≤ 1 + Σ_j (d_j − 1), d_j the different values of feature j among the positive examples (`steps` is the sum).

    The first mistake makes the box; each later one moves a side out to another of these values.

    >>> rectangle(steps=18)
    19
    """
    return 1 + steps
