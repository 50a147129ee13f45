"""A body of lines in pieces that end where lines end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from novikoff.server.models.validation import RequestError

BLOCK_BYTES = 1 << 18  # bytes of lines that are looked at together
MAX_PAUSE_SECONDS = 0.002  # seconds: what comes later is not waited for


async def iter_line_blocks(body: AsyncIterator[bytes], max_line_bytes: int) -> AsyncIterator[bytes]:
    """What comes without a pause is one piece, up to a size; a line may have `longest` bytes."""
    rest, coming = bytearray(), asyncio.ensure_future(anext(body, None))
    try:
        while (piece := await coming) is not None:
            rest += piece
            coming = asyncio.ensure_future(anext(body, None))
            if len(rest) < BLOCK_BYTES:
                await asyncio.wait([coming], timeout=MAX_PAUSE_SECONDS)
                if coming.done():
                    continue
            end = rest.rfind(b"\n") + 1
            if len(rest) - end > max_line_bytes:
                raise RequestError(f"A line may have {max_line_bytes:,} bytes; one is longer.", "line-too-long", 413)
            if end:
                yield bytes(rest[:end])
                del rest[:end]
    finally:
        coming.cancel()
    if rest:
        yield bytes(rest)
