"""The token file: clients and their scopes. It contains hashes only; a secret is shown once, when it is created.

A secret is `nvk_<id>_<43 characters>`. The id identifies the entry. The 43 characters are 256 random bits, so one round
of SHA-256 is enough. The file is read again when it changes: a revoked token is refused within a second. While the
file can't be read, all requests are refused.

This module only reads and checks tokens. `middleware.py` decides which requests need one, and with which scope.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import hmac
import logging
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec

from novikoff.errors import InputError
from novikoff.model_file import write_atomically
from novikoff.server.http.routes import ADMIN_SCOPE, SCOPES
from novikoff.server.ops import clock

AUTH_FILE = "tokens.json"
AUTH_LOCK_FILE = ".tokens.lock"
TOKEN_FILE_FORMAT = 1
GROUP_AND_OTHERS_MODE = stat.S_IRWXG | stat.S_IRWXO
TOKEN_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
UNKNOWN_TOKEN_DIGEST = hashlib.sha256(secrets.token_bytes(32)).hexdigest()
"""Compared with secrets of unknown ids, so that response times don't reveal which ids exist."""
log = logging.getLogger("novikoff.server")
REFRESH_INTERVAL_SECONDS = 1.0
"""Interval between checks for changes of the file."""


class Token(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of the token file."""

    id: str
    name: str
    scopes: list[str]
    made: datetime
    expires: datetime | None
    sha256: str


class TokenFile(msgspec.Struct, forbid_unknown_fields=True):
    format: int
    tokens: list[Token]


class Grant(NamedTuple):
    """The identity and the scopes of a valid token."""

    id: str
    name: str
    scopes: frozenset[str]
    expires: float
    """In seconds since 1970; infinite if the token does not expire."""


class TokenRejection(NamedTuple):
    status: int
    code: str
    sentence: str


MISSING_TOKEN = TokenRejection(
    401, "missing-token", "This request needs a token. Send the header Authorization: Bearer nvk_…."
)
UNKNOWN_TOKEN = TokenRejection(
    401, "invalid-token", "The token is unknown: it is mistyped or was revoked. Ask the administrator for a new one."
)
TOKENS_UNREADABLE = TokenRejection(
    503, "tokens-unreadable", "The server can't read its token file, so it refuses all requests. See its log."
)


def create_token(folder: Path, scopes: Iterable[str], days: float | None, name: str) -> str:
    """Create a token and return its secret, which is not stored anywhere.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> secret = create_token(folder, ["predict", "learn"], 90, "shop")
    >>> TokenStore(folder).check(f"Bearer {secret}".encode()).name
    'shop'
    """
    chosen = list(dict.fromkeys(scopes))
    if not chosen or not set(chosen) <= set(SCOPES):
        raise InputError(
            f"scopes must be one or more of {', '.join(SCOPES)}, got {', '.join(map(repr, chosen)) or 'none'}."
        )
    if not TOKEN_NAME_PATTERN.fullmatch(name):
        raise InputError(
            f"The name of a token must be 1 to 64 letters, digits, '.', '_', '@' or '-', and start with a letter or"
            f" digit, got {name!r}."
        )
    now = datetime.now(UTC).replace(microsecond=0)
    try:
        expires = None if days is None else now + timedelta(days=days)
    except (OverflowError, ValueError):
        expires = now
    if expires is not None and expires <= now:
        raise InputError(f"days must be a number above 0 and below a million, got {days!r}.")
    identity = secrets.token_hex(4)
    secret = f"nvk_{identity}_{secrets.token_urlsafe(32)}"
    with _lock_token_file(folder):
        tokens = _read_tokens(folder / AUTH_FILE)
        if any(token.name == name for token in tokens):
            raise InputError(f"A token {name!r} already exists. Revoke it first, or use another name.")
        digest = hashlib.sha256(secret.encode()).hexdigest()
        _write_tokens(folder, [*tokens, Token(identity, name, chosen, now, expires, digest)])
    return secret


def list_tokens(folder: Path) -> list[Token]:
    """Return all tokens, including expired ones."""
    return _read_tokens(folder / AUTH_FILE)


def revoke_token(folder: Path, name: str) -> Token:
    """Remove a token by its name or id. An empty file stays after the last one, so that tokens are still required."""
    with _lock_token_file(folder):
        tokens = _read_tokens(folder / AUTH_FILE)
        for token in tokens:
            if name in {token.name, token.id}:
                _write_tokens(folder, [other for other in tokens if other is not token])
                return token
    raise InputError(
        f"There is no token {name!r}. Existing tokens: {', '.join(repr(token.name) for token in tokens) or 'none'}."
    )


class TokenStore:
    """The current tokens of a data folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / AUTH_FILE
        self._seen: object = None
        self.next_refresh = 0.0
        """Time of the next check for changes, by the monotonic clock."""
        self._by_id: dict[str, tuple[Grant, str]] = {}
        self.in_use = False
        """Whether a token file exists, or has existed since the start; if so, requests need a token."""
        self.problem: str | None = None
        """The error message if the file can't be used."""
        self.refresh()
        if self.problem is not None:
            raise InputError(self.problem)

    def __len__(self) -> int:
        self.refresh()
        return len(self._by_id)

    def requires_token(self) -> bool:
        """Return whether requests need a token."""
        self.refresh()
        return self.in_use

    def check(self, header: bytes | None) -> Grant | TokenRejection:
        """Return the grant of an Authorization header, or the reason for refusing it."""
        self.refresh()
        if self.problem is not None:
            return TOKENS_UNREADABLE
        if header is None or header[:7].lower() != b"bearer ":
            return MISSING_TOKEN
        secret = header[7:].strip()
        parts = secret.split(b"_", 2)
        found = self._by_id.get(parts[1].decode("latin-1")) if len(parts) == 3 else None
        right = hmac.compare_digest(
            hashlib.sha256(secret).hexdigest(), UNKNOWN_TOKEN_DIGEST if found is None else found[1]
        )
        if found is None or not right:
            return UNKNOWN_TOKEN
        grant = found[0]
        if grant.expires <= _current_time():
            detail = f"The token {grant.name} has expired. Ask the administrator for a new one."
            return TokenRejection(401, "expired-token", detail)
        return grant

    def is_still_granted(self, grant: Grant) -> bool:
        """Return whether a grant given earlier, at the start of a stream, is still valid."""
        self.refresh()
        found = self._by_id.get(grant.id)
        return found is not None and self.problem is None and found[0] == grant and grant.expires > _current_time()

    def refresh(self) -> None:
        """Read the file again if it has changed, at most once a second."""
        now = time.monotonic()
        if now < self.next_refresh:
            return
        self.next_refresh = now + REFRESH_INTERVAL_SECONDS
        try:
            status = os.stat(self._path)
            seen = status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode
        except FileNotFoundError:
            self._seen, self._by_id, self.problem = None, {}, None
            return
        except OSError as problem:
            seen = problem.errno or 0, 0, 0, 0
        self.in_use = True
        if seen == self._seen:
            return
        self._seen = seen
        try:
            self._by_id = {token.id: (_build_grant(token), token.sha256) for token in _read_tokens(self._path)}
            self.problem = None
        except InputError as problem:
            self._by_id, self.problem = {}, str(problem)
            log.error("All requests are refused: %s", problem)


def _current_time() -> float:
    """Return the later of the system clock and the steady clock: setting the clock back must not revive a token."""
    return max(time.time(), clock.now())


def _build_grant(token: Token) -> Grant:
    scopes = SCOPES if ADMIN_SCOPE in token.scopes else token.scopes
    expires = float("inf") if token.expires is None else token.expires.timestamp()
    return Grant(token.id, token.name, frozenset(scopes), expires)


def _read_tokens(path: Path) -> list[Token]:
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read()
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise InputError(f"{path}: {problem.strerror}.") from None
    if mode & GROUP_AND_OTHERS_MODE:
        raise InputError(f"{path} is accessible to other users. Run chmod 600 {path}.")
    try:
        listed = msgspec.json.decode(content, type=TokenFile)
    except msgspec.MsgspecError as problem:
        raise InputError(
            f"{path} is damaged ({problem}). Restore it from a backup, or remove it and create new tokens."
        ) from None
    if listed.format != TOKEN_FILE_FORMAT:
        raise InputError(
            f"{path} has format {listed.format}, but this novikoff reads format {TOKEN_FILE_FORMAT}. Update novikoff."
        )
    for token in listed.tokens:
        digest = re.fullmatch("[0-9a-f]{64}", token.sha256)
        zone = token.expires is None or token.expires.tzinfo is not None
        if not digest or not zone or not set(token.scopes) <= set(SCOPES):
            raise InputError(
                f"{path} is damaged (token {token.name!r}). Restore it from a backup, or remove it and create new ones."
            )
    return listed.tokens


def _write_tokens(folder: Path, tokens: list[Token]) -> None:
    content = msgspec.json.format(msgspec.json.encode(TokenFile(TOKEN_FILE_FORMAT, tokens)), indent=2)
    write_atomically(folder / AUTH_FILE, content + b"\n", mode=0o600)


@contextlib.contextmanager
def _lock_token_file(folder: Path) -> Iterator[None]:
    """Hold the lock that serializes changes of the file."""
    try:
        lock = os.open(folder / AUTH_LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as problem:
        raise InputError(f"{folder}: {problem.strerror}.") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
