"""A body of lines in pieces that end where lines end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from novikoff.server.models.validation import Refused

BLOCK = 1 << 18  # bytes of lines that are looked at together
PAUSE = 0.002  # seconds: what comes later is not waited for


async def blocks(body: AsyncIterator[bytes], longest: int) -> AsyncIterator[bytes]:
    """What comes without a pause is one piece, up to a size; a line may have `longest` bytes."""
    rest, coming = bytearray(), asyncio.ensure_future(anext(body, None))
    try:
        while (piece := await coming) is not None:
            rest += piece
            coming = asyncio.ensure_future(anext(body, None))
            if len(rest) < BLOCK:
                await asyncio.wait([coming], timeout=PAUSE)
                if coming.done():
                    continue
            end = rest.rfind(b"\n") + 1
            if len(rest) - end > longest:
                raise Refused(f"A line may have {longest:,} bytes; one is longer.", "line-too-long", 413)
            if end:
                yield bytes(rest[:end])
                del rest[:end]
    finally:
        coming.cancel()
    if rest:
        yield bytes(rest)
