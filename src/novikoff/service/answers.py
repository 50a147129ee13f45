"""From what went wrong to an answer: a status, a sentence, and a word for programs."""

from __future__ import annotations

import logging

import msgspec
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from novikoff.service.journal import Gone
from novikoff.service.lessons import Refused
from novikoff.service.protocol import Problem
from novikoff.service.routes import JSON
from novikoff.service.writer import DiskFull

log = logging.getLogger("novikoff.service")


def refusal(status: int, code: str, sentence: str, learned: int | None = None) -> Response:
    problem = Problem(sentence, code, msgspec.UNSET if learned is None else learned)
    return Response(msgspec.json.encode(problem), status, media_type=JSON)


def failure(problem: Exception) -> Response:
    """What is not foreseen is told to the log, and to the client only that it happened."""
    if isinstance(problem, Refused):
        return refusal(problem.status, problem.code, str(problem), problem.learned)
    if isinstance(problem, DiskFull):
        return refusal(507, "disk-full", no_room(problem), problem.learned)
    status, code, sentence = 500, "internal", "Something went wrong in the server; its log has more."
    if isinstance(problem, Gone):
        status, code, sentence = 404, "unknown-model", "The model was removed."
    elif isinstance(problem, ClientDisconnect):
        status, code, sentence = 400, "incomplete-body", "The body ended before its end."
    elif isinstance(problem, MemoryError):
        status, code, sentence = 507, "memory-full", "There is not enough memory for this."
    else:
        log.error("a request failed", exc_info=problem)
    return refusal(status, code, sentence)


def no_room(problem: DiskFull) -> str:
    return f"There is no room left on the disk to learn ({problem}): what is not acknowledged was not learned."
