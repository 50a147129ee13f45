"""What happens, as it happens: one picture of all models about once a second, for everybody who watches."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from novikoff.learner_registry import name_of
from novikoff.server.http.schemas import CertificateState, History, LiveModel, Point, RecentExamples, Snapshot
from novikoff.server.models.certificates import UPLOADED, Certifier
from novikoff.server.models.registry import House
from novikoff.server.models.served_model import Served
from novikoff.server.ops.metrics import Metrics
from novikoff.theory.online_to_batch import progressive

EVERY = 1.0  # seconds
QUIET = 15.0  # seconds after which a comment shows that the line is alive
CONFIDENCE = 0.95
MAX_HISTORY_POINTS = 500


class Events:
    def __init__(self, house: House, metrics: Metrics) -> None:
        self.house, self.metrics = house, metrics
        self.ended: Callable[[], bool] = lambda: not house.open
        """Whether everybody is to be sent home."""
        self.certifier = Certifier(house.folder, house.limits)
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
        seen = [(s.name, s.version, s.role, id(self.certifier.states.get(s.name))) for s in self.house.models.values()]
        state = seen, self.metrics.predicted, self.house.disk_is_full
        if not self._picture or state != self._seen:
            self._picture = msgspec.json.encode(self.picture())
            self._taken, self._seen = now, state
        return self._picture

    def picture(self) -> Snapshot:
        models = [self._live(served) for served in self.house.models.values()]
        return Snapshot(time.time(), models, self.metrics.server(self.house))

    def _live(self, served: Served) -> LiveModel:
        counts = served.counts()
        examples, mistakes = (sum(pair[k] for pair in served.recent) for k in (0, 1))
        late = self.house.streams[served.stream].waiting.counted()
        mean_error_bound = None
        if counts.examples and served.own:  # of what was learned elsewhere it is not known whether it came once
            with contextlib.suppress(ValueError):
                mean_error_bound = progressive(mistakes=counts.mistakes, examples=counts.examples, delta=1 - CONFIDENCE)
        return LiveModel(
            name=served.name,
            role=served.role,
            learner=name_of(type(served.learner)),
            examples=counts.examples,
            mistakes=counts.mistakes,
            updates=counts.updates,
            progressive_error=counts.progressive_error,
            recent=RecentExamples(examples, mistakes, mistakes / examples if examples else 0.0),
            mean_error_bound=mean_error_bound,
            uploaded=not served.own,
            certificate=self.certificate_of(served),
            pending=late.waiting,
            labelled_late=late.labelled,
            expired=late.expired,
            refused=served.refused,
            warnings=served.warnings(),
        )

    def certificate_of(self, served: Served) -> CertificateState | None:
        """Return the state of the certificate; None where the model was not certified since the server started."""
        return self.certifier.states.get(served.name) if served.own else CertificateState(0, None, UPLOADED)

    def history(self, served: Served) -> History:
        """Return mistakes over examples, with the bound of the certificate as far as it reaches."""
        ledger, certificate = served.ledger, self.certificate_of(served)

        def allowed(examples: int) -> float | None:
            if certificate is None or certificate.bound is None or examples > certificate.examples:
                return None
            return certificate.bound.allowed

        times, stride = ledger.mistake_times.tolist(), ledger.stride
        every = max(1, len(times) // MAX_HISTORY_POINTS + 1)
        points = [Point(times[k], (k + 1) * stride, allowed(times[k])) for k in range(0, len(times), every)]
        last = Point(ledger.examples, ledger.mistakes, allowed(ledger.examples))
        return History([Point(0, 0, allowed(0)), *points, last])
