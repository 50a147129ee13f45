"""Compare the manifest of compiled kernels with the kernels that a test run called.

`python -m tests.compiled.check_manifest CALLED` reads a file that a test run wrote (NOVIKOFF_RECORD_KERNELS). With
--write the manifest is written from that file.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

from novikoff._compiled.jit import is_package_kernel, shared_functions
from novikoff._compiled.manifest import MANIFEST, ManifestEntry, read_manifest


def read_called(path: Path) -> set[ManifestEntry]:
    """Return the kernels of the package that are called with types of the package; tests define others."""
    lines = set(path.read_text().splitlines())
    kernels = {ManifestEntry(*line.split(" ", 1)) for line in lines}
    return {kernel for kernel in kernels if is_package_kernel(*kernel)}


def is_shared(kernel: ManifestEntry) -> bool:
    import_module(kernel.module)
    return kernel.name in shared_functions


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("called", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    listed = set(read_manifest())
    # Functions that kernels share are called by kernels alone.
    found = read_called(options.called) | {kernel for kernel in listed if is_shared(kernel)}
    if options.write:
        MANIFEST.write_text("".join(f"{k.name} {k.signature}\n" for k in sorted(found)))
        return 0
    for what, kernels in (("not in the manifest", found - listed), ("never called", listed - found)):
        for kernel in sorted(kernels):
            print(f"{what}: {kernel.name} {kernel.signature}", file=sys.stderr)
    print(f"{len(listed)} kernels in the manifest, {len(found)} called")
    return int(found != listed)


if __name__ == "__main__":
    sys.exit(main())
