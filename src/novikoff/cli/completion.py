"""Prints a completion script for your shell."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from novikoff.errors import import_optional

EPILOG = """\
examples:
  novikoff completion bash > ~/.local/share/bash-completion/completions/novikoff
  novikoff completion zsh > "${fpath[1]}/_novikoff"
"""


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell")


def run(options: argparse.Namespace) -> int:
    from novikoff.cli.main import build_parser

    shtab = import_optional("shtab", "completion", "Shell completion")
    print(shtab.complete(build_parser(), shell=options.shell))
    return 0
