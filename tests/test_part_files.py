"""Temporary files of killed processes are removed; shards that change between two rounds are detected."""

from __future__ import annotations

import fcntl
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from novikoff import InputError, Perceptron, load, save
from novikoff.cli.main import main
from novikoff.data import cache
from novikoff.data.formats.base import ReadOptions
from novikoff.distributed.distributed_learner import DistributedLearner
from novikoff.distributed.shards import FileShard, identify_machine
from novikoff.part_files import STALE_SECONDS

OLD = time.time() - 2 * STALE_SECONDS


def part(folder: Path, name: str, digits: str = "0123456789ab", modified: float = OLD) -> Path:
    path = folder / f".{name}.{digits}.part"
    path.write_bytes(b"half a model")
    os.utime(path, (modified, modified))
    return path


def test_temporary_files_of_killed_processes_are_removed_by_the_next_save(tmp_path: Path) -> None:
    model = Perceptron().learn_one({"a": 1.0}, 1).learn_one({"b": 1.0}, 0)
    stale = part(tmp_path, "m.model")
    others = [
        part(tmp_path, "other.model"),
        part(tmp_path, "m.model.old"),
        part(tmp_path, "m.model", "no token"),
        part(tmp_path, "m.model", "aaaaaaaaaaaa", time.time()),
    ]
    locked = part(tmp_path, "m.model", "bbbbbbbbbbbb")
    with open(locked, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        save(model, tmp_path / "m.model")
    assert not stale.exists()
    assert all(path.exists() for path in [*others, locked])
    assert load(tmp_path / "m.model").score_one(["a"]) == model.score_one(["a"])
    save(model, tmp_path / "m.model")
    assert not locked.exists()


def test_temporary_caches_of_killed_processes_are_removed(tmp_path: Path) -> None:
    data = tmp_path / "d.svm"
    data.write_text("1 1:1\n-1 2:1\n" * 100)
    command = ["learn", str(data), "--cache"]
    kill = "import os; from novikoff.cli.main import main; from novikoff.data import cache;"
    kill += f"cache.CacheWriter.close = lambda *_: os.kill(os.getpid(), 9); main({command!r})"
    assert subprocess.run([sys.executable, "-c", kill], cwd=tmp_path, check=False).returncode == -9
    (left,) = tmp_path.glob(".d.svm.novikoff-cache.*.part")
    other = part(tmp_path, "e.svm.novikoff-cache")
    assert main(command) == 0  # it may still be written: it is too new
    assert left.exists()
    os.utime(left, (OLD, OLD))
    assert main(command) == 0  # the cache is complete now, and only read
    assert not left.exists()
    assert other.exists()
    assert (tmp_path / "d.svm.novikoff-cache").exists()


def test_a_temporary_cache_that_is_being_written_stays(tmp_path: Path) -> None:
    data = tmp_path / "d.svm"
    data.write_text("1 1:1\n-1 2:1\n" * 100)
    writer = cache.CacheWriter(str(data), cache.CacheKey.from_status(os.stat(data), {}))
    os.utime(writer.temporary, (OLD, OLD))
    assert main(["learn", str(data), "--cache"]) == 0
    assert writer.temporary.exists()
    writer.drop()


def shard(path: Path, seed: int) -> str:
    """Write rows whose middle depends on the seed: length and both ends are always the same."""
    same = "1 1:1\n-1 2:1\n" * 20_000
    path.write_text(same + f"1 3:{seed}\n-1 4:{seed}\n" * 10 + same)
    return str(path)


def test_a_shard_that_is_replaced_between_two_rounds_is_noticed(tmp_path: Path) -> None:
    names = [shard(tmp_path / f"{k}.svm", 1) for k in range(2)]

    def replace(*_: Any) -> None:
        new = tmp_path / "new"
        shard(new, 2)
        new.rename(names[1])

    from novikoff.distributed import coordinator

    before, turns = coordinator._RoundLoop.run_round, []

    def record_round(self: Any, message: bytes, *, more: bool) -> Any:
        turn = before(self, message, more=more)
        turns.append(turn)
        if len(turns) == 1:
            replace()
        return turn

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coordinator._RoundLoop, "run_round", record_round)
        with pytest.raises(InputError, match=r"1\.svm: the file has changed"):
            DistributedLearner(Perceptron(), rounds=3).fit(names)
    turns.clear()
    DistributedLearner(Perceptron(), rounds=3).fit(names)  # left as they are, they are fine


def test_fingerprints_of_other_machines_are_compared_by_content(tmp_path: Path) -> None:
    one, other = (shard(tmp_path / f"{k}.svm", 1) for k in range(2))
    first, second = (FileShard(name, ReadOptions()).fingerprint() for name in (one, other))
    assert first is not None
    assert second is not None
    assert not first.matches(second)  # another file on the same machine
    assert first.matches(second._replace(machine="elsewhere"))
    assert not first.matches(second._replace(machine="elsewhere", digest="0"))


@pytest.mark.parametrize("read_proc", [True, False])
def test_two_machines_of_the_same_name_are_different_machines(read_proc: bool, monkeypatch: Any) -> None:
    """Copies of a shard on two hosts called localhost have other inodes and times, and are the same shard."""
    own = identify_machine.__wrapped__()
    assert own == identify_machine.__wrapped__()
    assert own.startswith(platform.node())
    read = Path.read_text

    def other_boot(path: Path, **more: Any) -> str:
        if str(path) != "/proc/sys/kernel/random/boot_id":
            return read(path, **more)
        if not read_proc:
            raise FileNotFoundError(path)
        return "00000000-0000-4000-8000-000000000000\n"

    monkeypatch.setattr(Path, "read_text", other_boot)
    monkeypatch.setattr("uuid.getnode", lambda: 0x0123456789AB)
    assert identify_machine.__wrapped__() != own
    assert identify_machine.__wrapped__().startswith(platform.node())


def test_copies_of_a_shard_on_two_hosts_of_the_same_name_match(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("platform.node", lambda: "localhost")
    found = []
    for k in range(2):
        monkeypatch.setattr("novikoff.distributed.shards.identify_machine", lambda k=k: f"localhost boot-{k}")
        found.append(FileShard(shard(tmp_path / f"{k}.svm", 1), ReadOptions()).fingerprint())
    assert found[0] is not None
    assert found[0].matches(found[1])
