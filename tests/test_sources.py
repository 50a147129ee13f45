"""The digest of the sources: kept, so that they need not be read at each start, and never when one has changed."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from pathlib import Path

import pytest

from novikoff import _sources


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.py").write_text("a = 1\n")
    (folder / "inner" / "b.py").write_text("b = 2\n")
    (folder / "note.txt").write_text("no source")
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def plainly(root: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        content = path.read_bytes()
        total.update(f"{path.relative_to(root)} {len(content)}\n".encode() + content)
    return total.hexdigest()[: _sources.DIGITS]


def kept(home: Path) -> list[Path]:
    return list(home.iterdir())


def later(monkeypatch: pytest.MonkeyPatch, seconds: int = 60) -> None:
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + seconds * 10**9)


def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes which folders are read from now on."""
    folders: list[str] = []
    plain = _sources._read

    def noting(root: str, files: list[_sources.Status]) -> str:
        folders.append(root)
        return plain(root, files)

    monkeypatch.setattr(_sources, "_read", noting)
    return folders


def test_it_is_the_digest_of_names_and_contents(root: Path, home: Path) -> None:
    assert _sources.digest(str(root)) == _sources.digest(str(root), str(home)) == plainly(root)


def test_files_are_read_once(root: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later(monkeypatch)
    folders = read(monkeypatch)
    first = _sources.digest(str(root), str(home))
    assert folders == [str(root)]
    assert _sources.digest(str(root), str(home)) == first == plainly(root)
    assert folders == [str(root)]


def test_files_that_have_just_changed_are_read_each_time(root: Path, home: Path) -> None:
    _sources.digest(str(root), str(home))
    assert kept(home) == []


@pytest.mark.parametrize("name", ["a.py", "inner/b.py"])
def test_an_edit_is_noticed_even_where_size_and_time_are_put_back(
    root: Path, home: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    later(monkeypatch)
    before = _sources.digest(str(root), str(home))
    status = (root / name).stat()
    time.sleep(0.02)  # times of files are no finer than some milliseconds
    (root / name).write_text("c = 9\n")
    os.utime(root / name, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (root / name).stat().st_size == status.st_size
    assert _sources.digest(str(root), str(home)) == plainly(root) != before


def test_a_file_more_or_less_is_noticed(root: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later(monkeypatch)
    digests = {_sources.digest(str(root), str(home))}
    (root / "inner" / "c.py").write_text("")
    digests.add(_sources.digest(str(root), str(home)))
    (root / "a.py").unlink()
    digests.add(_sources.digest(str(root), str(home)))
    assert len(digests) == 3


@pytest.mark.parametrize("content", [b"", b"nonsense", b"a b c", b"\xff\xfe", b"0" * 64 + b" " + b"1" * 20])
def test_what_is_damaged_is_not_believed(
    root: Path, home: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    later(monkeypatch)
    _sources.digest(str(root), str(home))
    (path,) = kept(home)
    path.write_bytes(content)
    assert _sources.digest(str(root), str(home)) == plainly(root)


def test_two_copies_of_the_same_sources_have_one_digest(root: Path, home: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    assert _sources.digest(str(copy), str(home)) == _sources.digest(str(root), str(home))


def test_a_folder_that_cannot_be_written_is_no_problem(root: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later(monkeypatch)
    assert _sources.digest(str(root), str(home / "missing")) == plainly(root)
