"""What every learner has in common: fit, partial_fit and predict, and one run from the first example to the last.

A learner's own file says what its settings may be and which theorems hold for it; those that are linear are made of a
rule and a geometry (`linear.py`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Self, TypeAlias

from novikoff._compiled import buffers
from novikoff._compiled.lazy_numpy import ArrayLike, NDArray, np
from novikoff.base.estimator import check_bool, check_positive_int, check_seed
from novikoff.base.fitted import StatefulEstimator
from novikoff.base.model_state import HASH_FEATURES_ADVICE, ModelState
from novikoff.base.raw_rows import encode_raw_batch, prepare_first_batch, score_raw_rows, undo_new_features
from novikoff.core.feature_sample import FeatureSample
from novikoff.core.memory_sizes import bytes_per_slot
from novikoff.core.updaters.base import first_out_of_range
from novikoff.data import validation
from novikoff.data.canonical_rows import list_sparse_blocks, to_sparse
from novikoff.data.labels.binary_labels import BinaryLabels, merge_label
from novikoff.data.labels.label_order import LabelOrder
from novikoff.data.names.feature_names import FeatureNames
from novikoff.data.rows import Rows, count_rows, slice_rows
from novikoff.data.shuffle.permutation import describe_shuffle, permutation
from novikoff.errors import FeatureRangeError, InputError, WeightOverflowError
from novikoff.ledger import Ledger
from novikoff.memory_limit import Growth, check_size
from novikoff.schema import Schema
from novikoff.theory.bound_declaration import Bound

TIE_SIGNS = {"positive": 1.0, "negative": -1.0}
FIT_SETTINGS = ("passes", "shuffle", "random_state")
"""Settings that say how fit goes over its rows; a run may go on with others."""

MIN_CHECKED_FEATURES = 1 << 16
"""Features of a new model from which on their memory is looked at: that of fewer is small."""

RowOrders: TypeAlias = "Iterable[NDArray[np.int64] | None]"
"""The order of the rows in each pass; None is the given order."""
IN_GIVEN_ORDER: RowOrders = (None,)
"""One pass."""


class OnlineClassifier(StatefulEstimator[ModelState], ABC):
    """A binary classifier that learns from batches. Abstract: see the learners beside this file."""

    fit_intercept: bool
    passes: int
    shuffle: bool
    random_state: int
    tie: Any = "positive"
    _multiclass_support: ClassVar[str] = "no"
    """Whether many columns of its weights can be learned side by side: each as if it stood alone, as one long vector
    (whole), as preferences of a class to its highest rival (rivals), or not."""

    _scratch_columns: ClassVar[int] = 0
    """How many numbers are noted of each column of weights while an example is learned."""
    _has_weights: ClassVar[bool] = False
    """Whether it has `coef_`, so that the spread of the features is sampled for their importance."""
    _is_multiclass: ClassVar[bool] = False
    """Whether it takes more than two classes by itself, without a scheme around it."""
    _predicts_one_label: ClassVar[bool] = True
    """Whether it predicts one label for each example."""
    _needs_two_classes: ClassVar[bool] = True
    """Whether what is learned are labels, of which there must be two."""
    _warns_of_sorted_labels: bool = True
    """Whether fit and partial_fit issue SortedLabelsWarning: not in runs that the user did not ask for."""
    _has_fixed_length: bool = True
    """Whether how many examples were learned from has nothing to do with what happened on them."""
    _outcome_type: str = "sides"
    """What examples are to the theorems: the two sides of a vector, preferences between columns of weights, a binary
    problem for each column, or queries."""

    @property
    def _inner_learner(self) -> Any:
        """The binary learner that this is, or is made of."""
        return self

    def _scheme_info(self) -> dict[str, Any]:
        """What there is to say of how outcomes are made, where they are not two labels."""
        return {}

    def _iter_encoded_arrays(self, X: Any, y: Any, qid: Any = None) -> Iterator[tuple[Rows, Any]]:
        """Rows as they were learned, and what each asks for, as the loop takes it."""
        state = self._require_fitted()
        batch = encode_raw_batch(state, X) or validation.validate_batch(X)
        codes, _ = self._encode_labels(y, batch.examples, state.labels)
        for part, start in list_sparse_blocks(batch.rows, state.features):
            yield part, codes[start : start + count_rows(part)]

    def _iter_encoded_files(self, reading: Any) -> Iterator[tuple[Rows, Any]]:
        """The same for files."""
        skips = reading.options.bad_lines == "skip"
        reader = self._label_reader(self._require_fitted().labels, reading.left_out if skips else None)
        for batch in reading.batches():
            yield to_sparse(batch.rows), reader.of(batch)

    def _run_facts(self) -> dict[str, Any]:
        """What a certificate tells of the run beside the ledger."""
        return {}

    def _build_file_trainer(self, reading: Any, *, positive: str | None = None) -> Any:
        """A run of this model over some files."""
        from novikoff.base.file_training import FileTrainer

        return FileTrainer(self, reading, positive=positive)

    # --- What a learner's file provides ---

    @abstractmethod
    def _build_updater(self, slots: int, dtype: Any) -> Any:
        """A fresh geometry, from the settings."""

    @abstractmethod
    def _schema(self, features: int) -> Schema:
        """Return what a model file with so many features may hold of the geometry, with these settings."""

    def _extra_schemas(self, features: int, present: Collection[str]) -> dict[str, Schema]:
        """Return the schemas of the arrays beside it, by the beginning of their names; `present` are the names in the
        file."""
        return {}

    def _columns_in_file(self, labels: Any) -> int:
        """Return how many columns of weights a file with these labels holds, for each slot."""
        return 1

    @abstractmethod
    def _trim_state(self, state: ModelState) -> Any:
        """The geometry without room to spare, as it goes to a file."""

    @abstractmethod
    def _learn(
        self,
        state: ModelState,
        rows: Rows,
        signs: Any,
        weights: NDArray[np.float64],
        orders: RowOrders = IN_GIVEN_ORDER,
    ) -> int:
        """Learn all rows, one pass for each order, or none where one is refused; return the mistakes of the first
        pass."""

    @abstractmethod
    def _run_pass(
        self,
        state: ModelState,
        rows: Rows,
        signs: NDArray[np.int8],
        weights: NDArray[np.float64],
        *,
        known: bool = False,
    ) -> int:
        """One pass; returns how many rows were taken."""

    @abstractmethod
    def _build_scorer(self, *, known: bool = False) -> Callable[[Rows], NDArray[np.float64]]:
        """What decision_function does, for many batches of rows that have passed the door, with the hypothesis of this
        moment made once. `known` says that a reader has looked through the rows: no column comes twice; there may be
        some that were never learned."""

    @abstractmethod
    def _hypothesis(self, state: ModelState) -> NDArray[np.float64]:
        """The weights, that of the bias first; AttributeError where what is learned is no such vector."""

    @abstractmethod
    def bounds(self) -> Sequence[Bound]:
        """The theorems that hold for the run so far, with these settings."""

    def _preference_bounds(self, state: ModelState, *, variables: int, top: bool) -> Sequence[Bound]:
        """The theorems that hold in a space of so many variables where all examples are positive, and each is a mean of
        preferences that the rule was not content with (core/multiclass/pairwise_gradients.py); `top`: always the
        one with the least score."""
        return ()

    def _column_bounds(self, state: ModelState, *, variables: int) -> Sequence[Bound]:
        """The theorems for one of many columns of weights that learns by itself; only what any order allows."""
        return ()

    def _check_settings(self) -> None:
        """Raises InputError where a setting makes no sense; called before anything is learned."""

    def _weight_scale(self) -> float:
        """What the weights are multiplied by when they are shown."""
        return 1.0

    def _reserve(self, state: ModelState, examples: int, terms: int) -> None:
        """Makes room for what so many single examples may add to the geometry."""

    def _feature_range(self) -> tuple[float, float]:
        """Which values of features the learner takes; from 1 to 1 says Boolean, for a value of 0 is no term."""
        return -math.inf, math.inf

    def _fixed_width_reason(self) -> str | None:
        """Why the number of features must be known before anything is learned; None where it need not be."""
        return None

    def _unseen_weight(self, state: ModelState) -> float:
        """The weight of features that were never seen."""
        return 0.0

    def _extra_arrays(self, state: ModelState) -> dict[str, NDArray[Any]]:
        """What goes to a file beside the geometry, by name."""
        return {f"more.{name}": array for name, array in state.more.items()}

    def _state_from_file(self, state: ModelState, tensors: dict[str, NDArray[Any]]) -> ModelState:
        """The state with that from a file."""
        state.more = {name.removeprefix("more."): a.copy() for name, a in tensors.items() if name.startswith("more.")}
        return state

    def _labels_from_file(self, listed: list[Any], *, rest: str) -> Any:
        """Labels from a file."""
        return BinaryLabels(*listed, rest=rest)

    # --- Learning ---

    def fit(self, X: Any, y: Any) -> Self:
        """Forget what was learned, then learn (X, y) `passes` times, in random order unless `shuffle` is False."""
        self._fit_rows(X, y)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learns these rows once, going on from before; `classes` names both labels at the first call.

        Without `classes` labels are taken as they come (see `data/labels/binary_labels.py`).
        """
        return self._partial_fit(X, y, classes, None)

    def _fit_rows(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, classes: Any = None) -> int:
        """Do what fit does, with all of `classes` known where given; return the mistakes of the first pass."""
        self._check_all()
        batch = prepare_first_batch(X, warns=self._warns_of_sorted_labels)
        weights = validation.validate_sample_weight(sample_weight, batch.examples)
        known = None if classes is None else self._empty_labels().named(classes)
        signs, labels = self._encode_labels(y, batch.examples, known)
        state = self._build_state(batch.features, batch.rows.values.dtype, batch.names, labels)
        state.reading = batch.reading
        orders = self._orders(state, batch.examples)
        mistakes = self._learn(state, batch.rows, signs, weights, orders)
        self._set_state(state)
        if not self.shuffle:
            self._check_label_order(state, signs, "Leave shuffle=True, or shuffle the rows first.")
        return mistakes

    def _orders(self, state: ModelState, count: int) -> RowOrders:
        """Return the order of `count` rows in each pass of fit, and record it in the state."""
        passes, state.fit_row_count = int(self.passes), count
        if not self.shuffle:
            return [None] * passes
        state.shuffle = describe_shuffle(self._shuffle_seed, count)
        return (permutation(self._shuffle_seed, number, count) for number in range(passes))

    @property
    def _shuffle_seed(self) -> int:
        """Return the seed of the random order of fit; in a scheme that of the learner inside."""
        return int(self.random_state)

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: ArrayLike | None) -> Self:
        self._check_all()
        old = self._state
        with undo_new_features(old):
            raw = None if old is None else encode_raw_batch(old, X)
            batch = raw or (
                prepare_first_batch(X, warns=True) if old is None else validation.validate_batch(X, kind=old.kind)
            )
            weights = validation.validate_sample_weight(sample_weight, batch.examples)
            labels = old.labels if old else self._empty_labels()
            signs, labels = self._encode_labels(y, batch.examples, labels if classes is None else labels.named(classes))
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
            self._learn_batch(state, batch.rows, signs, labels, weights)
        self._set_state(state)
        self._check_label_order(state, signs, "Shuffle the rows first.")
        return self

    def _learn_batch(
        self, state: ModelState, rows: Rows, signs: Any, labels: Any, weights: NDArray[np.float64]
    ) -> None:
        """Learn a batch that may bring new labels; they are forgotten if nothing of it was taken."""
        before, known = state.ledger.examples, state.labels
        state.labels = labels
        try:
            self._learn(state, rows, signs, weights)
        except BaseException:
            if state.ledger.examples == before:  # not where a part of the batch was taken
                state.labels = known
            raise

    def _check_label_order(self, state: ModelState, codes: Any, advice: str) -> None:
        """Warn if the labels of this run, in the order in which they are learned, come in long runs."""
        if not self._warns_of_sorted_labels:
            return
        if state.label_order is None:
            state.label_order = LabelOrder()
        state.label_order.add(codes, len(state.labels))
        state.label_order.warn(advice)

    def _empty_labels(self) -> Any:
        """The labels that are known before any came."""
        return BinaryLabels()

    def _encode_labels(self, y: Any, examples: int, known: Any = None) -> tuple[Any, Any]:
        """The labels y as the loop takes them, and those that are known then; without `known`, all are in y."""
        y = validation.validate_y(y, examples)
        return BinaryLabels.found(y) if known is None else known.signs(y)

    def _label_reader(self, labels: Any, left_out: Any) -> Any:
        """What makes codes of the labels in files; `left_out` counts examples without a label that can be learned."""
        from novikoff.data.labels.label_encoding import BinaryLabelEncoder

        return BinaryLabelEncoder(labels, leave_out=left_out)

    def _learn_rows(
        self, state: ModelState, rows: Rows, signs: NDArray[np.int8], labels: BinaryLabels, weights: NDArray[np.float64]
    ) -> None:
        """partial_fit for rows that a reader has looked through: all finite, no column twice, all with slots."""
        state.labels, before = labels, state.ledger.examples
        taken = self._run_pass(state, rows, signs, weights, known=True)
        state.feature_sample.record(rows, weights, before, state.ledger.examples, state.features, known=True)
        self._set_state(state)
        if taken < len(signs):
            row = slice_rows(rows, taken, taken + 1)
            if first_out_of_range(row, 1, *self._feature_range()) == 0:
                column, value = validation.find_out_of_range(row, 0, *self._feature_range())
                raise self._feature_range_error(_describe_column(state, column), value, taken)
            raise self._overflow_error(taken, nothing_stands=False)

    def _check_all(self) -> None:
        check_positive_int(passes=self.passes)
        check_bool(
            **{
                name: value
                for name, value in self.get_params().items()
                if name in ("fit_intercept", "average", "shuffle")
            }
        )
        check_seed(random_state=self.random_state)
        self._check_settings()

    def _build_state(self, features: int, dtype: Any, names: list[str] | None, labels: BinaryLabels) -> ModelState:
        self._check_first_size(features, dtype)
        updater = self._build_updater(features + 1, dtype)
        known = FeatureNames(names) if names else None
        return ModelState(
            updater,
            Ledger(),
            labels,
            features,
            known,
            buffers.dtype(dtype),
            self._run_settings(),
            feature_sample=self._fresh_sample(dtype),
        )

    def _fresh_sample(self, dtype: Any) -> FeatureSample:
        """Return an empty sample of the features, in the given precision."""
        return FeatureSample(dtype) if self._has_weights else FeatureSample.never()

    def _run_settings(self) -> dict[str, Any]:
        """Return the settings that shape a run: all but those of fit alone."""
        return {name: value for name, value in self.get_params().items() if name not in FIT_SETTINGS}

    def _checked_state(self) -> ModelState:
        """What was learned, provided that the settings are still those it was learned with."""
        state = self._require_fitted()
        self._check_settings_unchanged(state)
        return state

    def _check_settings_unchanged(self, state: ModelState) -> None:
        """A run goes on as it began: its bounds, its file and its resumption speak of one set of settings."""
        now = self._run_settings()
        before = state.settings
        changed = sorted(name for name, value in now.items() if name not in before or value != before[name])
        if changed:
            raise InputError(
                f"The settings {', '.join(changed)} have changed since this run began: set them back, or begin anew"
                " with fit or a fresh learner."
            )

    def _set_state(self, state: ModelState) -> None:
        self._state = state

    def _check_range(self, rows: Rows, start: int = 0) -> None:
        """FeatureRangeError where a value is not in the learner's range; `start` is the number of the first row."""
        least, most = self._feature_range()
        if least == -math.inf:
            return
        bad = first_out_of_range(rows, count_rows(rows), least, most)
        if bad < count_rows(rows):
            column, value = validation.find_out_of_range(rows, bad, least, most)
            raise self._feature_range_error(f"row {start + bad}, column {column}", value, start + bad)

    def _feature_range_error(self, where: str, value: float, row: int = 0) -> FeatureRangeError:
        least, most = self._feature_range()
        takes = f"numbers from {least:g} to {most:g}"
        advice = "scale the features, for example with scikit-learn's MinMaxScaler"
        if least == most:
            takes, advice = "features that are 0 or 1", "make features of the others, such as 'size>3': 1"
        return FeatureRangeError(f"{type(self).__name__} takes {takes}, but {where} has {value}: {advice}.", row)

    def _ensure_capacity(self, state: ModelState, features: int) -> None:
        why = self._fixed_width_reason()
        if why is not None and features > state.features:
            raise InputError(
                f"{type(self).__name__} must know the number of features beforehand ({why}): it began with"
                f" {state.features:,}, and now there are {features:,}."
            )
        state.ensure_capacity(features)

    # --- Memory ---

    def _memory_needed(self, growth: Growth) -> int:
        """Return the memory that the model needs after such growth, without spare room."""
        state = self._state
        if state is None:
            state = self._build_state(0, "float64", None, self._empty_labels())
        return self._bytes_needed(state, growth)

    def _bytes_needed(self, state: ModelState, growth: Growth) -> int:
        return state.bytes_needed(growth)

    def _check_first_size(self, features: int, dtype: Any) -> None:
        """Raise ModelTooLarge where the weights of so many features are beyond the limit, before they are allocated."""
        if features >= MIN_CHECKED_FEATURES:
            weights = bytes_per_slot(self._build_updater(2, dtype)) * (features + 1)
            check_size(weights, f"{features:,} features", HASH_FEATURES_ADVICE)

    def _overflow_error(self, row: int, *, nothing_stands: bool) -> WeightOverflowError:
        stands = "nothing of this batch was learned" if nothing_stands else "what was learned up to there stands"
        return WeightOverflowError(
            f"The weights grew out of range before row {row}; {stands}. Scale the features, lower the learning rate, or"
            " choose a schedule whose steps shrink."
        )

    # --- Predicting ---

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """w·x for each row: positive for classes_[1]."""
        state = self._require_fitted()
        scores = score_raw_rows(self, X)
        if scores is not None:
            return scores
        batch = validation.validate_batch(X, kind=state.kind)
        self._check_features(batch)
        return self._score_rows(batch.rows)

    def _score_rows(self, rows: Rows) -> NDArray[np.float64]:
        """What decision_function does with rows that have passed the door."""
        return self._build_scorer()(rows)

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row."""
        return self._decide(self.decision_function(X))

    def _decide(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """The labels for these scores; where only one label is known yet, that one."""
        known = self.classes_
        positive = scores >= 0.0 if TIE_SIGNS[self.tie] > 0.0 else scores > 0.0
        return known[positive.astype(np.intp)] if len(known) == 2 else np.repeat(known, len(scores))

    def _format_label(self, label: Any) -> str:
        """A label, predicted or told, as it is written out."""
        return str(merge_label(label, self._require_fitted().labels))

    def _display_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """What is shown of the scores of some examples beside their labels, a row for each."""
        return scores.reshape(len(scores), -1)

    # --- What was learned ---

    @property
    def classes_(self) -> NDArray[Any]:
        """The two labels: the score is positive for the second."""
        return buffers.array(self._require_attribute("classes_").labels.known())

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The weights, one row of n_features_in_ numbers."""
        state = self._require_attribute("coef_")
        return self._hypothesis(state)[None, 1 : state.features + 1] * self._weight_scale()

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The weight of the bias feature."""
        return self._hypothesis(self._require_attribute("intercept_"))[:1] * self._weight_scale()

    @property
    def feature_std_(self) -> NDArray[np.float64]:
        """The standard deviation of each feature, estimated from a sample of the examples that were learned; 0 where no
        sampled example has a value other than 0."""
        return self._deviations("feature_std_")

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """|weight| × standard deviation of each feature: how much it moves the score. Where there are many columns of
        weights, the largest of them counts. Unlike those of scikit-learn's trees, importances don't add up to 1.

        The deviation is an estimate (see `feature_std_`): the importance of a feature that no sampled example has, such
        as a rare word, is 0 whatever its weight."""
        deviations = self._deviations("feature_importances_")
        importances: NDArray[np.float64] = np.abs(self.coef_).max(axis=0, initial=0.0) * deviations
        return importances

    def _deviations(self, name: str) -> NDArray[np.float64]:
        state = self._require_attribute(name)
        if not state.feature_sample.is_recording:
            raise AttributeError(f"{type(self).__name__} has no single weight vector, and so no {name}.")
        return state.feature_sample.deviations(state.features)[0]

    def _min_errors(self, rows: Rows, signs: NDArray[np.int8]) -> int | None:
        """How often the best hypothesis of the learner's class errs on these rows, where that can be counted."""
        return None

    def describe(self) -> str | None:
        """What was learned in words, where weights don't say it."""
        return None

    @property
    def ledger_(self) -> Ledger:
        """What happened: examples, mistakes, updates, radius."""
        return self._require_attribute("ledger_").ledger

    @property
    def mistake_rows_(self) -> NDArray[np.int64]:
        """The rows of fit's X on which the mistakes fell that `ledger_.mistake_times` lists, in that order.

        With shuffling, a mistake at time t is not one on row t. A row that was mistaken in several passes is listed
        once for each. AttributeError where the run has other examples than those of fit.
        """
        state = self._require_attribute("mistake_rows_")
        times, record = state.ledger.mistake_times - 1, state.shuffle
        rows = state.fit_row_count if record is None else record["rows"]
        if rows == 0 or state.ledger.examples != rows * int(self.passes):
            raise AttributeError("mistake_rows_ is known after fit alone, where all rows have a weight above 0.")
        passes, places = np.divmod(times, rows)
        if record is None:
            return places
        found = buffers.empty(len(times), "int64")
        for number in np.unique(passes).tolist():
            chosen = passes == number
            found[chosen] = permutation(record["random_state"], number, rows)[places[chosen]]
        return found


def check_writeable(state: ModelState) -> None:
    """Raise InputError for a model whose arrays can't be changed."""
    flags = getattr(getattr(state.updater, "weights", None), "flags", None)
    if flags is not None and not flags.writeable:
        raise InputError(
            "The arrays of this model are read-only, so it can predict but not learn: load it without mmap_mode."
        )


def _describe_column(state: ModelState, column: int) -> str:
    """A column as its user knows it."""
    return f"column {column}" if state.names is None else f"feature {list(state.names.columns)[column]!r}"
