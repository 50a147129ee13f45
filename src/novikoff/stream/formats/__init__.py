"""Text formats: one parser a file. This page finds the right one: as told, by the file's name, or by its content."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from novikoff.errors import InputError
from novikoff.stream.feed import plain_suffix

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
_SVMLIGHT = re.compile(
    rb"\s*(" + _NUMBER + rb"(," + _NUMBER + rb")*" + _TERMS + rb"+|" + _NUMBER + rb"|" + _TERMS + rb"+)\s*(#.*)?"
)
_VW = re.compile(rb"[^|,;{]*\|")


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
    line = next((row for row in head.split(b"\n") if row.strip() and not row.startswith(b"#")), b"").rstrip(b"\r")
    if line.lstrip().startswith(b"{"):
        return "jsonl"
    if _SVMLIGHT.fullmatch(line):
        return "svmlight"
    if _VW.match(line):
        return "vw"
    if line.count(b"\t") == 1 and b" " in line.partition(b"\t")[2]:
        return "text"
    if b"\t" in line:
        return "tsv"
    if b"," in line or b";" in line:
        return "csv"
    raise InputError(
        f"{title}: can't tell its format from its name or its first line: say --format {'|'.join(FORMATS)}."
    )
