"""What a format is: it settles how a file is to be read, and makes parsers, each with arrays of its own to fill."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from novikoff._compiled import buffers
from novikoff._compiled.buffers import uint64
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data.labels.binary_labels import to_plain_label
from novikoff.data.rows import Rows
from novikoff.data.text_source import BLOCK_BYTES, MAX_EXCERPT_BYTES, TextBlock, TextSource, find_last_line_end
from novikoff.errors import InputError
from novikoff.schema import check_fields

LARGEST_VALUE = 1e15  # sums of squares stay within float32
LARGEST_LABEL = 2.0**53 - 1  # larger whole numbers are not exact in double precision
NO_LABEL_KEY = uint64(0x7FF8 << 48)  # the bits of NaN

MISSING_INDICATOR = b"\x01missing"
"""What is hashed under a column's or field's name, for the feature that stands for its missing values."""


class TextSpan(Protocol):
    """Text in memory, or in a file, by places in it."""

    def spelled(self, start: int, stop: int) -> str: ...


class BadLine(NamedTuple):
    """A line that was not understood: its number within the block (from 0), the kind of reason, and the sentence."""

    line: int
    reason: str
    sentence: str


class ParsedBlock(NamedTuple):
    """The examples of one block. The arrays belong to the parser, which fills them again with its next block."""

    rows: Rows
    keys: NDArray[np.uint64]
    """A number for the label of each row: the same for the same label."""
    label: Callable[[int], Any]
    """The label of row i itself; None where there is none."""
    weights: NDArray[np.float64]
    """One per row, or none at all (all 1)."""
    line_of: NDArray[np.int64]
    """The line of each row, from 0, within the block."""
    lines: int
    """How many lines the block has."""
    features: int
    """One more than the largest column number here; the width of a table; 2^bits where names are hashed."""
    problems: list[BadLine]
    hashes: NDArray[np.uint64]
    """Of each term's name, where names are wanted."""
    spans: NDArray[np.int64]
    """Where those names stand: see `Format.name`."""
    sets: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None
    """All labels, where an example may have several: row i has values[starts[i]:starts[i + 1]]."""
    numbers: NDArray[np.float64] | None = None
    """The labels, where all are numbers; NaN for one that is not there."""
    groups: NDArray[np.int64] | None = None
    """The `qid` of each row, -1 for none, where the format has them."""


class Parser(ABC):
    """Made for one thread."""

    used: NDArray[np.uint64] = buffers.zeros(0, "uint64")
    """A bit for each slot of hashed features that was ever used."""
    piece: Any = None
    """What is to be read next (see `Format.pieces`); None where the text is in the block."""

    @abstractmethod
    def parse(self, block: TextBlock) -> ParsedBlock:
        """The examples of a block."""


@dataclass(frozen=True)
class Format(ABC):
    """A format with all settled that must be the same for all data of a model: its fields go to the model file."""

    name: ClassVar[str]
    options: ClassVar[tuple[str, ...]] = ()
    """Which options on how to read mean something for it."""
    is_text: ClassVar[bool] = True
    default_block_bytes: ClassVar[int] = BLOCK_BYTES
    """How much text to parse at once: enough that what is done once for each block costs little."""
    counts_classes: ClassVar[bool] = False
    """Whether `doubts` warns of many classes: otherwise the labels of the first examples are counted."""
    pipe_wait_seconds: ClassVar[float] = 0.0
    """For how many seconds a pause of a pipe is waited out, to see more of what comes first than is `enough`."""

    @classmethod
    @abstractmethod
    def settled(cls, options: Any, head: bytes, title: str) -> Format:
        """From what the user has said and the first bytes of the first file."""

    @abstractmethod
    def parser(self, *, named: bool, unlabelled: bool = False) -> Parser:
        """A parser; `named` where the names of hashed features are to be kept, `unlabelled` where an example without a
        label is no problem."""

    def find_data_start(
        self, head: bytes, title: str, *, header: bool | None = None, same_run: bool = False
    ) -> tuple[int, int]:
        """How many bytes and lines to leave out at the beginning of a file; raises InputError where it does not fit.

        `header` is what the user has said of a line of names. `same_run`: the format was settled by another file of
        the same run, and not by a model."""
        return 0, 0

    @classmethod
    def enough(cls, head: bytes) -> bool:
        """Whether the first bytes of a pipe tell enough to settle how it is to be read: if not, more is waited for."""
        return True

    def pieces(self, feed: TextSource, size: int | None) -> Iterator[Any] | None:
        """What parsers get, one after another, where they read the file by themselves: text of up to about so many
        bytes, if that was said. None where text is read for them."""
        return None

    def find_last_record_end(self, text: NDArray[np.uint8], start: int, stop: int) -> int:
        """Where the last whole record of a text ends."""
        return find_last_line_end(text, start, stop)

    def feature_name(self, block: TextBlock, span: NDArray[np.int64]) -> str:
        """The name of a feature, from the place where it stands."""
        return block.spelled(int(span[0]), int(span[1]))

    @property
    def columns(self) -> list[str] | None:
        """The names of the columns of a table."""
        return None

    @property
    def notes(self) -> list[str]:
        """What is worth knowing of the file that was opened last."""
        return []

    def describe(self) -> dict[str, Any]:
        """Return what was read: the format in words, and all columns of each kind."""
        return {"format": self.name}

    def doubts(self) -> list[str]:
        """What is doubtful about the beginning of the first file."""
        return []

    @property
    def max_block_bytes(self) -> int | None:
        """How much text to parse at once at most, where that makes much more of it."""
        return None

    @property
    def bits_used(self) -> int | None:
        """The number of bits of hashed features, 0 for a dictionary of names, None where columns have numbers."""
        return None

    def settings(self) -> dict[str, Any]:
        """For the model file: plain values, lists and dicts only."""
        return {"format": self.name, **asdict(self)}

    @classmethod
    def from_settings(cls, settings: dict[str, Any]) -> Format:
        """The inverse of `settings`. InputError where a field is not of its type."""
        check_fields(f"the encoding {cls.name}", cls, settings)
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()})


def build_number_decoder(keys: NDArray[np.uint64]) -> Callable[[int], Any]:
    """Labels that are numbers: a key is the bits of the number, NaN for no label."""

    def label(i: int) -> Any:
        value = float(keys.view("float64")[i])
        return None if math.isnan(value) else to_plain_label(value)

    return label


def format_excerpt(text: TextSpan, start: int, stop: int) -> str:
    """What came, short enough for a sentence."""
    begin = text.spelled(start, min(stop, start + MAX_EXCERPT_BYTES))
    return repr(begin + ("…" if stop - start > MAX_EXCERPT_BYTES else ""))


def check_no_bits(options: Any, name: str) -> None:
    if options.hash_bits:
        raise InputError(f"--hash-bits hashes feature names, but {name} has column numbers: leave it out.")
