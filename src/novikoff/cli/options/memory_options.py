"""The option --max-model-memory: how much memory a model may take."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable

from novikoff.errors import InputError
from novikoff.memory_limit import COMMAND_LINE_OPTION, limit_memory, parse_size

DEFAULT_LIMIT_TEXT = "half of the machine's or the control group's"


def add_max_model_memory(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        COMMAND_LINE_OPTION,
        metavar="SIZE",
        help=f"memory that a model may take, such as 512M or 2G (default: {default})",
    )


def within_model_memory(run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Wrap the function of a command so that models in it are within the limit that was asked for."""

    @functools.wraps(run)
    def limited(options: argparse.Namespace) -> int:
        with limit_memory(max_model_memory(options)):
            return run(options)

    return limited


def max_model_memory(options: argparse.Namespace) -> int | None:
    """Return the bytes that were asked for; None for the default."""
    if options.max_model_memory is None:
        return None
    try:
        return parse_size(options.max_model_memory)
    except InputError as problem:
        raise InputError(f"{COMMAND_LINE_OPTION}: {problem}") from None
