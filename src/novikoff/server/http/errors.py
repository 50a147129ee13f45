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
    ClientDisconnect: (400, "incomplete-body", "The client disconnected before the body was complete."),
    MemoryError: (507, "out-of-memory", "The server has not enough memory for this request."),
}
log = logging.getLogger("novikoff.server")


def build_page_headers(policy: str) -> Headers:
    """Return the security headers of a page with this Content-Security-Policy. Browsers may cache the page."""
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
    """Convert an exception to the error that is sent. Unexpected exceptions are logged, and no details are sent."""
    if isinstance(problem, RequestError):
        return problem
    if isinstance(problem, DiskFull):
        detail = f"The disk is full ({problem}). Examples that were not acknowledged were not learned."
        error = RequestError(detail, "disk-full", 507)
        error.learned = problem.learned
        return error
    for kind, (status, code, detail) in EXPECTED_ERRORS.items():
        if isinstance(problem, kind):
            return RequestError(detail, code, status)
    log.error("A request failed", exc_info=problem)
    return RequestError("The request failed because of an error in the server. See its log.", "internal-error", 500)
