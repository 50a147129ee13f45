"""Distributed learning on a Dask cluster: workers and schedulers that die, and incompatible workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

import novikoff
from novikoff import AROW, SGD, InputError, Kesler, Perceptron
from novikoff.cli.main import main
from novikoff.data.reader import ReadOptions
from novikoff.distributed import DistributedLearner, dask_executor
from novikoff.distributed.certificate import verify
from novikoff.distributed.compatibility import prepare_model
from novikoff.distributed.coordinator import Plan, run_rounds
from novikoff.distributed.dask_executor import DaskExecutor, connect
from novikoff.distributed.executor import LocalExecutor
from novikoff.distributed.ledger import DistributedLedger
from novikoff.distributed.shards import FileShard
from novikoff.model_file import to_bytes
from tests.helpers.model_bytes import to_bytes_without_calibration
from tests.helpers.streams import real

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'novikoff[cluster]'")
ROUNDS = 3
# Processes are killed here, and what Dask had open to them is found by the garbage collector, in whichever test.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with connect(None, 1) as client:
        yield client


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder, made = tmp_path_factory.mktemp("shards"), []
    for k in range(5):
        X, y = real(k, rows=400, columns=20, kind=np.float32)
        made.append(str(folder / f"part-{k}.svm"))
        dump_svmlight_file(X, y, made[-1], zero_based=False)
    return made


@pytest.fixture(scope="module", params=["mistakes", "uniform"])
def mixing(request: pytest.FixtureRequest) -> str:
    """Provide the kind of mixing; with the second one, rounds are scheduled ahead."""
    return str(request.param)


@pytest.fixture(scope="module")
def expected_model(names: list[str], mixing: str) -> bytes:
    """Provide the model that this process learns without a cluster."""
    message, _ = run_rounds(LocalExecutor(), _files(names), _plan(mixing))
    return message


def _plan(mixing: str = "mistakes") -> Plan:
    return Plan(prepare_model(SGD(average=True), ROUNDS), ROUNDS, mixing)


def _files(names: list[str]) -> list[Any]:
    return [FileShard(name, ReadOptions()) for name in names]


def scale_cluster(client: Any, workers: int) -> None:
    client.cluster.scale(workers)
    until = time.monotonic() + 60
    while len(client.scheduler_info()["workers"]) != workers and time.monotonic() < until:
        time.sleep(0.05)


def test_the_same_bytes_for_one_two_and_three_workers(
    client: Any, names: list[str], expected_model: bytes, mixing: str
) -> None:
    for workers in (1, 2, 3) if mixing == "mistakes" else (2, 3):
        scale_cluster(client, workers)
        assert len(client.scheduler_info()["workers"]) == workers
        assert run_rounds(DaskExecutor(client), _files(names), _plan(mixing))[0] == expected_model


@dataclass(frozen=True)
class Deadly(FileShard):
    """A shard whose worker is killed while it learns it, each time that the weights of a round come for the first
    time; `folder` remembers that."""

    folder: str = ""

    def learn(self, model: Any, data: Any) -> bool:
        round_ = model._state.ledger.examples
        mark = Path(self.folder, f"{Path(self.title).name}-{round_}")
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().learn(model, data)


@pytest.mark.slow
def test_killed_workers_do_not_change_the_model(
    client: Any, names: list[str], expected_model: bytes, mixing: str, tmp_path: Path
) -> None:
    """In every round a worker dies in the midst of a shard, and what it held of others is lost. There is one more than
    die: Dask takes its time to start others."""
    scale_cluster(client, ROUNDS + 1)
    before = set(client.run(os.getpid).values())
    shards = [*_files(names[:2]), Deadly(names[2], ReadOptions(), folder=str(tmp_path)), *_files(names[3:])]
    message, _ = run_rounds(DaskExecutor(client), shards, _plan(mixing))
    assert len(list(tmp_path.iterdir())) == ROUNDS
    assert message == expected_model
    assert len(before & set(client.run(os.getpid).values())) < len(before)


@pytest.mark.slow
def test_a_run_resumes_after_the_scheduler_dies(
    client: Any, names: list[str], expected_model: bytes, mixing: str, tmp_path: Path
) -> None:
    import dask

    checkpoint, address = str(tmp_path / "run.checkpoint"), tmp_path / "address.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    tool = [sys.executable, "-m", "dask"]
    here = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(address)]
    scheduler = subprocess.Popen([*tool, "scheduler", *here], **quiet)
    worker = subprocess.Popen(
        [*tool, "worker", "--scheduler-file", str(address), "--no-nanny", "--no-dashboard", "--death-timeout", "5"],
        **quiet,
    )
    try:
        until = time.monotonic() + 60
        while not (address.exists() and address.stat().st_size) and time.monotonic() < until:
            time.sleep(0.05)
        impatient = {"distributed.comm.timeouts.connect": "1s", "distributed.comm.retry.count": 0}
        with (
            dask.config.set(impatient),
            distributed.Client(json.loads(address.read_text())["address"], set_as_default=False) as other,
        ):
            learner = DistributedLearner(
                SGD(average=True), rounds=ROUNDS, mixing=mixing, client=other, checkpoint=checkpoint
            )

            def kill(number: int, _: Any) -> None:
                if number == 2:
                    scheduler.kill()
                    scheduler.wait()

            with pytest.raises(InputError, match="The connection to the scheduler was lost"):
                learner.fit(names, on_round=kill)
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
    seen: list[int] = []
    again = DistributedLearner(SGD(average=True), rounds=ROUNDS, mixing=mixing, client=client, checkpoint=checkpoint)
    again.fit(names, on_round=lambda number, _: seen.append(number))
    assert seen == [3]
    from novikoff.distributed.worker_tasks import serialize_model

    assert serialize_model(again.model_) == expected_model


BROKEN = {
    "import sys; sys.modules['novikoff'] = None": "has no novikoff",
    "import novikoff; novikoff.__version__ = '0.0.9'": "has novikoff 0.0.9, this process has",
}


@pytest.mark.slow
@pytest.mark.parametrize("code", list(BROKEN))
def test_an_incompatible_worker_is_named(client: Any, names: list[str], code: str) -> None:
    address = client.scheduler.address
    count = len(client.scheduler_info()["workers"])
    start = "from distributed.cli.dask_worker import main; main()"
    worker = subprocess.Popen(
        [sys.executable, "-c", f"{code}; {start}", address, "--no-nanny", "--no-dashboard", "--name", "odd"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        client.wait_for_workers(count + 1, timeout=60)
        odd = next(w for w, about in client.scheduler_info()["workers"].items() if about["name"] == "odd")
        with pytest.raises(InputError, match=BROKEN[code]) as raised:
            DistributedLearner(AROW(), rounds=1, client=client).fit(names)
        assert odd in str(raised.value)
    finally:
        worker.kill()
        worker.wait()
    until = time.monotonic() + 30
    while len(client.scheduler_info()["workers"]) > count and time.monotonic() < until:
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("code", list(BROKEN))
def test_an_incompatible_scheduler_is_named(names: list[str], tmp_path: Path, code: str) -> None:
    """The scheduler unpickles every task that it forwards."""
    address = tmp_path / "address.json"
    start = "from distributed.cli.dask_scheduler import main; main()"
    odd = [sys.executable, "-c", f"{code}; {start}", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*odd, "--scheduler-file", str(address)], **quiet)
    own = ["--scheduler-file", str(address), "--no-nanny", "--no-dashboard"]
    worker = subprocess.Popen([sys.executable, "-m", "dask", "worker", *own], **quiet)
    try:
        until = time.monotonic() + 60
        while not (address.exists() and address.stat().st_size) and time.monotonic() < until:
            time.sleep(0.05)
        where = json.loads(address.read_text())["address"]
        raised = f"The scheduler {where} {BROKEN[code]}"
        with connect(where) as other, pytest.raises(InputError, match=raised):
            DistributedLearner(AROW(), rounds=1, client=other).fit(names)
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()


def _sleep() -> None:
    time.sleep(60)


@pytest.mark.slow
def test_waiting_for_lost_workers_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_executor, "POLL_INTERVAL_SECONDS", 0.2)
    monkeypatch.setattr(dask_executor, "WORKER_TIMEOUT_SECONDS", 20.0)
    with connect(None, 1) as client:
        engine = DaskExecutor(client)
        handle = engine.call(_sleep)
        engine._submit_pending()
        monkeypatch.setattr(dask_executor, "WORKER_TIMEOUT_SECONDS", 1.0)
        client.cluster.scale(0)
        with pytest.raises(InputError, match="lost all its workers"):
            engine.results([handle])
        with pytest.raises(InputError, match="has had no workers for 1 s"):
            DaskExecutor(client)


@pytest.mark.slow
def test_arrays_bags_frames_and_delayed_batches_are_learned(client: Any) -> None:
    import dask
    import dask.array as da
    import dask.bag as db
    import pandas as pd
    from dask import dataframe as dd

    X, y = real(3, rows=300)
    cuts = [slice(k, k + 100) for k in (0, 100, 200)]
    pairs = [(X[cut], y[cut]) for cut in cuts]
    plain = to_bytes(DistributedLearner(Perceptron(), rounds=2, client=client).fit(pairs).model_)
    arrays = da.from_array(X, chunks=(100, 5)), da.from_array(y, chunks=150)
    delayed = [dask.delayed(_build_batch)(k) for k in range(3)]
    for data in (
        arrays,
        (db.from_delayed([dask.delayed(_build_batch_list)(k) for k in range(3)]), None),
        (delayed, None),
    ):
        there = DistributedLearner(Perceptron(), rounds=2, client=client).fit(*data)
        assert to_bytes(there.model_) == plain
    one = DistributedLearner(Perceptron(), rounds=2, client=client).fit(arrays[0].rechunk(300), arrays[1].rechunk(300))
    by_fit = Perceptron(passes=2, shuffle=False).fit(X, y)
    assert to_bytes_without_calibration(one.model_) == to_bytes_without_calibration(by_fit)
    mapped = db.from_sequence(range(3), npartitions=3).map(_build_batch)
    assert to_bytes(DistributedLearner(Perceptron(), rounds=2, client=client).fit(mapped).model_) == plain
    frame = dd.from_pandas(pd.DataFrame(X).rename(columns=str).assign(label=y), npartitions=3)
    rows, labels = frame.drop(columns="label"), frame["label"]
    framed = DistributedLearner(Perceptron(), rounds=2, client=client).fit(rows, labels)
    assert framed.model_.feature_names_in_.tolist() == [str(k) for k in range(X.shape[1])]
    assert framed.model_.coef_.tolist() == there.model_.coef_.tolist()
    unknown = rows.to_dask_array()  # how long its parts are is not known
    for of_them in (labels.to_dask_array(), da.from_array(y, chunks=100)):
        learned = DistributedLearner(Perceptron(), rounds=2, client=client).fit(unknown, of_them)
        assert to_bytes(learned.model_) == plain
    with pytest.raises(InputError, match="X has 3 and y has 2"):
        DistributedLearner(AROW(), rounds=1, client=client).fit(unknown, arrays[1])
    alone = DistributedLearner(Perceptron(), rounds=2, client=client).fit(delayed[0])
    by_fit = Perceptron(passes=2, shuffle=False).fit(*pairs[0])
    assert to_bytes_without_calibration(alone.model_) == to_bytes_without_calibration(by_fit)
    halves = DistributedLearner(Perceptron(), rounds=2, client=client).fit(delayed[0][0], delayed[0][1])
    assert to_bytes(halves.model_) == to_bytes(alone.model_)
    with pytest.raises(InputError, match="without labels"):
        DistributedLearner(AROW(), rounds=1, client=client).fit(arrays[0])
    with pytest.raises(InputError, match="y must be a Dask collection"):
        DistributedLearner(AROW(), rounds=1, client=client).fit(arrays[0], y)
    with pytest.raises(InputError, match="rows, but y has"):
        DistributedLearner(AROW(), rounds=1, client=client).fit(arrays[0], arrays[1][:200])


def _build_batch(k: int) -> Any:
    X, y = real(3, rows=300)
    return X[100 * k : 100 * k + 100], y[100 * k : 100 * k + 100]


def _build_batch_list(k: int) -> Any:
    return [_build_batch(k)]


def test_a_shard_that_is_missing_is_named_by_its_worker(client: Any, names: list[str]) -> None:
    with pytest.raises(InputError, match=r"nowhere\.svm: the file does not exist on this worker"):
        DistributedLearner(AROW(), rounds=1, client=client).fit([*names, "/tmp/nowhere.svm"])  # noqa: S108 - it is not there


@pytest.mark.slow
def test_a_certificate_made_and_verified_on_the_cluster(client: Any, names: list[str]) -> None:
    done = DistributedLearner(Perceptron(), rounds=2, client=client).fit(names)
    certificate = done.certify()
    assert verify(certificate.document, names, client=client) == []
    assert all(bound["verdict"] != "violated" for bound in certificate.bounds)


@pytest.mark.slow
def test_the_command_line_learns_on_a_cluster(
    client: Any, names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pattern, model = str(Path(names[0]).parent / "part-*.svm"), tmp_path / "m.model"
    certificate = str(tmp_path / "c.json")
    base = ["cluster", "learn", pattern, "--scheduler", client.scheduler.address, "--rounds", "2"]
    assert main([*base, "--save", str(model), "--certificate", certificate, "--json"]) == 0
    raised = capsys.readouterr()
    report = json.loads(raised.out)
    assert (report["shards"], report["rounds"], report["examples"]) == (5, 2, 4000)
    assert "dashboard" in raised.err
    assert raised.err.splitlines()[0] == "auto can't be mixed across shards: using arow"
    lines = raised.err.splitlines()
    assert [line.split()[0] for line in lines if line[:8].strip().isdigit()] == ["1", "2"]
    assert lines[3] == f"reading     {names[0]} and 4 more: svmlight"
    assert lines[4].startswith("label       ")
    assert report["read"]["format"] == "svmlight"
    assert report["read"]["files"] == names
    assert report["learner"] == "arow"
    same = DistributedLearner(AROW(), rounds=2, client=client).fit(names)
    assert model.read_bytes() == to_bytes(same.model_)
    assert report["mixed_mistakes"] == float(same.ledger_.mixture_sum("mistakes"))
    assert main(["verify", certificate, *names]) == 0
    assert main(["verify", certificate, pattern, "--scheduler", client.scheduler.address]) == 0
    assert main(["verify", certificate, *names[::-1], "--scheduler", client.scheduler.address]) == 1
    plain = str(tmp_path / "plain.json")
    assert main(["learn", names[0], "--learner", "perceptron", "--certificate", plain, "--quiet"]) == 0
    assert main(["verify", plain, names[0], "--scheduler", client.scheduler.address]) == 2
    assert "is not a certificate of a cluster: leave out --scheduler" in capsys.readouterr().err
    assert main([*base, "--passes", "3"]) == 2
    assert "use --rounds" in capsys.readouterr().err
    assert main([*base, "--learner", "voted-perceptron", "--quiet"]) == 2
    assert "Use Perceptron(average=True)" in capsys.readouterr().err
    assert main([*base, "--workers", "2"]) == 2
    assert main(["cluster", "learn", pattern, "--scheduler", "nonsense", "--quiet"]) == 2
    assert "nonsense: the scheduler can't be reached" in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_line_learns_many_classes_on_a_cluster(
    client: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for k, text in enumerate(["1 1:1\n2 2:1\n3 3:1\n", "4 4:1\n1 1:2\n", "2 2:1\n"]):
        (tmp_path / f"{k}.svm").write_text(text)
    base = ["cluster", "learn", str(tmp_path / "*.svm"), "--scheduler", client.scheduler.address, "--quiet"]
    assert main([*base, "--json", "--save", str(tmp_path / "m")]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["multiclass"], report["classes"]) == ("kesler", 4)
    assert main([*base, "--classes", "1,2,3,4", "--save", str(tmp_path / "n")]) == 0
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()
    assert isinstance(novikoff.load(tmp_path / "m"), Kesler)
    assert main([*base, "--multiclass", "binary"]) == 2


@pytest.mark.slow
def test_the_command_line_starts_its_own_cluster(names: list[str], tmp_path: Path) -> None:
    out = tmp_path / "m.model"
    command = [sys.executable, "-m", "novikoff", "cluster", "learn", *names, "--rounds", "2", "--workers", "2"]
    done = subprocess.run([*command, "--save", str(out)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    lost = [*command[:5], names[0], str(tmp_path / "lost.svm"), "--workers", "1", "--quiet"]
    failed = subprocess.run(lost, capture_output=True, text=True, timeout=120, check=False)
    assert (failed.returncode, failed.stdout) == (2, "")
    (sentence,) = failed.stderr.splitlines()  # nothing of what Dask has to say of it
    assert "lost.svm: the file does not exist on this worker" in sentence
    message, ledger = run_rounds(LocalExecutor(), _files(names), Plan(prepare_model(AROW(), 2), 2, "uniform"))
    from novikoff.distributed.worker_tasks import deserialize_model

    assert out.read_bytes() == to_bytes(deserialize_model(message))
    assert isinstance(ledger, DistributedLedger)
