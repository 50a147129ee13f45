"""HTTP transport of the client: one connection per thread, and retries of temporary failures."""

from __future__ import annotations

import contextlib
import email.utils
import http.client
import json
import random
import ssl
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from novikoff.errors import InputError, ServiceError

JSON, NDJSON, OCTET_STREAM = "application/json", "application/x-ndjson", "application/octet-stream"
RETRY_STATUSES = {429, 502, 503, 504}
"""Statuses after which the same request may succeed."""
UNPROCESSED_STATUSES = {429, 503}
"""Retry statuses which guarantee that the request had no effect."""
MAX_WAIT_SECONDS = 60.0


class HttpConnection(http.client.HTTPConnection):
    """A connection that closes itself when its thread ends."""

    used = False

    def __del__(self) -> None:
        self.close()


class HttpsConnection(http.client.HTTPSConnection, HttpConnection):
    """A TLS connection that closes itself when its thread ends."""


class Transport:
    """HTTP requests to one server."""

    def __init__(
        self, url: str, token: str | None, timeout: float, retries: int, context: ssl.SSLContext | None
    ) -> None:
        try:
            parts = urlsplit(url)
            self._host, self._port = parts.hostname or "", parts.port
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
            raise InputError(f"url must be like http://127.0.0.1:8000 or https://example.org, got {url!r}.")
        if token is not None and not (token.isascii() and token.isprintable()):
            raise InputError(
                "token must be printable ASCII. Copy the token exactly as novikoff serve token printed it."
            )
        self._use_tls, self._prefix, self._name = parts.scheme == "https", parts.path.rstrip("/"), parts.netloc
        self._timeout, self._retries, self._context = timeout, retries, context
        self._authorization = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._own = threading.local()
        self._lines: weakref.WeakSet[HttpConnection] = weakref.WeakSet()

    def request_json(
        self, method: str, path: str, body: bytes | None = None, media: str = "", **more: Any
    ) -> dict[str, Any]:
        """Send a request and return the response, which must be a JSON object."""
        content = self.ask(method, path, body, media, **more)
        with contextlib.suppress(ValueError):
            response = json.loads(content)
            if isinstance(response, dict):
                return response
        raise ServiceError(200, "unexpected-response", f"{self._name} is not a novikoff server: unexpected response.")

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        media: str = "",
        *,
        accept: str = JSON,
        key: str | None = None,
        once: bool = False,
    ) -> bytes:
        """Send a request and return the body of the response.

        `key` is the idempotency key, sent with every attempt. With `once`, the request is repeated only if it certainly
        had no effect.
        """
        headers = {"Accept": accept} | ({"Content-Type": media} if media else {})
        if key is not None:
            headers["Idempotency-Key"] = key
        attempts = 0
        while True:
            connection = self._line(fresh=once)
            stale = connection.used  # the server may have closed an idle connection: retry without delay
            connected = False
            try:
                if connection.sock is None:
                    connection.connect()
                connected = True
                response = self._send(connection, method, path, body, headers)
                content = response.read()
                connection.used = True
            except (OSError, http.client.HTTPException) as problem:
                connection.close()
                connection.used = False
                if not stale:
                    if attempts >= self._retries or (once and connected):
                        raise self._unreachable_error(problem) from problem
                    time.sleep(compute_backoff(attempts))
                    attempts += 1
                continue
            finally:
                if once:
                    connection.close()
            if response.status < 400:
                return content
            if attempts >= self._retries or response.status not in (UNPROCESSED_STATUSES if once else RETRY_STATUSES):
                raise _parse_error(response.status, content)
            time.sleep(parse_retry_after(response.headers.get("Retry-After")) or compute_backoff(attempts))
            attempts += 1

    def lines(self, path: str) -> Iterator[bytes]:
        """Yield the lines of a long response, read from a separate connection."""
        connection = self._line(fresh=True)
        try:
            response = self._send(connection, "GET", path, None, {"Accept": NDJSON})
            if response.status >= 400:
                raise _parse_error(response.status, response.read())
            yield from response
        except (OSError, http.client.HTTPException) as problem:
            raise self._unreachable_error(problem) from problem
        finally:
            connection.close()

    def close(self) -> None:
        for connection in list(self._lines):
            connection.close()

    def _send(
        self, connection: HttpConnection, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> http.client.HTTPResponse:
        try:
            connection.request(method, self._prefix + path, body, self._authorization | headers)
        except (BrokenPipeError, ConnectionResetError):
            with contextlib.suppress(OSError, http.client.HTTPException):
                return connection.getresponse()  # the server may have sent an error before the body was complete
            raise
        return connection.getresponse()

    def _line(self, *, fresh: bool) -> HttpConnection:
        """Return the connection of this thread, or a new one if `fresh`."""
        connection: HttpConnection | None = getattr(self._own, "line", None)
        if connection is None or fresh:
            if self._use_tls:
                connection = HttpsConnection(self._host, self._port, timeout=self._timeout, context=self._context)
            else:
                connection = HttpConnection(self._host, self._port, timeout=self._timeout)
            self._lines.add(connection)
            if not fresh:
                self._own.line = connection
        return connection

    def _unreachable_error(self, problem: Exception) -> ServiceError:
        why = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
        detail = f"{self._name} can't be reached or does not respond ({why}). Check that the server is running."
        return ServiceError(0, "unreachable", detail)


def _parse_error(status: int, content: bytes) -> ServiceError:
    """Return the error in a response with problem details (RFC 9457). Older servers send `error`, not `detail`."""
    try:
        problem = json.loads(content)
        detail = problem["detail"] if "detail" in problem else problem["error"]
        return ServiceError(status, str(problem["code"]), str(detail), int(problem.get("learned", 0)))
    except (ValueError, KeyError, TypeError, AttributeError):
        reason = http.client.responses.get(status, "unknown")
        return ServiceError(status, "http-error", f"The server returned {status} ({reason}) without an error message.")


def compute_backoff(attempts: int) -> float:
    """Return the delay before the next attempt: exponential, with jitter so that clients don't retry all at once."""
    return min(10.0, 0.1 * 2.0**attempts) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


def parse_retry_after(header: str | None) -> float:
    """Return the delay in seconds from a Retry-After header (seconds or a date), with jitter; 0 without a header."""
    if not header:
        return 0.0
    try:
        if header.strip().isdigit():
            seconds = float(header)
        else:
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - time.time()
    except (ValueError, TypeError):
        return 0.0
    return min(MAX_WAIT_SECONDS, max(0.0, seconds)) * random.uniform(1.0, 1.1)  # noqa: S311 - no secret
