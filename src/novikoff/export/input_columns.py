"""The inputs of an exported model, from its encoding: one tensor of numbers, or an input for each column of a table.

    numbers            the tensor `features`, a column for each feature
    named features     the same; the category nurse of job is the column job=nurse, which is 1 or 0
    table with texts   an input for each column: numbers, or strings that are categories

Features that are hashed, words of texts and feature maps are refused: ONNX has no operators for them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from novikoff.base import internals
from novikoff.data.raw.encoding import get_encoding
from novikoff.data.raw.records import TableWriter
from novikoff.errors import InputError
from novikoff.explanation import build_feature_namer


class NumberColumn(NamedTuple):
    """A column of numbers."""

    name: str
    feature: int | None
    """Its row of weights; None if no example had a value other than 0."""


class CategoryColumn(NamedTuple):
    """A column of strings."""

    name: str
    features: dict[str, int]
    """The row of weights of each known category."""


class Inputs(NamedTuple):
    """The inputs of a model: the names of the features of one tensor, or columns."""

    names: list[str]
    columns: list[NumberColumn | CategoryColumn] | None
    """None for one tensor."""
    missing_is_zero: bool
    """Whether NaN is a missing value, which counts as 0."""


def find_inputs(model: Any) -> Inputs:
    """Return the inputs of a fitted model; raise InputError if ONNX has no operators for its encoding."""
    state = internals.require_state(model)
    reading = getattr(state, "reading", None) or {}
    _check_encoding(reading)
    name = build_feature_namer(model)
    encoding = get_encoding(state)
    writer: Any = None if encoding is None else encoding.writer
    if isinstance(writer, TableWriter):
        if writer.texts:
            raise _build_error("words of texts", "--ignore the text columns, or predict with novikoff")
        if reading.get("hash_bits") is None:
            names = list(writer.format.feature_columns)
            return Inputs(names, None, missing_is_zero=True)
        if not all(writer.numeric[column] for column in writer.features):
            return Inputs([], _list_columns(writer, state.names.columns), missing_is_zero=True)
    return Inputs([str(name(c)) for c in range(state.features)], None, isinstance(writer, TableWriter))


def _check_encoding(reading: dict[str, Any]) -> None:
    if reading.get("feature_map") is not None:
        raise _build_error(f"the feature map {reading['feature_map']}", "train without --feature-map")
    if reading.get("hash_bits"):
        raise _build_error("hashed names of features", "train with --hash-bits 0, which stores the names")
    if reading.get("format") == "text" or reading.get("text"):
        raise _build_error("words of texts", "predict with novikoff")
    if reading.get("missing", "absent") != "absent":
        raise _build_error(f"--missing {reading['missing']}", "train with --missing absent")


def _build_error(what: str, advice: str) -> InputError:
    return InputError(f"The model has {what}, for which ONNX has no operators: {advice}.")


def _list_columns(writer: TableWriter, features: dict[str, int]) -> list[NumberColumn | CategoryColumn]:
    names, found = writer.format.names, list[NumberColumn | CategoryColumn]()
    for column in sorted(writer.features):
        name = names[column]
        if writer.numeric[column]:
            found.append(NumberColumn(name, features.get(name)))
        else:
            start = f"{name}="
            own = {text[len(start) :]: feature for text, feature in features.items() if text.startswith(start)}
            found.append(CategoryColumn(name, own))
    return found
