"""What is said on the line: the bodies of requests and answers."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
ModelName = Annotated[str, Meta(pattern=NAME, description="Letters, digits, points, underscores and hyphens.")]
Features = dict[str, float] | list[str]
"""Names of features with their values, or names alone."""
RawFeatures = dict[str, Any] | list[str] | str
"""A row as it stands in a file, too, for models that were trained from files: an object, or a text."""
Label = str | bool | int | float
Labels = Label | list[Label]


class Request(Struct, forbid_unknown_fields=True):
    """A body; a field that is not known is a mistake, not to be passed over."""


# --- What is asked ---


class Creation(Request):
    """A new model. `learner` is a name as on the command line, `settings` are those of its class.

    The learner inside a scheme is auto where the scheme takes it, else arow; the answer shows which.
    """

    name: ModelName
    learner: str = "auto"
    settings: dict[str, Any] = {}
    challenges: ModelName | None = None


class Prediction(Request):
    """One example (`features`) or many (`examples`)."""

    features: RawFeatures | UnsetType = UNSET
    examples: list[Example] | UnsetType = UNSET
    keep: bool = True


class Example(Request):
    """`features` are names with numbers, or names alone. For a model that was trained from files they may also be a row
    as it stands in such a file: an object with a value for each column, or a text."""

    features: RawFeatures


class Lesson(Request):
    """An example with its label, or the label of an earlier prediction."""

    label: Labels
    features: RawFeatures | UnsetType = UNSET
    id: str | UnsetType = UNSET


class NamedPrediction(Request):
    """`Prediction` for models that take features by name only."""

    features: Features | UnsetType = UNSET
    examples: list[NamedExample] | UnsetType = UNSET
    keep: bool = True


class NamedExample(Request):
    features: Features


class NamedLesson(Request):
    """`Lesson` for models that take features by name only."""

    label: Labels
    features: Features | UnsetType = UNSET
    id: str | UnsetType = UNSET


# --- What is answered ---


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


class Model(Struct):
    name: str
    learner: str
    settings: dict[str, Any]
    role: str
    challenges: str | None
    created: str
    labels: list[Label]
    features: int
    ledger: Counts
    warnings: list[str]
    """What makes the model doubtful, such as labels that have arrived in long runs since the server was started."""


class Models(Struct):
    models: list[Model]


class Predicted(Struct):
    id: str | None
    label: Labels | None
    score: float


class AllPredicted(Struct):
    predictions: list[Predicted]


class Learned(Struct):
    status: str
    examples: int
    mistakes: int
    updates: int
    refused: dict[str, int] | UnsetType = UNSET


class Progress(Struct):
    """How far a stream of lines is durable and learned."""

    lines: int
    examples: int


class Pending(Struct):
    """Late labels: how many predictions wait, and what became of the others since the server was started."""

    waiting: int = 0
    labelled: int = 0
    already_labelled: int = 0
    changed_labels: int = 0
    expired: int = 0
    too_late: int = 0
    unknown: int = 0


class Together(Struct):
    """The examples since a challenger joined, which it and its champion both learned."""

    examples: int
    mistakes: int
    champion_mistakes: int


class Member(Struct):
    name: str
    role: str
    examples: int
    mistakes: int
    updates: int
    progressive_error: float
    refused: int
    since_joined: Together | None


class LedgerPage(Struct):
    examples: int
    mistakes: int
    updates: int
    progressive_error: float
    radius: float
    pending: Pending
    stream: list[Member]


class Point(Struct):
    examples: int
    mistakes: int
    bound: float | None


class History(Struct):
    points: list[Point]
