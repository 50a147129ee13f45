"""Write `src/novikoff/__init__.pyi`, which gives type checkers and editors the names that `novikoff` imports lazily.

    python scripts/write_stub.py

Run it after adding a learner or another public name; a test fails while the file is outdated.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STUB = ROOT / "src/novikoff/__init__.pyi"
sys.path.insert(0, str(ROOT / "src"))

HEAD = "# Written by scripts/write_stub.py: do not edit.\n"


def build_stub() -> str:
    """Return the text of the stub: an import of each public name from its module."""
    import novikoff

    imports = []
    for name in novikoff.__all__:
        if name in novikoff._MODULES:
            imports.append(("novikoff", name))
        elif name in novikoff._HOME:
            imports.append((f"novikoff.{novikoff._HOME[name]}", name))
        elif name != "__version__":
            imports.append((getattr(novikoff, name).__module__, name))
    lines = [f"from {module} import {name} as {name}\n" for module, name in sorted(imports)]
    return "".join([HEAD, "\n", *lines, "\n", "__version__: str\n", "__all__: list[str]\n"])


if __name__ == "__main__":
    STUB.write_text(build_stub(), encoding="utf-8")
    print(STUB.relative_to(ROOT))
