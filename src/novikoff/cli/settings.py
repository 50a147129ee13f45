"""A learner's settings as command-line options: types and defaults from its signature, help from its docstring."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, Literal, get_args, get_origin, get_type_hints

from novikoff import learners
from novikoff.errors import NovikoffError

DEFAULT_LEARNER = "perceptron"


def chosen_learner(arguments: Sequence[str]) -> str:
    """The learner named in the arguments, or in the file to resume, before they are parsed: it decides which options
    there are."""
    first = argparse.ArgumentParser(prog="novikoff learn", add_help=False, allow_abbrev=False)
    first.add_argument("--learner", default=DEFAULT_LEARNER)
    first.add_argument("--resume")
    known, _ = first.parse_known_args([a for a in arguments if a not in ("-h", "--help")])
    name: str = _resumed_learner(known.resume) if known.resume else known.learner
    return name if name in learners.names() else DEFAULT_LEARNER


def _resumed_learner(path: str) -> str:
    from novikoff.store import load

    try:
        return learners.name_of(type(load(path)))
    except NovikoffError:  # to be said when the file is really needed
        return DEFAULT_LEARNER


def add_settings(parser: argparse.ArgumentParser, name: str) -> None:
    """An option for each setting of the learner; not given, it stays None and the learner's own default counts."""
    kind = learners.learner_class(name)
    hints, texts = get_type_hints(kind.__init__), described(kind)
    group = parser.add_argument_group(f"settings of {name}")
    for setting, parameter in kind.settings().items():
        if f"--{setting.replace('_', '-')}" in parser._option_string_actions:
            continue  # another learner, for completion, had it already
        shown = "" if parameter.default is None else f" (default: {parameter.default})"
        options: dict[str, Any] = {"default": None, "dest": f"setting_{setting}", "help": texts[setting] + shown}
        hint = hints[setting]
        if hint is bool:
            options["action"] = argparse.BooleanOptionalAction
        elif get_origin(hint) is Literal:
            options["choices"] = get_args(hint)
        else:
            options |= {"type": int if hint is int else float, "metavar": "N" if hint is int else "NUMBER"}
        group.add_argument(f"--{setting.replace('_', '-')}", **options)


def given(options: argparse.Namespace) -> dict[str, Any]:
    """The settings that the user gave."""
    prefix = "setting_"
    return {k.removeprefix(prefix): v for k, v in vars(options).items() if k.startswith(prefix) and v is not None}


def described(kind: type) -> dict[str, str]:
    """The texts of the docstring's Parameters, by name."""
    _, _, section = (kind.__doc__ or "").partition("Parameters\n    ----------\n")
    section = section.partition("\n\n    Examples")[0]
    texts: dict[str, str] = {}
    name = ""
    for line in section.splitlines():
        if line.startswith("        "):
            texts[name] = f"{texts[name]} {line.strip()}".strip()
        elif " : " in line:
            name = line.split(" : ")[0].strip()
            texts[name] = ""
    return texts
