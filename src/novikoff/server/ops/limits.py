"""Every bound of the service, with its default: what a request may ask for, and what is kept how long."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from novikoff.errors import InputError
from novikoff.memory_limit import default_memory


def _limit_field(default: int, option: str, sentence: str) -> int:
    return field(default=default, metadata={"sentence": sentence, "option": option})


def _own_option_field(sentence: str) -> int:
    """A size with an option of its own, --max-…; 0 stands for a share of the machine's memory."""
    return field(default=0, metadata={"sentence": sentence, "own_option": True})


DAY_SECONDS = 86_400
MODEL_MEMORY_FRACTION, SERVER_MEMORY_FRACTION = 0.25, 0.5
"""Of the memory. The rest is for copies: of arrays that grow, and of a model while it is written to its file."""
MEMORY_SLACK_DIVISOR = 16
"""An entry of the journal may exceed the limit by this part: admission estimates what it will need."""


@dataclass(frozen=True)
class Limits:
    """Sizes are in bytes, times in seconds; a rate of 0 is no limit."""

    body: int = _limit_field(8 << 20, "--max-body-bytes", "Of one JSON body.")
    head: int = _limit_field(32 << 10, "--max-header-bytes", "Of the head of a request.")
    upload: int = _limit_field(256 << 20, "--max-upload-bytes", "Of a model file.")
    line: int = _limit_field(
        1 << 20, "--max-line-bytes", "Of one line of a stream; streams themselves may be of any length."
    )
    examples: int = _limit_field(10_000, "--max-batch-examples", "In one JSON body.")
    features: int = _limit_field(100_000, "--max-example-features", "In one example.")
    name: int = _limit_field(1_000, "--max-name-length", "Characters in the name of a feature or in a label.")
    known_features: int = _limit_field(10_000_000, "--max-model-features", "Different features in one model.")
    classes: int = _limit_field(100_000, "--max-classes", "Different labels in one model.")
    models: int = _limit_field(100, "--max-models", "In one server.")
    pending: int = _limit_field(
        100_000,
        "--max-pending",
        "Predictions that wait for their labels, in one stream: beyond that the oldest are forgotten.",
    )
    pending_bytes: int = _limit_field(256 << 20, "--max-pending-bytes", "Bytes of their features.")
    pending_seconds: int = _limit_field(
        7 * 86_400, "--max-pending-seconds", "How long a prediction waits for its label."
    )
    keys: int = _limit_field(
        1_000_000, "--max-idempotency-keys", "Idempotency keys that are remembered, in one stream."
    )
    keys_seconds: int = _limit_field(86_400, "--max-idempotency-seconds", "How long they are.")
    rate: int = _limit_field(
        0,
        "--max-requests-per-second",
        "Requests a second of one client: a token, or an address where there are no tokens.",
    )
    concurrent: int = _limit_field(512, "--max-concurrent-requests", "Requests at the same time.")
    client_requests: int = _limit_field(
        128,
        "--max-client-requests",
        "Requests of one client at the same time, slow bodies and event streams included; 0 without end.",
    )
    client_connections: int = _limit_field(
        384, "--max-client-connections", "Open connections of one client; 0 without end."
    )
    head_seconds: int = _limit_field(
        10, "--max-header-seconds", "How long a client may take for the head of a request."
    )
    body_seconds: int = _limit_field(30, "--max-body-seconds", "How long it may take for the next piece of a body.")
    body_rate: int = _limit_field(
        256,
        "--min-body-bytes-per-second",
        "Bytes a second at which JSON and model files must arrive; streams of lines may be slower; 0 for any rate.",
    )
    body_rate_seconds: int = _limit_field(
        30, "--body-rate-grace-seconds", "How long a body may take before that rate is asked for."
    )
    answer_seconds: int = _limit_field(
        30, "--max-response-seconds", "How long it may take to fetch the next piece of an answer."
    )
    checkpoint_examples: int = _limit_field(
        1_000_000, "--checkpoint-examples", "A model is written to the disk after so many examples …"
    )
    checkpoint_seconds: int = _limit_field(
        60, "--checkpoint-seconds", "… or so long after the first that is not in its file."
    )
    log_lines: int = _limit_field(
        10, "--max-log-lines", "Lines of one kind that the log takes in a second; 0 without end."
    )
    retain_days: int = _limit_field(
        0,
        "--retain-days",
        "Days that examples stay in the journal once they are in a model's file, and predictions wait for labels at"
        " most; 0 for ever: certificates need all examples.",
    )
    journal_bytes: int = _limit_field(
        0,
        "--max-journal-bytes",
        "How large the journal may grow before the oldest examples that are in models' files leave it; 0 without end.",
    )
    housekeeping_ms: int = _limit_field(
        500, "--maintenance-interval-ms", "Milliseconds between looks at what is to be saved or to leave the journal."
    )
    model_memory: int = _own_option_field(
        "Memory that one model may take, such as 512M or 2G (default: a quarter of the machine's or control group's)."
    )
    server_memory: int = _own_option_field("Memory that all models may take (default: half of it).")
    spare: int = _limit_field(
        32 << 20, "--min-free-disk-bytes", "Disk that is left free: with less, learning is refused."
    )

    def __post_init__(self) -> None:
        for setting in fields(self):
            value = getattr(self, setting.name)
            if type(value) is not int or value < 0:
                raise InputError(f"{setting.name} must be a whole number of at least 0, but is {value!r}.")

    @cached_property
    def max_model_bytes(self) -> int:
        return self.model_memory or min(default_memory(MODEL_MEMORY_FRACTION), self.max_server_bytes)

    @cached_property
    def max_server_bytes(self) -> int:
        return self.server_memory or default_memory(SERVER_MEMORY_FRACTION)

    @classmethod
    def given(cls, settings: dict[str, Any]) -> Limits:
        """From settings of which some may not have been given."""
        known = {setting.name for setting in fields(cls)}
        chosen = {name: value for name, value in settings.items() if name in known and value is not None}
        if chosen.get("retain_days"):  # what waits for a label is data of clients as well
            chosen["pending_seconds"] = min(
                chosen.get("pending_seconds", cls.pending_seconds), chosen["retain_days"] * DAY_SECONDS
            )
        return cls(**chosen)
