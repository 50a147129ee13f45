"""Predictions that wait for their labels.

The id of a prediction is signed: which stream, when, and a keyed digest of both. So an id that was given out once is
known from one that never was, also when nothing else is remembered of it.
"""

from __future__ import annotations

import base64
import binascii
import struct
import time
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from novikoff.service.limits import Limits
from novikoff.service.protocol import Pending

LAYOUT = struct.Struct(">IQ")
SIGNATURE = 8


class Ids:
    def __init__(self, key: bytes) -> None:
        self.key = key
        self.latest = 0

    def make(self, stream: int) -> str:
        self.latest = max(self.latest + 1, time.time_ns())
        said = LAYOUT.pack(stream, self.latest)
        return base64.urlsafe_b64encode(said + self._signed(said)).decode().rstrip("=")

    def stream_of(self, text: str) -> int | None:
        """None where we never gave out such an id."""
        try:
            content = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
            said, signature = content[: LAYOUT.size], content[LAYOUT.size :]
            stream: int = LAYOUT.unpack(said)[0]
        except (ValueError, binascii.Error, struct.error):
            return None
        return stream if signature == self._signed(said) else None

    def _signed(self, said: bytes) -> bytes:
        return blake2b(said, key=self.key, digest_size=SIGNATURE).digest()


class Kept(NamedTuple):
    time: float
    features: bytes
    """As JSON."""


class Unlabelled(Exception):
    """A late label that can't be learned: the status says why."""

    def __init__(self, status: int, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.code = status, code


class Waiting:
    """Those of one stream."""

    def __init__(self, stream: int, ids: Ids, limits: Limits) -> None:
        self.stream, self.ids, self.limits = stream, ids, limits
        self.kept: dict[str, Kept] = {}
        self.answered: dict[str, tuple[float, Any]] = {}
        """When, and with what label; the label is known to be safe or about to be."""
        self.bytes = 0
        """Of the features that are kept."""
        self.counts = Pending()

    def keep(self, features: Any, now: float) -> tuple[str, Kept]:
        name, kept = self.ids.make(self.stream), Kept(now, msgspec.json.encode(features))
        self.put(name, kept)
        return name, kept

    def put(self, name: str, kept: Kept) -> None:
        self.kept[name] = kept
        self.bytes += len(kept.features)

    def _take(self, name: str) -> Kept | None:
        kept = self.kept.pop(name, None)
        self.bytes -= 0 if kept is None else len(kept.features)
        return kept

    def claim(self, name: str, label: Any) -> Kept | None:
        """What is to be learned with this label; None where it was learned before. Raises `Unlabelled`."""
        if self.ids.stream_of(name) != self.stream:
            self.counts.unknown += 1
            raise Unlabelled(404, "unknown-id", "This id was never given out for a prediction of this model.")
        if name in self.answered:
            before = self.answered[name][1]
            if before == label and type(before) is type(label):
                self.counts.already_labelled += 1
                return None
            self.counts.changed_labels += 1
            raise Unlabelled(
                409, "label-changed", f"This prediction was labelled {before!r} before: a label can't be taken back."
            )
        kept = self._take(name)
        if kept is None or time.time() - kept.time > self.limits.pending_seconds:
            self.counts.too_late += 1
            raise Unlabelled(
                410, "expired-id", "This prediction no longer waits for its label: send its features with the label."
            )
        self.answered[name] = kept.time, label
        return kept

    def release(self, name: str, kept: Kept) -> None:
        """The label could not be written: it may come again."""
        self.answered.pop(name, None)
        self.put(name, kept)

    def outdated(self, now: float) -> Iterator[str]:
        """Removes those that have waited too long, or are too many, and gives their ids."""
        too_old, most = now - self.limits.pending_seconds, self.limits.pending
        while self.kept:
            name, kept = next(iter(self.kept.items()))
            if len(self.kept) <= most and self.bytes <= self.limits.pending_bytes and kept.time >= too_old:
                break
            self._take(name)
            self.counts.expired += 1
            yield name
        while self.answered:
            name, (moment, _) = next(iter(self.answered.items()))
            if len(self.answered) <= most and moment >= too_old:
                break
            del self.answered[name]
            yield name

    def counted(self) -> Pending:
        return msgspec.structs.replace(self.counts, waiting=len(self.kept))
