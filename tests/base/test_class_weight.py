"""Class weights: the same as sample weights by label, however examples are given."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from novikoff import (
    AROW,
    SGD,
    AllVsAll,
    Auto,
    BalancedWinnow,
    Hierarchical,
    Kesler,
    LabelRanking,
    ModelFileError,
    MultiLabel,
    MultilayerPerceptron,
    OneVsAll,
    OnlineToBatch,
    Perceptron,
    QueryRanking,
    Winnow,
    load,
)
from novikoff.base.internals import require_state, working_model_of
from novikoff.core.class_weights import FIRST_CLASS, N_CLASSES, N_EXAMPLES
from novikoff.core.updaters.base import state_arrays
from novikoff.distributed.compatibility import prepare_model
from novikoff.model_file import _build_content, from_bytes, to_bytes, to_header_and_tensors

BINARY: dict[str, Any] = {
    "perceptron": Perceptron(average=True),
    "sgd": SGD(),
    "arow": AROW(),
    "winnow": Winnow(threshold=3.0),
    "balanced-winnow": BalancedWinnow(),
    "auto": Auto(),
    "multilayer-perceptron": MultilayerPerceptron(hidden_layer_sizes=(3,)),
}
MANY: dict[str, Any] = {
    "kesler": Kesler(AROW()),
    "one-vs-all": OneVsAll(SGD()),
    "all-vs-all": AllVsAll(Perceptron()),
    "hierarchical": Hierarchical(Perceptron()),
    "auto": Auto(),
    "multilayer-perceptron": MultilayerPerceptron(hidden_layer_sizes=(3,)),
}
EVERY = [*BINARY, *(f"many {name}" for name in MANY)]


def make(name: str, class_weight: Any) -> Any:
    """Return an unfitted learner that weighs classes."""
    model = (MANY if name.startswith("many ") else BINARY)[name.removeprefix("many ")]
    if hasattr(model, "estimator"):
        inner = type(model.estimator)(**{**model.estimator.get_params(), "class_weight": class_weight})
        inner.shuffle = False
        return type(model)(inner)
    return type(model)(**{**model.get_params(), "class_weight": class_weight, "shuffle": False})


def make_stream(name: str, rows: int = 300) -> tuple[Any, Any]:
    """Return rows with values between 0 and 1 and imbalanced labels."""
    rng = np.random.default_rng(rows)
    X = rng.random((rows, 5)) * (rng.random((rows, 5)) < 0.8)
    signal = X[:, 0] + 0.3 * rng.standard_normal(rows)
    if name.startswith("many "):
        return X, np.array(["common", "rare", "third"])[(signal > 0.9).astype(int) + (X[:, 1] > 0.9)]
    return X, (signal > 0.9).astype(int)


def weigh_given(y: Any, weights: dict[Any, float]) -> Any:
    return np.array([weights.get(label, 1.0) for label in y.tolist()])


def weigh_balanced(y: Any) -> Any:
    """Return n/(k·n_c) for each example, from the labels up to it."""
    found, labels = [], y.tolist()
    for t in range(1, len(labels) + 1):
        seen = labels[:t]
        found.append(t / (len(set(seen)) * seen.count(labels[t - 1])))
    return np.array(found)


def learned_bytes(model: Any) -> list[bytes]:
    """Return all that was learned, but for the class weights themselves."""
    state = require_state(working_model_of(model))
    book = state.ledger.book
    arrays = state_arrays(state.updater).values()
    return [a.tobytes() for a in (*arrays, book.counts, book.sums, book.calibration)]


@pytest.mark.parametrize("name", EVERY)
def test_given_weights_are_sample_weights(name: str) -> None:
    X, y = make_stream(name)
    weights = {"rare": 7.0, "third": 0.5} if y.dtype.kind == "U" else {1: 7.0}
    model = make(name, weights).fit(X, y)
    reference = make(name, None).fit(X, y, sample_weight=weigh_given(y, weights))
    assert learned_bytes(model) == learned_bytes(reference)
    assert model.ledger_.weighted == sum(weigh_given(y, weights) != 1.0)


@pytest.mark.parametrize("name", EVERY)
def test_balanced_weights_are_those_of_running_frequencies(name: str) -> None:
    X, y = make_stream(name)
    model = make(name, "balanced").fit(X, y)
    reference = make(name, None).fit(X, y, sample_weight=weigh_balanced(y))
    assert learned_bytes(model) == learned_bytes(reference)


@given(st.lists(st.sampled_from("abcd"), min_size=4, max_size=60).filter(lambda y: len(set(y)) > 1))
@settings(deadline=None, max_examples=30)
def test_balanced_weights_of_any_labels(labels: list[str]) -> None:
    y, X = np.array(labels), np.random.default_rng(0).standard_normal((len(labels), 3))
    model = OneVsAll(SGD(class_weight="balanced", shuffle=False)).fit(X, y)
    reference = OneVsAll(SGD(shuffle=False)).fit(X, y, sample_weight=weigh_balanced(y))
    assert learned_bytes(model) == learned_bytes(reference)
    counts = require_state(model).ledger.book.class_weights
    assert counts[N_EXAMPLES] == len(y)
    assert counts[N_CLASSES] == len(set(labels))
    assert sorted(counts[FIRST_CLASS:][counts[FIRST_CLASS:] > 0]) == sorted(np.unique(y, return_counts=True)[1])


@pytest.mark.parametrize("class_weight", ["balanced", {1: 5.0, "rare": 5.0}])
@pytest.mark.parametrize("name", EVERY)
def test_weights_do_not_depend_on_how_examples_are_given(name: str, class_weight: Any) -> None:
    X, y = make_stream(name)
    names = np.unique(y)
    whole = make(name, class_weight).partial_fit(X, y, classes=names)
    rows = make(name, class_weight).partial_fit(X[:1], y[:1], classes=names)
    for x, label in zip(X[1:], y[1:].tolist(), strict=True):
        rows.learn_one(x, label)
    parts = make(name, class_weight)
    for start, stop in ((0, 1), (1, 90), (90, 300)):
        if start:
            parts = from_bytes(to_bytes(parts), "part")
        parts.partial_fit(sp.csr_matrix(X[start:stop]), y[start:stop], classes=None if start else names)
    assert learned_bytes(rows) == learned_bytes(whole)
    assert learned_bytes(parts) == learned_bytes(whole)
    assert to_bytes(parts) == to_bytes(whole) == to_bytes(rows)


@pytest.mark.parametrize("name", EVERY)
def test_sample_weights_are_multiplied_by_class_weights(name: str) -> None:
    X, y = make_stream(name)
    weights, own = {"rare": 3.0} if y.dtype.kind == "U" else {1: 3.0}, np.linspace(0.0, 2.0, len(y))
    model = make(name, weights).fit(X, y, sample_weight=own)
    reference = make(name, None).fit(X, y, sample_weight=own * weigh_given(y, weights))
    assert learned_bytes(model) == learned_bytes(reference)


def test_a_new_class_of_a_stream_is_weighed() -> None:
    X, y = make_stream("many kesler")
    first = np.flatnonzero(y == "third")[0]
    assert 0 < first < len(y) - 1
    for class_weight in ("balanced", {"third": 9.0}):
        model = Kesler(AROW(class_weight=class_weight, shuffle=False))
        weights = weigh_balanced(y) if class_weight == "balanced" else weigh_given(y, {"third": 9.0})
        reference = Kesler(AROW(shuffle=False))
        for x, label, weight in zip(X, y.tolist(), weights.tolist(), strict=True):
            model.learn_one(x, label)
            reference.partial_fit(x[None], [label], sample_weight=[weight])
        assert learned_bytes(model) == learned_bytes(reference)


def test_auto_keeps_the_counts_when_a_third_class_arrives() -> None:
    X, y = make_stream("many auto")
    first = np.flatnonzero(y == "third")[0]
    assert 0 < first < len(y) - 1
    model = Auto(class_weight="balanced")
    for x, label in zip(X, y.tolist(), strict=True):
        model.learn_one(x, label)
    reference = Auto()
    for x, label, weight in zip(X, y.tolist(), weigh_balanced(y).tolist(), strict=True):
        reference.partial_fit(x[None], [label], sample_weight=[weight])
    assert learned_bytes(model) == learned_bytes(reference)


def test_a_refused_batch_is_not_counted() -> None:
    X, y = make_stream("sgd")
    model = SGD(class_weight="balanced", shuffle=False).fit(X, y)
    before, bad = to_bytes(model), X.copy()
    bad[-1, 0] = np.inf
    with pytest.raises(ValueError, match="299"):
        model.partial_fit(bad, y)
    with pytest.raises(ValueError, match="inf"):
        model.learn_one(bad[-1], 1)
    assert to_bytes(model) == before


def test_theorems_for_plain_runs_are_not_claimed() -> None:
    X, y = make_stream("perceptron")
    assert Perceptron().fit(X, y).bounds()
    assert not Perceptron(class_weight={1: 2.0}).fit(X, y).bounds()


def test_files_are_weighed_as_arrays_are(tmp_path: Any) -> None:
    X, y = make_stream("many kesler")
    table = tmp_path / "train.csv"
    lines = ["a,b,c,d,e,label", *(",".join([*map(repr, x.tolist()), label]) for x, label in zip(X, y, strict=True))]
    table.write_text("\n".join(lines) + "\n")
    for text, setting in (("balanced", "balanced"), ("rare:7,third:0.5", {"rare": 7.0, "third": 0.5})):
        saved = tmp_path / "model"
        command = ["learn", str(table), "--label", "label", "--learner", "arow", "--class-weight", text, "--quiet"]
        subprocess.run([sys.executable, "-m", "novikoff", *command, "--save", str(saved)], check=True)
        model = Kesler(AROW(class_weight=setting)).partial_fit(X.astype(np.float32), y)
        learned = load(saved)
        order = [learned.classes_.tolist().index(label) for label in model.classes_]
        assert learned.coef_[order] == pytest.approx(model.coef_, rel=1e-5, abs=1e-6)
        assert load(saved).estimator.class_weight == setting
        resumed = tmp_path / "resumed"
        command = ["learn", str(table), "--resume", str(saved), "--quiet", "--save", str(resumed)]
        subprocess.run([sys.executable, "-m", "novikoff", *command], check=True)
        assert load(resumed).ledger_.examples == 2 * len(y)


# --- Invalid input ---


@pytest.mark.parametrize(
    ("setting", "match"),
    [
        ("even", "'even'"),
        (3.0, "but is 3.0"),
        ([1.0, 2.0], "dict of label"),
        ({}, "names no label"),
        ({1: 0.0}, "above 0 .* 0.0 for 1"),
        ({1: -1.0}, "above 0"),
        ({1: float("nan")}, "above 0"),
        ({1: float("inf")}, "above 0"),
        ({1: "2"}, "'2' for 1"),
        ({1.5: 2.0}, "label 1.5"),
        ({(1, 2): 2.0}, "label"),
    ],
)
def test_invalid_weights_are_refused(setting: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        SGD(class_weight=setting).fit([[0.0], [1.0]], [0, 1])


def test_a_label_without_examples_is_named() -> None:
    with pytest.raises(ValueError, match=r"class_weight names 'spma', but no example has that label: .*'ham', 'spam'"):
        SGD(class_weight={"spma": 2.0}).fit([[0.0], [1.0]], ["ham", "spam"])
    model = SGD(class_weight={"spam": 2.0})  # in a stream it may come later
    assert model.learn_one({0: 0.5}, "ham").learn_one({0: 1.0}, "spam").ledger_.weighted == 1


@pytest.mark.parametrize(
    "model",
    [
        MultiLabel(SGD(class_weight="balanced")),
        LabelRanking(Perceptron(class_weight="balanced")),
        QueryRanking(Perceptron(class_weight="balanced")),
        OnlineToBatch(Perceptron(class_weight="balanced")),
    ],
)
def test_models_whose_examples_have_no_class_refuse_weights(model: Any) -> None:
    more = {"qid": [0, 0]} if isinstance(model, QueryRanking) else {}
    with pytest.raises(ValueError, match="does not take class_weight"):
        model.fit([[0.0], [1.0]], [[0], [1]] if isinstance(model, MultiLabel | LabelRanking) else [0, 1], **more)


def test_shards_cannot_be_balanced() -> None:
    with pytest.raises(ValueError, match="give a weight for each label"):
        prepare_model(Perceptron(class_weight="balanced"), 1)


@pytest.mark.parametrize("text", ["spam", "spam:", ":2", "spam:x", "a:1,a:2"])
def test_invalid_weights_on_the_command_line_are_named(text: str, tmp_path: Any) -> None:
    (tmp_path / "t.svm").write_text("+1 1:1\n-1 2:1\n")
    command = ["learn", str(tmp_path / "t.svm"), "--learner", "sgd", "--class-weight", text]
    done = subprocess.run([sys.executable, "-m", "novikoff", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--class-weight" in done.stderr
    assert "Traceback" not in done.stderr


def test_crafted_counts_are_refused() -> None:
    X, y = make_stream("sgd")
    header, tensors = to_header_and_tensors(SGD(class_weight="balanced").fit(X, y))
    for at, value in ((0, 1.0), (1, 3.0), (2, float("nan")), (3, -1.0)):
        crafted = {name: array.copy() for name, array in tensors.items()}
        crafted["class_counts.examples"][at] = value
        with pytest.raises(ModelFileError, match="class_counts"):
            from_bytes(_build_content(header, crafted), "m")
    longer = {**tensors, "class_counts.examples": np.zeros(9)}
    with pytest.raises(ModelFileError, match="class_counts"):
        from_bytes(_build_content(header, longer), "m")
