"""A file that is written piece by piece and is there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Callable[[bytes], object]]:
    """Gives what takes the pieces; the file that was there is replaced when the block ends well."""
    path = Path(os.path.realpath(path))  # what a link points to is replaced, not the link
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
    try:
        with open(temporary, "xb") as file:
            yield file.write
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as problem:
        temporary.unlink(missing_ok=True)
        raise type(problem)(problem.errno, problem.strerror, str(path)) from None
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
