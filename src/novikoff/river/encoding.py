"""The encoding of River's examples: strings become categories, and missing values are left out.

It names features as novikoff does for raw rows: the value `nurse` of `job` is the feature `job=nurse`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from novikoff.data.formats.csv_sniffer import MISSING_PATTERN
from novikoff.data.raw.values import encode_utf8, format_category, is_missing, to_python
from novikoff.errors import InputError


def encode_features(x: Any, categorical: Collection[Any] = ()) -> Any:
    """Return an example as numbers by the name of their feature; one that has only numbers is returned itself.

    None, NaN and the strings that are missing values in tables (empty, NA, ?, null) make no feature. `categorical`
    names the features whose numbers are categories.

    >>> encode_features({"age": 41, "job": "nurse", "zip": 50667, "pay": None, "new": True}, ["zip"])
    {'age': 41.0, 'job=nurse': 1.0, 'zip=50667': 1.0, 'new': 1.0}
    """
    if not isinstance(x, Mapping):
        raise InputError(f"x must be a dict of feature → value, not {type(x).__name__}.")
    if not categorical and type(x) is dict:
        for value in x.values():
            kind = type(value)
            if (kind is not float and kind is not int) or value != value:  # noqa: PLR0124 - NaN
                break
        else:
            return x
    found: dict[Any, float] = {}
    for name, given in x.items():
        value = to_python(given)
        if is_missing(value):
            continue
        if isinstance(value, str) or name in categorical:
            text = format_category(value)
            if not MISSING_PATTERN.fullmatch(encode_utf8(text)):
                feature = f"{name}={text}"
                found[feature] = found.get(feature, 0.0) + 1.0
        else:
            found[name] = found.get(name, 0.0) + _check_number(name, value)
    return found


def _check_number(name: Any, value: Any) -> Any:
    """Return a number as it is, a truth value as 1.0 or 0.0; raise InputError for values of other types."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float):
        return value
    try:  # such as Decimal and Fraction
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if math.isnan(number):
        raise InputError(
            f"Feature {name!r} must be a number, a truth value, a string or None, got {value!r} of type"
            f" {type(value).__name__}: convert it, or drop it with river.compose.Discard({name!r})."
        )
    return number
