"""Compiled Python: the only module that imports Numba.

`compiled` marks a function for compilation, `generic` a function whose code depends on the class of its first argument
(a NamedTuple: a rule, a geometry, a kind of rows). Numba itself is imported when a compiled function is first called,
so that importing novikoff stays light.

Numba's disk cache watches only the file of the outermost function, while ours are made of pieces from many files. The
cache therefore lives in one folder per digest of all sources of the package: an edit anywhere means a new folder.

What was compiled once is later called without Numba, whose import takes longer than learning a small file: see
`_lean.py`. NOVIKOFF_LEAN=0 leaves that out, NUMBA_DISABLE_JIT=1 runs everything as plain Python: all with the same
results, to the last bit.
"""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from novikoff import _arrays, _lean, _sources
from novikoff._sources import DIGITS, sha256

if TYPE_CHECKING:
    from pathlib import Path

P = ParamSpec("P")
R = TypeVar("R")

DISABLED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
LEAN = _lean.POSSIBLE and os.environ.get("NOVIKOFF_LEAN", "1") != "0"
# Compiled code never raises (division by zero gives inf or nan, as the hardware has it), never allocates (so there are
# no references to count, which would cost more than the loop), and is one piece. No fastmath: certificates compare
# numbers.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "forceinline": True}
FOLDERS_KEPT = 4

on_compiling: Callable[[str], None] | None = None
"""Told the name of each function that has to be compiled."""
seconds_compiling = 0.0
"""Of this process; where threads compile at the same time, the sum."""
_lock = threading.RLock()  # several threads may need their first compiled function at the same time
_generics: list[tuple[Callable[..., Any], Callable[..., Any]]] = []
_numba: Any = None


class Compiled(Generic[P, R]):
    """A function that Numba compiles when it is first called, once for each combination of argument types."""

    def __init__(self, function: Callable[P, R], **options: bool) -> None:
        self.function = function
        self.options = OPTIONS | options
        self.lean: dict[str, Callable[[list[Any]], R]] = {}
        self.entries: dict[Any, Callable[..., R]] = {}
        """What `bound` has given, by the types of its samples: Numba takes half a millisecond to find them."""
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if not LEAN or "dispatcher" in self.__dict__ or kwargs:
            return self.dispatcher(*_arrays.of_numpy(args), **kwargs)
        try:
            kinds, words = _lean.flattened(args)
        except _lean.Unsuitable:
            return self.dispatcher(*_arrays.of_numpy(args))
        call = self.lean.get(kinds) or self._loaded(kinds, words)
        return self.dispatcher(*_arrays.of_numpy(args)) if call is None else call(words)

    @property
    def name(self) -> str:
        return f"{self.function.__module__}.{self.function.__qualname__}"

    def _loaded(self, kinds: str, words: list[Any]) -> Callable[[list[Any]], R] | None:
        """The machine code of an earlier process, if there is any."""
        with _lock:
            if kinds not in self.lean:
                code = _lean.find(code_folder(), self.name, kinds)
                if code is None:
                    return None
                try:
                    self.lean[kinds] = _lean.loaded(code, words, brief=not self.options["nogil"])
                except _lean.Unsuitable:
                    return None
            return self.lean[kinds]

    def _compile(self, compile_for: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """What Numba does about arguments of new types; the machine code is kept for later processes, of all types that
        come, so that a second run like this one compiles nothing."""
        try:
            kinds = _lean.flattened(args)[0] if LEAN else None
        except _lean.Unsuitable:
            kinds = None
        if kinds is None or _lean.find(code_folder(), self.name, kinds) is not None:
            return compile_for(*args)
        if on_compiling is not None:
            on_compiling(self.function.__name__)
        began = time.perf_counter()
        result = compile_for(*args)
        signature = tuple(map(_numba.typeof, args))
        made = self.dispatcher.overloads.get(signature)
        code = None if made is None else _code_of(made)
        if code is not None and not code.object:  # Numba had it in its own cache, where object code is not to be had
            again = _numba.njit(self.function, **self.options)
            again.compile(signature)
            code = _code_of(again.overloads[signature])
        if code is not None and code.object:
            _lean.keep(code_folder(), self.name, kinds, code)
        _add_seconds(time.perf_counter() - began)
        return result

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Numba's own object, made with its cache in our folder; the setting is put back for other users of Numba."""
        numba = numba_module()
        with _lock:
            kept, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(cache_folder())
            try:
                dispatcher = numba.njit(self.function, cache=True, **self.options)
            finally:
                numba.config.CACHE_DIR = kept
        template, compile_for = dispatcher.get_call_template, dispatcher._compile_for_args

        def of_types(args: Any, kws: Any) -> Any:
            return template([numba.types.unliteral(a) for a in args], kws)

        # Numba would compile a function anew for every number that is written out where it is called.
        dispatcher.get_call_template = of_types
        # Here, not where it is called: machine code does not come back to Python for arguments of types that it knows.
        dispatcher._compile_for_args = lambda *args: self._compile(compile_for, args)
        return dispatcher

    def bound(self, *samples: Any) -> Callable[..., R]:
        """The machine code for arguments of the types of these samples, without Numba's look at the types at each call:
        for one example at a time that look costs more than learning. The caller answers for the types of its arguments.
        """
        key = _type_key(samples)
        entry = self.entries.get(key) if key is not None else None
        if entry is None:
            dispatcher = self.dispatcher
            signature = tuple(
                _numba.types.Optional(_numba.typeof(s.value)) if isinstance(s, Like) else _numba.typeof(s)
                for s in samples
            )
            dispatcher.compile(signature)
            entry = dispatcher.overloads[signature].entry_point
            if key is not None:
                self.entries[key] = entry
        return entry


def _add_seconds(more: float) -> None:
    global seconds_compiling  # noqa: PLW0603 - for the command line, whose runs are processes
    with _lock:
        seconds_compiling += more


def _code_of(made: Any) -> _lean.Code | None:
    """What there is to keep of a function; without its machine code where another process has compiled it."""
    kind = made.signature.return_type
    items = [str(item) for item in kind] if isinstance(kind, _numba.types.BaseTuple) else [str(kind)]
    try:
        result = "".join(_lean.RESULTS[item] for item in items)
    except KeyError:
        return None
    try:
        content = made.library._get_compiled_object()
    except RuntimeError:
        content = b""
    return _lean.Code(made.fndesc.llvm_func_name, result, content)


class Plain(Generic[P, R]):
    """The same face without Numba (NUMBA_DISABLE_JIT=1)."""

    def __init__(self, function: Callable[P, R]) -> None:
        self.function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def bound(self, *samples: Any) -> Callable[..., R]:
        return self.function


def _type_key(value: Any) -> Any:
    """Return a key that no two values of different Numba types share; None where that can't be said."""
    if isinstance(value, tuple):
        parts = tuple(map(_type_key, value))
        return None if None in parts else (type(value), parts)
    if isinstance(value, Like):
        inside = _type_key(value.value)
        return None if inside is None else (Like, inside)
    if isinstance(value, float):
        return float
    if type(value) is int:
        return int if -(2**31) < value < 2**31 else None  # others may be of another type
    if hasattr(value, "flags") and hasattr(value, "ndim"):
        return value.dtype, value.ndim, value.flags.num
    return None


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
    return call  # type: ignore[return-value]


def primitive(python: Callable[P, R], code: Callable[..., Any]) -> Callable[P, R]:
    """A function with hand-made machine code: `code(numba, *types)` returns what `numba.extending.intrinsic` wants.
    `python` is its meaning, and what runs without Numba."""

    def choose(*types: Any) -> Callable[..., Any]:
        return code(numba_module(), *types)

    _generics.append((python, choose))
    return python


def machine_has(target: Any, features: tuple[str, ...]) -> bool:
    """Whether the machine that Numba compiles for has all of these, by the names that LLVM gives them."""
    there = str(getattr(target.codegen(), "_tm_features", "")).split(",")
    return all(f"+{feature}" in there for feature in features)


def numba_module() -> Any:
    """Numba, imported on first need, with our generic functions made known to it."""
    global _numba  # noqa: PLW0603 - imported once, on first need
    with _lock:
        if _numba is None:
            _arrays.settled()
            import numba
            import numba.extending

            @numba.extending.typeof_impl.register(Compiled)
            def _type_of_compiled(value: Compiled[Any, Any], context: Any) -> Any:
                return numba.types.Dispatcher(value.dispatcher)

            _numba = numba
        _register_generics()
    return _numba


def _register_generics() -> None:
    while _generics:
        call, choose = _generics.pop()
        _numba.extending.overload(call, strict=False, jit_options=OPTIONS)(choose)


def cache_folder() -> Path:
    """This version's own folder in the user's cache folder; a temporary one where that is not private or writable."""
    from pathlib import Path

    return Path(_folder())


@functools.cache
def _folder() -> str:
    home = _home()
    try:
        if home is None:
            raise PermissionError("there is no private folder")
        folder = os.path.join(home, source_digest())
        fresh = not os.path.exists(folder)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if not _is_private(folder):
            raise PermissionError(f"{folder} can be written by others")
        os.utime(folder)
    except OSError:
        import tempfile

        return tempfile.mkdtemp(prefix="novikoff-")
    if fresh:
        _remove_old(home)
    return folder


@functools.cache
def _home() -> str | None:
    """The user's cache folder; None where others can write it, or nobody."""
    home = os.environ.get("NOVIKOFF_CACHE")
    if not home:
        home = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "novikoff")
    if home.startswith("~"):  # whose home that is, nobody knows
        return None
    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        return home if _is_private(home) else None
    except OSError:
        return None


@functools.cache
def code_folder() -> str:
    """Where machine code for this very machine and these versions of Numba and LLVM is kept."""
    from importlib.machinery import PathFinder

    digest = sha256()
    for package in ("numba", "llvmlite"):
        spec = PathFinder.find_spec(package)
        if spec is None or not spec.origin:
            digest.update(b"?")
            continue
        with open(os.path.join(os.path.dirname(spec.origin), "_version.py"), "rb") as file:
            digest.update(file.read())
    with open("/proc/cpuinfo", "rb") as file:
        lines = file.read().split(b"\n\n", 1)[0].splitlines()
    digest.update(b"\n".join(line for line in lines if line.startswith((b"model name", b"flags"))))
    for variable in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"):  # where Numba is told to compile for another machine
        digest.update(os.environ.get(variable, "").encode() + b";")
    folder = os.path.join(_folder(), f"code-{digest.hexdigest()[:DIGITS]}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return folder


def _is_private(folder: str) -> bool:
    """Machine code is loaded from here: nobody else may be able to put any in."""
    status = os.stat(folder)
    mine = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    return mine and os.access(folder, os.W_OK) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _time_of(entry: os.DirEntry[str]) -> float:
    """When a file was changed; 0 where another process has just removed it."""
    try:
        return entry.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _remove_old(home: str) -> None:
    """Only folders and files that are named as ours are: whatever else lies there is somebody's."""
    import re
    import shutil

    newest_first = sorted(os.scandir(home), key=_time_of, reverse=True)
    for prefix in ("", re.escape(_sources.PREFIX)):
        ours = [f for f in newest_first if re.fullmatch(f"{prefix}[0-9a-f]{{{DIGITS}}}", f.name)]
        for old in ours[FOLDERS_KEPT:]:
            if old.is_dir():
                shutil.rmtree(old.path, ignore_errors=True)
            else:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(old.path)


@functools.cache
def source_digest() -> str:
    """Of every Python file of the package, names and contents."""
    return _sources.digest(os.path.dirname(__file__), _home())
