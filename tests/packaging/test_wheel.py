"""The wheel in an environment without Numba: everything documented runs, and nothing is compiled."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from novikoff._compiled import library
from novikoff._compiled.jit import JIT_DISABLED
from tests.helpers.paths import ROOT
from tests.helpers.run_documentation import find_free_port

pytestmark = pytest.mark.skipif(
    JIT_DISABLED or not library.IS_SUPPORTED_PLATFORM, reason="the library is for CPython on Linux on x86-64"
)
COMPILERS = ("numba", "llvmlite", "novikoff", "__editable__", "_novikoff", "_editable", "ziglang")
CORE_MEGABYTES, WHEEL_MEGABYTES = 200, 20


def run(*command: str | Path, **env: str) -> str:
    """Return the output of a command on both streams; the command must succeed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NOVIKOFF_", "COV_"))}
    done = subprocess.run(
        list(map(str, command)), env={**kept, **env}, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as pip does, for this machine."""
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--wheel-dir", folder]
    run(sys.executable, "-m", "pip", "wheel", *options, ".")
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a new environment with the wheel, and links to all installed packages except compilers."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=True, symlinks=True)
    python = folder / "bin" / "python"
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.startswith(COMPILERS) and not (packages / path.name).exists() and path.suffix != ".pth":
            (packages / path.name).symlink_to(path)
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", wheel)
    return python


def test_the_wheel_has_the_library_and_is_small(wheel: Path) -> None:
    assert wheel.name.endswith("py3-none-linux_x86_64.whl")
    names = zipfile.ZipFile(wheel).namelist()
    libraries = [Path(name).name for name in names if name.startswith("novikoff/_compiled/lib/")]
    assert {library.CHECKSUM_FILE, library.CPU_FILE} < set(libraries)
    assert any(name.startswith("kernels-") for name in libraries)
    assert wheel.stat().st_size < WHEEL_MEGABYTES * 2**20


def test_numba_is_not_installed(python: Path) -> None:
    found = run(
        python,
        "-c",
        "from importlib.util import find_spec as f; print(f('numba'), f('llvmlite'), f('novikoff').origin)",
    )
    assert found.startswith("None None ")
    assert str(ROOT) not in found


@pytest.mark.parametrize(
    "part", ["learners", "schemes", "distributed", "output_hypotheses", "others", "certificates", "files"]
)
def test_every_combination_runs(part: str, python: Path) -> None:
    record = os.environ.get("NOVIKOFF_RECORD_KERNELS", "")
    said = run(python, "-m", "tests.compiled.kernel_matrix", part, NOVIKOFF_RECORD_KERNELS=record)
    assert f"{part} done" in said
    assert "Compiling" not in said


def test_a_server_and_a_cluster_run(python: Path, tmp_path: Path) -> None:
    from novikoff import Client

    for name in ("a.svm", "b.svm"):
        (tmp_path / name).write_text("1 1:1 2:1\n-1 1:1 3:1\n" * 30)
    program = python.with_name("novikoff")
    said = run(program, "cluster", "learn", tmp_path / "a.svm", tmp_path / "b.svm", "--workers", "2", "--quiet")
    assert "Compiling" not in said
    port = find_free_port()
    command = [str(program), "serve", "--data-dir", str(tmp_path / "models"), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        assert server.stdout is not None
        assert "serves at" in server.stdout.readline()
        client = Client(f"http://127.0.0.1:{port}")
        for learner in ("auto", "perceptron", "arow"):
            client.create(learner, learner=learner)
            client.learn_stream(learner, [({"sun": 0.9}, "dry"), ({"clouds": 0.7}, "rain")] * 5)
            assert client.predict(learner, {"clouds": 0.8}).label == "rain"
            client.certificate(learner)
        server.terminate()
        assert "Compiling" not in server.stdout.read()


@pytest.mark.slow
def test_the_core_is_small(wheel: Path, tmp_path: Path) -> None:
    """Only NumPy and safetensors are installed with it."""
    venv.create(tmp_path / "core", with_pip=True)
    python = tmp_path / "core" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    size = sum(
        path.stat().st_size for path in (tmp_path / "core").rglob("*") if path.is_file() and not path.is_symlink()
    )
    assert size < CORE_MEGABYTES * 2**20
    said = run(
        python,
        "-c",
        "import novikoff; print(novikoff.Perceptron(passes=20).fit([[0.0], [1.0]], [0, 1]).predict([[2.0]]))",
    )
    assert said == "[1]\n"
    data = tmp_path / "data.svm"
    data.write_text("1 1:1 2:3\n-1 1:2 3:1\n1 3:2 4:1\n-1 2:1 4:2\n1 1:1 4:1\n-1 1:1 4:1\n")
    for command, extra in (
        ("learn iris", "sklearn"),
        ("completion bash", "completion"),
        ("serve --data-dir x", "serve"),
        (f"separable {data}", "scipy"),
    ):
        done = subprocess.run(
            [python.with_name("novikoff"), *command.split()], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert f"novikoff[{extra}]" in done.stderr
