"""Model files of a server: DIR/models/ID-POSITION.model is the model after the journal entry at that position."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import Any

from novikoff.errors import ModelFileError
from novikoff.model_file import load_learner, write_atomically

CHECKPOINT_FOLDER = "models"


def checkpoint_path(folder: Path, model: int, position: int) -> Path:
    return folder / CHECKPOINT_FOLDER / f"{model}-{position}.model"


def write(folder: Path, model: int, position: int, content: bytes) -> None:
    write_atomically(checkpoint_path(folder, model, position), content, mode=0o600)


def write_temporary(folder: Path, content: bytes) -> Path:
    """Write a durable temporary file, and return its path."""
    path = folder / CHECKPOINT_FOLDER / f".{secrets.token_hex(8)}.part"
    write_atomically(path, content, mode=0o600)
    return path


def move_into_place(laid: Path, folder: Path, model: int, position: int) -> None:
    os.replace(laid, checkpoint_path(folder, model, position))
    number = os.open(laid.parent, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def list_positions(folder: Path, model: int) -> list[int]:
    """Return the positions of the files of a model, the latest first."""
    found = (path.stem.partition("-")[2] for path in (folder / CHECKPOINT_FOLDER).glob(f"{model}-*.model"))
    return sorted((int(text) for text in found if text.isdigit()), reverse=True)


def load_latest(folder: Path, model: int, upto: int) -> tuple[Any, int, list[str]]:
    """Return the model of the latest readable file, its position, and error messages about unreadable files.

    The model is None if no file can be read.
    """
    problems: list[str] = []
    for position in list_positions(folder, model):
        if position <= upto:
            try:
                return load_learner(checkpoint_path(folder, model, position)), position, problems
            except ModelFileError as problem:
                problems.append(str(problem))
    return None, 0, problems


def remove(folder: Path, model: int, *, keep: int = 0) -> None:
    """Remove the files of a model except the latest `keep`."""
    for position in list_positions(folder, model)[keep:]:
        checkpoint_path(folder, model, position).unlink(missing_ok=True)


def remove_orphans(folder: Path, models: set[int]) -> None:
    """Remove files that do not belong to any model, and temporary files."""
    for path in (folder / CHECKPOINT_FOLDER).iterdir():
        number = path.name.partition("-")[0]
        if path.name.endswith(".part") or not (number.isdigit() and int(number) in models):
            with contextlib.suppress(OSError):
                path.unlink()
