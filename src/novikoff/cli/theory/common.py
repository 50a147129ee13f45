"""Shared by all topics: adding a topic, naming a hypothesis class, printing an answer."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from novikoff.errors import InputError
from novikoff.theory import class_size as sizes
from novikoff.theory.class_size import ClassSize
from novikoff.theory.hypothesis_classes import CLASSES
from novikoff.theory.vc_dimension import DIMENSIONS, dimension

AnswerFunction = Callable[[argparse.Namespace], int]


def add_topic(topics: Any, name: str, about: str, answer: AnswerFunction, examples: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = topics.add_parser(
        name,
        help=about,
        allow_abbrev=False,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"examples:\n{examples}",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="accepted for consistency: only the answer is printed anyway"
    )
    parser.set_defaults(answer=answer)
    return parser


def print_answer(options: argparse.Namespace, text: object, about: dict[str, Any]) -> None:
    print(json.dumps(about, ensure_ascii=False) if options.json else text)


def add_finite_class_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--class", dest="named", choices=tuple(CLASSES), metavar="NAME", help=f"the class: {', '.join(CLASSES)}"
    )
    parser.add_argument("--variables", metavar="N", type=int, help="number of Boolean variables of the class")
    parser.add_argument("--k", metavar="K", type=int, help="k of the class, where its name has one")
    parser.add_argument(
        "--hypotheses",
        metavar="H",
        type=parse_class_size,
        help="size of the class, such as 59049 or 3^10, instead of --class",
    )


def add_dimension_options(parser: argparse.ArgumentParser) -> None:
    names = [*DIMENSIONS, *(name for name in CLASSES if name not in DIMENSIONS)]
    parser.add_argument("--class", dest="named", choices=names, metavar="NAME", help=f"the class: {', '.join(names)}")
    parser.add_argument("--variables", metavar="N", type=int, help="number of variables or dimensions of the class")
    parser.add_argument("--k", metavar="K", type=int, help="k of the class, where its name has one")
    parser.add_argument("--dimension", metavar="D", type=int, help="VC dimension of the class, instead of --class")


def parse_class_size(text: str) -> ClassSize:
    """Parse a size such as 59049 or 3^10."""
    base, caret, exponent = text.replace(",", "").replace("**", "^").partition("^")
    try:
        return sizes.power_size(int(base), int(exponent)) if caret else sizes.to_class_size(int(base))
    except InputError as problem:  # argparse would hide the message of a ValueError
        raise argparse.ArgumentTypeError(str(problem)) from None


parse_class_size.__name__ = "whole number or power"  # argparse shows it in its message


def read_class_size(options: argparse.Namespace) -> ClassSize:
    """Return |H| of the named class, or the given size."""
    if (options.named is None) == (options.hypotheses is None):
        raise InputError("Name the class once: by --class with --variables, or by --hypotheses.")
    if options.named is None:
        given: ClassSize = options.hypotheses
        return given
    return _compute_class_size(options)


def read_dimension(options: argparse.Namespace, *, at_most: bool) -> int:
    """Return the VC dimension of the named class, or the given one; where only the size is known, log₂ of it if an
    upper bound is enough."""
    if (options.named is None) == (options.dimension is None):
        raise InputError("Name the class once: by --class with --variables, or by --dimension.")
    if options.named is None:
        return int(options.dimension)
    known = DIMENSIONS.get(options.named)
    if known is not None:
        if known.times and options.variables is None:
            raise InputError(f"{options.named} needs --variables, the number of dimensions.")
        return dimension(options.named, options.variables if known.times else 1)
    if not at_most:
        raise InputError(f"The VC dimension of {options.named} is unknown: give it by --dimension.")
    return int(_compute_class_size(options).log2)


def _compute_class_size(options: argparse.Namespace) -> ClassSize:
    named = CLASSES[options.named]
    if options.variables is None or (named.takes_k and options.k is None):
        raise InputError(f"{options.named} needs --variables{' and --k' if named.takes_k else ''}.")
    more = {"k": options.k} if named.takes_k else {}
    return named.size(variables=options.variables, **more)
