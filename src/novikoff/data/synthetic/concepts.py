"""Streams from concept classes with known ground truth, on which the theorems can be observed.

    Boolean     conjunction, disjunction, m_of_n, k_cnf, dnf, xor: rows of n attributes that are active (1) or not
    real        linear_threshold, rectangle: n numbers

The literals of a Boolean concept are true independently of each other, with the probability that gives a share
`balance` of positive examples; all other attributes are active with probability `density`. So sparse streams have
positive examples, too. With `balance=None` every attribute is active with probability `density`, including the relevant
ones.

Equal settings give equal examples, byte for byte, in batches of any size.
"""

from __future__ import annotations

from typing import Any, TypedDict, Unpack

from numpy.random import Generator
from numpy.typing import NDArray

from novikoff._compiled.lazy_numpy import np
from novikoff.data.synthetic import boolean, real_valued
from novikoff.data.synthetic.base import CONCEPT_RNG, RandomStream, RowsAndLabels, build_rng
from novikoff.data.synthetic.boolean import Formula
from novikoff.data.synthetic.checks import check_fraction, check_integer
from novikoff.data.synthetic.ground_truth import ConceptPhase, GroundTruth, Literals
from novikoff.data.synthetic.sampling import choose_block_rows, draw_boolean_rows
from novikoff.errors import InputError

MAX_EXPECTED_ACTIVE = 50
"""Expected number of active attributes in a row of many, unless `density` is given."""


class BooleanStreamOptions(TypedDict, total=False):
    """Options of all Boolean streams."""

    negated: bool
    """Whether literals are negated at random, with probability ½ (default: False)."""
    density: float | None
    """The probability that an attribute is active (default: ½, but at most 50 attributes in all)."""
    balance: float | None
    """The share of positive examples, before noise; None leaves it to the density (default: ½)."""
    noise: float
    """The probability that a label is flipped (default: 0)."""
    drift: int
    """How often one literal is replaced by another, spread evenly over the stream (default: 0)."""
    examples: int
    """Default: 1000."""
    random_state: int
    """Default: 0."""


def conjunction(n: int = 100, k: int = 5, **more: Unpack[BooleanStreamOptions]) -> RandomStream:
    """Positive if all k literals are true.

    >>> stream = conjunction(n=20, k=3, examples=500, random_state=1)
    >>> len(stream.truth.literals), stream.truth.separator[[0, *stream.truth.literals]].tolist()
    (3, [-5.0, 2.0, 2.0, 2.0])
    >>> X, y = stream.to_arrays()
    >>> X.shape, int((y * (X @ stream.truth.separator[1:] + stream.truth.separator[0])).min())
    ((500, 20), 1)
    """
    check_integer("k, the number of relevant literals,", k, 1)
    return _build_boolean_stream("conjunction", boolean.conjunction(k), n, **more)


def disjunction(n: int = 100, k: int = 5, **more: Unpack[BooleanStreamOptions]) -> RandomStream:
    """Positive if at least one of k literals is true.

    >>> from novikoff import Perceptron
    >>> from novikoff.theory.mistake_bounds import novikoff
    >>> stream = disjunction(n=50, k=2, examples=2000)
    >>> learner = Perceptron()
    >>> for X, y in stream.batches():
    ...     _ = learner.partial_fit(X, y, classes=[-1, 1])
    >>> learner.ledger_.mistakes <= novikoff(radius=stream.radius(), margin=stream.truth.gamma)
    True
    """
    check_integer("k, the number of relevant literals,", k, 1)
    return _build_boolean_stream("disjunction", boolean.disjunction(k), n, **more)


def m_of_n(n: int = 100, k: int = 5, m: int = 3, **more: Unpack[BooleanStreamOptions]) -> RandomStream:
    """Positive if at least m of k literals are true."""
    check_integer("k, the number of relevant literals,", k, 1)
    check_integer("m, how many literals must be true,", m, 1, k)
    return _build_boolean_stream("m-of-n", boolean.at_least(m, k), n, **more)


def k_cnf(n: int = 100, clauses: int = 3, width: int = 2, **more: Unpack[BooleanStreamOptions]) -> RandomStream:
    """Positive if every clause, of `width` literals, has a true one. No attribute occurs twice."""
    check_integer("clauses, their number,", clauses, 1)
    check_integer("width, the number of literals in a clause,", width, 1)
    return _build_boolean_stream("k-cnf", boolean.cnf(clauses, width), n, **more)


def dnf(n: int = 100, terms: int = 3, width: int = 2, **more: Unpack[BooleanStreamOptions]) -> RandomStream:
    """Positive if all literals of some term, each of `width` literals, are true. No attribute occurs twice."""
    check_integer("terms, their number,", terms, 1)
    check_integer("width, the number of literals in a term,", width, 1)
    return _build_boolean_stream("dnf", boolean.dnf(terms, width), n, **more)


def xor(n: int = 100, k: int = 2, **more: Unpack[BooleanStreamOptions]) -> RandomStream:
    """Positive if an odd number of k literals is true: half of the examples, regardless of `balance`."""
    check_integer("k, the number of relevant literals,", k, 1)
    return _build_boolean_stream("xor", boolean.xor(k), n, **more)


linear_threshold = real_valued.linear_threshold
rectangle = real_valued.rectangle

CONCEPTS: dict[str, Any] = {
    "conjunction": conjunction,
    "disjunction": disjunction,
    "m-of-n": m_of_n,
    "k-cnf": k_cnf,
    "dnf": dnf,
    "xor": xor,
    "linear-threshold": linear_threshold,
    "rectangle": rectangle,
}


class _BooleanSource:
    """Draws the values of the literals first, then the other attributes."""

    def __init__(self, formula: Formula, truth: GroundTruth, density: float, rate: float | None) -> None:
        self.formula, self.n, self.density, self.rate = formula, truth.n, density, rate
        self.phases = [np.array(phase.literals, np.int64).ravel() for phase in truth.phases]
        self.block_rows = choose_block_rows(truth.n, density, truth.k)

    def draw(self, rng: Generator, count: int, phase: int) -> RowsAndLabels:
        literals = self.phases[phase]
        negated = literals < 0
        drawn = rng.random((count, len(literals)))
        truths = (drawn < self.density) ^ negated if self.rate is None else drawn < self.rate
        rows = draw_boolean_rows(rng, count, self.n, self.density, np.abs(literals) - 1, truths ^ negated)
        return rows, np.where(self.formula.decide(truths), 1, -1).astype(np.int8)


def _build_boolean_stream(
    concept: str,
    formula: Formula,
    n: int,
    *,
    negated: bool = False,
    density: float | None = None,
    balance: float | None = 0.5,
    noise: float = 0.0,
    drift: int = 0,
    examples: int = 1000,
    random_state: int = 0,
) -> RandomStream:
    density = min(0.5, MAX_EXPECTED_ACTIVE / max(n, 1)) if density is None else density
    check_integer("n, the number of attributes,", n, formula.size, 2**31 - 2)
    check_integer("examples, their number,", examples, 1)
    check_integer("drift, the number of changes,", drift, 0, examples - 1)
    check_integer("random_state", random_state, 0)
    check_fraction("density, how likely an attribute is active,", density)
    check_fraction("noise, how likely a label is flipped,", noise)
    if balance is not None:
        check_fraction("balance, the share of positive examples,", balance, inside=True)
    if drift > 0 and n == formula.size:
        raise InputError(f"A concept of all {n} attributes can't drift: there is no other one to gain.")
    rng = build_rng(random_state, CONCEPT_RNG)
    phases = _draw_phases(rng, n, formula, drift, examples, negated)
    literals = np.array(phases[0].literals, np.int64).ravel()
    separator, margin = formula.separator(n, literals) if drift == 0 else (None, None)
    truth = GroundTruth(concept, formula.rule, n, formula.size, examples, phases, float(n), separator, margin)
    rate = None if balance is None else formula.rate(balance)
    return RandomStream(_BooleanSource(formula, truth, density, rate), truth, noise=noise, seed=random_state)


def _draw_phases(
    rng: Generator, n: int, formula: Formula, drift: int, examples: int, negated: bool
) -> tuple[ConceptPhase, ...]:
    """Return the literals of the first phase and their changes."""
    attributes = rng.choice(n, formula.size, replace=False) + 1
    literals = attributes * _draw_signs(rng, formula.size, negated)
    phases = [ConceptPhase(0, _group_literals(literals, formula))]
    held = set(attributes.tolist())
    for change in range(1, drift + 1):
        place = int(rng.integers(formula.size))
        gained = int(rng.integers(1, n + 1))
        while gained in held:
            gained = int(rng.integers(1, n + 1))
        held = held - {abs(int(literals[place]))} | {gained}
        literals[place] = gained * _draw_signs(rng, 1, negated)[0]
        phases.append(ConceptPhase(change * examples // (drift + 1), _group_literals(literals, formula)))
    return tuple(phases)


def _draw_signs(rng: Generator, count: int, negated: bool) -> NDArray[np.int64]:
    return 1 - 2 * rng.integers(0, 2, count) if negated else np.ones(count, np.int64)


def _group_literals(literals: NDArray[np.int64], formula: Formula) -> Literals:
    return tuple(map(tuple, literals.reshape(formula.groups, formula.width).tolist()))
