"""`novikoff theory binomial | size | mistakes`: error bounds from counts, sizes of classes, mistake bounds."""

from __future__ import annotations

import argparse
import math
from fractions import Fraction
from typing import Any

from novikoff.cli.theory import common
from novikoff.errors import InputError
from novikoff.theory import binomial
from novikoff.theory.directed_rounding import decimal_above, float_above, to_fraction
from novikoff.theory.formula_text import (
    format_integer,
    format_lower_bound,
    format_number,
    format_power_of_ten,
    format_upper_bound,
)
from novikoff.theory.hypothesis_classes import CLASSES
from novikoff.theory.mistake_calculator import INTEGER_PARAMETERS, MISTAKE_BOUNDS, SYMBOLS, allowed
from novikoff.theory.samples import hoeffding
from novikoff.theory.samples.sample_size import format_confidence

MAX_JSON_DIGITS = 4000
"""Maximum digits of a size in JSON: parsers refuse longer numbers."""


def add_topics(topics: Any) -> None:
    about = "the error of one hypothesis from its mistakes on fresh examples, exactly, beside Hoeffding's bound"
    parser = common.add_topic(topics, "binomial", about, _answer_binomial, BINOMIAL_EXAMPLES)
    parser.add_argument("--mistakes", metavar="K", type=int, required=True, help="k, the number of mistakes")
    parser.add_argument("--examples", metavar="M", type=int, help="m, the number of examples")
    parser.add_argument("--epsilon", metavar="E", type=float, help="ε, the error that is claimed")
    parser.add_argument("--delta", metavar="P", type=float, help="δ, the probability to fail")
    parser = common.add_topic(topics, "size", "the number of hypotheses of a class", _answer_size, SIZE_EXAMPLES)
    common.add_finite_class_options(parser)
    parser = common.add_topic(
        topics, "mistakes", "the number of mistakes that a theorem allows", _answer_mistakes, _mistake_examples()
    )
    parser.add_argument("theorem", metavar="THEOREM", choices=tuple(MISTAKE_BOUNDS), help="see below")
    for name in dict.fromkeys(name for law in MISTAKE_BOUNDS.values() for name in law.parameters):
        value_type: Any = (
            common.parse_class_size if name == "hypotheses" else int if name in INTEGER_PARAMETERS else float
        )
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(
            option, metavar="X", type=value_type, default=argparse.SUPPRESS, dest=name, help=SYMBOLS[name]
        )


BINOMIAL_EXAMPLES = """\
  novikoff theory binomial --mistakes 3 --examples 1000 --delta 0.05
  novikoff theory binomial --mistakes 0 --epsilon 0.01 --delta 0.05
  novikoff theory binomial --mistakes 3 --examples 1000 --epsilon 0.01
"""
SIZE_EXAMPLES = """\
  novikoff theory size --class conjunctions --variables 10
  novikoff theory size --class threshold-functions --variables 9 --json
  novikoff theory size --class boolean-functions --variables 1000
"""


def _mistake_examples() -> str:
    lines = ["  novikoff theory mistakes novikoff --radius 1 --margin 0.1",
             "  novikoff theory mistakes winnow --literals 5 --features 1000",
             "  novikoff theory mistakes halving --hypotheses 3^10", "", "THEOREM, and its options:"]  # fmt: skip
    for name, law in MISTAKE_BOUNDS.items():
        flags = " ".join(f"--{parameter}" for parameter in law.parameters).replace("_", "-")
        lines.append(f"  {name:<19} {flags}")
        lines.append(f"  {'':<19} M ≤ {law.formula}")
    return "\n".join([*lines, ""])


def _answer_binomial(options: argparse.Namespace) -> int:
    k, many, epsilon, delta = options.mistakes, options.examples, options.epsilon, options.delta
    if (many, epsilon, delta).count(None) != 1:
        raise InputError("binomial needs two of --examples, --epsilon and --delta.")
    if many is None:
        needed = binomial.examples(mistakes=k, epsilon=epsilon, delta=delta)
        sentence = (
            f"{format_integer(needed)} examples with {format_integer(k)} mistakes show that the error is at most"
            f" {format_number(epsilon)}, with"
            f" probability at least {format_confidence(delta)}."
        )
        about = {"asked": "examples", "value": needed}
    elif delta is None:
        found = binomial.failure(mistakes=k, examples=many, epsilon=epsilon)
        sentence = (
            f"With an error of {format_number(epsilon)} or more, {format_integer(k)} mistakes or fewer in"
            f" {format_integer(many)} examples have a"
            f" probability of at most {format_upper_bound(found)}."
        )
        about = {"asked": "failure", "value": found}
    else:
        return _answer_interval(options, k, many, delta)
    lines = (sentence, f"formula     {BINOMIAL_FORMULA}", f"source      {BINOMIAL_SOURCE}")
    common.print_answer(
        options, "\n".join(lines), {"law": "binomial", **about, "sentence": sentence, "formula": BINOMIAL_FORMULA}
    )
    return 0


BINOMIAL_FORMULA = "δ = Σ_{i≤k} C(m, i)·ε^i·(1 − ε)^(m − i)"
BINOMIAL_SOURCE = "Clopper and Pearson 1934"


def _answer_interval(options: argparse.Namespace, k: int, many: int, delta: float) -> int:
    high = binomial.upper(mistakes=k, examples=many, delta=delta)
    low = binomial.lower(mistakes=k, examples=many, delta=delta)
    gap = hoeffding.error(examples=many, delta=delta)
    rough = min(1.0, float_above(decimal_above(Fraction(k, many) + to_fraction(gap))))
    sentence = (
        f"{format_integer(k)} mistakes in {format_integer(many)} examples: the error is at most"
        f" {format_upper_bound(high)}, with probability at"
        f" least {format_confidence(delta)}; and at least {format_lower_bound(low)}, with the same."
    )
    lines = (
        sentence,
        f"formula     {BINOMIAL_FORMULA}, solved for ε",
        f"hoeffding   at most {format_upper_bound(rough)}: k/m + √(ln(1/δ)/(2·m))",
        "assumes     the examples are drawn independently, and the hypothesis does not depend on them",
        f"source      {BINOMIAL_SOURCE}",
    )
    about = {"law": "binomial", "asked": "error", "value": high, "lower": low, "hoeffding": rough}
    common.print_answer(options, "\n".join(lines), {**about, "sentence": sentence, "formula": BINOMIAL_FORMULA})
    return 0


def _answer_size(options: argparse.Namespace) -> int:
    size = common.read_class_size(options)
    name = CLASSES[options.named].about if options.named else "the class"
    least = "at most " if size.bound else ""
    written = size.exact is not None and size.exact.bit_length() < 200
    number = f"{size.exact:,}" if written else format_log10_power(size.log10)
    equal = "" if number == size.formula else f"{size.formula} = " if written else f"{size.formula}, about "
    sentence = f"{name[0].upper()}{name[1:]}: {least}{equal}{number} hypotheses."
    lines = (
        sentence,
        f"log₂|H|     {format_logarithm(size.log2)}   (the VC dimension is not larger)",
        f"ln|H|       {format_logarithm(size.ln)}   (rounded up)",
    )
    exactly = size.exact if size.exact is not None and size.log10 < MAX_JSON_DIGITS else None
    logs = {key: _json_number(value) for key, value in (("log2", size.log2), ("ln", size.ln))}
    about = {"class": options.named, "formula": size.formula, "bound": size.bound, "size": exactly, **logs}
    common.print_answer(options, "\n".join(lines), {**about, "sentence": sentence})
    return 0


def format_log10_power(log10: Any) -> str:
    """Format 10^x as digits and an exponent; only as a power where the exponent is long."""
    if log10.adjusted() > 14:
        return f"10^({format_power_of_ten(log10)})"
    head = int(log10)
    return f"{float(10 ** (log10 - head)):.4g}·10^{head:,}"


def format_logarithm(value: Any) -> str:
    """Format a logarithm, rounded up."""
    if value < 10**6:
        return format_upper_bound(float_above(value))
    return format_integer(math.ceil(value)) if value.adjusted() < 15 else format_power_of_ten(value)


def _json_number(value: Any) -> float | int | str:
    """Return a float where its range suffices, else a text of the known digits."""
    return float_above(value) if value.adjusted() < 300 else str(value)


def _answer_mistakes(options: argparse.Namespace) -> int:
    every = {name for law in MISTAKE_BOUNDS.values() for name in law.parameters}
    found = allowed(options.theorem, **{name: value for name, value in vars(options).items() if name in every})
    common.print_answer(options, found, found.as_dict())
    return 0
