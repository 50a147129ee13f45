"""What learners in the dual form have in common: labels, files, and predicting with kept examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from novikoff.errors import InputError, LabelError, OverflowRefused
from novikoff.kernels.expression import Precomputed
from novikoff.kernels.gram import in_terms, table_of, values_of
from novikoff.kernels.support_set import in_panels, room, squares_of
from novikoff.kernels.bytecode import compiled_from
from novikoff.kernels.parser import from_plain, kernel_of, plain
from novikoff.dual.kernel_state import (PER_ENTRY, SCHEMA, DualState, Filed, blank, filed, nothing, unfiled)
from novikoff.dual.kernel_training import Run, Told, rows_at_once
from novikoff.base.online_classifier import (IN_GIVEN_ORDER, TIES, Learner, Orders)
from novikoff.base.single_example import learn_as_batch, row_of, terms
from novikoff.base.raw_rows import encode_one
from novikoff.base.model_state import State
from novikoff.ledger import Ledger
from novikoff.memory_limit import Growth
from novikoff.core.kernel.expansion import (KEPT, KNOWN, Ways, weigh)
from novikoff.schema import Schema
from novikoff.data import validation
from novikoff.data.labels.growing_labels import Growing
from novikoff.data.labels.binary_labels import Labels, distinct
from novikoff.data.names.feature_names import UNKNOWN, Names
from novikoff.data.rows import (Rows, Sparse, cut, how_many, narrowed)

HYPOTHESES = {"last": 0, "average": 1, "vote": 2}


class Kernelised(Learner):
    """Abstract."""

    kernel: Any
    budget: Any
    drop: str
    margin: float
    memory: float
    bias = False
    takes_classes = True
    multi_class = True
    _state: DualState | None = None

    # --- What a learner's file provides ---

    def _votes(self) -> bool:
        """Whether each update must be kept apart."""
        return False

    def _predicts_by(self) -> str:
        return "last"

    # --- Labels ---

    def _no_labels(self) -> Growing:
        return Growing()

    def _told(self, y: Any, examples: int, known: Any = None) -> tuple[Any, Growing]:
        y = validation.label_array(y, examples)
        return (Growing.of(distinct(y)) if known is None else known).coded(y)

    def _labels_from(self, listed: list[Any], *, rest: str) -> Growing:
        if len(listed) < 2:
            raise LabelError(f"labels must be two at least, but are {listed!r}.")
        return Growing(Labels(*listed, rest=rest)) if len(listed) == 2 else Growing.of(listed)

    def label_reader(self, labels: Any, left_out: Any) -> Any:
        from novikoff.data.labels.label_encoding import Numbers

        return Numbers(labels, leave_out=left_out)

    # --- State and files ---

    def _schema(self, features: int) -> Schema:
        return SCHEMA

    def _geometry(self, slots: int, kind: Any) -> Filed:
        return nothing(kind)

    def fresh_state(self, features: int, kind: Any, names: list[str] | None, labels: Any) -> DualState:
        known, kind = Names(names) if names else None, np.dtype(kind)
        labels = Growing(labels) if isinstance(labels, Labels) else labels
        dual = blank(features, kind, panels=False)
        state = DualState(dual, Ledger(), labels, features, known, kind, self._run_settings())
        if labels.told:
            state.widen(labels.told)
            state.dual.counts[KNOWN] = labels.told
        return state

    def _compact(self, state: Any) -> Filed:
        return filed(state)

    def _completed(self, state: State, tensors: dict[str, NDArray[Any]]) -> DualState:
        state.geometry = unfiled(state.geometry, state.features)
        return DualState(**vars(state))

    def plain_settings(self) -> dict[str, Any]:
        return {**super().plain_settings(), "kernel": plain(self.kernel)}

    @classmethod
    def from_settings(cls, settings: dict[str, Any]) -> Any:
        return cls(**{**settings, "kernel": from_plain(settings.get("kernel"))})

    def with_kernel(self, kernel: Any) -> None:
        """Gives a kernel with a Python function again, after it was loaded from a file."""
        if plain(kernel_of(kernel)) != plain(kernel_of(self.kernel)):
            raise InputError(
                f"The model was learned with the kernel {kernel_of(self.kernel)}, not {kernel_of(kernel)}."
            )
        self.kernel = kernel
        if self._state is not None:
            self._state.settings["kernel"] = kernel

    # --- Learning ---

    def _learn(
        self, state: Any, rows: Rows, signs: Any, weights: NDArray[np.float64], orders: Orders = IN_GIVEN_ORDER
    ) -> int:
        """Learns all rows; where one is not good, none of them."""
        self._check_square(rows, state)
        told = self._measured(state, rows, signs, weights)
        before, first = state.ledger.mistakes, -1
        for order in orders:
            taken = self._run(state).all(told if order is None else told.gather(order))
            if taken < len(signs):
                row = taken if order is None else int(order[taken])
                raise self._refused(state, row, stands=state is self._state)
            first = state.ledger.mistakes - before if first < 0 else first
        return first

    def _pass(self, state: Any, rows: Rows, signs: Any, weights: NDArray[np.float64], *, known: bool = False) -> int:
        if isinstance(kernel_of(self.kernel), Precomputed):
            raise InputError("A precomputed kernel is learned by fit or partial_fit from the whole Gram matrix.")
        told = self._measured(state, rows, signs, weights)  # first: it settles in which form rows are kept
        taken = self._run(state).all(told)
        if taken < len(signs):
            if taken:
                self._adopt(state)
            raise self._refused(state, taken, stands=True)
        return taken

    def _run(self, state: Any) -> Run:
        budget = 0 if self.budget is None else int(self.budget)
        sizes = state.per_row(), state.per_term(), PER_ENTRY
        ways = Ways(float(self.margin), TIES[self.tie], self._votes(), budget, float(self.memory) * 1e6, *sizes)
        return Run(state, kernel_of(self.kernel), ways, self.drop)

    def _check_square(self, rows: Rows, state: Any) -> None:
        if isinstance(kernel_of(self.kernel), Precomputed) and how_many(rows) != state.features:
            raise InputError(
                "Precomputed matrix must be a square matrix: a Gram matrix to learn from has a row and a column for"
                f" each example, but {how_many(rows)} rows and {state.features} columns came."
            )

    def _bytes_needed(self, state: Any, growth: Growth) -> int:
        """Where kept examples are limited in number, more of them need nothing; a projection gives each an entry."""
        kept, added = int(state.dual.counts[KEPT]), growth.examples
        if self.budget is not None:
            added = min(added, max(int(self.budget) + 1 - kept, 1))
            added += kept + 2 if self.drop == "project" else 0
        return super()._bytes_needed(state, growth._replace(examples=added))

    def _measured(self, state: Any, rows: Rows, codes: Any, weights: NDArray[np.float64]) -> Told:
        """What is to be learned; InputError where a row is not good."""
        terms, squares = self._in_terms(state, rows, state.features)
        if not state.dual.counts[KEPT]:
            count = int(terms.starts[-1] - terms.starts[0])
            if isinstance(kernel_of(self.kernel), Precomputed):
                count = how_many(rows)  # single terms are kept
            kept = blank(state.features, state.kind, panels=in_panels(state.features, how_many(rows), count)).kept
            size = len(kept.begins)
            state.geometry = state.dual._replace(kept=kept, own=np.zeros(size), first=np.zeros(size, np.int64))
        return Told(terms, squares, np.asarray(codes, np.int64), weights, np.arange(len(codes)))

    def _in_terms(self, state: Any, rows: Rows, features: int) -> tuple[Sparse, NDArray[np.float64]]:
        """The rows in terms, and ‖x‖²; InputError where a row is not good."""
        if rows.values.dtype != state.kind:
            rows = rows._replace(values=rows.values.astype(state.kind))
        terms, squares = in_terms(rows, max(features, 1)), np.empty(how_many(rows))
        squares_of(terms, squares)
        bad = np.flatnonzero(~(squares < (1e300 if state.kind == np.float64 else 1e36)))
        if bad.size:
            raise InputError(validation.why_refused(rows, int(bad[0]), features))
        return terms, squares

    def _refused(self, state: Any, row: int, *, stands: bool) -> Exception:
        what = "what was learned up to there stands, unsaved" if stands else "nothing of this batch was learned"
        more = state.per_row() + state.features * state.per_term() + state.columns * PER_ENTRY
        if state.bytes_kept() + more > self.memory * 1e6:
            return InputError(
                f"{type(self).__name__} keeps {int(state.dual.counts[KEPT]):,} examples, and one more would take more"
                f" than its memory of {self.memory:g} MB; {what}. Set a budget of kept examples, or more memory."
            )
        return OverflowRefused(
            f"The values of the kernel must be finite and K(x, x) at least 0, but they are not at row {row}; {what}."
            " Scale the features, or choose another kernel."
        )

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learns one example: x is a dict of feature → number, a sequence of feature names, or a 1-D array.

        Features are names (a new one is a new feature) or column numbers. A refused example leaves all as it was.
        """
        learn_as_batch(self, x, y)
        return self

    def _told_one(self, y: Any, known: Growing) -> tuple[Any, Growing]:
        known = known.copy()
        return np.array([known.number(y)]), known

    # --- Predicting ---

    def scorer(self, *, known: bool = False) -> Callable[[Rows], NDArray[np.float64]]:
        """Scores of many batches. Features that were never learned count in ‖x‖² only."""
        state: Any = self._fitted()
        program, asked = compiled_from(kernel_of(self.kernel))
        how, tie = HYPOTHESES[self._predicts_by()], TIES[self.tie]

        def of(rows: Rows) -> NDArray[np.float64]:
            dual, time = state.dual, state.ledger.examples
            kept, count = int(dual.counts[KEPT]), how_many(rows)
            new = int(rows.indices.max(initial=0)) + 1 if known and isinstance(rows, Sparse) else 1
            wide = max(state.features, new)
            terms: Any = self._in_terms(state, rows, wide)[0]
            if asked:  # Python functions know the columns that were learned
                terms, wide = narrowed(terms, state.features), state.features
            out, scratch = np.empty((count, state.columns)), np.zeros((2, state.columns))
            each = 1 if asked else rows_at_once(kept)
            for start in range(0, count, each):
                part = cut(terms, start, min(start + each, count))
                block, given = np.zeros((how_many(part), room(kept))), np.zeros((len(asked), room(kept)))
                if asked and kept:
                    given[:, :kept] = state.answered(asked, table_of(part, wide))
                values_of(dual.kept, program, part, kept, given, block)
                weigh(dual, how, time, tie, block, scratch, out[start : start + len(block)])
            return out[:, 0] if state.columns == 1 else out

        return of

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Σ a·K(x_i, x) for each row: for two labels a number, positive for classes_[1]; for more one for each."""
        return super().decision_function(X)

    def choose(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """The labels for these scores; for more than two the one with the highest, the first of equals."""
        if scores.ndim == 1:
            known = np.array(self._fitted().labels.two.known())
            positive = scores >= 0.0 if TIES[self.tie] > 0.0 else scores > 0.0
            return known[positive.astype(np.intp)] if len(known) == 2 else np.repeat(known, len(scores))
        return self.classes_[scores[:, : max(1, self._fitted().known)].argmax(axis=1)]

    def score_one(self, x: Any) -> Any:
        """The score of one example; for more than two classes, that of each."""
        scores = self._scores_of_one(x)
        if scores.ndim == 1:
            return float(scores[0])
        return dict(zip(self._fitted().labels.known(), scores[0].tolist(), strict=True))

    def predict_one(self, x: Any) -> Any:
        """Return the label of one example, or None before the first example was learned."""
        if self._state is None:
            return None
        chosen = self.choose(self._scores_of_one(x))[0]
        return chosen.item() if hasattr(chosen, "item") else chosen

    def _scores_of_one(self, x: Any) -> NDArray[np.float64]:
        state = self._fitted()
        columns, values = terms(self, state, encode_one(state, x))
        unknown = columns == UNKNOWN  # names that were never learned are features that no kept example has
        columns[unknown] = state.features + np.arange(np.count_nonzero(unknown))
        return self.scorer(known=True)(row_of(columns, values))

    def _fitted(self) -> Any:
        return super()._fitted()

    def _learned(self, name: str) -> Any:
        return super()._learned(name)

    def _hypothesis(self, state: State) -> NDArray[np.float64]:
        raise AttributeError(f"The weights of {type(self).__name__} are in the kernel's space: see dual_coef_.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)
        return tags
