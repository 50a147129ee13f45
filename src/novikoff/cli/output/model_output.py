"""Whether a result can be written, asked before hours of learning and not after."""

from __future__ import annotations

import os

from novikoff.errors import InputError


def check_writable(path: str | os.PathLike[str]) -> None:
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise InputError(f"{path}: is a directory: name a file in it.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError(f"{path}: is not a file but a device or a pipe: name a file.")
    if not os.path.isdir(folder):
        raise InputError(f"{path}: No such file or directory: make the folder {folder} first.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{path}: Permission denied: the folder {folder} can't be written.")
