"""Probabilities: what every learner with `predict_proba` must keep to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from novikoff import (
    AROW,
    SGD,
    AllVsAll,
    Auto,
    BalancedWinnow,
    Elimination,
    KernelPerceptron,
    Kesler,
    LabelRanking,
    MarginPerceptron,
    MultiLabel,
    MultilayerPerceptron,
    OneVsAll,
    OnlineToBatch,
    Perceptron,
    PNormPerceptron,
    VotedPerceptron,
    Winnow,
)
from novikoff.auto import to_multiclass
from novikoff.base.internals import require_state, working_model_of
from novikoff.core.calibration import TOTAL_WEIGHT, next_calibrated_example, update_calibration
from novikoff.ledger import CALIBRATED_NEXT, NEVER_CALIBRATED
from novikoff.model_file import from_bytes, to_bytes

BINARY: dict[str, Any] = {
    "perceptron": Perceptron(),
    "perceptron-averaged": Perceptron(average=True, learning_rate=0.3),
    "perceptron-b": Perceptron(tie="negative", fit_intercept=False),
    "margin-perceptron": MarginPerceptron(gamma=0.1),
    "voted-perceptron": VotedPerceptron(),
    "p-norm": PNormPerceptron(p=4.0),
    "sgd-logistic": SGD(),
    "sgd-hinge": SGD(loss="hinge", average=True),
    "sgd-squared": SGD(loss="squared", schedule="sqrt", learning_rate=0.05, l1=0.001, l2=0.01),
    "arow": AROW(),
    "winnow": Winnow(threshold=3.0),
    "balanced-winnow": BalancedWinnow(average=True),
    "auto": Auto(),
    "kernel": KernelPerceptron(),
    "kernel-average": KernelPerceptron(kernel="rbf:0.3", average=True),
    "kernel-vote": KernelPerceptron(vote=True, tie="negative"),
}
MANY: dict[str, Any] = {
    "kesler": Kesler(Perceptron(average=True)),
    "kesler-arow": Kesler(AROW()),
    "one-vs-all": OneVsAll(AROW()),
    "one-vs-all-logistic": OneVsAll(SGD()),
    "all-vs-all": AllVsAll(Perceptron()),
    "auto": Auto(),
    "kernel": KernelPerceptron(average=True),
}
for _model in (*BINARY.values(), *MANY.values()):
    (_model.estimator if hasattr(_model, "estimator") else _model).set_params(shuffle=False)


def make(model: Any, **changes: Any) -> Any:
    """Return an unfitted copy."""
    changed = {f"estimator__{k}" if hasattr(model, "estimator") else k: v for k, v in changes.items()}
    copy = type(model)(**model.get_params(deep=False))
    if hasattr(model, "estimator"):
        copy.estimator = type(model.estimator)(**model.estimator.get_params())
    return copy.set_params(**changed)


def stream(classes: int, rows: int = 1500) -> tuple[Any, Any]:
    """Return rows with values between 0 and 1 and noisy labels; more rows than are all calibrated."""
    rng = np.random.default_rng(classes)
    X = rng.random((rows, 6)) * (rng.random((rows, 6)) < 0.8)
    scores = X[:, :classes] + 0.3 * rng.normal(size=(rows, classes))
    return X, np.array(["no", "yes", "maybe"])[scores.argmax(axis=1)] if classes > 2 else scores.argmax(axis=1)


def calibration_of(model: Any) -> Any:
    return require_state(working_model_of(model)).ledger.book.calibration


@pytest.mark.parametrize("name", BINARY)
def test_the_predicted_label_has_the_highest_probability(name: str) -> None:
    X, y = stream(2)
    model = make(BINARY[name]).fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (len(X), 2)
    assert np.abs(p.sum(axis=1) - 1.0).max() < 1e-15
    assert ((p >= 0.0) & (p <= 1.0)).all()
    assert (model.classes_[p.argmax(axis=1)] == model.predict(X)).all()


@pytest.mark.parametrize("name", MANY)
def test_the_predicted_class_has_the_highest_probability(name: str) -> None:
    X, y = stream(3)
    model = make(MANY[name]).fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (len(X), 3)
    assert np.abs(p.sum(axis=1) - 1.0).max() < 1e-12
    assert (model.classes_[p.argmax(axis=1)] == model.predict(X)).all()


@pytest.mark.parametrize("name", [name for name in BINARY if name != "kernel"])
def test_probabilities_beat_the_frequencies_of_the_classes(name: str) -> None:
    """On a stream with a linear signal, log-loss on new rows is below that of the constant prediction. The last
    hypothesis of a Perceptron may be poor: that of "kernel" errs on 46 % of these rows, its average on 25 %."""
    X, y = stream(2, 3000)
    model = make(BINARY[name]).fit(X[:2000], y[:2000])
    p = np.clip(model.predict_proba(X[2000:])[np.arange(1000), y[2000:]], 1e-15, 1.0)
    share = y[:2000].mean()
    constant = -np.mean(np.where(y[2000:] == 1, math.log(share), math.log(1.0 - share)))
    assert -np.log(p).mean() < constant


@pytest.mark.parametrize("name", [*BINARY, *(f"many {name}" for name in MANY)])
def test_single_examples_have_the_probabilities_of_batches(name: str) -> None:
    many = name.startswith("many ")
    X, y = stream(3 if many else 2, 300)
    model = make((MANY if many else BINARY)[name.removeprefix("many ")]).fit(X, y)
    assert model.predict_proba_one(X[0]).keys() == set(model.classes_.tolist())
    for x, row in zip(X[:20], model.predict_proba(X[:20]).tolist(), strict=True):
        assert list(model.predict_proba_one(x).values()) == row


@pytest.mark.parametrize("name", [*BINARY, *(f"many {name}" for name in MANY)])
def test_calibration_does_not_depend_on_how_examples_are_given(name: str) -> None:
    many = name.startswith("many ")
    X, y = stream(3 if many else 2)
    base, classes = (MANY if many else BINARY)[name.removeprefix("many ")], np.unique(y)
    whole = calibration_of(make(base).partial_fit(X, y, classes=classes)).tobytes()
    rows = make(base).partial_fit(X[:1], y[:1], classes=classes)
    for x, label in zip(X[1:], y[1:].tolist(), strict=True):
        rows.learn_one(x, label)
    assert calibration_of(rows).tobytes() == whole
    parts = make(base)
    for start, stop in ((0, 7), (7, 1030), (1030, 1500)):
        if start:
            parts = from_bytes(to_bytes(parts), "part")
        parts.partial_fit(sp.csr_matrix(X[start:stop]), y[start:stop], classes=None if start else classes)
    assert calibration_of(parts).tobytes() == whole


NATIVE = ("sgd-logistic", "auto")
"""Models whose scores are log-odds: they have no calibration."""


@pytest.mark.parametrize("name", [name for name in BINARY if name not in NATIVE])
def test_calibration_learns_from_scores_that_precede_their_labels(name: str) -> None:
    X, y = stream(2)
    model = make(BINARY[name]).partial_fit(X[:1], y[:1], classes=[0, 1])
    slow, t = calibration_of(model).copy(), 1
    for x, label in zip(X[1:400], y[1:400].tolist(), strict=True):
        t += 1
        if t == next_calibrated_example.function(t - 1):
            score = model.decision_function(x[None])[0] / (0.3 if name == "perceptron-averaged" else 1.0)
            update_calibration(slow, float(score), 1.0 if label else -1.0, 1.0)
        model.learn_one(x, label)
    assert calibration_of(model) == pytest.approx(slow, rel=1e-6, abs=1e-9)


def test_only_the_first_pass_calibrates() -> None:
    X, y = stream(2)
    one, five = AROW(shuffle=False).fit(X, y), AROW(shuffle=False, passes=5).fit(X, y)
    assert calibration_of(one).tobytes() == calibration_of(five).tobytes()
    assert one.coef_.tolist() != five.coef_.tolist()


def test_examples_after_several_passes_calibrate() -> None:
    X, y = stream(2)
    model = AROW(shuffle=False, passes=2).fit(X, y)
    before = calibration_of(model).copy()
    model.partial_fit(X, y)
    assert calibration_of(model)[TOTAL_WEIGHT] > before[TOTAL_WEIGHT]


def test_a_refused_batch_leaves_the_calibration_as_it_was() -> None:
    X, y = stream(2)
    model = AROW(shuffle=False).fit(X, y)
    before, bad = calibration_of(model).tobytes(), X.copy()
    bad[-1, 0] = np.inf
    with pytest.raises(ValueError, match="1499"):
        model.partial_fit(bad, y)
    assert calibration_of(model).tobytes() == before


def test_sample_weights_weigh_in_the_calibration() -> None:
    X, y = stream(2)
    heavy = Perceptron(shuffle=False).fit(X, y, sample_weight=np.where(y == 1, 5.0, 1.0))
    plain = Perceptron(shuffle=False).fit(X, y)
    assert heavy.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean()


def test_without_calibration_there_are_no_probabilities() -> None:
    X, y = stream(2)
    model = Perceptron(calibrate=False).fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "predict_proba_one")
    with pytest.raises(AttributeError, match="calibrate=False"):
        model.predict_proba(X)
    assert require_state(model).ledger.book.counts[CALIBRATED_NEXT] == NEVER_CALIBRATED
    assert model.coef_.tobytes() == Perceptron().fit(X, y).coef_.tobytes()


def test_the_logistic_loss_needs_no_calibration() -> None:
    X, y = stream(2)
    model = SGD(calibrate=False, shuffle=False).fit(X, y)
    assert model.predict_proba(X)[:, 1] == pytest.approx(1.0 / (1.0 + np.exp(-model.decision_function(X))))
    assert len(calibration_of(model)) == 0


@pytest.mark.parametrize(
    "model",
    [
        Elimination(),
        LabelRanking(),
        OnlineToBatch(Perceptron()),
        OneVsAll(AROW(calibrate=False)),
    ],
)
def test_models_without_probabilities_say_so(model: Any) -> None:
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="has no predict_proba: "):
        model.predict_proba([[0.0]])


def test_calibrate_must_be_a_truth_value() -> None:
    with pytest.raises(ValueError, match="calibrate must be True or False, but is 'yes'"):
        Perceptron(calibrate="yes").fit([[0.0], [1.0]], [0, 1])  # type: ignore[arg-type]


def test_one_known_class_has_probability_one() -> None:
    model = Perceptron().partial_fit([[1.0], [2.0]], ["a", "a"])
    assert model.predict_proba([[1.0]]).tolist() == [[1.0]]
    assert model.predict_proba_one({0: 1.0}) == {"a": 1.0}


def test_before_the_first_example_there_is_no_probability() -> None:
    assert Perceptron().predict_proba_one({"a": 1.0}) == {}
    assert Auto().predict_proba_one({"a": 1.0}) == {}
    with pytest.raises(ValueError, match="has learned nothing yet"):
        Perceptron().predict_proba([[1.0]])


@pytest.mark.parametrize("update", ["each", "top"])
def test_labels_of_a_set_have_separate_probabilities(update: str) -> None:
    X, _ = stream(2)
    Y = [[name for name, value in zip("abc", row, strict=False) if value > 0.5] for row in X]
    model = MultiLabel(Perceptron(average=True), update=update).fit(X, Y)  # type: ignore[arg-type]
    p = model.predict_proba(X)
    assert p.shape == (len(X), 3)
    predicted = [[label for label, q in zip("abc", row, strict=True) if q > 0.5] for row in p]
    assert predicted == model.predict(X)
    assert list(model.predict_proba_one(X[0]).values()) == p[0].tolist()


def test_a_third_class_keeps_the_probabilities_of_the_others_in_auto() -> None:
    X, y = stream(2)
    model = Auto(shuffle=False).partial_fit(X, y)
    binary = model._model
    assert len(calibration_of(model)) == 0
    assert binary.predict_proba(X)[:, 1] == pytest.approx(1.0 / (1.0 + np.exp(-binary.decision_function(X))))
    many = to_multiclass(binary)
    assert np.abs(many.predict_proba(X) - binary.predict_proba(X)).max() < 1e-9
    model.partial_fit(X[:1], [2])
    assert model.predict_proba(X).shape == (len(X), 3)
    assert model.predict_proba(X) == pytest.approx(np.exp(model.decision_function(X)), abs=1e-12)
    assert len(calibration_of(model)) == 0


def test_a_network_has_probabilities_of_single_examples() -> None:
    X, y = stream(2, 200)
    model = MultilayerPerceptron().fit(X, y)
    assert list(model.predict_proba_one(X[3]).values()) == pytest.approx(model.predict_proba(X[3:4])[0].tolist())
