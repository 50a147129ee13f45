"""Base classes of file formats and parsers, the options of readers, and what a parser returns."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from novikoff._compiled import buffers
from novikoff._compiled.buffers import uint64
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data.labels.binary_labels import MAX_LABEL_NUMBER, to_plain_label
from novikoff.data.names.hashing import MAX_HASH_BITS
from novikoff.data.rows import Rows
from novikoff.data.text_source import BLOCK_BYTES, MAX_EXCERPT_BYTES, TextBlock, TextSource, find_last_line_end
from novikoff.errors import InputError
from novikoff.schema import check_fields

LARGEST_VALUE = 1e15  # sums of squares stay within float32
LARGEST_LABEL = float(MAX_LABEL_NUMBER)
LARGE_LABEL_MESSAGE = (
    "labels must be numbers of size up to 1e15, got {}."
    " Renumber the labels, or use --bad-lines skip to leave out such lines."
)
NO_LABEL_KEY = uint64(0x7FF8 << 48)  # the bits of NaN

MISSING_INDICATOR = b"\x01missing"
"""Hashed under the name of a column or field: the feature for its missing values."""


MISSING_VALUES = ("absent", "indicator", "error")
"""Treatment of missing values: no feature; a feature of its own; an error."""
COLLISIONS = ("sum", "max")
"""Treatment of features that share a slot."""
FORMAT_OPTIONS = (
    "label", "text", "ignore", "columns", "categorical", "numeric", "weight", "missing", "delimiter", "quote",
    "signed_hash", "collisions", "multilabel", "interactions", "word_ngrams", "char_ngrams", "term_weighting",
)  # fmt: skip
"""Options that apply to some formats only."""


@dataclass
class ReadOptions:
    """Options of readers; None where the format decides."""

    format: str | None = None
    label: str | None = None
    text: str | None = None
    ignore: tuple[str, ...] = ()
    """Columns of a table to ignore, by name or by number from 1; likewise below."""
    columns: tuple[str, ...] = ()
    """The only columns of a table that are features, where any are named."""
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    weight: str | None = None
    """The column of a table with the weights of its rows."""
    missing: str = "absent"
    delimiter: str | None = None
    quote: str | None = None
    header: bool | None = None
    encoding: str | None = None
    """The encoding of text that is not UTF-8."""
    hash_bits: int | None = None
    signed_hash: bool = False
    collisions: str = "sum"
    """What to keep of features that share a slot, or occur twice: sum or max."""
    multilabel: bool = False
    interactions: tuple[str, ...] = ()
    word_ngrams: int | None = None
    char_ngrams: int | None = None
    lowercase: bool = True
    term_weighting: str | None = None
    bad_lines: str = "error"
    threads: int | None = None
    block: int | None = None
    """Bytes of text that are parsed at once; None for the default of the format."""
    unlabelled: bool = False
    """Whether examples may lack a label."""
    cache: bool = False
    prefer_largest: bool = False
    """Whether to use `collisions="max"` where the format has slots."""
    keep_names: int = 0
    """Limit in MB for the kept names of hashed features."""
    hashes_names: bool = False
    """Whether names are hashed even where a dictionary would suffice: shards must agree on columns."""
    feature_map: str | None = None
    """The feature map, such as poly:2: see `data/feature_maps`."""
    feature_map_bits: int | None = None
    """Bits into which the map hashes products; None for as many as the features, or for a column per product."""


class TextSpan(Protocol):
    """Text in memory or in a file, decoded by position."""

    def decode(self, start: int, stop: int) -> str: ...


class BadLine(NamedTuple):
    """A line that could not be parsed: its number in the block (from 0), the kind of error, and the message."""

    line: int
    reason: str
    sentence: str


class ParsedBlock(NamedTuple):
    """The examples of a block. The arrays belong to the parser, which overwrites them with its next block."""

    rows: Rows
    keys: NDArray[np.uint64]
    """A key for the label of each row: equal labels have equal keys."""
    label: Callable[[int], Any]
    """Returns the label of row i; None for a missing label."""
    weights: NDArray[np.float64]
    """One per row; empty where all weights are 1."""
    line_of: NDArray[np.int64]
    """The line number of each row in the block, from 0."""
    lines: int
    """Number of lines in the block."""
    features: int
    """One more than the largest column number; the width of a table; 2^bits for hashed features."""
    problems: list[BadLine]
    hashes: NDArray[np.uint64]
    """The hash of each term's name, where names are wanted."""
    spans: NDArray[np.int64]
    """Where those names stand in the text: see `Format.feature_name`."""
    sets: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None
    """Label sets, for formats with several labels per example: row i has values[starts[i]:starts[i + 1]]."""
    numbers: NDArray[np.float64] | None = None
    """The labels, where all are numbers; NaN for a missing label."""
    groups: NDArray[np.int64] | None = None
    """The `qid` of each row, -1 for none; None where the format has no queries."""


class Parser(ABC):
    """Parser with its own buffers. Each thread needs one."""

    used: NDArray[np.uint64] = buffers.zeros(0, "uint64")
    """A bit for each slot of hashed features that was used so far."""
    piece: Any = None
    """The next piece of the file (see `Format.pieces`); None where the text is in the block."""

    @abstractmethod
    def parse(self, block: TextBlock) -> ParsedBlock:
        """Parse the examples of a block."""


@dataclass(frozen=True)
class Format(ABC):
    """A file format with all settings that the data of one model shares. Its fields are stored in the model file."""

    name: ClassVar[str]
    options: ClassVar[tuple[str, ...]] = ()
    """Names of the read options that apply to this format."""
    is_text: ClassVar[bool] = True
    default_block_bytes: ClassVar[int] = BLOCK_BYTES
    """Default amount of text per block: enough to amortise the cost per block."""
    counts_classes: ClassVar[bool] = False
    """Whether `doubts` warns of many classes; otherwise the reader counts the labels of the first examples."""
    pipe_wait_seconds: ClassVar[float] = 0.0
    """How long to wait for more of a pipe after `enough`, to sniff the format from a larger sample."""

    @classmethod
    @abstractmethod
    def from_options(cls, options: ReadOptions, head: bytes, title: str) -> Format:
        """Build the format from the options and the first bytes of the first file."""

    @abstractmethod
    def parser(self, *, named: bool, unlabelled: bool = False) -> Parser:
        """Build a parser. `named` keeps the names of hashed features; `unlabelled` accepts examples without a label."""

    def find_data_start(
        self, head: bytes, title: str, *, header: bool | None = None, same_run: bool = False
    ) -> tuple[int, int]:
        """Return how many bytes and lines to skip at the beginning of a file; raise InputError where it doesn't fit.

        `header` is the option that says whether there is a header line. `same_run`: the format comes from another file
        of this run, not from a model.
        """
        return 0, 0

    @classmethod
    def is_sufficient(cls, head: bytes) -> bool:
        """Return whether the first bytes of a pipe suffice to sniff its format; otherwise the reader waits for more."""
        return True

    def pieces(self, feed: TextSource, size: int | None) -> Iterator[Any] | None:
        """Yield pieces of about `size` bytes that parsers read by themselves; None where the reader fills blocks."""
        return None

    def find_last_record_end(self, text: NDArray[np.uint8], start: int, stop: int) -> int:
        """Return the end of the last whole record of a text."""
        return find_last_line_end(text, start, stop)

    def feature_name(self, block: TextBlock, span: NDArray[np.int64]) -> str:
        """Return the name of a feature from its position in the text."""
        return block.decode(int(span[0]), int(span[1]))

    @property
    def columns(self) -> list[str] | None:
        """The column names of a table; None for other formats."""
        return None

    @property
    def notes(self) -> list[str]:
        """Notes for the user on the file that was opened last."""
        return []

    def describe(self) -> dict[str, Any]:
        """Return what was detected: the format in words, and the columns of each kind."""
        return {"format": self.name}

    def find_doubts(self) -> list[str]:
        """Return warnings about the beginning of the first file."""
        return []

    @property
    def max_block_bytes(self) -> int | None:
        """Upper limit of the block size, for formats that make many features from little text."""
        return None

    @property
    def bits_used(self) -> int | None:
        """The number of bits of hashed features, 0 for a dictionary of names, None for numbered columns."""
        return None

    def settings(self) -> dict[str, Any]:
        """Return the fields for the model file: plain values, lists and dicts only."""
        return {"format": self.name, **asdict(self)}

    @classmethod
    def from_settings(cls, settings: dict[str, Any]) -> Format:
        """Build a format from its `settings`; raise InputError where a field has the wrong type."""
        check_fields(f"the encoding {cls.name}", cls, settings)
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()})


def build_number_decoder(keys: NDArray[np.uint64]) -> Callable[[int], Any]:
    """Return a decoder for labels that are numbers: a key is the bits of the number, NaN for a missing label."""

    def label(i: int) -> Any:
        value = float(keys.view("float64")[i])
        return None if math.isnan(value) else to_plain_label(value)

    return label


def format_excerpt(text: TextSpan, start: int, stop: int) -> str:
    """Return the beginning of a piece of text, quoted, for an error message."""
    begin = text.decode(start, min(stop, start + MAX_EXCERPT_BYTES))
    return repr(begin + ("…" if stop - start > MAX_EXCERPT_BYTES else ""))


def check_no_bits(options: ReadOptions, name: str) -> None:
    if options.hash_bits:
        raise InputError(f"--hash-bits hashes feature names, but {name} has column numbers: leave it out.")


def check_options(options: ReadOptions) -> ReadOptions:
    """Return the options; raise InputError for invalid values."""
    if options.hash_bits is not None and not 0 <= options.hash_bits <= MAX_HASH_BITS:
        raise InputError(f"hash_bits must be from 0 to {MAX_HASH_BITS}, but is {options.hash_bits}.")
    for name, least in (("threads", 1), ("word_ngrams", 1), ("char_ngrams", 1), ("block", 1), ("keep_names", 0)):
        number = getattr(options, name)
        if number is not None and number < least:
            raise InputError(f"{name} must be at least {least}, but is {number}.")
    if options.feature_map is not None:
        from novikoff.data.feature_maps import MapSpec

        MapSpec.parse(options.feature_map, options.feature_map_bits)
    elif options.feature_map_bits is not None:
        raise InputError("--feature-map-bits is for the products of a --feature-map: leave it out.")
    if options.collisions not in COLLISIONS:
        raise InputError(f"collisions must be one of {', '.join(COLLISIONS)}, but is {options.collisions!r}.")
    if options.missing not in MISSING_VALUES:
        raise InputError(f"missing must be one of {', '.join(MISSING_VALUES)}, but is {options.missing!r}.")
    if options.quote not in (None, '"', "none"):
        raise InputError(f'quote must be " or none, but is {options.quote!r}.')
    if options.bad_lines not in ("error", "skip"):
        raise InputError(f"bad_lines must be error or skip, but is {options.bad_lines!r}.")
    return options


def check_roles(roles: Mapping[str, Iterable[str]], title: str, what: str = "column") -> None:
    """Raise InputError where a column is named by two options; `roles` are the names by option."""
    found: dict[str, str] = {}
    for option, names in roles.items():
        for name in names:
            if found.setdefault(name, option) != option:
                raise InputError(f"{title}: {what} {name!r} can't be {found[name]} and {option}: choose one of them.")


def check_options_apply(options: ReadOptions, kind: type[Format], name: str) -> None:
    """Raise InputError for options that have no effect on a format."""
    for option in FORMAT_OPTIONS:
        if getattr(options, option) not in (None, False, (), "absent", "sum") and option not in kind.options:
            raise InputError(f"--{option.replace('_', '-')} has no meaning for {name}: leave it out.")
