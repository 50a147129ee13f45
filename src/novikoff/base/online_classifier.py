"""Base class of online learners: fit, partial_fit, predict, and the ledger.

`fit` runs through these functions:

    fit                         public; in learners with sample weights it is that of `SampleWeightMixin` below
    _fit_rows                   check arguments, encode labels, create the state
    _learn, learn_passes        iterate over passes, undo a batch with an invalid row (row_training.py)
    _run_pass                   learn all rows once
    for_each_canonical_block    iterate over blocks of rows without zeros and duplicate columns (data/canonical_rows.py)
    _run_loop                   call the compiled loop: linear_classifier.py, multiclass/base.py, dual/kernel_base.py, …
    learn                       the loop over examples (core/loop.py, core/multiclass/loop.py, …)

`partial_fit` differs only in its first steps. The scores (`_build_loop_scorer`) come from the same classes as
`_run_loop`. A learner's own file describes its algorithm in a `LearnerSpec`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, ClassVar, Self

from novikoff._compiled import buffers
from novikoff._compiled.lazy_numpy import ArrayLike, NDArray, np
from novikoff.base import fitted, probabilities, scoring
from novikoff.base.class_weights import check_class_weight, check_weighted_labels, prepare_class_weights
from novikoff.base.decision_threshold import is_positive
from novikoff.base.estimator import BaseEstimator, check_bool, check_positive_int, check_seed
from novikoff.base.learner_spec import LearnerSpec
from novikoff.base.model_state import HASH_FEATURES_ADVICE, ModelState, bytes_per_slot
from novikoff.base.raw_rows import encode_raw_batch, score_raw_rows, undo_new_features
from novikoff.base.row_checks import build_stop_error, check_valid_rows, check_writeable
from novikoff.base.row_training import IN_GIVEN_ORDER, RowOrders, learn_passes
from novikoff.base.scikit_learn.conditional_method import available_if
from novikoff.base.single_example import learn_as_batch
from novikoff.core.calibration import start_calibration
from novikoff.core.feature_sample import FeatureSample
from novikoff.core.updaters.base import resize_updater
from novikoff.data import validation
from novikoff.data.canonical_rows import for_each_canonical_block, list_sparse_blocks, to_sparse
from novikoff.data.labels.binary_labels import BinaryLabels
from novikoff.data.labels.label_order import LabelOrder
from novikoff.data.names.feature_names import FeatureNames
from novikoff.data.raw.batches import prepare_first_batch
from novikoff.data.rows import Rows, Sparse, count_rows, slice_rows
from novikoff.data.shuffle.permutation import describe_shuffle, permutation
from novikoff.errors import InputError
from novikoff.ledger import Ledger
from novikoff.memory_limit import Growth, check_size
from novikoff.schema import Schema
from novikoff.theory.bound_declaration import Bound

TIE_SIGNS = {"positive": 1.0, "negative": -1.0}
FIT_SETTINGS = ("passes", "shuffle", "random_state")
"""Settings of fit alone; a run may continue with other values."""

MIN_CHECKED_FEATURES = 1 << 16
"""Number of features of a new model from which its memory is checked: fewer need little."""


class OnlineClassifier(BaseEstimator, ABC):
    """An abstract classifier that learns one example after another."""

    fit_intercept: bool
    passes: int
    shuffle: bool
    random_state: int
    tie: Any = "positive"
    _state: ModelState | None = None
    _label_type: ClassVar[Any] = BinaryLabels
    """The class of the labels (`data/labels/`)."""
    _is_multiclass: ClassVar[bool] = False
    """Whether the learner supports more than two classes without a scheme."""
    _predicts_one_label: ClassVar[bool] = True
    """Whether one label is predicted for each example."""
    _has_probabilities: ClassVar[bool] = False
    """Whether scores can become probabilities, if the settings allow it."""
    _decides_by_score: ClassVar[bool] = False
    """Whether the sign of one score, or a threshold on it, decides between two classes."""
    _needs_two_classes: ClassVar[bool] = True
    """Whether the targets are labels, of which there must be at least two."""
    _warns_of_sorted_labels: bool = True
    """Whether fit and partial_fit issue SortedLabelsWarning: not in runs that the user did not start."""
    _has_fixed_length: bool = True
    """Whether the number of examples of the run is independent of its outcome."""
    _outcome_type: str = "sides"
    """The role of examples in the theorems: the two sides of a vector, preferences between columns of weights, a binary
    problem for each column, queries, or examples in the space of a kernel."""

    # --- What a learner's file provides ---

    @abstractmethod
    def _spec(self) -> LearnerSpec:
        """Return the algorithm with these settings."""

    @abstractmethod
    def bounds(self) -> Sequence[Bound]:
        """Return the theorems that hold for the run so far, with these settings."""

    def _check_settings(self) -> None:
        """Raise InputError if a setting is not valid; called before anything is learned."""

    def _preference_bounds(self, state: ModelState, *, variables: int, top: bool) -> Sequence[Bound]:
        """Return the theorems for a space of this dimension in which all examples are positive, and each is a mean of
        preferences that violate the loss (core/multiclass/pairwise_gradients.py); `top`: the worst one alone."""
        return ()

    def _column_bounds(self, state: ModelState, *, variables: int) -> Sequence[Bound]:
        """Return the theorems for one of several columns of weights that learns on its own, in any order of
        examples."""
        return ()

    def _reserve(self, state: ModelState, examples: int, terms: int) -> None:
        """Allocate what these examples may add to the updater."""

    def _min_errors(self, rows: Rows, signs: NDArray[np.int8]) -> int | None:
        """Return the errors of the best hypothesis of the class on these rows; None if unknown."""
        return None

    def describe(self) -> str | None:
        """Return what was learned in words, where weights don't show it."""
        return None

    # --- What the classes for linear, multiclass and kernel learners provide ---

    def _run_loop(
        self, state: ModelState, rows: Rows, signs: Any, weights: NDArray[np.float64], canonical: bool
    ) -> int:
        """Learn these rows in order; return how many were taken."""
        raise NotImplementedError

    def _build_loop_scorer(self, state: ModelState) -> scoring.LoopScorer:
        """Return a function that writes the scores of canonical rows to an array."""
        raise NotImplementedError

    @abstractmethod
    def _hypothesis(self, state: ModelState) -> NDArray[np.float64]:
        """Return the weights, bias first; raise AttributeError if there is no weight vector."""

    def _score_shape(self, state: ModelState) -> tuple[int, ...]:
        """Return the shape of the score of one example: a number by default."""
        return ()

    @property
    def _inner_learner(self) -> Any:
        """The inner binary learner of the model, or the model itself."""
        return self

    def _scheme_info(self) -> dict[str, Any]:
        """Return how several classes are reduced to columns of weights; empty for two labels."""
        return {}

    def _run_facts(self) -> dict[str, Any]:
        """Return the facts of the run that a certificate reports beside the ledger."""
        return {}

    # --- Learning ---

    # Learners with sample weights override both by those of `SampleWeightMixin` at the end of this file. `wrap_methods`
    # of model_lock.py makes `fit`, `partial_fit` and `_fit_rows` of every class hold the model's lock.
    def fit(self, X: Any, y: Any) -> Self:
        """Forget what was learned, then learn (X, y) `passes` times, in random order unless `shuffle` is False."""
        self._fit_rows(X, y)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Continue learning with one pass over these rows; `classes` names all labels at the first call.

        Without `classes` labels become known in the order in which they arrive (see `data/labels/binary_labels.py`).
        """
        return self._partial_fit(X, y, classes, None)

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn one example: x is a dict of feature → number, a sequence of feature names, or a 1-D array.

        Features are names (a new one is a new feature) or column numbers. A refused example changes nothing.
        """
        learn_as_batch(self, x, y)
        return self

    def _fit_rows(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, classes: Any = None) -> int:
        """Do what fit does, with all of `classes` known where given; return the mistakes of the first pass."""
        self._check_all()
        batch = prepare_first_batch(X, warns=self._warns_of_sorted_labels)
        weights = validation.validate_sample_weight(sample_weight, batch.examples)
        known = None if classes is None else self._empty_labels().named(classes)
        codes, labels = self._encode_labels(y, batch.examples, known)
        if self._weighs_classes():
            check_weighted_labels(self, labels)
        state = self._build_state(batch.features, batch.rows.values.dtype, batch.names, labels)
        state.reading = batch.reading
        mistakes = self._learn(state, batch.rows, codes, weights, self._begin_passes(state, batch.examples))
        self._set_state(state)
        if not self.shuffle:
            self._check_label_order(state, codes, "Leave shuffle=True, or shuffle the rows first.")
        return mistakes

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: ArrayLike | None) -> Self:
        self._check_all()
        old = self._state
        with undo_new_features(old):
            raw = None if old is None else encode_raw_batch(old, X)
            batch = raw or (
                prepare_first_batch(X, warns=True) if old is None else validation.validate_batch(X, kind=old.kind)
            )
            weights = validation.validate_sample_weight(sample_weight, batch.examples)
            labels: Any = old.labels if old else self._empty_labels()
            codes, labels = self._encode_labels(y, batch.examples, labels if classes is None else labels.named(classes))
            if old is None:
                state = self._build_state(batch.features, batch.rows.values.dtype, batch.names, labels)
                state.reading = batch.reading
            else:
                self._check_settings_unchanged(old)
                check_writeable(old)
                if raw is None:
                    self._check_features(batch)
                else:
                    self._ensure_capacity(old, batch.features)
                state = old
            self._learn_batch(state, batch.rows, codes, labels, weights)
        self._set_state(state)
        self._check_label_order(state, codes, "Shuffle the rows first.")
        return self

    def _learn_batch(
        self, state: ModelState, rows: Rows, codes: Any, labels: Any, weights: NDArray[np.float64]
    ) -> None:
        """Learn a batch that may have new labels; they are dropped if no row of it was learned."""
        before, known = state.ledger.examples, state.labels
        state.labels = labels
        try:
            self._learn(state, rows, codes, weights)
        except BaseException:
            if state.ledger.examples == before:  # unless a part of the batch was learned
                state.labels = known
            raise

    def _learn(
        self,
        state: ModelState,
        rows: Rows,
        codes: Any,
        weights: NDArray[np.float64],
        orders: RowOrders = IN_GIVEN_ORDER,
    ) -> int:
        """Learn all rows, one pass for each order; return the mistakes of the first pass.

        If a row is invalid, no row is learned. After a weight overflow the rows before it may stay learned: see
        `learn_passes`.
        """
        return learn_passes(self, state, rows, codes, weights, orders)

    def _learn_checked_rows(
        self, state: ModelState, rows: Rows, signs: Any, labels: Any, weights: NDArray[np.float64]
    ) -> None:
        """Learn rows that a reader has checked: all numbers are finite, no column occurs twice, all have slots."""
        state.labels, before = labels, state.ledger.examples
        taken = self._run_pass(state, rows, signs, weights, known=True)
        state.feature_sample.record(rows, weights, before, state.ledger.examples, state.features, known=True)
        self._set_state(state)
        if taken < len(signs):
            raise build_stop_error(self, state, rows, taken)

    def _run_pass(
        self, state: ModelState, rows: Rows, signs: Any, weights: NDArray[np.float64], *, known: bool = False
    ) -> int:
        """Learn these rows once; return how many were taken. `known` says that a reader has checked them: sparse rows
        are canonical then, up to the first with a zero, which the loop refuses."""
        if self._weighs_classes():
            prepare_class_weights(self, state.ledger, state.labels)
        done = self._run_loop(state, rows, signs, weights, True) if known and isinstance(rows, Sparse) else 0
        if done == len(signs):
            return done

        def take(part: Rows, start: int, canonical: bool) -> int:
            start += done
            stop = start + count_rows(part)
            return self._run_loop(state, part, signs[start:stop], weights[start:stop], canonical)

        rest = slice_rows(rows, done, len(signs)) if done else rows
        sparse_only = not self._spec().learns_dense_rows
        return done + for_each_canonical_block(rest, state.features, take, known=known, sparse_only=sparse_only)

    def _begin_passes(self, state: ModelState, count: int) -> RowOrders:
        """Record the shuffle and the number of rows in the state; return the order of the rows in each pass of fit."""
        passes, state.fit_row_count = int(self.passes), count
        if not self.shuffle:
            return [None] * passes
        state.shuffle = describe_shuffle(self._shuffle_seed, count)
        return (permutation(self._shuffle_seed, number, count) for number in range(passes))

    @property
    def _shuffle_seed(self) -> int:
        """The seed of fit's random order; in a scheme that of the inner learner."""
        return int(self.random_state)

    def _check_rows(self, state: ModelState, rows: Rows) -> None:
        """Raise InputError if a row can't be learned."""
        check_valid_rows(self, state, rows)

    def _restore(self, state: ModelState, backup: ModelState) -> None:
        """Restore the state of `backup`, which was copied before learning."""
        state.updater, state.ledger, state.more = backup.updater, backup.ledger, backup.more
        if state is self._state:
            self._set_state(state)

    def _build_file_trainer(self, reading: Any, *, positive: str | None = None) -> Any:
        """Return a trainer that feeds files to the model."""
        from novikoff.base.file_training import FileTrainer

        return FileTrainer(self, reading, positive=positive)

    # --- Labels ---

    def _empty_labels(self) -> Any:
        """Return the labels that are known before the first example."""
        return self._label_type()

    def _encode_labels(self, y: Any, examples: int, known: Any = None) -> tuple[Any, Any]:
        """Return the codes of the labels y, and all known labels; without `known`, y contains all labels."""
        labels = self._label_type.parse(y, examples)
        return self._label_type.found(labels) if known is None else known.encode(labels)

    def _labels_from_file(self, listed: list[Any], *, rest: str) -> Any:
        """Return the labels that a model file lists."""
        return self._label_type.from_file(listed, rest=rest)

    def _label_reader(self, labels: Any, left_out: Any) -> Any:
        """Return an encoder of labels in files; `left_out` counts examples without a label."""
        return labels.build_encoder(left_out)

    def _format_label(self, label: Any) -> str:
        """Return a label, predicted or given, as a text."""
        return str(self._require_fitted().labels.format(label))

    def _check_label_order(self, state: ModelState, codes: Any, advice: str) -> None:
        """Warn if the labels of this run are sorted, in the order in which they are learned."""
        if not self._warns_of_sorted_labels:
            return
        if state.label_order is None:
            state.label_order = LabelOrder()
        state.label_order.add(codes, len(state.labels))
        state.label_order.warn(advice)

    def _iter_encoded_arrays(self, X: Any, y: Any, qid: Any = None) -> Iterator[tuple[Rows, Any]]:
        """Yield rows and codes of labels of arrays as the loop takes them."""
        state = self._require_fitted()
        batch = encode_raw_batch(state, X) or validation.validate_batch(X)
        codes, _ = self._encode_labels(y, batch.examples, state.labels)
        for part, start in list_sparse_blocks(batch.rows, state.features):
            yield part, codes[start : start + count_rows(part)]

    def _iter_encoded_files(self, reading: Any) -> Iterator[tuple[Rows, Any]]:
        """Yield rows and codes of labels of files as the loop takes them."""
        skips = reading.options.bad_lines == "skip"
        reader = self._label_reader(self._require_fitted().labels, reading.left_out if skips else None)
        for batch in reading.batches():
            yield to_sparse(batch.rows), reader.encode(batch)

    # --- State ---

    def _check_all(self) -> None:
        """Raise InputError if a setting is not valid."""
        check_positive_int(passes=self.passes)
        settings = self.get_params()
        truths = ("average", "calibrate", "fit_intercept", "shuffle")
        check_bool(**{name: settings[name] for name in truths if name in settings})
        if settings.get("class_weight") is not None:
            check_class_weight(settings["class_weight"])
        check_seed(random_state=self.random_state)
        self._check_settings()

    def _build_state(self, features: int, dtype: Any, names: list[str] | None, labels: Any) -> ModelState:
        """Return the state of a run with no examples."""
        self._check_first_size(features, dtype)
        updater = self._spec().build_updater(features + 1, dtype)
        known = FeatureNames(names) if names else None
        sample, settings = self._fresh_sample(dtype), self._run_settings()
        precision = buffers.dtype(dtype)
        ledger = self._build_ledger()
        return ModelState(updater, ledger, labels, features, known, precision, settings, feature_sample=sample)

    def _build_ledger(self) -> Ledger:
        """Return the ledger of a run with no examples, with a calibration if the settings want one."""
        ledger = Ledger()
        if self._is_calibrated():
            start_calibration(ledger)
        return ledger

    def _fresh_sample(self, dtype: Any) -> FeatureSample:
        """Return an empty sample of the features, in the given precision."""
        return FeatureSample(dtype) if self._spec().has_weights else FeatureSample.never()

    def _weighs_classes(self) -> bool:
        """Return whether examples are weighed by their class."""
        return getattr(self._inner_learner, "class_weight", None) is not None

    def _run_settings(self) -> dict[str, Any]:
        """Return the settings that determine the run: all except those of fit alone."""
        return {name: value for name, value in self.get_params().items() if name not in FIT_SETTINGS}

    def _checked_state(self) -> ModelState:
        """Return the state; raise InputError if settings have changed since the run began."""
        state = self._require_fitted()
        self._check_settings_unchanged(state)
        return state

    def _check_settings_unchanged(self, state: ModelState) -> None:
        """Raise InputError if settings have changed: a run's bounds and its file hold for one set of settings."""
        now, before = self._run_settings(), state.settings
        changed = sorted(name for name, value in now.items() if name not in before or value != before[name])
        if changed:
            raise InputError(
                f"The settings {', '.join(changed)} have changed since this run began: set them back, or start again"
                " with fit or a new learner."
            )

    def _set_state(self, state: ModelState) -> None:
        """Replace the state."""
        self._state = state

    def _require_fitted(self) -> ModelState:
        state: ModelState = super()._require_fitted()
        return state

    def _ensure_capacity(self, state: ModelState, features: int) -> None:
        """Allocate weights for this number of features; raise InputError if the learner needs a fixed number."""
        if features > state.features:
            reason = self._spec().fixed_width_reason
            if reason is not None:
                raise InputError(
                    f"{type(self).__name__} must know the number of features in advance ({reason}): the run began"
                    f" with {state.features:,} features, got {features:,}."
                )
        state.ensure_capacity(features)

    # --- Model files ---

    def _trim_state(self, state: ModelState) -> Any:
        """Return the updater without spare capacity, for a model file."""
        return resize_updater(state.updater, state.features + 1)

    def _extra_schemas(self, features: int, present: Collection[str]) -> dict[str, Schema]:
        """Return the schemas of the arrays beside the updater, by prefix; `present` are the names in the file."""
        return {}

    def _columns_in_file(self, labels: Any) -> int:
        """Return how many columns of weights a file with these labels holds."""
        return 1

    def _extra_arrays(self, state: ModelState) -> dict[str, NDArray[Any]]:
        """Return the arrays of a model file beside the updater."""
        return {f"more.{name}": array for name, array in state.more.items()}

    def _state_from_file(self, state: ModelState, tensors: dict[str, NDArray[Any]]) -> ModelState:
        """Return the state, completed with the extra arrays of a file."""
        state.more = {name.removeprefix("more."): a.copy() for name, a in tensors.items() if name.startswith("more.")}
        return state

    # --- Memory ---

    def _memory_needed(self, growth: Growth) -> int:
        """Return the memory that the model needs after such growth, without spare capacity."""
        state = self._state
        if state is None:
            state = self._build_state(0, "float64", None, self._empty_labels())
        return self._bytes_needed(state, growth)

    def _bytes_needed(self, state: ModelState, growth: Growth) -> int:
        """Return the memory that this state needs after such growth, without spare capacity."""
        return state.bytes_needed(growth)

    def _check_first_size(self, features: int, dtype: Any) -> None:
        """Raise ModelTooLarge if the weights exceed the memory limit, before they are allocated."""
        if features >= MIN_CHECKED_FEATURES:
            weights = bytes_per_slot(self._spec().build_updater(2, dtype)) * (features + 1)
            check_size(weights, f"{features:,} features", HASH_FEATURES_ADVICE)

    # --- Predicting ---

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return w·x for each row: positive for classes_[1]."""
        state = self._require_fitted()
        scores = score_raw_rows(self, X)
        if scores is not None:
            return scores
        batch = validation.validate_batch(X, kind=state.kind)
        self._check_features(batch)
        return self._score_rows(batch.rows)

    def _score_rows(self, rows: Rows) -> NDArray[np.float64]:
        """Return the scores of validated rows."""
        return self._build_scorer()(rows)

    def _build_scorer(self, *, known: bool = False) -> Callable[[Rows], NDArray[np.float64]]:
        """Return a function of rows to scores, with the current hypothesis."""
        return scoring.build_scorer(self, known=known)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row."""
        return self._decide(self.decision_function(X))

    @available_if(probabilities.explain_missing_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class for each row, in the order of classes_.

        The predicted label has the highest one. See `calibrate`, and docs/probabilities.md for what they mean.
        """
        return self._to_probabilities(self.decision_function(X))

    @available_if(probabilities.explain_missing_probabilities)
    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return the probability of each label for one example; empty before the first example was learned."""
        if self._state is None:
            return {}
        found = self._to_probabilities(self._score_example(x))[0]
        return dict(zip(self._state.labels.known(), found.tolist(), strict=True))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows whose label is predicted."""
        return fitted.compute_accuracy(self.predict(X), y, sample_weight)

    def _decide(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """Return the labels for these scores; while only one label is known, that one."""
        known = self.classes_
        positive = self._is_positive(scores)
        return known[positive.astype(np.intp)] if len(known) == 2 else np.repeat(known, len(scores))

    def _is_positive(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return for which of these scores of two classes the positive one is predicted."""
        threshold = self._require_fitted().threshold
        if threshold is not None:
            return is_positive(self, threshold, scores)
        return scores >= 0.0 if TIE_SIGNS[self.tie] > 0.0 else scores > 0.0

    def _is_calibrated(self) -> bool:
        """Return whether the settings want probabilities that are calibrated online."""
        wanted = self._has_probabilities and getattr(self._inner_learner, "calibrate", False)
        return bool(wanted and not self._scores_are_log_odds())

    def _scores_are_log_odds(self) -> bool:
        """Return whether scores are estimates of log-odds as they are."""
        return self._spec().scores_are_log_odds

    def _scores_are_log_probabilities(self) -> bool:
        """Return whether scores of classes are logarithms of their probabilities."""
        return False

    def _to_probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of each class for these scores, one row for each example."""
        scale = self._spec().weight_scale
        return probabilities.to_binary_probabilities(self, scores / scale, TIE_SIGNS[self.tie])

    def _score_example(self, x: Any) -> NDArray[np.float64]:
        """Return the score of one example, as `_decide` takes the scores of rows."""
        return np.array([self.score_one(x)])

    def score_one(self, x: Any) -> Any:
        """Return the score of one example."""
        raise NotImplementedError

    def _display_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores as they are shown beside predictions, one row for each example."""
        return scores.reshape(len(scores), -1)

    # --- What was learned ---

    @property
    def n_features_in_(self) -> int:
        """The number of features that the model has seen."""
        return int(self._require_attribute("n_features_in_").features)

    feature_names_in_ = property(fitted.list_feature_names)
    feature_std_ = property(fitted.estimate_deviations)
    feature_importances_ = property(fitted.compute_importances)
    mistake_rows_ = property(fitted.find_mistake_rows)

    @property
    def classes_(self) -> NDArray[Any]:
        """The two labels: the score is positive for the second."""
        return buffers.array(self._require_attribute("classes_").labels.known())

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The weights, one row of n_features_in_ numbers."""
        state = self._require_attribute("coef_")
        return self._hypothesis(state)[None, 1 : state.features + 1] * self._spec().weight_scale

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The weight of the bias feature."""
        return self._hypothesis(self._require_attribute("intercept_"))[:1] * self._spec().weight_scale

    @property
    def ledger_(self) -> Ledger:
        """The record of the run: examples, mistakes, updates, radius."""
        ledger: Ledger = self._require_attribute("ledger_").ledger
        return ledger


class SampleWeightMixin(BaseEstimator):
    """A learner that takes weights of examples; precedes the other base class."""

    def fit(self: Any, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Forget what was learned, then learn (X, y) `passes` times, in random order unless `shuffle` is False.

        An example of weight c makes one step c times as long (for multiplicative learners, of exponents).
        """
        self._fit_rows(X, y, sample_weight)
        return self

    def partial_fit(self: Any, X: Any, y: Any, classes: Any = None, sample_weight: ArrayLike | None = None) -> Any:
        """Continue learning with one pass over these rows; `classes` names all labels at the first call."""
        return self._partial_fit(X, y, classes, sample_weight)

    def _learn_weighted_example(self: Any, x: Any, y: Any, weight: float) -> None:
        """Learn one example, as `learn_one` takes it, with a weight above 0."""
        learn_as_batch(self, x, y, weight)
