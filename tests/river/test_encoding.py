"""The encoding of River's examples agrees with that of raw rows."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from novikoff import AROW, InputError
from novikoff.river.encoding import encode_features

ROWS = [
    {"age": 3, "job": "nurse", "new": True},
    {"age": None, "job": "", "new": False},
    {"age": 4.5, "job": "NA", "new": True},
    {"age": float("nan"), "job": "a b=c", "new": False},
    {"age": 1, "job": None, "new": True},
    {"job": "?", "new": False},
    {"age": 2, "job": "nurse", "new": np.bool_(True)},
]


def test_features_are_named_as_those_of_raw_rows():
    fitted = AROW(shuffle=False).fit(ROWS, [0, 1, 0, 1, 1, 0, 0])
    stream = AROW()
    for x, y in zip(ROWS, [0, 1, 0, 1, 1, 0, 0], strict=True):
        stream.learn_one(encode_features(x), y)
    assert sorted(stream.feature_names_in_) == sorted(fitted.feature_names_in_)
    weights = dict(zip(stream.feature_names_in_, stream.coef_[0], strict=True))
    expected = dict(zip(fitted.feature_names_in_, fitted.coef_[0], strict=True))
    assert weights == pytest.approx(expected, rel=1e-5)


def test_an_example_of_numbers_is_not_copied():
    x = {"a": 1.5, "b": 2}
    assert encode_features(x) is x


def test_numbers_of_categorical_features_are_categories():
    assert encode_features({"zip": 50667.0, "a": np.float32(2)}, ["zip"]) == {"zip=50667": 1.0, "a": 2.0}
    assert encode_features({"zip": None, "a": Decimal("1.5")}, ["zip"]) == {"a": 1.5}


@pytest.mark.parametrize("value", [[1, 2], {"b": 1}, object(), b"x", Decimal("NaN")])
def test_a_value_of_another_type_is_refused_with_the_name_of_its_feature(value: Any):
    with pytest.raises(InputError, match=r"Feature 'tags' must be a number.*Discard"):
        encode_features({"tags": value})


def test_an_example_must_be_a_dict():
    with pytest.raises(InputError, match="x must be a dict of feature → value, not list"):
        encode_features(["a"])
