"""Survey of the columns of a table: their values in a sample of records, and warnings about likely mistakes.

Up to MAX_SURVEYED_ROWS records from the beginning of the file are sampled. Warnings concern columns that identify rows,
dates and decimal commas (which become one category per value), codes that are read as numbers, constant columns, and
columns that determine the label.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

from novikoff.data.formats.class_count import MANY_CLASSES, describe_many_classes
from novikoff.data.formats.csv_sniffer import MISSING_PATTERN, NUMBER_PATTERN, NUMERIC_PATTERN
from novikoff.data.names.column_names import join_names

MAX_SURVEYED_ROWS, MIN_SURVEYED_ROWS = 1000, 100
MAX_SURVEYED_CELLS = 8_000
MIN_ROWS_FOR_DOUBTS = 20  # with fewer rows, a unique or constant column means nothing
NEAR_UNIQUE_FRACTION = 0.5  # distinct values per value
MAX_CODES = 10  # distinct integers that may be codes
MIN_WORDS_PER_TEXT = 3.0  # on average
MAX_SHOWN_VALUES = 3
MAX_SHOWN_COLUMNS = 4
_OPTION = re.compile(r"--(\w+) \{names\}")
_DATE = re.compile(rb"\s*(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})(?:[T ][\d:.+Z-]*)?\s*")
_DECIMAL_COMMA = re.compile(rb"\s*[+-]?\d+,\d+\s*")
_INTEGER = re.compile(rb"\s*[+-]?\d{1,15}\s*")
NON_IDENTIFIER_ENDINGS = (
    "paid", "bid", "grid", "valid", "fluid", "humid", "solid", "acid", "void", "covid", "mid", "rapid", "roid",
)  # fmt: skip
"""Word endings that don't mark identifiers."""


class SurveyedColumn:
    """The sampled values of a column."""

    def __init__(self, name: str, values: tuple[bytes, ...]) -> None:
        self.name, self.values = name, values
        """The value of each record."""

    @cached_property
    def present(self) -> list[bytes]:
        return [value for value in self.values if value[:1].isdigit() or not MISSING_PATTERN.fullmatch(value)]

    @cached_property
    def distinct(self) -> list[bytes]:
        """The distinct values that are not missing, in order of first appearance."""
        return list(dict.fromkeys(self.present))

    @cached_property
    def is_numeric(self) -> bool:
        """Whether all values are numbers or missing."""
        return all(map(NUMERIC_PATTERN.fullmatch, self.values))

    @property
    def is_near_unique(self) -> bool:
        return len(self.present) >= MIN_ROWS_FOR_DOUBTS and len(self.distinct) > NEAR_UNIQUE_FRACTION * len(
            self.present
        )

    @property
    def is_text(self) -> bool:
        """Whether the values look like sentences: several words, and most values distinct."""
        words = sum(len(value.split()) for value in self.present)
        return self.is_near_unique and words >= MIN_WORDS_PER_TEXT * len(self.present)

    def _all_match(self, pattern: re.Pattern[bytes]) -> bool:
        return bool(self.present) and all(map(pattern.fullmatch, self.present))

    @property
    def is_date(self) -> bool:
        return self._all_match(_DATE)

    @property
    def has_decimal_commas(self) -> bool:
        return self._all_match(_DECIMAL_COMMA)

    @property
    def may_be_codes(self) -> bool:
        """Whether the values are a few repeating integers other than 0 and 1."""
        distinct = {int(value) for value in self.distinct} if self._all_match(_INTEGER) else set[int]()
        return len(self.present) >= MIN_ROWS_FOR_DOUBTS and 2 < len(distinct) <= MAX_CODES

    @property
    def is_named_identifier(self) -> bool:
        """Whether most values are distinct integers, and the name ends in id."""
        name = self.name.strip().lower()
        named = name.endswith("id") and not name.endswith(NON_IDENTIFIER_ENDINGS)
        return named and self.is_near_unique and self._all_match(_INTEGER)

    @property
    def is_constant(self) -> bool:
        return len(self.values) >= MIN_ROWS_FOR_DOUBTS and len(self.distinct) <= 1

    def format_values(self) -> str:
        """Return the first distinct values, for messages."""
        values = [format_value(value) for value in self.distinct]
        return ", ".join(values[:MAX_SHOWN_VALUES]) + (", …" if len(values) > MAX_SHOWN_VALUES else "")


def format_value(value: bytes) -> str:
    text = value.decode("utf-8", "backslashreplace").strip()
    return text if len(text) <= 24 else text[:23] + "…"


def survey_columns(names: Sequence[str], rows: Sequence[Sequence[bytes]]) -> list[SurveyedColumn]:
    """Survey the columns of up to MAX_SURVEYED_ROWS records, fewer where they are wide, evenly spread."""
    most = max(MIN_SURVEYED_ROWS, min(MAX_SURVEYED_ROWS, MAX_SURVEYED_CELLS // len(names)))
    some = rows[:: max(1, len(rows) // most)][:most]
    return [SurveyedColumn(name, tuple(row[k] for row in some)) for k, name in enumerate(names)]


DOUBTS = {
    "codes": "{columns} {are} read as numbers, but may be codes: --categorical {names} if so.",
    "identifier": "{columns} {count} the rows: --ignore {names} if {it} an identifier.",
    "named": "{columns} {have} different whole numbers in most rows, read as numbers: --ignore {names} if {it} an"
    " identifier.",
    "commas": "{columns} {have} numbers with a decimal comma, read as categories: write points.",
    "date": "{columns} {have} dates, read as categories: --ignore {names}, or make numbers of them, such as the month.",
    "text": "{columns} {look} like text, read as categories: --text {names} makes features of the words.",
    "unique": "{columns} {have} a value of its own in most rows, read as categories: --ignore {names} if {it} an"
    " identifier.",
}
"""Messages for warnings about feature columns."""


def find_column_doubt(column: SurveyedColumn, kind: str) -> str | None:
    """Return the key in DOUBTS for a column that is read as `kind` (numeric, categorical or text), if there is one."""
    if column.is_constant or kind == "text":
        return None
    if kind == "numeric":
        whole = len(column.present) >= MIN_ROWS_FOR_DOUBTS and column._all_match(_INTEGER)
        if whole and len(column.distinct) == len(column.present) and _is_arithmetic_sequence(column.present):
            return "identifier"
        if column.is_named_identifier:
            return "named"
        return "codes" if column.may_be_codes else None
    for key, doubtful in (
        ("commas", column.has_decimal_commas),
        ("date", column.is_date and len(column.distinct) > 2),
        ("text", column.is_text),
        ("unique", column.is_near_unique),
    ):
        if doubtful:
            return key
    return None


def find_feature_doubts(columns: Sequence[tuple[SurveyedColumn, str]], *, in_python: bool = False) -> list[str]:
    """Return one warning for each key in DOUBTS, with advice for the command line or for Python."""
    found: dict[str, list[SurveyedColumn]] = {}
    for column, kind in columns:
        key = find_column_doubt(column, kind)
        if key is not None:
            found.setdefault(key, []).append(column)
    sentences = []
    for key, some in found.items():
        one, shown = (
            len(some) == 1,
            [f"{column.name!r} ({column.format_values()})" for column in some[:MAX_SHOWN_COLUMNS]],
        )
        more = f" and {len(some) - MAX_SHOWN_COLUMNS:,} more" if len(some) > MAX_SHOWN_COLUMNS else ""
        words = {"are": "is", "have": "has", "look": "looks", "count": "counts", "it": "it is"}
        forms = words if one else {**{word: word for word in words}, "it": "they are"}
        sentences.append(
            (_OPTION.sub(r"with_columns(X, \1={names})", DOUBTS[key]) if in_python else DOUBTS[key]).format(
                columns=f"column{'' if one else 's'} {', '.join(shown)}{more}",
                names=_format_option_names([column.name for column in some], in_python=in_python),
                **forms,
            )
        )
    return sentences


def _format_option_names(names: list[str], *, in_python: bool) -> str:
    """Format names as an option takes them."""
    if in_python:
        return repr(names[0] if len(names) == 1 else names)
    import shlex

    return shlex.quote(",".join(names))


def _is_arithmetic_sequence(values: Sequence[bytes]) -> bool:
    """Return whether integers rise by a constant step, like sampled row numbers."""
    numbers = [int(value) for value in values]
    return numbers[1] > numbers[0] and len({b - a for a, b in pairwise(numbers)}) == 1


def find_label_doubts(column: SurveyedColumn) -> list[str]:
    """Return warnings about the label column."""
    found = []
    if len(column.distinct) > MANY_CLASSES:
        found.append(
            describe_many_classes([format_value(value) for value in column.distinct], len(column.present), column.name)
        )
    numbers = sum(1 for value in column.present if NUMBER_PATTERN.fullmatch(value))
    if 0 < numbers < len(column.present):
        odd = next(value for value in column.present if not NUMBER_PATTERN.fullmatch(value))
        found.append(
            f"the label {column.name!r} has numbers and strings, such as {format_value(odd)}: all are read as strings."
        )
    return found


def build_feature_notes(columns: Sequence[SurveyedColumn], gaps: Sequence[str], rows: int, missing: str) -> list[str]:
    """Return notes on constant columns, and on columns with missing values (`gaps`)."""
    same = [column.name for column in columns if column.is_constant]
    found = [f"one value in all of {rows:,} sampled rows: {join_names(same)}"] if same else []
    if gaps and missing == "absent":
        found.append(
            f"missing values ({join_names(gaps)}) make no features: --missing indicator makes a feature for each"
        )
    return found


def suggest_label(columns: Sequence[SurveyedColumn]) -> str:
    """Suggest the last column as the label if it has few values, else the first, else all that have few."""
    few = [column for column in columns if 2 <= len(column.distinct) <= max(2, len(column.present) // 10)]
    outer = [column for column in (columns[-1], columns[0]) if column in few] if columns else []
    classes = outer[:1] or [column for column in few if len(column.distinct) <= MAX_CODES]
    if len(classes) == 1:
        return f"Perhaps --label {classes[0].name}, with the values {classes[0].format_values()}. "
    return (
        f"Perhaps one of {join_names([column.name for column in classes])}, which have few values. " if classes else ""
    )


def format_with_values(column: SurveyedColumn) -> str:
    """Return the name of a column with its first values."""
    return f"{column.name} ({', '.join(format_value(value) for value in column.distinct[:2])}, …)"


def determines_label(column: SurveyedColumn, label: SurveyedColumn) -> bool:
    """Return whether a column determines the label in the sample: by few values, or by a threshold on a number."""
    some = slice(0, MIN_ROWS_FOR_DOUBTS)
    return _determines_label_in(column, label, some) and _determines_label_in(column, label, slice(None), strict=True)


def _determines_label_in(column: SurveyedColumn, label: SurveyedColumn, some: slice, *, strict: bool = False) -> bool:
    """Check some records; `strict` requires enough of them, and of each label."""
    pairs = [
        (value, wanted)
        for value, wanted in zip(column.values[some], label.values[some], strict=True)
        if not MISSING_PATTERN.fullmatch(value) and not MISSING_PATTERN.fullmatch(wanted)
    ]
    labels = {wanted for _, wanted in pairs}
    if strict:
        enough = len(pairs) >= max(MIN_ROWS_FOR_DOUBTS, len(column.values) // 2) and len(labels) >= 2
        if not enough or min(sum(wanted == one for _, wanted in pairs) for one in labels) < 3:
            return False
    of_value = dict(pairs)
    few = not strict or len(of_value) <= max(2, len(pairs) // 10)
    if few and all(of_value[value] == wanted for value, wanted in pairs):
        return True
    if len(labels) != 2 or not all(NUMBER_PATTERN.fullmatch(value) for value, _ in pairs):
        return len(labels) < 2 and not strict
    one, other = ([float(value) for value, wanted in pairs if wanted == side] for side in labels)
    return max(one) < min(other) or max(other) < min(one)
