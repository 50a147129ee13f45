"""A learner is found by the name of its file: on the command line, in Python and in the dashboard."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import novikoff
from novikoff import learner_registry, scheme_registry
from novikoff.server import dashboard
from scripts.write_stub import STUB, build_stub
from tests.helpers.paths import ROOT

NEW_LEARNER = """
from novikoff.linear.perceptron import Perceptron

__all__ = ["HTPerceptron"]


class HTPerceptron(Perceptron):
    __doc__ = Perceptron.__doc__
"""
USE_OF_NEW_LEARNER = """
import novikoff
from novikoff import *
from novikoff.cli.main import main
from novikoff.model_factory import ModelSettings, build_learner
from novikoff.server import dashboard

assert HTPerceptron is novikoff.HTPerceptron is type(build_learner(ModelSettings("ht-perceptron")))
assert "HTPerceptron" in dir(novikoff)
assert b'value="ht-perceptron"' in dashboard.read_dashboard_file("index.html")[0]
main(["learn", "--learner", "ht-perceptron", "--help"])
"""


def test_a_new_file_is_a_learner_under_all_its_names(tmp_path: Path) -> None:
    package = tmp_path / "novikoff"
    shutil.copytree(ROOT / "src/novikoff", package, ignore=shutil.ignore_patterns("__pycache__", "lib"))
    (package / "linear/ht_perceptron.py").write_text(NEW_LEARNER)
    done = subprocess.run(
        [sys.executable, "-c", USE_OF_NEW_LEARNER],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "settings of ht-perceptron" in done.stdout


def test_every_module_is_a_learner_or_a_scheme_or_common() -> None:
    for registry in (learner_registry, scheme_registry):
        assert all(hasattr(import_module(path), "__all__") for path in modules_of(registry).values())
        for name in registry.COMMON:
            files = [ROOT / "src/novikoff" / folder / f"{name}.py" for folder in registry.FOLDERS]
            assert any(file.exists() and "\n__all__" not in file.read_text() for file in files), name


def modules_of(registry: object) -> dict[str, str]:
    return learner_registry.modules(registry.FOLDERS, registry.COMMON)  # type: ignore[attr-defined]


def test_every_class_is_named_like_its_file() -> None:
    modules = {**modules_of(learner_registry), **modules_of(scheme_registry)}
    names = scheme_registry.class_names()
    assert [type(name) for name in names] == [str] * (len(modules) - 1)  # BinaryAuto is a part of novikoff.Auto
    for name in names:
        found = getattr(novikoff, name)
        assert modules[learner_registry.name_of(found)] == found.__module__


def test_unknown_names_are_refused() -> None:
    for name in ("BinaryAuto", "perceptron", "PERCEPTRON", "NormTracking", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
            getattr(novikoff, name)


def test_the_dashboard_suggests_every_learner() -> None:
    page = dashboard.read_dashboard_file("index.html")[0].decode()
    assert all(page.count(f'<option value="{name}">') == 1 for name in learner_registry.names())


def test_the_stub_for_type_checkers_is_up_to_date() -> None:
    assert STUB.read_text(encoding="utf-8") == build_stub(), "run python scripts/write_stub.py"
