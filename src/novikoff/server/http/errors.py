"""Errors as RFC 9457 problem details, the mapping from exceptions to them, and the security headers of responses."""

from __future__ import annotations

import logging

import msgspec
from starlette.requests import ClientDisconnect

from novikoff.server import dashboard
from novikoff.server.http.schemas import Problem
from novikoff.server.models.validation import Headers, RequestError
from novikoff.server.storage.journal import DiskFull, StreamDeleted

PROBLEM_JSON = "application/problem+json"
EXPECTED_ERRORS = {
    StreamDeleted: (404, "unknown-model", "The model was removed."),
    ClientDisconnect: (400, "incomplete-body", "The body ended before its end."),
    MemoryError: (507, "out-of-memory", "There is not enough memory for this."),
}
log = logging.getLogger("novikoff.server")


def build_page_headers(policy: str) -> Headers:
    """Return the headers of a page, which browsers may cache, under a Content-Security-Policy."""
    return (
        (b"content-security-policy", policy.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
    )


API_HEADERS: Headers = (*build_page_headers(dashboard.CONTENT_SECURITY_POLICY), (b"cache-control", b"no-store"))


def encode_problem(error: RequestError) -> bytes:
    """Return the body of an error response.

    >>> encode_problem(RequestError("There is no model 'a'.", "unknown-model", 404))[:66]
    b'{"type":"urn:novikoff:error:unknown-model","title":"Unknown model"'
    """
    code, detail = error.code, str(error)
    learned = msgspec.UNSET if error.learned is None else error.learned
    title = code.replace("-", " ").capitalize()
    problem = Problem(f"urn:novikoff:error:{code}", title, error.status, detail, code, detail, learned)
    return msgspec.json.encode(problem)


def to_request_error(problem: Exception) -> RequestError:
    """Return the error of an exception. An unexpected exception is logged; the client gets no details of it."""
    if isinstance(problem, RequestError):
        return problem
    if isinstance(problem, DiskFull):
        detail = f"There is no room left on the disk to learn ({problem}): what is not acknowledged was not learned."
        error = RequestError(detail, "disk-full", 507)
        error.learned = problem.learned
        return error
    for kind, (status, code, detail) in EXPECTED_ERRORS.items():
        if isinstance(problem, kind):
            return RequestError(detail, code, status)
    log.error("A request failed", exc_info=problem)
    return RequestError("The server failed at this request: see its log.", "internal-error", 500)
