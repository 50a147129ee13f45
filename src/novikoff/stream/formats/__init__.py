"""Text formats: one parser a file. This page finds the right one: as told, by the file's name, or by its content."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from novikoff.errors import InputError
from novikoff.stream.feed import plain_suffix

LOOKED_AT = 50  # lines, to tell a format
FORMATS = {
    "svmlight": "Svmlight",
    "vw": "VowpalWabbit",
    "csv": "Csv",
    "tsv": "Tsv",
    "jsonl": "JsonLines",
    "text": "Text",
    "parquet": "Parquet",
}
MODULES = {"tsv": "csv"}
SUFFIXES = {
    **dict.fromkeys((".svm", ".svmlight", ".libsvm", ".libfm"), "svmlight"),
    ".vw": "vw",
    ".csv": "csv",
    ".tsv": "tsv",
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "jsonl"),
    **dict.fromkeys((".parquet", ".pq", ".arrow", ".feather"), "parquet"),
}
_NUMBER = rb"[-+0-9.eE]+"
_TERMS = rb"(\s+(qid|[0-9]+):[^\s:]+)"
_SVMLIGHT = (
    rb"\s*(" + _NUMBER + rb"(," + _NUMBER + rb")*" + _TERMS + rb"+|" + _NUMBER + rb"|" + _TERMS + rb"+)\s*(#.*)?"
)
_VW = rb"\s*(" + _NUMBER + rb"\s+){0,3}('[^\s|]*\s*|[^\s|,;]*)\|"


def format_class(name: str) -> Any:
    """The class of a format by its name; only its own file is imported."""
    if name not in FORMATS:
        raise InputError(f"--format must be one of {', '.join(FORMATS)}, but is {name!r}.")
    return getattr(import_module(f"{__name__}.{MODULES.get(name, name)}"), FORMATS[name])


def found(title: str, head: bytes) -> str:
    """The format of a file, by its name or else by its first line that is not a comment."""
    by_name = SUFFIXES.get(plain_suffix(title))
    if by_name is not None:
        return by_name
    if head.startswith((b"PAR1", b"ARROW1")):
        return "parquet"
    lines = [row.rstrip(b"\r") for row in head.split(b"\n") if row.strip() and not row.startswith(b"#")][:LOOKED_AT]
    if not lines:
        raise InputError(f"{title}: is empty, or has comments only: there are no examples in it.")
    line = lines[0]
    if line.startswith(b"__label__") or _is_labelled_text(lines):
        return "text"
    if line.lstrip().startswith(b"{"):
        return "jsonl"
    if re.fullmatch(_SVMLIGHT, line):
        return "svmlight"
    if re.match(_VW, line):
        return "vw"
    if b"\t" in line:
        return "tsv"
    if b"," in line or b";" in line:
        return "csv"
    raise InputError(
        f"{title}: can't tell its format from its name or its first line: say --format {'|'.join(FORMATS)}."
    )


def _is_labelled_text(lines: list[bytes]) -> bool:
    """One tab in each line, after a label without blanks, and several words after it in some line."""
    parts = [line.split(b"\t") for line in lines]
    return all(len(p) == 2 and b" " not in p[0] for p in parts) and any(b" " in p[1].strip() for p in parts)
