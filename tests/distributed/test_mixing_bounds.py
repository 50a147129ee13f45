"""Σ μ·M ≤ (R/γ)² and related bounds of distributed runs, against streams chosen to break them; certificates."""

from __future__ import annotations

import copy
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novikoff import (
    AROW,
    SGD,
    BalancedWinnow,
    Kesler,
    MarginPerceptron,
    OneVsAll,
    Perceptron,
    PNormPerceptron,
    Winnow,
    certify,
)
from novikoff.certificates.bound_evaluation import evaluate_bound
from novikoff.certificates.search.witness_selection import NamedWitness
from novikoff.cli.main import main
from novikoff.distributed import DistributedLearner, worker_tasks
from novikoff.distributed.bounds import derive_bounds
from novikoff.distributed.certificate import _measure_witnesses, _MixedCounts, verify
from novikoff.distributed.measure import combine_measurements, round_up
from tests.helpers.multiclass_schemes import draw_examples, slow_unless
from tests.helpers.streams import make_random_witnessed, real, streams

BOUNDED: dict[str, Any] = {
    "perceptron": Perceptron(),
    "perceptron-thick": Perceptron(margin=0.7, learning_rate=0.5),
    "perceptron-averaged": Perceptron(average=True, fit_intercept=False),
    "margin-perceptron": MarginPerceptron(gamma=0.01),
    "p-norm-perceptron": PNormPerceptron(p=4.5),
    "sgd-hinge-constant": SGD(loss="hinge", schedule="constant", learning_rate=0.1),
    "balanced-winnow": BalancedWinnow(alpha=1.2),
}
MIXINGS = ("uniform", "mistakes", "examples")


def shares(count: int, shards: int, seed: int) -> list[Any]:
    """Return the rows of each shard, in order; no shard is empty."""
    shards = min(shards, count)
    cuts = np.sort(np.random.default_rng(seed).choice(np.arange(1, count), shards - 1, replace=False))
    return np.split(np.arange(count), cuts)


def run_with(name: str, stream: Any, shards: int, rounds: int, mixing: str, seed: int) -> tuple[Any, Any]:
    """Return a run, and the violations of its bounds for the stream's own witness."""
    X, y, u = stream
    if name == "balanced-winnow":
        X = np.clip(X, -1.0, 1.0)
    if len(set(y)) < 2 or len(y) < 2:
        return None, []
    model = BOUNDED[name]
    pairs = [(X[part], y[part]) for part in shares(len(y), shards, seed)]
    done = DistributedLearner(model, rounds=rounds, mixing=mixing).fit(pairs)
    u = u / np.linalg.norm(u)
    found = []
    for k, length in enumerate((1.0, 10.0, 0.1)):
        witness = (u * length).astype(np.float32)
        if not model.fit_intercept:
            witness[0] = 0.0
        found.append(NamedWitness(f"own {k}", witness, (1.0, 0.05 * length)))
    engine, parts, _ = done._run
    bounds = derive_bounds(done.model_, done.ledger_)
    assert bounds
    message = worker_tasks.serialize_model(done.model_)
    _, facts = _measure_witnesses(engine, parts, message, done.model_, done.ledger_, bounds, found)
    judged = [evaluate_bound(bound, facts, _MixedCounts(done.ledger_)) for bound in bounds]
    return done, [one for one in judged if one["verdict"] == "violated"]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n == "balanced-winnow" else n for n in BOUNDED]
)
@settings(max_examples=8)
@given(
    stream=streams(),
    shards=st.integers(2, 5),
    rounds=st.integers(1, 4),
    mixing=st.sampled_from(MIXINGS),
    seed=st.integers(0, 9),
)
def test_no_bound_is_broken(name: str, stream: Any, shards: int, rounds: int, mixing: str, seed: int) -> None:
    assert run_with(name, stream, shards, rounds, mixing, seed)[1] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", list(BOUNDED))
def test_no_bound_is_broken_on_many_streams(name: str) -> None:
    for seed in range(200):
        pick = np.random.default_rng(seed)
        rounds, shards = int(pick.integers(1, 6)), int(pick.integers(2, 12))
        assert run_with(name, make_random_witnessed(seed), shards, rounds, MIXINGS[seed % 3], seed)[1] == [], seed


def test_the_unweighted_count_can_exceed_the_bound() -> None:
    """The bound is for the mixed count: n equal shards make n times the mistakes of one."""
    X, y = np.eye(6), -np.ones(6, int)
    X, y = np.vstack([X, np.ones((1, 6))]), np.append(y, 1)
    done = DistributedLearner(Perceptron(fit_intercept=False), rounds=2).fit([(X[:6], y[:6])] * 3 + [(X[6:], y[6:])])
    certificate = done.certify()
    novikoff = next(b for b in certificate.bounds if b["name"] == "hinge")
    assert done.ledger_.mistakes > done.ledger_.mixture_sum("mistakes")
    assert novikoff["observed"] == float(done.ledger_.mixture_sum("mistakes"))


def test_equality_is_attained() -> None:
    """x_t = e_t, y_t = −1 makes n mistakes, R/γ = √n, in each of any number of shards."""
    n = 9
    shard = np.eye(n), -np.ones(n, int)
    done = DistributedLearner(Perceptron(fit_intercept=False), rounds=4).fit([shard] * 3, classes=[-1, 1])
    assert done.ledger_.mixture_sum("mistakes") == n
    bound = next(b for b in done.certify().bounds if b["name"] == "novikoff")
    assert bound["verdict"] == "holds"
    assert bound["bound"] == pytest.approx(n, rel=1e-3)


@settings(max_examples=8)
@given(st.data())
def test_winnow_keeps_its_bound_on_disjunctions(data: Any) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n, rows, k = data.draw(st.integers(3, 12)), data.draw(st.integers(6, 60)), data.draw(st.integers(1, 3))
    X = (rng.random((rows, n)) < 0.4).astype(float)
    y = np.where(X[:, :k].any(axis=1), 1, -1)
    if len(set(y)) < 2:
        return
    model = data.draw(
        st.sampled_from([Winnow(), Winnow(elimination=True), Winnow(floor=0.5, threshold=40.0), Winnow(margin=0.5)])
    )
    pairs = [(X[part], y[part]) for part in shares(rows, data.draw(st.integers(2, 4)), 0)]
    rounds, mixing = data.draw(st.integers(1, 3)), data.draw(st.sampled_from(MIXINGS))
    bounds = DistributedLearner(model, rounds=rounds, mixing=mixing).fit(pairs).certify().bounds
    assert bounds
    assert [b["verdict"] for b in bounds if "bound" in b] in (["holds"], ["holds", "holds"])


# --- Certificates ---


@pytest.mark.parametrize(
    "model",
    [
        Perceptron(average=True),
        PNormPerceptron(p=3.0),
        AROW(),
        pytest.param(Kesler(Perceptron()), marks=slow_unless(True)),
        pytest.param(OneVsAll(Perceptron()), marks=slow_unless(True)),
    ],
)
@pytest.mark.slow
def test_a_certificate_is_verified_and_a_changed_one_is_not(model: Any) -> None:
    X, y = real(3, rows=90) if model._needs_two_classes else draw_examples(3, rows=90)
    pairs = [(X[k::3], y[k::3]) for k in range(3)]
    done = DistributedLearner(model, rounds=3, mixing="mistakes").fit(pairs)
    certificate = done.certify()
    assert verify(certificate.document, pairs) == []
    assert bool(certificate.bounds) == (not isinstance(model, AROW))
    assert all(b["verdict"] != "violated" for b in certificate.bounds)
    assert "as the mixtures count them" in str(certificate)
    for place, value in ((("observed", "mixed_mistakes"), 1.0), (("mixing",), "uniform"), (("passes",), 2)):
        changed = copy.deepcopy(certificate.document)
        inside = changed
        for key in place[:-1]:
            inside = inside[key]
        inside[place[-1]] = value
        assert verify(changed, pairs) != []
    assert "for different data" in verify(certificate.document, pairs[::-1])[0]


def test_one_shard_is_certified_for_all_its_rounds() -> None:
    X, y = real(3, rows=90)
    done = DistributedLearner(Perceptron(), rounds=3).fit([(X, y)])
    certificate = done.certify()
    plain = certify(Perceptron(passes=3, shuffle=False).fit(X, y), X, y)
    best, there = ({b["name"]: b for b in c.bounds}["hinge"] for c in (certificate, plain))
    assert best["observed"] == there["observed"] == done.model_.ledger_.mistakes
    assert best["bound"] == pytest.approx(there["bound"], rel=0.05)
    assert verify(certificate.document, [(X, y)]) == []


def test_a_separable_stream_in_shards_has_a_witness() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5))
    y = np.where(X @ [1.0, -2.0, 0.5, 0.0, 1.0] > 0, 1, -1)
    X += 0.3 * y[:, None] * np.array([1.0, -2.0, 0.5, 0.0, 1.0]) / 6.25
    done = DistributedLearner(Perceptron(), rounds=5).fit([(X[k::4], y[k::4]) for k in range(4)])
    bound = next(b for b in done.certify().bounds if b["name"] == "novikoff")
    alone = next(b for b in certify(Perceptron().fit(X, y), X, y).bounds if b["name"] == "novikoff")
    assert bound["verdict"] == "holds"
    assert bound["bound"] == pytest.approx(alone["bound"], rel=0.05)


def test_shards_too_large_for_memory_are_searched_by_their_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    from novikoff.distributed import witness_search

    X, y = real(3, rows=3000)
    pairs = [(X[k::3], y[k::3]) for k in range(3)]
    done = DistributedLearner(Perceptron(), rounds=3).fit(pairs)
    whole = done.certify()
    monkeypatch.setattr(witness_search, "MAX_SAMPLE_TERMS", 12_000)
    monkeypatch.setattr(witness_search, "MIN_SHARD_TERMS", 4000)
    part = done.certify()
    assert verify(part.document, pairs) == []
    best = {name: min(b["bound"] for b in c.bounds if "bound" in b) for name, c in (("w", whole), ("p", part))}
    assert best["w"] <= best["p"] * 1.01
    assert best["p"] < 1.3 * best["w"]


def test_measured_numbers_are_rounded_outward() -> None:
    assert Fraction(round_up(Fraction(1, 3))) >= Fraction(1, 3)
    assert round_up(Fraction(1, 4)) == 0.25
    X, y = real(3, rows=60)
    done = DistributedLearner(Perceptron(), rounds=3).fit([(X[k::3], y[k::3]) for k in range(3)])
    witness = NamedWitness("u", np.ones(X.shape[1] + 1, np.float32) / 3, (1.0,))
    from novikoff.distributed import measure

    message = worker_tasks.serialize_model(done.model_)
    engine, shards, _ = done._run
    each = [measure.measure_shard(shard, engine.data(k), message, [witness])[0] for k, shard in enumerate(shards)]
    both = combine_measurements(each, done.ledger_.shard_weights())
    u = [Fraction(float(v)) for v in witness.witness]
    exact = Fraction(0)
    for k in range(3):
        for x, label in zip(X[k::3], y[k::3], strict=True):
            score = u[0] + sum((a * Fraction(float(b)) for a, b in zip(u[1:], x, strict=True)), Fraction(0))
            exact += max(Fraction(0), 1 - int(label) * score)
    assert exact <= Fraction(both.hinge) <= exact * (1 + Fraction(1, 10**9))


def test_files_are_verified_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for k, text in enumerate(["1 1:1\n-1 2:1\n1 1:2 3:1\n", "1 1:1\n-1 3:1\n", "-1 2:3\n1 1:2\n"]):
        (tmp_path / f"{k}.svm").write_text(text)
    names = [str(tmp_path / f"{k}.svm") for k in range(3)]
    path = tmp_path / "c.json"
    path.write_text(DistributedLearner(Perceptron(), rounds=2).fit(names).certify().as_json())
    assert main(["verify", str(path), *names]) == 0
    assert "verified" in capsys.readouterr().out
    assert main(["verify", str(path), *names[::-1]]) == 1
    assert "for different data" in capsys.readouterr().out
