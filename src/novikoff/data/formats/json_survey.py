"""Survey of JSON lines: the fields of a sample of objects, their values, and how many features they make.

Up to MAX_SURVEYED_ROWS lines are sampled, evenly spread over the first MiB. Top-level fields with numbers, strings,
truth values or null are treated like the columns of a table; lists and objects are described by their contents.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from novikoff.data.formats import column_survey
from novikoff.data.formats.csv_sniffer import is_label_name
from novikoff.data.names.column_names import join_names
from novikoff.errors import InputError, suggest

MAX_SURVEYED_VALUES = 3_000
"""Limit for all top-level fields of the sampled lines together."""
MAX_DICTIONARY_NAMES = 500
"""Distinct features of the sample, besides those of the first object, up to which a file gets a dictionary."""
MAX_LISTED_FIELDS = 30
MAX_LISTED_PATHS = 6


class SurveyedField(column_survey.SurveyedColumn):
    """The values of one top-level field in the sample; null counts as an empty value."""

    def __init__(self, name: str, values: list[Any]) -> None:
        super().__init__(name, tuple(_format_cell(value) for value in values))
        self.has_strings = any(isinstance(value, str) for value in values)
        self.has_nulls = any(value is None for value in values)


@dataclass
class JsonSurvey:
    """Result of the survey."""

    objects: list[dict[str, Any]] = field(default_factory=list)
    """The sampled objects."""
    fields: list[SurveyedField] = field(default_factory=list)
    """Top-level fields in order of first appearance; nested values are left out."""
    nested: dict[str, str] = field(default_factory=dict)
    """Top-level fields with lists or objects, and how they are read."""

    @property
    def names(self) -> list[str]:
        """All top-level fields, in order of first appearance."""
        return list(dict.fromkeys(name for obj in self.objects for name in obj))

    def is_in_all_objects(self, column: column_survey.SurveyedColumn) -> bool:
        """Return whether all objects have this field."""
        return len(column.values) == len(self.objects)

    def check_field(self, path: str | None, title: str, option: str) -> None:
        """Raise InputError if no sampled line has the top-level field of a path that an option names."""
        names = self.names
        if path is None or not names or path.split(".")[0] in names:
            return
        raise InputError(
            f"{title}: {option} must be a field ({join_names(names, MAX_LISTED_FIELDS)}), not"
            f" {path!r}{suggest(path, names) or '.'}"
        )

    def values_at(self, path: str) -> list[Any]:
        """Return the values at a path; None for objects that lack it."""
        return [_get_value(obj, path) for obj in self.objects]


class LabelField:
    """The labels in the sample; a label may be a list."""

    def __init__(self, path: str, values: list[Any]) -> None:
        self.path = path
        sets = [value if isinstance(value, list) else [value] for value in values]
        self.members = [label for labels in sets for label in labels if isinstance(label, str | int | float)]
        self.column = column_survey.SurveyedColumn(
            path, tuple(b"" if isinstance(value, list) else _format_cell(value) for value in values)
        )
        """The labels as a column of a table."""

    @property
    def is_mixed(self) -> bool:
        """Whether some labels are strings and others are not."""
        return len({isinstance(label, str) for label in self.members}) > 1

    def find_doubts(self) -> list[str]:
        """Return warnings about the labels, except for their number, which `DataReader.describe` checks."""
        if not self.is_mixed:
            return []
        odd = next(label for label in self.members if isinstance(label, str))
        return [
            f"the label {self.path!r} has numbers and strings, such as"
            f" {column_survey.format_value(_format_cell(odd))}: all are read as strings."
        ]


def survey_objects(head: bytes) -> JsonSurvey:
    """Sample the first lines; lines that are not objects are skipped here and reported when they are parsed."""
    lines = [line for line in head.split(b"\n") if line.strip()]
    first = next((obj for obj in map(_parse_object, lines) if obj is not None), {})
    most = max(
        column_survey.MIN_SURVEYED_ROWS, min(column_survey.MAX_SURVEYED_ROWS, MAX_SURVEYED_VALUES // max(1, len(first)))
    )
    some = [_parse_object(line) for line in lines[:: max(1, len(lines) // most)][:most]]
    found = JsonSurvey([obj for obj in some if obj is not None] or [first])
    values: dict[str, list[Any]] = {}
    nested: dict[str, list[Any]] = {}
    for obj in found.objects:
        for name, value in obj.items():
            (nested if isinstance(value, list | dict) else values).setdefault(name, []).append(value)
    found.fields += [SurveyedField(name, some) for name, some in values.items()]
    found.nested |= {name: _describe_nested(name, some) for name, some in nested.items()}
    return found


def find_label_field(survey: JsonSurvey, title: str) -> str:
    """Return the field with a label's name; raise InputError where there is none, or more than one."""
    if not survey.names:
        raise InputError(f"{title}: has no JSON object in its first lines: is it JSON, with one object per line?")
    named = [name for name in survey.names if is_label_name(name.encode("utf-8", "replace"))]
    if len(named) == 1:
        return named[0]
    if named:
        several = ", ".join(map(repr, named))
        raise InputError(f"{title}: the fields {several} are all named as labels are: choose one with --label.")
    scalars = {column.name: column_survey.format_with_values(column) for column in survey.fields}
    shown = [scalars.get(name, f"{name} (nested)") for name in survey.names]
    raise InputError(
        f"{title}: which field is the label? None is named label, class, target or y: use --label FIELD."
        f" {column_survey.suggest_label(survey.fields)}The fields are {join_names(shown, MAX_LISTED_FIELDS)}."
    )


def has_few_names(survey: JsonSurvey, is_left_out: Callable[[str], bool], categorical: tuple[str, ...]) -> bool:
    """Return whether the sample makes few features besides those of the first object, and no field has sentences."""
    first = survey.objects[0]
    columns = [column for column in survey.fields if not is_left_out(column.name)]
    if any(column.has_strings and column.is_text for column in columns):
        return False
    categories = [column for column in columns if column.has_strings or column.name in categorical]
    count = sum(len(column.distinct) for column in categories) + sum(column.name not in first for column in columns)
    nested = [name for name in survey.nested if not is_left_out(name)]
    known: set[str] = set()
    for obj in survey.objects:
        for name in nested:
            if name in obj:
                known.update(_iter_names(obj[name], name, name, categorical))
        if obj is first:
            count -= len(known)
        if count + len(known) > MAX_DICTIONARY_NAMES:
            return False
    return True


def _iter_names(value: Any, path: str, own: str, categorical: tuple[str, ...]) -> Iterator[str]:
    """Yield the names of the features in a value; `own` is the path of the list that contains it, or its own path."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _iter_names(inner, f"{path}.{name}", f"{path}.{name}", categorical)
    elif isinstance(value, list):
        for k, inner in enumerate(value):
            yield from _iter_names(inner, f"{path}.{k}", path, categorical)
    elif isinstance(value, str):
        yield f"{own}={value}"
    elif value is not None and value is not False:
        yield f"{path}={value}" if path in categorical else path


def _describe_nested(name: str, values: list[Any]) -> str:
    """Describe how the lists and objects of a field are read."""
    items = [item for value in values if isinstance(value, list) for item in value]
    found = []
    if any(isinstance(item, str) for item in items):
        found.append(f"list: {name}=string for each string")
    if any(not isinstance(item, str) for item in items):
        found.append(f"list: {name}.0, {name}.1, … by position")
    if not items and any(isinstance(value, list) for value in values):
        found.append("empty list")
    paths = list(dict.fromkeys(f"{name}.{inner}" for value in values if isinstance(value, dict) for inner in value))
    if any(isinstance(value, dict) for value in values):
        found.append(f"object: {join_names(paths, MAX_LISTED_PATHS) or 'empty'}")
    return "; ".join(found)


def _parse_object(line: bytes) -> dict[str, Any] | None:
    try:
        obj = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return obj if isinstance(obj, dict) else None


def _get_value(value: Any, path: str) -> Any:
    """Return the value at a path. Field names may contain points."""
    while isinstance(value, dict):
        if path in value:
            return value[path]
        name = next((name for name in value if path.startswith(f"{name}.")), None)
        if name is None:
            return None
        value, path = value[name], path[len(name) + 1 :]
    return None


def _format_cell(value: Any) -> bytes:
    """Return a value as the cell of a table."""
    if isinstance(value, bool):
        return b"1" if value else b"0"
    return b"" if value is None or isinstance(value, list | dict) else str(value).encode("utf-8", "replace")
