"""Late labels: too old, more than memory holds, refused in a stream, on a full disk."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from novikoff.server.models.pending_predictions import LabelledPrediction, LateLabelError, PendingPredictions, SignedIds
from novikoff.server.ops.limits import Limits
from tests.helpers.server.process import NDJSON, ForkServer, Server, run_server


def label(server: Server, name: str, label: Any) -> tuple[int, Any]:
    return server.ask("POST", "/v1/models/m/learn", {"id": name, "label": label})


def counts(server: Server) -> Any:
    return server.ask("GET", "/v1/models/m/ledger")[1]["pending"]


# --- Without a server ---


def waiting(answers: dict[str, LabelledPrediction] | None = None, **limits: int) -> PendingPredictions:
    return PendingPredictions(1, SignedIds(bytes(32)), Limits(**limits), ({} if answers is None else answers).get)


def status_of(some: PendingPredictions, name: str, label: Any = "x") -> int:
    with pytest.raises(LateLabelError) as caught:
        some.claim(name, label)
    return caught.value.status


def test_an_expired_prediction_is_refused() -> None:
    some, now = waiting(pending_seconds=100), time.time()
    names = [some.keep(["a"], now - age)[0] for age in (300, 200, 101, 99, 0)]
    some.record_row(7, names)
    assert status_of(some, names[1]) == 410  # also before anybody has cleared it away
    some.trim(now)
    assert [status_of(some, name) for name in (names[0], names[2])] == [410, 410]
    assert some.current_counts().waiting == 2
    assert (some.counts.too_late, some.counts.expired) == (3, 2)
    assert some.claim(names[3], "x") is not None
    some.settle(names[3])
    assert some.empty == []
    assert some.claim(names[4], "x") is not None
    some.settle(names[4])
    assert some.empty == [7]
    assert some.bytes == 0


def test_labelled_predictions_are_looked_up_in_the_journal() -> None:
    answers: dict[str, LabelledPrediction] = {}
    some, now = waiting(answers, pending=2, pending_seconds=100), time.time()
    names = [some.keep(["a"], now)[0] for _ in range(2)]
    for name in names:
        assert some.claim(name, "x") is not None
    answers |= some.answered
    some.limits = Limits(pending=0, pending_seconds=100)
    some.trim(now)
    assert some.answered == {}
    assert some.claim(names[0], "x") is None
    assert status_of(some, names[0], "y") == 409
    assert status_of(some, names[0], True) == 409
    answers[names[1]] = LabelledPrediction(now - 101, "x")  # of what would have expired nothing is known
    assert status_of(some, names[1]) == 410


def test_altered_prediction_ids_are_refused() -> None:
    ids = SignedIds(b"k" * 32)
    for _ in range(64):  # so that each letter stands last now and then
        name = ids.make(3)
        assert ids.parse_stream(name) == 3
        letters = {chr(code) for code in range(32, 127)} | {"é"}
        for other in [name[:-1] + letter for letter in letters - {name[-1]}] + [name + "=", name + "A", " " + name]:
            assert ids.parse_stream(other) is None
    assert SignedIds(b"l" * 32).parse_stream(name) is None
    assert ids.make(3) != ids.make(3)


def test_a_journal_row_stays_until_its_predictions_are_settled() -> None:
    some, now = waiting(), time.time()
    (first, kept), (second, _) = some.keep(["a"], now), some.keep(["b"], now)
    assert some.claim(first, "x") is not None  # before it is written: its label may still be refused
    some.record_row(1, [first, second])
    assert some.claim(second, "x") is not None
    some.settle(second)
    assert some.empty == []
    some.release(first, kept)
    assert some.claim(first, "y") == kept
    some.settle(first)
    assert some.empty == [1]


# --- With one ---


def test_a_prediction_is_labelled_only_once(fork_server: ForkServer, tmp_path: Path) -> None:
    few = ("--max-pending", "2", "--maintenance-interval-ms", "5")
    with run_server(fork_server, tmp_path / "data", *few) as server:
        server.make()
        ids = []
        for k in range(6):
            ids.append(server.predict({"a": float(k)})["id"])
            assert label(server, ids[-1], "xy"[k % 2])[1]["examples"] == 1
        time.sleep(0.1)  # for housekeeping: memory knows the last two only
        for _ in range(2):
            for k in range(6):
                assert label(server, ids[k], "xy"[k % 2])[1]["status"] == "already learned"
                assert label(server, ids[k], "yx"[k % 2])[0] == 409
        assert server.ask("GET", "/v1/models/m/ledger")[1]["examples"] == 6
        server.kill()
    with run_server(fork_server, tmp_path / "data", *few) as server:
        assert label(server, ids[0], "x")[1]["status"] == "already learned"


def test_refused_labels_in_a_stream_are_not_recorded(fork_server: ForkServer, tmp_path: Path) -> None:
    with run_server(fork_server, tmp_path / "data") as server:
        server.make()
        server.lines([({"a": 1.0}, "x"), ({"a": -1.0}, "y")])
        ids = [server.predict({"a": float(k)})["id"] for k in range(4)]
        plain = [{"features": {"a": 2.0}, "label": "x"}] * 3
        late = [{"id": name, "label": y} for name, y in zip(ids, ("x", "third", "y", "fourth"), strict=True)]
        body = b"".join(json.dumps(line).encode() + b"\n" for line in (*plain, *late[:2], *plain, *late[2:], *plain))
        status, said = server.ask("POST", "/v1/models/m/learn?bad_lines=skip", body, NDJSON)
        assert (status, said["examples"], said["refused"]) == (200, 11, {"not-learned": 2})
        assert (counts(server)["labelled"], counts(server)["waiting"]) == (2, 2)
        assert [label(server, ids[k], "x")[1]["status"] for k in (0, 1)] == ["already learned", "learned"]
        assert label(server, ids[2], "x")[0] == 409
        time.sleep(0.3)  # by then it is on the disk that ids[3] waits on
        server.kill()
    with run_server(fork_server, tmp_path / "data") as server:
        assert label(server, ids[1], "x")[1]["status"] == "already learned"
        assert label(server, ids[3], "y")[1]["status"] == "learned"


def test_a_label_refused_by_a_full_disk_can_be_retried_after_a_crash(fork_server: ForkServer, tmp_path: Path) -> None:
    often = ("--maintenance-interval-ms", "5")
    with run_server(fork_server, tmp_path / "data") as server:
        server.make()
        name = server.predict({"a": 1.0})["id"]
        server.learn({"b": 1.0}, "x")
        server.kill()
    with run_server(fork_server, tmp_path / "data", *often, "--min-free-disk-bytes", str(1 << 60)) as server:
        assert label(server, name, "x")[0] == 507
        time.sleep(0.1)  # for housekeeping, which must not clear it away
        assert label(server, name, "x")[0] == 507
        assert counts(server)["waiting"] == 1
        server.kill()
    with run_server(fork_server, tmp_path / "data", *often) as server:
        assert label(server, name, "x")[1]["status"] == "learned"
        assert server.ask("GET", "/v1/models/m/ledger")[1]["examples"] == 2
        time.sleep(0.1)  # until unneeded rows are removed
        server.kill()
    with run_server(fork_server, tmp_path / "data", *often) as server:
        assert label(server, name, "x")[1]["status"] == "already learned"
        assert counts(server)["waiting"] == 0
