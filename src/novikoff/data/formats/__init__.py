"""Registry of the file formats, one module each, and detection of the format by option, file name or content."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from novikoff.data.text_source import get_uncompressed_suffix
from novikoff.errors import InputError

SNIFFED_LINES = 50
FORMAT_CLASSES = {
    "svmlight": "Svmlight",
    "vw": "VowpalWabbit",
    "csv": "Csv",
    "tsv": "Tsv",
    "jsonl": "JsonLines",
    "text": "Text",
    "parquet": "Parquet",
}
FORMAT_MODULES = {"tsv": "csv"}
FORMAT_SUFFIXES = {
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


def get_format_class(name: str) -> Any:
    """Return the class of a format by its name; only its own module is imported."""
    if name not in FORMAT_CLASSES:
        raise InputError(f"--format must be one of {', '.join(FORMAT_CLASSES)}, but is {name!r}.")
    return getattr(import_module(f"{__name__}.{FORMAT_MODULES.get(name, name)}"), FORMAT_CLASSES[name])


def detect_format(title: str, head: bytes) -> str:
    """Detect the format of a file by its name, or else by its first line that is not a comment."""
    by_name = FORMAT_SUFFIXES.get(get_uncompressed_suffix(title))
    if by_name is not None and not (by_name == "tsv" and _is_labelled_text(_split_first_lines(head))):
        return by_name
    if head.startswith((b"PAR1", b"ARROW1")):
        return "parquet"
    lines = _split_first_lines(head)
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
        f"{title}: can't tell its format from its name or its first line: use --format {'|'.join(FORMAT_CLASSES)}."
    )


def find_format_doubts(title: str, name: str, said: str | None) -> list[str]:
    """Return warnings about the detected format."""
    if said is None and name == "text" and FORMAT_SUFFIXES.get(get_uncompressed_suffix(title)) == "tsv":
        return [f"{title} has two columns, of which one is text: read as labelled text; --format tsv reads a table."]
    return []


def is_utf8(head: bytes) -> bool:
    """Return whether the first bytes of a file are UTF-8; the last character may be cut off."""
    try:
        head[: max(0, len(head) - 4)].decode()
    except UnicodeDecodeError as problem:
        return problem.start > len(head) - 8
    return True


def _split_first_lines(head: bytes) -> list[bytes]:
    rows = (row.rstrip(b"\r") for row in head.split(b"\n"))
    return [row for row in rows if row.strip() and not row.startswith(b"#")][:SNIFFED_LINES]


def _is_labelled_text(lines: list[bytes]) -> bool:
    """Return whether each line is a label without blanks, a tab and a text, and some text has several words."""
    parts = [line.split(b"\t") for line in lines]
    if not parts or not all(len(p) == 2 and b" " not in p[0] for p in parts):
        return False
    later = {p[0] for p in parts[1:]}
    named = parts[0][0].strip().lower() in (b"label", b"class", b"target", b"y") or (
        b" " not in parts[0][1].strip() and len(later) < len(parts) - 1 and parts[0][0] not in later
    )  # a header line with the names of two columns
    return not named and any(b" " in p[1].strip() for p in parts)
