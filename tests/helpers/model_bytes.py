"""The content of a model but for its probabilities, which only the first pass of a run on one machine calibrates."""

from __future__ import annotations

from typing import Any

import numpy as np

from novikoff.base.internals import require_state, working_model_of
from novikoff.model_file import from_bytes, to_bytes


def without_calibration(model: Any) -> Any:
    """Return a copy of the model without the calibration of its probabilities."""
    copy = from_bytes(to_bytes(model), "copy")
    ledger = require_state(working_model_of(copy)).ledger
    ledger.book = ledger.book._replace(calibration=np.zeros(0))
    return copy


def to_bytes_without_calibration(model: Any) -> bytes:
    return to_bytes(without_calibration(model))
