"""The multiclass schemes are scikit-learn estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from novikoff import SGD, AllVsAll, InputError, Kesler, OneVsAll, OutputCode, Perceptron
from tests.helpers.learners import EXPECTED_FAILED_CHECKS
from tests.helpers.multiclass_schemes import SCHEMES, draw_labelled, make_scheme
from tests.helpers.streams import csr


@parametrize_with_checks(
    [Kesler(Perceptron()), OneVsAll(Perceptron())], expected_failed_checks=lambda _: EXPECTED_FAILED_CHECKS
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [AllVsAll(Perceptron(passes=3)), OutputCode(Perceptron(passes=3))],
    expected_failed_checks=lambda _: EXPECTED_FAILED_CHECKS,
)
def test_scikit_learn_checks_of_pairs_and_codes(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("name", SCHEMES)
def test_clone_keeps_settings_and_drops_the_fitted_state(name: str) -> None:
    X, y = draw_labelled(name, 13)
    model = make_scheme(name, Perceptron(learning_rate=0.5)).partial_fit(csr(X), y)
    copy = clone(model)
    mine, theirs = (one.get_params() for one in (model, copy))
    assert repr(mine) == repr(theirs)
    assert mine.pop("estimator") is not theirs.pop("estimator")
    assert not hasattr(copy, "coef_")
    assert is_classifier(copy)
    tags = copy.__sklearn_tags__().classifier_tags
    assert tags.multi_class
    assert tags.multi_label == name.startswith("multi-label")
    assert clone(type(model)()).estimator is None
    assert repr(OutputCode(code=np.eye(2))) == f"OutputCode(code={np.eye(2)!r})"


def test_settings_of_the_base_learner_are_parameters() -> None:
    model = Kesler(Perceptron(learning_rate=2.0), update="uniform")
    assert model.get_params()["estimator__learning_rate"] == 2.0
    assert model.set_params(estimator=SGD(), estimator__learning_rate=0.25)._inner_learner.learning_rate == 0.25
    with pytest.raises(InputError, match="Invalid parameter 'speed'"):
        model.set_params(estimator__speed=1)
    with pytest.raises(InputError, match="Invalid parameter 'speed'"):
        model.set_params(speed=1)
    with pytest.raises(InputError, match="estimator has no settings"):
        Kesler().set_params(estimator__learning_rate=1)


@pytest.mark.filterwarnings("ignore::novikoff.SortedLabelsWarning")
def test_pipelines_and_grid_search_work() -> None:
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), Kesler(Perceptron(average=True))),
        {
            "kesler__estimator__margin": [0.0, 1.0],
            "kesler__estimator__learning_rate": [0.5, 1.0],
            "kesler__update": ["top", "uniform"],
        },
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.8
    assert search.best_estimator_.predict(X[:2]).tolist() == [0, 0]
