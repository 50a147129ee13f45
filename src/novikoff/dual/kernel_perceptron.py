"""Kernel Perceptron (Aizerman, Braverman and Rozonoer 1964; Freund and Schapire 1999).

Predict   sign Σ α_i·y_i·K(x_i, x); or with the mean of all hypotheses, or by the votes of all of them
Update    on a mistake: α_i += 1 for this example, which is stored; with a functional margin g also where y·w·φ(x) < g
Bound     those of the Perceptron with R² = max K(x, x) and any u = Σ β_i·φ(x_i); for more than two classes their sum
Source    Freund and Schapire, Large margin classification using the perceptron algorithm, 1999, section 3.2

Its predictions are those of the Perceptron in the space of φ, where K(x, z) = φ(x)·φ(z). Only mistakes are stored, and
once each: another mistake on the same example, in a later pass, increases its α_i. For more than two classes there is
one Perceptron for each class against the rest; they share the support examples and the values of K.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from novikoff.base.estimator import check_bool, check_choice, check_non_negative, check_positive, check_positive_int
from novikoff.core.kernel.expansion import N_DROPPED, N_ENTRIES, N_SUPPORT, NEW_CLASS_EXAMPLES
from novikoff.dual.kernel_base import KernelClassifier
from novikoff.errors import InputError
from novikoff.kernels.expression import Kernel
from novikoff.kernels.parser import to_kernel
from novikoff.linear.perceptron import perceptron_bounds
from novikoff.theory.bound_declaration import Bound, Evidence

__all__ = ["KernelPerceptron"]


@final
class KernelPerceptron(KernelClassifier):
    """The Perceptron in the space of a kernel: w = Σ α_i·y_i·φ(x_i) over its mistakes, which are stored.

    It supports any number of classes: one w for two classes, otherwise one w for each class (one-vs-all), and the label
    with the highest score is predicted. A new class may arrive at any time.

    On a stream that is not separable the number of support examples grows without limit: learning stops with an error
    at `max_memory_mb`; `budget` limits the number of support examples. Once one was dropped, no bound applies.

    Parameters
    ----------
    kernel : str
        Kernel: linear, poly:4, poly:3:1:0.5 (degree, constant, scale), quadratic, rbf:0.1, conjunctions, or made of
        these with +, *, ^ and exp(...); in Python also an expression of novikoff.kernels, a function of two tables that
        gives their Gram block, or "precomputed", where X is the Gram matrix.
    average : bool
        Predict with the mean of all hypotheses instead of the last one.
    vote : bool
        Predict by the votes of all hypotheses.
    margin : float
        Functional margin: update also when y·w·φ(x) is below it.
    tie : str
        What a score of exactly 0 predicts: positive or negative.
    budget : int
        Maximum number of support examples; unlimited if not given.
    drop : str
        The support example that is dropped for a new one: the oldest, the smallest (least α), or the smallest projected
        onto the others (project).
    max_memory_mb : float
        Memory limit for support examples, in megabytes.
    calibrate : bool
        Learn probabilities for predict_proba along with the weights.
    passes : int
        How often fit goes over the data.
    shuffle : bool
        Whether fit learns the rows in random order, a new one in each pass. Otherwise in the given order.
    random_state : int
        The seed of the random order.

    Examples
    --------
    >>> from novikoff import KernelPerceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> model = KernelPerceptron(kernel="quadratic", passes=10).fit(X, y)
    >>> model.predict(X).tolist(), model.n_support_
    ([0, 1, 1, 0], 4)
    """

    _outcome_type = "kernel"

    def __init__(
        self,
        *,
        kernel: str | Kernel | Callable[..., Any] = "quadratic",
        average: bool = False,
        vote: bool = False,
        margin: float = 0.0,
        tie: Literal["positive", "negative"] = "positive",
        budget: int | None = None,
        drop: Literal["oldest", "smallest", "project"] = "oldest",
        max_memory_mb: float = 2000.0,
        calibrate: bool = True,
        passes: int = 1,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> None:
        self.kernel = kernel
        self.average = average
        self.vote = vote
        self.margin = margin
        self.tie = tie
        self.budget = budget
        self.drop = drop
        self.max_memory_mb = max_memory_mb
        self.calibrate = calibrate
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    def _check_settings(self) -> None:
        to_kernel(self.kernel)
        check_bool(vote=self.vote)
        check_non_negative(margin=self.margin)
        check_choice(("positive", "negative"), tie=self.tie)
        check_choice(("oldest", "smallest", "project"), drop=self.drop)
        check_positive(max_memory_mb=self.max_memory_mb)
        if self.budget is not None:
            check_positive_int(budget=self.budget)
        if self.average and self.vote:
            raise InputError("average and vote exclude each other: choose one of them.")
        if self.vote and self.drop == "project":
            raise InputError("Hypotheses that vote can't be projected: choose drop='oldest' or 'smallest', or average.")

    def _votes(self) -> bool:
        return bool(self.vote)

    def _prediction_mode(self) -> str:
        return "vote" if self.vote else "average" if self.average else "last"

    def _inner_column_bounds(self) -> Sequence[Bound]:
        return [bound for bound in perceptron_bounds(float(self.margin), math.inf) if bound.any_order]

    def bounds(self) -> Sequence[Bound]:
        state: Any = self._checked_state()
        if state.ledger.weighted or state.dual.counts[N_DROPPED]:
            return ()
        if state.columns == 1:
            return perceptron_bounds(float(self.margin), state.ledger.energy)
        inner, new = self._inner_column_bounds(), int(state.dual.counts[NEW_CLASS_EXAMPLES])
        more = f" + {new}, for new classes" if new else ""

        def value(e: Evidence) -> float | None:
            each = [[allowed for bound in inner if (allowed := bound.value(part)) is not None] for part in e.parts]
            return sum(map(min, each)) + new if e.parts and all(each) else None

        names = " or ".join(bound.name for bound in inner)
        statement = f"M ≤ Σ_c M_c{more}; a mistake takes one of a column, and each column c is allowed M_c by {names}"
        return (Bound("sum of columns", "mistakes", statement, value),)

    def _run_facts(self) -> dict[str, Any]:
        state = self._require_fitted()
        many = {"mistakes_of_columns": state.dual.errors.tolist()} if state.columns > 1 else {}
        return {"n_support": self.n_support_, "n_dropped": self.n_dropped_, **many}

    # --- What was learned ---

    @property
    def n_support_(self) -> int:
        """The number of support examples."""
        return int(self._require_attribute("n_support_").dual.counts[N_SUPPORT])

    @property
    def n_dropped_(self) -> int:
        """The number of support examples that were dropped because of the budget."""
        return int(self._require_attribute("n_dropped_").dual.counts[N_DROPPED])

    @property
    def memory_bytes_(self) -> int:
        """The memory of the support examples and their coefficients, in bytes."""
        return int(self._require_attribute("memory_bytes_").support_bytes())

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        """The signed number of updates of each support example, a row for each column of weights: w = Σ
        dual_coef_·φ(x)."""
        state = self._require_attribute("dual_coef_")
        dual, entries = state.dual, int(state.dual.counts[N_ENTRIES])
        shown = np.zeros((state.columns, int(dual.counts[N_SUPPORT])))
        np.add.at(shown, (dual.into[:entries], dual.rows[:entries]), dual.amounts[:entries])
        return shown

    def _scheme_info(self) -> dict[str, Any]:
        classes = len(self._require_fitted().labels)
        return {"multiclass": "one-vs-all", "classes": classes} if classes > 2 else {}

    def describe(self) -> str:
        dropped = f", {self.n_dropped_:,} dropped" if self.n_dropped_ else ""
        size = f"{self.memory_bytes_ / 1e6:,.2f} MB"
        return f"{self.n_support_:,} examples are kept{dropped}, {size}, kernel {to_kernel(self.kernel)}."
