"""All limits of the server with their defaults: sizes, rates, time-outs and retention."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from novikoff.errors import InputError
from novikoff.memory_limit import default_memory


def _limit_field(default: int, option: str, sentence: str) -> int:
    return field(default=default, metadata={"sentence": sentence, "option": option})


def _own_option_field(sentence: str) -> int:
    """Return a field for a memory size, whose option the CLI defines; 0 stands for a share of the machine's memory."""
    return field(default=0, metadata={"sentence": sentence, "own_option": True})


DAY_SECONDS = 86_400
MODEL_MEMORY_FRACTION, SERVER_MEMORY_FRACTION = 0.25, 0.5
"""Shares of the memory. The rest is for copies: of growing arrays, and of a model while it is written to its file."""
MEMORY_SLACK_DIVISOR = 16
"""A journal entry may exceed the memory limit by 1/16, because admission only estimates its demand."""


@dataclass(frozen=True)
class Limits:
    """Limits of a server. Sizes are in bytes, times in seconds; a rate of 0 means unlimited."""

    body: int = _limit_field(8 << 20, "--max-body-bytes", "Size of a JSON body.")
    head: int = _limit_field(32 << 10, "--max-header-bytes", "Size of the head of a request.")
    upload: int = _limit_field(256 << 20, "--max-upload-bytes", "Size of an uploaded model file.")
    line: int = _limit_field(
        1 << 20, "--max-line-bytes", "Size of one line of a stream; the length of streams is unlimited."
    )
    examples: int = _limit_field(10_000, "--max-batch-examples", "Examples in one JSON body.")
    features: int = _limit_field(100_000, "--max-example-features", "Features of one example.")
    name: int = _limit_field(1_000, "--max-name-length", "Characters of a feature name or a label.")
    known_features: int = _limit_field(10_000_000, "--max-model-features", "Features of one model.")
    classes: int = _limit_field(100_000, "--max-classes", "Labels of one model.")
    models: int = _limit_field(100, "--max-models", "Models of the server.")
    pending: int = _limit_field(
        100_000,
        "--max-pending",
        "Pending predictions of one stream; above this number the oldest are dropped.",
    )
    pending_bytes: int = _limit_field(
        256 << 20, "--max-pending-bytes", "Size of the features of a stream's pending predictions."
    )
    pending_seconds: int = _limit_field(
        7 * 86_400, "--max-pending-seconds", "Time after which a pending prediction expires."
    )
    keys: int = _limit_field(1_000_000, "--max-idempotency-keys", "Stored idempotency keys of one stream.")
    keys_seconds: int = _limit_field(
        86_400, "--max-idempotency-seconds", "Time after which an idempotency key expires."
    )
    rate: int = _limit_field(
        0,
        "--max-requests-per-second",
        "Requests per second of one client: a token, or a network address without tokens.",
    )
    concurrent: int = _limit_field(512, "--max-concurrent-requests", "Concurrent requests.")
    client_requests: int = _limit_field(
        128,
        "--max-client-requests",
        "Concurrent requests of one client, including slow bodies and event streams; 0 for unlimited.",
    )
    client_connections: int = _limit_field(
        384, "--max-client-connections", "Open connections of one client; 0 for unlimited."
    )
    head_seconds: int = _limit_field(
        10, "--max-header-seconds", "Time in which the head of a request must arrive completely."
    )
    body_seconds: int = _limit_field(
        30, "--max-body-seconds", "Time in which the next part of a request body must arrive."
    )
    body_rate: int = _limit_field(
        256,
        "--min-body-bytes-per-second",
        "Minimum rate of JSON bodies and model files, in bytes per second; 0 for no minimum. Streams may be slower.",
    )
    body_rate_seconds: int = _limit_field(
        30, "--body-rate-grace-seconds", "Time after which the minimum rate of a body is enforced."
    )
    answer_seconds: int = _limit_field(
        30, "--max-response-seconds", "Time in which the client must read the next part of a response."
    )
    checkpoint_examples: int = _limit_field(
        1_000_000, "--checkpoint-examples", "A model is saved after this number of new examples."
    )
    checkpoint_seconds: int = _limit_field(
        60, "--checkpoint-seconds", "A model is saved this long after its first unsaved example."
    )
    log_lines: int = _limit_field(10, "--max-log-lines", "Log lines of one kind per second; 0 for unlimited.")
    retain_days: int = _limit_field(
        0,
        "--retain-days",
        "Days after which examples that are in a model's file are deleted from the journal, and pending predictions"
        " expire; 0 for never. Certificates need all examples.",
    )
    journal_bytes: int = _limit_field(
        0,
        "--max-journal-bytes",
        "Size of the journal above which the oldest examples that are in models' files are deleted; 0 for unlimited.",
    )
    housekeeping_ms: int = _limit_field(
        500, "--maintenance-interval-ms", "Milliseconds between checks for models to save and entries to delete."
    )
    model_memory: int = _own_option_field(
        "Memory limit of one model, such as 512M or 2G (default: a quarter of the machine's or control group's memory)."
    )
    server_memory: int = _own_option_field("Memory limit of all models together (default: half of the memory).")
    spare: int = _limit_field(
        32 << 20, "--min-free-disk-bytes", "Disk space that stays free; with less, learning is refused."
    )

    def __post_init__(self) -> None:
        for setting in fields(self):
            value = getattr(self, setting.name)
            if type(value) is not int or value < 0:
                raise InputError(f"{setting.name} must be an integer of at least 0, got {value!r}.")

    @cached_property
    def max_model_bytes(self) -> int:
        return self.model_memory or min(default_memory(MODEL_MEMORY_FRACTION), self.max_server_bytes)

    @cached_property
    def max_server_bytes(self) -> int:
        return self.server_memory or default_memory(SERVER_MEMORY_FRACTION)

    @classmethod
    def given(cls, settings: dict[str, Any]) -> Limits:
        """Create limits from settings by name; None and missing settings mean the default."""
        known = {setting.name for setting in fields(cls)}
        chosen = {name: value for name, value in settings.items() if name in known and value is not None}
        if chosen.get("retain_days"):  # pending predictions are client data, too
            chosen["pending_seconds"] = min(
                chosen.get("pending_seconds", cls.pending_seconds), chosen["retain_days"] * DAY_SECONDS
            )
        return cls(**chosen)
