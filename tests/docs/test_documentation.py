"""The documentation: every code block runs with the shown output, every link exists, every learner and command has a
page, and the site builds without a warning.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.builder.notebooks import read_cells
from docs.builder.pictures import PICTURES, render_figure
from docs.builder.staging import PICTURE, list_notebooks, list_pages
from novikoff import learner_registry, scheme_registry
from tests.helpers.paths import ROOT
from tests.helpers.run_documentation import PageRunner, parse_blocks

SLOW = {"docs/multiclass.md", "docs/ensembles.md", "docs/network.md", "docs/experiments.md", "docs/cluster.md"}
"""What takes long: whole data sets in many learners."""
RUN = [path for path in list_pages() if path.is_relative_to(ROOT / "docs")]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# --- What the README shows ---


def test_python_blocks_of_the_readme_run() -> None:
    code = [block.code for block in parse_blocks(ROOT / "README.md") if block.language == "python"]
    outputs = [block.code for block in parse_blocks(ROOT / "README.md") if block.language == "text"]
    for part, expected in zip(code, outputs, strict=False):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(part, {})  # noqa: S102 - our own page
        assert printed.getvalue() == expected


def test_shell_blocks_of_the_readme_run() -> None:
    """Each line runs as a user types it; the first prints the result that the page shows, except for times."""
    shell = [block.code for block in parse_blocks(ROOT / "README.md") if block.language == "sh"]
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    outputs = []
    for line in filter(None, shell[1].splitlines()):
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=env, check=False)
        assert done.returncode == 0, (line, done.stderr)
        outputs.append(done.stdout)
    shown = [block.code for block in parse_blocks(ROOT / "README.md") if block.language == "text"][-1]
    assert [row for row in outputs[0].splitlines() if "seconds" not in row] == [
        row for row in shown.splitlines() if "seconds" not in row
    ]


# --- All other pages, from top to bottom ---


@pytest.mark.parametrize(
    "page", [pytest.param(p, id=name(p), marks=[pytest.mark.slow] * (name(p) in SLOW)) for p in RUN]
)
def test_every_block_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    with PageRunner(page, tmp_path) as reader:
        reader.read()


@pytest.mark.parametrize("notebook", [pytest.param(path, id=path.stem) for path in list_notebooks()])
def test_every_cell_of_a_notebook_runs(notebook: Path) -> None:
    names: dict[str, object] = {}
    for cell in read_cells(notebook):
        if cell["cell_type"] == "code":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(cell["source"], str(notebook), "exec"), names)  # noqa: S102 - our own notebook
            if cell["printed"] is not None:
                assert printed.getvalue() == cell["printed"]


# --- What there is, and where links lead ---


def test_every_link_of_a_page_exists() -> None:
    for page in list_pages():
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).exists(), (name(page), link)


def test_every_learner_has_a_page_with_a_picture() -> None:
    written = {path.stem for path in (ROOT / "docs/learners").glob("*.md")} - {"README"}
    public = {*learner_registry.names(), *scheme_registry.names()} - learner_registry.VARIANTS.keys()
    assert written == {name.replace("-", "_") for name in public}
    assert written <= set(PICTURES)
    listed = (ROOT / "docs/learners/README.md").read_text()
    for page in sorted(written):
        text = (ROOT / f"docs/learners/{page}.md").read_text()
        assert PICTURE in text, page
        assert f"({page}.md)" in listed, page
        assert re.search(r"^```python$", text, re.MULTILINE), page


def test_every_command_has_a_page() -> None:
    from novikoff.cli.main import COMMANDS

    written = {path.stem for path in (ROOT / "docs/commands").glob("*.md")} - {"README"}
    assert written == set(COMMANDS)


@pytest.mark.parametrize("page", sorted(PICTURES))
def test_pictures_are_small_and_complete(page: str) -> None:
    drawn = render_figure(page)
    assert len(drawn) < 60_000
    parts = [element.tag.rpartition("}")[2] for element in ElementTree.fromstring(drawn).iter()]  # noqa: S314
    assert {"svg", "title", "figcaption"} <= set(parts)
    assert sum(tag in ("polyline", "rect", "circle", "polygon") for tag in parts) >= 3
    assert render_figure(page) == drawn


def test_the_site_builds_without_warnings_and_loads_nothing_external(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "docs.builder", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    made = sorted((tmp_path / "site").rglob("*.html"))
    assert len(made) > len(list_pages())
    loads = re.compile(
        r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(?:https?:)?//|<link\b[^>]*\bhref=["']?(?:https?:)?//(?!.*rel=["']?canonical)"""
    )
    for page in made:
        assert not loads.search(page.read_text()), page
    for sheet in (tmp_path / "site").rglob("*.css"):
        assert not re.search(r"""@import|url\(["']?(?:https?:)?//""", sheet.read_text()), sheet
