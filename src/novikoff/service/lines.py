"""Learning a stream of lines: block by block, each safe on the disk before it is told so. With an idempotency key a
stream that broke off goes on where it stopped when it is sent again."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

from novikoff.service.learning import Late, Learning, key_reused
from novikoff.service.lessons import LESSON, Refused, decoded
from novikoff.service.served import Outcome
from novikoff.service.stream import Key
from novikoff.service.writer import Chain

IN_FLIGHT = 8  # blocks that wait for the disk


@dataclass
class Looked:
    """A block that was looked through: what is to be learned of it."""

    body: bytes = b""
    examples: int = 0
    lines: int = 0
    used: int = 0
    """How many bytes of the block are done with."""
    late: Late = field(default_factory=dict)
    problem: Refused | None = None


class Lines:
    def __init__(self, learning: Learning, key: str | None, *, skip: bool) -> None:
        self.learning, self.key, self.skip = learning, key, skip
        self.line = 0
        """How many lines are done with."""
        self.total = Outcome()
        self._digest = blake2b(digest_size=16)
        self._chain = Chain()
        self._flying: deque[tuple[asyncio.Future[Outcome], int]] = deque()
        stream = learning.stream
        self._known = None if key is None else stream.keys.get(key)
        if key is not None and key in stream.busy:
            raise Refused("Another request with this key is under way: try again when it has ended.", "key-busy", 409)

    async def learn(self, blocks: AsyncIterator[bytes]) -> AsyncIterator[int]:
        """Blocks of whole lines; gives, again and again, how many lines are learned and safe. What was refused is in
        `total`; Refused is raised, with what was before it learned, at the first line that is not right unless such
        lines are to be skipped."""
        problem = None
        async for block in blocks:
            rest = self._passed_over(block)
            looked = self._looked_through(rest)
            self._digest.update(rest[: looked.used])
            self.line += looked.lines
            if looked.body:
                self._write(looked)
            while self._flying and (len(self._flying) > IN_FLIGHT or self._flying[0][0].done()):
                yield await self._landed()
            if looked.problem is not None:
                problem = looked.problem
                break
        while self._flying:
            yield await self._landed()
        if self._known is not None and self.line < self._known.lines:
            raise key_reused()
        if problem is not None:
            raise problem

    def _write(self, looked: Looked) -> None:
        record = None if self.key is None else (self.key, Key(self.line, self._digest.digest(), time.time()))
        future = self.learning.write(looked.body, looked.examples, looked.late, record, self._chain)
        self._flying.append((future, self.line))

    async def _landed(self) -> int:
        future, line = self._flying.popleft()
        outcome, total = await asyncio.shield(future), self.total
        total.examples += outcome.examples
        total.mistakes += outcome.mistakes
        total.updates += outcome.updates
        total.refused.update(outcome.refused)
        total.problem = total.problem or outcome.problem
        return line

    def _passed_over(self, block: bytes) -> bytes:
        """The block without the lines that were learned when the stream was sent before."""
        if self._known is None or self.line >= self._known.lines:
            return block
        at = 0
        while self.line < self._known.lines and at < len(block):
            at = block.find(b"\n", at) + 1 or len(block)
            self.line += 1
        self._digest.update(block[:at])
        if self.line == self._known.lines and self._digest.digest() != self._known.digest:
            raise key_reused()
        return block[at:]

    def _looked_through(self, block: bytes) -> Looked:
        """Up to the first line that is not right, or all of it."""
        looked, pieces = Looked(), []
        for line in _lines(block):
            try:
                piece = self._line(line.strip(), looked.late)
            except Refused as problem:
                if not self.skip:
                    looked.problem = Refused(
                        f"Line {self.line + looked.lines + 1}: {problem}", problem.code, problem.status
                    )
                    break
                self.total.refused[problem.code] += 1
                piece = b""
            looked.lines += 1
            looked.used += len(line)
            if piece:
                pieces.append(piece)
        looked.body, looked.examples = b"".join(pieces), len(pieces)
        return looked

    def _line(self, line: bytes, late: Late) -> bytes:
        if not line:
            return b""
        lesson = decoded(LESSON, line)
        self.learning.check(lesson)
        piece = self.learning.line_of(lesson, late)
        if piece is None:
            self.total.refused["already-learned"] += 1
            return b""
        return piece


def _lines(block: bytes) -> Iterator[bytes]:
    """With their ends; the last one may have none."""
    at = 0
    while at < len(block):
        end = block.find(b"\n", at) + 1 or len(block)
        yield block[at:end]
        at = end
