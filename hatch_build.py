"""Build the compiled library into wheels.

A wheel that pip builds is for this machine: it has the library for its CPU level. Wheels for publication have all
levels, and are linked so that they run on older systems (NOVIKOFF_WHEEL=portable, see `make wheel`). If the library
can't be built, the wheel has none, and Numba compiles kernels at their first use.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PORTABLE = os.environ.get("NOVIKOFF_WHEEL") == "portable"
TAG = "py3-none-manylinux_2_17_x86_64" if PORTABLE else "py3-none-linux_x86_64"
WITHOUT = (
    "novikoff: the library of kernels could not be built ({}): install novikoff[jit] to compile them on first use."
)


class KernelBuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        root = Path(self.root)
        folder = root / "build" / "wheel"
        problem = self._build(root, folder)
        if problem is not None:
            if PORTABLE:
                raise SystemExit(problem)
            print(WITHOUT.format(problem), file=sys.stderr)
            return
        build_data["pure_python"] = False
        build_data["tag"] = TAG
        for path in sorted(folder.iterdir()):
            build_data["force_include"][str(path)] = f"novikoff/_compiled/lib/{path.name}"

    def _build(self, root: Path, folder: Path) -> str | None:
        """Build the library; return the reason if that failed, else None."""
        if (sys.platform, platform.machine()) != ("linux", "x86_64"):
            return "it is for Linux on x86-64"
        levels = ["--level", "all", "--portable"] if PORTABLE else ["--level", "host"]
        command = [sys.executable, "-m", "novikoff._compiled.build", "--wheel", str(folder), *levels]
        path = os.pathsep.join(part for part in (str(root / "src"), os.environ.get("PYTHONPATH")) if part)
        done = subprocess.run(  # noqa: S603 - ourselves, no shell
            command, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.PIPE, text=True, check=False
        )
        print(done.stderr, file=sys.stderr)
        return None if done.returncode == 0 else done.stderr.strip().rpartition("\n")[2] or "the compiler failed"
