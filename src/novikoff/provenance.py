"""Provenance of a model file: which version wrote it, when, and the digests of the files that it learned from.

Model files are reproducible to the last byte, so provenance is written only on request (`learn --provenance`): it has
the time of the run. The record stands in the metadata of the file beside the model, and its checksum covers it. Readers
that don't know it ignore it. `SOURCE_DATE_EPOCH`, in seconds since 1970, replaces the time in reproducible builds.
"""

from __future__ import annotations

import hashlib
import os
import time
from typing import Any

from novikoff.errors import InputError
from novikoff.schema import SchemaError, check_dict, check_int, check_list, check_text

FORMAT_VERSION = 1
MAX_RUNS = 10_000
CHUNK_BYTES = 1 << 20
Provenance = dict[str, Any]
FileStatuses = dict[str, tuple[int, int] | None]
"""Size and time of the last change of each input, None for standard input and built-in data."""


def read_statuses(titles: list[str]) -> FileStatuses:
    """Return the status of inputs before they are read, to detect changes while they are read."""
    return {title: _read_status(title) for title in titles}


def describe_run(version: str, seen: FileStatuses) -> tuple[dict[str, Any], list[str]]:
    """Return the record of a finished run, and the names of files that changed while they were read."""
    files, changed = [], []
    for title, status in seen.items():
        about: dict[str, Any] = {"name": os.path.basename(title) or title}
        if status is not None:
            digest = _digest(title)
            if digest is None or _read_status(title) != status:
                changed.append(title)
            else:
                about |= {"bytes": status[0], "sha256": digest}
        files.append(about)
    return {"novikoff": version, "created": _format_current_time(), "files": files}, changed


def extend(before: Provenance | None, run: dict[str, Any]) -> Provenance:
    """Return the provenance of a model that was trained further in another run.

    >>> extend(None, {"novikoff": "1", "created": "2026-01-01T00:00:00Z", "files": []})["format"]
    1
    """
    runs = [] if before is None else before["runs"]
    return {"format": FORMAT_VERSION, "runs": [*runs, run]}


def check_provenance(value: Any) -> Provenance:
    """Return a provenance that was read from a file; raise SchemaError if it is malformed."""
    found = check_dict("provenance", value)
    number = check_int("the format of provenance", found.get("format"), 1, 1 << 30)
    if number > FORMAT_VERSION:
        raise SchemaError("the format of provenance", f"up to {FORMAT_VERSION} (update novikoff)", str(number))
    runs = check_list("the runs of provenance", found.get("runs"))
    if len(runs) > MAX_RUNS:
        raise SchemaError("the runs of provenance", f"at most {MAX_RUNS}", str(len(runs)))
    return {"format": number, "runs": [_check_run(run) for run in runs]}


def _check_run(value: Any) -> dict[str, Any]:
    run = check_dict("a run of provenance", value)
    return {
        "novikoff": check_text("the version of a run", run.get("novikoff")),
        "created": check_text("the time of a run", run.get("created")),
        "files": [_check_file(file) for file in check_list("the files of a run", run.get("files"))],
    }


def _check_file(value: Any) -> dict[str, Any]:
    file = check_dict("a file of a run", value)
    found: dict[str, Any] = {"name": check_text("the name of a file", file.get("name"))}
    if "sha256" in file:
        digest = check_text("the digest of a file", file["sha256"])
        if len(digest) != 64 or set(digest) - set("0123456789abcdef"):
            raise SchemaError("the digest of a file", "64 hexadecimal digits", repr(digest[:80]))
        found |= {"bytes": check_int("the size of a file", file.get("bytes"), 0, 1 << 62), "sha256": digest}
    return found


def _read_status(title: str) -> tuple[int, int] | None:
    if title == "-" or not os.path.isfile(title):
        return None
    status = os.stat(title)
    return status.st_size, status.st_mtime_ns


def _digest(path: str) -> str | None:
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while piece := file.read(CHUNK_BYTES):
                digest.update(piece)
    except OSError:
        return None
    return digest.hexdigest()


def _format_current_time() -> str:
    """Return the time in UTC, to the second."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        seconds = time.time() if given is None else int(given)
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    except (ValueError, OverflowError, OSError):
        raise InputError(f"SOURCE_DATE_EPOCH must be whole seconds since 1970, but is {given!r}.") from None
