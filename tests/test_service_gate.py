"""The gate of the service: tokens, limits, headers, audit; slow and broken connections; the OpenAPI document."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("msgspec", reason="the service is an extra: novikoff[serve]")

from novikoff.errors import InputError
from novikoff.service import tokens
from novikoff.service.routes import SCOPES
from novikoff.service.tokens import Granted, Refused, Tokens

# --- Tokens ---


def bearer(secret: str) -> bytes:
    return f"Bearer {secret}".encode()


def look_again(reader: Tokens) -> None:
    """As if the second until the next look were over."""
    reader._look = 0.0


def test_only_the_hash_of_a_token_is_kept(tmp_path: Path) -> None:
    secret = tokens.make(tmp_path, ["learn"], None, "shop")
    assert re.fullmatch(r"nvk_[0-9a-f]{8}_[A-Za-z0-9_-]{43}", secret)
    file = tmp_path / "tokens.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert secret.rpartition("_")[2] not in file.read_text()
    assert secret[13:] not in file.read_text()
    granted = Tokens(tmp_path).check(bearer(secret))
    assert isinstance(granted, Granted)
    assert (granted.name, granted.scopes) == ("shop", {"learn"})
    assert [token.name for token in tokens.listed(tmp_path)] == ["shop"]


def test_admin_implies_the_others(tmp_path: Path) -> None:
    granted = Tokens(tmp_path)
    assert not granted.closed()
    secret = tokens.make(tmp_path, ["admin"], 1, "me")
    look_again(granted)
    found = granted.check(bearer(secret))
    assert isinstance(found, Granted)
    assert found.scopes == set(SCOPES)
    assert granted.closed()


def test_what_is_not_a_token_is_refused(tmp_path: Path) -> None:
    secret = tokens.make(tmp_path, ["predict"], None, "a")
    other = tokens.make(tmp_path, ["predict"], None, "b")
    reader = Tokens(tmp_path)
    mixed = secret[:13] + other[13:]
    wrong: list[tuple[bytes | None, str]] = [
        (None, "no-token"),
        (b"", "no-token"),
        (b"Basic " + secret.encode(), "no-token"),
        (b"Bearer", "no-token"),
        (b"Bearer ", "unknown-token"),
        (b"Bearer nvk_", "unknown-token"),
        (b"Bearer \xff\xfe_\xff_\x00", "unknown-token"),
        (bearer(mixed), "unknown-token"),
        (bearer(secret[:-1]), "unknown-token"),
        (bearer(secret + "A"), "unknown-token"),
        (bearer(secret.upper()), "unknown-token"),
        (bearer(tokens.listed(tmp_path)[0].sha256), "unknown-token"),
    ]
    for header, code in wrong:
        refused = reader.check(header)
        assert isinstance(refused, Refused), header
        assert (refused.status, refused.code) == (401, code), header
        assert secret not in refused.sentence
    assert isinstance(reader.check(b"bearer  " + secret.encode() + b" "), Granted)


def test_every_secret_is_compared_in_constant_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tokens.make(tmp_path, ["predict"], None, "a")
    reader = Tokens(tmp_path)
    compared: list[tuple[int, int]] = []
    true = tokens.hmac.compare_digest

    def watched(a: str, b: str) -> bool:
        compared.append((len(a), len(b)))
        return true(a, b)

    monkeypatch.setattr(tokens.hmac, "compare_digest", watched)
    for header in (bearer(secret), bearer("nvk_00000000_" + secret[13:]), b"Bearer nonsense"):
        reader.check(header)
    assert compared == [(64, 64)] * 3


def test_a_token_expires_and_is_revoked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short, long = (tokens.make(tmp_path, ["predict"], days, f"t{days}") for days in (1, 30))
    reader = Tokens(tmp_path)
    granted = reader.check(bearer(short))
    assert isinstance(granted, Granted)
    assert reader.still(granted)
    now = time.time()
    with monkeypatch.context() as later:
        later.setattr(tokens.time, "time", lambda: now + 86_401)
        refused = reader.check(bearer(short))
        assert isinstance(refused, Refused)
        assert refused.code == "expired-token"
        assert not reader.still(granted)
        assert isinstance(reader.check(bearer(long)), Granted)
    tokens.revoke(tmp_path, "t1")
    tokens.revoke(tmp_path, tokens.listed(tmp_path)[0].id)
    look_again(reader)
    assert not reader.still(granted)
    assert reader.check(bearer(short)) == reader.check(bearer(long)) == tokens.UNKNOWN
    assert reader.closed()
    assert len(reader) == 0
    (tmp_path / "tokens.json").unlink()  # nobody opens a running server by removing the file
    look_again(reader)
    assert reader.closed()
    assert reader.check(bearer(short)) == tokens.UNKNOWN
    with pytest.raises(InputError, match="no token 'x', but none at all"):
        tokens.revoke(tmp_path, "x")


def test_the_file_is_looked_at_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Tokens(tmp_path)
    looks: list[Any] = []
    true = os.stat
    monkeypatch.setattr(tokens.os, "stat", lambda path: looks.append(path) or true(path))
    start = time.monotonic()
    monkeypatch.setattr(tokens.time, "monotonic", lambda: start + 1.5)
    for _ in range(100):
        reader.check(None)
    assert len(looks) == 1


@pytest.mark.parametrize(
    ("content", "mode", "sentence"),
    [
        (b"{", 0o600, "is damaged"),
        (b'{"format": 1, "tokens": [{"id": "a"}]}', 0o600, "is damaged"),
        (b'{"format": 1, "tokens": [], "more": 1}', 0o600, "is damaged"),
        (
            b'{"format":1,"tokens":[{"id":"a","name":"n","scopes":["root"],"made":"2026-01-01T00:00:00Z",'
            b'"expires":null,"sha256":"' + b"0" * 64 + b'"}]}',
            0o600,
            "token 'n'",
        ),
        (b'{"format": 2, "tokens": []}', 0o600, "has format 2"),
        (b'{"format": 1, "tokens": []}', 0o644, "chmod 600"),
        (b'{"format": 1, "tokens": []}', 0o640, "chmod 600"),
    ],
)
def test_a_file_that_is_not_right_lets_nobody_in(tmp_path: Path, content: bytes, mode: int, sentence: str) -> None:
    secret = tokens.make(tmp_path, ["admin"], None, "me")
    reader = Tokens(tmp_path)
    file = tmp_path / "tokens.json"
    file.write_bytes(content)
    file.chmod(mode)
    with pytest.raises(InputError, match=sentence):
        Tokens(tmp_path)
    with pytest.raises(InputError, match=sentence):
        tokens.make(tmp_path, ["admin"], None, "you")
    look_again(reader)
    assert reader.check(bearer(secret)) == tokens.UNREADABLE
    assert reader.problem is not None
    assert sentence in reader.problem
    assert reader.closed()


@pytest.mark.parametrize(
    ("scopes", "days", "name"),
    [
        ([], 1, "a"),
        (["root"], 1, "a"),
        (["predict"], 0, "a"),
        (["predict"], -1, "a"),
        (["predict"], float("nan"), "a"),
        (["predict"], 1e9, "a"),
        (["predict"], 1, ""),
        (["predict"], 1, "a\nb"),
        (["predict"], 1, "x" * 65),
    ],
)
def test_a_token_must_make_sense(tmp_path: Path, scopes: list[str], days: float, name: str) -> None:
    with pytest.raises(InputError):
        tokens.make(tmp_path, scopes, days, name)
    assert tokens.listed(tmp_path) == []


def test_tokens_made_at_the_same_time_are_all_there(tmp_path: Path) -> None:
    threads = [threading.Thread(target=tokens.make, args=(tmp_path, ["predict"], 1, f"t{k}")) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {token.name for token in tokens.listed(tmp_path)} == {f"t{k}" for k in range(8)}
    with pytest.raises(InputError, match="already"):
        tokens.make(tmp_path, ["predict"], 1, "t0")
    assert tokens.listed(tmp_path)[0].expires > datetime.now(UTC) + timedelta(hours=23)  # type: ignore[operator]
    assert json.loads((tmp_path / "tokens.json").read_text())["format"] == 1
