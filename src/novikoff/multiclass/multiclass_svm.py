"""The multiclass support vector machine as a scikit-learn estimator; the solver is
`core/multiclass/crammer_singer.py`."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from novikoff.base.estimator import check_bool, check_positive, check_positive_int, check_seed
from novikoff.base.model_state import HASH_FEATURES_ADVICE
from novikoff.core.multiclass.class_scores import dot_rows, pad_classes
from novikoff.core.multiclass.crammer_singer import SolverResult, build_problem, initial_point, solve
from novikoff.data import validation
from novikoff.data.canonical_rows import compact_rows, to_sparse
from novikoff.data.labels.binary_labels import find_distinct
from novikoff.data.names.feature_names import FeatureNames
from novikoff.data.rows import Rows, count_rows
from novikoff.errors import InputError, WeightOverflowError, find_sklearn_exception, find_user_stacklevel
from novikoff.memory_limit import check_size
from novikoff.meta.batch_estimator import BatchEstimator
from novikoff.schema import CLASSES, FEATURES, ArraySpec, Finite, Schema, SchemaError, check_list, shorten

__all__ = ["MulticlassSVM"]

WEIGHT_BYTES = 8


class MulticlassSVMState(NamedTuple):
    """The learned state."""

    weights: NDArray[np.float64]
    """Weights by slot and class; slot 0 is the bias."""
    labels: list[Any]
    features: int
    names: FeatureNames | None
    kind: np.dtype[Any]
    reached: SolverResult


class MulticlassSVM(BatchEstimator):
    """Support vector machine for any number of classes in one problem (Crammer and Singer).

    The weights w_c of the classes c minimise

        P(w) = ½ Σ_c ‖w_c‖² + C Σ_i max(0, max_{c≠yᵢ} 1 − (w_{yᵢ} − w_c)·xᵢ):

    each example should prefer its own class to any other by a margin of 1. The label with the largest w_c·x is
    predicted, the first of equals in `classes_`. After `fit` the quality of w is known: every solution α of the dual
    problem is a lower bound for all P, so

        objective_ − dual_objective_ = gap_

    is the most by which a perfect solution could be better. Both are measured on the data in double precision, with the
    weights in `coef_` and `intercept_`.

    This learner learns from all examples at once: there is no `partial_fit`. With two classes w_0 = −w_1, and it is the
    ordinary linear support vector machine with 2C in place of C. With a single class, that one is predicted.

    Parameters
    ----------
    C : float above 0
        The cost of a loss of 1. Small values give short weights and a wide margin, large values few losses.
    fit_intercept : bool
        Whether to add a feature that is always 1. Its weights are part of ‖w_c‖².
    tol : float above 0
        The search ends when gap_ ≤ tol · objective_.
    max_iter : int
        The search also ends after this number of passes over the data, with a warning that reports the gap. A pass
        skips examples whose multipliers have not changed lately. Scaled features, or a smaller C, need fewer passes.
    random_state : int of at least 0
        The seed of the random order of the examples in each pass.

    Attributes
    ----------
    objective_, dual_objective_, gap_ : float
        P(w), its lower bound, and their difference.
    n_iter_ : int
        Number of passes.
    coef_, intercept_ : arrays of one row, or number, for each class; for two classes of one, the difference w_1 − w_0

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from novikoff import MulticlassSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVM().fit(X, y)
    >>> bool(model.gap_ <= 0.001 * model.objective_)
    True
    >>> model.predict(X[::50])
    array([0, 1, 2])

    References
    ----------
    Crammer, Singer: On the algorithmic implementation of multiclass kernel-based vector machines. JMLR 2, 2001.
    Keerthi, Sundararajan, Chang, Hsieh, Lin: A sequential dual method for large scale multi-class linear SVMs. KDD,
    2008.
    In scikit-learn: LinearSVC(multi_class="crammer_singer"), which ends when no multiplier is far from its optimum, and
    reports no gap.
    """

    _state: MulticlassSVMState | None = None

    def __init__(
        self,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = 5000,
        random_state: int = 0,
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    # --- Learning ---

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Forget what was learned, then solve the problem for (X, y). An example of weight c counts as c examples."""
        self._check_settings()
        batch = validation.validate_batch(X)
        y = validation.validate_y(y, batch.examples)
        shares = validation.validate_sample_weight(sample_weight, batch.examples)
        labels = find_distinct(y)
        numbers = np.unique(y, return_inverse=True)[1].astype(np.int64)
        rows = to_sparse(compact_rows(batch.rows, batch.features))
        if count_rows(rows) < batch.examples:
            raise InputError(validation.explain_rejection(batch.rows, count_rows(rows), batch.features))
        limits = float(self.C) * shares if shares.size else float(self.C)
        with np.errstate(over="ignore"):
            problem = build_problem(rows, numbers, limits, len(labels), float(self.fit_intercept))
        bad = np.flatnonzero(~np.isfinite(problem.sizes))
        if bad.size:
            raise InputError(validation.explain_rejection(batch.rows, int(bad[0]), batch.features))
        needed = self._estimate_bytes(len(labels), batch.features)
        check_size(needed, f"{batch.features:,} features with {len(labels):,} classes", HASH_FEATURES_ADVICE)
        point = initial_point(problem, batch.features)
        reached = solve(problem, point, int(self.max_iter), tolerance=float(self.tol), seed=int(self.random_state))
        self._check_reached(reached)
        names = None if batch.names is None else FeatureNames(batch.names)
        weights = np.ascontiguousarray(point.weights[:, : len(labels)])
        self._state = MulticlassSVMState(weights, labels, batch.features, names, rows.values.dtype, reached)
        return self

    def _estimate_bytes(self, classes: int, features: int) -> int:
        return WEIGHT_BYTES * (pad_classes(classes) + classes) * (features + 1)

    def _check_settings(self) -> None:
        check_positive(C=self.C, tol=self.tol)
        check_bool(fit_intercept=self.fit_intercept)
        check_positive_int(max_iter=self.max_iter)
        check_seed(random_state=self.random_state)

    def _check_reached(self, reached: SolverResult) -> None:
        if not np.isfinite(reached.gap):
            raise WeightOverflowError(
                "The weights grew out of range; nothing was learned. Scale the features, or choose a smaller C."
            )
        if not reached.within(self.tol):
            warnings.warn(
                f"After {reached.passes} passes the objective {reached.primal:.6g} is within {reached.gap:.3g} of the"
                f" optimum ({reached.gap / reached.primal:.2g} of it, tol {self.tol:g}): scale the"
                " features, raise max_iter, choose a smaller C or a larger tol.",
                find_sklearn_exception("ConvergenceWarning", UserWarning),
                stacklevel=find_user_stacklevel(),
            )

    # --- Files ---

    def _file_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        state = self._require_fitted()
        header = {
            "labels": state.labels,
            "features": state.features,
            "names": None if state.names is None else list(state.names.columns),
            "precision": np.dtype(state.kind).name,
            "reached": list(state.reached),
        }
        return header, {"weights": state.weights}

    def _file_schemas(self, present: Collection[str]) -> dict[str, Schema]:
        return {"": Schema({"weights": ArraySpec("float64", FEATURES + 1, CLASSES, checks=[Finite()])})}

    def _check_header(self, header: dict[str, Any]) -> None:
        reached = check_list("reached", header.get("reached"))
        if len(reached) != len(SolverResult._fields) or not all(type(number) in (int, float) for number in reached):
            raise SchemaError("reached", f"{len(SolverResult._fields)} numbers", shorten(reached))

    def _check_all(self) -> None:
        self._check_settings()

    def _load_file_parts(self, header: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
        dtype, reached = np.dtype(header["precision"]), SolverResult(*header["reached"])
        names = None if header["names"] is None else FeatureNames(header["names"])
        self._state = MulticlassSVMState(
            tensors["weights"], header["labels"], header["features"], names, dtype, reached
        )

    # --- Predicting ---

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return w_c·x, a row for each example and a column for each class; for two classes one number, w_1·x −
        w_0·x."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row."""
        best = self._scores(X).argmax(axis=1)
        chosen: NDArray[Any] = self.classes_[best]
        return chosen

    def _scores(self, X: Any) -> NDArray[np.float64]:
        state = self._require_fitted()
        batch = validation.validate_batch(X, kind=state.kind)
        self._check_features(batch)
        rows = to_sparse(compact_rows(batch.rows, state.features))
        scores = self._score_rows(state, rows)
        bad = np.append(np.flatnonzero(~np.isfinite(scores).all(axis=1)), len(scores))[0]
        if bad < batch.examples:
            raise InputError(validation.explain_rejection(batch.rows, int(bad), state.features))
        return scores

    def _score_rows(self, state: MulticlassSVMState, rows: Rows) -> NDArray[np.float64]:
        classes = len(state.labels)
        weights = np.zeros((state.features + 1, pad_classes(classes)))
        weights[:, :classes] = state.weights
        scores = np.empty((count_rows(rows), pad_classes(classes)))
        dot_rows(rows, weights, 1.0, scores)  # without a bias, its weights are 0
        return scores[:, :classes]

    # --- What was learned ---

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The weights: a row for each class, one row for two classes."""
        return self._shown("coef_")[:, 1:]

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The weights of the bias feature."""
        return self._shown("intercept_")[:, 0]

    @property
    def objective_(self) -> float:
        """P(w), the objective."""
        return self._require_attribute("objective_").reached.primal

    @property
    def dual_objective_(self) -> float:
        """A lower bound for the objective of all weights."""
        return self._require_attribute("dual_objective_").reached.dual

    @property
    def gap_(self) -> float:
        """The gap: objective_ − dual_objective_."""
        return self._require_attribute("gap_").reached.gap

    @property
    def n_iter_(self) -> int:
        """The number of passes."""
        return self._require_attribute("n_iter_").reached.passes

    def _shown(self, name: str) -> NDArray[np.float64]:
        weights = self._require_attribute(name).weights.T
        return weights[1:] - weights[:1] if len(weights) == 2 else weights.copy()
