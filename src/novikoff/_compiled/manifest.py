"""The manifest: every kernel of the library with the types of its arguments (see `signature.py`), a line each.

Also: which source files a kernel is made of.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from novikoff._compiled.library import symbol

PACKAGE = Path(__file__).parent.parent
MANIFEST = PACKAGE / "_compiled" / "manifest.txt"
FIRST_KERNELS = PACKAGE / "_compiled" / "first_kernels.txt"
"""Those of `novikoff learn` with the default learner on a built-in data set: what `make demo` builds."""


class Kernel(NamedTuple):
    """A line of the manifest."""

    name: str
    signature: str

    @property
    def symbol(self) -> str:
        return symbol(self.name, self.signature)

    @property
    def module(self) -> str:
        return self.name.rpartition(".")[0]


def read(path: Path = MANIFEST) -> list[Kernel]:
    return [Kernel(*line.split(" ", 1)) for line in path.read_text().splitlines()]


# --- Source files ---


WITHOUT_CODE = {
    "novikoff",
    "novikoff.errors",
    "novikoff.schema",
    "novikoff._compiled.library",
    "novikoff._compiled.signature",
}
"""Modules of which nothing is in any kernel, though nearly all import them."""


def source_files(kernel: Kernel, modules: Iterable[str]) -> frozenset[str]:
    """The files, from the folder of the package on, that a kernel with functions of these modules is made of: those of
    the modules, of the classes in its signature, and of all that these import."""
    words = (word[1:].rpartition(".")[0] for word in kernel.signature.split() if word.startswith("(novikoff"))
    every = {module for start in {kernel.module, *words, *modules} for module in _closure(start)}
    return frozenset(str(path.relative_to(PACKAGE)) for path in map(_path, every) if path is not None)


@functools.cache
def _closure(module: str) -> frozenset[str]:
    """The module and all that it imports, directly or not."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        one = waiting.pop()
        if one not in found and one not in WITHOUT_CODE:
            found.add(one)
            waiting += _imports(one)
    return frozenset(found)


@functools.cache
def _imports(module: str) -> frozenset[str]:
    """The modules of the package that a module imports when it is imported itself."""
    path = _path(module)
    return frozenset() if path is None else frozenset(_imported(ast.parse(path.read_text()).body))


def _imported(body: Iterable[ast.stmt]) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, ast.ImportFrom) and statement.module and statement.module.startswith("novikoff"):
            yield statement.module
            inner = (f"{statement.module}.{name.name}" for name in statement.names)
            yield from (name for name in inner if _path(name) is not None)


def _path(module: str) -> Path | None:
    base = PACKAGE.parent.joinpath(*module.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)
