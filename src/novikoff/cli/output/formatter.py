"""How help is laid out."""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import sys


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """As wide as the terminal is. One is made for each option, and only for that argparse would import `shutil`."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_terminal_columns() - 2)


@functools.cache
def _terminal_columns() -> int:
    try:
        columns = int(os.environ.get("COLUMNS", "0"))
    except ValueError:
        columns = 0
    with contextlib.suppress(OSError, ValueError, AttributeError):
        columns = columns if columns > 0 else os.get_terminal_size(sys.__stdout__.fileno()).columns  # type: ignore[union-attr]
    return columns if columns > 0 else 80
