"""Whether a result can be written, asked before hours of learning and not after."""

from __future__ import annotations

import os
from pathlib import Path

from novikoff.errors import InputError


def check_writable(path: Path) -> None:
    folder = Path(os.path.realpath(path)).parent
    if path.is_dir():
        raise InputError(f"{path}: is a directory: name a file in it.")
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is not a file but a device or a pipe: name a file.")
    if not folder.is_dir():
        raise InputError(f"{path}: No such file or directory: make the folder {folder} first.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{path}: Permission denied: the folder {folder} can't be written.")
