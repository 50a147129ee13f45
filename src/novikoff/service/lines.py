"""Learning a stream of lines: block by block, each safe on the disk before it is told so. With an idempotency key a
stream that broke off goes on where it stopped when it is sent again."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from hashlib import blake2b

from novikoff.service import clock
from novikoff.service.admission import Share
from novikoff.service.learning import Late, Learning, key_reused
from novikoff.service.lessons import Refused, check_label, decoded
from novikoff.service.runs import Run
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
    share: Share = field(default_factory=Share)
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
        self._known: Key | None = None
        """What was learned when the stream was sent before."""
        self._last: asyncio.Future[Outcome] | None = None

    async def learn(self, blocks: AsyncIterator[bytes]) -> AsyncIterator[int]:
        """Blocks of whole lines; gives, again and again, how many lines are learned and safe. What was refused is in
        `total`; Refused is raised, with what was before it learned, at the first line that is not right unless such
        lines are to be skipped."""
        await self._hold()
        try:
            async for line in self._learn(blocks):
                yield line
        finally:
            self._let_go()

    async def _hold(self) -> None:
        """Nobody else uses the key until this stream has ended, however it ends."""
        if self.key is not None:
            stream = self.learning.stream
            await stream.free(self.key)
            stream.held[self.key] = asyncio.get_running_loop().create_future()
            self._known = stream.keys.get(self.key)

    def _let_go(self) -> None:
        """When the last block that is on its way has arrived."""
        held = None if self.key is None else self.learning.stream.held.get(self.key)
        if held is None:
            return

        def free(_: object = None) -> None:
            self.learning.stream.held.pop(str(self.key), None)
            if not held.done():
                held.set_result(None)

        if self._last is None or self._last.done():
            free()
        else:
            self._last.add_done_callback(free)

    async def _learn(self, blocks: AsyncIterator[bytes]) -> AsyncIterator[int]:
        problem = None
        async for block in blocks:
            rest = self._passed_over(block)
            if self._flying and self.learning.is_short_of_memory(len(rest)):
                while self._flying:  # what is learned need not be estimated
                    yield await self._landed()
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
        record = None if self.key is None else (self.key, Key(self.line, self._digest.digest(), clock.now()))
        future = self.learning.write(looked.body, looked.examples, looked.late, record, looked.share, self._chain)
        self._flying.append((future, self.line))
        self._last = future

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
        for found in self.learning.house.reader.runs(block):
            if isinstance(found, Run) and self._is_right(found) and self.learning.admit_run(found, looked.share):
                pieces.append(found.text_of(block))
                looked.examples += len(found)
                continue
            for number, line in found.all_lines():
                try:
                    piece = self._line(line, looked)
                except Refused as problem:
                    if not self.skip:
                        where = f"Line {self.line + number}: {problem}"
                        looked.problem = Refused(where, problem.code, problem.status)
                        looked.lines, looked.used = number - 1, _start_of(block, number)
                        looked.body = b"".join(pieces)
                        return looked
                    self.total.refused[problem.code] += 1
                    continue
                if piece:
                    pieces.append(piece)
                    looked.examples += 1
        looked.body = b"".join(pieces)
        looked.lines, looked.used = block.count(b"\n") + (not block.endswith(b"\n")), len(block)
        return looked

    def _is_right(self, run: Run) -> bool:
        """Whether all of its labels are such as may come; what they are told otherwise, each line is told by itself."""
        try:
            for label in run.different_labels():
                check_label(label, self.learning.limits)
        except Refused:
            return False
        champion = self.learning.stream.champion
        return run.labelled == len(run) and not champion.is_near_a_bound(len(run.terms.values), len(run))

    def _line(self, line: bytes, looked: Looked) -> bytes:
        if not line.strip():
            return b""
        lesson = decoded(self.learning.decoder, line)
        self.learning.check(lesson)
        piece = self.learning.line_of(lesson, looked.late, looked.examples, looked.share)
        if piece is None:
            self.total.refused["already-learned"] += 1
            return b""
        return piece


def _start_of(block: bytes, number: int) -> int:
    """Where a line begins, by its number from 1 on."""
    at = 0
    for _ in range(number - 1):
        at = block.find(b"\n", at) + 1
    return at
