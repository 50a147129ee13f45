"""Metrics of the server: counts and latencies of requests, for Prometheus and for the dashboard."""

from __future__ import annotations

import time
from collections import deque

from novikoff.server.http.client_limits import ConnectionLimit
from novikoff.server.http.middleware import LATENCY_BUCKETS_SECONDS, ConcurrencyLimit, RequestMetrics
from novikoff.server.http.schemas import Latency, ServerStatus
from novikoff.server.models.registry import ModelRegistry
from novikoff.server.ops.log_limits import LogRateLimit

TIMED_ROUTES = ("predict", "learn")
METRIC_HELP = {
    "requests_total": "Requests by route and status.",
    "request_seconds": "Time from the head of a request to the end of its response.",
    "examples_total": "Examples learned by the model.",
    "mistakes_total": "Mistakes of the model on the examples, before learning each of them.",
    "updates_total": "Updates of the model's weights.",
    "refused_total": "Examples refused by the learner.",
    "late_waiting": "Pending predictions.",
    "late_labelled_total": "Predictions that were labelled.",
    "late_already_labelled_total": "Labels that were sent again.",
    "late_changed_labels_total": "Labels refused because they differ from the first one.",
    "late_expired_total": "Predictions that expired without a label.",
    "late_too_late_total": "Labels of expired predictions.",
    "late_unknown_total": "Labels with an id that was never issued.",
    "predictions_total": "Predictions of all models.",
    "journal_bytes": "Size of the journal with its write-ahead log.",
    "disk_full": "1 while the journal can't be written.",
    "uptime_seconds": "Time since the server was started.",
    "log_lines_suppressed_total": "Log lines suppressed by the rate limit.",
    "client_requests_refused_total": "Requests refused because the client had too many in progress.",
    "client_connections_refused_total": "Connections refused because the client had too many.",
}


class Metrics:
    """The metrics of one server."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.http = RequestMetrics(TIMED_ROUTES)
        self.predicted = 0
        self._before = (time.monotonic(), 0, 0)
        self._limits: tuple[LogRateLimit, ConcurrencyLimit, ConnectionLimit] | None = None

    def watch(self, log: LogRateLimit, requests: ConcurrencyLimit, connections: ConnectionLimit) -> None:
        """Include the counts of these limits in the metrics."""
        self._limits = log, requests, connections

    def server(self, registry: ModelRegistry) -> ServerStatus:
        """Return the status for the dashboard: rates since the previous call, latencies of the latest requests."""
        now, learned = time.monotonic(), sum(served.ledger.examples for served in registry.models.values())
        then, learned_before, predicted_before = self._before
        self._before = now, learned, self.predicted
        span = max(now - then, 1e-9)
        predict, learn = (_compute_latency(self.http.latest[name]) for name in TIMED_ROUTES)
        return ServerStatus(
            learned_per_second=max(learned - learned_before, 0) / span,
            predicted_per_second=(self.predicted - predicted_before) / span,
            predict_ms=predict,
            learn_ms=learn,
            uptime=now - self.began,
            journal_bytes=registry.journal_bytes(),
            disk_full=registry.disk_is_full,
        )

    def text(self, registry: ModelRegistry) -> str:
        """Return all metrics in the text format of Prometheus, version 0.0.4."""
        lines = _format_header("requests_total", "counter")
        for (route, status), count in sorted(self.http.requests.items()):
            lines.append(f'novikoff_requests_total{{route="{route}",status="{status}"}} {count}')
        lines += _format_header("request_seconds", "histogram")
        for route, counts in sorted(self.http.buckets.items()):
            total = 0
            for index, most in enumerate((*map(str, LATENCY_BUCKETS_SECONDS), "+Inf")):
                total += counts[index]
                lines.append(f'novikoff_request_seconds_bucket{{route="{route}",le="{most}"}} {total}')
            lines.append(f'novikoff_request_seconds_sum{{route="{route}"}} {self.http.seconds[route]:.9g}')
            lines.append(f'novikoff_request_seconds_count{{route="{route}"}} {total}')
        for name, kind, values in _list_model_metrics(registry):
            lines += _format_header(name, kind)
            lines += [f'novikoff_{name}{{model="{_escape_label_value(model)}"}} {value}' for model, value in values]
        for name, kind, value in self._list_server_metrics(registry):
            lines += [*_format_header(name, kind), f"novikoff_{name} {value}"]
        return "\n".join(lines) + "\n"

    def _list_server_metrics(self, registry: ModelRegistry) -> list[tuple[str, str, float]]:
        found: list[tuple[str, str, float]] = [
            ("predictions_total", "counter", self.predicted),
            ("journal_bytes", "gauge", registry.journal_bytes()),
            ("disk_full", "gauge", int(registry.disk_is_full)),
            ("uptime_seconds", "gauge", time.monotonic() - self.began),
        ]
        if self._limits is not None:
            log, requests, connections = self._limits
            found += [
                ("log_lines_suppressed_total", "counter", log.suppressed),
                ("client_requests_refused_total", "counter", requests.refused),
                ("client_connections_refused_total", "counter", connections.refused),
            ]
        return found


def _list_model_metrics(registry: ModelRegistry) -> list[tuple[str, str, list[tuple[str, int]]]]:
    models = registry.models.values()
    found = [
        ("examples_total", "counter", [(served.name, served.ledger.examples) for served in models]),
        ("mistakes_total", "counter", [(served.name, served.ledger.mistakes) for served in models]),
        ("updates_total", "counter", [(served.name, served.ledger.updates) for served in models]),
        ("refused_total", "counter", [(served.name, served.refused) for served in models]),
    ]
    counted = [(stream.champion.name, stream.waiting.current_counts()) for stream in registry.streams.values()]
    for name in ("waiting", "labelled", "already_labelled", "changed_labels", "expired", "too_late", "unknown"):
        kind, ending = ("gauge", "") if name == "waiting" else ("counter", "_total")
        found.append((f"late_{name}{ending}", kind, [(model, getattr(counts, name)) for model, counts in counted]))
    return found


def _format_header(name: str, kind: str) -> list[str]:
    return [f"# HELP novikoff_{name} {METRIC_HELP[name]}", f"# TYPE novikoff_{name} {kind}"]


def _escape_label_value(value: str) -> str:
    """Escape a label value for the text format."""
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _compute_latency(latest: deque[float]) -> Latency:
    ordered = sorted(latest)
    if not ordered:
        return Latency()
    return Latency(*(1000 * ordered[min(len(ordered) - 1, len(ordered) * p // 100)] for p in (50, 99)))
