"""The multilayer perceptron: its gradient, a plain Python reference, the same bytes for all ways to learn, files."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from novikoff import InputError, MultilayerPerceptron, WeightOverflowError, certify, load, save, verify
from novikoff.cli.main import main
from novikoff.core.counter_rng import uniform
from novikoff.core.mlp.network import NetworkWorkspace, backward, forward, output_error
from novikoff.data.rows import Dense
from novikoff.model_file import from_bytes, to_bytes
from tests.helpers.learners import EXPECTED_FAILED_CHECKS
from tests.helpers.streams import csr

pytestmark = pytest.mark.plain_python_coverage

XOR = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], float), ["same", "other", "other", "same"]
KINDS: dict[str, dict[str, Any]] = {
    "adagrad": {},
    "constant": {"schedule": "constant", "loss": "cross-entropy"},
    "sqrt-batch": {"schedule": "sqrt", "batch_size": 3, "hidden_layer_sizes": (5, 4)},
    "adagrad-batch": {"batch_size": 4, "loss": "cross-entropy", "hidden_layer_sizes": (3, 4, 2)},
}
EVERY = pytest.mark.parametrize("name", KINDS)


def model(name: str, **changes: Any) -> MultilayerPerceptron:
    return MultilayerPerceptron(**{"hidden_layer_sizes": (6,), **KINDS[name], **changes})


def stream(seed: int, rows: int = 40, columns: int = 5, classes: int = 3) -> tuple[Any, list[str]]:
    """Classes come one after another; some values are 0."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < 0.7)
    y = (np.abs(X[:, 0] + X[:, 1]) * 1.5).astype(int) % classes
    y = np.minimum(y, np.arange(rows) // 8)
    return X, [["ant", "bee", "cow", "dog"][c] for c in y]


@pytest.mark.slow  # for rows of three kinds, each of which is to be compiled
@parametrize_with_checks(
    [MultilayerPerceptron(hidden_layer_sizes=(8,), passes=20)], expected_failed_checks=lambda _: EXPECTED_FAILED_CHECKS
)  # fmt: skip
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


# --- The gradient ---


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["squared", "cross-entropy"]), st.sampled_from([(4,), (3, 2), (2, 3, 4)]))
def test_the_gradient_is_that_of_finite_differences(seed: int, loss: Any, hidden: tuple[int, ...]) -> None:
    """A step of length 1 without AdaGrad is the gradient: it is compared with (E(w + h) − E(w − h))/2h."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((1, 3)), int(rng.integers(0, 3))
    network = MultilayerPerceptron(
        hidden_layer_sizes=hidden, loss=loss, schedule="constant", learning_rate=1.0, random_state=seed
    )
    network.partial_fit(X, [0], classes=[0, 1, 2])
    before = network._require_fitted().copy().updater
    after = network.partial_fit(X, [y])._require_fitted().updater
    rows, units = Dense(X.reshape(-1), 3), sum(hidden)
    desk = NetworkWorkspace(np.zeros(units), np.zeros(units), np.zeros(3), np.zeros(3))

    def error() -> float:
        assert forward(before, rows, 0, 3, desk)
        return float(output_error(before, y, 3, desk))

    for name in ("weights", "deep", "top"):
        weights, moved = getattr(before, name).reshape(-1), getattr(after, name).reshape(-1)
        for j in range(len(weights)):
            old, h = weights[j], 1e-5
            weights[j] = old + h
            high = error()
            weights[j] = old - h
            slope = (high - error()) / (2 * h)
            weights[j] = old
            assert math.isclose(old - moved[j], slope, rel_tol=1e-5, abs_tol=1e-8), (name, j)


def test_deltas_equal_the_backpropagation_formula() -> None:
    network = MultilayerPerceptron(hidden_layer_sizes=(2,)).fit(*XOR)
    net = network._require_fitted().updater
    desk = NetworkWorkspace(np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2))
    forward(net, Dense(np.ones(2), 2), 0, 2, desk)
    output_error(net, 1, 2, desk)
    backward(net, 2, desk)
    expected = desk.given * (1 - desk.given) * (net.top[:, 1:].T @ desk.output_deltas)
    assert np.allclose(desk.deltas, expected)


# --- The reference ---


def reference_network(network: MultilayerPerceptron, X: Any, y: Any) -> tuple[list[Any], int]:
    """The algorithm as it stands in books, weights and all in plain lists of arrays, for numbered classes."""
    begun = type(network)(**network.get_params())
    state = begun._build_state(X.shape[1], np.float64, None, begun._empty_labels().named(network.classes_))
    begun._make_outputs(state)
    begun._set_state(state)
    W = [np.vstack([b, w]) for b, w in zip(begun.intercepts_, begun.coefs_, strict=True)]
    G, pulls, mistakes, steps = [w * 0 for w in W], [w * 0 for w in W], 0, 0
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        given = [x]
        for w in W:
            given.append(1 / (1 + np.exp(-(w[0] + given[-1] @ w[1:]))))
        target = np.arange(len(network.classes_)) == label
        mistakes += int(given[-1].argmax() != label)
        delta = given[-1] - target
        if network.loss == "squared":
            delta = delta * given[-1] * (1 - given[-1])
        for layer in range(len(W) - 1, -1, -1):
            pulls[layer] += np.vstack([delta, np.outer(given[layer], delta)])
            delta = (W[layer][1:] @ delta) * given[layer] * (1 - given[layer]) if layer else delta
        if t % network.batch_size == 0:
            steps += 1
            for k in range(len(W)):
                g = pulls[k] / network.batch_size
                G[k] += g * g
                adapted = np.sqrt(np.where(G[k] > 0, G[k], 1)) if network.schedule == "adagrad" else 1.0
                W[k] -= network.learning_rate / (steps**0.5 if network.schedule == "sqrt" else 1.0) * g / adapted
                pulls[k] *= 0
    return W, mistakes


@EVERY
def test_it_equals_its_reference(name: str) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((50, 4)), rng.integers(0, 3, 50)
    network = model(name).set_params(shuffle=False).fit(X, y)
    W, mistakes = reference_network(network, X, y)
    for mine, bias, w in zip(network.coefs_, network.intercepts_, W, strict=True):
        assert np.allclose(mine, w[1:], rtol=1e-9, atol=1e-11)
        assert np.allclose(bias, w[0], rtol=1e-9, atol=1e-11)
    assert network.ledger_.mistakes == mistakes
    assert network.ledger_.updates == 50 // network.batch_size


# --- One arithmetic ---


@EVERY
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 1000), cuts=st.lists(st.integers(0, 40), max_size=5).map(sorted))
def test_batch_boundaries_do_not_change_the_bytes(name: str, seed: int, cuts: list[int]) -> None:
    X, y = stream(seed)
    whole = to_bytes(model(name).partial_fit(X, y))
    assert to_bytes(model(name).partial_fit(csr(X), y)) == whole
    parts, saved = model(name), model(name)
    for start, stop in zip([0, *cuts], [*cuts, len(y)], strict=True):
        if stop > start:
            parts.partial_fit(X[start:stop], y[start:stop])
            saved = from_bytes(to_bytes(saved.partial_fit(csr(X)[start:stop], y[start:stop])), "m")
    assert to_bytes(parts) == to_bytes(saved) == whole
    one = model(name)
    for x, label in zip(X, y, strict=True):
        one.learn_one(x, label)
    assert to_bytes(one) == whole
    dicts = model(name).learn_one(X[0], y[0])  # which says how many features there are
    for x, label in zip(X[1:], y[1:], strict=True):
        dicts.learn_one({j: v for j, v in enumerate(x) if v != 0.0}, label)
    assert to_bytes(dicts) == whole
    assert [dicts.predict_one(x) for x in X] == dicts.predict(X).tolist()
    given = np.array(list(dicts.score_one(X[0]).values()))
    assert (given / given.sum() == dicts.predict_proba(X[:1])[0]).all()


def test_late_features_start_with_the_weights_they_would_have_had() -> None:
    X, y = stream(4)
    early = MultilayerPerceptron().learn_one({9: 0.0}, y[0])
    late = MultilayerPerceptron()
    for x, label in zip(X, y, strict=True):
        terms = {j: v for j, v in enumerate(x) if v != 0.0}
        early.learn_one(terms, label)
        late.learn_one(terms, label)
    late_row, early_row = late._require_fitted().updater.weights[:6], early._require_fitted().updater.weights[:6]
    assert late_row.shape == early_row.shape
    fresh = MultilayerPerceptron()._spec().build_updater(20, np.float64).weights
    assert (early._require_fitted().updater.weights[7:11] == fresh[7:11]).all()


def test_initial_weights_depend_on_seed_layer_and_position_only() -> None:
    many, few = uniform(5, 0, np.arange(1000), 8), uniform(5, 0, np.arange(7, 9), 8)
    assert (many[7:9] == few).all()
    assert len(np.unique(many)) == many.size
    assert abs(many.mean() - 0.5) < 0.01
    assert abs(many.std() - 1 / math.sqrt(12)) < 0.01
    assert 0.0 <= many.min() < many.max() < 1.0
    assert (many != uniform(6, 0, np.arange(1000), 8)).all()
    assert (many != uniform(5, 1, np.arange(1000), 8)).all()


@EVERY
def test_a_refused_batch_changes_nothing(name: str) -> None:
    X, y = stream(5)
    network = model(name).partial_fit(X, y)
    kept = to_bytes(network)
    for bad in (np.nan, np.inf, 1e200):
        rows = np.repeat(X, 3, axis=0)
        rows[70, 1] = bad
        with pytest.raises(InputError):
            network.partial_fit(rows, y * 3)
        with pytest.raises(InputError):
            network.partial_fit(rows[69:72], [*y[:2], "new"])
        with pytest.raises(InputError):
            network.learn_one(rows[70], "new")
        with pytest.raises(InputError):
            network.predict(rows)
    assert to_bytes(network) == kept


def test_weights_that_grow_out_of_range_are_refused() -> None:
    with pytest.raises(WeightOverflowError):
        MultilayerPerceptron(schedule="constant", learning_rate=1e300, init_scale=1e300).fit(
            [[1e100], [-1e100]] * 9, [0, 1] * 9
        )


# --- What it learns ---


@pytest.mark.parametrize("changes", [{}, {"loss": "cross-entropy"}, {"schedule": "constant", "learning_rate": 1.0}])
def test_exclusive_or_is_learned(changes: Any) -> None:
    for seed in range(3):
        network = MultilayerPerceptron(hidden_layer_sizes=(8,), passes=600, random_state=seed, **changes).fit(*XOR)
        assert network.predict(XOR[0]).tolist() == XOR[1]
        assert (network.decision_function(XOR[0]) > 0).tolist() == [label == "same" for label in XOR[1]]
        assert np.allclose(network.predict_proba(XOR[0]).sum(axis=1), 1.0)


def test_digits_are_learned() -> None:
    X, y = load_digits(return_X_y=True)
    X = X / 16
    network = MultilayerPerceptron(hidden_layer_sizes=(32,), passes=20).fit(X[:1200], y[:1200])
    assert network.score(X[1200:], y[1200:]) > 0.9
    assert network.score(X[:1200], y[:1200]) > 0.98
    again = MultilayerPerceptron(hidden_layer_sizes=(32,), passes=20, batch_size=8, learning_rate=0.5).fit(
        X[:1200], y[:1200]
    )
    assert again.score(X[1200:], y[1200:]) > 0.9


def test_new_classes_count_as_mistakes_and_get_a_unit() -> None:
    network = MultilayerPerceptron()
    for x, label in [({"barks": 1.0}, "dog"), ({"meows": 1.0}, "cat"), ({"sings": 1.0}, "bird")]:
        network.learn_one(x, label)
    assert network.ledger_.mistakes == 3
    assert network.classes_.tolist() == ["dog", "cat", "bird"]
    assert network.coefs_[-1].shape == (16, 3)
    for _ in range(30):
        network.learn_one({"meows": 1.0}, "cat").learn_one({"barks": 1.0}, "dog")
    assert network.predict_one({"meows": 1.0, "unknown": 5.0}) == "cat"
    assert set(network.score_one({"meows": 1.0})) == {"dog", "cat", "bird"}


def test_an_incomplete_mini_batch_waits() -> None:
    X, y = stream(6)
    network = MultilayerPerceptron(batch_size=100).partial_fit(X, y)
    assert network.ledger_.updates == 0
    assert (network.coefs_[0] == MultilayerPerceptron()._spec().build_updater(6, np.float64).weights[1:]).all()


def test_bad_settings_are_refused() -> None:
    for changes, words in [
        ({"hidden_layer_sizes": ()}, "hidden_layer_sizes"), ({"hidden_layer_sizes": 16}, "hidden_layer_sizes"),
        ({"hidden_layer_sizes": (0,)}, "hidden_layer_sizes"),
        ({"hidden_layer_sizes": "16"}, "hidden_layer_sizes"),
        ({"hidden_layer_sizes": (10**6,)}, "65,536"), ({"loss": "hinge"}, "loss"), ({"schedule": "x"}, "schedule"),
        ({"learning_rate": 0}, "learning_rate"), ({"batch_size": 0}, "batch_size"), ({"init_scale": -1}, "init_scale"),
        ({"random_state": 1.5}, "random_state"), ({"random_state": True}, "random_state"), ({"passes": 0}, "passes"),
    ]:  # fmt: skip
        with pytest.raises(InputError, match=words):
            MultilayerPerceptron(**changes).fit(*XOR)  # type: ignore[arg-type]


# --- Certificates and the command line ---


def test_a_certificate_states_that_no_theorem_applies() -> None:
    X, y = stream(7)
    certificate = certify(MultilayerPerceptron(passes=2).fit(X, y), X, y)
    assert certificate.bounds == []
    assert certificate.document["new_data"]["mean_error_bound"] > 0
    assert verify(certificate, X, y) == []
    assert verify(certificate, X * 2, y) != []


def test_files_are_learned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, model_file = tmp_path / "m.model", str(tmp_path / "a.model")
    X, y = stream(8)
    data = tmp_path / "data.svm"
    data.write_text("".join(
        f"{['ant', 'bee', 'cow'].index(label)} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(x) if v) + "\n"
        for x, label in zip(X.astype(np.float32).tolist(), y, strict=True)))  # fmt: skip
    common = ["--quiet", "--json"]
    learn = ["learn", "--learner", "multilayer-perceptron", "--hidden-layer-sizes", "5,4", "--batch-size", "3"]
    assert main([*learn, str(data), str(data), "--save", str(path), *common]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert (whole["examples"], whole["classes"]) == (80, 3)
    assert main([*learn, str(data), "--save", model_file, *common]) == 0
    assert (
        main(["learn", str(data), "--resume", model_file, "--save", model_file, "--hidden-layer-sizes", "5,4", *common])
        == 0
    )
    assert path.read_bytes() == Path(model_file).read_bytes()
    once = [sys.executable, "-m", "novikoff", "learn", str(data), "--resume", model_file, "--save", model_file]
    assert subprocess.run(once, capture_output=True, check=True)  # a new process, in which NumPy comes late
    assert load(model_file).ledger_.examples == 120
    assert load(path).hidden_layer_sizes == (5, 4)
    capsys.readouterr()
    assert main(["predict", str(path), str(data), "--quiet"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 40
    assert main(["inspect", str(path)]) == 0
    assert "layers of 6, 5, 4, 3 units" in capsys.readouterr().out
    assert main([*learn, str(data), "--positive-label", "1", "--save", model_file, *common]) == 0
    assert load(model_file).classes_.tolist() == ["not 1", "1"]
    capsys.readouterr()
    assert main(["predict", model_file, str(data), "--quiet"]) == 0
    assert set(capsys.readouterr().out.split("\n")) <= {"not 1", "1", ""}
    report = tmp_path / "r.html"
    assert main([*learn, str(data), "--report", str(report), *common]) == 0
    assert "no theorem" in report.read_text()
    with pytest.raises(SystemExit):
        main(["learn", str(data), "--learner", "multilayer-perceptron", "--hidden-layer-sizes", "5;4"])
    save(load(path), tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == path.read_bytes()
