"""The pages aside, as Sphinx is to read them: with pictures, tables of contents, and notebooks as pages."""

from __future__ import annotations

import re
from pathlib import Path

from docs.builder.navigation import contents
from docs.builder.notebooks import page_of
from docs.builder.pictures import figure

ROOT = Path(__file__).parents[2]
HOME = "README.md"
PICTURE = "<!-- picture -->\n"


def pages() -> list[Path]:
    """All that is written for readers, from the root of the repository."""
    top = [ROOT / name for name in (HOME, "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
    return [*top, *sorted((ROOT / "docs").rglob("*.md"))]


def notebooks() -> list[Path]:
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def stage(folder: Path) -> None:
    texts = {path.relative_to(ROOT): path.read_text() for path in pages()}
    texts |= {path.relative_to(ROOT).with_suffix(".md"): page_of(path) for path in notebooks()}
    names = {str(path.with_suffix("")) for path in texts} - {"README"}
    for path, text in texts.items():
        page = illustrated(text, path.stem)
        page = re.sub(r"(\]\([^)#:]*)\.ipynb", r"\1.md", page)
        if str(path) == HOME:
            place, page = folder / "index.md", f"{page}\n{contents(names)}\n"
        else:
            place, up = folder / path, "../" * (len(path.parts) - 1)
            page = page.replace(f"]({up}{HOME}", f"]({up}index.md")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(page)


def illustrated(text: str, name: str) -> str:
    return text.replace(PICTURE, figure(name)) if PICTURE in text else text
