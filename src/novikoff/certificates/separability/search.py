"""Search for a separability proof. Methods are tried in this order until one gives an exactly verified proof:

1. contradictions: a zero row, or two opposite rows;
2. the Perceptron with a margin, which finds a separator quickly unless the margin is small;
3. the cycling Perceptron, for small integer data: its weights repeat if nothing separates;
4. the exact simplex method, for small data: it always decides;
5. linear programs in floating point on a growing set of rows. Rows that the separator misclassifies are added until it
   misclassifies none, or until the rows contradict each other.

Floating-point results only guide the search.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from novikoff.base.internals import silence_order_warnings
from novikoff.certificates.separability import cycling_perceptron, gordan, linear_program
from novikoff.certificates.separability.proofs import DataDescription, NotSeparable, Separable, Undecided
from novikoff.certificates.separability.signed_rows import SignedExamples, scale_to_integers
from novikoff.certificates.separability.simplify import simplify_witness, unscale_columns
from novikoff.errors import InputError, WeightOverflowError
from novikoff.theory.geometry import exact_simplex

MAX_EXACT_VALUES = 30_000
"""Largest number of values for the exact simplex method if floating point does not decide."""
MAX_EXACT_FIRST_VALUES = 600
"""Largest number of values for which the exact simplex method is tried first."""
INNER_PASSES = 50
"""Passes of the Perceptron over rows near the margin, for each pass over all."""
MIN_CALL_TERMS = 10**4
"""Least number of terms in a call of the Perceptron."""
PROGRESS_FACTOR = 0.9
"""Required reduction of misclassified rows each time that the passes double."""
MAX_FRUITLESS_PROGRAMS = 4
"""Maximum number of successive linear programs without progress."""
UNRELIABLE_GAIN = 1e-6
"""Gain up to which a linear program may be wrong about separability."""

ProgressPrinter: TypeAlias = Callable[[str], None]
Decision: TypeAlias = Separable | NotSeparable


class SeparabilitySearch:
    """One search, with the methods tried and the best u so far."""

    def __init__(
        self, examples: SignedExamples, about: DataDescription, passes: int, seconds: float, tell: ProgressPrinter
    ) -> None:
        self.examples, self.about, self.passes, self.seconds, self.tell = examples, about, passes, seconds, tell
        self.until = time.perf_counter() + seconds
        self.tried: list[str] = []
        self.best = np.zeros(examples.matrix.shape[1])
        """Of scaled columns."""
        self.missed = examples.count
        values = examples.count * examples.matrix.shape[1]
        self.small = values <= cycling_perceptron.MAX_VALUES and examples.is_integral()
        self.tiny = values <= MAX_EXACT_FIRST_VALUES

    def run(self) -> Separable | NotSeparable | Undecided:
        for attempt in (
            self._try_contradiction,
            self._try_perceptron,
            self._try_cycling,
            self._try_exact,
            self._try_linear_programs,
        ):
            proof = attempt()
            if proof is not None:
                return proof
        witness = unscale_columns(self.examples, self.best)
        return Undecided.from_witness(self.examples, self.about, witness, self.seconds, tuple(self.tried))

    def _remaining_seconds(self) -> float:
        return self.until - time.perf_counter()

    def _note_attempt(self, what: str) -> None:
        self.tried.append(what)
        self.tell(what)

    # --- Methods ---

    def _try_contradiction(self) -> NotSeparable | None:
        self._note_attempt("rows that contradict each other")
        return self._prove_not_separable(gordan.find_contradiction(self.examples))

    def _try_perceptron(self) -> Separable | None:
        """Run the Perceptron with margin g = R² for as long as the number of misclassified rows falls.

        The margin drives it beyond a mere separator.
        """
        from novikoff.linear.perceptron import Perceptron

        thick = float(np.asarray(self.examples.scaled.power(2).sum(axis=1)).max())
        learner = Perceptron(fit_intercept=False, margin=thick)
        until, next_check, before = time.perf_counter() + self._remaining_seconds() / 2, 4, 2 * self.examples.count
        self._note_attempt(f"the Perceptron, up to {self.passes:,} passes")
        try:
            for done in range(1, self.passes + 1):
                missed = self._run_pass(learner, 2.0 * thick)
                if missed == 0 or time.perf_counter() > until:
                    break
                if done == next_check:
                    if missed > PROGRESS_FACTOR * before:
                        break
                    next_check, before = 2 * next_check, missed
        except (WeightOverflowError, InputError):  # values outside its range: other methods may succeed
            return None
        return self._prove_separable(learner.coef_[0])

    def _run_pass(self, learner: Any, near: float) -> int:
        """Run one pass over all rows, then several over the few rows near the margin; return the rows missed by the
        first.

        The bound on updates holds for any order.
        """
        matrix, signs = self.examples.scaled, self.examples.signs
        silence_order_warnings(learner)
        learner.partial_fit(matrix, signs, classes=[-1, 1])
        scores = signs * (matrix @ learner.coef_[0])
        missed = int(np.count_nonzero(scores <= 0.0))
        few = np.flatnonzero(scores < near)
        # Calls are expensive: repeat short rows within one call.
        at_once = max(1, min(INNER_PASSES, MIN_CALL_TERMS // max(1, int(np.diff(matrix.indptr)[few].sum()))))
        few = np.tile(few, at_once)
        part, part_signs, updates = matrix[few], signs[few], learner.ledger_.updates
        for _ in range(INNER_PASSES // at_once if missed else 0):
            learner.partial_fit(part, part_signs)
            if learner.ledger_.updates == updates:
                break
            updates = learner.ledger_.updates
        return missed

    def _try_cycling(self) -> NotSeparable | None:
        if not self.small:
            return None
        self._note_attempt(f"the cycling Perceptron, up to {self.passes:,} passes")
        found = cycling_perceptron.find_cycle(
            self.examples, self.passes, time.perf_counter() + self._remaining_seconds() / 4
        )
        if found is None:
            return None
        cycle, counts = found
        rows = tuple(i for i, count in enumerate(counts) if count)
        return self._prove_not_separable((rows, tuple(counts[i] for i in rows)), cycle)

    def _try_exact(self) -> Decision | None:
        if not self.tiny:
            return None
        proof, _ = self._solve_exactly(np.arange(self.examples.count))
        return proof

    def _try_linear_programs(self) -> Decision | None:
        """Solve linear programs on a growing set of rows, with random heights after one without progress."""
        active, tries = self._first_rows(), 0
        random = np.random.default_rng(0)
        while self._remaining_seconds() > 0.0 and tries < MAX_FRUITLESS_PROGRAMS:
            self._note_attempt(f"linear programming on {len(active):,} of {self.examples.count:,} rows")
            heights = random.uniform(0.5, 2.0, len(active)) if tries else np.ones(len(active))
            proof, u = self._interpret_solution(active, self._solve_linear_program(active, heights))
            if proof is not None:
                return proof
            more = self._find_worst_missed(self.best if u is None else u, active)
            tries = tries + 1 if u is None or len(more) == 0 else 0
            active = np.union1d(active, more)
        return None

    def _interpret_solution(
        self, active: NDArray[np.int64], solved: linear_program.MaxMarginSolution | None
    ) -> tuple[Decision | None, NDArray[np.float64] | None]:
        """Return a proof, or a separator of these rows that misses others, or neither."""
        if solved is not None:
            yes = self._prove_separable(solved.separator)
            if yes is not None or solved.gain > UNRELIABLE_GAIN:
                return yes, solved.separator
            used = np.flatnonzero(solved.weights)
            weights = np.ldexp(solved.weights[used], -self.examples.row_exponents[active[used]])
            if gordan.has_exact_solver():
                no = self._prove_not_separable(gordan.find_combination(self.examples, active[used], weights))
                if no is not None:
                    return no, None
            else:
                self._note_attempt(
                    "weights that only exact solving could confirm, for which novikoff[exact] must be installed"
                )
        return self._solve_exactly(active) if len(active) * self._width() <= MAX_EXACT_VALUES else (None, None)

    def _solve_linear_program(
        self, active: NDArray[np.int64], heights: NDArray[np.float64]
    ) -> linear_program.MaxMarginSolution | None:
        """Solve the linear program on the columns that occur in these rows."""
        rows = self.examples.scaled[active].multiply(self.examples.signs[active][:, None]).tocsr()
        columns = np.unique(rows.indices)
        solved = linear_program.solve_max_margin(rows[:, columns], heights, self._remaining_seconds())
        if solved is None:
            return None
        separator = np.zeros(self.examples.matrix.shape[1])
        separator[columns] = solved.separator
        return solved._replace(separator=separator)

    def _solve_exactly(self, active: NDArray[np.int64]) -> tuple[Decision | None, NDArray[np.float64] | None]:
        """Return a proof, or the separator of these rows if it misses others."""
        self._note_attempt(f"the simplex method without rounding on {len(active):,} rows")
        part = self.examples.scaled[active].multiply(self.examples.signs[active][:, None]).tocsr()
        columns = np.unique(part.indices)
        decided = exact_simplex.decide(scale_to_integers(part[:, columns].T.toarray()), self.until)
        if decided is None:
            return None, None
        if decided.weights is not None:
            heights = self.examples.row_exponents[active].tolist()
            weights = [weight / Fraction(2) ** e for weight, e in zip(decided.weights, heights, strict=True)]
            used = [k for k, weight in enumerate(weights) if weight]
            return self._prove_not_separable(
                gordan.to_integer_counts([int(active[k]) for k in used], [weights[k] for k in used])
            ), None
        exact = decided.separator or []
        largest = max(map(abs, exact))
        separator = np.zeros(self.examples.matrix.shape[1])
        separator[columns] = [float(value / largest) for value in exact]
        proof = self._prove_separable(separator)
        if proof is None and len(active) == self.examples.count:
            self._note_attempt("a separator exists, but in double precision none was found")
        return proof, separator

    # --- Rows ---

    def _count_missed(self, u: NDArray[np.float64]) -> int:
        return int(np.count_nonzero(self.examples.signs * (self.examples.scaled @ u) <= 0.0))

    def _width(self) -> int:
        return int(np.count_nonzero(self.examples.lowest_exponents < 2**20))

    def _first_rows(self) -> NDArray[np.int64]:
        """Return the first active rows: all distinct rows if they are few, else those that the best u nearly misses.

        If it misses many, half of the rows are random: rows with flipped labels alone would not contradict each
        other.
        """
        _, rows = np.unique(gordan.fingerprint_rows(self.examples), return_index=True)
        max_rows = 3 * (self._width() + 1)
        if len(rows) <= max(max_rows, 2000):
            return np.sort(rows)
        rows = rows[np.argsort(self._distances(self.best)[rows], kind="stable")]
        if self.missed <= max_rows // 3:
            return np.sort(rows[:max_rows])
        others = np.random.default_rng(0).choice(rows[max_rows // 2 :], max_rows - max_rows // 2, replace=False)
        return np.union1d(rows[: max_rows // 2], others)

    def _distances(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        matrix = self.examples.scaled
        lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
        distances: NDArray[np.float64] = self.examples.signs * (matrix @ u) / np.maximum(lengths, 1e-300)
        return distances

    def _find_worst_missed(self, u: NDArray[np.float64], active: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows that u misses by most, about as many as there are columns."""
        distances = self._distances(u)
        distances[active] = np.inf
        missed = np.flatnonzero(distances <= 0.0)
        order = np.argsort(distances[missed], kind="stable")
        return missed[order[: self._width() + 100]]

    # --- Proofs ---

    def _prove_separable(self, u: NDArray[np.float64]) -> Separable | None:
        """Return the proof for u, simplified where that costs almost no margin; None if u does not separate."""
        if not (np.isfinite(u).all() and u.any()):
            return None
        missed = self._count_missed(u)
        if missed < self.missed:
            self.best, self.missed = u, missed
        witness = simplify_witness(self.examples, u)
        return None if witness is None else Separable.from_witness(self.examples, self.about, witness)

    def _prove_not_separable(
        self, found: gordan.Combination | None, cycle: cycling_perceptron.Cycle | None = None
    ) -> NotSeparable | None:
        if found is None or not gordan.sums_to_zero(self.examples, *found):
            return None
        return NotSeparable(self.about, *found, cycle)
