"""Chosen thresholds are those that a search over all cuts finds, ties of scores included."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from novikoff import InputError
from novikoff.evaluation import thresholds

CASES = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=14).filter(
    lambda rows: any(label for _, label in rows)
)


class Counts(NamedTuple):
    tp: int
    fp: int
    fn: int
    tn: int


def count(rows, threshold):
    cells = [(score >= threshold, label) for score, label in rows]
    return Counts(*(cells.count(cell) for cell in ((True, True), (True, False), (False, True), (False, False))))


def search(rows, value):
    """Return the highest threshold with the highest value, by trying all; None excludes a candidate."""
    candidates = [math.inf, *sorted({float(score) for score, _ in rows}, reverse=True)]
    valued = [(value(count(rows, t)), t) for t in candidates]
    best = max((v for v, _ in valued if v is not None), default=None)
    return next((t for v, t in valued if v is not None and v == best), None)


def ratio(part, whole):
    return Fraction(part, whole) if whole else Fraction(0)


def unzip(rows):
    return [score for score, _ in rows], [label for _, label in rows]


def check(found, rows, expected):
    assert found.threshold == expected
    counts = found.true_positives, found.false_positives, found.false_negatives, found.true_negatives
    assert counts == count(rows, expected)
    tp, fp, fn, _ = counts
    assert found.precision == float(ratio(tp, tp + fp))
    assert found.recall == float(ratio(tp, tp + fn))
    assert found.f1 == float(ratio(2 * tp, 2 * tp + fp + fn))


@given(CASES)
def test_the_threshold_for_f1_is_the_best_of_all(rows):
    expected = search(rows, lambda n: ratio(2 * n.tp, 2 * n.tp + n.fp + n.fn))
    check(thresholds.choose_for_f1(*unzip(rows)), rows, expected)


@given(CASES, st.integers(0, 5), st.integers(0, 5))
def test_the_threshold_for_costs_is_the_best_of_all(rows, false_positive, false_negative):
    expected = search(rows, lambda n: -(false_positive * n.fp + false_negative * n.fn))
    found = thresholds.choose_for_cost(*unzip(rows), false_positive=false_positive, false_negative=false_negative)
    check(found, rows, expected)


@given(CASES, st.sampled_from([0.25, 0.5, 0.75, 1.0]))
def test_required_precision_is_reached_with_the_highest_recall(rows, precision):
    expected = search(rows, lambda n: n.tp if n.tp and ratio(n.tp, n.tp + n.fp) >= precision else None)
    if expected is None:
        with pytest.raises(InputError, match="No threshold has precision"):
            thresholds.choose_for_precision(*unzip(rows), precision)
    else:
        check(thresholds.choose_for_precision(*unzip(rows), precision), rows, expected)


@given(CASES, st.sampled_from([0.25, 0.5, 0.75, 1.0]))
def test_required_recall_is_reached_with_the_highest_precision(rows, recall):
    expected = search(rows, lambda n: ratio(n.tp, n.tp + n.fp) if ratio(n.tp, n.tp + n.fn) >= recall else None)
    check(thresholds.choose_for_recall(*unzip(rows), recall), rows, expected)


@given(CASES)
def test_the_order_of_the_examples_does_not_matter(rows):
    assert thresholds.choose_for_f1(*unzip(rows)) == thresholds.choose_for_f1(*unzip(rows[::-1]))


def test_bad_input_is_refused():
    for scores, labels, message in (
        ([1.0], [0, 1], "equal length"),
        ([[1.0]], [[1]], "equal length"),
        ([math.nan, 1.0], [0, 1], "finite"),
        ([1.0, 2.0], [1, 2], "0 or 1"),
        ([1.0, 2.0], [0, 0], "positive class, but there is none"),
        ([], [], "positive class, but there is none"),
    ):
        with pytest.raises(InputError, match=message):
            thresholds.choose_for_f1(scores, labels)
    for choose in (thresholds.choose_for_precision, thresholds.choose_for_recall):
        for share in (0.0, 1.5, math.nan):
            with pytest.raises(InputError, match="above 0 and at most 1"):
                choose([1.0], [1], share)
    for cost in (-1.0, math.inf, math.nan):
        with pytest.raises(InputError, match="finite cost"):
            thresholds.choose_for_cost([1.0], [1], false_positive=cost, false_negative=1.0)
