"""The peak memory of `novikoff learn` does not grow with the length of the file."""

from __future__ import annotations

import functools
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from novikoff._compiled.jit import JIT_DISABLED

STATUS = Path("/proc/self/status")
MB = 1 << 20
MOST = 25 * MB
COLUMNS = 1000  # so few that all of them come in the small file, too: the weights are the same
CODE = """
import sys
from novikoff.cli.main import main
code = main(sys.argv[1:])
with open("/proc/self/status") as status:
    peak = next(line.split()[1] for line in status if line.startswith("VmHWM"))
print(peak)
sys.exit(code)
"""


def svmlight_line(rng: random.Random) -> str:
    columns = sorted(rng.sample(range(COLUMNS), 20))
    return f"{rng.choice((-1, 1))} " + " ".join(f"{j}:{rng.uniform(-1, 1):.4f}" for j in columns)


def vw_line(rng: random.Random) -> str:
    words = " ".join(f"word{j}:{rng.uniform(-1, 1):.3f}" for j in rng.sample(range(COLUMNS), 15))
    return f"{rng.choice((-1, 1))} |a {words} |b {' '.join(f'x{j}' for j in rng.sample(range(COLUMNS), 5))}"


def csv_line(rng: random.Random) -> str:
    return f"{rng.choice('01')}," + ",".join(f"{rng.uniform(-1, 1):.5f}" for _ in range(30))


LINES: dict[str, Callable[[random.Random], str]] = {"svmlight": svmlight_line, "vw": vw_line, "csv": csv_line}


@functools.cache
def two_megabytes(kind: str) -> bytes:
    rng, lines, made = random.Random(kind), [], 0
    while made < 2 * MB:
        lines.append(LINES[kind](rng).encode() + b"\n")
        made += len(lines[-1])
    return b"".join(lines)


def peak(kind: str, size: int, path: Path) -> int:
    """The most memory, in bytes, of a process that learns so much. VmHWM starts at zero with a program; the largest
    resident size that the system tells of children is that of their parent, if it was larger."""
    with open(path, "wb") as file:
        for _ in range(size // (2 * MB)):
            file.write(two_megabytes(kind))
    try:
        done = subprocess.run(
            [sys.executable, "-c", CODE, "learn", str(path), "--format", kind, "--quiet"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        path.unlink()
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1]) << 10


def compare(kind: str, small: int, large: int, folder: Path, runs: int = 3) -> None:
    if not STATUS.exists() or "VmHWM" not in STATUS.read_text():
        pytest.skip("this system does not tell in /proc how much memory a process had at most")
    if JIT_DISABLED:
        pytest.skip("without compilation so much text takes hours")
    path = folder / f"data.{kind}"
    peak(kind, 2 * small, path)  # compile missing kernels first, which takes memory
    # Which thread comes first, and where the system gives large pages, makes up to 30 MB of difference between runs on
    # the same text; what grows with the text is more than that.
    little = max(peak(kind, small, path) for _ in range(runs))
    much = min(peak(kind, large, path) for _ in range(runs))
    message = f"{kind}: {little / MB:.0f} MB for {small // MB} MB of text, {much / MB:.0f} MB for {large // MB} MB"
    print(message)
    assert much - little <= MOST, message


def test_thirty_times_the_text_takes_no_more_memory(tmp_path: Path) -> None:
    compare("svmlight", 2 * MB, 60 * MB, tmp_path, runs=2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LINES)
def test_a_hundred_times_the_text_takes_no_more_memory(kind: str, tmp_path: Path) -> None:
    compare(kind, 2 * MB, 200 * MB, tmp_path)
