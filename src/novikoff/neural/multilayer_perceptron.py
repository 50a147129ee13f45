"""Multi-layer perceptron: sigmoid units, back-propagation, stochastic gradient (Rumelhart, Hinton and Williams 1986).

Predict   the class with the largest output unit, the first of equals
Update    w −= r·∂E/∂w after each example, or for the mean over each mini-batch; E squared error or cross-entropy
Bound     none: E is not convex in the weights, and no mistake bound is known
Source    Rumelhart, Hinton, Williams: Learning representations by back-propagating errors, 1986

The formulas are in `core/mlp/network.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from novikoff.base.estimator import check_choice, check_positive, check_positive_int
from novikoff.base.learner_spec import LearnerSpec
from novikoff.base.model_state import NO_GROWTH, ModelState
from novikoff.base.online_classifier import OnlineClassifier, SampleWeightMixin
from novikoff.base.raw_rows import encode_example
from novikoff.base.single_example import build_row, parse_known_terms
from novikoff.core.mlp.initial_weights import add_outputs, build_network, initial_first_layer
from novikoff.core.mlp.network import N_CLASSES, NEW_CLASS_EXAMPLES, Network, NetworkWorkspace, network_schema
from novikoff.core.mlp.training import first_invalid_row, learn_network, score_network_rows
from novikoff.core.updaters.base import resize_updater
from novikoff.data import validation
from novikoff.data.canonical_rows import for_each_canonical_block
from novikoff.data.labels.binary_labels import BinaryLabels
from novikoff.data.labels.class_labels import ClassLabels
from novikoff.data.rows import Rows, count_rows
from novikoff.errors import InputError
from novikoff.memory_limit import Growth, check_size
from novikoff.schema import Schema
from novikoff.theory.bound_declaration import Bound

__all__ = ["MultilayerPerceptron"]

MAX_LAYER_UNITS = 1 << 16  # units of a layer


@final
class MultilayerPerceptron(SampleWeightMixin, OnlineClassifier):
    """Layers of sigmoid units, trained by back-propagation, one example or mini-batch a step.

    There is one output unit for each class; a new class gets one when it arrives. Initial weights are random numbers
    that depend on `random_state` and their position only. An incomplete mini-batch at the end of the data waits for
    more examples, so the model does not depend on batch boundaries. Scale the features: units with large inputs
    saturate at 0 or 1, and learn slowly.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int
        Units of each hidden layer, the lowest first.
    loss : str
        squared or cross-entropy.
    schedule : str
        adagrad, or steps of length r: constant, or sqrt for r/√s at step s.
    learning_rate : float
        Step size.
    batch_size : int
        Number of examples in a step.
    init_scale : float
        Initial weights of the inputs are between −init_scale and init_scale; those of higher layers lie in
        ±2√(6/(units below + above)).
    class_weight : dict, "balanced" or None
        Weights of examples by their label. "balanced" weighs an example of class c by n/(k·n_c), for n examples of k
        classes so far, n_c of them of class c. None: all examples count alike.
    passes : int
        How often fit goes over the data.
    shuffle : bool
        Whether fit learns the rows in random order, a new one in each pass. Otherwise in the given order.
    random_state : int
        The seed of the initial weights and of the random order.

    Examples
    --------
    >>> from novikoff import MultilayerPerceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["same", "other", "other", "same"]
    >>> model = MultilayerPerceptron(hidden_layer_sizes=(8,), passes=500).fit(X, y)
    >>> model.predict(X).tolist()
    ['same', 'other', 'other', 'same']
    """

    fit_intercept = True

    _label_type = ClassLabels
    _is_multiclass = True
    _accepts_multiclass = True
    _needs_two_classes = False

    def __init__(
        self,
        *,
        hidden_layer_sizes: tuple[int, ...] = (16,),
        loss: Literal["squared", "cross-entropy"] = "squared",
        schedule: Literal["adagrad", "constant", "sqrt"] = "adagrad",
        learning_rate: float = 0.3,
        batch_size: int = 1,
        init_scale: float = 0.5,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        passes: int = 1,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.loss = loss
        self.schedule = schedule
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.init_scale = init_scale
        self.class_weight = class_weight
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    @classmethod
    def _from_settings(cls, settings: dict[str, Any]) -> Any:
        hidden = settings.get("hidden_layer_sizes", ())
        return cls(**{**settings, "hidden_layer_sizes": tuple(hidden) if isinstance(hidden, list) else hidden})

    def _run_settings(self) -> dict[str, Any]:
        return {
            **super()._run_settings(),
            "hidden_layer_sizes": list(self.hidden_layer_sizes),
            "random_state": self.random_state,
        }

    def _check_settings(self) -> None:
        if (
            isinstance(self.hidden_layer_sizes, str)
            or not isinstance(self.hidden_layer_sizes, Sequence)
            or not self.hidden_layer_sizes
        ):
            raise InputError(
                "hidden_layer_sizes must list the units of each layer, such as (16,), but is"
                f" {self.hidden_layer_sizes!r}."
            )
        for units in self.hidden_layer_sizes:
            check_positive_int(hidden_layer_sizes=units)
            if units > MAX_LAYER_UNITS:
                raise InputError(
                    f"A layer has at most {MAX_LAYER_UNITS:,} units, but hidden_layer_sizes is"
                    f" {self.hidden_layer_sizes!r}."
                )
        check_choice(("squared", "cross-entropy"), loss=self.loss)
        check_choice(("adagrad", "constant", "sqrt"), schedule=self.schedule)
        check_positive(learning_rate=self.learning_rate, init_scale=self.init_scale)
        check_positive_int(batch_size=self.batch_size)

    def bounds(self) -> Sequence[Bound]:
        return ()

    # --- Initial weights ---

    def _spec(self) -> LearnerSpec:
        return LearnerSpec(
            build_updater=self._build_updater,
            build_schema=self._build_schema,
            has_weights=False,
            scores_by_weights=False,
            learns_dense_rows=False,
            scores_dense_rows=False,
        )

    def _build_schema(self, features: int) -> Schema:
        hidden = [int(units) for units in self.hidden_layer_sizes]
        return network_schema(hidden, adagrad=self.schedule == "adagrad", batch=int(self.batch_size))

    def _build_updater(self, slots: int, dtype: Any) -> Network:
        return build_network(
            [int(units) for units in self.hidden_layer_sizes],
            slots,
            seed=int(self.random_state),
            spread=float(self.init_scale),
            adagrad=self.schedule == "adagrad",
            rate=float(self.learning_rate),
            decay=0.5 if self.schedule == "sqrt" else 0.0,
            batch=int(self.batch_size),
            entropy=self.loss == "cross-entropy",
        )

    def _ensure_capacity(self, state: ModelState, features: int) -> None:
        before = state.room + 1
        super()._ensure_capacity(state, features)
        if state.room + 1 > before:
            slots = state.updater.weights
            slots[before:] = initial_first_layer(
                int(self.random_state), float(self.init_scale), before, len(slots), slots.shape[1]
            )

    def _bytes_needed(self, state: ModelState, growth: Growth) -> int:
        """Return the memory after such growth: each class adds a row to each array of the last layer."""
        net, classes = state.updater, len(state.labels) + len(growth.labels)
        tops = net.top, net.top_sums, net.top_pulls
        per_class = sum(8 * array.shape[1] for array in tops if array.ndim == 2 and array.shape[1])
        return super()._bytes_needed(state, growth) + max(0, classes - len(net.top)) * per_class

    def _make_outputs(self, state: ModelState) -> None:
        if len(state.labels) > len(state.updater.top):
            check_size(self._bytes_needed(state, NO_GROWTH), f"{len(state.labels):,} classes", "Use fewer hidden units")
        state.updater = add_outputs(state.updater, len(state.labels), int(self.random_state))

    def _trim_state(self, state: ModelState) -> Network:
        net, classes = resize_updater(state.updater, state.features + 1), len(state.labels)
        return net._replace(top=net.top[:classes], top_sums=net.top_sums[:classes], top_pulls=net.top_pulls[:classes])

    def _state_from_file(self, state: ModelState, tensors: dict[str, NDArray[Any]]) -> ModelState:
        if isinstance(state.labels, ClassLabels):
            state.labels.declared_count = int(state.updater.counts[N_CLASSES])
        return super()._state_from_file(state, tensors)

    # --- Learning ---

    def _labels_from_file(self, listed: list[Any], *, rest: str) -> Any:
        """Return the labels of a file; one label against the rest counts as two labels."""
        return BinaryLabels(*listed, rest=rest) if rest else ClassLabels(listed)

    def _workspace(self, state: ModelState) -> NetworkWorkspace:
        hidden, classes = int(state.updater.sizes.sum()), len(state.updater.top)
        return NetworkWorkspace(np.zeros(hidden), np.zeros(hidden), np.zeros(classes), np.zeros(classes))

    def _run_loop(
        self, state: ModelState, rows: Rows, signs: Any, weights: NDArray[np.float64], canonical: bool
    ) -> int:
        self._make_outputs(state)
        net, slots, workspace = state.updater, state.features + 1, self._workspace(state)
        n_classes, codes = 2, signs
        if isinstance(state.labels, ClassLabels):
            n_classes = state.labels.declared_count
        else:
            codes = (signs > 0).astype(np.int64)
        net.counts[N_CLASSES] = max(int(net.counts[N_CLASSES]), n_classes)
        return learn_network(net, rows, codes, weights, slots, workspace, state.ledger.book, canonical)

    def _check_rows(self, state: ModelState, rows: Rows) -> None:
        def take(part: Rows, start: int, canonical: bool) -> int:
            return first_invalid_row(part, count_rows(part), state.features + 1, canonical)

        good = for_each_canonical_block(rows, state.features, take, sparse_only=True)
        if good < count_rows(rows):
            raise InputError(validation.explain_rejection(rows, good, state.features))

    # --- Predicting ---

    def _score_shape(self, state: ModelState) -> tuple[int, ...]:
        return (len(state.labels),)

    def _build_loop_scorer(self, state: ModelState) -> Callable[[Rows, bool, NDArray[np.float64]], int]:
        self._make_outputs(state)  # classes were declared before the first example
        net, slots, known, workspace = state.updater, state.features + 1, len(state.labels), self._workspace(state)
        return lambda rows, canonical, out: score_network_rows(net, rows, slots, known, canonical, workspace, out)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the outputs divided by their sum. With cross-entropy each unit estimates the probability of its class;
        with squared error use them as scores."""
        given = super().decision_function(X)
        return given / given.sum(axis=1, keepdims=True)

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return what `predict_proba` does for one example; empty before the first example was learned."""
        if self._state is None:
            return {}
        outputs = np.array(list(self.score_one(x).values()))
        return dict(zip(self._state.labels.known(), (outputs / outputs.sum()).tolist(), strict=True))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the outputs; for two classes the second minus the first."""
        given = super().decision_function(X)
        return given[:, 1] - given[:, 0] if given.shape[1] == 2 else given

    def predict(self, X: Any) -> NDArray[Any]:
        return self._decide(super().decision_function(X))

    def _decide(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        chosen: NDArray[Any] = self.classes_[scores.argmax(axis=1)]
        return chosen

    def score_one(self, x: Any) -> dict[Any, float]:
        """Return the output for each class."""
        return dict(zip(self._require_fitted().labels.known(), self._one(x)[0].tolist(), strict=True))

    def predict_one(self, x: Any) -> Any:
        """Return the label of one example, or None before the first example was learned."""
        return None if self._state is None else self._decide(self._one(x))[0].item()

    def _one(self, x: Any) -> NDArray[np.float64]:
        state = self._require_fitted()
        out = np.zeros((1, len(state.labels)))
        self._build_loop_scorer(state)(build_row(*parse_known_terms(self, state, encode_example(state, x))), True, out)
        return out

    # --- What was learned ---

    def _scheme_info(self) -> dict[str, Any]:
        return {"multiclass": "one output a class", "classes": len(self._require_fitted().labels)}

    def _run_facts(self) -> dict[str, Any]:
        state = self._require_fitted()
        return {"classes": len(state.labels), "new": int(state.updater.counts[NEW_CLASS_EXAMPLES])}

    @property
    def coefs_(self) -> list[NDArray[np.float64]]:
        """The weights of each layer, a row for each unit below; `intercepts_` has the biases."""
        return [layer[1:] for layer in self._layers("coefs_")]

    @property
    def intercepts_(self) -> list[NDArray[np.float64]]:
        """The biases of each layer."""
        return [layer[0] for layer in self._layers("intercepts_")]

    def _hypothesis(self, state: ModelState) -> NDArray[np.float64]:
        raise AttributeError("A network has no single weight vector: see coefs_ and intercepts_.")

    def _layers(self, name: str) -> list[NDArray[np.float64]]:
        state = self._require_attribute(name)
        net, layers, offset = state.updater, [state.updater.weights[: state.features + 1].copy()], 0
        for below, units in zip(net.sizes[:-1].tolist(), net.sizes[1:].tolist(), strict=True):
            layers.append(net.deep[offset : offset + units * (below + 1)].reshape(units, below + 1).T.copy())
            offset += units * (below + 1)
        return [*layers, net.top[: len(state.labels)].T.copy()]

    def describe(self) -> str:
        sizes = [self.n_features_in_, *(int(n) for n in self.hidden_layer_sizes), len(self.classes_)]
        return f"A network with layers of {', '.join(f'{n:,}' for n in sizes)} units."
