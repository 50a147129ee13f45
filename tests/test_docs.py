"""The README and the guide: every code block runs and says what it is said to say."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from novikoff.cli.main import main

ROOT = Path(__file__).parent.parent


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_python_of_the_readme() -> None:
    outputs = blocks("README.md", "text")
    for code, expected in zip(blocks("README.md", "python"), outputs, strict=False):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, {})  # noqa: S102 - our own page
        assert printed.getvalue() == expected


def test_the_shell_of_the_readme() -> None:
    """Each line as a user types it; the first must print the result that the page shows, times apart."""
    lines = [line for line in blocks("README.md", "sh")[1].splitlines() if line]
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    outputs = []
    for line in lines:
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=env, check=False)
        assert done.returncode == 0, (line, done.stderr)
        outputs.append(done.stdout)
    shown = blocks("README.md", "text")[-1]
    assert [row for row in outputs[0].splitlines() if "seconds" not in row] == [
        row for row in shown.splitlines() if "seconds" not in row
    ]


@pytest.mark.parametrize(
    "page",
    [
        "docs/guide.md",
        "docs/reading.md",
        "docs/concepts.md",
        "docs/labs.md",
        "docs/certificates.md",
        "docs/separable.md",
        "docs/theory.md",
        pytest.param("docs/multiclass.md", marks=pytest.mark.slow),
        "docs/online_to_batch.md",
        "docs/kernels.md",
        "docs/cluster.md",
    ],
)
def test_the_python_of_the_guides(page: str) -> None:
    names: dict[str, Any] = {}
    for code in blocks(page, "python"):
        exec(code, names)  # noqa: S102 - our own page


@pytest.mark.parametrize(
    "page",
    [
        "docs/reading.md",
        "docs/concepts.md",
        pytest.param("docs/labs.md", marks=pytest.mark.slow),
        "docs/certificates.md",
        "docs/separable.md",
        "docs/theory.md",
        pytest.param("docs/multiclass.md", marks=pytest.mark.slow),
        "docs/online_to_batch.md",
        pytest.param("docs/ensembles.md", marks=pytest.mark.slow),
        pytest.param("docs/network.md", marks=pytest.mark.slow),
        "docs/kernels.md",
        pytest.param("docs/cluster.md", marks=pytest.mark.slow),
    ],
)
def test_the_shell_of_the_pages(page: str) -> None:
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for script in blocks(page, "sh"):
        done = subprocess.run(["bash", "-ec", script], capture_output=True, text=True, env=env, check=False)
        assert done.returncode == 0, (script, done.stderr)


def test_the_theory_page_shows_what_is_printed() -> None:
    first = blocks("docs/theory.md", "sh")[0].split()[1:]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main(first) == 0
    assert printed.getvalue() == blocks("docs/theory.md", "text")[0]


@pytest.mark.parametrize("page", [pytest.param("docs/ensembles.md", marks=pytest.mark.slow), "docs/network.md"])
def test_pages_show_what_is_printed(page: str) -> None:
    names: dict[str, Any] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for code in blocks(page, "python"):
            exec(code, names)  # noqa: S102 - our own page
    assert printed.getvalue() == "".join(blocks(page, "text"))


def test_the_pages_name_only_what_is_there() -> None:
    for page in ("README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))):
        for link in re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text()):
            assert ((ROOT / page).parent / link).exists(), (page, link)
