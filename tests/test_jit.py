"""Compilation happens once for a machine and a version of the sources, and never in a folder that others can write."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import novikoff

PACKAGE = Path(novikoff.__file__).parent
PROJECT = Path(__file__).parent.parent
LEARN = """
import json, numpy as np
import novikoff
from novikoff._jit import Compiled, cache_folder
from novikoff import _dicts
from novikoff.parts import loop, geometry
X = np.random.default_rng(0).standard_normal((40, 5))
y = (X[:, 0] > 0).astype(int)
model = novikoff.Perceptron(average=True).fit(X, y)
model.learn_one(X[0], 1).learn_one({0: 1.0}, 0)
model.decision_function(X)
found = [k for m in (loop, geometry, _dicts) for k in vars(m).values() if isinstance(k, Compiled)]
kernels = [k for k in found if "dispatcher" in vars(k)]
stats = [k.dispatcher.stats for k in kernels if k.dispatcher.signatures]
used = [s for s in stats if s.cache_hits or s.cache_misses]
print(json.dumps({
    "hits": sum(sum(s.cache_hits.values()) for s in used),
    "misses": sum(sum(s.cache_misses.values()) for s in used),
    "folder": str(cache_folder()),
}))
"""


def learn(cache: Path, source: Path | None = None) -> dict[str, object]:
    env = {**os.environ, "NOVIKOFF_CACHE": str(cache), "NOVIKOFF_LEAN": "0"}
    if source is not None:
        env["PYTHONPATH"] = str(source)
    done = subprocess.run([sys.executable, "-c", LEARN], env=env, capture_output=True, text=True, check=True)
    result: dict[str, object] = json.loads(done.stdout)
    return result


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    first = learn(folder)
    assert first["hits"] == 0
    assert first["misses"] > 0
    return folder


def test_a_second_process_compiles_nothing(cache: Path) -> None:
    second = learn(cache)
    assert second["misses"] == 0
    assert second["hits"] == 6  # learn, learn_dense, learn_sparse, read_dict, read_all, scores


EVERYTHING = """
import importlib, json, pkgutil, sys
import numpy as np
import novikoff
from novikoff._jit import Compiled
from tests.learners import ALL, VARIANTS, fresh, suited
from tests.streams import csr, real
for name in ALL if sys.argv[1] == "all" else sorted(ALL.keys() - VARIANTS):
    for kind in (np.float32, np.float64):
        X, y = real(0, kind=kind)
        X = suited(name, X)
        for form in (suited(name, X + 1), X, csr(X), csr(X[:, ::-1])[:, ::-1]):
            model = fresh(name).fit(form, y).partial_fit(form[:1], y[:1])
            model.decision_function(form), model.predict(form)
        model.learn_one(suited(name, X[0] + 1), 1).learn_one(X[0], 1).learn_one({0: 1.0, 1: 0.0}, -1)
        model.predict_one(X[0]), model.predict_one({0: 1.0})
kernels = {}
for module in pkgutil.walk_packages(novikoff.__path__, "novikoff."):
    if not module.name.endswith("__main__"):
        for kernel in vars(importlib.import_module(module.name)).values():
            if isinstance(kernel, Compiled) and "dispatcher" in vars(kernel):
                kernels[kernel.__module__ + "." + kernel.__name__] = kernel.dispatcher.stats
print(json.dumps({
    name: [sum(stats.cache_hits.values()), sum(stats.cache_misses.values())] for name, stats in kernels.items()
}))
"""


@pytest.mark.parametrize("which", ["most", "all"])
@pytest.mark.slow
def test_a_second_process_compiles_nothing_whatever_the_learner(which: str) -> None:
    """Every learner, dense, sparse, one by one and predicting, in the cache that all tests share."""
    runs = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", EVERYTHING, which],
            env={**os.environ, "NOVIKOFF_LEAN": "0"},
            capture_output=True,
            text=True,
            check=True,
            cwd=PROJECT,
        )
        runs.append(json.loads(done.stdout))
    hits, misses = ({name: counts[k] for name, counts in runs[1].items() if counts[k]} for k in (0, 1))
    assert misses == {}
    assert {name.rpartition(".")[2] for name in hits} >= {
        *("learn", "learn_dense", "learn_sparse", "first_refused", "scores", "votes", "read_all", "read_some"),
        *("drop_zeros", "first_that_falls", "find_twice"),
    }
    assert sum(hits.values()) > 100


@pytest.mark.slow
def test_an_edit_in_any_source_file_invalidates_the_cache(cache: Path, tmp_path: Path) -> None:
    copy = tmp_path / "novikoff"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    folders = {Path(learn_folder(cache, tmp_path)).name.strip()}
    assert folders == {digest_of(copy)}
    sources = sorted(copy.rglob("*.py"))
    assert len(sources) > 40
    for count, path in enumerate(sources, start=2):
        with open(path, "a") as file:
            file.write("# an edit\n")
        folders.add(digest_of(copy))
        assert len(folders) == count, path
    assert Path(learn_folder(cache, tmp_path)).name.strip() == digest_of(copy)
    edited = learn(cache, tmp_path)
    assert edited["hits"] == 0
    assert edited["misses"] > 0


def digest_of(package: Path) -> str:
    """What this copy of the package calls its folder, without a process of its own for each copy."""
    spec = importlib.util.spec_from_file_location("a_copy_of_jit", package / "_jit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.source_digest())


def learn_folder(cache: Path, source: Path) -> str:
    env = {**os.environ, "NOVIKOFF_CACHE": str(cache), "PYTHONPATH": str(source)}
    code = "from novikoff._jit import cache_folder; print(cache_folder())"
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout


def test_old_folders_are_removed(tmp_path: Path) -> None:
    """Ours only: what else lies in the folder is somebody's."""
    ours = [f"{k:020x}" for k in range(8)]
    digests = [f".sources-{name}" for name in ours]
    for k, name in enumerate([*ours, "precious", "photos", *digests]):
        (tmp_path / name).write_text("") if name in digests else (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (k, k))
    folder = Path(learn_folder(tmp_path, PACKAGE.parent).strip())
    left = {f.name for f in tmp_path.iterdir()}
    assert {name for name in left if not name.startswith(".")} == {folder.name, *ours[5:], "precious", "photos"}
    own = left - {folder.name, *ours, "precious", "photos", *digests}  # that of the sources themselves, if it was kept
    assert left & set(digests) == set(digests[4 + len(own) :])


def test_a_folder_that_others_can_write_is_not_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    folder = Path(learn_folder(tmp_path, PACKAGE.parent).strip())
    assert tmp_path not in folder.parents
    assert folder.stat().st_mode & 0o077 == 0
    shutil.rmtree(folder)


@pytest.mark.slow
def test_without_numba_the_bytes_are_the_same() -> None:
    code = (
        "import numpy as np, sys\n"
        "from tests.learners import ALL, fresh, suited\n"
        "from tests.streams import real, csr\n"
        "from novikoff.store import to_bytes\n"
        "import hashlib\n"
        "for name in ALL:\n"
        "    for kind in (np.float32, np.float64):\n"
        "        X, y = real(0, rows=40, kind=kind)\n"
        "        X = suited(name, X)\n"
        "        for form in (np.asarray, csr):\n"
        "            model = fresh(name).fit(form(X), y)\n"
        "            for x, label in zip(X, y.tolist()):\n"
        "                model.learn_one(x, label).learn_one(dict(enumerate(x.tolist())), label)\n"
        "            scores = model.decision_function(form(X)).tobytes()\n"
        "            print(name, hashlib.sha256(to_bytes(model) + scores).hexdigest())\n"
    )
    outputs = []
    for disabled in ("0", "1"):
        env = {**os.environ, "NUMBA_DISABLE_JIT": disabled}
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True, cwd=PROJECT
        )
        outputs.append(done.stdout.splitlines())
    assert len(outputs[0]) > 50
    assert outputs[0] == outputs[1]


def test_other_users_of_numba_keep_their_cache_folder() -> None:
    import numba

    before = numba.config.CACHE_DIR
    novikoff.Perceptron().fit([[0.0], [1.0]], [0, 1])
    assert before == numba.config.CACHE_DIR


def test_modules_may_be_imported_after_numba(tmp_path: Path) -> None:
    """Readers, whose machine code is made known to Numba when they are imported, after a learner has been compiled."""
    code = (
        "import sys, novikoff\n"
        "novikoff.Perceptron().fit([[0.0], [1.0]], [0, 1])\n"
        "assert 'numba' in sys.modules and 'novikoff._bytes' not in sys.modules\n"
        "print(novikoff.read('data.svm').whole()[1].tolist())\n"
    )
    (tmp_path / "data.svm").write_text("1 1:2\n-1 2:0.5\n")
    env = {**os.environ, "NOVIKOFF_LEAN": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == "[1, -1]\n"
