"""Mistake bounds of the Boolean concept learners, and the sizes of their hypothesis classes."""

from __future__ import annotations

import math


def clauses(*, features: int, literals: int) -> int:
    """Return the number of clauses with 1 to k literals over n variables, Σ_{i=1..k} C(n, i)·2^i.

    A clause has no variable twice. n is `features`, k is `literals`.

    >>> clauses(features=3, literals=2)
    18
    """
    return sum(math.comb(features, i) * 2**i for i in range(1, min(literals, features) + 1))


def elimination(*, features: int, literals: int = 1) -> int:
    """Return the bound of the elimination algorithm for conjunctions of clauses of up to k literals.

    M ≤ N − Σ C(n, i) + 1, where N is `clauses(n, k)`, n is `features` and k is `literals`. The first mistake drops
    one of the 2^i clauses over each set of i variables, the one that is false. Each later mistake drops at least one
    clause. For k = 1 the bound is n + 1.

    >>> elimination(features=10), elimination(features=10, literals=2)
    (11, 146)
    """
    false = sum(math.comb(features, i) for i in range(1, min(literals, features) + 1))
    return clauses(features=features, literals=literals) - false + 1


def halving(*, hypotheses: int, errors: int = 0) -> float:
    """Return the bound of the halving algorithm: log₂|H|, or (e + 1)·log₂|H| + e if the best one errs e times.

    |H| is `hypotheses`, e is `errors`. A mistake at least halves the version space. When it is empty, all hypotheses
    are restored. Each of them has then made an error since the last restoration, so this happens at most e times.

    >>> halving(hypotheses=1024), halving(hypotheses=1024, errors=2)
    (10.0, 32.0)
    """
    return (errors + 1) * math.log2(hypotheses) + errors


def rectangle(*, steps: int) -> int:
    """Return the bound of the rectangle learner, M ≤ 1 + Σ_j (d_j − 1).

    d_j is the number of distinct values of feature j among the positive examples; `steps` is the sum. The first
    mistake creates the box. Each later mistake moves a side out to another of these values.

    >>> rectangle(steps=18)
    19
    """
    return 1 + steps
