"""One model of the server: it predicts, learns lines of the journal, and keeps counters.

The same lines in the same order give the same model, byte for byte, also when the journal is replayed.
"""

from __future__ import annotations

import contextlib
import operator
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from novikoff import learner_registry, scheme_registry
from novikoff.auto import to_multiclass
from novikoff.base.internals import (
    build_unfitted,
    check_settings,
    explain_missing_probabilities,
    outcome_type_of,
    plain_settings_of,
    require_state,
    setting_defaults_of,
    state_of,
)
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.data.labels.binary_labels import to_plain_label
from novikoff.data.labels.label_order import LabelOrder
from novikoff.data.raw.encoding import Encoding, get_encoding
from novikoff.errors import InputError, LabelError, ModelTooLarge, NovikoffError, TooManyLabelsError
from novikoff.explanation import explain
from novikoff.learner_registry import name_of
from novikoff.ledger import Ledger
from novikoff.linear.auto import BinaryAuto
from novikoff.memory_limit import format_size
from novikoff.model_factory import (
    DEFAULT_LEARNER,
    UNKNOWN_TASK,
    ModelSettings,
    build_model,
    default_learner_inside,
)
from novikoff.model_file import from_bytes
from novikoff.server.http.schemas import Counts, LabelProbability, ModelInfo, PredictionExplanation
from novikoff.server.models.batch_engine import BatchEngine
from novikoff.server.models.features import get_encoder, get_served_encoding, keep_names, predict_with_score
from novikoff.server.models.line_runs import ExampleError, IrregularLine, LineRun
from novikoff.server.models.validation import NAMED_DECODERS, RAW_DECODERS, RequestDecoders, RequestError, count_label
from novikoff.server.ops.limits import Limits

RECENT_WINDOW_EXAMPLES = 1_000
MAX_RUN_FEATURES = 4_096  # of one example of a run; longer examples are learned one by one
NOT_LEARNED = "not-learned"
CHAMPION, CHALLENGER = "champion", "challenger"


@dataclass
class LearnOutcome:
    """The result of learning some lines."""

    examples: int = 0
    mistakes: int = 0
    updates: int = 0
    problem: Exception | None = None
    """The reason for the first refused example."""
    left_out: dict[int, str] = field(default_factory=dict)
    """Error codes of the refused examples, by their indices from 0."""

    def leave_out(self, which: int, code: str, problem: Exception) -> None:
        self.problem = self.problem or problem
        self.left_out[which] = code


class ComparisonBaseline(NamedTuple):
    """Counters at the moment when a challenger joined: comparisons with the champion start there."""

    examples: int
    mistakes: int
    champion_mistakes: int


class ServedModel:
    """A model with its role in a stream, its position in the journal, and its counters."""

    def __init__(self, name: str, learner: Any, limits: Limits, *, created: float, role: str = CHAMPION) -> None:
        self.name, self.learner, self.limits = name, learner, limits
        self.created, self.role = created, role
        self.id = self.stream = 0
        self.joined = 0
        """Position in the stream after which the model learns."""
        self.position = 0
        """Position of the last entry that the model has learned."""
        self.checkpoint: int | None = None
        """Position of the last entry that its file contains."""
        self.own = False
        """Whether the model has learned nothing but this stream: False for an uploaded model."""
        self.past: ComparisonBaseline | None = None
        self.refused = 0
        self.recent: deque[tuple[int, int]] = deque()
        self._recent = 0
        self.broken: str | None = None
        """The error message if the model was stopped: it can neither learn nor predict."""
        self.bytes = 0
        """Memory of the model in bytes."""
        self._measured: Any = None
        """The arrays for which `bytes` was computed."""
        self.version = 0
        """Increases with each learned entry."""
        self.unsaved_examples = 0
        """Number of examples that its file does not contain."""
        self._named_state: Any = None
        """The learner's state for which features are known to be names."""
        self.label_order = LabelOrder(warns=False)
        """Counts label changes since the server was started."""

    @property
    def ledger(self) -> Ledger:
        state = state_of(self.learner)
        return Ledger() if state is None else state.ledger

    @property
    def has_learned(self) -> bool:
        return state_of(self.learner) is not None

    @property
    def encoding(self) -> Encoding | None:
        """The encoding of raw rows if the model was trained from files, else None."""
        state = state_of(self.learner)
        return None if state is self._named_state else get_served_encoding(state, self.name)

    @property
    def decoders(self) -> RequestDecoders:
        """The decoders for requests to this model."""
        return NAMED_DECODERS if self.encoding is None else RAW_DECODERS

    def quarantine(self, needed: int, limit: int) -> None:
        """Stop only this model because it would exceed its memory limit."""
        self.broken = (
            f"{self.name!r} is stopped: it needs {format_size(needed)} of memory, but the limit is"
            f" {format_size(limit)}. No data is lost. Start the server with a larger --max-model-memory or"
            " --max-server-memory, or delete the model."
        )

    def measure(self) -> None:
        """Update `bytes` if the model has grown."""
        state = state_of(self.learner)
        if state is not None and state.updater is not self._measured:
            self._measured, self.bytes = state.updater, state.bytes_used()

    def check(self) -> None:
        if self.broken is not None:
            raise RequestError(self.broken, "broken-model", 503)

    def check_learned(self) -> None:
        if not self.has_learned:
            raise RequestError(f"{self.name!r} has learned nothing yet.", "not-fitted", 409)

    # --- Predicting ---

    def predict(self, features: Any) -> tuple[Any, float]:
        """Return the predicted label, or None before anything was learned, and its score."""
        self.check()
        try:
            return predict_with_score(self.learner, self._encode(features))
        except NovikoffError as problem:
            raise RequestError(str(problem), "not-predicted") from None

    def predict_probabilities(self, features: Any) -> list[LabelProbability]:
        """Return the probability of each label; none before anything was learned."""
        reason = explain_missing_probabilities(self.learner)
        if reason is not None:
            raise RequestError(f"{self.name!r} has no probabilities: {reason}", "no-probabilities", 409)
        try:
            found = self.learner.predict_proba_one(self._encode(features))
        except NovikoffError as problem:
            raise RequestError(str(problem), "not-predicted") from None
        return [LabelProbability(to_plain_label(label), probability) for label, probability in found.items()]

    def explain(self, features: Any) -> PredictionExplanation:
        """Explain the prediction of an example that `predict` accepts."""
        self.check_learned()
        try:
            found = explain(self.learner, self._encode(features))
        except NovikoffError as problem:
            raise RequestError(str(problem), "not-explainable", 409) from None
        return msgspec.convert(found.to_dict(), PredictionExplanation)

    def predict_run(self, run: LineRun) -> Iterator[tuple[Any, float]]:
        """Return an iterator over the predicted labels and scores of a run of lines."""
        self.check()
        try:
            return zip(*self.batch_engine.predict(self.learner, run), strict=True)
        except NovikoffError:  # predict one by one, so that the error names its example
            return (self.predict(run.features(i)) for i in range(len(run)))

    # --- Learning ---

    def learn(self, body: bytes) -> LearnOutcome:
        """Learn the lines of one journal entry. Examples that the learner refuses are left out and counted."""
        before, outcome = self._counts(), LearnOutcome()
        if b"\n" not in body[:-1]:
            self._learn_line(body, outcome, 0)
        else:
            done = 0
            for found in self.batch_engine.runs(body):
                if isinstance(found, IrregularLine):
                    self._learn_line(found.data, outcome, done)
                    done += 1
                else:
                    self._learn_run(found, outcome, done)
                    done += len(found)
        outcome.examples, outcome.mistakes, outcome.updates = map(operator.sub, self._counts(), before)
        self.refused += len(outcome.left_out)
        self.measure()
        self._note(outcome)
        return outcome

    def _learn_run(self, run: LineRun, outcome: LearnOutcome, done: int) -> None:
        """Learn a run of lines; `done` is the number of examples before it."""
        while len(run):
            try:
                self.batch_engine.learn(self.learner, run, self.label_order)
                return
            except ExampleError as problem:
                if isinstance(problem.problem, ModelTooLarge):
                    raise problem.problem from None
                if self._convert_for_third_class(problem.__cause__):
                    done, run = done + problem.taken, run.after(problem.taken)
                    continue
                outcome.leave_out(done + problem.taken, NOT_LEARNED, problem)
                done += problem.taken + 1
                run = run.after(problem.taken + 1)

    @cached_property
    def batch_engine(self) -> BatchEngine:
        return build_batch_engine(self.limits)

    def _learn_line(self, line: bytes, outcome: LearnOutcome, done: int) -> None:
        example = RAW_DECODERS.labelled.decode(line)
        try:
            try:
                self.learner.learn_one(self._encode(example.features), example.label)
            except TooManyLabelsError as problem:
                if not self._convert_for_third_class(problem):
                    raise
                self.learner.learn_one(self._encode(example.features), example.label)
        except ModelTooLarge:  # the model is stopped; the example is valid and stays in the journal
            raise
        except (NovikoffError, RequestError) as problem:
            outcome.leave_out(done, getattr(problem, "code", NOT_LEARNED), problem)
        else:
            count_label(self.label_order, self.learner, example.label)

    def _encode(self, features: Any) -> Any:
        """Return features as the input of the learner. Once names were learned, they are used unchanged."""
        state = state_of(self.learner)
        if state is not None and state is self._named_state:
            return features
        encode = get_encoder(self.learner)
        if encode is keep_names and state is not None and state.names is not None:
            self._named_state = state
        return encode(features)

    def _convert_for_third_class(self, problem: BaseException | None) -> bool:
        """Convert Auto to its multiclass form if a third label has arrived; return whether it was converted."""
        if not (isinstance(problem, TooManyLabelsError) and isinstance(self.learner, BinaryAuto)):
            return False
        self.learner, self.label_order = to_multiclass(self.learner), self.label_order.with_class_numbers()
        return True

    def is_near_a_bound(self, terms: int, labels: int) -> bool:
        """Return whether adding this many features and labels might exceed the limits of a model."""
        state, limits = state_of(self.learner), self.limits
        known = (0, 0) if state is None else (state.features, len(state.labels))
        return known[0] + terms > limits.known_features or known[1] + labels > limits.classes

    def check_bounds(self, features: Any, label: Any) -> None:
        """Raise RequestError if an example would exceed the limits of features or labels of the model.

        This is checked only before an example is journaled. Journaled examples are always learned, also if limits are
        lowered later.
        """
        state, limits = state_of(self.learner), self.limits
        if state is None:
            return
        if self.encoding is not None and self.encoding.grows:
            try:
                features = self.encoding.example(features)
            except InputError:  # reported when it is learned
                return
        if not self.is_near_a_bound(len(features), 1):
            return
        known = () if state.names is None else state.names.columns
        grows = self.encoding is None or self.encoding.grows
        if grows and state.features + sum(name not in known for name in features) > limits.known_features:
            raise RequestError(
                f"The model has {state.features:,} features, and may have at most {limits.known_features:,}.",
                "too-many-model-features",
            )
        if len(state.labels) >= limits.classes and label not in state.labels.known():
            raise RequestError(f"The model has {limits.classes:,} labels, the maximum.", "too-many-labels")

    def _counts(self) -> tuple[int, int, int]:
        ledger = self.ledger
        return ledger.examples, ledger.mistakes, ledger.updates

    def _note(self, outcome: LearnOutcome) -> None:
        self.version += 1
        self.unsaved_examples += outcome.examples
        if outcome.examples:
            self.recent.append((outcome.examples, outcome.mistakes))
            self._recent += outcome.examples
        while self._recent - (self.recent[0][0] if self.recent else 0) >= RECENT_WINDOW_EXAMPLES:
            self._recent -= self.recent.popleft()[0]

    # --- Description ---

    def counts(self) -> Counts:
        ledger = self.ledger
        return Counts(ledger.examples, ledger.mistakes, ledger.updates, ledger.progressive_error, ledger.radius)

    def describe(self, champion: str | None) -> ModelInfo:
        return ModelInfo(
            name=self.name,
            learner=name_of(type(self.learner)),
            settings=plain_settings_of(self.learner),
            role=self.role,
            challenges=champion if self.role == CHALLENGER else None,
            created=_format_time(self.created),
            labels=self.labels(),
            features=self.learner.n_features_in_ if self.has_learned else 0,
            ledger=self.counts(),
            warnings=self.warnings(),
        )

    def warnings(self) -> list[str]:
        """Return reasons to doubt the model: it is stopped, labels arrive in long runs, or columns are ignored."""
        found = [] if self.broken is None else [self.broken]
        if self.label_order.is_sorted:
            found.append(
                f"{self.label_order.describe('The stream')} If the examples are read from a sorted file, shuffle it."
            )
        ignored = None if self.encoding is None else self.encoding.describe_unknown()
        return found if ignored is None else [*found, ignored]

    def labels(self) -> list[Any]:
        try:
            return list(self.learner.classes_.tolist())
        except AttributeError:
            return []


def build_batch_engine(limits: Limits) -> BatchEngine:
    """Return the engine that learns and predicts many lines at once."""
    return BatchEngine(
        most_features=max(1, min(limits.features, MAX_RUN_FEATURES)), longest_name=max(1, min(limits.name, 1_000))
    )


def _format_time(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def create_learner(name: str, settings: dict[str, Any]) -> Any:
    """Return a new learner by its command-line name; raise RequestError if the name or a setting is invalid."""
    learner_class = scheme_registry.model_class(name)
    if learner_class is None:
        known = ", ".join(
            sorted(
                n
                for n in [*learner_registry.names(), *scheme_registry.names()]
                if _is_online(scheme_registry.model_class(n))
            )
        )
        raise RequestError(f"Unknown learner {name!r}. Available learners: {known}.", "unknown-learner")
    if not _is_online(learner_class):
        raise RequestError(f"{name} does not learn online: the server needs learn_one.", "not-online")
    allowed = sorted(setting_defaults_of(learner_class))
    unknown = sorted(set(settings) - set(allowed))
    if unknown:
        raise RequestError(
            f"{name} has no setting {', '.join(map(repr, unknown))}. Its settings are {', '.join(allowed)}.",
            "unknown-setting",
        )
    try:
        learner = build_model(_read_model_settings(name, settings, learner_class), UNKNOWN_TASK)
        check_settings(learner)
    except (NovikoffError, TypeError, ValueError, AttributeError) as problem:
        raise RequestError(f"Invalid settings for {name}: {problem}", "invalid-settings") from None
    return learner


def _read_model_settings(name: str, settings: dict[str, Any], model_class: Any) -> ModelSettings:
    """Return the settings of a model; those of a scheme hold its learner as `estimator`, by name and settings."""
    if "estimator" not in setting_defaults_of(model_class):
        return ModelSettings(name, settings, multiclass="binary")
    own = {key: value for key, value in settings.items() if key != "estimator"}
    inner = settings.get("estimator") or {}
    if isinstance(inner, dict):  # the scheme refuses everything else
        inner = create_learner(inner.get("name", default_learner_inside(model_class, own)), inner.get("settings", {}))
    if name == "online-to-batch":
        return ModelSettings(inner, online_to_batch=own)
    return ModelSettings(inner, multiclass=name, multiclass_settings=own)


def precompile(learner: Any) -> None:
    """Compile the kernels of this kind of learner with a temporary model, so that no request waits for it.

    Raise RequestError if the learner can't learn from a stream whose features are not known in advance.
    """
    trial = build_unfitted(learner)
    try:
        with contextlib.suppress(LabelError):
            trial.learn_one({"a": 1.0}, "x")
            trial.predict_one({"a": 1.0})
            trial.learn_one({"b": 1.0}, "x")
    except NovikoffError as problem:
        raise RequestError(f"This learner can't learn from a stream: {problem}", "not-online") from None


def precompile_lines() -> None:
    """Compile the kernels for streams of lines. The server does it in a thread when it starts."""
    trial = ServedModel("", create_learner(DEFAULT_LEARNER, {}), Limits(), created=0.0)
    trial.learn(b'{"features":{"a":1},"label":"x"}\n{"features":{"b":1},"label":"y"}\n' * 10)
    for run in trial.batch_engine.runs(b'{"features":{"a":1}}\n' * 10):
        if isinstance(run, LineRun):
            list(trial.predict_run(run))


def try_precompile(learner: Any) -> None:
    """Compile the kernels of an uploaded model of any kind; errors are ignored."""
    with contextlib.suppress(RequestError):
        precompile(learner)


def load_uploaded(content: bytes) -> Any:
    """Return the model in an uploaded file, after a copy of it has predicted and learned one example.

    `from_bytes` verifies the file, which may be forged. The trial finds valid models that can't be served, such as
    those whose kernel is a Python function.
    """
    try:
        learner, trial = from_bytes(content, "the file"), from_bytes(content, "the file")
        if not _is_online(type(learner)):
            raise RequestError(
                f"{type(learner).__name__} does not learn online: the server needs learn_one.", "not-online"
            )
        state = require_state(learner)
        encoded = get_encoder(trial)(_build_trial_features(state))
        with contextlib.suppress(InputError):
            trial.predict_one(encoded)
            for label in state.labels.known()[:1]:
                trial.learn_one(encoded, label)
    except RequestError:
        raise
    except NovikoffError as problem:
        raise RequestError(f"Invalid model file: {problem}", "invalid-model-file") from None
    return learner


def _build_trial_features(state: Any) -> Any:
    """Return an example that every model with such a state accepts."""
    encoding = get_encoding(state)
    if encoding is not None:
        encoding.check(state.features)
        return {} if encoding.accepts_dicts else ""
    return dict.fromkeys(["1"] if state.names is None else [*state.names.columns][:1], 1.0)


def _is_online(learner_class: Any) -> bool:
    return (
        isinstance(learner_class, type)
        and issubclass(learner_class, OnlineClassifier)
        and outcome_type_of(learner_class) != "queries"  # of which single examples can't be learned
    )
