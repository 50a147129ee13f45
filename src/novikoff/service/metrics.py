"""Numbers about the server itself: how many requests, how fast, how long ago."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter, deque
from typing import Any

from novikoff.service.house import House

BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
LATEST = 1_000  # requests of a kind whose times are kept for percentiles
WATCHED = ("predict", "learn")


class Metrics:
    def __init__(self) -> None:
        self.began = time.monotonic()
        self.requests: Counter[tuple[str, int]] = Counter()
        self.buckets: dict[str, list[int]] = {}
        self.seconds: Counter[str] = Counter()
        self.latest: dict[str, deque[float]] = {name: deque(maxlen=LATEST) for name in WATCHED}
        self.predicted = 0
        self._before = (time.monotonic(), 0, 0)

    def observe(self, route: str, status: int, seconds: float) -> None:
        """One request."""
        self.requests[route, status] += 1
        self.seconds[route] += seconds  # type: ignore[assignment]
        counts = self.buckets.get(route)
        if counts is None:
            counts = self.buckets[route] = [0] * (len(BUCKETS) + 1)
        counts[bisect_left(BUCKETS, seconds)] += 1
        if route in self.latest:
            self.latest[route].append(seconds)

    def server(self, house: House) -> dict[str, Any]:
        """For people: rates since this was last asked, times of the latest requests."""
        now, learned = time.monotonic(), sum(served.ledger.examples for served in house.models.values())
        then, learned_before, predicted_before = self._before
        self._before = now, learned, self.predicted
        span = max(now - then, 1e-9)
        return {
            "learned_per_second": max(learned - learned_before, 0) / span,
            "predicted_per_second": (self.predicted - predicted_before) / span,
            **{f"{name}_ms": _percentiles(self.latest[name]) for name in WATCHED},
            "uptime": now - self.began,
            "journal_bytes": house.journal_bytes(),
            "disk_full": house.disk_is_full,
        }

    def text(self, house: House) -> str:
        """For Prometheus."""
        lines = ["# TYPE novikoff_requests_total counter"]
        for (route, status), count in sorted(self.requests.items()):
            lines.append(f'novikoff_requests_total{{route="{route}",status="{status}"}} {count}')
        lines.append("# TYPE novikoff_request_seconds histogram")
        for route, counts in sorted(self.buckets.items()):
            total = 0
            for most, count in zip((*map(str, BUCKETS), "+Inf"), counts, strict=True):
                total += count
                lines.append(f'novikoff_request_seconds_bucket{{route="{route}",le="{most}"}} {total}')
            lines.append(f'novikoff_request_seconds_sum{{route="{route}"}} {self.seconds[route]:.9g}')
            lines.append(f'novikoff_request_seconds_count{{route="{route}"}} {total}')
        for name, kind, values in _of_models(house):
            lines.append(f"# TYPE novikoff_{name} {kind}")
            lines += [f'novikoff_{name}{{model="{model}"}} {value}' for model, value in values]
        lines.append("# TYPE novikoff_predictions_total counter")
        lines.append(f"novikoff_predictions_total {self.predicted}")
        lines.append("# TYPE novikoff_journal_bytes gauge")
        lines.append(f"novikoff_journal_bytes {house.journal_bytes()}")
        lines.append("# TYPE novikoff_disk_full gauge")
        lines.append(f"novikoff_disk_full {int(house.disk_is_full)}")
        return "\n".join(lines) + "\n"


def _of_models(house: House) -> list[tuple[str, str, list[tuple[str, int]]]]:
    models = house.models.values()
    found = [
        ("examples_total", "counter", [(served.name, served.ledger.examples) for served in models]),
        ("mistakes_total", "counter", [(served.name, served.ledger.mistakes) for served in models]),
        ("updates_total", "counter", [(served.name, served.ledger.updates) for served in models]),
        ("refused_total", "counter", [(served.name, served.refused) for served in models]),
    ]
    counted = [(house.streams[s.stream].champion.name, house.streams[s.stream].waiting.counted()) for s in models
               if s is house.champion_of(s)]  # fmt: skip
    for name in ("waiting", "labelled", "already_labelled", "changed_labels", "expired", "too_late", "unknown"):
        kind, ending = ("gauge", "") if name == "waiting" else ("counter", "_total")
        found.append((f"late_{name}{ending}", kind, [(model, getattr(counts, name)) for model, counts in counted]))
    return found


def _percentiles(latest: deque[float]) -> dict[str, float | None]:
    ordered = sorted(latest)
    if not ordered:
        return {"p50": None, "p99": None}
    return {f"p{p}": 1000 * ordered[min(len(ordered) - 1, len(ordered) * p // 100)] for p in (50, 99)}
