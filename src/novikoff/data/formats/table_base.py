"""Base of all table formats: named columns, each of which is the label, a weight, a feature or ignored.

A table whose features are all numbers gives dense rows, in which missing values are 0. Any other table gives rows of
named features: a number is the feature named after its column, a category the feature column=value with value 1, a word
of a text column the feature column=word. Few categories get a dictionary of names; otherwise, and with --hash-bits,
they are hashed, with the hash of the column name as seed. Columns without names are named by their number from 1.

The label is the column that --label names, by name or number from 1; by default the one named label, class, target or
y. Otherwise the user is asked.

Later files are matched by their column names. Unknown columns are skipped, absent ones count as missing values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from novikoff._compiled import buffers
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data.formats.base import (
    MISSING_INDICATOR,
    MISSING_VALUES,
    BadLine,
    Format,
    Parser,
    build_number_decoder,
    check_roles,
    format_excerpt,
)
from novikoff.data.formats.column_survey import (
    SurveyedColumn,
    build_feature_notes,
    determines_label,
    find_feature_doubts,
    find_label_doubts,
    format_with_values,
    suggest_label,
)
from novikoff.data.formats.csv_rows import ABSENT, CATEGORY, CELL_COUNT, NUMERIC, REASONS, SKIPPED, TEXT, TableOutput
from novikoff.data.formats.csv_sniffer import is_label_name
from novikoff.data.formats.ngram_names import format_char_ngram, format_word_ngram
from novikoff.data.formats.ngrams import DEFAULT_SCALE, derive_char_seed, resolve_ngram_options
from novikoff.data.merge_terms import HashedTerms, allocate_terms
from novikoff.data.names.column_names import join_names
from novikoff.data.names.hashing import DEFAULT_HASH_BITS, hash_name
from novikoff.data.text_source import TextBlock
from novikoff.errors import InputError, suggest

MAX_DICTIONARY_CATEGORIES = 500
"""Distinct categories in the sampled records (at most 1,000) up to which they get a dictionary."""
EXTRA_COLUMN = -1
COLUMN_TYPE_NAMES = {NUMERIC: "numeric", CATEGORY: "categorical", TEXT: "text"}


@dataclass
class OpenTable:
    """State of the file that is being read. It is not part of the model."""

    places: tuple[int, ...] = ()
    """The table's column for each column of the file; EXTRA_COLUMN for unknown ones."""
    matched_by_name: bool = True
    """Whether these were matched by the names in the file."""
    title: str = ""
    notes: list[str] = field(default_factory=list)
    survey: list[SurveyedColumn] = field(default_factory=list)
    """The survey of the columns of the first file."""


@dataclass(frozen=True)
class TableFormat(Format):
    """Base class of table formats, with the settings that the data of one model shares."""

    counts_classes: ClassVar[bool] = True

    names: tuple[str, ...]
    """Names of all columns, in the order of the first file."""
    numeric: tuple[bool, ...]
    """Whether each column is numeric."""
    target: int
    """The column of the label."""
    label: str
    """The label column as the user gave it, or else its name."""
    header: bool
    """Whether the names are from the file."""
    hash_bits: int | None
    """Bits of hashed features, 0 for a dictionary; None where rows are dense."""
    signed_hash: bool
    collisions: str
    ignored: tuple[int, ...] = ()
    """Columns that are ignored."""
    texts: tuple[int, ...] = ()
    """Columns whose words are features."""
    weight: int | None = None
    """The column with the weights of the rows."""
    missing: str = "absent"
    word_ngrams: int = 1
    char_ngrams: int = 0
    lowercase: bool = True
    term_weighting: str = DEFAULT_SCALE

    def settings(self) -> dict[str, Any]:
        """Return the settings for the model file, without defaults that most tables have."""
        usual: dict[str, Any] = {
            "ignored": (), "texts": (), "weight": None, "missing": "absent", "quote": '"', "encoding": None,
        }  # fmt: skip
        usual |= {"word_ngrams": 1, "char_ngrams": 0, "lowercase": True, "term_weighting": DEFAULT_SCALE}
        own = {name: value for name, value in asdict(self).items() if name not in usual or value != usual[name]}
        return {"format": self.name, **own}

    @property
    def columns(self) -> list[str] | None:
        return self.feature_columns if self.header and self.hash_bits is None else None

    @property
    def bits_used(self) -> int | None:
        return self.hash_bits

    @cached_property
    def features(self) -> list[int]:
        """The columns that are features."""
        return [c for c in range(len(self.names)) if self.column_type(c) != SKIPPED]

    @cached_property
    def feature_columns(self) -> list[str]:
        """Their names."""
        return [self.names[c] for c in self.features]

    def column_type(self, column: int) -> int:
        if column in (self.target, self.weight, EXTRA_COLUMN) or column in self.ignored:
            return SKIPPED
        return TEXT if column in self.texts else NUMERIC if self.numeric[column] else CATEGORY

    def feature_name(self, block: TextBlock, span: NDArray[np.int64]) -> str:
        """Return the name of a feature. Spans are (column, start, stop, 0), with stop ABSENT for a missing value; for
        words (start, stop, 1 for letter runs, column + 1)."""
        if span[3] > 0:
            start, stop, letters, column = (int(place) for place in span)
            text = block.text[start:stop].tobytes()
            word = format_char_ngram(text, self.lowercase) if letters else format_word_ngram(text, self.lowercase)
            return f"{self.names[column - 1]}={word}"
        column, start, stop = (int(place) for place in span[:3])
        name = self.names[column]
        if stop == ABSENT:
            return f"{name} is missing"
        return name if self.numeric[column] else f"{name}={block.decode(start, stop)}"

    @cached_property
    def opened(self) -> OpenTable:
        return OpenTable(tuple(range(len(self.names))))

    @property
    def notes(self) -> list[str]:
        seen = [self.opened.survey[c] for c in self.features] if self.opened.survey else []
        gaps = [column.name for column in seen if len(column.present) < len(column.values)]
        rows = len(seen[0].values) if seen else 0
        return [*self.opened.notes, *build_feature_notes(seen, gaps, rows, self.missing)]

    def match(self, names: Sequence[str], title: str) -> None:
        """Match the columns of a file by their names; raise InputError where no feature column is among them."""
        place = {name: c for c, name in enumerate(self.names)}
        places = tuple(place.get(name, EXTRA_COLUMN) for name in names)
        lacking = [self.names[c] for c in self.features if c not in places]
        if len(lacking) == len(self.features):
            raise InputError(
                f"{title}: has none of the columns of the data before ({join_names(self.feature_columns)}), but"
                f" {join_names(names)}. If these are not names, --no-header matches columns by position."
            )
        if lacking and self.missing == "error":
            raise InputError(f"{title}: has no column {lacking[0]!r}, which --missing error refuses.")
        extra = [name for name, c in zip(names, places, strict=True) if c == EXTRA_COLUMN]
        self.opened.title, self.opened.places, self.opened.matched_by_name = title, places, True
        self.opened.notes = [
            *([f"{title}: columns unknown to the model are ignored: {join_names(extra)}"] if extra else []),
            *([f"{title}: absent columns count as missing: {join_names(lacking)}"] if lacking else []),
        ]

    # --- Summary of what was detected ---

    def describe(self) -> dict[str, Any]:
        found: dict[str, Any] = super().describe()
        for kind, title in COLUMN_TYPE_NAMES.items():
            some = [self.names[c] for c in self.features if self.column_type(c) == kind]
            if some:
                found[title] = some
        if self.weight is not None:
            found["weight"] = self.names[self.weight]
        if self.ignored:
            found["ignored"] = [self.names[c] for c in self.ignored]
        counts = {column.name: len(column.distinct) for column in self.opened.survey}
        if counts and "categorical" in found:
            found["categories"] = {name: counts[name] for name in found["categorical"]}
        return found

    def find_doubts(self, *, in_python: bool = False) -> list[str]:
        found: list[str] = []
        if not self.opened.survey:
            return found
        label = self.opened.survey[self.target]
        found += find_label_doubts(label)
        seen = [(self.opened.survey[c], COLUMN_TYPE_NAMES[self.column_type(c)]) for c in self.features]
        found += find_feature_doubts(seen, in_python=in_python)
        telling = [column.name for column, _ in seen if label.values and determines_label(column, label)]
        if telling:
            found.append(
                f"{join_names(telling)} alone {'determines' if len(telling) == 1 else 'determine'} the label in all"
                f" {len(label.values):,} sampled rows: --ignore what is known only after the label is."
            )
        return found


def resolve_columns(
    options: Any,
    names: Sequence[str],
    numeric: Sequence[bool],
    survey: list[SurveyedColumn],
    title: str,
    *,
    header: bool,
    truths: Sequence[bool] = (),
) -> dict[str, Any]:
    """Return the fields of `TableFormat`, from the survey and the options.

    Truth values become 1 and 0 in features, as in data frames and Parquet files, but not in the label.
    """
    if len(names) < 2:
        raise InputError(f"{title}: has one column only, but there must be a label and at least one feature.")

    def places(option: str) -> list[int]:
        said = getattr(options, option)
        return [find_column(name, names, title, f"--{option}", header=header) for name in said]

    target = find_label_column(options.label, names, survey, title, header=header)
    weight = None if options.weight is None else find_column(options.weight, names, title, "--weight", header=header)
    kinds = list(numeric)
    for c, truth in enumerate(truths):
        kinds[c] |= truth and c != target
    for c in places("categorical"):
        kinds[c] = False
    for c in places("numeric"):
        kinds[c] = True
    texts = [] if options.text is None else [
        find_column(name, names, title, "--text", header=header) for name in options.text.split(",")
    ]  # fmt: skip
    for c in texts:
        kinds[c] = False
    chosen, ignored = places("columns"), places("ignore")
    roles = {"the label": [target], "--weight": [] if weight is None else [weight], "--ignore": ignored}
    kinds_said = {"--text": texts, "--categorical": places("categorical"), "--numeric": places("numeric")}
    for some in ({**roles, **kinds_said}, {**roles, "--columns": chosen}):
        check_roles({option: [names[c] for c in columns] for option, columns in some.items()}, title)
    left_out = {c for c in range(len(names)) if chosen and c not in chosen and c not in texts} | set(ignored)
    features = [c for c in range(len(names)) if c not in left_out and c not in (target, weight)]
    if not features:
        raise InputError(f"{title}: no column is left as a feature: {join_names(names)}.")
    dense = all(kinds[c] for c in features) and options.hash_bits is None and options.missing != "indicator"
    return {
        "names": tuple(names),
        "numeric": tuple(kinds),
        "target": target,
        "label": options.label or names[target],
        "header": header,
        "hash_bits": None
        if dense
        else _choose_hash_bits(options, [survey[c] for c in features if not kinds[c]], bool(texts)),
        "signed_hash": bool(options.signed_hash) and not dense,
        "collisions": "sum" if dense else options.collisions,
        "ignored": tuple(sorted(left_out - {target, weight})),
        "texts": tuple(sorted(texts)),
        "weight": weight,
        "missing": options.missing,
        **(resolve_ngram_options(options) if texts else {}),
    }


def _choose_hash_bits(options: Any, categories: list[SurveyedColumn], texts: bool) -> int:
    """Return the number of bits of hashed features; 0 where a dictionary suffices."""
    if options.hash_bits is not None:
        return int(options.hash_bits)
    needs_slots = texts or options.hashes_names or options.signed_hash or options.feature_map is not None
    few = sum(len(column.distinct) for column in categories) <= MAX_DICTIONARY_CATEGORIES
    return DEFAULT_HASH_BITS if needs_slots or not few else 0


def find_column(said: str, names: Sequence[str], title: str, option: str, *, header: bool) -> int:
    """Return the index of a column that the user has named, by name or by number from 1."""
    if header and said in names:
        return list(names).index(said)
    if said.isdecimal() and 1 <= int(said) <= len(names):
        return int(said) - 1
    hint = suggest(said, names) if header else ""
    raise InputError(
        f"{title}: {option} must be a column ({join_names(names)}) or a number up to {len(names)}, not"
        f" {said!r}{hint or '.'}"
    )


def find_label_column(
    said: str | None, names: Sequence[str], survey: Sequence[SurveyedColumn], title: str, *, header: bool
) -> int:
    if said is not None:
        return find_column(said, names, title, "--label", header=header)
    named = [k for k, name in enumerate(names) if is_label_name(name.encode())] if header else []
    if len(named) == 1:
        return named[0]
    if named:
        both = " and ".join(repr(names[k]) for k in named)
        raise InputError(f"{title}: the columns {both} may both be the label: choose one with --label.")
    shown = join_names([format_with_values(column) for column in survey], 30)
    raise InputError(
        f"{title}: which column is the label? None is named label, class, target or y: use --label COLUMN, by name or"
        f" by number. {suggest_label(survey)}The columns are {shown}."
    )


class TableParser(Parser):
    """Base class of table parsers: buffers for labels, problems and hashed features."""

    def __init__(self, table: TableFormat, named: bool, unlabelled: bool) -> None:
        self.table, self.named, self.unlabelled = table, named, unlabelled
        self.width = len(table.features)
        self.kinds = buffers.array([table.column_type(c) for c in range(len(table.names))], "uint8")
        self.seeds = buffers.array([hash_name(name.encode()) for name in table.names], "uint64")
        self.char_seeds = buffers.array([derive_char_seed(int(seed)) for seed in self.seeds], "uint64")
        self.indicators = buffers.array([hash_name(MISSING_INDICATOR, int(seed)) for seed in self.seeds], "uint64")
        self.missing_policy = MISSING_VALUES.index(table.missing)

    def has_weights(self) -> bool:
        """Return whether rows have weights, which only learners need; raise InputError where the file lacks them."""
        table = self.table
        if table.weight is None or self.unlabelled:
            return False
        if table.weight not in table.opened.places:
            raise InputError(
                f"{table.opened.title}: has no column {table.names[table.weight]!r}, which should hold the weights of"
                " the rows."
            )
        return True

    @property
    def cells(self) -> int:
        """The number of cells that each record must have."""
        return len(self.table.names)

    def allocate_terms(self, terms: int) -> HashedTerms:
        """Allocate buffers for `terms` terms; the record of used slots is kept."""
        bits = self.table.hash_bits or 0
        made = allocate_terms(
            terms, bits=bits, signed=self.table.signed_hash, named=self.named, largest=self.table.collisions == "max"
        )
        made.used[: len(self.used)] = self.used
        self.used = made.used
        return made

    def allocate_output(self, rows: int) -> TableOutput:
        return TableOutput(
            keys=buffers.zeros(rows, "uint64"),
            labels=buffers.zeros((rows, 2), "int64"),
            line_of=buffers.zeros(rows, "int64"),
            weights=buffers.zeros(rows if self.has_weights() else 0),
            problems=buffers.zeros((rows, 5), "int64"),
        )

    def label(
        self, block: TextBlock, keys: NDArray[np.uint64], span: Callable[[int], tuple[int, int]]
    ) -> Callable[[int], Any]:
        """Return a decoder of labels: numbers from their keys, texts from their `span` (start, stop) in the block."""
        if self.table.numeric[self.table.target]:
            return build_number_decoder(keys)

        def text(i: int) -> str | None:
            start, stop = span(i)
            return None if start == ABSENT else block.decode(start, stop)

        return text

    def problems(self, block: TextBlock, out: TableOutput, wrong: int) -> list[BadLine]:
        return [
            self.problem(
                line, reason, column, str(start) if reason == CELL_COUNT else format_excerpt(block, start, stop)
            )
            for line, reason, column, start, stop in out.problems[:wrong].tolist()
        ]

    def problem(self, line: int, reason: int, column: int, found: str) -> BadLine:
        """Return a bad line with its message."""
        kind, sentence = REASONS[reason]
        name = repr(self.table.names[column]) if self.table.header else str(column + 1)
        return BadLine(line, kind, sentence.format(expected=self.cells, column=name, found=found))
