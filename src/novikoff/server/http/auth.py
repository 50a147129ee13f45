"""The token file: clients and their scopes. It holds hashes only; a secret is shown once, when it is created.

A secret is `nvk_<id>_<43 characters>`: the id finds the entry, the 43 characters are 256 random bits, so that one round
of SHA-256 is enough. The file is read again when it has changed: a revoked token is refused a second later. While the
file can't be read, all requests are refused.
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
"""Compared with secrets of unknown ids, so that they take as long as known ones."""
log = logging.getLogger("novikoff.server")
REFRESH_INTERVAL_SECONDS = 1.0
"""Between checks whether the file has changed."""


class Token(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of the file."""

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
    """In seconds since 1970; infinite for ever."""


class TokenRejection(NamedTuple):
    status: int
    code: str
    sentence: str


MISSING_TOKEN = TokenRejection(401, "missing-token", "This needs a token: send the header Authorization: Bearer nvk_….")
UNKNOWN_TOKEN = TokenRejection(
    401, "invalid-token", "The token is not known: it is mistyped or was revoked; ask for a new one."
)
TOKENS_UNREADABLE = TokenRejection(
    503, "tokens-unreadable", "The service can't read its tokens, so it lets nobody in: see its log."
)


def create_token(folder: Path, scopes: Iterable[str], days: float | None, name: str) -> str:
    """Create a token; the returned text is the only copy of its secret.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> secret = create_token(folder, ["predict", "learn"], 90, "shop")
    >>> TokenStore(folder).check(f"Bearer {secret}".encode()).name
    'shop'
    """
    chosen = list(dict.fromkeys(scopes))
    if not chosen or not set(chosen) <= set(SCOPES):
        raise InputError(
            f"scopes must be some of {', '.join(SCOPES)}, but are {', '.join(map(repr, chosen)) or 'none'}."
        )
    if not TOKEN_NAME_PATTERN.fullmatch(name):
        raise InputError(
            f"The name of a token must be 1 to 64 letters, digits and . _ @ -, a letter or digit first, not {name!r}."
        )
    now = datetime.now(UTC).replace(microsecond=0)
    try:
        expires = None if days is None else now + timedelta(days=days)
    except (OverflowError, ValueError):
        expires = now
    if expires is not None and expires <= now:
        raise InputError(f"days must be a number above 0 and below a million, but is {days!r}.")
    identity = secrets.token_hex(4)
    secret = f"nvk_{identity}_{secrets.token_urlsafe(32)}"
    with _lock_token_file(folder):
        tokens = _read_tokens(folder / AUTH_FILE)
        if any(token.name == name for token in tokens):
            raise InputError(f"There is a token {name!r} already: revoke it first, or take another name.")
        digest = hashlib.sha256(secret.encode()).hexdigest()
        _write_tokens(folder, [*tokens, Token(identity, name, chosen, now, expires, digest)])
    return secret


def list_tokens(folder: Path) -> list[Token]:
    """Return all tokens, including expired ones."""
    return _read_tokens(folder / AUTH_FILE)


def revoke_token(folder: Path, name: str) -> Token:
    """Remove a token by its name or id. The file stays when it was the last one, so that the server does not open."""
    with _lock_token_file(folder):
        tokens = _read_tokens(folder / AUTH_FILE)
        for token in tokens:
            if name in {token.name, token.id}:
                _write_tokens(folder, [other for other in tokens if other is not token])
                return token
    raise InputError(
        f"There is no token {name!r}, but {', '.join(repr(token.name) for token in tokens) or 'none at all'}."
    )


class TokenStore:
    """The tokens of a folder, as they are now."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / AUTH_FILE
        self._seen: object = None
        self.next_refresh = 0.0
        """When the file is looked at again, by the monotonic clock."""
        self._by_id: dict[str, tuple[Grant, str]] = {}
        self.in_use = False
        """Whether a token file exists, or has existed since the start: requests need a token then."""
        self.problem: str | None = None
        """Why the file can't be used."""
        self.refresh()
        if self.problem is not None:
            raise InputError(self.problem)

    def __len__(self) -> int:
        self.refresh()
        return len(self._by_id)

    def closed(self) -> bool:
        """Return whether requests need a token."""
        self.refresh()
        return self.in_use

    def check(self, header: bytes | None) -> Grant | TokenRejection:
        """Return the grant of an Authorization header, or why there is none."""
        self.refresh()
        if self.problem is not None:
            return TOKENS_UNREADABLE
        if header is None:
            return MISSING_TOKEN
        if header[:7].lower() != b"bearer ":
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
            return TokenRejection(401, "expired-token", f"The token {grant.name} has expired: ask for a new one.")
        return grant

    def is_still_granted(self, grant: Grant) -> bool:
        """Return whether a grant that a long stream began with is still valid."""
        self.refresh()
        found = self._by_id.get(grant.id)
        return found is not None and self.problem is None and found[0] == grant and grant.expires > _current_time()

    def refresh(self) -> None:
        """Read the file again where it has changed, at most once a second."""
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
            log.error("Nobody is let in: %s", problem)


def _current_time() -> float:
    """Return the later of both clocks: a clock that is set back does not revive a token."""
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
        raise InputError(f"{path} must be for its owner only, but others may use it: chmod 600 {path}.")
    try:
        listed = msgspec.json.decode(content, type=TokenFile)
    except msgspec.MsgspecError as problem:
        raise InputError(
            f"{path} is damaged ({problem}): restore it from a backup, or remove it and make new tokens."
        ) from None
    if listed.format != TOKEN_FILE_FORMAT:
        raise InputError(
            f"{path} has format {listed.format}, but this novikoff reads format {TOKEN_FILE_FORMAT}: update novikoff."
        )
    for token in listed.tokens:
        digest = re.fullmatch("[0-9a-f]{64}", token.sha256)
        zone = token.expires is None or token.expires.tzinfo is not None
        if not digest or not zone or not set(token.scopes) <= set(SCOPES):
            raise InputError(
                f"{path} is damaged (token {token.name!r}): restore it from a backup, or remove it and make new tokens."
            )
    return listed.tokens


def _write_tokens(folder: Path, tokens: list[Token]) -> None:
    content = msgspec.json.format(msgspec.json.encode(TokenFile(TOKEN_FILE_FORMAT, tokens)), indent=2)
    write_atomically(folder / AUTH_FILE, content + b"\n", mode=0o600)


@contextlib.contextmanager
def _lock_token_file(folder: Path) -> Iterator[None]:
    """Serialize changes of the file."""
    try:
        lock = os.open(folder / AUTH_LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as problem:
        raise InputError(f"{folder}: {problem.strerror}.") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
