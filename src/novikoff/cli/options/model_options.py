"""Options that choose the model: the learner's settings, --multiclass and its settings, --online-to-batch.

Options of a learner come from its class: types and defaults from the signature, help from the docstring.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from novikoff import learner_registry, model_factory
from novikoff.base.internals import inner_learner_of, scheme_info_of, setting_defaults_of
from novikoff.cli.options.run_options import RUN_SETTINGS
from novikoff.cli.output.formatter import CommandParser
from novikoff.errors import InputError, NovikoffError

SCHEME_ALIASES = {"ova": "one-vs-all", "ava": "all-vs-all", "ecoc": "output-code"}
SCHEME_CHOICES = (
    "binary",
    "kesler",
    "one-vs-all",
    "all-vs-all",
    "output-code",
    "multi-label",
    "hierarchical",
    "query-ranking",
    "online-bagging",
    "online-boosting",
    *model_factory.BATCH_SCHEMES,
    *SCHEME_ALIASES,
)
METHODS = {
    "random-stopping": "the one that predicted an example drawn at random: its mean error is M/m",
    "controlled-testing": "the first to be right (1/ε)ln(1/δ_i) times in a row, δ_i = δ/(i+2)²: error at most ε",
    "next-stretch": "the first to be right (1/ε)ln(M/δ) times in a row, M the most mistakes: error at most ε",
    "longest-survivor": "the one that was right longest: error at most 1 − δ_i^(1/S)",
    "penalised": "the one with the fewest mistakes later on, penalised: error at most M/m + 6√(ln(2(m+1)/δ)/m)",
    "average": "the average of all: nothing is guaranteed",
    "vote": "the vote of all: error at most 2(M/m + √(ln(1/δ)/(2m)))",
}
METHODS_HELP = "\n".join(f"  {name:<20}{text}" for name, text in METHODS.items())
METHOD_SETTINGS = ("epsilon", "delta", "max_mistakes", "stream_radius", "stream_margin", "max_hypotheses")
SETTING_PREFIX = "setting_"
"""Begins the attribute of a learner's setting in the parsed options."""


# --- The model that the options describe ---


def read_model_settings(options: argparse.Namespace) -> model_factory.ModelSettings:
    """Return what the options say of the model; InputError where they contradict each other."""
    scheme = get_scheme_name(options)
    online_to_batch = collect_method_settings(options)
    batch_scheme = scheme in model_factory.BATCH_SCHEMES
    for option in ("online_to_batch", "kernel_form") if batch_scheme else ():
        if getattr(options, option) is not None:
            raise InputError(f"{flag(option)} has no meaning for {options.multiclass}: leave it out.")
    if options.online_to_batch is None:
        online_to_batch.pop("delta", None)  # also an option of certificates and ensembles
        if online_to_batch:
            raise InputError(
                f"{flag(next(iter(online_to_batch)))} is for --online-to-batch METHOD: add it, or leave it out."
            )
    elif scheme not in (None, "binary"):
        raise InputError(f"--online-to-batch is for two labels: leave out --multiclass {options.multiclass}.")
    two_labels = bool(options.online_to_batch or (options.positive_label and not batch_scheme))
    return model_factory.ModelSettings(
        options.learner,
        collect_learner_settings(options),
        "binary" if two_labels else scheme,
        collect_scheme_settings(options),
        {"method": options.online_to_batch, **online_to_batch} if options.online_to_batch else None,
        run_settings(options, shuffled=True if batch_scheme else bool(options.shuffle)),
        "one-vs-all" if options.kernel_form else "kesler",  # the scheme that kernel learners use by themselves
        flag,
    )


def run_settings(options: argparse.Namespace, *, shuffled: bool) -> Mapping[str, Any]:
    """Return random_state, where it is given, and shuffle."""
    seed = {} if options.random_state is None else {"random_state": options.random_state}
    return {**seed, "shuffle": shuffled}


def flag(setting: str) -> str:
    """Return the option of a setting."""
    return f"--{setting.replace('_', '-')}"


def get_scheme_name(options: argparse.Namespace) -> str | None:
    """Return the scheme that the user has named."""
    name: str | None = options.multiclass
    return None if name is None else SCHEME_ALIASES.get(name, name)


def collect_learner_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of the learner that the user gave."""
    given = {k: v for k, v in vars(options).items() if k.startswith(SETTING_PREFIX) and v is not None}
    return {name.removeprefix(SETTING_PREFIX): value for name, value in given.items()}


def collect_scheme_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of the scheme or ensemble that the user gave."""
    return _collect_options(options, (*model_factory.CLASS_SETTINGS, *model_factory.ENSEMBLE_SETTINGS))


def collect_method_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of --online-to-batch that the user gave."""
    return _collect_options(options, METHOD_SETTINGS)


def _collect_options(options: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def find_changed_settings(model: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Return the given settings that differ from those of a model to resume."""
    inner = inner_learner_of(model)
    variant = learner_registry.variant_settings(options.learner or learner_registry.name_of(type(inner)))
    wanted = {**variant, **collect_learner_settings(options)}
    wanted.pop("passes", None)
    changed = {name: value for name, value in wanted.items() if value != getattr(inner, name, None)}
    own = setting_defaults_of(inner)
    scheme_settings = {name: value for name, value in collect_scheme_settings(options).items() if name not in own}
    method = {"method": options.online_to_batch} if options.online_to_batch is not None else {}
    for name, value in (scheme_settings | method | collect_method_settings(options)).items():
        if value != getattr(model, name, None):
            changed[name] = value
    scheme = get_scheme_name(options)
    if scheme is not None and scheme != scheme_info_of(model).get("multiclass", "binary"):
        changed["multiclass"] = scheme
    return changed


# --- Options of --multiclass and --online-to-batch ---


def add_multiclass_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("more than two classes")
    group.add_argument(
        "--multiclass",
        metavar="SCHEME",
        choices=SCHEME_CHOICES,
        help=f"how binary learners become a multiclass model, or an ensemble: {', '.join(SCHEME_CHOICES)} (default: by"
        " the labels; kesler for more than two)",
    )
    group.add_argument(
        "--update",
        choices=("each", "top", "uniform", "proportional"),
        help="kesler, multi-label, hierarchical, query-ranking: which preferences are learned from",
    )
    group.add_argument("--decision", choices=("majority", "tournament"), help="all-vs-all: how pairs decide")
    group.add_argument("--code", choices=("dense", "sparse", "exhaustive"), help="output-code: kind of code words")
    group.add_argument("--decoding", choices=("hamming", "loss"), help="output-code: distance to code words")
    group.add_argument("--code-length", metavar="BITS", type=int, help="output-code: bits of a code word")
    group.add_argument(
        "--separator", metavar="TEXT", help="hierarchical: text that separates levels (default: auto-detected)"
    )
    group = parser.add_argument_group("ensembles")
    group.add_argument("--n-estimators", metavar="N", type=int, help="number of members that vote; adaboost: at most")
    group.add_argument("--max-depth", metavar="N", type=int, help="random-forest: maximum depth of a tree")
    group.add_argument("--n-jobs", metavar="N", type=int, help="bagging, random-forest: number of threads that learn")


def add_online_to_batch_options(parser: argparse.ArgumentParser) -> None:
    """Add the options; call it after `add_learner_settings`, because a learner may have an epsilon of its own."""
    group = parser.add_argument_group(
        "a saved model with a guarantee for its own error, if examples are i.i.d. (docs/online_to_batch.md)"
    )
    group.add_argument(
        "--online-to-batch",
        metavar="METHOD",
        choices=tuple(METHODS),
        help="how the hypothesis to save is chosen: see below",
    )
    taken = "--epsilon" in parser._option_string_actions
    group.add_argument(
        "--online-to-batch-epsilon" if taken else "--epsilon",
        metavar="E",
        type=float,
        dest="epsilon",
        help="ε, the error that is tested for (default: 0.1)",
    )
    group.add_argument("--max-mistakes", metavar="M", type=int, help="next-stretch: bound on the learner's mistakes")
    group.add_argument("--stream-radius", metavar="R", type=float, help="next-stretch: max ‖x‖ with the bias")
    group.add_argument(
        "--stream-margin", metavar="G", type=float, help="next-stretch: margin γ, for M = (R/γ)² of the Perceptron"
    )
    group.add_argument(
        "--max-hypotheses", metavar="N", type=int, help="penalised: number of hypotheses to try (default: 1000)"
    )


# --- Options of a learner's settings ---


def find_learner_name(arguments: Sequence[str], default: str | None = None) -> str:
    """Return the learner named in the arguments, or in the file to resume, before they are parsed: its settings are
    options."""
    first = CommandParser(prog="novikoff learn", add_help=False, allow_abbrev=False)
    first.add_argument("--learner")
    first.add_argument("--online-to-batch")
    first.add_argument("--resume")
    known, _ = first.parse_known_args([a for a in arguments if a not in ("-h", "--help")])
    default = default or (model_factory.STABLE_LEARNER if known.online_to_batch else model_factory.DEFAULT_LEARNER)
    name: str = _read_resumed_learner(known.resume) if known.resume else known.learner or default
    return name if name in learner_registry.names() else default


def find_setting_owners(option: str) -> str:
    """Return which learners have a setting that the chosen one does not have, as the end of a sentence."""
    setting = option.partition("=")[0].removeprefix("--").removeprefix("no-").replace("-", "_")
    named = [name for name in learner_registry.names() if name not in learner_registry.VARIANTS]
    having = [name for name in named if setting in setting_defaults_of(learner_registry.learner_class(name))]
    return f" ({option} is a setting of {', '.join(having)}: name one with --learner)" if having else ""


def _read_resumed_learner(path: str) -> str:
    from novikoff.model_file import load_learner

    try:
        model = load_learner(path)
        return learner_registry.name_of(type(inner_learner_of(model)))
    except NovikoffError:  # reported when the file is loaded for learning
        return model_factory.DEFAULT_LEARNER


def add_learner_settings(parser: argparse.ArgumentParser, name: str) -> None:
    """Add an option for each setting of the learner. An option that is not given is None: the learner's default."""
    learner_type = learner_registry.learner_class(name)
    hints, texts = get_type_hints(learner_type.__init__), parse_parameter_docs(learner_type)
    variant = learner_registry.variant_settings(name)
    group = parser.add_argument_group(f"settings of {name}")
    for setting, own in setting_defaults_of(learner_type).items():
        if setting in RUN_SETTINGS:
            continue  # options of the command itself
        option = flag(setting)
        taken = parser._option_string_actions.get(option)
        if taken is not None and not taken.dest.startswith(SETTING_PREFIX):  # an option of the command
            option = f"--learner-{option[2:]}"
        if option in parser._option_string_actions:
            continue  # added for another learner, for shell completion
        default = variant.get(setting, own)
        shown = "" if default is None else f" (default: {default})"
        options: dict[str, Any] = {"dest": f"{SETTING_PREFIX}{setting}", "help": texts[setting] + shown}
        group.add_argument(option, default=None, **options, **_parsing_of(hints[setting], setting))


def _parsing_of(hint: Any, setting: str) -> dict[str, Any]:
    """Return how argparse parses a setting of this type."""
    words, numeric = _split_alternatives(hint)
    for part in (hint, *get_args(hint)):
        if get_origin(part) in PARSING_OF_COLLECTIONS:
            return PARSING_OF_COLLECTIONS[get_origin(part)]
    if hint is bool:
        return {"action": argparse.BooleanOptionalAction}
    if words and not numeric:
        return {"choices": words}
    if words:
        return {"type": _number_or_word_parser(words), "metavar": f"NUMBER|{'|'.join(words)}"}
    if str in get_args(hint):
        return {"metavar": setting.upper()}
    is_whole = int in (hint, *get_args(hint))
    return {"type": int if is_whole else float, "metavar": "N" if is_whole else "NUMBER"}


def _parse_integers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


_parse_integers.__name__ = "list of whole numbers"  # argparse shows it in its message


def parse_class_weight(text: str) -> dict[str, float] | str:
    """Return weights of labels, of a text such as ham:1,spam:5, or the word balanced.

    >>> parse_class_weight("ham:1,spam:5")
    {'ham': 1.0, 'spam': 5.0}
    """
    if text == "balanced":
        return text
    weights = dict[str, float]()
    for part in text.split(","):
        label, separator, weight = part.rpartition(":")
        if not separator or not label or label in weights:
            raise argparse.ArgumentTypeError(f"expected balanced, or LABEL:WEIGHT,LABEL:WEIGHT, got {text!r}")
        try:
            weights[label] = float(weight)
        except ValueError:
            raise argparse.ArgumentTypeError(f"the weight of {label} must be a number, got {weight!r}") from None
    return weights


PARSING_OF_COLLECTIONS: dict[Any, dict[str, Any]] = {
    dict: {"type": parse_class_weight, "metavar": "LABEL:WEIGHT,…|balanced"},
    tuple: {"type": _parse_integers, "metavar": "N,N,…"},
}


def _split_alternatives(hint: Any) -> tuple[tuple[str, ...], bool]:
    """Return the words that a setting may be, and whether it may be a number."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    words = tuple(word for part in parts if get_origin(part) is Literal for word in get_args(part))
    return words, any(part in (int, float) for part in parts)


def _number_or_word_parser(words: tuple[str, ...]) -> Callable[[str], float | str]:
    def parse(text: str) -> float | str:
        return text if text in words else float(text)

    parse.__name__ = "number"  # argparse shows it in its message
    return parse


def parse_parameter_docs(learner_type: type) -> dict[str, str]:
    """Return the texts of the section Parameters of a docstring, by name."""
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
