"""Base class of kernel learners: labels, files, and predictions with support examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.base.learner_spec import LearnerSpec
from novikoff.base.model_state import ModelState
from novikoff.base.online_classifier import TIE_SIGNS, OnlineClassifier
from novikoff.base.probabilities import to_binary_probabilities, to_class_probabilities
from novikoff.base.raw_rows import encode_example
from novikoff.base.row_training import IN_GIVEN_ORDER, RowOrders
from novikoff.base.single_example import build_row, parse_terms
from novikoff.core.calibration import pause_calibration, resume_calibration
from novikoff.core.kernel.expansion import (
    LAST,
    MEAN,
    N_CLASSES,
    N_SUPPORT,
    VOTES,
    KernelOptions,
    score_kernel_rows,
)
from novikoff.data import validation
from novikoff.data.labels.binary_labels import BinaryLabels
from novikoff.data.labels.growing_labels import GrowingLabels
from novikoff.data.names.feature_names import UNKNOWN_COLUMN, FeatureNames
from novikoff.data.rows import Rows, Sparse, count_rows, drop_columns, slice_rows
from novikoff.dual.kernel_state import (
    ENTRY_BYTES,
    SCHEMA,
    KernelState,
    StoredExpansion,
    build_empty_expansion,
    build_empty_stored_expansion,
    from_stored_expansion,
    to_stored_expansion,
)
from novikoff.dual.kernel_training import KernelTraining, LabelledRows, choose_block_rows
from novikoff.errors import InputError, WeightOverflowError
from novikoff.kernels.bytecode import compile_kernel
from novikoff.kernels.expression import Precomputed
from novikoff.kernels.gram import compute_kernel_values, to_canonical_sparse, to_dense
from novikoff.kernels.parser import from_plain_data, to_kernel, to_plain_data
from novikoff.kernels.support_set import compute_sq_norms, pad_to_panels, should_use_panels
from novikoff.memory_limit import Growth

HYPOTHESIS_CODES = {"last": LAST, "average": MEAN, "vote": VOTES}


class KernelClassifier(OnlineClassifier):
    """An abstract learner in the dual form."""

    kernel: Any
    budget: Any
    drop: str
    margin: float
    max_memory_mb: float
    fit_intercept = False
    _label_type = GrowingLabels
    _is_multiclass = True
    _has_probabilities = True
    _decides_by_score = True
    _accepts_multiclass = True
    _state: KernelState | None = None

    # --- What a learner's file provides ---

    def _votes(self) -> bool:
        """Return whether each update must be stored separately."""
        return False

    def _prediction_mode(self) -> str:
        return "last"

    # --- State and files ---

    def _spec(self) -> LearnerSpec:
        return LearnerSpec(
            build_updater=lambda _, dtype: build_empty_stored_expansion(dtype),
            build_schema=lambda _: SCHEMA,
            has_weights=False,
            scores_by_weights=False,
        )

    def _build_state(self, features: int, dtype: Any, names: list[str] | None, labels: Any) -> KernelState:
        known, dtype = FeatureNames(names) if names else None, np.dtype(dtype)
        labels = GrowingLabels(labels) if isinstance(labels, BinaryLabels) else labels
        dual = build_empty_expansion(features, dtype, panels=False)
        state = KernelState(dual, self._build_ledger(), labels, features, known, dtype, self._run_settings())
        if labels.declared_count:
            state.widen(labels.declared_count)
            state.dual.counts[N_CLASSES] = labels.declared_count
        return state

    def _trim_state(self, state: Any) -> StoredExpansion:
        return to_stored_expansion(state)

    def _state_from_file(self, state: ModelState, tensors: dict[str, NDArray[Any]]) -> KernelState:
        state.updater = from_stored_expansion(state.updater, state.features)
        return KernelState(**vars(state))

    def _plain_settings(self) -> dict[str, Any]:
        return {**super()._plain_settings(), "kernel": to_plain_data(self.kernel)}

    @classmethod
    def _from_settings(cls, settings: dict[str, Any]) -> Any:
        return cls(**{**settings, "kernel": from_plain_data(settings.get("kernel"))})

    def with_kernel(self, kernel: Any) -> None:
        """Set the kernel again if it contains a Python function, after the model was loaded from a file."""
        if to_plain_data(to_kernel(kernel)) != to_plain_data(to_kernel(self.kernel)):
            raise InputError(
                f"The model was learned with the kernel {to_kernel(self.kernel)}, not {to_kernel(kernel)}."
            )
        self.kernel = kernel
        if self._state is not None:
            self._state.settings["kernel"] = kernel

    # --- Learning ---

    def _learn(
        self, state: Any, rows: Rows, signs: Any, weights: NDArray[np.float64], orders: RowOrders = IN_GIVEN_ORDER
    ) -> int:
        """Learn all rows; if one is invalid, learn none."""
        self._check_square(rows, state)
        labelled_rows = self._measured(state, rows, signs, weights)
        before, first = state.ledger.mistakes, -1
        for order in orders:
            taken = self._run(state).all(labelled_rows if order is None else labelled_rows.gather(order))
            if taken < len(signs):
                row = taken if order is None else int(order[taken])
                raise self._kernel_error(state, row, stands=state is self._state)
            first = state.ledger.mistakes - before if first < 0 else first
            pause_calibration(state.ledger)
        resume_calibration(state.ledger)
        return first

    def _run_pass(
        self, state: Any, rows: Rows, signs: Any, weights: NDArray[np.float64], *, known: bool = False
    ) -> int:
        if isinstance(to_kernel(self.kernel), Precomputed):
            raise InputError("A precomputed kernel is learned by fit or partial_fit from the whole Gram matrix.")
        labelled_rows = self._measured(
            state, rows, signs, weights
        )  # called first: it decides in which form rows are stored
        taken = self._run(state).all(labelled_rows)
        if taken < len(signs):
            if taken:
                self._set_state(state)
            raise self._kernel_error(state, taken, stands=True)
        return taken

    def _run(self, state: Any) -> KernelTraining:
        budget = 0 if self.budget is None else int(self.budget)
        sizes = state.row_bytes(), state.term_bytes(), ENTRY_BYTES
        options = KernelOptions(
            float(self.margin),
            TIE_SIGNS[self.tie],
            self._votes(),
            budget,
            float(self.max_memory_mb) * 1e6,
            *sizes,
            averaging=HYPOTHESIS_CODES[self._prediction_mode()],
        )
        return KernelTraining(state, to_kernel(self.kernel), options, self.drop)

    def _check_square(self, rows: Rows, state: Any) -> None:
        if isinstance(to_kernel(self.kernel), Precomputed) and count_rows(rows) != state.features:
            raise InputError(
                "Precomputed matrix must be a square matrix: a Gram matrix to learn from has a row and a column for"
                f" each example, but there are {count_rows(rows)} rows and {state.features} columns."
            )

    def _bytes_needed(self, state: Any, growth: Growth) -> int:
        """Return the memory after such growth: with a budget, further examples need none; a projection gives each an
        entry."""
        kept, added = int(state.dual.counts[N_SUPPORT]), growth.examples
        if self.budget is not None:
            added = min(added, max(int(self.budget) + 1 - kept, 1))
            added += kept + 2 if self.drop == "project" else 0
        return super()._bytes_needed(state, growth._replace(examples=added))

    def _measured(self, state: Any, rows: Rows, codes: Any, weights: NDArray[np.float64]) -> LabelledRows:
        """Return the examples to learn; raise InputError for an invalid row."""
        terms, squares = self._to_sparse_rows(state, rows, state.features)
        if not state.dual.counts[N_SUPPORT]:
            count = int(terms.starts[-1] - terms.starts[0])
            if isinstance(to_kernel(self.kernel), Precomputed):
                count = count_rows(rows)  # examples are stored as sparse terms
            kept = build_empty_expansion(
                state.features, state.kind, panels=should_use_panels(state.features, count_rows(rows), count)
            ).kept
            size = len(kept.begins)
            state.updater = state.dual._replace(kept=kept, own=np.zeros(size), first=np.zeros(size, np.int64))
        return LabelledRows(terms, squares, np.asarray(codes, np.int64), weights, np.arange(len(codes)))

    def _to_sparse_rows(self, state: Any, rows: Rows, features: int) -> tuple[Sparse, NDArray[np.float64]]:
        """Return the rows as sparse terms, and ‖x‖²; raise InputError for an invalid row."""
        if rows.values.dtype != state.kind:
            rows = rows._replace(values=rows.values.astype(state.kind))
        terms, squares = to_canonical_sparse(rows, max(features, 1)), np.empty(count_rows(rows))
        compute_sq_norms(terms, squares)
        bad = np.flatnonzero(~(squares < (1e300 if state.kind == np.float64 else 1e36)))
        if bad.size:
            raise InputError(validation.explain_rejection(rows, int(bad[0]), features))
        return terms, squares

    def _kernel_error(self, state: Any, row: int, *, stands: bool) -> Exception:
        what = "what was learned up to there stands, unsaved" if stands else "nothing of this batch was learned"
        more = state.row_bytes() + state.features * state.term_bytes() + state.columns * ENTRY_BYTES
        if state.support_bytes() + more > self.max_memory_mb * 1e6:
            return InputError(
                f"{type(self).__name__} keeps {int(state.dual.counts[N_SUPPORT]):,} examples, and one more would"
                " take more"
                f" than max_memory_mb, {self.max_memory_mb:g} MB; {what}. Set a budget, or a larger max_memory_mb."
            )
        return WeightOverflowError(
            f"The values of the kernel must be finite and K(x, x) at least 0, but they are not at row {row}; {what}."
            " Scale the features, or choose another kernel."
        )

    # --- Predicting ---

    def _build_scorer(self, *, known: bool = False) -> Callable[[Rows], NDArray[np.float64]]:
        """Return a scorer of batches. Unseen features count in ‖x‖² only."""
        state: Any = self._require_fitted()
        program, asked = compile_kernel(to_kernel(self.kernel))
        how, tie = HYPOTHESIS_CODES[self._prediction_mode()], TIE_SIGNS[self.tie]

        def of(rows: Rows) -> NDArray[np.float64]:
            dual, time = state.dual, state.ledger.examples
            kept, count = int(dual.counts[N_SUPPORT]), count_rows(rows)
            new = int(rows.indices.max(initial=0)) + 1 if known and isinstance(rows, Sparse) else 1
            wide = max(state.features, new)
            terms: Any = self._to_sparse_rows(state, rows, wide)[0]
            if asked:  # Python functions expect the learned columns
                terms, wide = drop_columns(terms, state.features), state.features
            out, scratch = np.empty((count, state.columns)), np.zeros((2, state.columns))
            each = 1 if asked else choose_block_rows(kept)
            for start in range(0, count, each):
                part = slice_rows(terms, start, min(start + each, count))
                block, given = (
                    np.zeros((count_rows(part), pad_to_panels(kept))),
                    np.zeros((len(asked), pad_to_panels(kept))),
                )
                if asked and kept:
                    given[:, :kept] = state.answered(asked, to_dense(part, wide))
                compute_kernel_values(dual.kept, program, part, kept, given, block)
                score_kernel_rows(dual, how, time, tie, block, scratch, out[start : start + len(block)])
            return out[:, 0] if state.columns == 1 else out

        return of

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return Σ a·K(x_i, x) for each row: for two labels a number, positive for classes_[1]; otherwise one for each
        label."""
        return super().decision_function(X)

    def _decide(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """Return the labels for these scores; for more than two classes the one with the highest score, the first of
        equals."""
        if scores.ndim == 1:
            known = np.array(self._require_fitted().labels.two.known())
            return (
                known[self._is_positive(scores).astype(np.intp)] if len(known) == 2 else np.repeat(known, len(scores))
            )
        return self.classes_[scores[:, : max(1, self._require_fitted().known)].argmax(axis=1)]

    def _to_probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        if scores.ndim == 1:
            return to_binary_probabilities(self, scores, TIE_SIGNS[self.tie])
        return to_class_probabilities(self, scores[:, : max(1, self._require_fitted().known)])

    def _score_example(self, x: Any) -> NDArray[np.float64]:
        return self._score_single(x)

    def score_one(self, x: Any) -> Any:
        """Return the score of one example; for more than two classes, that of each class."""
        scores = self._score_single(x)
        if scores.ndim == 1:
            return float(scores[0])
        return dict(zip(self._require_fitted().labels.known(), scores[0].tolist(), strict=True))

    def predict_one(self, x: Any) -> Any:
        """Return the label of one example, or None before the first example was learned."""
        if self._state is None:
            return None
        chosen = self._decide(self._score_single(x))[0]
        return chosen.item() if hasattr(chosen, "item") else chosen

    def _score_single(self, x: Any) -> NDArray[np.float64]:
        state = self._require_fitted()
        columns, values = parse_terms(self, state, encode_example(state, x))
        unknown = columns == UNKNOWN_COLUMN  # unseen names are features that no support example has
        columns[unknown] = state.features + np.arange(np.count_nonzero(unknown))
        return self._build_scorer(known=True)(build_row(columns, values))

    def _require_fitted(self) -> Any:
        return super()._require_fitted()

    def _require_attribute(self, name: str) -> Any:
        return super()._require_attribute(name)

    def _hypothesis(self, state: ModelState) -> NDArray[np.float64]:
        raise AttributeError(f"The weights of {type(self).__name__} are in the kernel's space: use dual_coef_.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)
        return tags
