"""Elimination, for conjunctions and k-CNF (Valiant 1984).

Predict   + where x satisfies every remaining literal (clause)
Update    start with all 2n literals (all clauses of up to k literals); on a positive example that was predicted
          negative, drop those that are false on it
Bound     M ≤ n + 1                    the target is a conjunction
          M ≤ N − Σ C(n, i) + 1        the target is a k-CNF; N clauses of i = 1 … k literals
Source    Valiant, A theory of the learnable, 1984

While some conjunction agrees with all labels, it errs on positive examples only. A false positive changes nothing: it
shows that no conjunction agrees, or that a label is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from novikoff.base.estimator import check_positive_int
from novikoff.base.learner_spec import BOOLEAN_VALUES, LearnerSpec
from novikoff.base.linear_classifier import LinearClassifier
from novikoff.base.model_state import ModelState
from novikoff.boolean.sample_check import SampleCheckMixin, explain_false_positives
from novikoff.core.losses import FALSE_NEGATIVE, Loss
from novikoff.core.updaters import clauses as k_cnf
from novikoff.core.updaters import literals as conjunction
from novikoff.errors import InputError
from novikoff.schema import Schema
from novikoff.theory import boolean_bounds, hypothesis_classes
from novikoff.theory.bound_declaration import Bound, Evidence

__all__ = ["Elimination"]


@final
class Elimination(SampleCheckMixin, LinearClassifier):
    """Elimination: the longest conjunction that no positive example contradicts.

    Features are 0 or 1. With k = 1 the target is a conjunction of features and negated features: at most n + 1
    mistakes, and the cost of an example is its number of active features. With k > 1 it is a conjunction of clauses of
    up to k literals each (k-CNF, which contains k-term DNF), and the cost of an example is the number of remaining
    clauses.

    Parameters
    ----------
    k : int
        Maximum number of literals in a clause.
    passes : int
        How often fit goes over the data.
    shuffle : bool
        Whether fit learns the rows in random order, a new one in each pass. Otherwise in the given order.
    random_state : int
        The seed of the random order.

    Examples
    --------
    >>> from novikoff import Elimination
    >>> model = Elimination().fit([[1, 0, 1], [0, 0, 1], [1, 0, 0], [1, 1, 0]], ["yes", "no", "yes", "no"])
    >>> model.formula_, model.ledger_.mistakes
    ('x0 ∧ ¬x1', 2)
    """

    fit_intercept = False

    def __init__(self, *, k: int = 1, passes: int = 1, shuffle: bool = True, random_state: int = 0) -> None:
        self.k = k
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    def _check_settings(self) -> None:
        check_positive_int(k=self.k)

    def _spec(self) -> LearnerSpec:
        return LearnerSpec(
            loss=Loss(FALSE_NEGATIVE),
            build_updater=self._build_updater,
            build_schema=self._build_schema,
            feature_range=BOOLEAN_VALUES,
            fixed_width_reason=self._fixed_width_reason(),
            unseen_weight=self._unseen_weight if self.k == 1 else None,
            scores_by_weights=False,
            learns_dense_rows=False,
            learns_dense_examples=False,
            learns_dense_columns=False,
            scores_dense_rows=False,
        )

    def _fixed_width_reason(self) -> str | None:
        return f"its clauses of up to {self.k} literals are made of them" if self.k > 1 else None

    def _build_schema(self, features: int) -> Schema:
        return conjunction.LITERALS_SCHEMA if self.k == 1 else k_cnf.clauses_schema(features, k=int(self.k))

    def _build_updater(self, slots: int, dtype: Any) -> conjunction.Literals | k_cnf.Clauses:
        if self.k == 1:
            return conjunction.build_literals(slots, dtype)
        if slots < 2:
            raise InputError(f"Elimination must know the features in advance ({self._fixed_width_reason()}).")
        return k_cnf.build_clauses(slots, dtype, k=int(self.k))

    def _unseen_weight(self, state: ModelState) -> float:
        return -1.0 if state.updater.scalars[conjunction.HAS_BEGUN] else 0.0

    def _hypothesis(self, state: ModelState) -> NDArray[np.float64]:
        if self.k > 1:
            raise AttributeError("Elimination has no weight vector.")
        return super()._hypothesis(state)

    @property
    def formula_(self) -> str:
        """The hypothesis as a formula; ⊥, which nothing satisfies, before the first positive example."""
        state = self._require_attribute("formula_")
        names = [f"x{j}" for j in range(state.features)] if state.names is None else list(state.names.columns)
        updater = state.updater
        if isinstance(updater, k_cnf.Clauses):
            left = updater.clauses[: updater.scalars[k_cnf.N_LEFT]].tolist()
            parts = [f"({' ∨ '.join(_format_literal(names, n) for n in sorted(set(c)))})" for c in left]
            return " ∧ ".join(parts) or "⊤"
        if not updater.scalars[conjunction.HAS_BEGUN]:
            return "⊥"
        weights = updater.weights[1 : state.features + 1] - 1.0
        return (
            " ∧ ".join(_format_literal(names, 2 * j + (weights[j] < 0)) for j in np.flatnonzero(weights).tolist())
            or "⊤"
        )

    def describe(self) -> str:
        return self.formula_

    def _hypothesis_class(self) -> tuple[str, dict[str, Any], str]:
        n, k = self._require_fitted().features, int(self.k)
        size = (
            hypothesis_classes.conjunctions_or_never(variables=max(1, n))
            if k == 1
            else hypothesis_classes.k_cnf(variables=n, k=k)
        )
        return "consistent", {"hypotheses": size}, f"{'conjunctions' if k == 1 else f'{k}-CNF'} of {n:,} features"

    def _find_contradiction(self) -> str | None:
        return explain_false_positives(self._require_fitted().ledger)

    def bounds(self) -> Sequence[Bound]:
        features = self._checked_state().features

        def bound(e: Evidence) -> float | None:
            clause = e.target.get("clause")
            return (
                None
                if clause is None or clause > self.k
                else boolean_bounds.elimination(features=features, literals=self.k)
            )

        return (
            Bound(
                "elimination",
                "mistakes",
                "M ≤ N − Σ C(n, i) + 1, a conjunction of clauses; n + 1 for k = 1",
                bound,
                by_target=True,
            ),
        )


def _format_literal(names: list[str], number: int) -> str:
    return f"{'¬' if number % 2 else ''}{names[number // 2]}"
