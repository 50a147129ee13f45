"""Metrics agree with scikit-learn's, whatever the batches and however the scores are stored."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from novikoff.evaluation import curves, probabilities
from novikoff.evaluation.baselines import BaselineCounts
from novikoff.evaluation.confusion import ConfusionMatrix, LabelSetCounts, macro_average, weighted_average
from novikoff.evaluation.intervals import PairedComparison, error_interval
from novikoff.evaluation.score_store import ScoreStore

TOLERANCE = 1e-9


@st.composite
def scored_labels(draw, max_levels=30):
    """Draw labels of both classes and scores, many of them tied."""
    size, seed, levels = draw(st.integers(2, 200)), draw(st.integers(0, 2**32 - 1)), draw(st.integers(1, max_levels))
    rng = np.random.default_rng(seed)
    y = rng.random(size) < rng.uniform(0.05, 0.95)
    y[:2] = False, True
    return y, rng.integers(0, levels, size) / levels + rng.choice([0.0, 0.3]) * y


def split(y, s):
    return np.sort(s[y]), np.sort(s[~y])


@given(scored_labels())
@settings(max_examples=300)
def test_auc_and_average_precision_are_those_of_scikit_learn(case):
    y, s = case
    positives, negatives = split(y, s)
    assert curves.auc(positives, negatives) == pytest.approx(metrics.roc_auc_score(y, s), abs=TOLERANCE)
    mine = curves.average_precision(positives, negatives)
    assert mine == pytest.approx(metrics.average_precision_score(y, s), abs=TOLERANCE)


@given(scored_labels())
@settings(max_examples=100)
def test_curves_are_those_of_scikit_learn_where_scores_are_few(case):
    y, s = case
    positives, negatives = split(y, s)
    fpr, tpr = curves.roc_curve(positives, negatives)
    theirs = metrics.roc_curve(y, s, drop_intermediate=False)
    np.testing.assert_allclose(fpr, theirs[0], atol=TOLERANCE)
    np.testing.assert_allclose(tpr, theirs[1], atol=TOLERANCE)
    recall, precision = curves.precision_recall_curve(positives, negatives)
    their_precision, their_recall, _ = metrics.precision_recall_curve(y, s)
    np.testing.assert_allclose(recall, their_recall[::-1], atol=TOLERANCE)
    np.testing.assert_allclose(precision, their_precision[::-1], atol=TOLERANCE)


@given(scored_labels())
@settings(max_examples=50)
def test_blocks_change_nothing(case):
    positives, negatives = split(*case)
    whole = curves.auc_with_interval(positives, negatives), curves.average_precision(positives, negatives)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curves, "BLOCK_ROWS", 3)
        parts = curves.auc_with_interval(positives, negatives), curves.average_precision(positives, negatives)
    assert parts[1] == pytest.approx(whole[1], abs=TOLERANCE)
    if whole[0] is not None:
        assert parts[0] == pytest.approx(whole[0], abs=TOLERANCE)


def test_auc_interval_covers_the_true_value():
    """Normal scores, shifted by 1: AUC is Φ(1/√2). Of 400 intervals at 90 % at least 340 must cover it: with coverage
    0.9 fewer than 340 happen once in 10⁴ runs, and the seed is fixed."""
    from statistics import NormalDist

    truth = NormalDist().cdf(1.0 / np.sqrt(2.0))
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        found = curves.auc_with_interval(np.sort(rng.normal(1, 1, 60)), np.sort(rng.normal(0, 1, 90)), delta=0.1)
        covered += found.low <= truth <= found.high
    assert 340 <= covered < 400


def test_auc_of_one_class_is_not_defined():
    scores, none = np.array([0.1, 0.2]), np.zeros(0)
    assert curves.auc(scores, none) is None
    assert curves.auc(none, scores) is None
    assert curves.average_precision(none, scores) is None
    assert curves.auc_with_interval(scores[:1], scores) is None


@given(scored_labels(max_levels=1000), st.integers(2, 20))
@settings(max_examples=100)
def test_reliability_bins_hold_every_example_once(case, bins):
    y, p = case
    p = np.clip(p, 0.0, 1.0)
    found = probabilities.reliability_bins(*split(y, p), bins=bins)
    assert sum(b.examples for b in found) == len(y)
    assert sum(b.examples * b.observed_rate for b in found) == pytest.approx(y.sum())
    assert sum(b.examples * b.mean_probability for b in found) == pytest.approx(p.sum())
    assert [b.mean_probability for b in found] == sorted(b.mean_probability for b in found)
    largest_tie = max(np.unique(p, return_counts=True)[1])
    assert max(b.examples for b in found) <= -(-len(y) // bins) + largest_tie


def test_a_calibrated_model_has_a_small_calibration_error():
    rng = np.random.default_rng(0)
    p = rng.random(100_000)
    y = rng.random(len(p)) < p
    good = probabilities.reliability_bins(*split(y, p))
    bad = probabilities.reliability_bins(*split(y, p**3))
    assert len(good) == probabilities.RELIABILITY_BINS
    assert probabilities.expected_calibration_error(good) < 0.01
    assert probabilities.expected_calibration_error(bad) > 0.1


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_log_loss_and_brier_score_are_those_of_scikit_learn(classes):
    rng = np.random.default_rng(classes)
    p = rng.dirichlet(np.ones(classes), 500)
    p[0] = np.eye(classes)[0]
    y = rng.integers(0, classes, 500)
    losses = probabilities.ProbabilityLosses()
    for start in range(0, 500, 37):
        losses.add(p[start : start + 37], y[start : start + 37])
    labels = list(range(classes))
    assert losses.log_loss == pytest.approx(metrics.log_loss(y, p, labels=labels), abs=TOLERANCE)
    if classes == 2:
        assert losses.brier == pytest.approx(metrics.brier_score_loss(y, p[:, 1]), abs=TOLERANCE)
    else:
        assert losses.brier == pytest.approx(np.square(p - np.eye(classes)[y]).sum(axis=1).mean(), abs=TOLERANCE)


def test_a_class_unknown_to_the_model_has_probability_zero():
    losses = probabilities.ProbabilityLosses()
    losses.add(np.array([[0.5, 0.5]]), np.array([-1]))
    assert losses.log_loss == pytest.approx(-np.log(probabilities.MIN_PROBABILITY))
    assert losses.brier == pytest.approx(0.75)


@pytest.mark.parametrize("classes", [1, 2, 5])
def test_confusion_metrics_are_those_of_scikit_learn(classes):
    rng = np.random.default_rng(classes)
    y, guess = rng.integers(0, classes, 300), rng.integers(0, classes + 1, 300)
    matrix = ConfusionMatrix()
    for start in range(0, 300, 41):
        matrix.add(y[start : start + 41], guess[start : start + 41])
    np.testing.assert_array_equal(matrix.counts, metrics.confusion_matrix(y, guess))
    assert matrix.accuracy == pytest.approx(metrics.accuracy_score(y, guess), abs=TOLERANCE)
    mine = matrix.class_metrics()
    for average, found in ((None, mine), ("macro", macro_average(mine)), ("weighted", weighted_average(mine))):
        theirs = metrics.precision_recall_fscore_support(y, guess, average=average, zero_division=0)
        for k in range(3):
            own = [c[k] for c in found] if average is None else found[k]
            np.testing.assert_allclose(own, theirs[k], atol=TOLERANCE)


def test_label_set_metrics_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, guess = rng.random((200, 6)) < 0.3, rng.random((200, 6)) < 0.4
    guess[:20] = y[:20]
    counts = LabelSetCounts(6)
    for start in range(0, 200, 33):
        counts.add(y[start : start + 33], guess[start : start + 33])
    assert counts.hamming_loss == pytest.approx(metrics.hamming_loss(y, guess), abs=TOLERANCE)
    assert counts.exact_match == pytest.approx(metrics.accuracy_score(y, guess), abs=TOLERANCE)
    assert counts.micro_average().f1 == pytest.approx(metrics.f1_score(y, guess, average="micro"), abs=TOLERANCE)
    macro = macro_average(counts.class_metrics())
    assert macro.f1 == pytest.approx(metrics.f1_score(y, guess, average="macro"), abs=TOLERANCE)


def test_scores_beyond_the_memory_limit_are_sorted_on_disk():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=10_000)
    with ScoreStore(memory_bytes=4_000) as spilled, ScoreStore() as kept:
        for start in range(0, len(numbers), 777):
            spilled.add(numbers[start : start + 777])
            kept.add(numbers[start : start + 777])
        assert isinstance(spilled.get_sorted(), np.memmap)
        assert not isinstance(kept.get_sorted(), np.memmap)
        np.testing.assert_array_equal(spilled.get_sorted(), np.sort(numbers))
        np.testing.assert_array_equal(kept.get_sorted(), np.sort(numbers))
        spilled.add(np.array([-99.0]))
        assert spilled.get_sorted()[0] == -99.0
        assert len(spilled.get_sorted()) == len(numbers) + 1


def test_an_added_batch_is_copied():
    batch = np.array([1.0])
    with ScoreStore() as store:
        store.add(batch)
        batch[0] = 2.0
        assert store.get_sorted().tolist() == [1.0]


def test_paired_interval_covers_the_difference():
    """The union bound is conservative: over 30 samples no more than 2 intervals at 95 % may miss the difference of the
    true errors, 0.2 − 0.1."""
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(30):
        first, second = rng.random(100) < 0.2, rng.random(100) < 0.1
        pair = PairedComparison(int((first & ~second).sum()), int((second & ~first).sum()), 100)
        assert pair.difference == pytest.approx(first.mean() - second.mean())
        low, high = pair.interval()
        missed += not low <= 0.1 <= high
    assert missed <= 2


def test_error_interval_is_empty_without_examples():
    assert error_interval(0, 0) is None
    low, high = error_interval(3, 100)
    assert low < 0.03 < high


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.integers(1, 20))
def test_baselines_do_not_depend_on_batches(labels, size):
    labels = np.array(labels)
    counts = BaselineCounts()
    for start in range(0, len(labels), size):
        counts.add(labels[start : start + size])
    assert counts.majority_accuracy == np.bincount(labels).max() / len(labels)
    assert counts.no_change_accuracy == (labels[1:] == labels[:-1]).sum() / len(labels)
