"""Copy the pages for Sphinx: with pictures, tables of contents, and notebooks as pages."""

from __future__ import annotations

import re
from pathlib import Path

from docs.builder.navigation import build_contents
from docs.builder.notebooks import render_page
from docs.builder.pictures import render_figure

ROOT = Path(__file__).parents[2]
HOME = "README.md"
PICTURE = "<!-- picture -->\n"


def list_pages() -> list[Path]:
    """Return the paths of all pages."""
    top = [ROOT / name for name in (HOME, "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
    return [*top, *sorted((ROOT / "docs").rglob("*.md"))]


def list_notebooks() -> list[Path]:
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def stage(folder: Path) -> None:
    texts = {path.relative_to(ROOT): path.read_text() for path in list_pages()}
    texts |= {path.relative_to(ROOT).with_suffix(".md"): render_page(path) for path in list_notebooks()}
    names = {str(path.with_suffix("")) for path in texts} - {"README"}
    for path, text in texts.items():
        page = insert_picture(text, path.stem)
        page = re.sub(r"(\]\([^)#:]*)\.ipynb", r"\1.md", page)
        if str(path) == HOME:
            place, page = folder / "index.md", f"{page}\n{build_contents(names)}\n"
        else:
            place, up = folder / path, "../" * (len(path.parts) - 1)
            page = page.replace(f"]({up}{HOME}", f"]({up}index.md")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(page)


def insert_picture(text: str, name: str) -> str:
    return text.replace(PICTURE, render_figure(name)) if PICTURE in text else text
