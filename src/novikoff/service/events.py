"""What happens, as it happens: one picture of all models about once a second, for everybody who watches."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from novikoff.learners import name_of
from novikoff.service.house import House
from novikoff.service.metrics import Metrics
from novikoff.service.proof import UPLOADED
from novikoff.service.served import Served
from novikoff.theory.conversion import progressive

EVERY = 1.0  # seconds
QUIET = 15.0  # seconds after which a comment shows that the line is alive
CONFIDENCE = 0.95


class Events:
    def __init__(self, house: House, metrics: Metrics) -> None:
        self.house, self.metrics = house, metrics
        self.ended: Callable[[], bool] = lambda: not house.open
        """Whether everybody is to be sent home."""
        self.certificates: dict[str, dict[str, Any]] = {}
        """What the latest certificate of each model says: on how many examples, the bound, or why there is none."""
        self.watching = 0
        self._picture = b""
        self._taken = 0.0
        self._seen: Any = None

    async def stream(self) -> AsyncIterator[bytes]:
        self.watching += 1
        sent, said = b"", time.monotonic()
        try:
            while not self.ended():
                picture = self._current()
                now = time.monotonic()
                if picture is not sent:
                    yield b"event: models\ndata: " + picture + b"\n\n"
                    sent, said = picture, now
                elif now - said > QUIET:
                    yield b": still here\n\n"
                    said = now
                await asyncio.sleep(EVERY / 4)
        finally:
            self.watching -= 1

    def _current(self) -> bytes:
        """One picture for all who watch; the same object as long as nothing has changed."""
        now = time.monotonic()
        if self._picture and now - self._taken < EVERY:
            return self._picture
        seen = [(s.name, s.version, s.role, id(self.certificates.get(s.name))) for s in self.house.models.values()]
        state = seen, self.metrics.predicted, self.house.disk_is_full
        if not self._picture or state != self._seen:
            self._picture = msgspec.json.encode(self.picture())
            self._taken, self._seen = now, state
        return self._picture

    def picture(self) -> dict[str, Any]:
        models = [self._live(served) for served in self.house.models.values()]
        return {"time": time.time(), "models": models, "server": self.metrics.server(self.house)}

    def _live(self, served: Served) -> dict[str, Any]:
        counts = served.counts()
        examples, mistakes = (sum(pair[k] for pair in served.recent) for k in (0, 1))
        late = self.house.streams[served.stream].waiting.counted()
        mean_error_bound = None
        if counts.examples and served.own:  # of what was learned elsewhere it is not known whether it came once
            with contextlib.suppress(ValueError):
                mean_error_bound = progressive(mistakes=counts.mistakes, examples=counts.examples, delta=1 - CONFIDENCE)
        return {
            "name": served.name,
            "role": served.role,
            "learner": name_of(type(served.learner)),
            "examples": counts.examples,
            "mistakes": counts.mistakes,
            "updates": counts.updates,
            "progressive_error": counts.progressive_error,
            "recent": {
                "examples": examples,
                "mistakes": mistakes,
                "progressive_error": mistakes / examples if examples else 0.0,
            },
            "mean_error_bound": mean_error_bound,
            "uploaded": not served.own,
            "certificate": self.certificate_of(served),
            "pending": late.waiting,
            "labelled_late": late.labelled,
            "expired": late.expired,
            "refused": served.refused,
            "warnings": served.warnings(),
        }

    def certificate_of(self, served: Served) -> dict[str, Any] | None:
        """Return the state of the certificate; None where the model was not certified since the server started."""
        if not served.own:
            return {"examples": 0, "bound": None, "why": UPLOADED}
        return self.certificates.get(served.name)
