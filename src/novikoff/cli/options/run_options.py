"""Options of a run: --shuffle, --random-state and --max-model-memory."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from novikoff.cli import signals
from novikoff.cli.options.data_options import is_stream
from novikoff.data.shuffle.permutation import MAX_SEED
from novikoff.errors import InputError
from novikoff.memory_limit import COMMAND_LINE_OPTION, parse_size

if TYPE_CHECKING:
    from novikoff.data.labels.label_order import LabelOrder
    from novikoff.data.reader import DataReader
    from novikoff.data.shuffle.external import Shuffler

SECONDS_BETWEEN_LINES = 5.0
RUN_SETTINGS = ("random_state", "shuffle")
"""Settings of learners that are options of the command itself."""
DEFAULT_LIMIT_TEXT = "half of the memory of the machine or control group"


def add_shuffle(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--shuffle",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="learn the examples in a new random order in each pass; files are shuffled in temporary files"
        " (default: built-in data sets only)",
    )
    add_random_state(parser, "--shuffle, ensembles, --online-to-batch, initial weights of networks")


def add_random_state(parser: argparse.ArgumentParser, of_what: str) -> None:
    parser.add_argument(
        "--random-state",
        metavar="N",
        type=parse_random_state,
        help=f"seed of all random numbers: {of_what} (default: 0)",
    )


def parse_random_state(text: str) -> int:
    """Parse a seed."""
    if not (text.isdecimal() and int(text) <= MAX_SEED):
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to 2^63 - 1, not {text}")
    return int(text)


def check_shuffle(options: argparse.Namespace) -> None:
    """Raise InputError for data that can't be shuffled."""
    streams = [title for title in options.data if is_stream(title)]
    if streams:
        name = "standard input" if streams[0] == "-" else streams[0]
        raise InputError(
            f"{name}: --shuffle needs a file: every pass reads all examples before it learns the first one, and a"
            " pipe can be read once only. Write the data to a file first, or leave out --shuffle."
        )


def describe_sorted_labels(order: LabelOrder, options: argparse.Namespace) -> str:
    """Return the warning that equal labels follow each other in long runs, which makes results doubtful."""
    first, *others = ("standard input" if title == "-" else title for title in options.data)
    subject = f"{first} with {len(others)} more" if others else first
    streams = any(is_stream(title) for title in options.data)
    advice = "Shuffle the lines first, for example with shuf." if streams else "Use --shuffle."
    return f"{order.describe(subject)} {advice}"


def shuffle_reading(reading: DataReader, options: argparse.Namespace, *, ranking: bool) -> None:
    """Let a reader return its examples in random order. `ranking` says that the learner ranks queries."""
    from novikoff.data.shuffle.external import Shuffler

    watcher = None if options.quiet else ShuffleProgressLine()
    reading.shuffler = Shuffler(options.random_state or 0, queries=not ranking, watcher=watcher)


def describe_shuffle(used: Shuffler) -> dict[str, Any]:
    """Return the summary of a shuffled run."""
    return {"random_state": used.seed, "rows": used.rows, "temporary_bytes": used.temporary_bytes}


def summary_line(about: dict[str, Any]) -> str:
    """Return the text for the result of `describe_shuffle`."""
    size = about["temporary_bytes"]
    return f"random state {about['random_state']}" + (f", {format_megabytes(size)} of temporary files" if size else "")


def format_megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB" if size >= 10_000_000 else f"{size / 1e6:.1f} MB"


class ShuffleProgressLine:
    """Prints lines on stderr while a file is partitioned, before the first example is learned."""

    def __init__(self) -> None:
        self.shown = time.monotonic()

    def announce(self, titles: list[str], expected: int | None, folder: str) -> None:
        name = titles[0] if len(titles) == 1 else f"{len(titles)} files"
        size = "the size of the unpacked data" if expected is None else f"about {format_megabytes(expected)}"
        print(f"Shuffling {name}: {size} of temporary files in {folder}", file=sys.stderr)

    def on_partitioned(self, rows: int, share: float | None) -> None:
        signals.raise_if_interrupted()
        if time.monotonic() - self.shown < SECONDS_BETWEEN_LINES:
            return
        self.shown = time.monotonic()
        done = "" if share is None else f" ({share:.0%})"
        print(f"Shuffling: {rows:,} examples read{done}", file=sys.stderr)


def add_max_model_memory(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        COMMAND_LINE_OPTION, metavar="SIZE", help=f"maximum memory of a model, such as 512M or 2G (default: {default})"
    )


def max_model_memory(options: argparse.Namespace) -> int:
    """Return the given limit in bytes."""
    try:
        return parse_size(options.max_model_memory)
    except InputError as problem:
        raise InputError(f"{COMMAND_LINE_OPTION}: {problem}") from None
