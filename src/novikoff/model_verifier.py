"""Verification of model files before compiled code uses their content.

A file with a correct checksum may still be forged. This module checks the header field by field, and the arrays
against the schemas beside each state (`schema.py`). A verified model can predict, learn, be saved and be certified
without reading or writing outside its arrays.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from novikoff import ledger
from novikoff._compiled.lazy_numpy import NDArray
from novikoff.base import internals
from novikoff.base.class_weights import BALANCED, class_weight_of
from novikoff.base.decision_threshold import DecisionThreshold
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.base.probabilities import probability_type_of
from novikoff.core import feature_sample
from novikoff.core.calibration import CALIBRATION_SCHEMA
from novikoff.core.class_weights import CLASS_COUNTS_SCHEMA
from novikoff.data.labels.binary_labels import ONE, SEVERAL, UNSEEN
from novikoff.data.shuffle.permutation import ALGORITHM, MAX_SEED
from novikoff.meta.batch_estimator import BatchEstimator
from novikoff.meta.internals import check_header, file_schemas_of
from novikoff.schema import (
    MAX_COUNT,
    SchemaError,
    check_dict,
    check_int,
    check_list,
    check_names,
    check_text,
    shorten,
    verify_arrays,
)
from novikoff.scheme_registry import model_class

MAX_FEATURES = 2**31
INT64_RANGE = range(-(2**63), 2**63)
"""Range of integer labels, which are stored as int64."""
MAX_JSON_DEPTH = 100
"""Maximum nesting of lists and objects in a header."""
MAX_ENSEMBLE_DEPTH = 8
"""Maximum nesting of ensembles."""
PRECISIONS = ("float32", "float64")
REST_VALUES = ("", UNSEEN, ONE, SEVERAL)
Tensors = Mapping[str, NDArray[Any]]
HOLDOUT_RULES = ("random", "time", "column")


class VerifiedHeader(NamedTuple):
    """Header fields of a run, each of its type and in its range."""

    precision: str
    features: int
    labels: Any
    names: list[str] | None
    slot_names: dict[int, str] | None
    reading: dict[str, Any] | None
    encoding: Any
    shuffle: dict[str, Any] | None
    holdout: dict[str, Any] | None
    threshold: DecisionThreshold | None


# --- The header ---


def check_depth(value: Any) -> None:
    """Raise SchemaError where lists and objects are nested deeper than in any file that novikoff writes."""
    waiting = [(value, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > MAX_JSON_DEPTH:
            raise SchemaError("the header", f"nested at most {MAX_JSON_DEPTH} deep", "deeper")
        if isinstance(one, dict | list):
            waiting += [(part, depth + 1) for part in (one.values() if isinstance(one, dict) else one)]


def build_model(header: dict[str, Any]) -> Any:
    """Return an unfitted model with the settings of a header; raise InputError for an unknown learner or setting."""
    name, settings = check_text("learner", header.get("learner")), check_dict("settings", header.get("settings"))
    model_type = model_class(name)
    if model_type is None:
        raise SchemaError("learner", "one that this novikoff knows (use the one that wrote the file)", shorten(name))
    unknown = set(settings) - set(internals.setting_defaults_of(model_type))
    if unknown:
        raise SchemaError("settings", f"those of {name}", f"with {shorten(sorted(unknown)[0])}")
    model = internals.build_from_settings(model_type, settings)
    internals.check_settings(model)
    return model


def check_features(header: dict[str, Any]) -> int:
    return check_int("features", header.get("features"), 0, MAX_FEATURES)


def check_precision(header: dict[str, Any]) -> str:
    precision = check_text("precision", header.get("precision"))
    if precision not in PRECISIONS:
        raise SchemaError("precision", " or ".join(PRECISIONS), shorten(precision))
    return precision


def check_labels(listed: Any, *, optional: bool) -> list[Any]:
    """Return the labels of a file: distinct integers, texts and Booleans; None where `optional`."""
    labels = check_list("labels", listed)
    known = [label for label in labels if not (optional and label is None)]
    for label in known:
        if not isinstance(label, str) and not (isinstance(label, int) and label in INT64_RANGE):
            raise SchemaError("each label", "a whole number, a text or a truth value", shorten(label))
    if len(set(known)) != len(known):
        raise SchemaError("labels", "distinct", shorten(known))
    return labels


def check_reading(header: dict[str, Any], features: int) -> tuple[dict[str, Any] | None, Any]:
    """Return the read options of the training data, and the encoding that follows from them, or None."""
    if header.get("reading") is None:
        return None, None
    reading = check_dict("reading", header["reading"])
    if "format" not in reading:
        return reading, None
    from novikoff.data import formats
    from novikoff.data.raw.encoding import Encoding

    if check_text("the format of reading", reading["format"]) not in formats.FORMAT_CLASSES:
        raise SchemaError(
            "the format of reading", f"one of {', '.join(formats.FORMAT_CLASSES)}", shorten(reading["format"])
        )
    for name in ("feature_map", "encoding"):
        if reading.get(name) is not None:
            check_text(f"the {name} of reading", reading[name])
    if reading.get("feature_map_bits") is not None:
        check_int("the feature_map_bits of reading", reading["feature_map_bits"], 1, 31)
    encoding = Encoding(reading)
    encoding.check(features)
    return reading, encoding


def check_shuffle(header: dict[str, Any]) -> dict[str, Any] | None:
    if header.get("shuffle") is None:
        return None
    shuffle = check_dict("shuffle", header["shuffle"])
    if set(shuffle) != {"algorithm", "random_state", "rows"} or shuffle["algorithm"] != ALGORITHM:
        raise SchemaError("shuffle", f"a record of {ALGORITHM} with random_state and rows", shorten(shuffle))
    check_int("the random_state of shuffle", shuffle["random_state"], 0, MAX_SEED)
    check_int("the rows of shuffle", shuffle["rows"], 0, MAX_COUNT)
    return shuffle


def check_holdout(header: dict[str, Any]) -> dict[str, Any] | None:
    if header.get("holdout") is None:
        return None
    holdout = check_dict("holdout", header["holdout"])
    fields = {"by", "share"} | {"column"} & holdout.keys() | {"random_state"} & holdout.keys()
    if set(holdout) != fields or holdout["by"] not in HOLDOUT_RULES:
        raise SchemaError("holdout", f"a record of by ({', '.join(HOLDOUT_RULES)}) and share", shorten(holdout))
    share = holdout["share"]
    if not isinstance(share, float) or not 0.0 < share < 1.0:
        raise SchemaError("the share of holdout", "a number between 0 and 1", shorten(share))
    if "column" in holdout:
        check_text("the column of holdout", holdout["column"])
    check_int("the random_state of holdout", holdout.get("random_state", 0), 0, MAX_SEED)
    return holdout


def check_threshold(model: OnlineClassifier, header: dict[str, Any], tensors: Tensors) -> DecisionThreshold | None:
    if header.get("threshold") is None:
        return None
    if not internals.decides_by_score(model):
        raise SchemaError("threshold", "left out of a model that does not decide by one score", "there")
    found = check_dict("threshold", header["threshold"])
    value, scale = found.get("value"), found.get("scale")
    if set(found) != set(DecisionThreshold._fields) or scale not in ("probability", "score"):
        raise SchemaError("threshold", "a record of value, scale (probability or score) and rule", shorten(found))
    if not isinstance(value, float) or not math.isfinite(value) or (scale == "probability" and not 0.0 < value < 1.0):
        raise SchemaError("the value of threshold", f"a {scale}", shorten(value))
    has_probabilities = {"none": False, "logistic": True, "softmax": True, "calibrated": "calibration.state" in tensors}
    if scale == "probability" and not has_probabilities[probability_type_of(model)]:
        raise SchemaError("the scale of threshold", "score in a model without probabilities", scale)
    return DecisionThreshold(value, scale, check_text("the rule of threshold", found["rule"]))


def check_slot_names(pairs: Any, features: int) -> dict[int, str] | None:
    if pairs is None:
        return None
    found: dict[int, str] = {}
    for pair in check_list("slot_names", pairs):
        if not isinstance(pair, list) or len(pair) != 2:
            raise SchemaError("each of slot_names", "a slot and a name", shorten(pair))
        found[check_int("a slot of slot_names", pair[0], 0, features - 1)] = check_text("a slot name", pair[1])
    return found


def check_feature_names(names: Any, features: int) -> list[str] | None:
    if names is None:
        return None
    found = check_names("names", names)
    if len(found) != features:
        raise SchemaError("names", f"those of {features} features", f"a list of {len(found)}")
    return found


def read_json_tensor(tensors: Tensors, name: str) -> Any:
    """Return the JSON document in an array of bytes, or None if there is no array of that name."""
    array = tensors.get(name)
    if array is None:
        return None
    if array.dtype.name != "uint8" or array.ndim != 1:
        raise SchemaError(f"the array {name}", "of uint8 and one dimension", f"of {array.dtype.name} {array.shape}")
    try:
        found = json.loads(array.tobytes())
    except (ValueError, RecursionError):
        raise SchemaError(f"the array {name}", "a JSON document", "not") from None
    check_depth(found)
    return found


# --- Runs ---


def verify_run(model: OnlineClassifier, header: dict[str, Any], tensors: Tensors, *, complete: bool) -> VerifiedHeader:
    """Check header and arrays of an online learner; raise InputError for the first problem.

    A model that is not `complete` may have fewer features than its encoding, which is checked on use.
    """
    features, precision = check_features(header), check_precision(header)
    labels = _build_labels(model, header)
    names = check_feature_names(read_json_tensor(tensors, "names"), features)
    slot_names = check_slot_names(read_json_tensor(tensors, "slot_names"), features)
    columns = internals.columns_in_file(model, labels)
    sizes = {"features": features, "classes": len(labels), "columns": columns, "slots": (features + 1) * columns}
    sizes["listed labels"] = len(labels.listed())
    known = verify_arrays(ledger.LEDGER_SCHEMA, tensors, sizes, precision, "ledger.")
    known |= verify_arrays(internals.schema_of(model, features), tensors, sizes, precision, "updater.")
    for prefix, schema in internals.extra_schemas_of(model, features, tensors.keys()).items():
        known |= verify_arrays(schema, tensors, sizes, precision, prefix)
    if probability_type_of(model) == "calibrated" and "calibration.state" in tensors:
        known |= verify_arrays(CALIBRATION_SCHEMA, tensors, sizes, precision, "calibration.")
    if class_weight_of(model) == BALANCED and "class_counts.examples" in tensors:
        known |= verify_arrays(CLASS_COUNTS_SCHEMA, tensors, sizes, precision, "class_counts.")
    if internals.has_weights(model) and "sample.counts" in tensors:
        known |= verify_arrays(feature_sample.FEATURE_SAMPLE_SCHEMA, tensors, sizes, precision, "sample.")
    _check_no_extra_arrays(tensors, known | {"names", "slot_names"})
    reading, encoding = check_reading(header, features) if complete else (header.get("reading"), None)
    return VerifiedHeader(
        precision,
        features,
        labels,
        names,
        slot_names,
        reading,
        encoding,
        check_shuffle(header),
        check_holdout(header),
        check_threshold(model, header, tensors),
    )


def _build_labels(model: OnlineClassifier, header: dict[str, Any]) -> Any:
    rest = header.get("rest", "")
    if rest not in REST_VALUES:
        raise SchemaError("rest", f"one of {', '.join(REST_VALUES[1:])}", shorten(rest))
    listed = check_labels(header.get("labels"), optional=True)
    pair = len(listed) == 2
    if (None in listed and not pair) or (rest and not (pair and all(isinstance(label, str) for label in listed))):
        raise SchemaError("labels", "two, of which one may be unknown, or classes", shorten(listed))
    try:
        labels = internals.labels_from_file(model, listed, rest=rest)
    except TypeError:
        raise SchemaError("labels", "two", shorten(listed)) from None
    if len(labels) != len([label for label in listed if label is not None]) or (
        internals.predicts_one_label(model) and not len(labels)
    ):
        raise SchemaError("labels", "those of a model that has learned something", shorten(listed))
    if "indicator" in header:
        if header["indicator"] is not True or not hasattr(labels, "is_indicator"):
            raise SchemaError("indicator", "true, and in models of sets of labels only", shorten(header["indicator"]))
        labels.is_indicator = True
    return labels


def _check_no_extra_arrays(tensors: Tensors, known: set[str]) -> None:
    others = sorted(tensors.keys() - known)
    if others:
        raise SchemaError("the arrays of the file", "those of its learner", f"more than that: {shorten(others[0])}")


# --- Batch models ---


def verify_batch_model(model: BatchEstimator, header: dict[str, Any], tensors: Tensors) -> None:
    """Check header and arrays of a batch model without its members; raise InputError for the first problem."""
    features, precision = check_features(header), check_precision(header)
    labels = check_labels(header.get("labels"), optional=False)
    if not labels:
        raise SchemaError("labels", "one at least", "an empty list")
    check_feature_names(header.get("names"), features)
    check_slot_names(header.get("slot_names"), features)
    check_header(model, header)
    sizes, known = {"features": features, "classes": len(labels)}, set[str]()
    own = {name: array for name, array in tensors.items() if not name.startswith("member.")}
    for prefix, schema in file_schemas_of(model, own.keys()).items():
        known |= verify_arrays(schema, own, sizes, precision, prefix)
    _check_no_extra_arrays(own, known)
    members = len(check_list("members", header.get("members", [])))
    wanted = 0 if "trees.starts" in own else sizes.get("members", 0)
    if members != wanted:
        raise SchemaError("members", f"a list of {wanted}", f"one of {members}")
    check_reading(header, features)


def split_members(header: dict[str, Any], tensors: Tensors) -> list[tuple[dict[str, Any], dict[str, NDArray[Any]]]]:
    """Return the header and the arrays of each member."""
    headers = [check_dict("each of members", one) for one in header.get("members", [])]
    inside: list[dict[str, NDArray[Any]]] = [{} for _ in headers]
    for name in tensors:
        if name.startswith("member."):
            _, number, own = [*name.split(".", 2), "", ""][:3]
            if not (number.isascii() and number.isdigit() and len(number) < 10 and int(number) < len(headers)):
                raise SchemaError("the number of each member", f"below {len(headers)}", shorten(number))
            inside[int(number)][own] = tensors[name]
    return list(zip(headers, inside, strict=True))
