"""Learning a stream of lines, block by block. Each block is durable before it is acknowledged.

With an idempotency key an interrupted stream continues where it stopped when it is sent again.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from hashlib import blake2b

import msgspec

from novikoff.server.http.errors import encode_problem, to_request_error
from novikoff.server.http.schemas import LearnProgress, LearnResponse
from novikoff.server.models.admission import MemoryDemand
from novikoff.server.models.line_runs import LineRun
from novikoff.server.models.model_stream import ALREADY_LEARNED, LEARNED, LateLabels, ModelStream, key_reused_error
from novikoff.server.models.served_model import LearnOutcome
from novikoff.server.models.validation import RequestError, check_label, decode_body
from novikoff.server.ops import clock
from novikoff.server.storage.journal import DiskFull, IdempotencyRecord, JobChain

MAX_BLOCKS_IN_FLIGHT = 8
encode = msgspec.json.encode


@dataclass
class ScannedBlock:
    """The valid examples of a block of lines, and the first error."""

    body: bytes = b""
    examples: int = 0
    lines: int = 0
    bytes_used: int = 0
    """Number of bytes of the block before the first invalid line."""
    late: LateLabels = field(default_factory=dict)
    share: MemoryDemand = field(default_factory=MemoryDemand)
    problem: RequestError | None = None


class LineUpload:
    """One request that learns a stream of lines."""

    def __init__(self, stream: ModelStream, key: str | None, *, skip: bool) -> None:
        """Create the request; with `skip`, invalid lines are counted and skipped."""
        self.stream, self.key, self.skip = stream, key, skip
        self.line = 0
        """Number of lines processed."""
        self.total = LearnOutcome()
        self.refused: Counter[str] = Counter()
        """Number of refused examples by their error codes."""
        self._digest = blake2b(digest_size=16)
        self._chain = JobChain()
        self._in_flight: deque[tuple[asyncio.Future[LearnOutcome], int]] = deque()
        self._known: IdempotencyRecord | None = None
        """The record of an earlier transmission of the stream."""
        self._last: asyncio.Future[LearnOutcome] | None = None

    async def learn(self, blocks: AsyncIterator[bytes]) -> AsyncIterator[int]:
        """Learn blocks of complete lines. Yield repeatedly the number of lines that are durable and applied.

        `total` and `refused` count the results. Unless invalid lines are skipped, the first one raises
        RequestError; the lines before it are learned.
        """
        await self._hold_key()
        try:
            async for line in self._learn(blocks):
                yield line
        finally:
            if self.key is not None:
                asyncio.get_running_loop().create_task(self._release_key(self.key))

    async def report(self, blocks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Learn blocks of lines. Yield progress as lines of JSON; the last line is the summary or the error."""
        try:
            async for line in self.learn(blocks):
                yield encode(LearnProgress(line, self.total.examples)) + b"\n"
            yield encode(self.summarize()) + b"\n"
        except (RequestError, DiskFull) as problem:
            problem.learned = self.total.examples
            yield encode_problem(to_request_error(problem)) + b"\n"

    async def learn_all(self, blocks: AsyncIterator[bytes]) -> LearnResponse:
        """Learn blocks of lines; return the summary."""
        try:
            async for _ in self.learn(blocks):
                pass
            return self.summarize()
        except (RequestError, DiskFull) as problem:
            problem.learned = self.total.examples
            raise

    def summarize(self) -> LearnResponse:
        """Return the summary; raise RequestError if examples were refused and are not to be skipped."""
        total = self.total
        if total.problem is not None and not self.skip:
            raise RequestError(
                f"{self.refused.total():,} examples were refused. The first error: {total.problem}", "refused-examples"
            )
        was_known = self._known is not None or "already-learned" in self.refused
        status = ALREADY_LEARNED if was_known and not total.examples else LEARNED
        return LearnResponse(status, total.examples, total.mistakes, total.updates, dict(self.refused))

    async def _hold_key(self) -> None:
        """Reserve the key until this stream has ended, with or without an error."""
        if self.key is not None:
            await self.stream.free(self.key)
            self.stream.held[self.key] = asyncio.get_running_loop().create_future()
            self._known = self.stream.keys.get(self.key)

    async def _release_key(self, key: str) -> None:
        """Release the key after the last block is applied."""
        if self._last is not None:
            await asyncio.wait([self._last])
        self.stream.held.pop(key).set_result(None)

    async def _learn(self, blocks: AsyncIterator[bytes]) -> AsyncIterator[int]:
        problem = None
        async for block in blocks:
            rest = self._skip_known_lines(block)
            if self._in_flight and self.stream.is_short_of_memory(len(rest)):
                while self._in_flight:  # applied blocks need no estimate
                    yield await self._next_applied()
            scanned = self._scan(rest)
            self._digest.update(rest[: scanned.bytes_used])
            self.line += scanned.lines
            if scanned.body:
                self._commit(scanned)
            while self._in_flight and (len(self._in_flight) > MAX_BLOCKS_IN_FLIGHT or self._in_flight[0][0].done()):
                yield await self._next_applied()
            if scanned.problem is not None:
                problem = scanned.problem
                break
        while self._in_flight:
            yield await self._next_applied()
        if self._known is not None and self.line < self._known.lines:
            raise key_reused_error()
        if problem is not None:
            raise problem

    def _commit(self, scanned: ScannedBlock) -> None:
        record = (
            None if self.key is None else (self.key, IdempotencyRecord(self.line, self._digest.digest(), clock.now()))
        )
        self._last = self.stream.commit(
            scanned.body, scanned.examples, scanned.late, record, scanned.share, self._chain
        )
        self._in_flight.append((self._last, self.line))

    async def _next_applied(self) -> int:
        """Wait for the oldest block in flight; return the number of its last line."""
        applied, line = self._in_flight.popleft()
        outcome, total = await asyncio.shield(applied), self.total  # `_release_key` waits for it, too
        total.examples += outcome.examples
        total.mistakes += outcome.mistakes
        total.updates += outcome.updates
        self.refused.update(outcome.left_out.values())
        total.problem = total.problem or outcome.problem
        return line

    def _skip_known_lines(self, block: bytes) -> bytes:
        """Return the block without the lines that an earlier transmission of the stream has learned."""
        if self._known is None or self.line >= self._known.lines:
            return block
        offset = 0
        while self.line < self._known.lines and offset < len(block):
            offset = block.find(b"\n", offset) + 1 or len(block)
            self.line += 1
        self._digest.update(block[:offset])
        if self.line == self._known.lines and self._digest.digest() != self._known.digest:
            raise key_reused_error()
        return block[offset:]

    def _scan(self, block: bytes) -> ScannedBlock:
        """Validate the lines of a block, up to the first invalid one unless invalid lines are skipped."""
        scanned, pieces = ScannedBlock(), []
        for found in self.stream.registry.reader.runs(block):
            if isinstance(found, LineRun) and self._is_valid(found) and self.stream.admit_run(found, scanned.share):
                pieces.append(found.slice_block(block))
                scanned.examples += len(found)
                continue
            for number, line in found.iter_lines():
                try:
                    piece = self._scan_line(line, scanned)
                except RequestError as problem:
                    if not self.skip:
                        where = f"Line {self.line + number}: {problem}"
                        scanned.problem = RequestError(where, problem.code, problem.status)
                        scanned.lines, scanned.bytes_used = number - 1, _find_line_start(block, number)
                        scanned.body = b"".join(pieces)
                        return scanned
                    self.refused[problem.code] += 1
                    continue
                if piece:
                    pieces.append(piece)
                    scanned.examples += 1
        scanned.body = b"".join(pieces)
        scanned.lines, scanned.bytes_used = block.count(b"\n") + (not block.endswith(b"\n")), len(block)
        return scanned

    def _is_valid(self, run: LineRun) -> bool:
        """Return whether all lines of a run are certainly valid. If not, each line is validated separately."""
        try:
            for label in run.distinct_labels():
                check_label(label, self.stream.limits)
        except RequestError:
            return False
        champion = self.stream.champion
        return run.labelled == len(run) and not champion.is_near_a_bound(len(run.terms.values), len(run))

    def _scan_line(self, line: bytes, scanned: ScannedBlock) -> bytes:
        if not line.strip():
            return b""
        example = decode_body(self.stream.champion.decoders.labelled, line)
        self.stream.validate(example)
        piece = self.stream.admit_line(example, scanned.late, scanned.examples, scanned.share)
        if piece is None:
            self.refused["already-learned"] += 1
            return b""
        return piece


def _find_line_start(block: bytes, number: int) -> int:
    """Return the offset of a line, given its number from 1."""
    offset = 0
    for _ in range(number - 1):
        offset = block.find(b"\n", offset) + 1
    return offset
