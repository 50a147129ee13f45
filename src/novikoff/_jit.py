"""Compiled Python: the only module that imports Numba.

`compiled` marks a function for compilation, `generic` a function whose code depends on the class of its first argument
(a NamedTuple: a rule, a geometry, a kind of rows). Numba itself is imported when a compiled function is first called,
so that importing novikoff stays light.

Numba's disk cache watches only the file of the outermost function, while ours are made of pieces from many files. The
cache therefore lives in one folder per digest of all sources of the package: an edit anywhere means a new folder.

With NUMBA_DISABLE_JIT=1 everything runs as plain Python, with the same results to the last bit.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

DISABLED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
# Compiled code never raises (division by zero gives inf or nan, as the hardware has it), never allocates (so there are
# no references to count, which would cost more than the loop), and is one piece. No fastmath: certificates compare
# numbers.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "forceinline": True}
FOLDERS_KEPT = 4
DIGITS = 20

_generics: list[tuple[Callable[..., Any], Callable[..., Any]]] = []
_numba: Any = None


class Compiled(Generic[P, R]):
    """A function that Numba compiles when it is first called, once for each combination of argument types."""

    def __init__(self, function: Callable[P, R], **options: bool) -> None:
        self.function = function
        self.options = OPTIONS | options
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.dispatcher(*args, **kwargs)

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Numba's own object, made with its cache in our folder; the setting is put back for other users of Numba."""
        numba = numba_module()
        kept, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(cache_folder())
        try:
            dispatcher = numba.njit(self.function, cache=True, **self.options)
        finally:
            numba.config.CACHE_DIR = kept
        template = dispatcher.get_call_template

        def of_types(args: Any, kws: Any) -> Any:
            return template([numba.types.unliteral(a) for a in args], kws)

        # Numba would compile a function anew for every number that is written out where it is called.
        dispatcher.get_call_template = of_types
        return dispatcher

    def bound(self, *samples: Any) -> Callable[..., R]:
        """The machine code for arguments of the types of these samples, without Numba's look at the types at each call:
        for one example at a time that look costs more than learning. The caller answers for the types of its arguments.
        """
        dispatcher = self.dispatcher
        signature = tuple(
            _numba.types.Optional(_numba.typeof(s.value)) if isinstance(s, Like) else _numba.typeof(s) for s in samples
        )
        dispatcher.compile(signature)
        return dispatcher.overloads[signature].entry_point


class Plain(Generic[P, R]):
    """The same face without Numba (NUMBA_DISABLE_JIT=1)."""

    def __init__(self, function: Callable[P, R]) -> None:
        self.function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def bound(self, *samples: Any) -> Callable[..., R]:
        return self.function


class Like:
    """A sample that stands for a type only: None is passed in its place (see `unpacked` in `_machine.py`)."""

    def __init__(self, value: Any) -> None:
        self.value = value


def compiled(function: Callable[P, R]) -> Compiled[P, R] | Plain[P, R]:
    """Marks a function to be compiled."""
    return Plain(function) if DISABLED else Compiled(function)


def compiled_brief(function: Callable[P, R]) -> Compiled[P, R] | Plain[P, R]:
    """… one so short that letting other threads run meanwhile would cost more than it does."""
    return Plain(function) if DISABLED else Compiled(function, nogil=False)


def compiled_apart(function: Callable[P, R]) -> Compiled[P, R] | Plain[P, R]:
    """… one that is large and seldom called: a copy in each place would cost more time to compile than it saves."""
    return Plain(function) if DISABLED else Compiled(function, forceinline=False)


class _Generic(Generic[P, R]):
    """The typed face of what `generic` returns."""

    of: Callable[[type], Callable[[Callable[..., R]], Callable[..., R]]]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...  # type: ignore[empty-body]


def generic(default: Callable[P, R]) -> _Generic[P, R]:
    """A function with one body per class of its first argument, added by `@name.of(Class)`; for others the default."""
    bodies: dict[type, Callable[..., Any]] = {}

    @functools.wraps(default)
    def call(*args: Any) -> Any:
        return bodies.get(type(args[0]), default)(*args)

    def of(kind: type) -> Callable[[Callable[..., R]], Callable[..., R]]:
        def add(body: Callable[..., R]) -> Callable[..., R]:
            bodies[kind] = body
            return body

        return add

    def choose(*types: Any) -> Callable[..., Any]:
        return bodies.get(getattr(types[0], "instance_class", object), default)

    call.of = of  # type: ignore[attr-defined]
    _generics.append((call, choose))
    if _numba is not None:
        _register_generics()
    return call  # type: ignore[return-value]


def primitive(python: Callable[P, R], code: Callable[..., Any]) -> Callable[P, R]:
    """A function with hand-made machine code: `code(numba, *types)` returns what `numba.extending.intrinsic` wants.
    `python` is its meaning, and what runs without Numba."""

    def choose(*types: Any) -> Callable[..., Any]:
        return code(numba_module(), *types)

    _generics.append((python, choose))
    return python


def numba_module() -> Any:
    """Numba, imported on first need, with our generic functions made known to it."""
    global _numba  # noqa: PLW0603 - imported once, on first need
    if _numba is None:
        import numba
        import numba.extending

        _numba = numba

        @numba.extending.typeof_impl.register(Compiled)
        def _type_of_compiled(value: Compiled[Any, Any], context: Any) -> Any:
            return numba.types.Dispatcher(value.dispatcher)

        _register_generics()
    return _numba


def _register_generics() -> None:
    while _generics:
        call, choose = _generics.pop()
        _numba.extending.overload(call, strict=False, jit_options=OPTIONS)(choose)


@functools.cache
def cache_folder() -> Path:
    """This version's own folder in the user's cache folder; a temporary one where that is not private or writable."""
    try:
        named = os.environ.get("NOVIKOFF_CACHE")
        home = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "novikoff"
        folder = home / source_digest()
        fresh = not folder.exists()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (_is_private(home) and _is_private(folder)):
            raise PermissionError(f"{home} can be written by others")
        os.utime(folder)
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return Path(tempfile.mkdtemp(prefix="novikoff-"))
    if fresh:
        _remove_old(home)
    return folder


def _is_private(folder: Path) -> bool:
    """Machine code is loaded from here: nobody else may be able to put any in."""
    status = folder.stat()
    mine = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    return mine and os.access(folder, os.W_OK) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _remove_old(home: Path) -> None:
    """Only folders that are named as ours are: whatever else lies there is somebody's."""
    ours = [f for f in home.iterdir() if re.fullmatch(f"[0-9a-f]{{{DIGITS}}}", f.name) and f.is_dir()]
    for old in sorted(ours, key=lambda f: f.stat().st_mtime, reverse=True)[FOLDERS_KEPT:]:
        shutil.rmtree(old, ignore_errors=True)


@functools.cache
def source_digest() -> str:
    """Of every Python file of the package, names and contents."""
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root)} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:DIGITS]
