"""Decorators for kernels: Python functions that run compiled.

`compiled` marks a function for compilation, `generic` a function whose code depends on the class of its first argument
(a NamedTuple: a loss, an updater, a kind of rows). Kernels are compiled when the package is built and called from the
library that holds them (see `_compiled`). Others, such as those with a loss or an updater of the user, are compiled
by Numba when they are first called, where Numba is installed: the extra `jit`.

NUMBA_DISABLE_JIT=1 runs everything as plain Python, with the same results to the last bit.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

from novikoff._compiled.buffers import Buffer, UInt64, as_numpy, numpy_module
from novikoff._compiled.lazy_numpy import LazyNumpy
from novikoff._compiled.library import load_library
from novikoff._compiled.signature import TypeSample, describe_call, without_read_only
from novikoff.errors import NovikoffError

P = ParamSpec("P")
R = TypeVar("R")

JIT_DISABLED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
RECORD_VARIABLE = "NOVIKOFF_RECORD_KERNELS"
"""A file to which the name and signature of every kernel that is called are written."""
IS_STRICT = os.environ.get("NOVIKOFF_JIT", "1") == "0"
"""Whether a kernel of the package that is not in the library is an error even where Numba is installed."""
# Compiled code never raises (division by zero gives inf or nan, as the hardware has it), never allocates (so there are
# no references to count, which would cost more than the loop), and is one piece. No fastmath: certificates compare
# numbers.
COMPILE_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "forceinline": True}
extra_compile_options: dict[str, Any] = {}
"""For all functions that are compiled in this process from now on."""

NO_NUMBA_MESSAGE = (
    "This combination is not in the compiled library: install Numba, which compiles it when it is first used "
    "(pip install 'novikoff[jit]')."
)

seconds_compiling = 0.0
"""Of this process; where threads compile at the same time, the sum."""
_lock = threading.RLock()  # several threads may need their first compiled function at the same time
_generics: list[tuple[Callable[..., Any], Callable[..., Any]]] = []
_numba: Any = None


def announce_compiling(name: str) -> None:
    """Print that a function is being compiled, which takes seconds."""
    print(f"Compiling {name} (first use only) …", file=sys.stderr)


functions: dict[str, CompiledFunction[Any, Any]] = {}
"""All compiled functions of the modules that are imported, by name."""


shared_functions: set[str] = set()
"""The names of those that the library has once."""


class CompiledFunction(Generic[P, R]):
    """A function with compiled code for each combination of argument types."""

    def __init__(self, function: Callable[P, R], *, reader: bool = False, **options: bool) -> None:
        """Mark the function; `reader` says that the code for writable arrays serves read-only ones."""
        self.function, self.reader = function, reader
        self.options = COMPILE_OPTIONS | options
        self.entries: dict[Any, Callable[..., R]] = {}
        functools.update_wrapper(self, function)
        functions[self.name] = self

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        entry = self.entries.get(type_key(args))
        return self.bound(*args)(*args) if entry is None else entry(*args)

    @property
    def name(self) -> str:
        return f"{self.function.__module__}.{self.function.__qualname__}"

    def bound(self, *samples: Any) -> Callable[..., R]:
        """Return the compiled code for arguments of the types of these samples.

        It does not check the types at each call, which would cost one example more than learning; the caller must pass
        these types.
        """
        key = type_key(samples)
        entry = self.entries.get(key)
        if entry is None:
            with _lock:
                entry = self.entries[key] = self._find(samples)
        return entry

    def _find(self, samples: tuple[Any, ...]) -> Callable[..., R]:
        signature = describe_call(samples)
        if self.reader:
            signature = without_read_only(signature)
        _record(self.name, signature)
        found = load_library()
        entry = None if found is None else found.find(self.name, signature)
        if entry is None:
            return self._compile(samples, signature)
        return (lambda *args: entry(*map(_to_call_arguments, args))) if _has_buffers(samples) else entry

    def _compile(self, samples: tuple[Any, ...], signature: str) -> Callable[..., R]:
        if IS_STRICT and is_package_kernel(self.name, signature):
            raise NotInLibrary(f"{self.name} is not in the compiled library (see `make kernels`) for: {signature}")
        numba = numba_module()
        announce_compiling(self.function.__name__)
        began = time.perf_counter()
        arg_types = tuple(_numba_type(numba, sample) for sample in samples)
        self.dispatcher.compile(arg_types)
        entry: Callable[..., R] = self.dispatcher.overloads[arg_types].entry_point
        _add_seconds(time.perf_counter() - began)
        return (lambda *args: entry(*map(as_numpy, args))) if _has_buffers(samples) else entry

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Return Numba's dispatcher."""
        numba = numba_module()
        dispatcher = numba.njit(_with_numpy(self.function), **self.options, **extra_compile_options)
        template = dispatcher.get_call_template

        def of_types(args: Any, kws: Any) -> Any:
            return template([numba.types.unliteral(a) for a in args], kws)

        # Numba would compile a function once more for every number that is written out where it is called.
        dispatcher.get_call_template = of_types
        return dispatcher


class NotInLibrary(NovikoffError):
    """A kernel would have to be compiled, and can't be."""


def _numba_type(numba: Any, sample: Any) -> Any:
    if isinstance(sample, TypeSample):
        return numba.types.Optional(numba.typeof(as_numpy(sample.value)))
    return numba.typeof(as_numpy(sample))


def _to_call_arguments(value: Any) -> Any:
    """Return buffers as entry points take them."""
    if type(value) is Buffer:
        return value.call_arguments()
    if isinstance(value, tuple):
        return tuple(map(_to_call_arguments, value))
    return value


def _has_buffers(value: Any) -> bool:
    return type(value) is Buffer or (isinstance(value, tuple) and any(map(_has_buffers, value)))


def is_package_kernel(name: str, signature: str) -> bool:
    """Return whether a kernel, and all classes in its signature, belong to the package."""
    return all(part.startswith(("novikoff.", "tuple")) for part in (name, *re.findall(r"\(([\w.]+)", signature)))


def _record(name: str, signature: str) -> None:
    path = os.environ.get(RECORD_VARIABLE)
    if path:
        with contextlib.suppress(OSError), open(path, "a", encoding="utf-8") as file:
            file.write(f"{name} {signature}\n")


def _add_seconds(more: float) -> None:
    global seconds_compiling  # noqa: PLW0603 - for the command line, whose runs are processes
    with _lock:
        seconds_compiling += more


class PythonFunction(Generic[P, R]):
    """The interface of `CompiledFunction` without compiling (NUMBA_DISABLE_JIT=1)."""

    def __init__(self, function: Callable[P, R]) -> None:
        self.function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def bound(self, *samples: Any) -> Callable[..., R]:
        return self.function


Like = TypeSample


def compiled(function: Callable[P, R]) -> CompiledFunction[P, R] | PythonFunction[P, R]:
    """Mark a function to be compiled."""
    return PythonFunction(function) if JIT_DISABLED else CompiledFunction(function)


def compiled_with_gil(function: Callable[P, R]) -> CompiledFunction[P, R] | PythonFunction[P, R]:
    """Mark a function so short that releasing the GIL would cost more than it does."""
    return PythonFunction(function) if JIT_DISABLED else CompiledFunction(function, nogil=False)


def compiled_read_only(function: Callable[P, R]) -> CompiledFunction[P, R] | PythonFunction[P, R]:
    """Mark a function that writes to no array but those of its results: the arrays of a model may be read-only."""
    return PythonFunction(function) if JIT_DISABLED else CompiledFunction(function, reader=True)


def compiled_read_only_with_gil(function: Callable[P, R]) -> CompiledFunction[P, R] | PythonFunction[P, R]:
    """Mark a function that is both short and a reader."""
    return PythonFunction(function) if JIT_DISABLED else CompiledFunction(function, reader=True, nogil=False)


def compiled_shared(function: Callable[P, R]) -> CompiledFunction[P, R] | PythonFunction[P, R]:
    """Mark a function that the library has once: kernels call it, where they would have copies of others.

    For large code that does not depend on the types that kernels differ in. The manifest lists it with its one
    signature.
    """
    if JIT_DISABLED:
        return PythonFunction(function)
    made = CompiledFunction(function, forceinline=False)
    shared_functions.add(made.name)
    return made


def compiled_not_inlined(function: Callable[P, R]) -> CompiledFunction[P, R] | PythonFunction[P, R]:
    """Mark a function that is large and seldom called: a copy in each caller would cost more compile time than it
    saves."""
    return PythonFunction(function) if JIT_DISABLED else CompiledFunction(function, forceinline=False)


class _GenericFunction(Generic[P, R]):
    """The type of what `generic` returns."""

    of: Callable[[type], Callable[[Callable[..., R]], Callable[..., R]]]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...  # type: ignore[empty-body]


def generic(default: Callable[P, R]) -> _GenericFunction[P, R]:
    """Return a function with one body per class of its first argument, added by `@name.of(Class)`; for others the
    default."""
    bodies: dict[type, Callable[..., Any]] = {}

    @functools.wraps(default)
    def call(*args: Any) -> Any:
        return bodies.get(type(args[0]), default)(*args)

    def of(cls: type) -> Callable[[Callable[..., R]], Callable[..., R]]:
        def add(body: Callable[..., R]) -> Callable[..., R]:
            bodies[cls] = body
            return body

        return add

    def choose(*types: Any) -> Callable[..., Any]:
        return bodies.get(getattr(types[0], "instance_class", object), default)

    call.of = of  # type: ignore[attr-defined]
    _generics.append((call, choose))
    return call  # type: ignore[return-value]


def primitive(python: Callable[P, R], code: Callable[..., Any]) -> Callable[P, R]:
    """Return a function with hand-written machine code.

    `code(numba, *types)` returns what `numba.extending.intrinsic` wants. `python` defines the result, and runs without
    Numba.
    """

    def choose(*types: Any) -> Callable[..., Any]:
        return code(numba_module(), *types)

    _generics.append((python, choose))
    return python


def cpu_has(target: Any, features: tuple[str, ...]) -> bool:
    """Return whether the processor that Numba compiles for has all of these features, by LLVM's names."""
    available = str(getattr(target.codegen(), "_tm_features", "")).split(",")
    return all(f"+{feature}" in available for feature in features)


def numba_module() -> Any:
    """Return Numba, imported on first need, with the generic functions registered."""
    global _numba  # noqa: PLW0603 - imported once, on first need
    with _lock:
        if _numba is None:
            try:
                import numba
                import numba.extending
            except ImportError:
                raise NotInLibrary(NO_NUMBA_MESSAGE) from None

            @numba.extending.typeof_impl.register(CompiledFunction)
            def _type_of_compiled(value: CompiledFunction[Any, Any], context: Any) -> Any:
                return numba.types.Dispatcher(value.dispatcher)

            @numba.extending.typeof_impl.register(UInt64)
            def _type_of_unsigned(value: UInt64, context: Any) -> Any:
                return numba.types.uint64

            _numba = numba
        _register_generics()
    return _numba


def _register_generics() -> None:
    while _generics:
        call, choose = _generics.pop()
        _numba.extending.overload(call, strict=False, jit_options=COMPILE_OPTIONS | extra_compile_options)(
            _with_numpy_chosen(choose)
        )


def _with_numpy_chosen(choose: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *types: _with_numpy(choose(*types))


def _with_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with NumPy itself for `np`, and NumPy's arrays for buffers: Numba does not know the lazily
    imported module and the buffers."""
    module_globals = function.__globals__
    if type(module_globals.get("np")) is not LazyNumpy:
        return function
    constants = {name: module_globals[name] for name in function.__code__.co_names if name in module_globals}
    arrays = {name: value.numpy() for name, value in constants.items() if type(value) is Buffer}
    globals_ = {**module_globals, **arrays, "np": numpy_module()}
    rebound = FunctionType(function.__code__, globals_, function.__name__, function.__defaults__, function.__closure__)
    rebound.__kwdefaults__, rebound.__qualname__ = function.__kwdefaults__, function.__qualname__
    return rebound


def type_key(value: Any) -> Any:
    """Return a key that no two values of different compiled types share."""
    kind = type(value)
    if kind is int or kind is float or kind is bool:
        return kind
    if kind is Buffer:
        return Buffer, value.dtype.char, len(value.shape), value.cells.readonly
    if issubclass(kind, tuple):
        return (kind, *map(type_key, value))
    if hasattr(kind, "__array_interface__"):
        return value.dtype, value.ndim, value.flags.num
    if kind is TypeSample:
        return TypeSample, type_key(value.value)
    return kind
