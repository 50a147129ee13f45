"""The compiled library: damaged, foreign and stale files are refused; every CPU level gives the same bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import novikoff
from novikoff._compiled import cpu, jit, library, manifest, signature
from novikoff._compiled.cpu import LEVELS
from novikoff._compiled.jit import JIT_DISABLED, compiled
from novikoff._compiled.library import CHECKSUM_FILE, CPU_FILE, KernelLibrary, LibraryError, library_file_name
from novikoff._compiled.objects import digest_code

pytestmark = pytest.mark.skipif(
    JIT_DISABLED or not library.IS_SUPPORTED_PLATFORM, reason="the library is for CPython on Linux on x86-64"
)
PACKAGE = Path(novikoff.__file__).parent
ROOT = PACKAGE.parent.parent
LEARN = """
import hashlib, sys
import numpy as np
import novikoff
from novikoff.model_file import to_bytes
rng = np.random.default_rng(0)
X = rng.standard_normal((200, 6))
y = np.where(X[:, 0] > 0, "a", "b")
model = novikoff.Perceptron().fit(X, y).learn_one(X[0], "a")
print(hashlib.sha256(to_bytes(model)).hexdigest(), sorted({"numba", "llvmlite"} & set(sys.modules)))
"""


def python(code: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Copy the library to a folder of its own."""
    return Path(shutil.copytree(library.LIBRARY_FOLDER, tmp_path / "novikoff" / "_compiled" / "lib"))


# --- Loading ---


def test_learning_needs_no_compiler() -> None:
    done = python(LEARN)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("[]\n")
    assert done.stderr == ""


def test_without_numba_a_user_kernel_names_the_missing_extra() -> None:
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "from novikoff._compiled.jit import compiled\n"
        "@compiled\n"
        "def twice(x):\n"
        "    return 2.0 * x\n"
        "try:\n"
        "    twice(1.0)\n"
        "except Exception as problem:\n"
        "    print(type(problem).__name__, problem)\n"
    )
    done = python(code)
    assert "novikoff[jit]" in done.stdout
    assert done.stdout.startswith("NotInLibrary")


def test_a_user_kernel_is_compiled_with_a_message() -> None:
    code = (
        "from novikoff._compiled.jit import compiled\n"
        "@compiled\n"
        "def twice(x):\n"
        "    return 2.0 * x\n"
        "print(twice(1.5), twice(2.5))\n"
    )
    done = python(code)
    assert done.stdout == "3.0 5.0\n"
    assert done.stderr == "Compiling twice (first use only) …\n"


def list_damaged(content: bytes) -> list[bytes]:
    flipped = [
        content[:k] + bytes([content[k] ^ 4]) + content[k + 1 :] for k in (0, 60, len(content) // 2, -1 + len(content))
    ]
    return [b"", content[:100], content[:-1], content + b"x", *flipped]


@pytest.mark.parametrize("which", ["cpu", "kernels"])
def test_a_damaged_library_is_refused(which: str, copy: Path) -> None:
    path = copy / (CPU_FILE if which == "cpu" else next(p.name for p in copy.glob("kernels-*.so")))
    for content in list_damaged(path.read_bytes()):
        path.write_bytes(content)
        with pytest.raises(LibraryError, match=r"damaged, or not the one that belongs to this version: install"):
            KernelLibrary(str(copy), None)


def test_a_library_that_is_missing_or_foreign_is_refused(copy: Path) -> None:
    path = next(copy.glob("kernels-*.so"))
    shutil.copy(copy / CPU_FILE, path)
    with pytest.raises(LibraryError, match="not the one that belongs"):
        KernelLibrary(str(copy), None)
    path.unlink()
    with pytest.raises(LibraryError, match=r"can't be read \(No such file"):
        KernelLibrary(str(copy), None)


def test_a_damaged_list_is_refused(copy: Path) -> None:
    whole = (copy / CHECKSUM_FILE).read_text()
    for content in ("", "another list\n", whole.replace("library", "lbrary"), whole.replace("kernel ", "kernel x ", 1)):
        (copy / CHECKSUM_FILE).write_text(content)
        with pytest.raises(LibraryError, match="damaged"):
            KernelLibrary(str(copy), None)


def test_the_command_line_reports_a_damaged_library(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "novikoff", ignore=shutil.ignore_patterns("__pycache__"))
    path = next((tmp_path / "novikoff" / "_compiled" / "lib").glob("kernels-*.so"))
    path.write_bytes(path.read_bytes()[:-1])
    (tmp_path / "data.svm").write_text("1 1:1\n-1 2:1\n")
    command = [sys.executable, "-m", "novikoff", "learn", "data.svm"]
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(f"novikoff: {path} is damaged")


def test_without_a_library_no_kernel_is_found(tmp_path: Path) -> None:
    empty = KernelLibrary(str(tmp_path), None)
    assert (empty.level, empty.find("novikoff.core.loop.learn", "q")) == (None, None)


# --- Stale ---


def test_a_kernel_whose_source_was_edited_is_not_run(tmp_path: Path) -> None:
    """A source file with equal size and time but other bytes is detected too."""
    package = tmp_path / "novikoff"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    env = {"PYTHONPATH": str(tmp_path)}
    assert python(LEARN, **env).returncode == 0
    (package / "cli" / "learn.py").write_text("# edited\n")  # not the source of a kernel
    os.utime(package / "core" / "losses.py")  # touched, not edited
    assert python(LEARN, **env).returncode == 0
    with (package / "core" / "losses.py").open("a") as file:
        file.write("# edited\n")
    done = python(LEARN, **env)
    assert "NotInLibrary: novikoff.core.loop.learn is not in the compiled library" in done.stderr


def test_every_kernel_is_checked_against_its_source_file() -> None:
    listed = library.ChecksumList(library.LIBRARY_FOLDER).sources
    names = [path for path, *_ in listed.files]
    for kernel in manifest.read_manifest():
        files = {names[k] for k in listed.groups[listed.group_of[kernel.symbol]]}
        assert kernel.module.removeprefix("novikoff.").replace(".", "/") + ".py" in files
        assert {"_compiled/jit.py", "_compiled/compiler.py"} <= files


def test_comments_docstrings_and_layout_do_not_change_what_is_compiled() -> None:
    source = "def double(x: float) -> float:\n    return 2.0 * x\n"
    described = (
        '"""Arithmetic."""\n\n\ndef double(x: float) -> float:\n    """Return 2x."""\n    return (2.0 * x)  # exact\n'
    )
    assert digest_code(source) == digest_code(described)
    for other in (source.replace("2.0", "3.0"), source.replace("*", "+"), source.replace("return", "x =")):
        assert digest_code(source) != digest_code(other)


def test_only_changed_kernels_are_rebuilt() -> None:
    """A file that only the readers use is not part of a kernel of a learner."""
    listed = library.ChecksumList(library.LIBRARY_FOLDER).sources
    names = [path for path, *_ in listed.files]
    learn = next(k for k in manifest.read_manifest() if k.name == "novikoff.core.loop.learn")
    files = {names[k] for k in listed.groups[listed.group_of[learn.symbol]]}
    assert "data/formats/json/parser.py" not in files
    assert "core/updaters/base.py" in files


# --- Levels ---


def processor(features: set[str], state: int) -> Any:
    registers = {leaf: [0, 0, 0, 0] for leaf in (0, 1, 7, 0x80000000, 0x80000001)}
    registers[0][0], registers[0x80000000][0] = 7, 0x80000001
    for feature in features:
        leaf, register, bit = cpu.CPUID_BITS[feature]
        registers[leaf][register] |= 1 << bit
    return cpu.highest_level(lambda leaf: tuple(registers[leaf]), lambda: state)  # type: ignore[arg-type, return-value]


def test_the_highest_complete_cpu_level_is_used() -> None:
    for name, level in LEVELS.items():
        features = {*level.features, "osxsave"}
        assert processor(features, cpu.AVX512_STATE) == name
        for missing in level.features:
            found = processor(features - {missing}, cpu.AVX512_STATE)
            assert found is None or list(LEVELS).index(found) < list(LEVELS).index(name)
    every = {*LEVELS["v4-vbmi"].features, "osxsave"}
    assert processor(every, cpu.SSE_STATE) == "v3"  # the system keeps no wide registers
    assert processor(every, 0) == "v2"
    assert processor(every - {"osxsave"}, cpu.AVX512_STATE) == "v2"


def test_a_cpu_level_can_be_forced(copy: Path) -> None:
    built = KernelLibrary(str(copy), None).level
    assert built is not None
    assert KernelLibrary(str(copy), built).level == built
    with pytest.raises(LibraryError, match="the CPU levels are v2, v3, v4, v4-vbmi"):
        KernelLibrary(str(copy), "v9")
    other = next(
        name for name in LEVELS if library_file_name(name) not in KernelLibrary(str(copy), None).list.checksums
    )
    with pytest.raises(LibraryError, match=f"NOVIKOFF_CPU_LEVEL={other}: .*; there is {built}"):
        KernelLibrary(str(copy), other)


# --- Calls ---


class Pair(NamedTuple):
    numbers: Any
    scale: float


def test_types_are_written_as_documented() -> None:
    table = np.arange(12.0).reshape(3, 4)
    table.flags.writeable = False
    sample = signature.TypeSample(Pair(np.zeros(2, np.float32), 1.0))
    args = (table, 3, 2.5, True, table[:, 1], (np.uint64(1), False), sample)
    expected = "<f82Cr q d ? <f81Ar (tuple Q ? ) like (tests.compiled.test_compiled_library.Pair <f41C d )"
    assert signature.describe_call(args) == expected
    with pytest.raises(signature.UnsupportedArgument):
        signature.describe_call((["a list"],))


def test_types_with_different_spellings_have_different_keys() -> None:
    arrays = [
        np.zeros((2, 2), kind)[:, k] for kind in (np.float32, np.float64, np.int64, np.uint64) for k in (0, slice(2))
    ]
    values = [
        1,
        1.0,
        True,
        np.uint64(1),
        np.float64(1.0),
        *arrays,
        Pair(arrays[0], 1.0),
        Pair(arrays[1], 1.0),
        (1, 2),
        (1.0, 2),
    ]
    by_key: dict[Any, str] = {}
    for value in values:
        assert by_key.setdefault(jit.type_key(value), signature.describe_type(value)) == signature.describe_type(value)
    assert len(set(by_key.values())) >= len(arrays) + 5


def test_a_library_function_checks_the_number_of_arguments() -> None:
    found = library.load_library()
    assert found is not None
    kernel = next(k for k in manifest.read_manifest() if k.name == "novikoff.data.shuffle.permutation._sort_by_buckets")
    function = found.find(kernel.name, kernel.signature)
    assert function is not None
    with pytest.raises(SystemError):
        function(1)


def test_threads_that_learn_concurrently_get_the_same_result() -> None:
    """Learning releases the interpreter lock: ten concurrent threads get the result of one."""
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 10))
    y = np.where(X[:, 0] > 0, 1, -1)

    def learn(_: int) -> bytes:
        return bytes(novikoff.Perceptron(average=True).fit(X, y).coef_.tobytes())

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(learn, range(10)))) == 1


@compiled
def shape_and_sum(values: Any, table: Any, flag: bool, number: int) -> tuple[int, int, float, bool]:
    total = 0.0
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            total += table[i, j]
    return len(values), number, total, not flag


def test_kernels_of_tests_are_compiled_by_numba() -> None:
    table = np.arange(6.0).reshape(2, 3)
    assert shape_and_sum(np.zeros(4, np.int8), table, False, -7) == (4, -7, 15.0, True)
    assert shape_and_sum(np.zeros(0, np.int8), table.T, True, 2**62) == (0, 2**62, 15.0, False)


# --- One arithmetic ---

HASHES = """
import hashlib, sys
import numpy as np
from novikoff.model_file import to_bytes
from tests.helpers.learners import ALL_LEARNERS, make_learner, clip_to_range
from tests.helpers.streams import csr, real
for name in sys.argv[1:] or ALL_LEARNERS:
    for kind in (np.float32, np.float64):
        X, y = real(0, rows=40, kind=kind)
        X = clip_to_range(name, X)
        for form in (np.asarray, csr):
            model = make_learner(name).fit(form(X), y)
            for x, label in zip(X, y.tolist()):
                model.learn_one(x, label).learn_one(dict(enumerate(x.tolist())), label)
            scores = model.decision_function(form(X)).tobytes()
            print(name, hashlib.sha256(to_bytes(model) + scores).hexdigest())
"""


def hashes(*learners: str, **env: str) -> list[str]:
    command = [sys.executable, "-c", HASHES, *learners]
    done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.splitlines()


@pytest.mark.slow
def test_without_compiled_code_the_bytes_are_the_same() -> None:
    assert len(hashes()) > 50
    assert hashes() == hashes(NUMBA_DISABLE_JIT="1")


def build_for(levels: list[str], kernels: list[manifest.ManifestEntry], package: Path) -> None:
    """Build a library of these kernels in a copy of the package."""
    from novikoff._compiled.build import LibraryBuild

    build = LibraryBuild(package / "_compiled" / "lib", ROOT / "build" / "kernels", watch=False)
    build(kernels, levels, os.cpu_count() or 1, quiet=True)


@pytest.fixture(scope="module")
def check_all_levels(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[list[manifest.ManifestEntry], list[str]], None]:
    def check(kernels: list[manifest.ManifestEntry], learners: list[str]) -> None:
        package = tmp_path_factory.mktemp("levels") / "novikoff"
        ignored = shutil.ignore_patterns("__pycache__", "lib")
        shutil.copytree(PACKAGE, package, ignore=ignored)
        built = KernelLibrary(library.LIBRARY_FOLDER, None).level
        assert built is not None
        able = list(LEVELS)[: list(LEVELS).index(built) + 1]
        build_for(able, kernels, package)
        env = {"PYTHONPATH": f"{package.parent}{os.pathsep}{ROOT}"}
        found = [hashes(*learners, NOVIKOFF_CPU_LEVEL=level, **env) for level in able]
        assert all(one == found[0] for one in found)
        assert found[0] == hashes(*learners)

    return check


def test_all_levels_give_the_same_bytes(check_all_levels: Any, tmp_path: Path) -> None:
    """All levels that this machine can run are compared, for two learners."""
    path = tmp_path / "called.txt"
    hashes("perceptron", "sgd-logistic-adagrad", NOVIKOFF_RECORD_KERNELS=str(path))
    lines = set(path.read_text().splitlines())
    kernels = [kernel for kernel in manifest.read_manifest() if f"{kernel.name} {kernel.signature}" in lines]
    check_all_levels(kernels, ["perceptron", "sgd-logistic-adagrad"])


@pytest.mark.slow
def test_all_levels_give_the_same_bytes_for_every_learner(check_all_levels: Any) -> None:
    check_all_levels(manifest.read_manifest(), [])


def test_the_first_kernels_are_those_that_the_demo_calls(tmp_path: Path) -> None:
    """`make demo` builds a list of kernels and calls no others, so nothing is compiled while it learns."""
    called, model = tmp_path / "called.txt", str(tmp_path / "demo.model")
    for command in (["learn", "breast-cancer", "--save", model], ["inspect", model, "--top", "8"]):
        done = subprocess.run(
            [sys.executable, "-m", "novikoff", *command],
            env={**os.environ, "NOVIKOFF_RECORD_KERNELS": str(called)},
            capture_output=True,
            check=True,
        )
        assert done.stdout
    kernels = {manifest.ManifestEntry(*line.split(" ", 1)) for line in called.read_text().splitlines()}
    assert kernels == set(manifest.read_manifest(manifest.FIRST_KERNELS))
