"""Read the manifest: every kernel of the library with the types of its arguments (see `signature.py`), a line each.

Also: which source files a kernel is made of.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from novikoff._compiled.library import symbol_name

PACKAGE = Path(__file__).parent.parent
MANIFEST = PACKAGE / "_compiled" / "manifest.txt"
FIRST_KERNELS = PACKAGE / "_compiled" / "first_kernels.txt"
"""Those of `novikoff learn` with the default learner on a built-in data set: what `make demo` builds."""


class ManifestEntry(NamedTuple):
    """A line of the manifest."""

    name: str
    signature: str

    @property
    def symbol(self) -> str:
        return symbol_name(self.name, self.signature)

    @property
    def module(self) -> str:
        return self.name.rpartition(".")[0]

    @property
    def file(self) -> str:
        """The file of the module, relative to the package."""
        return f"{self.module.removeprefix('novikoff.').replace('.', '/')}.py"


def read_manifest(path: Path = MANIFEST) -> list[ManifestEntry]:
    return [ManifestEntry(*line.split(" ", 1)) for line in path.read_text().splitlines()]


# --- Source files ---


MODULES_WITHOUT_CODE = {
    "novikoff",
    "novikoff.errors",
    "novikoff.schema",
    "novikoff._compiled.library",
    "novikoff._compiled.signature",
}
"""Modules of which nothing is in any kernel, though nearly all import them."""


def source_files(kernel: ManifestEntry, modules: Iterable[str]) -> frozenset[str]:
    """The files, from the folder of the package on, that a kernel with functions of these modules is made of: those of
    the modules, of the classes in its signature, and of all that these import."""
    words = (word[1:].rpartition(".")[0] for word in kernel.signature.split() if word.startswith("(novikoff"))
    all_modules = {module for start in {kernel.module, *words, *modules} for module in _closure(start)}
    return frozenset(str(path.relative_to(PACKAGE)) for path in map(_module_path, all_modules) if path is not None)


@functools.cache
def _closure(module: str) -> frozenset[str]:
    """Return the module and all that it imports, directly or not."""
    found: set[str] = set()
    pending = [module]
    while pending:
        one = pending.pop()
        if one not in found and one not in MODULES_WITHOUT_CODE:
            found.add(one)
            pending += _imports(one)
    return frozenset(found)


@functools.cache
def _imports(module: str) -> frozenset[str]:
    """Return the modules of the package that a module imports on import."""
    path = _module_path(module)
    return frozenset() if path is None else frozenset(_iter_imported_modules(ast.parse(path.read_text()).body))


def _iter_imported_modules(body: Iterable[ast.stmt]) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, ast.ImportFrom) and statement.module and statement.module.startswith("novikoff"):
            yield statement.module
            inner = (f"{statement.module}.{name.name}" for name in statement.names)
            yield from (name for name in inner if _module_path(name) is not None)


def _module_path(module: str) -> Path | None:
    base = PACKAGE.parent.joinpath(*module.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)
