"""A notebook as a page: its text, its code, and what it printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def cells(path: Path) -> list[dict[str, Any]]:
    """Each with `cell_type`, `source` as one text, and `printed`, None where no output is kept."""
    found = []
    for cell in json.loads(path.read_text())["cells"]:
        kept = [output for output in cell.get("outputs", ()) if output["output_type"] == "stream"]
        printed = "".join("".join(output["text"]) for output in kept) if kept else None
        found.append({**cell, "source": "".join(cell["source"]), "printed": printed})
    return found


def page_of(path: Path) -> str:
    parts = []
    for cell in cells(path):
        if cell["cell_type"] == "markdown":
            parts.append(cell["source"])
        else:
            parts.append(f"```python\n{cell['source']}\n```")
            if cell["printed"]:
                parts.append(f"```text\n{cell['printed'].rstrip()}\n```")
    return "\n\n".join(parts) + "\n"
