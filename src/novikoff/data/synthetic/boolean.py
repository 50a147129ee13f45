"""Boolean concepts as one family: at least `outer` groups have at least `inner` true literals.

    conjunction   k groups of one literal, all of them
    disjunction   k groups of one literal, at least one
    m of k        k groups of one literal, at least m
    k-CNF         clauses of k literals, all of them, each with at least one true literal
    DNF           terms, at least one of them, with all its literals true
    XOR           an odd number of literals is true: the only concept that is not such a threshold

No attribute occurs twice in a formula. That makes the share of positive examples computable, and decides separability:
at least m of k literals is a half-space. Two clauses or two terms of two literals are not: ab ∨ cd is true for 1100 and
0011 and false for 1010 and 0101, which have the same sum; (a ∨ b)(c ∨ d) is the opposite case.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.errors import import_optional


class Formula(NamedTuple):
    rule: str
    groups: int
    width: int
    inner: int
    outer: int
    parity: bool = False

    @property
    def size(self) -> int:
        """The number of literals."""
        return self.groups * self.width

    def decide(self, truths: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which examples are positive; a row of `truths` says which literals are true."""
        if self.parity:
            return truths.sum(axis=1) % 2 == 1
        groups = truths.reshape(-1, self.groups, self.width).sum(axis=2) >= self.inner
        return groups.sum(axis=1) >= self.outer

    def rate(self, balance: float) -> float:
        """Return the probability that each literal must have, independently, for this share of positive examples."""
        if self.parity:
            return 0.5
        return _solve_rate(self.width, self.inner, _solve_rate(self.groups, self.outer, balance))

    @property
    def needed(self) -> int | None:
        """m, where the formula means "at least m of its literals"; None where it is not a half-space."""
        if self.size == 1:
            return 1
        if self.parity or (self.width > 1 and self.groups > 1):
            return None
        return self.outer if self.width == 1 else self.inner

    def separator(self, n: int, literals: NDArray[np.int64]) -> tuple[NDArray[np.float64] | None, float | None]:
        """Return (bias, weights …) and the smallest y·separator·(1, x), as integers.

        s true literals give 2s − 2m + 1: at least 1 if s ≥ m, at most −1 otherwise. A literal x counts 2x, its negation
        2 − 2x.
        """
        if self.needed is None:
            return None, None
        weights = np.zeros(n + 1)
        weights[np.abs(literals)] = 2 * np.sign(literals)
        weights[0] = 2 * np.count_nonzero(literals < 0) - 2 * self.needed + 1
        weights.setflags(write=False)
        return weights, 1.0


def conjunction(k: int) -> Formula:
    return Formula("all literals are true", k, 1, 1, k)


def disjunction(k: int) -> Formula:
    return Formula("at least one literal is true", k, 1, 1, 1)


def at_least(m: int, k: int) -> Formula:
    return Formula(f"at least {m} of the literals are true", k, 1, 1, m)


def cnf(clauses: int, width: int) -> Formula:
    return Formula("every clause has a true literal", clauses, width, 1, clauses)


def dnf(terms: int, width: int) -> Formula:
    return Formula("the literals of at least one term are all true", terms, width, width, 1)


def xor(k: int) -> Formula:
    return Formula("an odd number of literals is true", k, 1, 1, 1, parity=True)


def _solve_rate(count: int, least: int, share: float) -> float:
    """Return q such that at least `least` of `count` independent events of probability q have probability `share`."""
    if least == 1:
        return -float(np.expm1(np.log1p(-share) / count))
    if least == count:
        return float(share ** (1.0 / count))
    found: Any = import_optional("scipy.special", "scipy", "This share of true formulas").betaincinv(
        least, count - least + 1, share
    )
    return float(found)
