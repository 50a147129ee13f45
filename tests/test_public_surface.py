"""Estimators show users what is meant for them, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

import novikoff
from novikoff.base.estimator import BaseEstimator
from novikoff.base.internals import setting_defaults_of

SCIKIT_LEARN = {
    "fit",
    "partial_fit",
    "predict",
    "predict_proba",
    "decision_function",
    "score",
    "get_params",
    "set_params",
    "get_metadata_routing",
    "set_fit_request",
    "set_partial_fit_request",
    "set_score_request",
    "classes_",
    "n_features_in_",
    "feature_names_in_",
}
WEIGHTS = {"coef_", "intercept_", "feature_importances_", "feature_std_"}
ONLINE = {
    "learn_one",
    "predict_one",
    "predict_proba_one",
    "score_one",
    "bounds",
    "describe",
    "ledger_",
    "mistake_rows_",
}
EFFECTIVE_SETTINGS = {"fit_intercept", "passes", "random_state", "shuffle", "tie", "estimator"}
"""Settings of the inner learner, and those that are the same for all models of a class."""
SAMPLE_CHECK = {"sample_check"}
OWN = {
    "MultilayerPerceptron": {"coefs_", "intercepts_"},
    "Auto": {"forecast_weights_"},
    "Elimination": {*SAMPLE_CHECK, "formula_"},
    "Halving": {*SAMPLE_CHECK, "hypotheses_left_", "restarts_", "size_"},
    "Rectangle": {*SAMPLE_CHECK, "box_"},
    "Hierarchical": {"tree_loss"},
    "QueryRanking": {"rank"},
    "FeatureMap": {"transform", "fit_transform", "get_feature_names_out", "set_output"},
    "AdaBoost": {"margins"},
    "Bagging": {"error_bound"},
    "RandomForest": {"error_bound"},
    "KernelPerceptron": {"with_kernel"},
}
FITTED_ATTRIBUTES = {
    "KernelPerceptron",
    "OnlineBoosting",
    "MulticlassSVM",
    "OnlineToBatch",
    "AdaBoost",
    "Bagging",
    "RandomForest",
}
"""Estimators with results of their own, all of which end in an underscore."""


def estimators() -> list[type[Any]]:
    public = (getattr(novikoff, name) for name in novikoff.__all__)
    return [found for found in public if isinstance(found, type) and issubclass(found, BaseEstimator)]


@pytest.mark.parametrize("estimator", estimators())
def test_an_estimator_shows_only_what_is_meant_for_users(estimator):
    allowed = SCIKIT_LEARN | WEIGHTS | ONLINE | EFFECTIVE_SETTINGS | OWN.get(estimator.__name__, set())
    shown = {name for name in dir(estimator) if not name.startswith("_")}
    unexpected = shown - allowed - set(setting_defaults_of(estimator))
    if estimator.__name__ in FITTED_ATTRIBUTES:
        unexpected = {name for name in unexpected if not name.endswith("_")}
    assert unexpected == set()


def test_all_estimators_are_checked():
    assert len(estimators()) >= 31


def test_a_fitted_model_shows_its_settings_its_results_and_few_methods():
    model = novikoff.SGD().fit([[0, 1], [1, 0]], [0, 1])
    shown = {name for name in dir(model) if not name.startswith("_")} - set(model.get_params())
    assert shown <= SCIKIT_LEARN | WEIGHTS | ONLINE
