"""The style checker: each rule finds what it should, and leaves alone what is right."""

from __future__ import annotations

import ast
import json
import subprocess
from pathlib import Path

import pytest

from scripts import check_style
from scripts.check_style import (
    compare_with_baseline,
    count_words,
    find_duplicate_classes,
    find_large_folders,
    find_private_access,
    find_words,
    lower_baseline,
)

BASE = """
class Model:
    _state = None
    def _fit(self): ...
    def fit(self): self._cache = self._fit()
"""


def private_access(**files: str) -> list[str]:
    """Return the messages for sources of the package; `linear__sgd` is src/novikoff/linear/sgd.py."""
    texts = {f"src/novikoff/{name.replace('__', '/')}.py": text for name, text in files.items()}
    return find_private_access({path: ast.parse(text) for path, text in texts.items()}, texts)


# --- Folders and classes ---


def test_a_folder_may_have_twenty_python_files_beside_subfolders():
    files = [f"src/novikoff/cli/command_{k}.py" for k in range(20)]
    beside = ["src/novikoff/cli/options/data.py", "src/novikoff/cli/page.css", "tests/cli/test_learn.py"]
    assert find_large_folders(files + beside) == []


def test_a_folder_with_more_python_files_is_named_with_their_number():
    (message,) = find_large_folders([f"src/novikoff/cli/command_{k}.py" for k in range(21)])
    assert message.startswith("src/novikoff/cli: 21 Python files")


def test_folders_of_tests_may_be_large():
    assert find_large_folders([f"tests/test_{k}.py" for k in range(100)]) == []


def test_two_classes_of_one_name_are_named_with_both_places():
    trees = {"src/a.py": ast.parse("class Reader: ..."), "src/b.py": ast.parse("\nclass Reader: ...")}
    assert find_duplicate_classes(trees) == ["src/a.py:1: class Reader has the same name as in src/b.py:2."]


def test_classes_of_different_names_are_no_duplicates():
    trees = {"src/a.py": ast.parse("class Reader: ..."), "src/b.py": ast.parse("class Writer: ...")}
    assert find_duplicate_classes(trees) == []


# --- Private access ---


@pytest.mark.parametrize(
    "use",
    [
        "model._state",
        "model._fit()",
        "model._cache",
        "model._state = 1",
        "self.model._fit()",
        "type(model)._fit",
        "getattr(model, '_state', None)",
        "hasattr(model, '_fit')",
    ],
)
def test_private_names_of_another_package_are_found(use):
    (message,) = private_access(base__model=BASE, server__app=f"x = 1\n{use}")
    assert message.startswith("src/novikoff/server/app.py:2: uses _")
    assert "(base)" in message


def test_an_imported_private_function_of_another_package_is_found():
    found = private_access(base__model="def _helper(): ...", cli__learn="from novikoff.base.model import _helper")
    assert len(found) == 1


@pytest.mark.parametrize(
    "use",
    [
        "model.fit()",
        "model.__dict__",
        "row._replace(x=1)",
        "thread._started",  # no package defines it
        "model._state  # style: allow - compared with a saved state",
    ],
)
def test_other_names_are_not_private_access(use):
    assert private_access(base__model=BASE, server__app=use) == []


def test_the_same_package_may_use_its_private_names():
    assert private_access(base__model=BASE, base__training="model._fit()") == []


def test_a_subclass_may_use_inherited_names_of_itself_but_not_of_other_objects():
    subclass = """
class Wrapper(Model):
    def _fit(self):
        super()._fit(); Model._fit(self); type(self)._fit; self._state
        {}
"""
    assert private_access(base__model=BASE, meta__wrapper=subclass.format("pass")) == []
    (message,) = private_access(base__model=BASE, meta__wrapper=subclass.format("self.inner._fit()"))
    assert message.startswith("src/novikoff/meta/wrapper.py:5: uses _fit")


def test_slots_belong_to_their_class():
    found = private_access(base__lock="class Lock:\n    __slots__ = ('_owner',)", server__app="lock._owner")
    assert len(found) == 1


# --- Words ---


@pytest.mark.parametrize(
    "text",
    [
        "labels told apart",
        "Nobody waits",
        "so many rows",
        "this is no vector",
        "def labels_told(): ...",
        "begins anew,",
        "house.find()",
    ],
)
def test_dialect_words_are_found_with_a_reason(text):
    (use,) = find_words(f"first line\n{text}")
    assert use.line == 2
    assert use.reason


@pytest.mark.parametrize(
    "text",
    [
        "a household with doors",
        "there is no memory",
        "it is no longer open",
        "the camera became hot",
        "retold stories",
        '"I came, I saw"  <!-- style: allow - a quotation -->',
    ],
)
def test_other_words_and_allowed_lines_are_not_found(text):
    assert find_words(text) == []


def test_every_word_has_a_pattern_that_finds_its_own_example():
    plain = [word for word in check_style.DIALECT if word.replace(" ", "").isalpha()]
    assert len(plain) >= 15
    assert all(len(find_words(f"x {word} y")) == 1 for word in plain)


def test_files_may_have_as_many_words_as_the_baseline_allows():
    texts = {"a.md": "told, came", "b.md": "plain"}
    assert count_words(texts) == {"a.md": 2}
    assert compare_with_baseline(texts, {"a.md": 2}) == []
    assert compare_with_baseline(texts, {"a.md": 3}) == []


def test_one_more_word_lists_all_words_of_the_file():
    summary, *uses = compare_with_baseline({"a.md": "told\ncame"}, {"a.md": 1})
    assert summary == "a.md: 2 dialect words, at most 1 are allowed:"
    assert [use.split(": ")[0] for use in uses] == ["a.md:1", "a.md:2"]


def test_a_new_file_may_have_no_dialect_words():
    assert compare_with_baseline({"new.md": "told"}, {})
    assert compare_with_baseline({"new.md": "plain"}, {}) == []


def test_the_baseline_may_shrink_and_follow_moved_files_but_not_grow():
    assert lower_baseline({"new/a.md": "told", "b.md": "plain"}, {"a.md": 1, "b.md": 1}) == {"new/a.md": 1}
    with pytest.raises(ValueError, match="may only shrink"):
        lower_baseline({"a.md": "told came"}, {"a.md": 1})


# --- All together ---


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Provide a repository with one module and one page."""
    for path, text in {
        "src/novikoff/base/model.py": BASE,
        "docs/page.md": "A page that was told.\n",
        check_style.BASELINE_FILE: json.dumps({"docs/page.md": 2}),
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


def test_a_repository_is_checked_by_all_rules(repository):
    assert check_style.check_repository(repository) == ([], 1)
    (repository / "src/novikoff/cli.py").write_text("class Command: ...\nx = model._state  # told, came, anew\n")
    (repository / "src/novikoff/auto.py").write_text("class Command: ...\n")
    messages, words = check_style.check_repository(repository)
    assert words == 4
    for part in ("same name", "uses _state", "3 dialect words"):
        assert any(part in message for message in messages)


def test_the_baseline_is_written_for_the_counts_of_today(repository):
    assert check_style.write_baseline(repository) == 1
    assert json.loads((repository / check_style.BASELINE_FILE).read_text()) == {"docs/page.md": 1}


@pytest.mark.skipif(not (check_style.ROOT / ".git").exists(), reason="git lists the files to check")
def test_this_repository_passes(capsys):
    assert check_style.main([]) == 0, capsys.readouterr().out
