"""Options of a run: --shuffle, --random-state and --max-model-memory."""

from __future__ import annotations

import argparse
import functools
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from novikoff.cli import signals
from novikoff.cli.options.data_options import is_stream
from novikoff.data.reader import is_builtin
from novikoff.data.shuffle.permutation import MAX_SEED
from novikoff.errors import InputError
from novikoff.memory_limit import COMMAND_LINE_OPTION, limit_memory, parse_size

if TYPE_CHECKING:
    from novikoff.data.labels.label_order import LabelOrder
    from novikoff.data.reader import DataReader

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


def resolve_shuffle(options: argparse.Namespace) -> None:
    """Decide whether the examples are shuffled; InputError for data that can't be shuffled."""
    if options.shuffle is None:
        options.shuffle = all(map(is_builtin, options.data))
    streams = [title for title in options.data if is_stream(title)]
    if options.shuffle and streams:
        name = "standard input" if streams[0] == "-" else streams[0]
        raise InputError(
            f"{name}: --shuffle needs a file: every pass reads all examples before it learns the first one, and a"
            " pipe can be read once only. Write the data to a file first, or leave out --shuffle."
        )


def order_warnings(order: LabelOrder | None, options: argparse.Namespace) -> list[str]:
    """Return a warning if equal labels follow each other in long runs, which makes results doubtful."""
    if order is None or not order.is_sorted:
        return []
    first, *others = ("standard input" if title == "-" else title for title in options.data)
    subject = f"{first} with {len(others)} more" if others else first
    streams = any(is_stream(title) for title in options.data)
    advice = "Shuffle the lines first, for example with shuf." if streams else "Use --shuffle."
    return [f"{order.describe(subject)} {advice}"]


def shuffle_reading(reading: DataReader, options: argparse.Namespace, *, ranking: bool) -> None:
    """Let a reader return its examples in random order. `ranking` says that the learner ranks queries."""
    from novikoff.data.shuffle.external import Shuffler

    watcher = None if options.quiet else ShuffleProgressLine()
    reading.shuffler = Shuffler(options.random_state or 0, queries=not ranking, watcher=watcher)


def describe_run(reading: DataReader) -> dict[str, Any]:
    """Return the summary of a shuffled run; an empty one for the original order."""
    if reading.shuffler is None:
        return {}
    used = reading.shuffler
    return {"shuffle": {"random_state": used.seed, "rows": used.rows, "temporary_bytes": used.temporary_bytes}}


def summary_line(about: dict[str, Any]) -> str:
    """Return the text for the result of `describe_run`."""
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
        COMMAND_LINE_OPTION,
        metavar="SIZE",
        help=f"maximum memory of a model, such as 512M or 2G (default: {default})",
    )


def limit_model_memory(run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Wrap the function of a command so that its models respect --max-model-memory."""

    @functools.wraps(run)
    def run_with_limit(options: argparse.Namespace) -> int:
        with limit_memory(max_model_memory(options)):
            return run(options)

    return run_with_limit


def max_model_memory(options: argparse.Namespace) -> int | None:
    """Return the limit in bytes; None for the default."""
    if options.max_model_memory is None:
        return None
    try:
        return parse_size(options.max_model_memory)
    except InputError as problem:
        raise InputError(f"{COMMAND_LINE_OPTION}: {problem}") from None
