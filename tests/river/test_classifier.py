"""`novikoff.river.Classifier` in River: pipelines, evaluation, bagging, drift detectors and River's own checks."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

pytest.importorskip("river", reason="River, the extra novikoff[river], is not installed")

from river import checks, compose, datasets, drift, ensemble, evaluate, metrics, preprocessing

import novikoff
from novikoff import (
    AROW,
    SGD,
    AllVsAll,
    Auto,
    InputError,
    KernelPerceptron,
    Kesler,
    MultilayerPerceptron,
    OneVsAll,
    OnlineBagging,
    Perceptron,
    VotedPerceptron,
    Winnow,
)
from novikoff.river import Classifier

LEARNERS = {
    "auto": Auto(),
    "arow": AROW(),
    "sgd": SGD(),
    "uncalibrated": Perceptron(calibrate=False),
    "kesler": Kesler(AROW()),
    "one-vs-all": OneVsAll(SGD()),
    "all-vs-all": AllVsAll(AROW()),
    "online-bagging": OnlineBagging(Perceptron()),
    "kernel": KernelPerceptron(),
    "voted": VotedPerceptron(),
    "mlp": MultilayerPerceptron(),
}
EVERYDAY = {"auto", "arow", "uncalibrated", "kesler"}
EXCEPTIONS = {
    # A network's initial weights depend on the numbers of the features, in order of appearance.
    ("mlp", "check_shuffle_features_no_impact"),
}


def list_checks() -> list[Any]:
    found = []
    for name, learner in LEARNERS.items():
        model = Classifier(learner)
        for k, check in enumerate(checks.yield_checks(model)):
            if check.__name__ not in model._unit_test_skips() and (name, check.__name__) not in EXCEPTIONS:
                marks = [] if name in EVERYDAY else [pytest.mark.slow]
                found.append(pytest.param(model, check, id=f"{name}-{check.__name__}-{k}", marks=marks))
    return found


@pytest.mark.parametrize(("model", "check"), list_checks())
def test_checks_of_river_pass(model: Classifier, check: Any):
    check(model.clone())


def learn_stream(model: Any, rows: list[tuple[dict[str, Any], Any]]) -> Any:
    for x, y in rows:
        model.learn_one(x, y)
    return model


def make_rows(count: int = 60) -> list[tuple[dict[str, Any], Any]]:
    rng = np.random.default_rng(3)
    rows = []
    for _ in range(count):
        x = {"a": float(rng.normal()), "b": float(rng.normal()), "c": 1.0}
        rows.append((x, bool(x["a"] + 0.3 * rng.normal() > 0.2)))
    return rows


# --- In River ---


@pytest.mark.parametrize("learner", [AROW(), Auto(), SGD()], ids=repr)
def test_a_pipeline_is_evaluated_progressively(learner: Any):
    model = preprocessing.StandardScaler() | Classifier(learner)
    assert evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get() > 0.87
    assert evaluate.progressive_val_score(datasets.Phishing(), model.clone(), metrics.ROCAUC()).get() > 0.93


@pytest.mark.parametrize("learner", [Kesler(AROW()), Auto()], ids=repr)
def test_several_classes_are_learned(learner: Any):
    model = preprocessing.StandardScaler() | Classifier(learner)
    assert model._multiclass
    assert evaluate.progressive_val_score(datasets.ImageSegments(), model, metrics.Accuracy()).get() > 0.85


def test_a_binary_learner_does_not_claim_several_classes():
    assert Classifier(AROW())._multiclass is False


def test_bagging_trains_separate_copies():
    model = ensemble.BaggingClassifier(Classifier(AROW()), n_models=3, seed=1)
    assert evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get() > 0.85
    examples = [member.model.ledger_.examples for member in model]
    assert len(set(examples)) > 1
    assert all(examples)


@pytest.mark.parametrize("in_background", [True, False])
def test_a_drift_detector_replaces_the_model(in_background: bool):
    model = drift.DriftRetrainingClassifier(Classifier(AROW()), drift.binary.DDM(), train_in_background=in_background)
    rows = make_rows(400) + [(x, not y) for x, y in make_rows(1200)]
    right = [model.predict_one(x) == y for x, y in rows if model.learn_one(x, y) is None]
    assert sum(right[-300:]) > 250
    assert model.model.model.ledger_.examples < len(rows)


def test_the_model_of_a_stream_is_that_of_learn_one():
    rows = make_rows()
    wrapped, plain = learn_stream(Classifier(AROW()), rows), learn_stream(AROW(), rows)
    assert np.array_equal(wrapped.model.coef_, plain.coef_)
    assert wrapped.predict_one(rows[0][0]) == plain.predict_one(rows[0][0])
    assert wrapped.predict_proba_one(rows[0][0]) == plain.predict_proba_one(rows[0][0])


# --- Strings and missing values ---


def test_strings_and_missing_values_follow_the_encoding():
    model = Classifier(AROW(), categorical=("zip",))
    for _ in range(3):
        model.learn_one({"job": "nurse", "zip": 50667, "age": 0.5}, "yes")
        model.learn_one({"job": None, "zip": 50668, "age": None, "town": "Bonn"}, "no")
    names = {"job=nurse", "zip=50667", "age", "zip=50668", "town=Bonn"}
    assert set(model.model.feature_names_in_) == names
    assert model.predict_one({"job": "nurse", "age": None}) == "yes"
    assert model.predict_one({"town": "Bonn", "job": "never seen"}) == "no"
    with pytest.raises(InputError, match="'tags' must be a number"):
        model.predict_one({"tags": [1]})


def test_a_fitted_learner_keeps_its_encoding_and_is_continued():
    rows = [{"size": 3, "zip": 50667}, {"size": 4, "zip": 50668}]
    fitted = AROW().fit(novikoff.with_columns(rows, categorical="zip"), ["a", "b"])
    before = fitted.coef_.copy()
    model = Classifier(fitted)
    assert model.predict_one(rows[0]) == fitted.predict_one(rows[0])
    model.learn_one({"size": None, "zip": 50669}, "a")
    assert "zip=50669" in model.model.feature_names_in_
    assert model.model.ledger_.examples == 3
    assert np.array_equal(fitted.coef_, before)
    assert model.clone().predict_one(rows[0]) is None
    with pytest.raises(InputError, match="leave categorical out"):
        Classifier(fitted, categorical=("zip",))


# --- Weights ---


@pytest.mark.parametrize(
    "learner",
    [AROW(), SGD(), Perceptron(average=True), Kesler(AROW()), OneVsAll(SGD()), MultilayerPerceptron()],
    ids=repr,
)
def test_weights_are_sample_weights(learner: Any):
    rows = make_rows()
    weights = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], len(rows))
    model = Classifier(learner)
    for (x, y), w in zip(rows, weights, strict=True):
        model.learn_one(dict(enumerate(x.values())), y, w=w)
    expected = copy.deepcopy(learner)
    for (x, y), w in zip(rows, weights, strict=True):
        if w > 0.0:
            expected.partial_fit([list(x.values())], [y], sample_weight=[w])
    probed = dict(enumerate(rows[0][0].values()))
    assert model.model.ledger_.examples == expected.ledger_.examples == int((weights > 0.0).sum())
    assert model.model.score_one(probed) == expected.score_one(probed)


@pytest.mark.filterwarnings("ignore::novikoff.SortedLabelsWarning")
def test_auto_takes_weights_and_a_third_class():
    rows = make_rows()
    model, expected = Classifier(Auto()), Auto()
    labels = [str(y) if k < 30 or k % 3 else "third" for k, (_, y) in enumerate(rows)]
    for (x, _), y in zip(rows, labels, strict=True):
        model.learn_one(dict(enumerate(x.values())), y, w=2.0)
        expected.partial_fit([list(x.values())], [y], sample_weight=[2.0])
    probed = dict(enumerate(rows[0][0].values()))
    assert model.model.score_one(probed) == expected.score_one(probed)
    assert set(model.predict_proba_one(probed)) == {"True", "False", "third"}


def test_weights_and_bagging_work_together_in_a_pipeline():
    model = preprocessing.StandardScaler() | Classifier(AROW())
    for x, y in make_rows():
        model.learn_one(x, y, w=2.0)
    assert model["Classifier"].model.ledger_.examples == 60


def test_a_learner_without_weights_says_so():
    with pytest.raises(InputError, match="VotedPerceptron takes no weights of examples: leave w out"):
        Classifier(VotedPerceptron()).learn_one({"a": 1.0}, True, w=2.0)


@pytest.mark.parametrize("w", [-1.0, float("nan"), float("inf"), "2", None])
def test_a_bad_weight_is_refused_and_nothing_is_learned(w: Any):
    model = Classifier(AROW())
    with pytest.raises(InputError, match="w must be a finite number of at least 0"):
        model.learn_one({"a": 1.0}, True, w=w)
    assert model.predict_one({"a": 1.0}) is None


def test_a_refused_weighted_example_changes_nothing():
    model = learn_stream(Classifier(AROW()), make_rows())
    before = model.model.coef_.copy()
    with pytest.raises(InputError):
        model.learn_one({"a": 1.0, "new": 1e300}, True, w=2.0)
    assert np.array_equal(model.model.coef_, before)
    assert "new" not in model.model.feature_names_in_


# --- Probabilities ---


def test_labels_share_equally_until_scores_are_calibrated():
    model = Classifier(Kesler(AROW()))
    assert model.predict_proba_one({"a": 1.0}) == {}
    model.learn_one({"a": 1.0}, "x")
    assert model.predict_proba_one({"a": 1.0}) == {"x": 1.0}
    model.learn_one({"b": 1.0}, "y")
    found = model.predict_proba_one({"b": 1.0})
    assert sorted(found) == ["x", "y"]
    assert max(found, key=found.__getitem__) == model.predict_one({"b": 1.0})


def test_a_learner_without_probabilities_raises_what_river_expects():
    model = learn_stream(Classifier(AROW(calibrate=False)), make_rows())
    with pytest.raises(NotImplementedError, match="calibrate=False"):
        model.predict_proba_one({"a": 1.0})


# --- The protocol, and bad input ---


def test_clones_have_the_same_settings_and_have_learned_nothing():
    model = learn_stream(Classifier(Kesler(SGD(learning_rate=0.25)), categorical=("zip",)), make_rows())
    clone = model.clone()
    assert clone.predict_one({"a": 1.0}) is None
    assert repr(clone) == repr(model)
    assert "learning_rate=0.25" in repr(clone)
    assert model.clone({"learner": AROW()}).learner.get_params() == AROW().get_params()
    assert model.clone(include_attributes=True).model.ledger_.examples == 60


def test_a_pickle_continues_identically():
    rows = make_rows()
    model = learn_stream(Classifier(Auto()), rows[:30])
    again = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own pickle
    learn_stream(model, rows[30:])
    learn_stream(again, rows[30:])
    assert np.array_equal(model.model.coef_, again.model.coef_)


def test_the_learned_model_can_be_saved(tmp_path: Any):
    model = learn_stream(preprocessing.StandardScaler() | Classifier(AROW()), make_rows())
    novikoff.save(model["Classifier"].model, tmp_path / "m.model")
    assert novikoff.load(tmp_path / "m.model").ledger_.examples == 60


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (AROW, r"Use AROW\(\)"),
        ("arow", "needs a classifier of novikoff"),
        (None, "needs a classifier of novikoff"),
        (novikoff.DecisionTree(), "DecisionTree learns no single examples"),
        (novikoff.MultiLabel(AROW()), "MultiLabel predicts several labels"),
        (novikoff.LabelRanking(AROW()), "LabelRanking predicts several labels"),
        (novikoff.QueryRanking(AROW()), "QueryRanking learns no single examples"),
    ],
    ids=repr,
)
def test_what_is_no_classifier_for_single_examples_is_refused(learner: Any, message: str):
    with pytest.raises(InputError, match=message):
        Classifier(learner)


@pytest.mark.parametrize("categorical", ["zip", 3, {"zip": 1}])
def test_categorical_must_list_names(categorical: Any):
    with pytest.raises(InputError, match="categorical must be a tuple of names"):
        Classifier(AROW(), categorical)


def test_errors_of_learners_reach_the_caller():
    model = Classifier(Winnow(threshold=2.0))
    model.learn_one({"a": 1}, True)
    with pytest.raises(InputError):
        model.learn_one({"a": -0.5}, True)
    binary = Classifier(AROW())
    for label in ("x", "y"):
        binary.learn_one({"a": 1.0}, label)
    with pytest.raises(novikoff.LabelError):
        binary.learn_one({"a": 1.0}, "z")


def test_transformers_of_river_precede_the_classifier():
    model = compose.Discard("when") | Classifier(AROW())
    model.learn_one({"when": object(), "job": "boss"}, True)
    model.learn_one({"when": object(), "job": "nurse"}, False)
    assert model.predict_one({"when": object(), "job": "nurse"}) is False
