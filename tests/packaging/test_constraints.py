"""Every dependency has a tested upper version in constraints.txt."""

from __future__ import annotations

import re
import tomllib

from tests.helpers.paths import ROOT

ONLY_COMPARED_WITH = {"liblinear-official"}


def test_every_dependency_has_a_tested_upper_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    named = {re.split(r"[^A-Za-z0-9._-]", requirement)[0] for group in groups for requirement in group}
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+<=[0-9][0-9.]*", line) for line in lines)
    assert sorted(line.split("<=")[0] for line in lines) == sorted(named - {"novikoff"} - ONLY_COMPARED_WITH)
