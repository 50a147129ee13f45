"""The memory of served models: examples beyond the limit are refused before they are journaled, a journal beyond it
stops one model only, and files are readable by their owner only.
"""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from novikoff import AROW, Kesler, Perceptron, save
from novikoff.model_file import to_bytes
from novikoff.server.models.served_model import ServedModel, create_learner
from novikoff.server.ops.limits import Limits
from novikoff.server.storage.backup import create_backup
from novikoff.server.storage.journal import open_read_only
from novikoff.server.storage.recovery import open_registry
from tests.helpers.server.process import NDJSON, ForkServer, Server, run_server
from tests.helpers.server.traffic import call_concurrently

MB = 1 << 20
KESLER = {"learner": "kesler", "settings": {"estimator": {"name": "perceptron"}}}


def attack(labels: int = 300, lines: int = 60, features: int = 100) -> list[tuple[dict[str, float], str]]:
    """Send labels first, then features: each are few, but their product is large (14 MB here)."""
    first = [({"a": 1.0}, f"label {k}") for k in range(labels)]
    return first + [({f"{k} {j}": 1.0 for j in range(features)}, "label 1") for k in range(lines)]


def measure_resident(server: Server) -> int:
    text = Path(f"/proc/{server.number}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) * 1024


def entries(server: Server, name: str = "m") -> int:
    return len(server.ask("GET", f"/v1/models/{name}/examples")[1].splitlines())


def test_small_requests_can_not_make_a_model_larger_than_its_limit(fork_server: ForkServer, tmp_path: Path) -> None:
    with run_server(fork_server, tmp_path / "data", "--max-model-memory", "4M") as server:
        server.make("m", **KESLER)
        codes, learned = set(), 0
        for x, y in attack():
            status, said = server.learn(x, y)
            learned += status == 200
            codes.add((status, said.get("code")))
        assert codes == {(200, None), (422, "model-too-large")}
        assert entries(server) == learned == server.ask("GET", "/v1/models/m/ledger")[1]["examples"]
        status, said = server.learn({f"new {j}": 1.0 for j in range(1000)}, "label 1")
        assert "the limit of a model is 4 MiB" in said["error"]
        assert "--max-model-memory" in said["error"]
        assert server.learn({"a": 1.0}, "label 2")[0] == 200  # what needs nothing more is learned on
        assert server.predict({"a": 1.0})["label"].startswith("label")
    with run_server(fork_server, tmp_path / "data", "--max-model-memory", "4M") as server:
        assert server.predict({"a": 1.0})["label"].startswith("label")
        assert server.ask("GET", "/v1/models/m/ledger")[1]["examples"] == learned + 1


@pytest.mark.parametrize("learner", ["kesler", "voted-perceptron", "kernel-perceptron", "auto", "perceptron"])
def test_concurrent_streams_and_requests_stay_within_the_limit(
    learner: str, fork_server: ForkServer, tmp_path: Path
) -> None:
    examples = attack() if learner == "kesler" else [(x, f"{k % 2}") for k, (x, _) in enumerate(attack(10, 400))]
    settings = KESLER if learner == "kesler" else {"learner": learner}
    body = b"".join(json.dumps({"features": x, "label": y}).encode() + b"\n" for x, y in examples)
    with run_server(fork_server, tmp_path / "data", "--max-model-memory", "3M") as server:
        server.make("m", **settings)
        status, said = server.ask("POST", "/v1/models/m/learn?bad_lines=skip", body, NDJSON)
        assert status == 200, said
        assert said["refused"].get("model-too-large", 0) > 0
        learned = said["examples"]
        assert entries(server) == learned
        others = [(f"other{k}", [({f"{k} {j} x": 1.0 for j in range(300)}, "0")]) for k in range(8)]
        for name, _ in others:
            server.make(name, **settings)
        calls = [lambda n=n, e=e: ask(server, n, e * 30) for n, e in others]
        assert all(status == 200 for status, _ in call_concurrently(*calls))
        status, said = server.lines([({f"again {j}": 1.0 for j in range(30_000)}, examples[0][1])])
        assert (status, said["code"]) == (422, "model-too-large")
        assert server.learn({"a": 1.0}, examples[0][1])[0] in (200, 422)
    with run_server(fork_server, tmp_path / "data", "--max-model-memory", "3M") as server:
        assert "is stopped" not in server.said
        assert entries(server) >= learned


def ask(server: Server, name: str, examples: list[tuple[Any, Any]]) -> tuple[int, Any]:
    import http.client

    body = b"".join(json.dumps({"features": x, "label": y}).encode() + b"\n" for x, y in examples)
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        line.request("POST", f"/v1/models/{name}/learn?bad_lines=skip", body, NDJSON)
        answer = line.getresponse()
        return answer.status, answer.read()
    finally:
        line.close()


def test_late_labels_count_towards_the_limit(fork_server: ForkServer, tmp_path: Path) -> None:
    with run_server(fork_server, tmp_path / "data", "--max-model-memory", "1M") as server:
        server.make()
        server.learn({"a": 1.0}, "x")
        name = server.predict({f"new {j}": 1.0 for j in range(20_000)})["id"]
        for _ in range(2):
            status, said = server.ask("POST", "/v1/models/m/learn", {"id": name, "label": "y"})
            assert (status, said["code"]) == (422, "model-too-large")
        assert entries(server) == 1
        assert server.ask("GET", "/v1/models/m/ledger")[1]["pending"]["waiting"] == 1


def test_the_memory_of_all_models_is_limited(fork_server: ForkServer, tmp_path: Path) -> None:
    options = ("--max-model-memory", "2M", "--max-server-memory", "5M")
    with run_server(fork_server, tmp_path / "data", *options) as server:
        codes = []
        for k in range(5):
            server.make(f"m{k}")
            status, said = server.learn({f"{j}": 1.0 for j in range(8_000)}, "x", f"m{k}")
            codes.append((status, said.get("code")))
        assert codes[:2] == [(200, None)] * 2
        assert codes[-1] == (507, "server-out-of-memory")
    with run_server(fork_server, tmp_path / "data", *options) as server:
        assert "is stopped" not in server.said


def test_an_entry_beyond_the_limit_stops_its_model_and_no_other(fork_server: ForkServer, tmp_path: Path) -> None:
    """The entry is from a time with a higher limit or none: the server starts, and no data is lost."""
    folder = tmp_path / "data"
    with run_server(fork_server, folder, "--max-model-memory", "200M") as server:
        server.make("large", **KESLER)
        server.make("small")
        assert server.lines(attack(), "large")[0] == 200
        assert server.learn({"a": 1.0}, "x", "small")[0] == 200
    for _ in range(2):
        with run_server(fork_server, folder, "--max-model-memory", "4M") as server:
            assert "'large' is stopped: it needs" in server.said
            assert "No data is lost. Start the server with a larger --max-model-memory" in server.said
            assert server.predict({"a": 1.0}, "small")["label"] == "x"
            assert server.learn({"b": 1.0}, "y", "small")[0] == 200
            assert "is stopped" in server.ask("GET", "/v1/models/large")[1]["warnings"][0]
            for path in ("learn", "predict"):
                body = {"features": {"a": 1.0}} | ({"label": "label 1"} if path == "learn" else {})
                status, said = server.ask("POST", f"/v1/models/large/{path}", body)
                assert (status, said["code"]) == (503, "broken-model")
    with run_server(fork_server, folder, "--max-model-memory", "200M") as server:
        assert "is stopped" not in server.said
        assert server.ask("GET", "/v1/models/large/ledger")[1]["examples"] == len(attack())
        assert server.predict({"a": 1.0}, "large")["label"] is not None


def test_a_file_beyond_the_limit_is_not_loaded(fork_server: ForkServer, tmp_path: Path) -> None:
    folder, options = tmp_path / "data", ("--checkpoint-examples", "1", "--maintenance-interval-ms", "10")
    with run_server(fork_server, folder, "--max-model-memory", "200M", *options) as server:
        server.make("large", **KESLER)
        server.make("small")
        assert server.lines(attack(), "large")[0] == 200
        server.learn({"a": 1.0}, "x", "small")
        expected = server.ask("GET", "/v1/models/large/ledger")[1]["examples"]
        server.stop()
    sizes = [path.stat().st_size for path in (folder / "models").iterdir()]
    assert max(sizes) > 4 * MB
    with run_server(fork_server, folder, "--max-model-memory", "4M", *options) as server:
        assert "'large' is stopped" in server.said
        assert server.predict({"a": 1.0}, "small")["label"] == "x"
        server.stop()
    with run_server(fork_server, folder, "--max-model-memory", "200M") as server:
        assert server.ask("GET", "/v1/models/large/ledger")[1]["examples"] == expected


def test_a_model_file_that_is_too_large_is_refused(fork_server: ForkServer, tmp_path: Path) -> None:
    model = Kesler(AROW())
    for k in range(30):
        model.learn_one({f"{k} {j}": 1.0 for j in range(100)}, f"{k}")
    with run_server(fork_server, tmp_path / "data", "--max-model-memory", "1M") as server:
        headers = {"Content-Type": "application/octet-stream"}
        status, said = server.ask("POST", "/v1/models?name=m", to_bytes(model), headers)
        assert (status, said["code"]) == (422, "model-too-large")


def test_a_challenger_that_grows_too_large_is_stopped_alone(fork_server: ForkServer, tmp_path: Path) -> None:
    with run_server(fork_server, tmp_path / "data", "--max-model-memory", "3M") as server:
        server.make("m", "perceptron")
        server.make("c", "auto", challenges="m")
        for k in range(31):
            assert server.learn({f"{k} {j}": 1.0 for j in range(500)}, f"{k % 2}")[0] == 200
        assert server.ask("POST", "/v1/models/c/predict", {"features": {"a": 1.0}})[1]["code"] == "broken-model"
        assert server.predict({"a": 1.0})["label"] in ("0", "1")


def test_numbered_features_of_a_model_from_files_are_limited_by_the_largest(tmp_path: Path) -> None:
    from novikoff.server.models.admission import MemoryAdmission, MemoryDemand
    from novikoff.server.models.validation import RequestError

    model = Perceptron()
    model.learn_one({1: 1.0}, "a")
    served = ServedModel("m", model, Limits(model_memory=MB), created=0.0)
    admission = MemoryAdmission(served.limits)
    admission.admit(served, {"5000": 1.0}, "a", MemoryDemand(), {"m": served})
    with pytest.raises(RequestError, match=r"would need 15\.3 GiB") as caught:
        admission.admit(served, {"2050000000": 1.0}, "a", MemoryDemand(), {"m": served})
    assert caught.value.code == "model-too-large"


def test_pending_features_and_labels_count_together() -> None:
    """Each entry alone fits; the product of all features and all labels does not."""
    from novikoff.server.models.admission import MemoryAdmission, MemoryDemand
    from novikoff.server.models.validation import RequestError

    served = ServedModel("m", create_learner("kesler", KESLER["settings"]), Limits(model_memory=4 * MB), created=0.0)
    admission, refused = MemoryAdmission(served.limits), 0
    for x, y in attack():
        share = MemoryDemand()
        try:
            admission.admit(served, x, y, share, {"m": served})
        except RequestError:
            refused += 1
        else:
            admission.begin(share)
    assert 0 < refused < 60


def is_backed_up(folder: Path) -> bool:
    """Return whether the journal names a file of the model."""
    with open_read_only(folder) as on:
        return on.execute("SELECT checkpoint FROM models").fetchone()[0] == 2


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_backups_and_data_are_readable_by_their_owner_only(fork_server: ForkServer, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        folder, copy = tmp_path / "data", tmp_path / "new" / "copy"
        with run_server(fork_server, folder, "--checkpoint-examples", "1", "--maintenance-interval-ms", "10") as server:
            server.make()
            server.learn({"a": 1.0}, "x")
            server.learn({"a": 1.0}, "y")
            until = time.monotonic() + 10
            while not is_backed_up(folder) and time.monotonic() < until:
                time.sleep(0.02)
            files = [path for path in folder.rglob("*") if path.is_file()]
            assert {"journal.sqlite", "journal.sqlite-wal"} <= {path.name for path in files}
            assert {mode(path) for path in files} == {0o600}
            assert {mode(folder), mode(folder / "models")} == {0o700}
            create_backup(folder, copy)
            server.stop()
        assert {mode(copy), mode(copy / "models")} == {0o700}
        files = [path for path in copy.rglob("*") if path.is_file()]
        assert len(files) >= 2
        assert {mode(path) for path in files} == {0o600}
        for path in (copy / "journal.sqlite", copy / "models"):  # as an earlier version left them
            path.chmod(0o755 if path.is_dir() else 0o644)
        open_registry(copy, Limits()).journal.close()
        assert (mode(copy / "journal.sqlite"), mode(copy / "models")) == (0o600, 0o700)
    finally:
        os.umask(before)


def test_a_small_learner_can_be_uploaded(fork_server: ForkServer, tmp_path: Path) -> None:
    save(Perceptron().fit([[0.0], [1.0]], [0, 1]), tmp_path / "m.model")
    with run_server(fork_server, tmp_path / "data", "--max-model-memory", "1M") as server:
        headers = {"Content-Type": "application/octet-stream"}
        assert server.ask("POST", "/v1/models?name=m", (tmp_path / "m.model").read_bytes(), headers)[0] == 201
