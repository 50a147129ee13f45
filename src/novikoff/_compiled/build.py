"""Build the compiled library: `python -m novikoff._compiled.build`.

Every kernel of the manifest is compiled to an object file of its own, for each CPU level that is asked for; the object
files of a level are linked to one library. Needs Numba and a linker: `cc`, or the package ziglang.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from novikoff._compiled import library, manifest
from novikoff._compiled.cpu import LEVELS, detect_level
from novikoff._compiled.library import CHECKSUM_FILE, CHECKSUM_HEADER, CPU_FILE, library_file_name
from novikoff._compiled.linking import LinkerNotFound, link, write_cpu_object
from novikoff._compiled.manifest import PACKAGE, ManifestEntry
from novikoff._compiled.objects import COMPILER_FILES, ObjectStore, compile_kernels, find_shared_kernels

OBJECTS_FOLDER = PACKAGE.parent.parent / "build" / "kernels"
HOST_LEVEL, ALL_LEVELS = "host", "all"


class LibraryBuild:
    """Libraries in a folder, made of object files in another."""

    def __init__(self, folder: Path, objects: Path, *, portable: bool = False, watch: bool = True) -> None:
        """Set the folders.

        `portable` links for older systems, too; `watch` lists the source files, so that an edit is noticed.
        """
        self.folder, self.objects, self.portable, self.watch = folder, objects, portable, watch
        folder.mkdir(parents=True, exist_ok=True)

    def __call__(
        self, kernels: Sequence[ManifestEntry], levels: Sequence[str], jobs: int, *, quiet: bool = False
    ) -> None:
        """Compile these kernels and link the library; others of the manifest that were compiled before stay in it."""
        self._link_cpu()
        levels = [self.host_level() if level == HOST_LEVEL else level for level in levels]
        for level in levels:
            compile_kernels(kernels, level, self._store(level), jobs, quiet=quiet)
            shared = find_shared_kernels(self._store(level))
            compile_kernels(shared, level, self._store(level), jobs, quiet=quiet)
        for level in levels:
            made = self._find_objects(level)
            link([path for path, _ in made.values()], self.folder / library_file_name(level), portable=self.portable)
        for old in self.folder.glob("kernels-*.so"):
            if old.name not in map(library_file_name, levels):
                old.unlink()
        self._write_list(levels)

    def _store(self, level: str) -> ObjectStore:
        return ObjectStore(self.objects / level)

    def _find_objects(self, level: str) -> dict[ManifestEntry, tuple[Path, frozenset[str]]]:
        store = self._store(level)
        found = ((kernel, store.find(kernel)) for kernel in manifest.read_manifest())
        return {kernel: made for kernel, made in found if made is not None}

    def _link_cpu(self) -> None:
        code = self.objects / "cpu.o"
        write_cpu_object(code)
        link([code], self.folder / CPU_FILE, portable=self.portable)

    def host_level(self) -> str:
        level = detect_level(ctypes.CDLL(str(self.folder / CPU_FILE)))
        if level is None:
            raise SystemExit("This processor is older than x86-64-v2: Numba compiles kernels when they are first used.")
        return level

    def _write_list(self, levels: Sequence[str]) -> None:
        """Write checksums of the libraries, and the files they were made of."""
        names = [CPU_FILE, *map(library_file_name, levels)]
        lines = [CHECKSUM_HEADER, *(f"library {name} {_checksum(self.folder / name):08x}" for name in names)]
        lines += self._source_lines(levels[0]) if self.watch else []
        temporary = self.folder / f".{CHECKSUM_FILE}.{os.getpid()}.part"
        temporary.write_text("\n".join(lines) + "\n")
        os.replace(temporary, self.folder / CHECKSUM_FILE)

    def _source_lines(self, level: str) -> Iterator[str]:
        made_of = {kernel: {*files, *COMPILER_FILES} for kernel, (_, files) in self._find_objects(level).items()}
        files = sorted({name for group in made_of.values() for name in group})
        for name in files:
            status = (PACKAGE / name).stat()
            yield f"file {name} {status.st_mtime_ns} {status.st_size} {_checksum(PACKAGE / name):08x}"
        numbers = {name: str(k) for k, name in enumerate(files)}
        groups: dict[str, int] = {}
        for kernel, group in made_of.items():
            group_text = " ".join(numbers[name] for name in files if name in group)
            if group_text not in groups:
                groups[group_text] = len(groups)
                yield f"group {group_text}"
            yield f"kernel {kernel.symbol} {groups[group_text]}"


def _checksum(path: Path) -> int:
    return zlib.crc32(path.read_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m novikoff._compiled.build", description="Build the compiled library."
    )
    parser.add_argument(
        "--level", action="append", choices=[HOST_LEVEL, ALL_LEVELS, *LEVELS], help="default: that of this machine"
    )
    parser.add_argument("--first", action="store_true", help="only what a first `novikoff learn` needs")
    parser.add_argument("--wheel", type=Path, metavar="FOLDER", help="build for a wheel, in this folder")
    parser.add_argument("--portable", action="store_true", help="link with ziglang, for older systems too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    levels = options.level or [HOST_LEVEL]
    began = time.perf_counter()
    kernels = manifest.read_manifest(manifest.FIRST_KERNELS) if options.first else manifest.read_manifest()
    folder = options.wheel or Path(library.LIBRARY_FOLDER)
    build = LibraryBuild(folder, OBJECTS_FOLDER, portable=options.portable, watch=options.wheel is None)
    try:
        build(kernels, list(LEVELS) if ALL_LEVELS in levels else levels, options.jobs, quiet=options.quiet)
    except LinkerNotFound as problem:
        sys.exit(f"The compiled library can't be built: {problem}.")
    if not options.quiet:
        print(f"{len(kernels)} kernels built in {time.perf_counter() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
