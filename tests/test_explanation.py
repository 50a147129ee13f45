"""Contributions and bias add up to the score that the model gives, for all learners, schemes and kinds of rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from novikoff import (
    AROW,
    SGD,
    AllVsAll,
    Auto,
    Hierarchical,
    InputError,
    Kesler,
    MultiLabel,
    OnlineToBatch,
    OutputCode,
    Perceptron,
    QueryRanking,
    explain,
)
from novikoff.base.internals import require_state
from novikoff.core.calibration import sigmoid
from novikoff.core.stacking import bound_forecast
from novikoff.core.updaters.stacked_learners import BIAS, FORECAST_LOSS, FORECAST_WEIGHTS, MIXTURE
from tests.helpers.learners import ALL_LEARNERS, clip_to_range, make_learner
from tests.helpers.multiclass_schemes import SCHEMES, draw_examples, draw_labelled, make_scheme

NOT_LINEAR = ("voted", "kernel", "halving", "elimination-2", "rectangle", "multilayer")
FIXED_FEATURES = ("winnow-n", "winnow-negations")
"""Learners that must know the number of features: they take no features by name."""
VOTES = ("all-vs-all", "code")


def check_sum(found: Any, score: float) -> None:
    parts = [found.bias, *(c.contribution for c in found.contributions)]
    size = math.fsum(map(abs, parts))
    assert abs(found.score - math.fsum(parts)) <= 1e-12 * size
    assert abs(found.score - score) <= 1e-12 * size + 1e-300
    assert all(c.contribution == c.value * c.weight for c in found.contributions)
    sizes = [abs(c.contribution) for c in found.contributions]
    assert sizes == sorted(sizes, reverse=True)


def is_linear(name: str) -> bool:
    return not any(part in name for part in NOT_LINEAR)


@pytest.mark.parametrize("name", [name for name in ALL_LEARNERS if is_linear(name)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_contributions_of_binary_learners_add_up_to_the_score(name: str, dtype: Any) -> None:
    X, y = draw_examples(0, 80, 6, 2, dtype)
    X = clip_to_range(name, X)
    model = make_learner(name).fit(X, y)
    named = make_learner(name)
    words = [f"f{j}" for j in range(6)]
    for x, label in zip(X if name not in FIXED_FEATURES else [], y, strict=False):
        named.learn_one(dict(zip(words, x.tolist(), strict=True)), label)
    for x in X[:15]:
        found = explain(model, x)
        check_sum(found, model.score_one(x))
        assert found.predicted == model.predict_one(x)
        assert (found.label, found.against) == (1, 0)
        turned = explain(model, x, label=0)
        assert (turned.score, turned.bias) == (-found.score, -found.bias)
        if name in FIXED_FEATURES:
            continue
        example = dict(zip(words, x.tolist(), strict=True)) | {"new": 1.0}
        found = explain(named, example)
        check_sum(found, named.score_one(example))
        assert {c.feature for c in found.contributions} <= {*words, "(features never seen)"}


@pytest.mark.parametrize("name", [name for name in ALL_LEARNERS if not is_linear(name)])
def test_learners_without_a_linear_score_say_so(name: str) -> None:
    X, y = draw_examples(0, 40, 6, 2)
    X = clip_to_range(name, X)
    model = make_learner(name)
    try:
        model.fit(X, y)
    except InputError:  # no hypothesis of the class agrees with these labels
        model.fit(np.abs(np.sign(X)), np.zeros(len(X), int) + 1)
    with pytest.raises(InputError, match=r"is not a sum of value × weight.*Use a linear learner"):
        explain(model, X[0])


@pytest.mark.parametrize("name", SCHEMES)
def test_contributions_of_multiclass_schemes_add_up_to_the_score(name: str) -> None:
    X, y = draw_labelled(name, 1)
    model = make_scheme(name, AROW(shuffle=False) if name == "kesler" else None).fit(X, y)
    if name.startswith(VOTES):
        with pytest.raises(InputError, match="is not a sum of value"):
            explain(model, X[0])
        return
    for x in X[:15]:
        found, scores = explain(model, x), model.score_one(x)
        rival = 0.0 if found.against is None else scores[found.against]
        check_sum(found, scores[found.label] - rival)
        for label in list(scores)[:3]:
            found = explain(model, x, label=label)
            assert found.label == label
            rival = 0.0 if found.against is None else scores[found.against]
            check_sum(found, scores[label] - rival)


def test_several_classes_are_explained_against_the_highest_rival() -> None:
    X, y = draw_examples(3, 100, 5, 4)
    model = Kesler(Perceptron()).fit(X, y)
    for x in X[:20]:
        found, scores = explain(model, x), model.score_one(x)
        order = sorted(scores, key=lambda c: -scores[c])
        assert found.label == found.predicted == order[0]
        assert found.against == order[1]
        assert explain(model, x, label=order[2]).against == order[0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bias", [True, False])
def test_auto_is_explained_by_its_members_and_forecasts(dtype: Any, bias: bool) -> None:
    """Some columns are dense, one is not; both forecasts have some weight."""
    X, y = draw_examples(5, 300, 6, 2)
    X[:, 2] *= np.arange(300) % 4 == 0
    X = (X * [1.0, 100.0, 1e-3, 1.0, 1.0, 1.0] + [0.0, 500.0, 0.0, 0.0, 0.0, 0.0]).astype(dtype)
    model = Auto(fit_intercept=bias, shuffle=False).fit(X, y)
    stack = require_state(model._model).updater.stack
    stack[MIXTURE:FORECAST_LOSS] = 0.7, 0.3
    weights, bias_weight = model.forecast_weights_, stack[FORECAST_WEIGHTS + BIAS]
    for x in X[::7]:
        found = explain(model, x)
        check_sum(found, model.score_one(x))
        assert [m.name for m in found.members] == ["arow, mean", "arow, last", "logistic, mean", "discriminant"]
        scores, drift = found.forecasts
        assert (scores.name, scores.weight) == ("scores", weights["scores"])
        assert (drift.name, drift.weight) == ("drift", weights["drift"])
        parts = [bias_weight, *(m.weight * m.score for m in found.members)]
        assert scores.log_odds == pytest.approx(math.fsum(parts), abs=1e-12 * math.fsum(map(abs, parts)))
        mean = math.fsum(f.weight * bound_forecast.function(sigmoid.function(f.log_odds), 2.0) for f in found.forecasts)
        assert found.probability == pytest.approx(mean, rel=1e-12)
        assert found.probability == model.predict_proba(x[None])[0, 1]


def test_an_explanation_of_auto_for_the_other_class_has_all_signs_turned() -> None:
    X, y = draw_examples(5, 200, 6, 2)
    model = Auto().fit(X, y)
    for x in X[:10]:
        found, turned = explain(model, x), explain(model, x, label=0)
        assert (turned.label, turned.against) == (0, 1)
        assert (turned.score, turned.bias) == (-found.score, -found.bias)
        assert [(m.name, m.weight, -m.score) for m in turned.members] == found.members
        assert [(f.name, f.weight, -f.log_odds) for f in turned.forecasts] == found.forecasts
        assert turned.probability == 1.0 - found.probability  # type: ignore[operator]
        assert set(turned.to_dict()) >= {"members", "forecasts", "probability"}


def test_the_contributions_of_auto_are_those_of_its_forecast_from_the_scores() -> None:
    """A contribution is what the column adds to the features, none of which is clipped here."""
    X, y = draw_examples(6, 500, 4, 2)
    model = Auto().fit(X, y)
    found = explain(model, X[0])
    largest = found.contributions[0]
    assert largest.contribution * model.coef_[0, int(largest.feature)] * largest.value > 0.0
    ratios = [c.weight / model.coef_[0, int(c.feature)] for c in found.contributions]
    assert ratios == pytest.approx([1.0] * len(ratios), rel=0.2)


def test_auto_with_more_classes_says_that_its_scores_are_no_sums() -> None:
    X, y = draw_examples(5, 60, 6, 4)
    with pytest.raises(InputError, match="combines learners by their probabilities for more than two classes"):
        explain(Auto().fit(X, y), X[0])


def test_rankings_and_chosen_hypotheses_are_explained() -> None:
    X, y = draw_examples(7, 100, 5, 2)
    ranking = QueryRanking().fit(X, y, qid=np.repeat(np.arange(10), 10))
    found = explain(ranking, X[0])
    check_sum(found, ranking.decision_function(X[:1])[0])
    assert found.predicted is found.label is found.against is None
    with pytest.raises(InputError, match="no classes"):
        explain(ranking, X[0], label=1)
    for method in ("average", "longest-survivor"):
        model = OnlineToBatch(Perceptron(), method=method).fit(X, y)
        check_sum(explain(model, X[0]), model.decision_function(X[:1])[0])


def test_the_logistic_loss_gives_a_probability() -> None:
    X, y = draw_examples(9, 100, 5, 2)
    found = explain(SGD(loss="logistic").fit(X, y), X[0])
    assert found.probability == pytest.approx(1.0 / (1.0 + math.exp(-found.score)))
    calibrated, plain = Perceptron().fit(X, y), Perceptron(calibrate=False).fit(X, y)
    assert explain(calibrated, X[0]).probability == calibrated.predict_proba(X[:1])[0, 1]
    assert explain(plain, X[0]).probability is None


def test_raw_rows_have_the_names_of_their_columns() -> None:
    rows = [{"age": 30.0, "job": "nurse"}, {"age": 50.0, "job": "boss"}, {"age": 20.0, "job": "nurse"}]
    model = Perceptron(passes=5).fit(rows, ["a", "b", "a"])
    found = explain(model, rows[1])
    check_sum(found, model.score_one(rows[1]))
    assert {c.feature for c in found.contributions} <= {"age", "job=boss"}


def test_bad_input_is_refused() -> None:
    X, y = draw_examples(9, 50, 5, 2)
    model = Perceptron().fit(X, y)
    for x, label, message in ((X[0][:3], None, "3 features"), (X[0], "none", "no class 'none'")):
        with pytest.raises(InputError, match=message):
            explain(model, x, label=label)
    with pytest.raises(ValueError, match="has learned nothing yet"):
        explain(Perceptron(), X[0])
    for other in (AllVsAll(Perceptron()), OutputCode(Perceptron())):
        with pytest.raises(InputError, match="Kesler or OneVsAll"):
            explain(other.fit(X, draw_examples(9, 50, 5, 4)[1]), X[0])


def test_labels_of_other_kinds_are_explained() -> None:
    X, y = draw_examples(9, 50, 5, 2)
    sets = [["wet"] if label else ["wet", "cold"] for label in y]
    assert explain(MultiLabel(Perceptron()).fit(X, sets), X[0], label="cold").label == "cold"
    paths = ["a/b" if label else "c" for label in y]
    assert explain(Hierarchical(Perceptron()).fit(X, paths), X[0]).label in ("a/b", "a", "c")
