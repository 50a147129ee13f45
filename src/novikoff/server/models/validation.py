"""Validation of request bodies: decoding, limits of features and labels, and the errors for invalid ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from novikoff.base.internals import state_of
from novikoff.data.labels.binary_labels import MAX_LABEL_NUMBER, BinaryLabels
from novikoff.data.labels.label_order import LabelOrder
from novikoff.server.http.schemas import (
    Example,
    LearnRequest,
    NamedExample,
    NamedLearnRequest,
    NamedPredictRequest,
    PredictRequest,
    RawFeatures,
)
from novikoff.server.ops.limits import Limits

Headers = tuple[tuple[bytes, bytes], ...]


class RequestDecoders(NamedTuple):
    """Decoders of the request bodies for one kind of model."""

    labelled: msgspec.json.Decoder[Any]
    example: msgspec.json.Decoder[Any]
    prediction: msgspec.json.Decoder[Any]


NAMED_DECODERS = RequestDecoders(*map(msgspec.json.Decoder, (NamedLearnRequest, NamedExample, NamedPredictRequest)))
"""For models that accept only named features."""
RAW_DECODERS = RequestDecoders(*map(msgspec.json.Decoder, (LearnRequest, Example, PredictRequest)))
"""For models trained from files, which also accept raw rows, and for lines of the journal, which are valid already."""
RAW_FEATURES_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder(RawFeatures)


class RequestError(Exception):
    """A request that fails with an error response. `code` is stable and meant for programs, the message for people."""

    learned: int | None = None
    """Number of examples of the same request that were learned before the error."""

    def __init__(self, sentence: str, code: str = "invalid-example", status: int = 422, headers: Headers = ()) -> None:
        super().__init__(sentence)
        self.code, self.status, self.headers = code, status, headers


def decode_body(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    """Decode a body; raise RequestError with 400 for malformed JSON, with 422 for JSON of another type."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as problem:
        raise RequestError(f"Invalid body: {_format_problem(problem)}.", "invalid-body") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise RequestError(f"The body is not valid JSON: {_format_problem(problem)}.", "invalid-json", 400) from None
    except RecursionError:
        raise RequestError("The JSON of the body is nested too deeply.", "invalid-json", 400) from None


def _format_problem(problem: Exception) -> str:
    return str(problem).rstrip(".")


def check_features(features: Any, limits: Limits) -> None:
    if isinstance(features, str):
        check_text(features)
        return
    if len(features) > limits.features:
        raise RequestError(
            f"An example may have at most {limits.features:,} features, got {len(features):,}.",
            "too-many-features",
        )
    longest = max(map(len, features), default=0)
    if longest > limits.name:
        raise RequestError(
            f"The name of a feature may have at most {limits.name:,} characters, got one with {longest:,}.",
            "name-too-long",
        )
    names = "".join(features)
    if not names.isascii():
        check_text(names)


def check_text(text: str) -> None:
    """Raise RequestError for a lone surrogate, which UTF-8 can't encode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RequestError(
            "Names and labels must be valid Unicode. One of them has a lone surrogate, which UTF-8 can't encode."
        ) from None


def check_label(label: Any, limits: Limits) -> None:
    for one in label if isinstance(label, list) else [label]:
        if isinstance(one, str):
            if len(one) > limits.name:
                raise RequestError(
                    f"A label may have at most {limits.name:,} characters, got {len(one):,}.", "label-too-long"
                )
            check_text(one)
        elif isinstance(one, float) and not one.is_integer():
            raise RequestError(f"A label must be a string, an integer or a boolean, got {one!r}.", "invalid-label")
        elif not isinstance(one, bool) and abs(one) > MAX_LABEL_NUMBER:
            raise RequestError(f"The absolute value of a label must be at most 1e15, got {one!r}.", "invalid-label")


def encode_line(features: Any, label: Any) -> bytes:
    """Return a labelled example as a line of the journal."""
    return msgspec.json.encode(LearnRequest(label=label, features=features)) + b"\n"


def count_label(order: LabelOrder, model: Any, label: Any) -> None:
    """Record the label of a learned example in `order`. Sets of labels and rankings are ignored."""
    if not isinstance(label, list | dict):
        labels = state_of(model).labels
        order.add_one(int(labels.sign(label)) if isinstance(labels, BinaryLabels) else labels.number(label))
