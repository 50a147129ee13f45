"""Every bound of the service, with its default: what a request may ask for, and what is kept how long."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from novikoff.errors import InputError
from novikoff.memory_limit import default_memory


def _limit_field(default: int, sentence: str) -> int:
    return field(default=default, metadata={"sentence": sentence})


def _named_option_field(default: int, option: str, former: str, sentence: str) -> int:
    """A limit with an option of its own; the `former` one is still understood."""
    return field(default=default, metadata={"sentence": sentence, "options": (option, former)})


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

    body: int = _limit_field(8 << 20, "Of one JSON body.")
    head: int = _limit_field(32 << 10, "Of the head of a request.")
    upload: int = _limit_field(256 << 20, "Of a model file.")
    line: int = _limit_field(1 << 20, "Of one line of a stream; streams themselves may be of any length.")
    examples: int = _limit_field(10_000, "In one JSON body.")
    features: int = _limit_field(100_000, "In one example.")
    name: int = _limit_field(1_000, "Characters in the name of a feature or in a label.")
    known_features: int = _limit_field(10_000_000, "Different features in one model.")
    classes: int = _limit_field(100_000, "Different labels in one model.")
    models: int = _limit_field(100, "In one server.")
    pending: int = _limit_field(
        100_000, "Predictions that wait for their labels, in one stream: beyond that the oldest are forgotten."
    )
    pending_bytes: int = _limit_field(256 << 20, "Bytes of their features.")
    pending_seconds: int = _limit_field(7 * 86_400, "How long a prediction waits for its label.")
    keys: int = _limit_field(1_000_000, "Idempotency keys that are remembered, in one stream.")
    keys_seconds: int = _limit_field(86_400, "How long they are.")
    rate: int = _limit_field(0, "Requests a second of one client: a token, or an address where there are no tokens.")
    concurrent: int = _limit_field(512, "Requests at the same time.")
    client_requests: int = _limit_field(
        128, "Requests of one client at the same time, slow bodies and event streams included; 0 without end."
    )
    client_connections: int = _limit_field(384, "Open connections of one client; 0 without end.")
    head_seconds: int = _limit_field(10, "How long a client may take for the head of a request.")
    body_seconds: int = _limit_field(30, "How long it may take for the next piece of a body.")
    body_rate: int = _limit_field(
        256, "Bytes a second at which JSON and model files must arrive; streams of lines may be slower; 0 for any rate."
    )
    body_rate_seconds: int = _limit_field(30, "How long a body may take before that rate is asked for.")
    answer_seconds: int = _limit_field(30, "How long it may take to fetch the next piece of an answer.")
    checkpoint_examples: int = _limit_field(1_000_000, "A model is written to the disk after so many examples …")
    checkpoint_seconds: int = _limit_field(60, "… or so long after the first that is not in its file.")
    log_lines: int = _limit_field(10, "Lines of one kind that the log takes in a second; 0 without end.")
    retain_days: int = _named_option_field(
        0,
        "--retain-days",
        "--limit-journal-days",
        "Days that examples stay in the journal once they are in a model's file, and predictions wait for labels at"
        " most; 0 for ever: certificates need all examples.",
    )
    journal_bytes: int = _limit_field(
        0,
        "How large the journal may grow before the oldest examples that are in models' files leave it; 0 without end.",
    )
    housekeeping_ms: int = _limit_field(
        500, "Milliseconds between looks at what is to be saved or to leave the journal."
    )
    model_memory: int = _own_option_field(
        "Memory that one model may take, such as 512M or 2G (default: a quarter of the machine's or control group's)."
    )
    server_memory: int = _own_option_field("Memory that all models may take (default: half of it).")
    spare: int = _limit_field(32 << 20, "Disk that is left free: with less, learning is refused.")

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
