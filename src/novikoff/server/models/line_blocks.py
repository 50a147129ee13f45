"""Splitting of a streamed body into blocks of complete lines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from novikoff.server.models.validation import RequestError

BLOCK_BYTES = 1 << 18  # size at which a block is passed on
MAX_PAUSE_SECONDS = 0.002  # a shorter block is passed on if no more data arrives for this long


async def iter_line_blocks(body: AsyncIterator[bytes], max_line_bytes: int) -> AsyncIterator[bytes]:
    """Yield blocks of complete lines. Data that arrives without a pause is one block, up to `BLOCK_BYTES`.

    Raise RequestError if a line has more than `max_line_bytes`.
    """
    rest, next_part = bytearray(), asyncio.ensure_future(anext(body, None))
    try:
        while (part := await next_part) is not None:
            rest += part
            next_part = asyncio.ensure_future(anext(body, None))
            if len(rest) < BLOCK_BYTES:
                await asyncio.wait([next_part], timeout=MAX_PAUSE_SECONDS)
                if next_part.done():
                    continue
            end = rest.rfind(b"\n") + 1
            if len(rest) - end > max_line_bytes:
                detail = f"A line is longer than the limit of {max_line_bytes:,} bytes."
                raise RequestError(detail, "line-too-long", 413)
            if end:
                yield bytes(rest[:end])
                del rest[:end]
    finally:
        next_part.cancel()
    if rest:
        yield bytes(rest)
