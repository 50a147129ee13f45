"""Options for reading data, as far as the user has given them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from novikoff.data.formats.base import Format
from novikoff.data.names.hashing import MAX_HASH_BITS
from novikoff.errors import InputError

MISSING_VALUES = ("absent", "indicator", "error")
"""Treatment of missing values: no feature; a feature of its own; an error."""
COLLISIONS = ("sum", "max")
"""Treatment of features that share a slot."""
FORMAT_OPTIONS = (
    "label", "text", "ignore", "columns", "categorical", "numeric", "weight", "missing", "delimiter", "quote",
    "signed_hash", "collisions", "multilabel", "interactions", "word_ngrams", "char_ngrams", "term_weighting",
)  # fmt: skip
"""Options that apply to some formats only."""


@dataclass
class ReadOptions:
    """Options of readers; None where the format decides."""

    format: str | None = None
    label: str | None = None
    text: str | None = None
    ignore: tuple[str, ...] = ()
    """Columns of a table to ignore, by name or by number from 1; likewise below."""
    columns: tuple[str, ...] = ()
    """The only columns of a table that are features, where any are named."""
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    weight: str | None = None
    """The column of a table with the weights of its rows."""
    missing: str = "absent"
    delimiter: str | None = None
    quote: str | None = None
    header: bool | None = None
    encoding: str | None = None
    """The encoding of text that is not UTF-8."""
    hash_bits: int | None = None
    signed_hash: bool = False
    collisions: str = "sum"
    """What to keep of features that share a slot, or occur twice: sum or max."""
    multilabel: bool = False
    interactions: tuple[str, ...] = ()
    word_ngrams: int | None = None
    char_ngrams: int | None = None
    lowercase: bool = True
    term_weighting: str | None = None
    bad_lines: str = "error"
    threads: int | None = None
    block: int | None = None
    """Bytes of text that are parsed at once; None for the default of the format."""
    unlabelled: bool = False
    """Whether examples may lack a label."""
    cache: bool = False
    prefer_largest: bool = False
    """Whether to use `collisions="max"` where the format has slots."""
    keep_names: int = 0
    """Limit in MB for the kept names of hashed features."""
    hashes_names: bool = False
    """Whether names are hashed even where a dictionary would suffice: shards must agree on columns."""
    feature_map: str | None = None
    """The feature map, such as poly:2: see `data/feature_maps`."""
    feature_map_bits: int | None = None
    """Bits into which the map hashes products; None for as many as the features, or for a column per product."""


def check_options(options: ReadOptions) -> ReadOptions:
    """Return the options; raise InputError for invalid values."""
    if options.hash_bits is not None and not 0 <= options.hash_bits <= MAX_HASH_BITS:
        raise InputError(f"hash_bits must be from 0 to {MAX_HASH_BITS}, but is {options.hash_bits}.")
    for name, least in (("threads", 1), ("word_ngrams", 1), ("char_ngrams", 1), ("block", 1), ("keep_names", 0)):
        number = getattr(options, name)
        if number is not None and number < least:
            raise InputError(f"{name} must be at least {least}, but is {number}.")
    if options.feature_map is not None:
        from novikoff.data.feature_maps import MapSpec

        MapSpec.parse(options.feature_map, options.feature_map_bits)
    elif options.feature_map_bits is not None:
        raise InputError("--feature-map-bits is for the products of a --feature-map: leave it out.")
    if options.collisions not in COLLISIONS:
        raise InputError(f"collisions must be one of {', '.join(COLLISIONS)}, but is {options.collisions!r}.")
    if options.missing not in MISSING_VALUES:
        raise InputError(f"missing must be one of {', '.join(MISSING_VALUES)}, but is {options.missing!r}.")
    if options.quote not in (None, '"', "none"):
        raise InputError(f'quote must be " or none, but is {options.quote!r}.')
    if options.bad_lines not in ("error", "skip"):
        raise InputError(f"bad_lines must be error or skip, but is {options.bad_lines!r}.")
    return options


def check_roles(roles: Mapping[str, Iterable[str]], title: str, what: str = "column") -> None:
    """Raise InputError where a column is named by two options; `roles` are the names by option."""
    found: dict[str, str] = {}
    for option, names in roles.items():
        for name in names:
            if found.setdefault(name, option) != option:
                raise InputError(f"{title}: {what} {name!r} can't be {found[name]} and {option}: choose one of them.")


def check_options_apply(options: ReadOptions, kind: type[Format], name: str) -> None:
    """Raise InputError for options that have no effect on a format."""
    for option in FORMAT_OPTIONS:
        if getattr(options, option) not in (None, False, (), "absent", "sum") and option not in kind.options:
            raise InputError(f"--{option.replace('_', '-')} has no meaning for {name}: leave it out.")
