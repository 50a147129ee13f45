"""Lines of examples, from bytes to what can be learned, and the sentences about those that can't be."""

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
    """Decoders of requests, by what a model takes."""

    lesson: msgspec.json.Decoder[Any]
    example: msgspec.json.Decoder[Any]
    prediction: msgspec.json.Decoder[Any]


NAMED_DECODERS = RequestDecoders(*map(msgspec.json.Decoder, (NamedLearnRequest, NamedExample, NamedPredictRequest)))
"""Features by name."""
RAW_DECODERS = RequestDecoders(*map(msgspec.json.Decoder, (LearnRequest, Example, PredictRequest)))
"""Raw rows, too: for models that were trained from files, and for lines of the journal, which are good already."""
RAW_FEATURES_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder(RawFeatures)


class RequestError(Exception):
    """A request that is answered with an error. `code` is stable: programs compare it, the sentence is for people."""

    learned: int | None = None
    """Examples of the same request that were learned before the error."""

    def __init__(self, sentence: str, code: str = "invalid-example", status: int = 422, headers: Headers = ()) -> None:
        super().__init__(sentence)
        self.code, self.status, self.headers = code, status, headers


def decode_body(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    """Decode a body; raise RequestError with 400 for malformed JSON, with 422 for JSON of another type."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as problem:
        raise RequestError(f"The body is not as it should be: {_format_problem(problem)}.", "invalid-body") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise RequestError(f"The body is no JSON: {_format_problem(problem)}.", "invalid-json", 400) from None
    except RecursionError:
        raise RequestError(
            "The body is no JSON that can be read: it is nested too deeply.", "invalid-json", 400
        ) from None


def _format_problem(problem: Exception) -> str:
    return str(problem).rstrip(".")


def check_features(features: Any, limits: Limits) -> None:
    if isinstance(features, str):
        check_text(features)
        return
    if len(features) > limits.features:
        raise RequestError(
            f"An example may have {limits.features:,} features, but this one has {len(features):,}.",
            "too-many-features",
        )
    longest = max(map(len, features), default=0)
    if longest > limits.name:
        raise RequestError(
            f"The name of a feature may have {limits.name:,} characters, but one has {longest:,}.", "name-too-long"
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
            "Names and labels must be texts of whole characters; one has half a surrogate pair."
        ) from None


def check_label(label: Any, limits: Limits) -> None:
    for one in label if isinstance(label, list) else [label]:
        if isinstance(one, str):
            if len(one) > limits.name:
                raise RequestError(
                    f"A label may have {limits.name:,} characters, but this one has {len(one):,}.", "label-too-long"
                )
            check_text(one)
        elif isinstance(one, float) and not one.is_integer():
            raise RequestError(
                f"A label is a text, a whole number or a truth value, but {one!r} came.", "invalid-label"
            )
        elif not isinstance(one, bool) and abs(one) > MAX_LABEL_NUMBER:
            raise RequestError(f"A label that is a number must be of size up to 1e15, got {one!r}.", "invalid-label")


def encode_line(features: Any, label: Any) -> bytes:
    """A lesson as the journal keeps it."""
    return msgspec.json.encode(LearnRequest(label=label, features=features)) + b"\n"


def count_label(order: LabelOrder, model: Any, label: Any) -> None:
    """Count the label of an example that the model has learned; sets of labels and rankings are not counted."""
    if not isinstance(label, list | dict):
        labels = state_of(model).labels
        order.add_one(int(labels.sign(label)) if isinstance(labels, BinaryLabels) else labels.number(label))
