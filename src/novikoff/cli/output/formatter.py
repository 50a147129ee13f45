"""The parser of commands: help as wide as the terminal, errors in one line, suggestions for mistyped words."""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from novikoff.errors import suggest


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """As wide as the terminal. argparse creates one per option, and would import `shutil` to find the width."""

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


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors are one line and a reference to --help."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **{"formatter_class": HelpFormatter, **more})
        self.common_options: tuple[str, ...] = ()
        """The options in --help; all of them if empty."""
        self.help_groups: tuple[str, ...] = ()
        """Titles of the groups that --help shows below the common options."""

    def limit_help(self, common_options: Sequence[str], groups: Sequence[str] = ()) -> None:
        """Show these options, in this order, and these groups in --help; show all options in --help-all."""
        self.add_argument("--help-all", action=_HelpAllAction, help="show all options, and exit")
        self.common_options = ("--help", *common_options, "--help-all")
        self.help_groups = tuple(groups)

    def format_help(self) -> str:
        if not self.common_options:
            return super().format_help()
        formatter = self._get_formatter()
        operands = self._get_positional_actions()
        formatter.add_usage("%(prog)s [options] " + " ".join(f"{one.metavar} …" for one in operands), [], [])
        formatter.add_text(self.description)
        common = [self._option_string_actions[n] for n in self.common_options if n in self._option_string_actions]
        shown = [
            (group.title, group._group_actions) for group in self._action_groups if group.title in self.help_groups
        ]
        for title, actions in [("common options", [*operands, *common]), *shown]:
            formatter.start_section(title)
            formatter.add_arguments(actions)
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\nsee {self.prog} --help\n")

    def refuse_unknown(self, unknown: Sequence[str], hint: str = "") -> NoReturn:
        """Exit because of unknown arguments. Without a hint, suggest the option that the first of them resembles."""
        options = [name for name in self._option_string_actions if name.startswith("--")]
        hint = hint or suggest(unknown[0].partition("=")[0], options)
        self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")


class _HelpAllAction(argparse.Action):
    """Prints the help with all options."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "nargs": 0, "default": argparse.SUPPRESS})

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        if isinstance(parser, CommandParser):
            parser.common_options = ()
        parser.print_help()
        parser.exit()
