"""The cache of a file gives the same examples, and is never used for another file or other reading options."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from novikoff import InputError
from novikoff.cli.main import main
from novikoff.data import cache
from novikoff.data.text_source import TextSource
from tests.helpers.read_files import read_files

pytestmark = pytest.mark.plain_python_coverage


def lines(rows: int, seed: int = 0) -> str:
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(rows):
        columns = np.sort(rng.choice(50, 6, replace=False)) + 1
        out.append(
            f"{rng.choice([-1, 1])} "
            + " ".join(f"{j}:{v:.4g}" for j, v in zip(columns, rng.standard_normal(6), strict=True))
        )
    return "\n".join(out) + "\n"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.svm"
    path.write_text(lines(500))
    return path


@pytest.fixture
def no_text(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make the text unreadable from now on."""

    def forbid() -> None:
        def fill(self: Any, *_: Any) -> bool:
            raise AssertionError("the text was read")

        monkeypatch.setattr(TextSource, "fill", fill)

    return forbid


def test_the_cache_gives_the_rows_of_the_text(data: Path, no_text: Any) -> None:
    plain = read_files(data, block=1000)
    assert read_files(data, block=1000, cache=True) == plain
    no_text()
    for threads in (1, 3):
        assert read_files(data, cache=True, threads=threads) == plain


def test_the_cache_stores_every_part_of_a_row(tmp_path: Path, no_text: Any) -> None:
    path = tmp_path / "data.vw"
    path.write_text("1 2 |a x y:0.5\n-1 |a x\n\n3 0.5 'tag |b z |a y\n" * 50)
    plain = read_files(path, block=300)
    assert read_files(path, block=300, cache=True) == plain
    no_text()
    assert read_files(path, cache=True) == plain


def test_models_are_the_same_with_and_without_a_cache(data: Path, tmp_path: Path) -> None:
    plain, first, later = (tmp_path / name for name in ("plain.model", "first.model", "later.model"))
    options = ["learn", str(data), "--quiet", "--passes", "3", "--save"]
    assert main([*options, str(plain)]) == 0
    assert main([*options, str(first), "--cache"]) == 0
    assert cache.cache_path(str(data)).exists()
    assert main([*options, str(later), "--cache"]) == 0
    assert plain.read_bytes() == first.read_bytes() == later.read_bytes()


def test_a_stale_cache_is_not_used(data: Path) -> None:
    read_files(data, cache=True)
    data.write_text(lines(400, seed=1))
    assert read_files(data, cache=True) == read_files(data)
    status = os.stat(data)
    data.write_text(lines(400, seed=2)[: status.st_size].ljust(status.st_size - 1) + "\n")
    os.utime(data, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert read_files(data, cache=True) == read_files(data)


def test_a_cache_of_other_reading_options_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "data.vw"
    path.write_text("1 |a x y\n-1 |b x z\n")
    for options in (
        {"hash_bits": 18},
        {"hash_bits": 10},
        {"hash_bits": 10, "signed_hash": True},
        {"interactions": ("ab",)},
    ):
        assert read_files(path, cache=True, **options) == read_files(path, **options)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_damaged_cache_is_rebuilt(data: Path, threads: int) -> None:
    plain = read_files(data, block=2000)
    read_files(data, block=2000, cache=True)
    path = cache.cache_path(str(data))
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    places = [*range(0, 300, 7), *rng.integers(0, len(whole), 60).tolist(), *range(len(whole) - 60, len(whole), 5)]
    for place in places:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(flipped)
        assert read_files(data, block=1500, cache=True, threads=threads)["rows"] == plain["rows"], place
        assert path.read_bytes() != bytes(flipped)
    for size in [0, 1, 8, 15, 16, 17, 100, *rng.integers(0, len(whole), 30).tolist(), len(whole) - 1]:
        path.write_bytes(whole[:size])
        assert read_files(data, cache=True, threads=threads)["rows"] == plain["rows"], size


def test_a_bad_line_leaves_no_temporary_file(data: Path) -> None:
    with open(data, "a") as file:
        file.write("1 x:1\n")
    with pytest.raises(InputError, match=r"data\.svm:501: "):
        read_files(data, cache=True)
    assert os.listdir(data.parent) == ["data.svm"]
    skipped = read_files(data, cache=True, bad_lines="skip")
    assert skipped["bad"] == {"index": 1}
    assert read_files(data, cache=True, bad_lines="skip") == skipped
    with pytest.raises(InputError, match=r"data\.svm:501: "):
        read_files(data, cache=True)


def test_a_cache_needs_hashed_features(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "data.vw"
    path.write_text("1 |a x\n-1 |a y\n")
    assert main(["learn", str(path), "--hash-bits", "0", "--cache", "--quiet"]) == 2
    assert "--cache needs features that are hashed" in capsys.readouterr().err
