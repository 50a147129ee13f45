"""Read files into plain lists, so that two readings can be compared bit by bit."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from novikoff.data.reader import DataReader, ReadOptions
from novikoff.data.rows import Dense


def read_files(*paths: Path | str, **options: Any) -> dict[str, Any]:
    """Return everything that a learner could see of these files, in plain lists."""
    return collect_batches(DataReader([str(p) for p in paths], ReadOptions(**options)))


def collect_batches(reading: DataReader) -> dict[str, Any]:
    """Return everything that a learner could see of a reading, in plain lists."""
    out: dict[str, Any] = {"rows": [], "labels": [], "weights": [], "groups": [], "sets": [], "where": []}
    features = 0
    for batch in reading.batches():
        parsed = batch.parsed
        rows, features = batch.rows, max(features, batch.features)
        for i in range(len(batch)):
            if isinstance(rows, Dense):
                out["rows"].append(("dense", rows.values[i * rows.width : (i + 1) * rows.width].tobytes()))
            else:
                a, b = int(rows.starts[i]), int(rows.starts[i + 1])
                out["rows"].append((rows.indices[a:b].tolist(), rows.values[a:b].tobytes()))
            out["where"].append(batch.get_location(i))
            out["labels"].append(_label(parsed, i))
        out["weights"] += parsed.weights.tolist() if len(parsed.weights) else [1.0] * len(batch)
        out["groups"] += [] if parsed.groups is None else parsed.groups.tolist()
        if parsed.sets is not None:
            starts, values = parsed.sets
            out["sets"] += [values[a:b].tolist() for a, b in pairwise(starts)]
    out["features"] = features
    out["bad"] = dict(reading.bad)
    out["names"] = None if reading.names is None else list(reading.names.columns)
    return out


def _label(parsed: Any, i: int) -> Any:
    """Return a numeric label as a number, even if it is not a valid class."""
    if parsed.numbers is None:
        return parsed.label(i)
    value = float(parsed.numbers[i])
    return None if np.isnan(value) else value


def to_terms(row: Any) -> dict[int, float]:
    """Return column → value of a sparse row."""
    indices, values = row
    return dict(zip(indices, np.frombuffer(values, np.float32).tolist(), strict=True))
