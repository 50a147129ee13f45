"""Pending predictions: predictions that are kept until their labels arrive.

The id of a prediction contains the stream, the time, and a keyed digest of both. So the server can distinguish ids that
it has issued from forged ones, even after it has dropped the prediction.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import struct
import time
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from novikoff.server.http.schemas import PendingCounts
from novikoff.server.ops import clock
from novikoff.server.ops.limits import Limits
from novikoff.server.storage.attribution import CURRENT_CLIENT

ID_LAYOUT = struct.Struct(">IQ")
SIGNATURE_BYTES = 8
URL_SAFE = bytes.maketrans(b"+/", b"-_")


class SignedIds:
    """Creates and verifies ids of predictions."""

    def __init__(self, key: bytes) -> None:
        self._keyed = blake2b(key=key, digest_size=SIGNATURE_BYTES)
        self.latest = 0

    def make(self, stream: int) -> str:
        self.latest = max(self.latest + 1, time.time_ns())
        return self._sign(ID_LAYOUT.pack(stream, self.latest)).decode()

    def parse_stream(self, text: str) -> int | None:
        """Return the stream of an id; None for an id that this server has never issued."""
        try:
            encoded = text.encode("ascii")
            payload = base64.urlsafe_b64decode(encoded + b"=" * (-len(encoded) % 4))[: ID_LAYOUT.size]
            stream: int = ID_LAYOUT.unpack(payload)[0]
        except (ValueError, binascii.Error, struct.error):
            return None
        # Compare as text: base64 decodes several texts to the same bytes, and only one of them was issued.
        return stream if hmac.compare_digest(self._sign(payload), encoded) else None

    def _sign(self, payload: bytes) -> bytes:
        keyed = self._keyed.copy()
        keyed.update(payload)
        return binascii.b2a_base64(payload + keyed.digest(), newline=False).translate(URL_SAFE, b"=")


class PendingPrediction(NamedTuple):
    time: float
    features: bytes
    """As JSON."""
    client: str | None = None
    """The id of the token that asked for the prediction."""


class LabelledPrediction(NamedTuple):
    """A prediction that was labelled."""

    time: float
    """Time of the prediction."""
    label: Any


class LateLabelError(Exception):
    """A late label that can't be learned."""

    def __init__(self, status: int, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.code = status, code


class PendingPredictions:
    """The pending predictions of one stream, and the labels of the latest ones that were labelled."""

    def __init__(
        self, stream: int, ids: SignedIds, limits: Limits, look_up: Callable[[str], LabelledPrediction | None]
    ) -> None:
        """Create an empty collection. `look_up` finds older labelled predictions in the journal."""
        self.stream, self.ids, self.limits = stream, ids, limits
        self._look_up = look_up
        self.kept: dict[str, PendingPrediction] = {}
        self._claimed: set[str] = set()
        """Ids of predictions whose labels are being written to the journal."""
        self.rows: dict[str, int] = {}
        """The numbers of the rows of the journal that they are in."""
        self._left: dict[int, int] = {}
        self.empty: list[int] = []
        """Journal rows without pending predictions."""
        self.answered: dict[str, LabelledPrediction] = {}
        """The latest labelled predictions. Their labels are durable or being written."""
        self.bytes = 0
        """Size of the kept features."""
        self.counts = PendingCounts()

    def keep(self, features: Any, now: float) -> tuple[str, PendingPrediction]:
        kept = PendingPrediction(now, msgspec.json.encode(features), CURRENT_CLIENT.get())
        prediction_id = self.ids.make(self.stream)
        self.put(prediction_id, kept)
        return prediction_id, kept

    def put(self, prediction_id: str, kept: PendingPrediction) -> None:
        self.kept[prediction_id] = kept
        self.bytes += len(kept.features)

    def needs(self, prediction_id: str) -> bool:
        """Return whether a prediction must stay in the journal: it is pending, or its label may yet be rejected."""
        return prediction_id in self.kept or prediction_id in self._claimed

    def record_row(self, row: int, prediction_ids: Iterable[str]) -> None:
        """Record the journal row of these predictions."""
        needed = [prediction_id for prediction_id in prediction_ids if self.needs(prediction_id)]
        self.rows |= dict.fromkeys(needed, row)
        if needed:
            self._left[row] = len(needed)
        else:
            self.empty.append(row)

    def _pop_pending(self, prediction_id: str) -> PendingPrediction | None:
        kept = self.kept.pop(prediction_id, None)
        self.bytes -= 0 if kept is None else len(kept.features)
        return kept

    def _remove_from_row(self, prediction_id: str) -> None:
        row = self.rows.pop(prediction_id, None)
        if row is not None:
            self._left[row] -= 1
            if self._left[row] == 0:
                del self._left[row]
                self.empty.append(row)

    def claim(self, prediction_id: str, label: Any) -> PendingPrediction | None:
        """Take a prediction to learn it with this label, or return None if that label was learned already.

        Raise LateLabelError if the label can't be learned. The caller must `settle` or `release` the prediction.
        """
        if self.ids.parse_stream(prediction_id) != self.stream:
            self.counts.unknown += 1
            raise LateLabelError(404, "unknown-id", "The id does not belong to a prediction of this model.")
        answered = self._find_answer(prediction_id)
        if answered is not None:
            before = answered.label
            if before == label and type(before) is type(label):
                self.counts.already_labelled += 1
                return None
            self.counts.changed_labels += 1
            raise LateLabelError(
                409, "label-changed", f"The prediction was already labelled {before!r}. A label can't be changed."
            )
        kept = self._pop_pending(prediction_id)
        if kept is None or self._is_old(kept.time):
            self._remove_from_row(prediction_id)
            self.counts.too_late += 1
            raise LateLabelError(
                410, "expired-id", "The prediction has expired. Send its features together with the label instead."
            )
        self.answered[prediction_id] = LabelledPrediction(kept.time, label)
        self._claimed.add(prediction_id)
        return kept

    def _find_answer(self, prediction_id: str) -> LabelledPrediction | None:
        if prediction_id in self.kept or prediction_id in self.answered:
            return self.answered.get(prediction_id)
        found = self._look_up(prediction_id)
        return None if found is None or self._is_old(found.time) else found

    def _is_old(self, moment: float) -> bool:
        return clock.now() - moment > self.limits.pending_seconds

    def settle(self, prediction_id: str) -> None:
        """Make the label of a claimed prediction final."""
        self._claimed.discard(prediction_id)
        self._remove_from_row(prediction_id)

    def release(self, prediction_id: str, kept: PendingPrediction) -> None:
        """Make a claimed prediction pending again, because its label could not be learned."""
        self._claimed.discard(prediction_id)
        self.answered.pop(prediction_id, None)
        self.put(prediction_id, kept)

    def trim(self, now: float) -> None:
        """Drop predictions and labels that are too old or above the limits."""
        too_old, most = now - self.limits.pending_seconds, self.limits.pending
        while self.kept:
            prediction_id, kept = next(iter(self.kept.items()))
            if len(self.kept) <= most and self.bytes <= self.limits.pending_bytes and kept.time >= too_old:
                break
            self._pop_pending(prediction_id)
            self._remove_from_row(prediction_id)
            self.counts.expired += 1
        while self.answered:
            prediction_id, answer = next(iter(self.answered.items()))
            if len(self.answered) <= most and answer.time >= too_old:
                break
            del self.answered[prediction_id]  # the journal keeps it until it expires

    def current_counts(self) -> PendingCounts:
        return msgspec.structs.replace(self.counts, waiting=len(self.kept))
