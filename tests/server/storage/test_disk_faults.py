"""Disk faults: full, damaged at the end, damaged in the middle, copied while it is written."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from novikoff import load
from novikoff.cli.main import main
from novikoff.model_file import to_bytes
from novikoff.server.storage import checkpoint, journal, wal_check
from tests.helpers.server.process import ForkServer, Server, run_server
from tests.helpers.server.traffic import download_model, draw_examples, learn_stream


@pytest.fixture
def crashed_folder(fork_server: ForkServer, tmp_path: Path) -> Path:
    """Provide the folder of a crashed server: 30 entries, all in the write-ahead log only."""
    with run_server(fork_server, tmp_path / "data") as server:
        server.make()
        for x, y in draw_examples(30):
            server.learn(x, y)
        server.kill()
    assert wal_check.wal_path(tmp_path / "data" / journal.JOURNAL_FILE).stat().st_size > 0
    return tmp_path / "data"


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0x55
    path.write_bytes(content)


def test_the_write_ahead_log_is_read_as_by_sqlite(crashed_folder: Path) -> None:
    assert wal_check.check_wal(crashed_folder / journal.JOURNAL_FILE) == wal_check.WalStatus(0, damaged_middle=False)


@pytest.mark.parametrize("bytes_lost", [1, 100, 9000])
def test_a_partially_written_tail_is_truncated(
    fork_server: ForkServer, crashed_folder: Path, tmp_path: Path, bytes_lost: int
) -> None:
    log = wal_check.wal_path(crashed_folder / journal.JOURNAL_FILE)
    log.write_bytes(log.read_bytes()[:-bytes_lost])
    with run_server(fork_server, crashed_folder) as server:
        count = server.ask("GET", "/v1/models/m/ledger")[1]["examples"]
        assert 27 <= count < 30
        assert to_bytes(download_model(server, tmp_path)) == to_bytes(learn_stream(draw_examples(30)[:count]))
        assert server.learn({"a": 1.0}, "spam")[0] == 200


def test_a_damaged_last_transaction_is_truncated_with_a_warning(
    fork_server: ForkServer, crashed_folder: Path, tmp_path: Path
) -> None:
    log = wal_check.wal_path(crashed_folder / journal.JOURNAL_FILE)
    flip(log, log.stat().st_size - 100)
    with run_server(fork_server, crashed_folder) as server:
        assert "journal truncated" in server.said
        assert to_bytes(download_model(server, tmp_path)) == to_bytes(learn_stream(draw_examples(29)))


def test_damage_in_the_middle_of_the_log_is_refused(fork_server: ForkServer, crashed_folder: Path) -> None:
    log = wal_check.wal_path(crashed_folder / journal.JOURNAL_FILE)
    before = (crashed_folder / journal.JOURNAL_FILE).read_bytes()
    flip(log, log.stat().st_size // 2)
    kept = log.read_bytes()
    with pytest.raises(AssertionError, match=r"damaged before valid entries.*Restore the last backup"):
        Server(fork_server, crashed_folder)
    assert (log.read_bytes(), (crashed_folder / journal.JOURNAL_FILE).read_bytes()) == (kept, before)


def checkpoint_journal(folder: Path) -> Path:
    """Move all entries to the main file."""
    with sqlite3.connect(folder / journal.JOURNAL_FILE) as on:
        on.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    on.close()
    return folder / journal.JOURNAL_FILE


def change(path: Path, position: int) -> None:
    with sqlite3.connect(path) as on:
        on.execute("UPDATE entries SET body = replace(body, 'label', 'lobel') WHERE position = ?", (position,))
    on.close()


def test_a_damaged_last_entry_is_truncated(fork_server: ForkServer, crashed_folder: Path, tmp_path: Path) -> None:
    change(checkpoint_journal(crashed_folder), 30)
    with run_server(fork_server, crashed_folder) as server:
        assert "entry 30" in server.said
        assert to_bytes(download_model(server, tmp_path)) == to_bytes(learn_stream(draw_examples(29)))


@pytest.mark.parametrize("position", [1, 15, 29])
def test_a_damaged_entry_in_the_middle_is_refused(fork_server: ForkServer, crashed_folder: Path, position: int) -> None:
    change(checkpoint_journal(crashed_folder), position)
    with pytest.raises(AssertionError, match=rf"entry {position} of stream 1 is damaged, but later entries are valid"):
        Server(fork_server, crashed_folder)


def test_a_missing_entry_is_refused(fork_server: ForkServer, crashed_folder: Path) -> None:
    with sqlite3.connect(checkpoint_journal(crashed_folder)) as on:
        on.execute("DELETE FROM entries WHERE position = 7")
    on.close()
    with pytest.raises(AssertionError, match="entry 7"):
        Server(fork_server, crashed_folder)


def test_a_file_that_is_not_a_database_is_refused(fork_server: ForkServer, crashed_folder: Path) -> None:
    path = checkpoint_journal(crashed_folder)
    path.write_bytes(b"x" * 10_000)
    with pytest.raises(AssertionError, match="Restore the last backup"):
        Server(fork_server, crashed_folder)


def test_flipping_any_byte_of_the_journal_is_detected_or_harmless(crashed_folder: Path, tmp_path: Path) -> None:
    """A flipped byte is refused with a message, truncated at the end, or harmless: the model never changes."""
    from novikoff.errors import InputError
    from novikoff.server.ops.limits import Limits
    from novikoff.server.storage.recovery import open_registry

    path = checkpoint_journal(crashed_folder)
    good = [to_bytes(learn_stream(draw_examples(k))) for k in (29, 30)]
    refused = []
    for at in range(37, path.stat().st_size, path.stat().st_size // 60):
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(crashed_folder, copy)
        flip(copy / journal.JOURNAL_FILE, at)
        try:
            registry = open_registry(copy, Limits())
        except InputError as problem:
            refused.append(str(problem))
            continue
        registry.journal.close()
        assert "m" not in registry.models or to_bytes(registry.models["m"].learner) in good
    assert len(refused) > 5
    assert all("Restore the last backup" in sentence for sentence in refused)


def test_a_damaged_model_file_is_rebuilt_from_the_journal(fork_server: ForkServer, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with run_server(fork_server, folder) as server:
        server.make()
        server.lines(draw_examples(50))
        server.stop()  # which writes the file
    (position,) = checkpoint.list_positions(folder, 1)
    flip(checkpoint.checkpoint_path(folder, 1, position), 500)
    with run_server(fork_server, folder) as server:
        assert "An earlier file and the journal are used" in server.said
        assert to_bytes(download_model(server, tmp_path)) == to_bytes(learn_stream(draw_examples(50)))


def test_a_stopped_server_saves_its_models(fork_server: ForkServer, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with run_server(fork_server, folder) as server:
        server.make()
        server.lines(draw_examples(50))
        server.stop()
    (position,) = checkpoint.list_positions(folder, 1)
    assert to_bytes(load(checkpoint.checkpoint_path(folder, 1, position))) == to_bytes(learn_stream(draw_examples(50)))
    assert not wal_check.wal_path(folder / journal.JOURNAL_FILE).exists()


def test_a_full_disk_stops_learning_and_not_predicting(fork_server: ForkServer, tmp_path: Path) -> None:
    with run_server(fork_server, tmp_path / "data", limit=300_000) as server:
        server.make()
        stream, taken = draw_examples(3000), 0
        for x, y in stream:
            status, said = server.learn(x, y)
            if status != 200:
                assert (status, said["code"]) == (507, "disk-full")
                break
            taken += 1
        assert 5 < taken < 3000
        assert server.predict(stream[0][0])["label"] in ("spam", "ham")
        assert server.learn({"a": 1.0}, "spam", key="k")[0] == 507
        assert server.ask("GET", "/readyz")[0] == 503
        assert server.ask("GET", "/v1/models/m/ledger")[1]["examples"] == taken
        assert to_bytes(download_model(server, tmp_path)) == to_bytes(learn_stream(stream[:taken]))
        server.kill()
    with run_server(fork_server, tmp_path / "data") as server:  # there is room again
        assert to_bytes(download_model(server, tmp_path)) == to_bytes(learn_stream(stream[:taken]))
        assert server.learn({"a": 1.0}, "spam", key="k")[1]["status"] == "learned"


def test_too_little_free_space_counts_as_a_full_disk(fork_server: ForkServer, tmp_path: Path) -> None:
    with run_server(fork_server, tmp_path / "data") as server:
        server.make()
        server.learn({"a": 1.0}, "x")
        server.kill()
    with run_server(fork_server, tmp_path / "data", "--min-free-disk-bytes", str(1 << 60)) as server:
        assert server.learn({"a": 1.0}, "y")[0] == 507
        assert server.predict({"a": 1.0})["label"] == "x"


def test_a_backup_during_learning_is_consistent(fork_server: ForkServer, tmp_path: Path) -> None:
    often = ("--checkpoint-examples", "10", "--maintenance-interval-ms", "2")
    with run_server(fork_server, tmp_path / "data", *often) as server:
        server.make()
        stream, done = draw_examples(400), threading.Event()

        def learn() -> None:
            for x, y in stream:
                assert server.learn(x, y)[0] == 200
            done.set()

        thread = threading.Thread(target=learn)
        thread.start()
        copies = []
        while not done.is_set() and len(copies) < 5:
            copies.append(tmp_path / f"copy{len(copies)}")
            assert main(["serve", "backup", "--data-dir", str(server.folder), "--output", str(copies[-1])]) == 0
        thread.join()
        assert done.is_set()
    assert main(["serve", "backup", "--data-dir", str(tmp_path / "data"), "--output", str(copies[0])]) == 2
    assert main(["serve", "backup", "--data-dir", str(tmp_path / "nothing"), "--output", str(tmp_path / "x")]) == 2
    for copy in copies:
        with run_server(fork_server, copy) as server:
            count = server.ask("GET", "/v1/models/m/ledger")[1]["examples"]
            if count:
                assert to_bytes(download_model(server, tmp_path)) == to_bytes(learn_stream(stream[:count]))


def test_a_folder_is_locked_by_one_server(fork_server: ForkServer, tmp_path: Path) -> None:
    with run_server(fork_server, tmp_path / "data"), pytest.raises(AssertionError, match="in use by another server"):
        Server(fork_server, tmp_path / "data")


def test_compaction_drops_old_entries(fork_server: ForkServer, tmp_path: Path) -> None:
    shorten = ("--max-journal-bytes", "1", "--checkpoint-examples", "10", "--maintenance-interval-ms", "5")
    stream = draw_examples(200)

    def read_first(folder: Path) -> Any:
        with sqlite3.connect(folder / journal.JOURNAL_FILE) as on:
            return on.execute("SELECT first FROM streams").fetchone()[0]

    with run_server(fork_server, tmp_path / "data", *shorten) as server:
        server.make()
        for x, y in stream:
            server.learn(x, y)
        assert read_first(server.folder) > 1
        status, said = server.ask("GET", "/v1/models/m/certificate")
        assert (status, said["code"]) == (422, "not-certifiable")
        server.kill()
    with run_server(fork_server, tmp_path / "data") as server:
        assert to_bytes(download_model(server, tmp_path)) == to_bytes(learn_stream(stream))


def test_expired_entries_are_dropped(fork_server: ForkServer, tmp_path: Path) -> None:
    often = ("--checkpoint-examples", "1", "--maintenance-interval-ms", "5")
    stream = draw_examples(60)
    with run_server(fork_server, tmp_path / "data", *often) as server:
        server.make()
        for x, y in stream[:40]:
            server.learn(x, y)
        server.stop()
    with sqlite3.connect(tmp_path / "data" / journal.JOURNAL_FILE) as on:
        on.execute("UPDATE entries SET time = time - 2 * 86400 WHERE position <= 25")
    on.close()

    def first() -> Any:
        with sqlite3.connect(tmp_path / "data" / journal.JOURNAL_FILE) as on:
            found = on.execute("SELECT first, (SELECT min(position) FROM entries) FROM streams").fetchone()
        on.close()
        return found

    assert first() == (1, 1)
    with run_server(fork_server, tmp_path / "data", *often, "--retain-days", "1") as server:
        for x, y in stream[40:]:
            server.learn(x, y)
        until = time.monotonic() + 30
        while first() != (26, 26) and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.1)  # and no more than those
        assert first() == (26, 26)
        assert len(server.ask("GET", "/v1/models/m/examples")[1].splitlines()) == 35
        server.kill()
    with run_server(fork_server, tmp_path / "data") as server:
        assert to_bytes(download_model(server, tmp_path)) == to_bytes(learn_stream(stream))
