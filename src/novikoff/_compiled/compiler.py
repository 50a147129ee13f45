"""Compile kernels ahead of time: for a CPU level, from the text of their signatures, to object code.

Needs Numba, and is the only module that uses its internals. A process that compiles ahead of time does nothing else:
Numba's code generator is replaced in it.

Functions inside a kernel are inlined. Numba would make machine code and wrappers of each, and optimise each for itself;
here all that is done once, for the whole kernel with its entry point. Functions marked by `compiled_shared` are not
part of the kernels that call them: the library has each of them once, which saves a third of the time for the loop over
many columns of weights.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
from numba import types
from numba.core import codegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.np.numpy_support import from_dtype

from novikoff._compiled import jit, manifest
from novikoff._compiled.cpu import LEVELS
from novikoff._compiled.entry_points import EntryPoint
from novikoff._compiled.signature import SAMPLE_MARK

OPTIMIZED_TWICE = (
    "novikoff.core.updaters.stacked_learners.StackedLearners",
    "novikoff.data.formats.json.parser.JsonParserState",
)
"""Classes in the signatures of kernels that gain from it: 1.06 x with many classes, 1.1 x for JSON lines. It takes a
quarter more time to compile."""
SCALAR_TYPES = {"q": types.int64, "Q": types.uint64, "d": types.float64, "?": types.boolean}


class ObjectCode(NamedTuple):
    """Object code of a kernel for one signature."""

    content: bytes
    modules: frozenset[str]
    """The modules whose functions are in it."""


# --- Signatures ---


def parse_signature(text: str) -> tuple[Any, ...]:
    """Return the argument types of a signature."""
    return tuple(_parse_types(iter(text.split())))


def _parse_types(words: Iterator[str]) -> Iterator[Any]:
    for word in words:
        if word == ")":
            return
        yield _parse_type(word, words)


def _parse_type(word: str, words: Iterator[str]) -> Any:
    if word in SCALAR_TYPES:
        return SCALAR_TYPES[word]
    if word == SAMPLE_MARK:
        return types.Optional(_parse_type(next(words), words))
    if word == "(tuple":
        return types.Tuple(list(_parse_types(words)))
    if word.startswith("("):
        module, _, name = word[1:].rpartition(".")
        return types.NamedTuple(list(_parse_types(words)), getattr(import_module(module), name))
    read_only = word.endswith("r")
    word = word.removesuffix("r")
    return types.Array(from_dtype(np.dtype(word[:-2])), int(word[-2]), word[-1], readonly=read_only, aligned=True)


# --- Code ---


class KernelCodeLibrary(codegen.AOTCodeLibrary):
    """Code of one function with all that it calls; optimised as a whole where it is a kernel with its entry point."""

    outermost = False

    def _get_module_for_linking(self) -> Any:
        """Return the code that goes into callers: none where the library has the function once."""
        if self._codegen.is_elsewhere(self.name):
            self._ensure_finalized()
            return llvm.parse_assembly("")
        return super()._get_module_for_linking()

    def _optimize_final_module(self) -> None:
        if self.outermost:
            self._codegen.name_shared(self._final_module)
        if self.outermost or self._codegen.optimizes_inner:
            super()._optimize_final_module()


class KernelCodegen(codegen.AOTCPUCodegen):
    _library_class = KernelCodeLibrary
    optimizes_inner = False
    """Whether functions inside a kernel are optimised by themselves, too."""
    kernel = ""
    """The name of the function that is compiled now."""

    def __init__(self, level: str) -> None:
        self._features = ",".join([*(f"+{feature}" for feature in LEVELS[level].features), *LEVELS[level].tuning])
        super().__init__("novikoff", cpu_name=LEVELS[level].cpu)

    @functools.cached_property
    def shared_symbols(self) -> dict[str, str]:
        """Return the symbol of each function that the library has once; all modules are imported by then."""
        shared = (kernel for kernel in manifest.read_manifest() if kernel.name in jit.shared_functions)
        return {kernel.name: f"{kernel.symbol}_body" for kernel in shared}

    def is_elsewhere(self, name: str) -> bool:
        """Return whether the kernel calls the function of this name in another object file."""
        return any(full.endswith(f".{name}") and full != self.kernel for full in self.shared_symbols)

    def name_shared(self, module: Any) -> None:
        """Give functions that the library has once their symbols, here and where they are called."""
        for function in list(module.functions):
            symbol = self.shared_symbols.get(".".join(_name_parts(function.name)))
            if symbol is not None:
                function.name, function.linkage, function.visibility = symbol, "external", "hidden"

    def _customize_tm_features(self) -> str:
        return self._features


class KernelCompiler:
    def __init__(self, level: str) -> None:
        from numba import _dynfunc

        jit.extra_compile_options.update(no_cpython_wrapper=True, no_cfunc_wrapper=True)
        self.codegen = KernelCodegen(level)
        self.context = cpu_target.target_context.subtarget(_internal_codegen=self.codegen, aot_mode=True)

        def executable(library: Any, descriptor: Any, environment: Any) -> Any:
            """Return a function object of its own, which is never called."""
            return _dynfunc.make_function(descriptor.lookup_module(), "function", "", 1, environment, (library,))

        self.context.get_executable = executable
        cpu_target.__dict__["_toplevel_target_context"] = self.context

    def compile(self, function: Any, signature: str, symbol: str) -> ObjectCode:
        """Compile one kernel; `function` is the result of the decorator `compiled`."""
        with global_compiler_lock:
            self.codegen.optimizes_inner = any(name in signature for name in OPTIMIZED_TWICE)
            self.codegen.kernel = function.name
            dispatcher = function.dispatcher
            arg_types = parse_signature(signature)
            dispatcher.compile(arg_types)
            made = dispatcher.overloads[arg_types]
            library = self.codegen.create_library(symbol)
            library.outermost = True
            module = library.create_ir_module(symbol)
            EntryPoint(self.context, module, symbol).write(
                made.fndesc, made.signature, release_lock=function.options["nogil"]
            )
            library.add_ir_module(module)
            library.add_linking_library(made.library)
            library.finalize()
            content = library._final_module
            exported = {symbol, *self.codegen.shared_symbols.values()}
            for one in content.functions:
                if not one.is_declaration and one.name not in exported:
                    one.linkage = "internal"
            for variable in content.global_variables:
                if not variable.is_declaration:
                    variable.linkage = "internal"
            return ObjectCode(self.codegen._tm.emit_object(content), frozenset(_modules_in(made.library, set())))


def _modules_in(library: Any, seen: set[int]) -> Iterator[str]:
    """Return the modules of novikoff whose functions are in a library, by the names of its symbols."""
    if id(library) in seen:
        return
    seen.add(id(library))
    for function in library._final_module.functions:
        parts = _name_parts(function.name)
        if parts[:1] == ["novikoff"]:
            yield from (name for k in range(1, len(parts)) if (name := ".".join(parts[:k])) in sys.modules)
    for inner in library._linking_libraries:
        yield from _modules_in(inner, seen)


def _name_parts(symbol: str) -> list[str]:
    """Return the parts of a symbol: of _ZN8novikoff5parts4loop5learn…: novikoff, parts, loop, learn."""
    parts, rest = [], symbol.removeprefix("_ZN")
    while rest is not symbol and (size := re.match(r"\d+", rest)):
        end = size.end() + int(size[0])
        parts.append(rest[size.end() : end])
        rest = rest[end:]
    return parts
