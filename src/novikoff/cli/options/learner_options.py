"""A learner's settings as command-line options: types and defaults from its signature, help from its docstring."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from novikoff import learner_registry
from novikoff.base.internals import inner_learner_of, setting_defaults_of
from novikoff.cli.options.shuffle_options import RUN_SETTINGS
from novikoff.cli.output.formatter import HelpFormatter
from novikoff.errors import NovikoffError
from novikoff.meta.default_learner import DEFAULT_LEARNER, STABLE_LEARNER


def default_learner(*, chosen_from: bool) -> str:
    return STABLE_LEARNER if chosen_from else DEFAULT_LEARNER


def find_learner_name(arguments: Sequence[str], default: str | None = None) -> str:
    """The learner named in the arguments, or in the file to resume, before they are parsed: it decides which options
    there are."""
    first = argparse.ArgumentParser(
        prog="novikoff learn", add_help=False, allow_abbrev=False, formatter_class=HelpFormatter
    )
    first.add_argument("--learner")
    first.add_argument("--online-to-batch")
    first.add_argument("--resume")
    known, _ = first.parse_known_args([a for a in arguments if a not in ("-h", "--help")])
    default = default or default_learner(chosen_from=bool(known.online_to_batch))
    name: str = _read_resumed_learner(known.resume) if known.resume else known.learner or default
    return name if name in learner_registry.names() else default


def find_setting_owners(option: str) -> str:
    """Which learners have a setting that the chosen one has not, as the end of a sentence."""
    setting = option.partition("=")[0].removeprefix("--").removeprefix("no-").replace("-", "_")
    named = [name for name in learner_registry.names() if name not in learner_registry.VARIANTS]
    having = [name for name in named if setting in setting_defaults_of(learner_registry.learner_class(name))]
    return f" ({option} is a setting of {', '.join(having)}: name one with --learner)" if having else ""


def _read_resumed_learner(path: str) -> str:
    from novikoff.model_file import load_learner

    try:
        model = load_learner(path)
        return learner_registry.name_of(type(inner_learner_of(model)))
    except NovikoffError:  # to be said when the file is really needed
        return DEFAULT_LEARNER


def add_settings(parser: argparse.ArgumentParser, name: str) -> None:
    """An option for each setting of the learner; not given, it stays None and the learner's own default counts."""
    learner_type = learner_registry.learner_class(name)
    hints, texts, variant = (
        get_type_hints(learner_type.__init__),
        parse_parameter_docs(learner_type),
        learner_registry.variant_settings(name),
    )
    group = parser.add_argument_group(f"settings of {name}")
    for setting, own in setting_defaults_of(learner_type).items():
        if setting in RUN_SETTINGS:
            continue  # options of the command itself
        option = f"--{setting.replace('_', '-')}"
        taken = parser._option_string_actions.get(option)
        if taken is not None and not taken.dest.startswith("setting_"):  # the command means something else by it
            option = f"--learner-{option[2:]}"
        if option in parser._option_string_actions:
            continue  # another learner, for completion, had it already
        default = variant.get(setting, own)
        shown = "" if default is None else f" (default: {default})"
        options: dict[str, Any] = {"default": None, "dest": f"setting_{setting}", "help": texts[setting] + shown}
        hint = hints[setting]
        words, numeric = _split_alternatives(hint)
        if get_origin(hint) is tuple:
            options |= {"type": _parse_integers, "metavar": "N,N,…"}
        elif hint is bool:
            options["action"] = argparse.BooleanOptionalAction
        elif words and not numeric:
            options["choices"] = words
        elif words:
            options |= {"type": _number_or_word_parser(words), "metavar": f"NUMBER|{'|'.join(words)}"}
        elif str in get_args(hint):
            options |= {"metavar": setting.upper()}
        else:
            is_whole = int in (hint, *get_args(hint))
            options |= {"type": int if is_whole else float, "metavar": "N" if is_whole else "NUMBER"}
        group.add_argument(option, **options)


def _parse_integers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


_parse_integers.__name__ = "list of whole numbers"  # what argparse calls it in its message


def _split_alternatives(hint: Any) -> tuple[tuple[str, ...], bool]:
    """The words that a setting may be, and whether it may be a number."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    words = tuple(word for part in parts if get_origin(part) is Literal for word in get_args(part))
    return words, any(part in (int, float) for part in parts)


def _number_or_word_parser(words: tuple[str, ...]) -> Callable[[str], float | str]:
    def parse(text: str) -> float | str:
        return text if text in words else float(text)

    parse.__name__ = "number"  # what argparse calls it in its message
    return parse


def given_settings(options: argparse.Namespace) -> dict[str, Any]:
    """The settings that the user gave."""
    prefix = "setting_"
    return {k.removeprefix(prefix): v for k, v in vars(options).items() if k.startswith(prefix) and v is not None}


def parse_parameter_docs(learner_type: type) -> dict[str, str]:
    """The texts of the docstring's Parameters, by name."""
    _, _, section = (learner_type.__doc__ or "").partition("Parameters\n    ----------\n")
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
