"""Server-sent events: a snapshot of all models about once a second, shared by all subscribers."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from novikoff.learner_registry import name_of
from novikoff.server.http.schemas import CertificateState, History, HistoryPoint, LiveModel, RecentExamples, Snapshot
from novikoff.server.models.certificates import UPLOADED_REASON, Certifier
from novikoff.server.models.registry import ModelRegistry
from novikoff.server.models.served_model import ServedModel
from novikoff.server.ops.metrics import Metrics
from novikoff.theory.online_to_batch import progressive

SNAPSHOT_INTERVAL_SECONDS = 1.0
HEARTBEAT_SECONDS = 15.0  # a comment is sent after this time without a snapshot
CONFIDENCE = 0.95
MAX_HISTORY_POINTS = 500


class EventStream:
    def __init__(self, registry: ModelRegistry, metrics: Metrics) -> None:
        self.registry, self.metrics = registry, metrics
        self.ended: Callable[[], bool] = lambda: not registry.open
        """Callback that returns whether all streams must end."""
        self.certifier = Certifier(registry.folder, registry.limits)
        self.n_watchers = 0
        self._snapshot = b""
        self._taken = 0.0
        self._seen: Any = None

    async def stream(self) -> AsyncIterator[bytes]:
        self.n_watchers += 1
        sent, sent_at = b"", time.monotonic()
        try:
            while not self.ended():
                snapshot = self._current()
                now = time.monotonic()
                if snapshot is not sent:
                    yield b"event: models\ndata: " + snapshot + b"\n\n"
                    sent, sent_at = snapshot, now
                elif now - sent_at > HEARTBEAT_SECONDS:
                    yield b": still here\n\n"
                    sent_at = now
                await asyncio.sleep(SNAPSHOT_INTERVAL_SECONDS / 4)
        finally:
            self.n_watchers -= 1

    def _current(self) -> bytes:
        """Return the latest snapshot. It is the same object as long as nothing has changed."""
        now = time.monotonic()
        if self._snapshot and now - self._taken < SNAPSHOT_INTERVAL_SECONDS:
            return self._snapshot
        seen = [
            (s.name, s.version, s.role, id(self.certifier.states.get(s.name))) for s in self.registry.models.values()
        ]
        state = seen, self.metrics.predicted, self.registry.disk_is_full
        if not self._snapshot or state != self._seen:
            self._snapshot = msgspec.json.encode(self.picture())
            self._taken, self._seen = now, state
        return self._snapshot

    def picture(self) -> Snapshot:
        models = [self._describe_live(served) for served in self.registry.models.values()]
        return Snapshot(time.time(), models, self.metrics.server(self.registry))

    def _describe_live(self, served: ServedModel) -> LiveModel:
        counts = served.counts()
        examples, mistakes = (sum(pair[k] for pair in served.recent) for k in (0, 1))
        late = self.registry.streams[served.stream].waiting.current_counts()
        mean_error_bound = None
        if counts.examples and served.own:  # an uploaded model may have learned examples more than once
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
            certificate=self.get_certificate(served),
            pending=late.waiting,
            labelled_late=late.labelled,
            expired=late.expired,
            refused=served.refused,
            warnings=served.warnings(),
        )

    def get_certificate(self, served: ServedModel) -> CertificateState | None:
        """Return the state of the certificate, or None if the model was not certified since the server started."""
        return self.certifier.states.get(served.name) if served.own else CertificateState(0, None, UPLOADED_REASON)

    def history(self, served: ServedModel) -> History:
        """Return mistakes over examples, with the bound of the certificate for the examples that it covers."""
        ledger, certificate = served.ledger, self.get_certificate(served)

        def allowed(examples: int) -> float | None:
            if certificate is None or certificate.bound is None or examples > certificate.examples:
                return None
            return certificate.bound.bound

        times, stride = ledger.mistake_times.tolist(), ledger.stride
        every = max(1, len(times) // MAX_HISTORY_POINTS + 1)
        points = [HistoryPoint(times[k], (k + 1) * stride, allowed(times[k])) for k in range(0, len(times), every)]
        last = HistoryPoint(ledger.examples, ledger.mistakes, allowed(ledger.examples))
        return History([HistoryPoint(0, 0, allowed(0)), *points, last])
