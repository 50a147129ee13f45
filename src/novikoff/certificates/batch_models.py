"""Certificates of batch models, which verification checks by fitting the model again.

The certificate holds the data source, the settings and the guarantee that the model declares. Fitting again gives the
same bytes, so `verify` needs only the data and the settings.
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
    """Fit an unfitted model to the source; return the certificate's document."""
    from novikoff.model_file import to_bytes

    source.solve(model)
    content = to_bytes(model)
    observed, bounds, new = build_guarantee(model, delta)
    found = {
        "certificate": CERTIFICATE_FORMAT,
        "novikoff": __version__,
        "data": source.describe(),
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
    )  # as a reader of the file gets it
    return plain
