"""Certificates of models that solve a problem for all data at once: there is no run to replay, so it is solved anew.

Such a model declares what is shown of it; a certificate is that, and what it was made from. Solving anew gives the same
bytes, and so `verify` needs nothing but the data and the settings.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from novikoff import __version__
from novikoff.base.internals import plain_settings_of
from novikoff.certificates.data_source import DataSource
from novikoff.certificates.serialization import CERTIFICATE_FORMAT
from novikoff.learner_registry import name_of
from novikoff.meta.batch_estimator import BatchEstimator
from novikoff.meta.internals import build_guarantee


def build_batch_document(model: BatchEstimator, source: DataSource, delta: float) -> dict[str, Any]:
    """Of a fresh model, which then has learned."""
    from novikoff.model_file import to_bytes

    source.solve(model)
    content = to_bytes(model)
    observed, bounds, new = build_guarantee(model, delta)
    found = {
        "certificate": CERTIFICATE_FORMAT,
        "novikoff": __version__,
        "data": source.about(),
        "learner": name_of(type(model)),
        "settings": plain_settings_of(model),
        "passes": 1,
        "labels": list(getattr(model, "classes_", ())),
        "model": hashlib.sha256(content).hexdigest(),
        "observed": observed,
        "bounds": bounds,
        "target": {},
        "new_data": new,
        "witnesses": {},
    }
    plain: dict[str, Any] = json.loads(
        json.dumps(found, default=lambda value: value.item())
    )  # as it will be read again
    return plain
