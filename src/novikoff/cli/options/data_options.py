"""Options for reading data, shared by all commands."""

from __future__ import annotations

import argparse
import codecs
import os
from dataclasses import asdict, replace
from typing import Any

from novikoff.data import formats
from novikoff.data.formats.base import COLLISIONS, MISSING_VALUES, Format, ReadOptions, check_options
from novikoff.data.reader import DataReader, check_sources
from novikoff.errors import InputError

DATA_HELP = """\
DATA is a file, - for standard input, or a built-in stream (breast-cancer, digits, iris, wine). Files are svmlight,
Vowpal Wabbit, CSV, TSV, JSON lines, labelled text or Parquet, compressed (gzip, zstd, xz, bzip2) or not. The
format is detected from name or content, or given by --format."""


def add_data_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how the data is read")
    group.add_argument(
        "--format", choices=tuple(formats.FORMAT_CLASSES), help="format of the files (default: auto-detected)"
    )
    group.add_argument("--label", metavar="COLUMN", help="column or field of the label: a name, or a number from 1")
    group.add_argument(
        "--text", metavar="COLUMN", action="append", help="column or field (or a,b,…) of text, whose words are features"
    )
    group.add_argument("--ignore", metavar="COLUMN", action="append", help="column (or a,b,…) to leave out")
    group.add_argument("--columns", metavar="COLUMN", action="append", help="columns that are features (default: all)")
    group.add_argument("--categorical", metavar="COLUMN", action="append", help="columns whose numbers are categories")
    group.add_argument("--numeric", metavar="COLUMN", action="append", help="columns that are numeric")
    group.add_argument("--weight", metavar="COLUMN", help="column or field of the sample weight")
    group.add_argument(
        "--missing",
        choices=MISSING_VALUES,
        default="absent",
        help="on an empty cell, NA, NaN or null: no feature (absent, default), a feature of its own, or an error",
    )
    group.add_argument(
        "--delimiter", metavar="CHARACTER", help="character between columns of a table (default: auto-detected)"
    )
    group.add_argument("--quote", choices=("none",), help="none: quotes in a table have no special meaning")
    group.add_argument(
        "--encoding", metavar="NAME", type=_parse_encoding, help="encoding of text that is not UTF-8, such as latin-1"
    )
    group.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether the first line of a table has names (default: auto-detected); --no-header matches columns of"
        " a model with names by position",
    )
    group.add_argument(
        "--hash-bits",
        metavar="B",
        type=int,
        help="hash names to 2^B slots (default: 18); 0 keeps a dictionary of names",
    )
    group.add_argument("--signed-hash", action="store_true", help="let the hash also choose a sign for each feature")
    group.add_argument(
        "--collisions",
        choices=COLLISIONS,
        help="value of features that share a slot or occur twice (default: sum; max for learners that take values"
        " up to 1)",
    )
    group.add_argument(
        "--interactions",
        metavar="AB",
        action="append",
        help="vw: pair the features of namespaces A and B; ABC for three",
    )
    group.add_argument(
        "--feature-map",
        metavar="MAP",
        help="add features: poly:2 (products of up to two), products:2 (of different features), powers:3,"
        " conjunctions:2 (of features that are 0 or 1)",
    )
    group.add_argument(
        "--feature-map-bits",
        metavar="B",
        type=int,
        help="hash the products of --feature-map to 2^B slots (default: a column each, or as many bits as names have)",
    )
    group.add_argument(
        "--word-ngrams", metavar="N", type=int, help="text: sequences of up to N words are features (default: 1)"
    )
    group.add_argument("--char-ngrams", metavar="N", type=int, help="text: sequences of N letters are features, too")
    group.add_argument("--keep-case", action="store_true", help="text: keep capital letters as they are")
    group.add_argument(
        "--term-weighting",
        choices=("count", "binary", "log", "unit"),
        help="text: value of a word that occurs n times (default: log, 1 + ln n)",
    )
    group.add_argument(
        "--bad-lines",
        choices=("error", "skip"),
        default="error",
        help="on malformed lines: stop (error, default) or skip them",
    )
    group.add_argument(
        "--cache", action="store_true", help="store the parsed data beside the file, for later passes and runs"
    )
    group.add_argument("--threads", metavar="N", type=int, help="number of reader threads (default: one per processor)")


def _parse_encoding(name: str) -> str:
    """Return the usual name of an encoding."""
    try:
        found = codecs.lookup(name).name
        "".encode(found)  # refuses codecs that do not encode text
    except (LookupError, UnicodeError):
        raise argparse.ArgumentTypeError(f"unknown encoding {name!r}: try latin-1, cp1252 or utf-16") from None
    return found


def _split_names(given: list[str] | None) -> tuple[str, ...]:
    """Return the names in an option that may be repeated or contain commas."""
    return tuple(name for one in given or () for name in one.split(",") if name)


def build_reading_options(arguments: argparse.Namespace) -> ReadOptions:
    """Return the options of the reader, checked as far as possible before a file is opened."""
    options = ReadOptions(
        format=arguments.format,
        label=arguments.label,
        text=",".join(_split_names(arguments.text)) or None,
        ignore=_split_names(arguments.ignore),
        columns=_split_names(arguments.columns),
        categorical=_split_names(arguments.categorical),
        numeric=_split_names(arguments.numeric),
        weight=arguments.weight,
        missing=arguments.missing,
        quote=arguments.quote,
        encoding=arguments.encoding,
        delimiter=arguments.delimiter,
        header=arguments.header,
        hash_bits=arguments.hash_bits,
        signed_hash=arguments.signed_hash,
        collisions=arguments.collisions or "sum",
        interactions=tuple(arguments.interactions or ()),
        word_ngrams=arguments.word_ngrams,
        char_ngrams=arguments.char_ngrams,
        lowercase=not arguments.keep_case,
        term_weighting=arguments.term_weighting,
        bad_lines=arguments.bad_lines,
        threads=arguments.threads,
        cache=arguments.cache,
        keep_names=getattr(arguments, "keep_names", None) or 0,
        feature_map=arguments.feature_map,
        feature_map_bits=arguments.feature_map_bits,
    )
    return check_options(options)


NEUTRAL_OPTIONS = (
    "prefer_largest", "bad_lines", "threads", "block", "cache", "keep_names", "unlabelled", "header", "encoding",
    "hashes_names",
)  # fmt: skip
OPTION_FLAGS = {"lowercase": "--keep-case"}
"""Options that do not change what is read from a good file."""


def is_stream(title: str) -> bool:
    """Return whether the source can be read only once."""
    return title == "-" or (os.path.exists(title) and not os.path.isfile(title))


def open_reading(titles: list[str], options: ReadOptions, state: Any) -> DataReader:
    """Return a reader of these files. With the state of a model, it reads like the reader of the model's data."""
    check_sources(titles)
    reading = DataReader(titles, options)
    if state is None:
        return reading
    if state.reading is not None:
        reading.format = restore_format(state.reading, options)
        options.feature_map, options.feature_map_bits = (
            state.reading.get("feature_map"),
            state.reading.get("feature_map_bits"),
        )
        options.encoding = options.encoding or state.reading.get("encoding")
    elif state.names is not None and options.hash_bits is None:
        options.hash_bits = 0
    if state.names is not None and (reading.format is None or reading.format.bits_used == 0):
        reading.names = state.names.copy()
    if state.slot_names and options.keep_names:
        reading.keep(state.slot_names)
    return reading


STORED_OPTIONS = (
    "format", "label", "text", "delimiter", "header", "hash_bits", "signed_hash", "collisions", "missing",
    "interactions", "word_ngrams", "char_ngrams", "lowercase", "term_weighting", "feature_map", "feature_map_bits",
    "ignore", "categorical", "encoding",
)  # fmt: skip
"""Options that models store under the same names."""


def matches_reading(titles: list[str], options: ReadOptions, settings: dict[str, Any] | None) -> bool:
    """Return whether these options read files like those of a model, by its stored settings."""
    import json

    reading = DataReader(titles, replace(options, threads=1))
    try:
        next(reading.batches(), None)
    except InputError:
        return False
    return json.dumps(reading.settings(), sort_keys=True) == json.dumps(settings, sort_keys=True)


def restore_reading_options(options: ReadOptions, settings: dict[str, Any] | None) -> ReadOptions:
    """Return the options with which a model's files were read, except for those that the user gives: a model can be
    certified without repeating them."""
    if not settings:
        return options
    found = {name: settings[name] for name in STORED_OPTIONS if settings.get(name) is not None}
    found |= {name: tuple(value) for name, value in found.items() if isinstance(value, list)}
    if settings.get("format") != "text" and not (settings.get("text") or settings.get("texts")):
        found = {
            name: value
            for name, value in found.items()
            if name not in ("word_ngrams", "char_ngrams", "lowercase", "term_weighting")
        }
    found["char_ngrams"] = found.get("char_ngrams") or None
    if "only" in settings:
        found["columns"] = tuple(settings["only"])
    if settings.get("quote") == "none":
        found["quote"] = "none"
    if settings.get("format") == "jsonl":
        found |= {"numeric": tuple(settings.get("numeric", ())), "weight": settings.get("weight")}
    if "names" in settings:
        found |= _restore_column_options(settings)
    unsaid = asdict(ReadOptions())
    given = {name for name, value in asdict(options).items() if value != unsaid[name]}
    return replace(options, **{name: value for name, value in found.items() if name not in given})


def _restore_column_options(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the options for the kinds of columns of a table, by their numbers."""
    texts, ignored = settings.get("texts", ()), settings.get("ignored", ())
    features = [c for c in range(len(settings["names"])) if c not in (settings["target"], *texts, *ignored)]
    weight = settings.get("weight")

    def numbers(columns: Any) -> tuple[str, ...]:
        return tuple(str(c + 1) if not settings["header"] else settings["names"][c] for c in columns)

    return {
        "text": ",".join(numbers(texts)) or None,
        "ignore": numbers(ignored),
        "weight": None if weight is None else numbers([weight])[0],
        "categorical": numbers(c for c in features if c != weight and not settings["numeric"][c]),
        "numeric": numbers(c for c in features if c != weight and settings["numeric"][c]),
    }


def restore_format(settings: dict[str, Any], options: ReadOptions) -> Format | None:
    """Return the format of the files that a model was learned from, None if it was not learned from files; InputError
    where the options ask for another."""
    before = {
        name: value for name, value in settings.items() if name not in ("feature_map", "feature_map_bits", "encoding")
    }
    name = before.pop("format", None)
    unsaid = asdict(ReadOptions())
    given = {option for option, value in asdict(options).items() if value != unsaid[option]} - set(NEUTRAL_OPTIONS)
    learned = restore_reading_options(ReadOptions(), settings)
    different = sorted(key for key in given if not _matches_learned(key, getattr(options, key), getattr(learned, key)))
    if different:
        flags = ", ".join(OPTION_FLAGS.get(key, "--" + key.replace("_", "-")) for key in different)
        raise InputError(
            f"The model was learned from {name or 'built-in'} data with other reading options, which stay in force:"
            f" leave out {flags}."
        )
    if name is None:
        return None
    restored: Format = formats.get_format_class(name).from_settings(before)
    return restored


def _matches_learned(key: str, given: Any, learned: Any) -> bool:
    """Return whether an option agrees with the one of the model. Columns may be named in part."""
    if key in ("ignore", "categorical", "numeric"):
        return set(given) <= set(learned)
    if key == "text":
        return set(given.split(",")) == set((learned or "").split(","))
    return bool(_normalize_option(key, given) == _normalize_option(key, learned))


def _normalize_option(key: str, value: Any) -> Any:
    """Return the value of an option in a form that can be compared."""
    if key == "quote":
        return value or '"'
    return sorted("".join(sorted(i)) for i in value or ()) if key == "interactions" else value
