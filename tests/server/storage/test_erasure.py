"""Erasure and retention: data of a client, a prediction or a request leave the journal and backups permanently."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("msgspec", reason="the service is an extra: novikoff[serve]")

from novikoff import Perceptron, __version__
from novikoff.cli.main import main
from novikoff.errors import InputError
from novikoff.model_file import to_bytes
from novikoff.server.http import auth
from novikoff.server.ops.limits import DAY_SECONDS, Limits
from novikoff.server.storage import attribution, journal
from novikoff.server.storage.backup import create_backup
from novikoff.server.storage.erasure import ErasureSubject, erase
from tests.helpers.server.process import NDJSON, ForkServer, Server, run_server


class Clients:
    """Two tokens of a folder, each with its headers."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        made = {name: auth.create_token(folder, ["admin"], 1, name) for name in ("shop", "blog")}
        self.ids = {name: secret[4:12] for name, secret in made.items()}
        self.headers = {name: {"Authorization": f"Bearer {secret}"} for name, secret in made.items()}

    def learn(self, server: Server, client: str, word: str, label: str, **headers: str) -> Any:
        body = {"features": {word: 1.0}, "label": label}
        status, said = server.ask("POST", "/v1/models/m/learn", body, self.headers[client] | headers)
        assert status == 200, said
        return said

    def predict(self, server: Server, client: str, word: str) -> str:
        body = {"features": {word: 1.0}}
        status, said = server.ask("POST", "/v1/models/m/predict", body, self.headers[client])
        assert status == 200, said
        return str(said["id"])

    def label(self, server: Server, client: str, name: str, label: str) -> int:
        return server.ask("POST", "/v1/models/m/learn", {"id": name, "label": label}, self.headers[client])[0]


def is_in_files(folder: Path, word: str, pattern: str = "journal.sqlite*") -> bool:
    return any(word.encode() in path.read_bytes() for path in folder.glob(pattern))


def weights(server: Server, headers: dict[str, str]) -> bytes:
    status, content = server.ask("GET", "/v1/models/m/download", headers=headers)
    assert status == 200
    return bytes(content)


def test_the_data_of_one_client_leaves_the_journal_and_the_backup(fork_server: ForkServer, tmp_path: Path) -> None:
    folder, copy = tmp_path / "data", tmp_path / "copy"
    clients = Clients(folder)
    shop, blog = clients.headers["shop"], clients.headers["blog"]
    with run_server(fork_server, folder) as server:
        assert server.ask("POST", "/v1/models", {"name": "m", "learner": "perceptron"}, shop)[0] == 201
        for k in range(20):
            clients.learn(server, "shop", f"shopword{k}", "yes")
            clients.learn(server, "blog", f"blogword{k}", "no")
        lines = b"".join(b'{"features":{"shopline%d":1},"label":"yes"}\n' % k for k in range(30))
        assert server.ask("POST", "/v1/models/m/learn", lines, shop | NDJSON)[1]["examples"] == 30
        waiting = clients.predict(server, "shop", "shopwaiting")
        lent = clients.predict(server, "shop", "shoplent")
        assert clients.label(server, "blog", lent, "no") == 200  # the features are the shop's
        other = clients.predict(server, "blog", "blogwaiting")
        before = weights(server, blog)
        server.stop()
    create_backup(folder, copy)
    assert is_in_files(folder, "shopword3")
    for place in (folder, copy):
        report = erase(place, ErasureSubject(client=clients.ids["shop"]))
        assert (report.examples, report.entries, report.waiting, report.unattributed) == (51, 22, 1, 0)
        for word in ("shopword", "shopline", "shopwaiting", "shoplent"):
            assert not is_in_files(place, word), word
        assert is_in_files(place, "blogword3")
        assert is_in_files(place, "blogwaiting")
        again = erase(place, ErasureSubject(client=clients.ids["shop"]))
        assert again.is_empty
    for place in (folder, copy):
        with run_server(fork_server, place) as server:
            assert weights(server, blog) == before  # the weights are kept
            examples = server.ask("GET", "/v1/models/m/examples", headers=blog)[1].splitlines()
            assert len(examples) == 20
            assert all(b"blogword" in line for line in examples)
            status, said = server.ask("GET", "/v1/models/m/certificate", headers=blog)
            assert (status, said["code"]) == (422, "not-certifiable")
            assert "erased" in said["error"]
            assert clients.label(server, "shop", waiting, "yes") == 410
            assert clients.label(server, "blog", other, "no") == 200
            clients.learn(server, "shop", "new", "yes")  # learning continues
            after = weights(server, blog)
            server.kill()
        with run_server(fork_server, place) as server:
            assert weights(server, blog) == after


def test_models_are_saved_before_an_erasure(fork_server: ForkServer, tmp_path: Path) -> None:
    """After a crash the last entries are in no file, so the models are written before anything is erased."""
    folder = tmp_path / "data"
    clients = Clients(folder)
    shop = clients.headers["shop"]
    with run_server(fork_server, folder) as server:
        server.ask("POST", "/v1/models", {"name": "m", "learner": "perceptron"}, shop)
        server.ask("POST", "/v1/models", {"name": "n", "learner": "sgd", "challenges": "m"}, shop)
        for k in range(10):
            clients.learn(server, ("shop", "blog")[k % 2], f"w{k}", ("yes", "no")[k % 3 == 0])
        before = weights(server, shop)
        server.kill()
    assert not list((folder / "models").glob("*.model"))
    assert erase(folder, ErasureSubject(client=clients.ids["blog"])).examples == 5
    with run_server(fork_server, folder) as server:
        assert weights(server, shop) == before
        ledger = server.ask("GET", "/v1/models/n/ledger", headers=shop)[1]
        assert ledger["examples"] == 10


def test_an_erasure_that_fails_changes_nothing(
    fork_server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data"
    with run_server(fork_server, folder) as server:
        server.make()
        for k in range(6):
            server.learn({f"w{k}": 1.0}, "xy"[k % 2], key=f"k{k}")
        server.stop()

    def rows() -> list[Any]:
        with sqlite3.connect(folder / journal.JOURNAL_FILE) as on:
            found = on.execute("SELECT * FROM entries").fetchall() + on.execute("SELECT * FROM sources").fetchall()
        on.close()
        return found

    def fail(*arguments: object) -> None:
        raise OSError("a test")

    before = rows()
    with monkeypatch.context() as broken:
        broken.setattr("novikoff.server.storage.erasure._erase_predictions", fail)
        with pytest.raises(OSError, match="a test"):
            erase(folder, ErasureSubject(key="k2"))
    assert rows() == before
    assert erase(folder, ErasureSubject(key="k2")).examples == 1
    with run_server(fork_server, folder) as server:
        assert len(server.ask("GET", "/v1/models/m/examples")[1].splitlines()) == 5


def kill_backup(folder: Path, to: Path) -> Path:
    """Kill a backup after it has copied the journal; return what it leaves."""
    code = "import os; from pathlib import Path; from novikoff.server.storage import backup;"
    code += "backup._copy_checkpoints = lambda *_: os.kill(os.getpid(), 9);"
    code += f"backup.create_backup(Path({str(folder)!r}), Path({str(to)!r}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    (left,) = to.parent.glob(f".{to.name}.*.part")
    assert (left / journal.JOURNAL_FILE).is_file()
    return left


def test_backups_of_killed_processes_are_removed(fork_server: ForkServer, tmp_path: Path) -> None:
    folder, backups = tmp_path / "data", tmp_path / "backups"
    with run_server(fork_server, folder) as server:
        server.make()
        assert server.learn({"a": 1.0}, "yes", key="k")[0] == 200
        server.stop()
    left = kill_backup(folder, backups / "monday")
    old = left.with_name(".sunday.01234567.part")  # as earlier versions named it
    left.rename(old)
    left = kill_backup(folder, backups / "monday")
    other = backups / ".notes.0123456789ab.part"
    other.mkdir()
    (other / "notes.txt").write_text("not a backup")
    create_backup(folder, backups / "tuesday")
    assert sorted(backups.iterdir()) == [other, backups / "tuesday"]

    left = kill_backup(folder, backups / "wednesday")
    beside = kill_backup(folder, tmp_path / "copy")
    assert main(["serve", "erase", "--data-dir", str(folder), "--backup", str(backups / "tuesday"), "--key", "k"]) == 0
    assert not left.exists()
    assert not beside.exists()


def test_nothing_is_erased_while_a_backup_is_written(fork_server: ForkServer, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with run_server(fork_server, folder) as server:
        server.make()
        assert server.learn({"a": 1.0}, "yes", key="k")[0] == 200
        server.stop()
    left = kill_backup(folder, tmp_path / "copy")
    lock = os.open(left, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with pytest.raises(InputError, match="a backup is being written"):
        erase(folder, ErasureSubject(key="k"))
    create_backup(folder, tmp_path / "second")
    assert left.exists()
    os.close(lock)
    assert erase(folder, ErasureSubject(key="k")).examples == 1
    assert not left.exists()


def test_one_prediction_is_erased_from_its_entry(fork_server: ForkServer, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with run_server(fork_server, folder) as server:
        server.make()
        names = [server.predict({f"word{k}": 1.0})["id"] for k in range(4)]
        lines = b"".join(json.dumps({"id": name, "label": "x"}).encode() + b"\n" for name in names[:3])
        assert server.ask("POST", "/v1/models/m/learn", lines, NDJSON)[1]["examples"] == 3
        server.stop()
    assert erase(folder, ErasureSubject(prediction=names[1])).examples == 1
    assert not is_in_files(folder, "word1")
    assert is_in_files(folder, "word2")
    assert erase(folder, ErasureSubject(prediction=names[2])).examples == 1  # its line has moved up
    assert not is_in_files(folder, "word2")
    assert is_in_files(folder, "word0")
    assert erase(folder, ErasureSubject(prediction=names[3])).waiting == 1
    assert not is_in_files(folder, "word3")
    with run_server(fork_server, folder) as server:
        assert server.ask("GET", "/v1/models/m/examples")[1] == b'{"label":"x","features":{"word0":1.0}}\n'


def test_one_request_is_erased_by_its_key(fork_server: ForkServer, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with run_server(fork_server, folder) as server:
        server.make()
        server.learn({"wordone": 1.0}, "x", key="k1")
        server.learn({"wordtwo": 1.0}, "y", key="k2")
        server.stop()
    assert erase(folder, ErasureSubject(key="k1")).examples == 1
    assert not is_in_files(folder, "wordone")
    assert is_in_files(folder, "wordtwo")
    assert erase(folder, ErasureSubject(key="unknown")).is_empty


@pytest.mark.slow
def test_a_challenger_made_after_an_erasure_can_be_certified(fork_server: ForkServer, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with run_server(fork_server, folder) as server:
        server.make()
        server.learn({"a": 1.0}, "x", key="k1")
        server.stop()
    erase(folder, ErasureSubject(key="k1"))
    with run_server(fork_server, folder) as server:
        server.make("n", challenges="m")
        for x, y in (({"a": 1.0}, "x"), ({"b": 1.0}, "y"), ({"a": 1.0}, "x")):
            server.learn(x, y)
        assert server.ask("GET", "/v1/models/m/certificate")[0] == 422
        assert server.ask("GET", "/v1/models/n/certificate")[0] == 200


def test_a_journal_of_an_earlier_version_gets_the_new_tables(fork_server: ForkServer, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with run_server(fork_server, folder) as server:
        server.make()
        server.learn({"old": 1.0}, "x", key="k0")
        server.stop()
    with sqlite3.connect(folder / journal.JOURNAL_FILE) as on:
        for table in attribution.ATTRIBUTION_TABLES:
            on.execute(f"DROP TABLE {table}")
    on.close()
    report = erase(folder, ErasureSubject(client="00000000"))
    assert report.is_empty
    assert report.unattributed == 1
    with run_server(fork_server, folder) as server:
        server.learn({"new": 1.0}, "y", key="k1")
        server.stop()
    assert erase(folder, ErasureSubject(key="k1")).examples == 1
    assert is_in_files(folder, "old")


def test_impossible_erasures_are_refused(
    fork_server: ForkServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data"
    with run_server(fork_server, folder) as server:
        server.make()
        server.learn({"a": 1.0}, "x")
        with pytest.raises(InputError, match="in use by another server"):
            erase(folder, ErasureSubject(key="k"))
        server.stop()
    with pytest.raises(InputError, match="neither a data folder"):
        erase(tmp_path / "missing", ErasureSubject(key="k"))
    with pytest.raises(InputError, match="8 hexadecimal digits"):
        erase(folder, ErasureSubject(client="shop"))
    for name in ("", "x", "AAAA", "é", "A" * 27):
        with pytest.raises(InputError, match="not the id of a prediction"):
            erase(folder, ErasureSubject(prediction=name))
    with pytest.raises(InputError, match="Name what to erase"):
        erase(folder, ErasureSubject())
    for arguments in ([], ["--client", "00000000", "--key", "k"], ["--name", "x", "--key", "k"]):
        assert main(["serve", "erase", "--data-dir", str(folder), *arguments]) == 2
    assert main(["serve", "--data-dir", str(folder), "--client", "00000000"]) == 2
    capsys.readouterr()
    assert main(["serve", "erase", "--data-dir", str(folder), "--client", "00000000"]) == 1  # there was nothing
    said = capsys.readouterr()
    assert "erased 0 examples" in said.out
    assert "1 entries have no recorded client" in said.err


def test_the_command_takes_the_name_of_a_token_and_backups(
    fork_server: ForkServer, tmp_path: Path, capsys: Any
) -> None:
    folder, copy = tmp_path / "data", tmp_path / "copy"
    clients = Clients(folder)
    with run_server(fork_server, folder) as server:
        server.ask("POST", "/v1/models", {"name": "m", "learner": "perceptron"}, clients.headers["shop"])
        clients.learn(server, "shop", "shopword", "yes")
        server.stop()
    create_backup(folder, copy)
    assert main(["serve", "erase", "--data-dir", str(folder), "--backup", str(copy), "--client", "shop"]) == 0
    assert capsys.readouterr().out.count("erased 1 examples in 1 entries") == 2
    assert not is_in_files(folder, "shopword")
    assert not is_in_files(copy, "shopword")
    assert {path.stat().st_mode & 0o077 for path in copy.rglob("*")} == {0}


def test_the_server_records_where_models_come_from(fork_server: ForkServer, tmp_path: Path) -> None:
    content = to_bytes(Perceptron().learn_one({"a": 1.0}, "x").learn_one({"b": 1.0}, "y"))
    began = time.time()
    with run_server(fork_server, tmp_path / "data") as server:
        server.make("made")
        server.make("gone")
        upload = {"Content-Type": "application/octet-stream"}
        assert server.ask("POST", "/v1/models?name=sent", content, upload)[0] == 201
        assert server.ask("DELETE", "/v1/models/gone")[0] == 204
        server.stop()
    with sqlite3.connect(tmp_path / "data" / journal.JOURNAL_FILE) as on:
        query = "SELECT name, version, time, sha256 FROM model_origins JOIN models ON id = model ORDER BY name"
        rows = on.execute(query).fetchall()
        assert on.execute("SELECT count(*) FROM model_origins").fetchone()[0] == 2
    on.close()
    assert [(name, version, digest) for name, version, _, digest in rows] == [
        ("made", __version__, None),
        ("sent", __version__, hashlib.sha256(content).hexdigest()),
    ]
    assert all(began - 60 < moment < time.time() + 60 for _, _, moment, _ in rows)


# --- Retention ---


def test_pending_predictions_are_not_retained_longer_than_examples() -> None:
    assert Limits.given({"retain_days": 2}).pending_seconds == 2 * DAY_SECONDS
    assert Limits.given({"retain_days": 2, "pending_seconds": 50}).pending_seconds == 50
    assert Limits.given({"retain_days": 20}).pending_seconds == 7 * DAY_SECONDS
    assert Limits.given({}).pending_seconds == 7 * DAY_SECONDS


def test_examples_leave_the_journal_though_nothing_new_is_learned(fork_server: ForkServer, tmp_path: Path) -> None:
    folder, often = tmp_path / "data", ("--maintenance-interval-ms", "5")
    clients = Clients(folder)
    with run_server(fork_server, folder, *often) as server:
        server.ask("POST", "/v1/models", {"name": "m", "learner": "perceptron"}, clients.headers["shop"])
        for k in range(10):
            clients.learn(server, "shop", f"retained{k}", "yes")
        before = weights(server, clients.headers["shop"])
        server.stop()
    with sqlite3.connect(folder / journal.JOURNAL_FILE) as on:
        on.execute("UPDATE entries SET time = time - 2 * 86400 WHERE position <= 7")
        on.execute("UPDATE entries SET time = time + 900 * 86400 WHERE position > 8")  # the clock was wrong
    on.close()

    def list_left() -> list[int]:
        with sqlite3.connect(folder / journal.JOURNAL_FILE) as on:
            found = [n for (n,) in on.execute("SELECT position FROM entries ORDER BY position")]
            assert found == [n for (n,) in on.execute("SELECT position FROM sources ORDER BY position")]
            latest = on.execute("SELECT max(time) FROM entries").fetchone()[0]
        on.close()
        assert latest < time.time() + 60
        return found

    with run_server(fork_server, folder, *often, "--retain-days", "1") as server:
        deadline = time.monotonic() + 30
        while list_left() != [8, 9, 10] and time.monotonic() < deadline:
            time.sleep(0.02)
        assert list_left() == [8, 9, 10]
        assert weights(server, clients.headers["shop"]) == before
        server.stop()
    for k in range(7):
        assert not is_in_files(folder, f"retained{k}")
    assert is_in_files(folder, "retained8")
    assert erase(folder, ErasureSubject(client=clients.ids["shop"])).examples == 3  # the first entries have left before
    assert not is_in_files(folder, "retained8")
    with run_server(fork_server, folder) as server:
        assert weights(server, clients.headers["shop"]) == before


@pytest.mark.slow
def test_a_damaged_model_file_keeps_its_examples_in_the_journal(fork_server: ForkServer, tmp_path: Path) -> None:
    folder, often = tmp_path / "data", ("--maintenance-interval-ms", "5")
    with run_server(fork_server, folder, *often) as server:
        server.make()
        for k in range(5):
            server.learn({f"a{k}": 1.0}, "x")
        server.stop()
    with sqlite3.connect(folder / journal.JOURNAL_FILE) as on:
        on.execute("UPDATE entries SET time = time - 9 * 86400")
    on.close()
    with run_server(fork_server, folder) as server:
        before = server.ask("GET", "/v1/models/m/download")[1]
        server.stop()
    [file] = (folder / "models").glob("*.model")
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with run_server(fork_server, folder, *often, "--retain-days", "1") as server:
        time.sleep(0.3)
        assert server.ask("GET", "/v1/models/m/download")[1] == before
        assert "examples can't be deleted from the journal" in server.log.read_text()
        server.kill()
    with run_server(fork_server, folder) as server:
        assert server.ask("GET", "/v1/models/m/download")[1] == before


@pytest.mark.parametrize("days", ["-1", "many", "1.5"])
def test_invalid_retention_days_are_refused(tmp_path: Path, days: str) -> None:
    with pytest.raises(SystemExit) as caught:
        raise SystemExit(main(["serve", "--data-dir", str(tmp_path / "data"), "--retain-days", days]))
    assert caught.value.code == 2
