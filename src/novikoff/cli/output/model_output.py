"""Check before a long run that its results can be written."""

from __future__ import annotations

import os

from novikoff.errors import InputError


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise InputError where a file can't be written. Devices and pipes of /dev, such as /dev/stdout, can."""
    from novikoff.model_file import is_stream_output

    if is_stream_output(path):
        return
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise InputError(f"{path}: is a directory: name a file in it.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError(f"{path}: is not a file, so it can't be replaced: name a file, or /dev/stdout.")
    if not os.path.isdir(folder):
        raise InputError(f"{path}: No such file or directory: make the folder {folder} first.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{path}: Permission denied: the folder {folder} can't be written.")
