"""Sizes of classes of Boolean functions of n variables.

Functions are counted, not formulas, unless the docstring calls the number a bound. A literal is a variable or its
negation. A term is a conjunction of literals that has no variable twice, a clause is such a disjunction. The empty
term is true and the empty clause is false.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import NamedTuple

from novikoff.errors import InputError
from novikoff.theory import boolean_bounds, validation
from novikoff.theory import class_size as sizes
from novikoff.theory.class_size import ClassSize
from novikoff.theory.directed_rounding import UP
from novikoff.theory.factorials import ln_factorial

MAX_COEFFICIENT_BITS = 10**7
"""Largest number of bits of the binomial coefficients that are summed."""
MAX_EXPONENTIAL_VARIABLES = 10**6
"""Largest n for which 2^n is computed as an integer."""

THRESHOLD_FUNCTIONS = (
    2, 4, 14, 104, 1_882, 94_572, 15_028_134, 8_378_070_864, 17_561_539_552_946, 144_130_531_453_121_108,
)  # fmt: skip
"""Numbers for n = 0 … 9 (Muroga, Tsuboi and Baugh 1970 up to 8; Gruzling 2006; OEIS A000609)."""
MONOTONE_FUNCTIONS = (
    2, 3, 6, 20, 168, 7_581, 7_828_354, 2_414_682_040_998, 56_130_437_228_687_557_907_788,
    286_386_577_668_298_411_128_469_151_667_598_498_812_366,
)  # fmt: skip
"""Dedekind's numbers for n = 0 … 9 (Wiedemann 1991 for 8; Jäkel, Van Hirtum et al. 2023 for 9; OEIS A000372)."""


def conjunctions(*, variables: int) -> ClassSize:
    """Return 3^n: each variable is present, negated or absent.

    The function that is always false is not counted; see `conjunctions_or_never`.

    >>> conjunctions(variables=10).exact
    59049
    """
    n = validation.check_variables(variables)
    return sizes.power_size(3, n)


def conjunctions_or_never(*, variables: int) -> ClassSize:
    """Return 3^n + 1: the conjunctions and the function that is always false.

    >>> conjunctions_or_never(variables=10).exact
    59050
    """
    size = conjunctions(variables=variables)
    if size.exact is not None:
        return sizes.exact_size(size.exact + 1, f"{size.formula} + 1")
    return ClassSize(UP.add(size.ln, Decimal("1e-1000")), None, f"{size.formula} + 1")  # ln(a + 1) ≤ ln a + 1/a


def disjunctions(*, variables: int) -> ClassSize:
    """Return 3^n, as for conjunctions."""
    return conjunctions(variables=variables)


def monotone_conjunctions(*, variables: int) -> ClassSize:
    """Return 2^n: each variable is present or absent."""
    return sizes.power_size(2, validation.check_variables(variables))


def monotone_disjunctions(*, variables: int) -> ClassSize:
    """Return 2^n, as for monotone conjunctions."""
    return monotone_conjunctions(variables=variables)


def parities(*, variables: int) -> ClassSize:
    """Return 2^n, one parity for each set of variables."""
    return sizes.power_size(2, validation.check_variables(variables))


def symmetric_functions(*, variables: int) -> ClassSize:
    """Return 2^(n+1): the value depends on the number of true variables."""
    return sizes.power_size(2, validation.check_variables(variables) + 1)


def k_cnf(*, variables: int, k: int) -> ClassSize:
    """Return the bound 2^N, N = Σ_{1≤i≤k} C(n, i)·2^i: each clause of up to k literals is present or absent.

    >>> k_cnf(variables=10, k=3).formula
    '2^1160'
    """
    return sizes.power_size(2, _count_clauses(variables, k), bound=True)


def k_dnf(*, variables: int, k: int) -> ClassSize:
    """Return the bound 2^N, as for k-CNF, with terms."""
    return k_cnf(variables=variables, k=k)


def k_term_dnf(*, variables: int, k: int) -> ClassSize:
    """Return the bound 3^(nk): k terms, of which one to k are different.

    >>> k_term_dnf(variables=10, k=3).formula
    '3^30'
    """
    return sizes.power_size(3, validation.check_variables(variables) * _check_k(k), bound=True)


def k_clause_cnf(*, variables: int, k: int) -> ClassSize:
    """Return the bound 3^(nk), as for k-term DNF, with clauses."""
    return k_term_dnf(variables=variables, k=k)


def k_decision_lists(*, variables: int, k: int) -> ClassSize:
    """Return the bound 2·3^N·N!, N being the number of terms of 1 to k literals (Rivest 1987).

    Each term is absent, answers yes or answers no; the terms have any order; the list has a default answer.

    >>> k_decision_lists(variables=2, k=1).exact
    3888
    """
    many = _count_clauses(variables, k)
    short = many * many.bit_length() <= sizes.MAX_EXACT_BITS
    written = math.factorial(many) if short else None
    order = ClassSize(ln_factorial(many).high, written, f"{many}!")
    both = sizes.product_size(sizes.to_class_size(2), sizes.power_size(3, many), order, formula=f"2·3^{many}·{many}!")
    return both._replace(bound=True)


def threshold_functions(*, variables: int) -> ClassSize:
    """Return the number of linear threshold functions: exact up to n = 9, beyond that a bound.

    The bound is 2·Σ_{i≤n} C(2^n − 1, i), the number of ways to divide 2^n points in general position by a hyperplane
    (Schläfli; Winder 1963; Cover 1965).

    >>> threshold_functions(variables=4).exact, threshold_functions(variables=10).bound
    (1882, True)
    """
    n = validation.check_variables(variables)
    if n < len(THRESHOLD_FUNCTIONS):
        return sizes.exact_size(THRESHOLD_FUNCTIONS[n], f"{THRESHOLD_FUNCTIONS[n]:,}")
    if n * n <= 10**4:
        count = 2 * sum(math.comb(2**n - 1, i) for i in range(n + 1))
        return sizes.exact_size(count, f"2·Σ_{{i≤{n}}} C(2^{n} − 1, i)", bound=True)
    return sizes.power_size(2, n * n, bound=True)  # For n ≥ 2 the sum is at most this.


def monotone_functions(*, variables: int) -> ClassSize:
    """Return the number of monotone functions: Dedekind's number up to n = 9, beyond that a bound.

    The bound is 3^C(n, ⌊n/2⌋) (Hansel 1966).

    >>> monotone_functions(variables=4).exact
    168
    """
    n = validation.check_variables(variables)
    if n < len(MONOTONE_FUNCTIONS):
        return sizes.exact_size(MONOTONE_FUNCTIONS[n], f"{MONOTONE_FUNCTIONS[n]:,}")
    validation.check_count("n, the number of variables,", n, 1, MAX_EXPONENTIAL_VARIABLES)
    return sizes.power_size(3, math.comb(n, n // 2), f"3^C({n}, {n // 2})", bound=True)


def boolean_functions(*, variables: int) -> ClassSize:
    """Return 2^(2^n), the number of all functions.

    >>> boolean_functions(variables=3).exact, round(boolean_functions(variables=100).log10.log10(), 2)
    (256, Decimal('29.58'))
    """
    n = validation.check_count("n, the number of variables,", variables, 1, MAX_EXPONENTIAL_VARIABLES)
    return sizes.power_size(2, 2**n, f"2^(2^{n})")


def _check_k(k: int) -> int:
    return validation.check_count("k", k, 1)


def _count_clauses(variables: int, k: int) -> int:
    n, most = validation.check_variables(variables), _check_k(k)
    if most >= n:
        return int(3 ** validation.check_count("n, the number of variables,", n, 1, MAX_EXPONENTIAL_VARIABLES)) - 1
    if n.bit_length() * most * most > MAX_COEFFICIENT_BITS:
        raise InputError(
            f"There are too many clauses of up to {most:,} of {n:,} variables to count: choose a smaller k."
        )
    return boolean_bounds.clauses(features=n, literals=most)


class HypothesisClass(NamedTuple):
    """A named class with the function that returns its size."""

    size: Callable[..., ClassSize]
    about: str
    takes_k: bool = False


CLASSES = {
    "conjunctions": HypothesisClass(conjunctions, "conjunctions of literals"),
    "disjunctions": HypothesisClass(disjunctions, "disjunctions of literals"),
    "monotone-conjunctions": HypothesisClass(monotone_conjunctions, "conjunctions of variables, none negated"),
    "monotone-disjunctions": HypothesisClass(monotone_disjunctions, "disjunctions of variables, none negated"),
    "parities": HypothesisClass(parities, "parities of sets of variables"),
    "symmetric-functions": HypothesisClass(symmetric_functions, "functions of how many variables are true"),
    "k-cnf": HypothesisClass(k_cnf, "conjunctions of clauses of up to k literals", True),
    "k-dnf": HypothesisClass(k_dnf, "disjunctions of terms of up to k literals", True),
    "k-term-dnf": HypothesisClass(k_term_dnf, "disjunctions of up to k terms", True),
    "k-clause-cnf": HypothesisClass(k_clause_cnf, "conjunctions of up to k clauses", True),
    "k-decision-lists": HypothesisClass(k_decision_lists, "decision lists whose tests have up to k literals", True),
    "threshold-functions": HypothesisClass(threshold_functions, "linear threshold functions"),
    "monotone-functions": HypothesisClass(monotone_functions, "monotone functions"),
    "boolean-functions": HypothesisClass(boolean_functions, "all Boolean functions"),
}
