"""The data types of the API: queries, request bodies and response bodies. The OpenAPI document is generated from them.

Docstrings of these classes and of their fields are descriptions in that document.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

MODEL_NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
ModelName = Annotated[
    str, Meta(pattern=MODEL_NAME_PATTERN, description="Letters, digits, dots, underscores and hyphens.")
]
Features = dict[str, float] | list[str]
"""Feature names with values, or names only, each with the value 1."""
RawFeatures = dict[str, Any] | list[str] | str
"""Features, or a raw row of a data file, for models trained from files: an object, or a text."""
Label = str | bool | int | float
Labels = Label | list[Label]
Settings = dict[str, Any]
"""Settings of a learner by name, including those of an inner learner. The learner's class checks names and values when
a model is created."""
Number = int | float
"""Integers stay integers: `verify` compares certificates to the last digit."""
TheoremValues = dict[str, Number | str | None]
"""The numbers of one theorem by the names in its formula, which differ for each theorem."""


class RequestBody(Struct, forbid_unknown_fields=True):
    """A request body. Unknown fields are errors."""


# --- Queries ---


class PredictQuery(Struct):
    keep: Annotated[bool, Meta(description="For streams: whether predictions are kept for a later label.")] = True
    probabilities: Annotated[bool, Meta(description="For streams: whether to return probabilities.")] = False
    explain: Annotated[bool, Meta(description="For streams: whether to return explanations.")] = False


class LearnQuery(Struct):
    bad_lines: Annotated[
        Literal["error", "skip"], Meta(description="On invalid lines: stop with an error, or skip and count them.")
    ] = "error"


class InspectQuery(Struct):
    top: Annotated[int, Meta(ge=0, le=10_000, description="Number of features.")] = 20


class UploadQuery(Struct):
    name: Annotated[str, Meta(pattern=MODEL_NAME_PATTERN, description="For uploads: name of the model.")]
    challenges: (
        Annotated[str, Meta(pattern=MODEL_NAME_PATTERN, description="For uploads: name of its champion.")] | UnsetType
    ) = UNSET


# --- Requests ---


class CreateRequest(RequestBody):
    """A new model. `learner` is a name as on the command line, `settings` are the parameters of its class.

    The default inner learner of a multiclass scheme is auto if the scheme supports it, else arow. The response shows
    it.
    """

    name: ModelName
    learner: str = "auto"
    settings: Settings = {}
    challenges: ModelName | None = None


class PredictRequest(RequestBody):
    """One example (`features`) or many (`examples`).

    `probabilities` asks for the probability of each label, `explain` for the contribution of each feature to the score.
    """

    features: RawFeatures | UnsetType = UNSET
    examples: list[Example] | UnsetType = UNSET
    keep: bool = True
    probabilities: bool = False
    explain: bool = False


class Example(RequestBody):
    """`features` are names with numbers, or names only. For a model trained from files they may also be a raw row of
    such a file: an object with a value for each column, or a text."""

    features: RawFeatures


class LearnRequest(RequestBody):
    """An example with its label, or the label of an earlier prediction."""

    label: Labels
    features: RawFeatures | UnsetType = UNSET
    id: str | UnsetType = UNSET


class NamedPredictRequest(RequestBody):
    """`PredictRequest` for models that accept only named features."""

    features: Features | UnsetType = UNSET
    examples: list[NamedExample] | UnsetType = UNSET
    keep: bool = True
    probabilities: bool = False
    explain: bool = False


class NamedExample(RequestBody):
    features: Features


class NamedLearnRequest(RequestBody):
    """`LearnRequest` for models that accept only named features."""

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
    """Number of examples of the request that were learned before the error."""


class Counts(Struct):
    examples: int
    mistakes: int
    updates: int
    progressive_error: float
    """Error of the run: each example is predicted before the model learns from it."""
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
    """Reasons to doubt the model, such as labels that have arrived in long runs since the server was started."""


class ModelList(Struct):
    models: list[ModelInfo]


class LabelProbability(Struct):
    label: Label
    probability: float


class FeatureContribution(Struct):
    """What one feature adds to the score: value × weight."""

    feature: str | int
    """A name, or a column number if columns have no names."""
    value: float
    weight: float
    contribution: float


class MemberScore(Struct):
    """One member of Auto: weight × score is a part of the log-odds of the forecast from the scores."""

    name: str
    weight: float
    score: float


class ForecastShare(Struct):
    """One forecast of Auto. The predicted probability is the mean of those of the forecasts, with these weights."""

    name: str
    weight: float
    log_odds: float


class PredictionExplanation(Struct, kw_only=True):
    """Why the model gives an example its score: bias and contributions add up to `score`, as by `novikoff explain`."""

    predicted: Labels | UnsetType = UNSET
    label: Label | UnsetType = UNSET
    """The class that positive contributions speak for."""
    against: Label | UnsetType = UNSET
    """The class that negative contributions speak for, unless labels are decided one by one."""
    score: float
    """With more than two classes the score of `label` less that of `against`."""
    bias: float
    """The intercept."""
    contributions: list[FeatureContribution]
    """The largest first, by absolute value; features whose value or weight is 0 are left out."""
    probability: float | UnsetType = UNSET
    """The probability of `label`, if the model has probabilities."""
    members: list[MemberScore] | UnsetType = UNSET
    forecasts: list[ForecastShare] | UnsetType = UNSET
    """The members of Auto."""


class PredictResponse(Struct):
    id: str | None
    label: Labels | None
    score: float
    probabilities: list[LabelProbability] | UnsetType = UNSET
    """If requested: the probability of each label; empty before anything was learned."""
    explanation: PredictionExplanation | UnsetType = UNSET
    """If requested."""


class PredictionList(Struct):
    predictions: list[PredictResponse]


class LearnResponse(Struct):
    status: str
    examples: int
    mistakes: int
    updates: int
    refused: dict[str, int] | UnsetType = UNSET


class LearnProgress(Struct):
    """Progress of a stream of lines: the lines that are durable, and the examples learned."""

    lines: int
    examples: int


class PendingCounts(Struct):
    """Late labels: pending predictions, and the outcomes of the others since the server was started."""

    waiting: int = 0
    labelled: int = 0
    already_labelled: int = 0
    changed_labels: int = 0
    expired: int = 0
    too_late: int = 0
    unknown: int = 0


class SharedCounts(Struct):
    """Counts since a challenger joined, of examples that both it and its champion learned."""

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
    """A name, or a column number if columns have no names."""
    weight: float
    importance: float | None
    """|weight| × standard deviation of the feature; null if no sampled example has the feature."""
    std: float | None
    speaks_for: str | UnsetType = UNSET
    """The class, for models with more than two classes."""


class HypothesisGuarantee(Struct, kw_only=True, forbid_unknown_fields=True):
    """The guarantee on new data for the hypothesis that predicts. Some fields are used by some methods only."""

    method: str
    consistent: bool | UnsetType = UNSET
    """Whether the hypothesis agrees with all examples."""
    chosen: str | UnsetType = UNSET
    stopped: bool | UnsetType = UNSET
    """Whether the selected hypothesis is final."""
    stop_reason: str | UnsetType = UNSET
    examples_used: int
    later: int | UnsetType = UNSET
    """Examples that arrived after the selected hypothesis was final."""
    later_mistakes: int | UnsetType = UNSET
    about: str
    bound: Number | None
    """Bound for its error; null without a guarantee."""
    delta: Number | None
    """The probability that the bound does not hold; null for a bound in expectation."""
    statement: str
    numbers: TheoremValues
    assumes: str
    sentence: str


class Inspection(Struct, kw_only=True, forbid_unknown_fields=True):
    """A model and its most important features."""

    learner: str
    multiclass: str | UnsetType = UNSET
    """The scheme that reduces several classes to binary learners, or the ensemble."""
    classes: int | UnsetType = UNSET
    online_to_batch: HypothesisGuarantee | UnsetType = UNSET
    settings: Settings
    labels: list[Label]
    features: int
    ledger: Counts | None
    weights: list[Weight] | None
    intercept: float | dict[str, float] | None
    sampled_examples: int | None
    """Number of examples that the standard deviations are computed from."""
    hypothesis: str | None


class CertifiedBound(Struct, kw_only=True, forbid_unknown_fields=True):
    """A theorem's bound on this run. If it can't be evaluated, `reason` says why."""

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
    """Whether examples were learned one by one, in this order."""


class CertifiedData(Struct, forbid_unknown_fields=True):
    arrays: ArraysDigest


class ObservedCounts(Counts, kw_only=True, forbid_unknown_fields=True):
    """The counters of the learner during the run."""

    mistakes_of_first_pass: int
    classes: int | UnsetType = UNSET
    new: int | UnsetType = UNSET
    """Examples whose class was new."""
    unmet: int | UnsetType = UNSET
    n_support: int | UnsetType = UNSET
    """Support examples of a kernel learner."""
    n_dropped: int | UnsetType = UNSET
    """Support examples that a kernel learner has dropped."""
    mistakes_of_columns: list[int] | UnsetType = UNSET
    members: dict[str, Number] | UnsetType = UNSET
    """Mistakes of the voting learners, by name."""


class NewDataBounds(Struct, forbid_unknown_fields=True):
    """Bounds on new data for the hypotheses used while learning."""

    of: str
    assumes: str
    delta: Number
    mistakes: int
    examples: int
    mean_error_bound: Number
    expected_error_of_random_hypothesis: Number
    error_bound_of_penalised_choice: Number


class Measurement(Struct, kw_only=True, forbid_unknown_fields=True):
    """Measurements of a witness on the data, or of each column if columns learn independently."""

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
    """Weights with which a bound was evaluated: slots (u4) and values (f4) of the nonzero ones, in base64."""

    slots: int
    places: str
    values: str
    widths: list[Number]
    measured: Measurement


class CertificateDocument(Struct, kw_only=True, forbid_unknown_fields=True):
    """A certificate as `novikoff verify` reads it."""

    certificate: int
    """Version of this format."""
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
    """The latest certificate of a model: its number of examples, and its bound or the reason for having none."""

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
    """Bound for the mean error on new data of the hypotheses used while learning, with 95 % confidence."""
    uploaded: bool
    certificate: CertificateState | None
    pending: int
    labelled_late: int
    expired: int
    refused: int
    warnings: list[str]


class Latency(Struct):
    """Percentiles of latency in milliseconds; null before the first request."""

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
