"""Buffers without NumPy behave as its arrays do, and pass to NumPy where they must."""

from __future__ import annotations

import copy
import gzip
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save as serialise

from novikoff import model_file
from novikoff._compiled import buffers, library
from novikoff._compiled.buffers import DTYPES, HUGE_PAGE_MIN_BYTES, MMAP_MIN_BYTES, Buffer, UInt64
from novikoff._compiled.signature import describe_type
from novikoff.cli.main import main

NAMES = sorted(DTYPES)


@pytest.fixture
def hide_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the test as if NumPy were not imported."""
    monkeypatch.setattr(buffers, "buffers_in_use", lambda: True)


without_numpy = pytest.mark.usefixtures("hide_numpy")


def check_same(ours: Any, theirs: Any) -> None:
    assert type(ours) is Buffer
    assert ours.dtype == theirs.dtype
    assert (ours.shape, ours.ndim, ours.size) == (theirs.shape, theirs.ndim, theirs.size)
    assert (ours.itemsize, ours.nbytes) == (theirs.itemsize, theirs.nbytes)
    assert ours.tobytes() == theirs.tobytes()
    assert ours.tolist() == theirs.tolist()
    if ours.size:
        assert describe_type(ours) == describe_type(theirs)
        address = ours.__array_interface__["data"][0]
        assert ours.call_arguments() == (address, *theirs.shape, *theirs.strides)
        assert address == ours.numpy().ctypes.data


@without_numpy
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [0, 1, 7, (3, 2), (0, 4), MMAP_MIN_BYTES, HUGE_PAGE_MIN_BYTES // 8 + 5])
def test_buffers_are_created_like_numpy_arrays(name: str, shape: Any) -> None:
    check_same(buffers.zeros(shape, name), np.zeros(shape, name))
    check_same(buffers.full(shape, 1, getattr(np, name)), np.full(shape, 1, name))
    check_same(buffers.full(shape, 0.0, np.dtype(name)), np.full(shape, 0.0, name))
    assert buffers.full((2, 2), (0.0, 1.0), name).tolist() == np.full((2, 2), (0.0, 1.0), name).tolist()
    assert buffers.empty(shape, name).shape == np.empty(shape, name).shape


@without_numpy
def test_buffers_are_created_from_lists_and_bytes() -> None:
    check_same(buffers.array([1, 2, -3], "int8"), np.array([1, 2, -3], np.int8))
    check_same(buffers.array([1, 2.5], "float32"), np.array([1, 2.5], np.float32))
    check_same(buffers.array([1.0, 0.5]), np.array([1.0, 0.5]))
    check_same(buffers.array([1, 2]), np.array([1, 2]))
    check_same(buffers.frombuffer(b"12345678", "uint32").copy(), np.frombuffer(b"12345678", np.uint32).copy())
    for unusual in (["a", "b"], [[1, 2], [3, 4]], (1, 2), [True, False], [1, "a"], []):
        made = buffers.array(unusual)
        assert type(made) is np.ndarray
        assert made.tolist() == np.array(unusual).tolist()


@without_numpy
@pytest.mark.parametrize("name", NAMES)
def test_slices_share_memory(name: str) -> None:
    ours, theirs = buffers.zeros(10, name), np.zeros(10, name)
    for array in (ours, theirs):
        part = array[2:8]
        part[1] = 1
        array[4:6] = array[3:5].copy()
        part[5:] = 0
        array[-1] = array[3]
    check_same(ours, theirs)
    check_same(ours[3:], theirs[3:])
    check_same(ours[5:2], theirs[5:2])
    check_same(ours[-4:-1], theirs[-4:-1])
    assert list(ours) == list(theirs)
    assert ours[::2].tolist() == theirs[::2].tolist()
    assert (ours.any(), ours.all(), ours.max()) == (theirs.any(), theirs.all(), theirs.max())


@without_numpy
def test_two_dimensional_buffers_work() -> None:
    ours, theirs = buffers.zeros((4, 3), "int64"), np.zeros((4, 3), np.int64)
    for array in (ours, theirs):
        array[2, 1] = 5
        array[0] = 7
    check_same(ours, theirs)
    check_same(ours[1:3], theirs[1:3])
    assert ours[2].tolist() == theirs[2].tolist()
    assert ours[:, 1].tolist() == theirs[:, 1].tolist()


@without_numpy
def test_views_and_single_numbers_work() -> None:
    ours, theirs = buffers.array([1.5, -0.0, 2.0]), np.array([1.5, -0.0, 2.0])
    check_same(ours.view("uint64"), theirs.view(np.uint64))
    check_same(ours.view(np.uint64), theirs.view(np.uint64))
    assert ours.view(np.uint8).tolist() == theirs.view(np.uint8).tolist()
    for at in range(3):
        assert describe_type(ours.view(np.uint64)[at]) == describe_type(theirs.view(np.uint64)[at])
        assert (ours[at], describe_type(ours[at])) == (theirs[at], describe_type(theirs[at]))


@without_numpy
def test_buffers_are_concatenated() -> None:
    parts = [np.arange(3, dtype=np.uint8), np.zeros(0, np.uint8), np.arange(5, dtype=np.uint8)]
    check_same(buffers.concatenate([buffers.frombuffer(p.tobytes(), np.uint8) for p in parts]), np.concatenate(parts))
    mixed = buffers.concatenate([buffers.zeros(2, np.int8), np.ones(2)])
    assert mixed.dtype == np.float64
    assert mixed.tolist() == [0, 0, 1, 1]


@without_numpy
def test_numpy_operations_use_the_same_memory() -> None:
    array = buffers.array([3.0, 1.0, 2.0])
    assert buffers.is_array(array)
    assert not isinstance(array, np.ndarray)
    assert (array + 1).tolist() == (1 + array).tolist() == [4, 2, 3]
    assert (array > array[1]).tolist() == [True, False, True]
    assert (array == buffers.array([3.0, 0.0, 2.0])).tolist() == [True, False, True]
    assert np.concatenate([array, np.ones(1)]).tolist() == [3, 1, 2, 1]
    memory = array
    array *= 2
    array[np.array([True, False, False])] = 9
    array[buffers.array([2])] = 5
    assert array.tolist() == [9, 2, 5]
    array.sort()
    assert array.tolist() == [2, 5, 9]
    assert memory.tolist() == [2, 5, 9]
    assert np.asarray(array).ctypes.data == memory.address
    array = memory
    for made in (copy.deepcopy(array), pickle.loads(pickle.dumps(array))):  # noqa: S301
        assert made.tolist() == [2, 5, 9]
        assert made is not array
    with pytest.raises(ValueError, match="could not broadcast"):
        array[:2] = buffers.zeros(3)
    with pytest.raises(IndexError):
        array[3]
    with pytest.raises(AttributeError):
        array.no_such_thing  # noqa: B018


@without_numpy
def test_buffers_in_tuples_become_numpy_arrays() -> None:
    flags = buffers.Flags(buffers.zeros(2))
    converted = buffers.as_numpy((1, flags, (buffers.zeros(1), "x"), UInt64(3)))
    assert type(converted[1]) is buffers.Flags
    assert type(converted[1].writeable) is type(converted[2][0]) is np.ndarray
    assert type(converted[3]) is np.uint64
    assert converted[0] == 1


def test_model_files_equal_those_of_safetensors() -> None:
    rng = np.random.default_rng(0)
    kinds = ("f4", "f8", "i8", "u8", "i4", "u4", "i1", "u1", "b1", "i2", "u2", "f2")
    tensors = {f"{k}.{kind}": rng.integers(0, 2, (k % 4, 3)).astype(kind) for k, kind in enumerate(2 * kinds)}
    tensors |= {"names": np.frombuffer('["ä"]'.encode(), np.uint8), "empty": np.zeros(0), "a": np.zeros(5)}
    metadata = {"novikoff": '{"labels": ["\\u00e4", "\\n\\"", "\u00fc\u2028\x7f"]}'}
    assert model_file._serialize(tensors, metadata) == serialise(tensors, metadata)


# --- The command line ---

LARGE_PACKAGES = """
import sys
from novikoff.cli.main import main
code = main(sys.argv[1:])
print("\\n" + str("numpy" in sys.modules), file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return files of all formats."""
    folder = tmp_path_factory.mktemp("texts")
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(90):
        columns = np.sort(rng.choice(40, 6, replace=False)) + 1
        rows.append((int(columns[0] < 6), [f"{j}:{v:.4g}" for j, v in zip(columns, rng.random(6), strict=True)]))
    signs = [(2 * y - 1, terms) for y, terms in rows]
    lines = {
        "two.svm": [f"{y} {' '.join(t)}" for y, t in signs],
        "more.svm": [f"{y} {' '.join(t)} 90:1" for y, t in signs[:20]],
        "bad.svm": [
            f"{y} {' '.join(t)}" if k % 9 else f"{y} 3:x" if k % 2 else "what" for k, (y, t) in enumerate(signs)
        ],
        "odd.svm": [f"{y if k % 7 else 0.5} {' '.join(t)}" for k, (y, t) in enumerate(signs)],
        "zeros.svm": [f"{y} {' '.join(t)} 60:0 70:0.0" for y, t in signs],
        "three.svm": [f"{k % 3} {' '.join(t)}" for k, (_, t) in enumerate(signs)],
        "sets.svm": [f"{k % 3},{3 + k % 2} {' '.join(t)}" for k, (_, t) in enumerate(signs)],
        "queries.svm": [f"{k % 3} qid:{k // 9} {' '.join(t)}" for k, (_, t) in enumerate(signs)],
        "one.svm": [f"1 {' '.join(t)}" for _, t in signs],
        "boolean.svm": [f"{y} {' '.join(x.split(':')[0] + ':1' for x in t)}" for y, t in signs],
        "two.vw": [f"{y} | {' '.join(t)}" for y, t in signs],
        "weights.vw": [f"{y} {1 + k % 3} |a {' '.join(t)} |b x{k % 5}" for k, (y, t) in enumerate(signs)],
        "two.csv": ["y,a,b", *(f"{y},{len(t[0])},{t[1].split(':')[1]}" for y, t in signs)],
        "two.jsonl": [f'{{"label": {y}, "a": {t[0].split(":")[1]}, "b": "{t[1]}"}}' for y, t in signs],
    }
    for name, content in lines.items():
        (folder / name).write_text("\n".join(content) + "\n")
    (folder / "two.svm.gz").write_bytes(gzip.compress((folder / "two.svm").read_bytes()))
    (folder / "empty.svm").write_text("# nothing\n")
    return folder


COMMANDS = {
    **{
        f"{name} {learner}": f"{name} --learner {learner}"
        for name in ("two.svm", "two.vw")
        for learner in ("auto", "perceptron", "sgd", "margin-perceptron", "arow")
    },
    **{
        name: name
        for name in (
            *(
                "two.svm --learner perceptron --average",
                "two.svm --json",
                "two.svm --quiet",
                "two.svm --passes 3",
                "two.svm more.svm",
            ),
            *(
                "more.svm two.svm",
                "two.svm.gz",
                "zeros.svm",
                "two.svm --threads 1",
                "two.svm --learner perceptron --no-fit-intercept --tie negative",
            ),
            *("two.svm --learner sgd --l1 0.01", "two.svm --learner sgd --schedule adagrad --average", "weights.vw"),
            *("weights.vw --interactions ab", "two.vw --hash-bits 5", "two.csv", "two.jsonl"),
        )
    },
}
"""Those that do without NumPy."""
OTHERS = (
    *("bad.svm", "bad.svm --bad-lines skip", "odd.svm", "odd.svm --bad-lines skip", "three.svm", "sets.svm", "one.svm"),
    *(
        "queries.svm",
        "two.svm --positive-label 1",
        "two.svm --positive-label 7",
        "two.vw --hash-bits 0",
        "two.vw --keep-names",
    ),
    *("two.svm --multiclass one-vs-all", "two.svm --feature-map poly:2", "two.svm --cache", "missing.svm"),
    *("two.svm --learner winnow", "boolean.svm --learner winnow", "boolean.svm --learner elimination", "empty.svm"),
    *("two.svm --learner kernel-perceptron", "two.svm --learner voted-perceptron"),
    *("two.svm --online-to-batch longest-survivor", "three.svm --learner multilayer-perceptron", "two.svm three.svm"),
    *(
        "boolean.svm --learner rectangle",
        "two.svm --multiclass online-bagging --n-estimators 3",
        "three.svm --positive-label 2",
    ),
    *("two.svm --learner balanced-winnow", "two.vw --learner p-norm-perceptron"),
    "three.svm --multiclass random-forest --n-estimators 3",
)


def remove_times(text: str) -> str:
    """Remove times, which differ from run to run."""
    text = re.sub(r'"seconds": [\d.e-]+, "examples_per_second": [\d.e-]+|seconds +.*', "seconds", text)
    return re.sub(r"( +[\d,.]+){5}$", lambda found: found[0].rsplit(maxsplit=1)[0], text, flags=re.MULTILINE)


def learn_in_process(texts: Path, command: str, model: Path) -> tuple[str, str, int, bytes | None, bool]:
    """Learn in a new process, where nothing has imported NumPy."""
    arguments = ["learn", *command.split(), "--save", str(model)]
    done = subprocess.run(
        [sys.executable, "-c", LARGE_PACKAGES, *arguments], cwd=texts, capture_output=True, text=True, check=False
    )
    errors, _, imported = done.stderr.rstrip().rpartition("\n")
    assert imported in ("True", "False"), done.stderr
    content = model.read_bytes() if model.exists() else None
    return remove_times(done.stdout), remove_times(errors).rstrip(), done.returncode, content, imported == "True"


def learn_here(
    texts: Path, command: str, model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[str, str, int, bytes | None]:
    """Learn in this process, where NumPy is imported already."""
    monkeypatch.chdir(texts)
    code = main(["learn", *command.split(), "--save", str(model)])
    captured = capsys.readouterr()
    content = model.read_bytes() if model.exists() else None
    return remove_times(captured.out), remove_times(captured.err).rstrip(), code, content


@pytest.mark.skipif(not library.IS_SUPPORTED_PLATFORM, reason="the compiled library is for CPython on Linux on x86-64")
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_learning_without_numpy_gives_the_same_bytes(
    texts: Path, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "m.model"
    here = learn_here(texts, command, model, capsys, monkeypatch)
    assert here[2] == 0
    model.unlink()
    *there, imported = learn_in_process(texts, command, model)
    assert tuple(there) == here
    assert not imported


@pytest.mark.skipif(not library.IS_SUPPORTED_PLATFORM, reason="the compiled library is for CPython on Linux on x86-64")
@pytest.mark.parametrize("command", OTHERS)
def test_paths_that_need_numpy_give_the_same_bytes(
    texts: Path, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "m.model"
    here = learn_here(texts, command, model, capsys, monkeypatch)
    model.unlink(missing_ok=True)
    assert learn_in_process(texts, command, model)[:4] == here


def test_numpy_is_used_without_compiled_code(texts: Path) -> None:
    code = "import sys; from novikoff.cli.main import main; main(['learn', 'two.svm']); print('numpy' in sys.modules)"
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=texts, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("True\n")


def test_arrays_are_numpy_arrays_by_default() -> None:
    code = "import sys; from novikoff._compiled import buffers; print(type(buffers.zeros(3)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "numpy.ndarray" in done.stdout


@without_numpy
def test_a_buffer_that_is_too_large_raises_memory_error() -> None:
    with pytest.raises(MemoryError, match="There is no room for"):
        buffers.uninitialised(1 << 60, "uint8")
