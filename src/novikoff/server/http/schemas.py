"""The API's data: queries, bodies of requests and bodies of responses. The OpenAPI document is generated from them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

MODEL_NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
ModelName = Annotated[
    str, Meta(pattern=MODEL_NAME_PATTERN, description="Letters, digits, points, underscores and hyphens.")
]
Features = dict[str, float] | list[str]
"""Names of features with their values, or names alone."""
RawFeatures = dict[str, Any] | list[str] | str
"""A row as it stands in a file, too, for models that were trained from files: an object, or a text."""
Label = str | bool | int | float
Labels = Label | list[Label]
Settings = dict[str, Any]
"""Settings of a learner by name. They differ for each learner and scheme, and may hold those of a learner inside: their
names and values are checked by the learner's class when a model is made."""
Number = int | float
"""Whole numbers stay whole: `verify` compares certificates to the last digit."""
TheoremValues = dict[str, Number | str | None]
"""The numbers of one theorem by the names of its formula, which differ for each theorem."""


class RequestBody(Struct, forbid_unknown_fields=True):
    """A body; a field that is not known is a mistake, not to be passed over."""


# --- Queries ---


class PredictQuery(Struct):
    keep: Annotated[bool, Meta(description="Whether predictions wait for their labels (of streams).")] = True


class LearnQuery(Struct):
    bad_lines: Annotated[Literal["error", "skip"], Meta(description="What to do about lines that are not right.")] = (
        "error"
    )


class InspectQuery(Struct):
    top: Annotated[int, Meta(ge=0, le=10_000, description="How many features.")] = 20


class UploadQuery(Struct):
    name: Annotated[str, Meta(pattern=MODEL_NAME_PATTERN, description="Of the model, where a file is sent.")]
    challenges: (
        Annotated[str, Meta(pattern=MODEL_NAME_PATTERN, description="Its champion, where a file is sent.")] | UnsetType
    ) = UNSET


# --- Requests ---


class CreateRequest(RequestBody):
    """A new model. `learner` is a name as on the command line, `settings` are those of its class.

    The learner inside a scheme is auto where the scheme takes it, else arow; the answer shows which.
    """

    name: ModelName
    learner: str = "auto"
    settings: Settings = {}
    challenges: ModelName | None = None


class PredictRequest(RequestBody):
    """One example (`features`) or many (`examples`)."""

    features: RawFeatures | UnsetType = UNSET
    examples: list[Example] | UnsetType = UNSET
    keep: bool = True


class Example(RequestBody):
    """`features` are names with numbers, or names alone. For a model that was trained from files they may also be a row
    as it stands in such a file: an object with a value for each column, or a text."""

    features: RawFeatures


class LearnRequest(RequestBody):
    """An example with its label, or the label of an earlier prediction."""

    label: Labels
    features: RawFeatures | UnsetType = UNSET
    id: str | UnsetType = UNSET


class NamedPredictRequest(RequestBody):
    """`PredictRequest` for models that take features by name only."""

    features: Features | UnsetType = UNSET
    examples: list[NamedExample] | UnsetType = UNSET
    keep: bool = True


class NamedExample(RequestBody):
    features: Features


class NamedLearnRequest(RequestBody):
    """`LearnRequest` for models that take features by name only."""

    label: Labels
    features: Features | UnsetType = UNSET
    id: str | UnsetType = UNSET


# --- Responses ---


class Problem(Struct):
    """An error as RFC 9457 problem details. `code` is stable; `error` repeats `detail` for older clients."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    error: str
    learned: int | UnsetType = UNSET
    """How many examples of the request were learned before the error."""


class Counts(Struct):
    examples: int
    mistakes: int
    updates: int
    progressive_error: float
    """Of the run: each example was predicted before it was learned from."""
    radius: float


class ModelInfo(Struct):
    name: str
    learner: str
    settings: Settings
    role: str
    challenges: str | None
    created: str
    labels: list[Label]
    features: int
    ledger: Counts
    warnings: list[str]
    """What makes the model doubtful, such as labels that have arrived in long runs since the server was started."""


class ModelList(Struct):
    models: list[ModelInfo]


class PredictResponse(Struct):
    id: str | None
    label: Labels | None
    score: float


class PredictionList(Struct):
    predictions: list[PredictResponse]


class LearnResponse(Struct):
    status: str
    examples: int
    mistakes: int
    updates: int
    refused: dict[str, int] | UnsetType = UNSET


class LearnProgress(Struct):
    """How far a stream of lines is durable and learned."""

    lines: int
    examples: int


class PendingCounts(Struct):
    """Late labels: how many predictions wait, and what became of the others since the server was started."""

    waiting: int = 0
    labelled: int = 0
    already_labelled: int = 0
    changed_labels: int = 0
    expired: int = 0
    too_late: int = 0
    unknown: int = 0


class SharedCounts(Struct):
    """The examples since a challenger joined, which it and its champion both learned."""

    examples: int
    mistakes: int
    champion_mistakes: int


class GroupMember(Struct):
    name: str
    role: str
    examples: int
    mistakes: int
    updates: int
    progressive_error: float
    refused: int
    since_joined: SharedCounts | None


class LedgerResponse(Counts):
    pending: PendingCounts
    stream: list[GroupMember]


class HistoryPoint(Struct):
    examples: int
    mistakes: int
    bound: float | None


class History(Struct):
    points: list[HistoryPoint]


class Weight(Struct):
    feature: str | int
    """A name, or a column number where columns have no names."""
    weight: float
    importance: float | None
    """|weight| × standard deviation of the feature; null where no sampled example has the feature."""
    std: float | None
    speaks_for: str | UnsetType = UNSET
    """The class, where there are many."""


class HypothesisGuarantee(Struct, kw_only=True, forbid_unknown_fields=True):
    """What is guaranteed of the hypothesis that predicts, on new data. Some fields are of some methods only."""

    method: str
    consistent: bool | UnsetType = UNSET
    """Whether it agrees with all examples."""
    chosen: str | UnsetType = UNSET
    stopped: bool | UnsetType = UNSET
    """Whether the choice is final."""
    stop_reason: str | UnsetType = UNSET
    examples_used: int
    later: int | UnsetType = UNSET
    """Examples that came after the choice was final."""
    later_mistakes: int | UnsetType = UNSET
    about: str
    bound: Number | None
    """Of its error; null where nothing is guaranteed."""
    delta: Number | None
    """The probability that the bound does not hold; null where it is one of the mean."""
    statement: str
    numbers: TheoremValues
    assumes: str
    sentence: str


class Inspection(Struct, kw_only=True, forbid_unknown_fields=True):
    """A model and its most important features."""

    learner: str
    multiclass: str | UnsetType = UNSET
    """How many classes are learned by a learner of two, or an ensemble."""
    classes: int | UnsetType = UNSET
    online_to_batch: HypothesisGuarantee | UnsetType = UNSET
    settings: Settings
    labels: list[Label]
    features: int
    ledger: Counts | None
    weights: list[Weight] | None
    intercept: float | dict[str, float] | None
    sampled_examples: int | None
    """The number of examples that standard deviations come from."""
    hypothesis: str | None


class CertifiedBound(Struct, kw_only=True, forbid_unknown_fields=True):
    """A theorem's bound on this run. Without a witness `reason` says what is missing."""

    name: str
    counts: str
    statement: str
    observed: int
    any_order: bool
    bound: Number | UnsetType = UNSET
    slack: Number | UnsetType | None = UNSET
    verdict: str
    assumes: str | UnsetType = UNSET
    witness: str | UnsetType = UNSET
    numbers: TheoremValues | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class ArraysDigest(Struct, forbid_unknown_fields=True):
    rows: int
    columns: int
    sha256: str
    arriving: bool
    """True: examples were learned one by one, in this order."""


class CertifiedData(Struct, forbid_unknown_fields=True):
    arrays: ArraysDigest


class ObservedCounts(Counts, kw_only=True, forbid_unknown_fields=True):
    """What the learner counted while it learned."""

    mistakes_of_first_pass: int
    classes: int | UnsetType = UNSET
    new: int | UnsetType = UNSET
    """Examples whose class was new."""
    unmet: int | UnsetType = UNSET
    n_support: int | UnsetType = UNSET
    """Examples that a kernel learner kept, and those that it dropped."""
    n_dropped: int | UnsetType = UNSET
    mistakes_of_columns: list[int] | UnsetType = UNSET
    members: dict[str, Number] | UnsetType = UNSET
    """Mistakes of the learners that vote, by name."""


class NewDataBounds(Struct, forbid_unknown_fields=True):
    """Bounds on new data, of the hypotheses used while learning."""

    of: str
    assumes: str
    delta: Number
    mistakes: int
    examples: int
    mean_error_bound: Number
    expected_error_of_random_hypothesis: Number
    error_bound_of_penalised_choice: Number


class Measurement(Struct, kw_only=True, forbid_unknown_fields=True):
    """The numbers of a witness on the data, or those of each column where columns learn by themselves."""

    examples: int | UnsetType = UNSET
    squared_radius: Number | UnsetType = UNSET
    largest: Number | UnsetType = UNSET
    margin: Number | UnsetType | None = UNSET
    hinge: Number | UnsetType = UNSET
    logistic: Number | UnsetType = UNSET
    squared: Number | UnsetType = UNSET
    squared_slacks: list[Number] | UnsetType = UNSET
    columns: list[Measurement] | UnsetType = UNSET


class Witness(Struct, forbid_unknown_fields=True):
    """Weights that a bound was evaluated with: those that are not 0, as base64 of their slots (u4) and values (f4)."""

    slots: int
    places: str
    values: str
    widths: list[Number]
    measured: Measurement


class CertificateDocument(Struct, kw_only=True, forbid_unknown_fields=True):
    """A certificate as `novikoff verify` reads it."""

    certificate: int
    """The version of this format."""
    novikoff: str
    data: CertifiedData
    learner: str
    settings: Settings
    passes: int
    labels: list[Label | None]
    precision: str
    model: str
    """The SHA-256 digest of the model."""
    observed: ObservedCounts
    bounds: list[CertifiedBound]
    target: TheoremValues
    new_data: NewDataBounds | None
    hypothesis: HypothesisGuarantee | UnsetType = UNSET
    witnesses: dict[str, Witness]


class BoundSummary(Struct):
    bound: float
    counts: str
    any_order: bool
    statement: str


class CertificateState(Struct):
    """What the latest certificate of a model says: on how many examples, the bound, or why there is none."""

    examples: int
    bound: BoundSummary | None
    reason: str | None


class RecentExamples(Struct):
    examples: int
    mistakes: int
    progressive_error: float


class LiveModel(Struct):
    name: str
    role: str
    learner: str
    examples: int
    mistakes: int
    updates: int
    progressive_error: float
    recent: RecentExamples
    mean_error_bound: float | None
    """Of the hypotheses used while learning, with 95 % confidence."""
    uploaded: bool
    certificate: CertificateState | None
    pending: int
    labelled_late: int
    expired: int
    refused: int
    warnings: list[str]


class Latency(Struct):
    """In milliseconds; null before the first request."""

    p50: float | None = None
    p99: float | None = None


class ServerStatus(Struct):
    learned_per_second: float
    predicted_per_second: float
    predict_ms: Latency
    learn_ms: Latency
    uptime: float
    journal_bytes: int
    disk_full: bool


class Snapshot(Struct):
    """The data of one event: all models and the server at one moment."""

    time: float
    models: list[LiveModel]
    server: ServerStatus
