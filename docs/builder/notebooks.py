"""Convert notebooks to pages: text, code, and output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_cells(path: Path) -> list[dict[str, Any]]:
    """Return cells with `cell_type`, `source` as one text, and `printed`, None if no output is stored."""
    found = []
    for cell in json.loads(path.read_text())["cells"]:
        kept = [output for output in cell.get("outputs", ()) if output["output_type"] == "stream"]
        printed = "".join("".join(output["text"]) for output in kept) if kept else None
        found.append({**cell, "source": "".join(cell["source"]), "printed": printed})
    return found


def render_page(path: Path) -> str:
    parts = []
    for cell in read_cells(path):
        if cell["cell_type"] == "markdown":
            parts.append(cell["source"])
        else:
            parts.append(f"```python\n{cell['source']}\n```")
            if cell["printed"]:
                parts.append(f"```text\n{cell['printed'].rstrip()}\n```")
    return "\n\n".join(parts) + "\n"
