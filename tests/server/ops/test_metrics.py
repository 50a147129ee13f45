"""The metrics of a server are valid for Prometheus' own parser."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

pytest.importorskip("msgspec", reason="the service is an extra: novikoff[serve]")
pytest.importorskip("prometheus_client", reason="prometheus-client is a dependency of dev")

from prometheus_client import parser

from novikoff.server.http.routes import METRICS_TEXT
from novikoff.server.ops import metrics
from tests.helpers.server.process import ForkServer, run_server

Sample = tuple[str, tuple[tuple[str, str], ...]]


def test_prometheus_reads_every_number_with_its_type_and_help(fork_server: ForkServer, tmp_path: Path) -> None:
    with run_server(fork_server, tmp_path / "data") as server:
        server.make("m.1-a_b")
        server.make("n", challenges="m.1-a_b")
        for k in range(12):
            server.learn({f"a{k % 3}": 1.0}, ("x", "y")[k % 2], "m.1-a_b")
        for _ in range(5):
            server.predict({"a1": 1.0}, "m.1-a_b")
        assert server.ask("POST", "/v1/models/n/learn", b"{")[0] in (400, 409)
        server.connection.request("GET", "/metrics")
        answer = server.connection.getresponse()
        text = answer.read().decode()
    assert answer.getheader("content-type") == METRICS_TEXT
    families = {family.name: family for family in parser.text_string_to_metric_families(text)}
    assert all(family.documentation for family in families.values())
    kinds = {name: family.type for name, family in families.items()}
    assert {"counter", "gauge", "histogram"} == set(kinds.values())
    assert kinds["novikoff_request_seconds"] == "histogram"
    assert kinds["novikoff_late_waiting"] == "gauge"
    samples: dict[Sample, float] = {}
    for family in families.values():
        for sample in family.samples:
            name = sample.name, tuple(sorted(sample.labels.items()))
            assert name not in samples, "a number comes twice"
            samples[name] = sample.value
    model = (("model", "m.1-a_b"),)
    assert samples["novikoff_examples_total", model] == 12
    assert samples["novikoff_late_waiting", model] == 5
    assert samples["novikoff_predictions_total", ()] == 5
    assert samples["novikoff_requests_total", (("route", "predict"), ("status", "200"))] == 5
    learn = [(name, labels, value) for (name, labels), value in samples.items() if ("route", "learn") in labels]
    buckets = {float(dict(labels)["le"]): value for name, labels, value in learn if name.endswith("_bucket")}
    assert list(buckets.values()) == sorted(buckets.values())  # each bucket has those below it
    assert buckets[math.inf] == samples["novikoff_request_seconds_count", (("route", "learn"),)] == 13
    assert samples["novikoff_request_seconds_sum", (("route", "learn"),)] > 0
    assert samples["novikoff_uptime_seconds", ()] > 0


def test_prometheus_reads_any_label_value() -> None:
    for value in ("plain", 'a "quoted" one', "back\\slash", "two\nlines", '\\"', "γ"):
        text = f'# TYPE x gauge\nx{{model="{metrics._escape_label_value(value)}"}} 1\n'
        [family] = parser.text_string_to_metric_families(text)
        assert family.samples[0].labels == {"model": value}
