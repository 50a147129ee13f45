"""python -m docs.builder [FOLDER]: build the site into FOLDER (default: `site`). Warnings are errors."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from docs.builder.staging import ROOT, stage


def build(out: Path) -> int:
    """Build the site and return Sphinx's exit code. Warnings, such as broken links, are errors."""
    from sphinx.cmd.build import main as sphinx

    with tempfile.TemporaryDirectory() as folder:
        staged, made = Path(folder, "pages"), Path(folder, "site")
        stage(staged)
        settings = str(Path(__file__).parent)
        failed = sphinx(["-q", "-W", "--keep-going", "-b", "html", "-c", settings, str(staged), str(made)])
        if not failed:
            shutil.rmtree(made / ".doctrees", ignore_errors=True)
            shutil.rmtree(out, ignore_errors=True)
            shutil.copytree(made, out)
    return failed


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"
    code = build(place)
    if not code:
        print(f"The site is in {place}: open {place / 'index.html'}")
    sys.exit(code)
