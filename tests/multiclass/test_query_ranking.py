"""QueryRanking: a plain Python reference, its measures against plain ones, and invalid queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from novikoff import AROW, SGD, BalancedWinnow, InputError, Perceptron, QueryRanking, Winnow, load, save
from novikoff.model_file import to_bytes

pytestmark = pytest.mark.plain_python_coverage


def queries(seed: int, count: int = 20, width: int = 4) -> tuple[Any, Any, Any]:
    """Numbers of few binary digits, so that every order of summation gives the same."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, count)
    X = rng.integers(-8, 9, (sizes.sum(), width)) / 4.0
    w = rng.integers(-2, 3, width)
    grades = np.clip(np.round(X @ w + rng.standard_normal(len(X))), 0, 2)
    return X, grades, np.repeat(np.arange(count), sizes)


def reference_ranking(X: Any, grades: Any, qid: Any, update: str) -> tuple[Any, int]:
    """The Perceptron on means of differences; the weights, and the queries with a preference that was not met."""
    w, mistakes = np.zeros(X.shape[1]), 0
    for query in dict.fromkeys(qid):
        x, g = X[qid == query], grades[qid == query]
        pairs = [(a, b) for a in range(len(x)) for b in range(len(x)) if g[a] > g[b]]
        missed = [(a, b) for a, b in pairs if (x[a] - x[b]) @ w <= 0.0]
        if not missed:
            continue
        mistakes += 1
        short = [-(x[a] - x[b]) @ w for a, b in missed]
        if update == "top":
            worst = int(np.argmax(short))
            shares = [float(k == worst) for k in range(len(missed))]
        elif update == "uniform" or sum(short) == 0.0:
            shares = [1.0 / len(missed)] * len(missed)
        else:
            shares = [s / sum(short) for s in short]
        w = w + sum(share * (x[a] - x[b]) for share, (a, b) in zip(shares, missed, strict=True))
    return w, mistakes


@pytest.mark.parametrize("update", ["top", "uniform", "proportional"])
def test_it_equals_its_reference(update: Any) -> None:
    for seed in range(12):
        X, grades, qid = queries(seed)
        model = QueryRanking(Perceptron(shuffle=False), update=update).fit(X, grades, qid)
        w, mistakes = reference_ranking(X, grades, qid, update)
        np.testing.assert_allclose(model.coef_[0], w, rtol=1e-9, atol=1e-9)
        ledger = model.ledger_
        assert (ledger.examples, ledger.mistakes, ledger.updates) == (20, mistakes, mistakes)
        assert model.intercept_.tolist() == [0.0]  # the same for all documents, and so left out


def test_batches_files_and_passes_give_the_same_model(tmp_path: Path) -> None:
    X, grades, qid = queries(1)
    whole = QueryRanking(AROW()).partial_fit(X, grades, qid)
    half = int(np.flatnonzero(qid == 9)[0])
    part = QueryRanking(AROW()).partial_fit(X[:half], grades[:half], qid[:half])
    save(part, tmp_path / "q.model")
    again = load(tmp_path / "q.model").partial_fit(X[half:], grades[half:], qid[half:])
    assert to_bytes(again) == to_bytes(whole)
    twice = QueryRanking(AROW(passes=2, shuffle=False)).fit(X, grades, qid)
    assert np.array_equal(whole.partial_fit(X, grades, qid).coef_, twice.coef_)


def test_ranking_measures_equal_their_definition() -> None:
    rng = np.random.default_rng(3)
    X, grades, qid = queries(4, count=40)
    model = QueryRanking(SGD(loss="hinge")).fit(X, grades, qid)
    found, scores = model.rank(X, grades, qid), model.predict(X) + 1e-9 * rng.random(len(X))
    ndcg, precision = [], []
    for query in range(40):
        g, s = grades[qid == query], scores[qid == query]
        ndcg.append(ndcg_score([2.0**g - 1.0], [s], k=10) if len(g) > 1 and g.any() else float(g.any()))
        order = g[np.argsort(-s)] > 0
        precision.append(np.mean([order[: k + 1].mean() for k in np.flatnonzero(order)]) if order.any() else 0.0)
    assert found.queries == 40
    assert found.ndcg == pytest.approx(np.mean(ndcg), abs=0.02)  # ties are broken otherwise
    assert found.map == pytest.approx(np.mean(precision), abs=0.02)


def test_queries_without_preferences_change_nothing() -> None:
    model = QueryRanking().fit([[1.0], [2.0], [3.0]], [1, 2, 2], [5, 6, 6])  # one document; equal grades
    assert (model.ledger_.examples, model.ledger_.mistakes, model.ledger_.updates) == (2, 0, 0)
    assert model.coef_.tolist() == [[0.0]]


def test_invalid_queries_are_refused() -> None:
    X, grades, qid = [[1.0], [2.0], [3.0]], [0, 1, 2], [1, 1, 2]
    for fit, sentence in (
        (lambda: QueryRanking().fit(X, grades), "needs qid"),
        (lambda: QueryRanking().fit(X, grades, [1, 2, 1]), "query 1 comes again"),
        (lambda: QueryRanking().fit(X, ["a", "b", "c"], qid), "Grades must be numbers"),
        (lambda: QueryRanking().fit(X, [0, np.nan, 1], qid), "Grades must be finite"),
        (lambda: QueryRanking().fit(X, grades, [1, 1]), "inconsistent"),
        (lambda: QueryRanking(Winnow()).fit(X, grades, qid), "either sign"),
        (lambda: QueryRanking().fit([[np.nan], [1.0], [2.0]], grades, qid), "NaN"),
    ):
        with pytest.raises(InputError, match=sentence):
            fit()


def test_single_examples_are_not_learned() -> None:
    model = QueryRanking()
    assert not hasattr(model, "learn_one")
    with pytest.raises(AttributeError, match="it learns whole queries, by partial_fit"):
        _ = model.learn_one


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_balanced_winnow_learns_queries(kind: Any) -> None:
    X = np.random.default_rng(2).uniform(-0.5, 0.5, (80, 4)).astype(kind)
    grades = (X[:, 0] > X[:, 1]).astype(int)
    model = QueryRanking(BalancedWinnow(passes=20)).fit(X, grades, qid=np.arange(80) // 8)
    scores = model.decision_function(X)
    assert scores[grades == 1].mean() > scores[grades == 0].mean()
    first, second = model.coef_[0][:2]
    assert first > 0.0 > second
