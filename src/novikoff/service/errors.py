"""Errors as RFC 9457 problem details, the mapping from exceptions to them, and the security headers of responses."""

from __future__ import annotations

import logging
from typing import NamedTuple

import msgspec
from starlette.requests import ClientDisconnect

from novikoff.service import page
from novikoff.service.journal import DiskFull, Gone
from novikoff.service.lessons import Refused
from novikoff.service.protocol import Problem

PROBLEM_JSON = "application/problem+json"
Headers = tuple[tuple[bytes, bytes], ...]
log = logging.getLogger("novikoff.service")


def page_headers(policy: str) -> Headers:
    """Return the headers of a page, which browsers may cache, under a Content-Security-Policy."""
    return (
        (b"content-security-policy", policy.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
    )


API_HEADERS: Headers = (*page_headers(page.POLICY), (b"cache-control", b"no-store"))


class Error(NamedTuple):
    """One error response. `code` is stable: programs compare it, `detail` is for people."""

    status: int
    code: str
    detail: str
    headers: Headers = ()
    learned: int | None = None
    """Examples of the request that were learned before the error."""

    def body(self) -> bytes:
        """Return the problem details as JSON.

        >>> Error(404, "unknown-model", "There is no model 'a'.").body()[:66]
        b'{"type":"urn:novikoff:error:unknown-model","title":"Unknown model"'
        """
        title = self.code.replace("-", " ").capitalize()
        learned = msgspec.UNSET if self.learned is None else self.learned
        kind = f"urn:novikoff:error:{self.code}"
        return msgspec.json.encode(Problem(kind, title, self.status, self.detail, self.code, self.detail, learned))


def error_from(problem: Exception) -> Error:
    """Return the response to an exception of a handler. An unexpected exception is logged; the client gets no details
    of it."""
    if isinstance(problem, Refused):
        return Error(problem.status, problem.code, str(problem), learned=problem.learned)
    if isinstance(problem, DiskFull):
        detail = f"There is no room left on the disk to learn ({problem}): what is not acknowledged was not learned."
        return Error(507, "disk-full", detail, learned=problem.learned)
    if isinstance(problem, Gone):
        return Error(404, "unknown-model", "The model was removed.")
    if isinstance(problem, ClientDisconnect):
        return Error(400, "incomplete-body", "The body ended before its end.")
    if isinstance(problem, MemoryError):
        return Error(507, "memory-full", "There is not enough memory for this.")
    log.error("A request failed", exc_info=problem)
    return Error(500, "internal", "Something went wrong in the server; its log has more.")
