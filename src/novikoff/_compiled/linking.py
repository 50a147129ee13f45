"""Object files to libraries: by the C compiler of the machine, or by the package ziglang, whose libraries also run on
older systems (glibc 2.17)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

ZIG_ARGUMENTS = ("-m", "ziglang", "cc", "-target", "x86_64-linux-gnu.2.17")
LINKER_OPTIONS = ("-shared", "-s", "-Wl,--build-id=none", "-Wl,-z,noexecstack", "-Wl,-z,relro")


class LinkerNotFound(Exception):
    """Neither a C compiler nor ziglang is there."""


def find_linker(*, portable: bool) -> list[str]:
    """Return the linker command; `portable` asks for one whose libraries run on older systems, too."""
    if portable or not (found := os.environ.get("CC") or shutil.which("cc")):
        if find_spec("ziglang") is None:
            raise LinkerNotFound("no C compiler (cc) was found, and the package ziglang is not installed")
        return [sys.executable, *ZIG_ARGUMENTS]
    return [found]


def link(objects: Sequence[Path], target: Path, *, portable: bool = False) -> None:
    """Link the library beside its place, then rename it: another process sees all of it or nothing."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    command = [*find_linker(portable=portable), *LINKER_OPTIONS, "-o", str(temporary), *map(str, objects), "-lm"]
    subprocess.run(command, check=True)  # noqa: S603 - the linker of this machine
    os.replace(temporary, target)


CPU_CODE = """
target triple = "x86_64-unknown-linux-gnu"

define void @novikoff_cpuid(i32 %leaf, ptr %out) {
  %found = call { i32, i32, i32, i32 } asm sideeffect "cpuid",
    "={ax},={bx},={cx},={dx},{ax},{cx},~{dirflag},~{fpsr},~{flags}"(i32 %leaf, i32 0)
  %a = extractvalue { i32, i32, i32, i32 } %found, 0
  %b = extractvalue { i32, i32, i32, i32 } %found, 1
  %c = extractvalue { i32, i32, i32, i32 } %found, 2
  %d = extractvalue { i32, i32, i32, i32 } %found, 3
  store i32 %a, ptr %out
  %out.b = getelementptr i32, ptr %out, i64 1
  store i32 %b, ptr %out.b
  %out.c = getelementptr i32, ptr %out, i64 2
  store i32 %c, ptr %out.c
  %out.d = getelementptr i32, ptr %out, i64 3
  store i32 %d, ptr %out.d
  ret void
}

define void @novikoff_xgetbv(ptr %out) {
  %found = call { i32, i32 } asm sideeffect "xgetbv", "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}"(i32 0)
  %a = extractvalue { i32, i32 } %found, 0
  %d = extractvalue { i32, i32 } %found, 1
  store i32 %a, ptr %out
  %out.d = getelementptr i32, ptr %out, i64 1
  store i32 %d, ptr %out.d
  ret void
}
"""


def write_cpu_object(path: Path) -> None:
    """Write code for any x86-64 processor that queries its features."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    machine = llvm.Target.from_triple("x86_64-unknown-linux-gnu").create_target_machine(cpu="x86-64", reloc="pic")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(machine.emit_object(llvm.parse_assembly(CPU_CODE)))
