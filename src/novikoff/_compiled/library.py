"""Find the compiled library beside this file, check and load it, and look kernels up in it.

There is one file for each CPU level, and a list of checksums. In a checkout, where `make kernels` builds them, the list
also says from which source files each kernel was made; a kernel is not used if one of them has changed.
"""

from __future__ import annotations

import os
import sys
import threading
import zlib
from collections.abc import Callable
from typing import Any

from novikoff.errors import NovikoffError

LIBRARY_FOLDER = os.path.join(os.path.dirname(__file__), "lib")
CHECKSUM_FILE, CPU_FILE = "checksums.txt", "cpu.so"
CHECKSUM_HEADER = "novikoff kernels 1"
LEVEL_VARIABLE = "NOVIKOFF_CPU_LEVEL"
REINSTALL_ADVICE = "install novikoff again, or run `make kernels` in a checkout"
METH_FASTCALL = 0x80
IS_SUPPORTED_PLATFORM = (
    sys.platform == "linux"
    and os.uname().machine == "x86_64"
    and sys.implementation.name == "cpython"
    and "t" not in sys.abiflags  # without the global lock, Python's objects are laid out in another way
)


class LibraryError(NovikoffError):
    """The compiled library can't be used."""


def library_file_name(level: str) -> str:
    return f"kernels-{level}.so"


def symbol_name(name: str, signature: str) -> str:
    """Return the name of a kernel's entry point in the library."""
    try:  # without OpenSSL, which takes longer to load than all that is done here
        from _sha256 import sha256  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        from hashlib import sha256
    return f"novikoff_{sha256(f'{name} {signature}'.encode()).hexdigest()[:16]}"


class KernelSources:
    """Which kernels were made of which source files: (path, changed, size, checksum) of each file, and the numbers of
    the files of each kernel."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.files: list[tuple[str, int, int, int]] = []
        self.groups: list[frozenset[int]] = []
        self.group_of: dict[str, int] = {}
        self._stale: frozenset[int] | None = None

    def is_stale(self, symbol: str) -> bool:
        """Return whether a file that the kernel was made of has changed since."""
        if not self.files:  # an installed package: its files are those that it was built from
            return False
        if self._stale is None:
            self._stale = frozenset(k for k, file in enumerate(self.files) if self._has_changed(*file))
        return symbol not in self.group_of or bool(self._stale & self.groups[self.group_of[symbol]])

    def _has_changed(self, path: str, changed: int, size: int, checksum: int) -> bool:
        full = os.path.join(self.root, path)
        try:
            status = os.stat(full)
            if (status.st_mtime_ns, status.st_size) == (changed, size):
                return False
            with open(full, "rb") as file:
                return zlib.crc32(file.read()) != checksum
        except OSError:
            return True


class ChecksumList:
    """What the list says."""

    def __init__(self, folder: str) -> None:
        self.checksums: dict[str, int] = {}
        self.sources = KernelSources(os.path.dirname(os.path.dirname(folder)))
        path = os.path.join(folder, CHECKSUM_FILE)
        try:
            with open(path, encoding="utf-8") as file:
                first, *lines = file.read().splitlines()
            if first != CHECKSUM_HEADER:
                raise ValueError(first)
            for line in lines:
                self._read_entry(*line.split())
        except FileNotFoundError:
            return
        except (OSError, ValueError, TypeError) as problem:
            raise LibraryError(f"{path} is damaged ({problem}): {REINSTALL_ADVICE}.") from None

    def _read_entry(self, what: str, *rest: str) -> None:
        if what == "library":
            name, checksum = rest
            self.checksums[name] = int(checksum, 16)
        elif what == "file":
            path, changed, size, checksum = rest
            self.sources.files.append((path, int(changed), int(size), int(checksum, 16)))
        elif what == "group":
            self.sources.groups.append(frozenset(map(int, rest)))
        elif what == "kernel":
            name, group = rest
            self.sources.group_of[name] = int(group)
        else:
            raise ValueError(what)


class KernelLibrary:
    """Kernels for one CPU level."""

    def __init__(self, folder: str, forced: str | None) -> None:
        self.folder = folder
        self.list = ChecksumList(folder)
        self.level = self._level(forced)
        self.native: Any = None if self.level is None else self._load(library_file_name(self.level))
        self.methods: list[Any] = []
        """Descriptions of methods, which must live as long as the process."""

    def _level(self, forced: str | None) -> str | None:
        from novikoff._compiled.cpu import LEVELS, detect_level

        built = self.levels()
        if forced and forced not in LEVELS:
            raise LibraryError(f"{LEVEL_VARIABLE}={forced}: the CPU levels are {', '.join(LEVELS)}.")
        if not built:
            return None
        highest = detect_level(self._load(CPU_FILE))
        names = list(LEVELS)
        able = names[: names.index(highest) + 1] if highest else []
        usable = [level for level in built if level in able]
        if forced and forced not in usable:
            what = "this processor can't run it" if forced not in able else "it is not in the library"
            raise LibraryError(f"{LEVEL_VARIABLE}={forced}: {what}; there is {', '.join(usable) or 'none'}.")
        return forced or (usable[-1] if usable else None)

    def _load(self, name: str) -> Any:
        import ctypes

        path = os.path.join(self.folder, name)
        try:
            with open(path, "rb") as file:
                checksum = zlib.crc32(file.read())
        except OSError as problem:
            raise LibraryError(f"{path} can't be read ({problem.strerror}): {REINSTALL_ADVICE}.") from None
        if checksum != self.list.checksums.get(name):
            raise LibraryError(f"{path} is damaged, or not the one that belongs to this version: {REINSTALL_ADVICE}.")
        try:
            return ctypes.PyDLL(path)
        except OSError as problem:
            raise LibraryError(f"{path} can't be loaded ({problem}): {REINSTALL_ADVICE}.") from None

    def levels(self) -> list[str]:
        """Return the levels that the library has."""
        from novikoff._compiled.cpu import LEVELS

        return [level for level in LEVELS if library_file_name(level) in self.list.checksums]

    def find(self, name: str, signature: str) -> Callable[..., Any] | None:
        """Return the kernel as a function of its arguments; None where it is not in the library."""
        if self.native is None:
            return None
        found = symbol_name(name, signature)
        if self.list.sources.is_stale(found):
            return None
        try:
            function = getattr(self.native, found)
        except AttributeError:
            return None
        return self._method(name, function)

    def _method(self, name: str, function: Any) -> Callable[..., Any]:
        import ctypes

        class Method(ctypes.Structure):
            """PyMethodDef"""

            _fields_ = [
                ("name", ctypes.c_char_p),
                ("function", ctypes.c_void_p),
                ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p),
            ]

        method = Method(name.encode(), ctypes.cast(function, ctypes.c_void_p), METH_FASTCALL, None)
        self.methods.append(method)
        make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
            ("PyCFunction_NewEx", ctypes.pythonapi)
        )
        made: Callable[..., Any] = make(ctypes.addressof(method), None, None)
        return made


LOAD_LOCK = threading.Lock()
_library: KernelLibrary | None = None


def load_library() -> KernelLibrary | None:
    """Return the library of this process; None where it cannot be used."""
    global _library  # noqa: PLW0603 - loaded once, on first need
    if _library is None and IS_SUPPORTED_PLATFORM:
        with LOAD_LOCK:
            if _library is None:
                _library = KernelLibrary(LIBRARY_FOLDER, os.environ.get(LEVEL_VARIABLE))
    return _library
