"""Machine code of an earlier run, loaded without Numba: the same bytes, or else Numba; never anything damaged."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from novikoff import _lean

pytestmark = pytest.mark.skipif(not _lean.POSSIBLE, reason="machine code is kept on Linux on x86-64 only")
IMPORTED = """
import sys
from novikoff.cli.main import main
code = main(sys.argv[1:])
imported = {name.partition(".")[0] for name in sys.modules}
print(sorted(imported & set("numba llvmlite scipy sklearn plotly rich pandas numpy".split())), file=sys.stderr)
sys.exit(code)
"""
LEAN = "[]"
PLAIN = "['numpy']"
CAUGHT = "except SystemExit:\n    code = 0\n"  # argparse leaves so after a help text


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("data") / "small.svm"
    rows = []
    for _ in range(60):
        columns = np.sort(rng.choice(30, 5, replace=False)) + 1
        label = 1 if columns[0] < 5 else -1
        rows.append(" ".join([str(label), *(f"{j}:{v:.5g}" for j, v in zip(columns, rng.random(5), strict=True))]))
    path.write_text("\n".join(rows) + "\n")
    return path


def learn(data: Path, cache: Path, model: Path, **env: str) -> tuple[bytes, str]:
    """The model's bytes, and which large packages were imported."""
    command = [sys.executable, "-c", IMPORTED, "learn", str(data), "--learner", "sgd", "--save", str(model)]
    done = subprocess.run(
        command, env={**os.environ, "NOVIKOFF_CACHE": str(cache), **env}, capture_output=True, text=True, check=True
    )
    *told, imported = done.stderr.strip().splitlines()
    compiling = [line for line in told if "for this machine, once" in line]
    assert bool(compiling) == ("numba" in imported and env.get("NOVIKOFF_LEAN") != "0")  # never without a word
    return model.read_bytes(), imported


@pytest.fixture(scope="module")
def first(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A cache that one run has filled, and that run's model."""
    cache = tmp_path_factory.mktemp("cache")
    content, imported = learn(data, cache, cache / "first.model")
    assert "numba" in imported
    for path in codes(cache):
        body = path.read_bytes()[len(_lean.MAGIC) + 32 :]
        name, kinds, _, _ = body[8 : 8 + int.from_bytes(body[:8], "little")].decode().split("\n")
        NAMES.append((name, kinds))
    return cache, content


def test_a_later_run_is_lean_and_gives_the_same_bytes(data: Path, first: tuple[Path, bytes], tmp_path: Path) -> None:
    content, imported = learn(data, first[0], tmp_path / "m.model")
    assert imported == LEAN
    assert content == first[1]


def test_plain_numba_and_no_numba_give_the_same_bytes(data: Path, first: tuple[Path, bytes], tmp_path: Path) -> None:
    content, imported = learn(data, first[0], tmp_path / "a.model", NOVIKOFF_LEAN="0")
    assert "numba" in imported
    assert content == first[1]
    assert learn(data, first[0], tmp_path / "b.model", NUMBA_DISABLE_JIT="1") == (first[1], PLAIN)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("small.csv", ["label,a,b"] + ["1,0.5,2", "0,-1,3"] * 20),
        ("small.jsonl", ['{"label":1,"a":"x"}', '{"label":0,"a":"y"}'] * 20),
    ],
)
def test_formats_that_import_numpy_are_lean_otherwise(
    name: str, lines: list[str], first: tuple[Path, bytes], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    cache = shutil.copytree(first[0], tmp_path / "cache")
    content, _ = learn(path, cache, tmp_path / "m.model")
    assert learn(path, cache, tmp_path / "m.model") == (content, PLAIN)


def test_what_a_run_compiles_is_all_that_its_like_need(tmp_path: Path) -> None:
    """Rows of this stream come dense, then sparse: each has its code, and both are kept by the one run that makes them.
    What that took is told beside the pace."""
    command = [sys.executable, "-m", "novikoff", "learn", "breast-cancer", "--learner", "sgd"]
    env = {**os.environ, "NOVIKOFF_CACHE": str(tmp_path)}
    runs = [subprocess.run(command, env=env, capture_output=True, text=True, check=True) for _ in range(2)]
    assert runs[0].stderr.count("compiling learn for this machine, once") == 2
    assert " s of it compiling, once)" in runs[0].stdout
    assert "compiling" not in runs[1].stdout + runs[1].stderr


def codes(cache: Path) -> list[Path]:
    return sorted(cache.rglob("*.code"))


def test_damaged_code_is_noticed_and_not_run(data: Path, first: tuple[Path, bytes], tmp_path: Path) -> None:
    """Each file is harmed in another way; the run falls back to Numba, and mends the store."""
    cache = first[0]
    kept = {path: path.read_bytes() for path in codes(cache)}
    assert len(kept) >= 3
    for path, content in kept.items():
        for harmed in harms(content, list(kept.values())):
            path.write_bytes(harmed)
            name, kinds = "any name", "q"
            assert _lean.find(str(path.parent), name, kinds) is None
            assert whole(path) is None
    content, imported = learn(data, cache, tmp_path / "m.model")
    assert "numba" in imported
    assert content == first[1]
    assert codes(cache) == list(kept)
    assert learn(data, cache, tmp_path / "m.model") == (first[1], LEAN)


def harms(content: bytes, others: list[bytes]) -> list[bytes]:
    flipped = []
    for place in (0, 20, 47, 48, 60, 200, len(content) // 2, len(content) - 1):
        flipped.append(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
    other = next(o for o in others if o != content)
    return [b"", content[:10], content[:-1], content[: len(content) // 2], other, *flipped]


def whole(path: Path) -> object:
    """What is found in a file under the name that belongs to it; a file with the code of another is not that."""
    for name, kinds in NAMES:
        if _lean._file(str(path.parent), name, kinds) == str(path):
            return _lean.find(str(path.parent), name, kinds)
    raise AssertionError(f"no function belongs to {path}")


NAMES: list[tuple[str, str]] = []


@pytest.mark.slow
def test_two_processes_may_race_on_an_empty_store(data: Path, first: tuple[Path, bytes], tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(learn, data, tmp_path / "cache", tmp_path / f"{k}.model") for k in range(2)]
        assert [run.result()[0] for run in runs] == [first[1]] * 2
    assert learn(data, tmp_path / "cache", tmp_path / "m.model") == (first[1], LEAN)
    assert not list((tmp_path / "cache").rglob("*.part"))


@pytest.mark.slow
def test_a_store_that_others_can_write_is_not_used(data: Path, first: tuple[Path, bytes], tmp_path: Path) -> None:
    cache = tmp_path / "open"
    subprocess.run(["cp", "-r", str(first[0]), str(cache)], check=True)
    cache.chmod(0o777)
    content, imported = learn(data, cache, tmp_path / "m.model")
    assert "numba" in imported
    assert content == first[1]


def test_arguments_are_taken_apart_as_numba_does() -> None:
    table = np.arange(12.0).reshape(3, 4)
    kinds, words = _lean.flattened((table, 3, 2.5, True, table[:, 1]))
    assert kinds == "<f82C q d ? <f81A"
    address = table.ctypes.data
    assert words == [0, 0, 12, 8, address, 3, 4, 32, 8, 3, 2.5, 1, 0, 0, 3, 8, address + 8, 3, 32]
    with pytest.raises(_lean.Unsuitable):
        _lean.flattened((["a list"],))


@pytest.mark.parametrize(
    ("arguments", "imported"),
    [(["--version"], "[]"), (["--help"], "[]"), (["completion", "--help"], "[]"), (["learn", "--help"], LEAN)],
)
def test_what_commands_do_not_import(arguments: list[str], imported: str) -> None:
    code = IMPORTED.replace("code = main", "try:\n    code = main").replace("imported = {", CAUGHT + "imported = {")
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == imported


def test_predicting_and_inspecting_are_lean_too(data: Path, first: tuple[Path, bytes], tmp_path: Path) -> None:
    model = tmp_path / "m.model"
    model.write_bytes(first[1])
    env = {**os.environ, "NOVIKOFF_CACHE": str(first[0])}
    for arguments in (["predict", str(model), str(data), "--quiet"], ["inspect", str(model)]):
        command = [sys.executable, "-c", IMPORTED, *arguments]
        subprocess.run(command, env=env, capture_output=True, check=True)
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        assert "numba" not in done.stderr


@pytest.mark.skipif(
    "coverage" in sys.modules, reason="coverage, which watches this run, imports some of these modules itself"
)
def test_what_takes_long_to_import_is_left_out(data: Path, first: tuple[Path, bytes]) -> None:
    code = IMPORTED.replace("numba llvmlite scipy", "argparse dataclasses inspect shutil queue numbers json scipy")
    command = [sys.executable, "-c", code, "learn", str(data), "--learner", "sgd"]
    done = subprocess.run(
        command, env={**os.environ, "NOVIKOFF_CACHE": str(first[0])}, capture_output=True, text=True, check=True
    )
    assert done.stderr.splitlines()[-1] == "['argparse']"


def test_importing_novikoff_imports_nothing_large() -> None:
    code = "import sys, novikoff; print('numpy' in sys.modules, 'numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
