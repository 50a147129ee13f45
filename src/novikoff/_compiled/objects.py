"""Compile object files in several processes, and keep them while their source code is the same."""

from __future__ import annotations

import ast
import functools
import gc
import multiprocessing
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from novikoff._compiled import jit
from novikoff._compiled.manifest import PACKAGE, ManifestEntry, read_manifest, source_files

if TYPE_CHECKING:
    from novikoff._compiled.compiler import KernelCompiler

UPDATER_PATTERN = re.compile(r"\(novikoff\.(core\.updaters|linear|boolean)\.[\w.]+ <f[48]")
"""In a signature, the class of the updater and the precision of its weights, which are its first field."""
COMPILE_SECONDS = {"learn_multiclass": 2.0, "parse": 2.6, "parse_records": 2.3, "learn_network": 2.0, "learn": 1.0}
DEFAULT_COMPILE_SECONDS = 0.4
COMPILER_FILES = ("_compiled/compiler.py", "_compiled/entry_points.py", "_compiled/cpu.py", "_compiled/jit.py")
KERNEL_MODULES = tuple(
    f"novikoff.{name}"
    for name in (
        "_compiled.dict_reader",
        "_compiled.simd",
        "base",
        "boolean",
        "certificates",
        "core",
        "data",
        "distributed.mixing",
        "dual",
        "ensemble",
        "kernels",
        "ledger",
        "linear",
        "multiclass",
        "neural",
        "online_to_batch",
    )
)
"""Where generic functions and their bodies are."""
_compiler: KernelCompiler


class ObjectStore:
    """Object files for one CPU level. The name of a file has a digest of all that it was made of; a list beside it says
    which source files these were."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def find(self, kernel: ManifestEntry) -> tuple[Path, frozenset[str]] | None:
        """Return the object file and the source files that it was made of."""
        try:
            files = frozenset((self.folder / f"{kernel.symbol}.txt").read_text().split())
            path = self._path(kernel, files)
        except FileNotFoundError:
            return None
        return (path, files) if path.exists() else None

    def keep(self, kernel: ManifestEntry, content: bytes, files: frozenset[str]) -> None:
        for old in self.folder.glob(f"{kernel.symbol}-*.o"):
            old.unlink()
        self._path(kernel, files).write_bytes(content)
        (self.folder / f"{kernel.symbol}.txt").write_text("\n".join(sorted(files)) + "\n")

    def _path(self, kernel: ManifestEntry, files: frozenset[str]) -> Path:
        digest = sha256(repr((kernel, _toolchain_versions())).encode())
        for name in sorted({*files, *COMPILER_FILES}):
            digest.update(_digest_file(name))
        return self.folder / f"{kernel.symbol}-{digest.hexdigest()[:16]}.o"


@functools.cache
def _digest_file(name: str) -> bytes:
    return digest_code((PACKAGE / name).read_text())


def digest_code(source: str) -> bytes:
    """Return a digest of the code alone: comments, docstrings and layout do not change what is compiled."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [statement for statement in node.body if not _is_docstring(statement)]
    return sha256(ast.dump(tree).encode()).digest()


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


@functools.cache
def _toolchain_versions() -> tuple[str, ...]:
    return tuple(version(package) for package in ("numba", "llvmlite", "numpy"))


def compile_kernels(
    kernels: Sequence[ManifestEntry], level: str, store: ObjectStore, jobs: int, *, quiet: bool
) -> None:
    """Compile the kernels whose object files are missing."""
    missing = [kernel for kernel in kernels if store.find(kernel) is None]
    for done, (kernel, content, files) in enumerate(_compile_in_parallel(missing, level, jobs), start=1):
        store.keep(kernel, content, files)
        if not quiet:
            _show_progress(done, len(missing), level)


def find_shared_kernels(store: ObjectStore) -> list[ManifestEntry]:
    """Return the functions that the library has once and that the compiled kernels may call."""
    kernels = read_manifest()
    files = frozenset[str]().union(*(files for _, files in filter(None, map(store.find, kernels))))
    called = [kernel for kernel in kernels if kernel.file in files]
    for module in {kernel.module for kernel in called}:
        import_module(module)
    return [kernel for kernel in called if kernel.name in jit.shared_functions]


def _show_progress(done: int, count: int, level: str) -> None:
    """Print one line that is overwritten on a terminal, a line every 50 kernels elsewhere."""
    line = f"building kernels {done}/{count} ({level})"
    if sys.stderr.isatty():
        print(line, end="\n" if done == count else "\r", file=sys.stderr, flush=True)
    elif done % 50 == 0 or done == count:
        print(line, file=sys.stderr, flush=True)


def _compile_in_parallel(
    kernels: Sequence[ManifestEntry], level: str, jobs: int
) -> Iterator[tuple[ManifestEntry, bytes, frozenset[str]]]:
    if not kernels:
        return
    batches = _group_into_batches(kernels)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(batches)), context, _start_worker, (level,)) as pool:
        for future in as_completed([pool.submit(_compile_batch, batch) for batch in batches]):
            yield from future.result()


def _group_into_batches(kernels: Sequence[ManifestEntry]) -> list[list[ManifestEntry]]:
    """Group kernels that share inner functions, which a process compiles once; batches that take longest come first."""
    groups: dict[str, list[ManifestEntry]] = defaultdict(list)
    for kernel in kernels:
        updater = UPDATER_PATTERN.search(kernel.signature)
        groups[updater[0] if updater else kernel.module].append(kernel)
    return sorted(groups.values(), key=lambda batch: -sum(map(_estimated_seconds, batch)))


def _estimated_seconds(kernel: ManifestEntry) -> float:
    """Return roughly how long a kernel takes to compile: the loop for many columns of weights is the largest one."""
    return COMPILE_SECONDS.get(kernel.name.rpartition(".")[2], DEFAULT_COMPILE_SECONDS)


def _start_worker(level: str) -> None:
    """In each process that compiles: all modules are imported first, since each may add to generic functions."""
    import pkgutil

    from novikoff._compiled.compiler import KernelCompiler

    global _compiler  # noqa: PLW0603 - of the process
    _compiler = KernelCompiler(level)
    for module in pkgutil.walk_packages([str(PACKAGE)], "novikoff."):
        if module.name.startswith(KERNEL_MODULES) and module.name != "novikoff.__main__":
            import_module(module.name)
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)  # a compiler makes millions of small objects: to look for garbage took a sixth


def _compile_batch(kernels: Sequence[ManifestEntry]) -> list[tuple[ManifestEntry, bytes, frozenset[str]]]:
    made = []
    for kernel in kernels:
        try:
            import_module(kernel.module)
            found = _compiler.compile(jit.functions[kernel.name], kernel.signature, kernel.symbol)
        except Exception as problem:
            raise RuntimeError(f"{kernel.name} can't be compiled for {kernel.signature}: {problem}") from problem
        made.append((kernel, found.content, source_files(kernel, found.modules)))
    return made
