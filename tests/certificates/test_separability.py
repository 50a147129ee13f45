"""Separability: the answer against an exact reference, every proof checked, every changed proof refused."""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from novikoff import InputError, Perceptron, separable
from novikoff.certificates.separability import cycling_perceptron, exact_arithmetic, search
from novikoff.certificates.separability.decide import NotSeparable, Separable, Undecided, proof_from
from novikoff.certificates.separability.signed_rows import SignedExamples
from novikoff.cli.main import main
from novikoff.data.synthetic.adversarial import orthonormal
from novikoff.data.synthetic.concepts import CONCEPTS
from tests.helpers.paths import DATA_FOLDER

real_data = pytest.mark.skipif(not DATA_FOLDER.is_dir(), reason="the data sets are not here: set NOVIKOFF_DATA")
CORNERS = [[0, 0], [0, 1], [1, 0], [1, 1]]
XOR = [0, 1, 1, 0]


# --- The exact reference ---


def sign_rows(X: Any, y: Any, bias: bool) -> list[list[Fraction]]:
    """Return sign·(1, x), exactly."""
    dense = X.toarray() if sp.issparse(X) else np.asarray(X, np.float64)
    top = max(y)
    return [
        [(1 if label == top else -1) * Fraction(v) for v in ([1.0] if bias else []) + row.tolist()]
        for row, label in zip(dense.astype(np.float64), y, strict=True)
    ]


def is_separable_exactly(rows: list[list[Fraction]]) -> bool:
    """Decide whether some u has u·z > 0 for all rows, by Fourier–Motzkin elimination."""
    while rows and rows[0]:
        above = [[v / r[-1] for v in r[:-1]] for r in rows if r[-1] > 0]
        below = [[v / -r[-1] for v in r[:-1]] for r in rows if r[-1] < 0]
        rest = [r[:-1] for r in rows if r[-1] == 0]
        sums = [[a + b for a, b in zip(p, q, strict=True)] for p in above for q in below]
        rows = [list(r) for r in dict.fromkeys(map(tuple, rest + sums))]
    return not rows


def confirm_proof(X: Any, y: Any, proof: Any, bias: bool) -> None:
    """Check a proof against the definitions, in fractions."""
    rows = sign_rows(X, y, bias)
    if isinstance(proof, Separable):
        u = [Fraction(v) for v in proof.witness.tolist()]
        least = min(sum((a * b for a, b in zip(u, row, strict=True)), Fraction(0)) for row in rows)
        gamma = least**2 / sum(v * v for v in u)
        radius = max(sum((v * v for v in row), Fraction(0)) for row in rows)
        assert least > 0
        assert Fraction(proof.margin) ** 2 <= gamma < Fraction(math.nextafter(proof.margin, math.inf)) ** 2
        assert Fraction(math.nextafter(proof.radius, 0)) ** 2 < radius <= Fraction(proof.radius) ** 2
        assert radius / gamma <= proof.allowance
    else:
        assert isinstance(proof, NotSeparable)
        assert sum(proof.weights) == 1
        assert min(proof.weights) > 0
        for j in range(len(rows[0])):
            assert sum(w * rows[i][j] for i, w in zip(proof.rows, proof.weights, strict=True)) == 0
    assert proof.check(X, y)
    assert proof_from(json.loads(json.dumps(proof.as_dict()))).check(X, y)


# --- Small streams ---

NUMBERS = {
    "whole": st.integers(-3, 3).map(float),
    "halves": st.integers(-6, 6).map(lambda k: k / 4),
    "real": st.floats(-8, 8, width=32, allow_subnormal=False),
    "far apart": st.sampled_from([0.0, 1.0, -1.0, 1e6, -1e6, 1e-6, 1 + 2**-23, -1e-6, 1 / 3]),
}


@st.composite
def streams(draw: st.DrawFn, kind: str) -> tuple[np.ndarray, np.ndarray]:
    n, m = draw(st.integers(1, 3)), draw(st.integers(2, 8))
    X = draw(st.lists(st.lists(NUMBERS[kind], min_size=n, max_size=n), min_size=m, max_size=m))
    y = draw(st.lists(st.sampled_from([-1, 1]), min_size=m, max_size=m))
    assume(len(set(y)) == 2)
    return np.array(X), np.array(y)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", NUMBERS)
@settings(max_examples=50)
@given(data=st.data())
def test_small_streams_are_decided_as_by_the_reference(kind: str, bias: bool, data: st.DataObject) -> None:
    check_against_reference(*data.draw(streams(kind)), kind, bias)


def check_against_reference(X: np.ndarray, y: np.ndarray, kind: str, bias: bool) -> None:
    proof, expected = separable(X, y, fit_intercept=bias), is_separable_exactly(sign_rows(X, y, bias))
    if kind == "far apart" and proof.separable is None:
        assert expected  # by no u in double precision
        return
    assert proof.separable == expected
    confirm_proof(X, y, proof, bias)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", ["whole", "real"])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_linear_programming_alone_decides_the_same(
    kind: str, bias: bool, data: st.DataObject, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("MAX_EXACT_VALUES", 0), ("MAX_EXACT_FIRST_VALUES", 0)):
        monkeypatch.setattr(search, name, value)
    monkeypatch.setattr(cycling_perceptron, "MAX_VALUES", 0)
    X, y = data.draw(streams(kind))
    proof = separable(sp.csr_matrix(X), y, fit_intercept=bias, passes=1)
    assert proof.separable in (is_separable_exactly(sign_rows(X, y, bias)), None)
    if kind == "whole":
        assert proof.separable is not None
    if proof.separable is not None:
        confirm_proof(X, y, proof, bias)


@pytest.mark.slow
@pytest.mark.parametrize("kind", NUMBERS)
@settings(max_examples=2000)
@given(data=st.data(), bias=st.booleans())
def test_many_small_streams_are_decided_as_by_the_reference(kind: str, data: st.DataObject, bias: bool) -> None:
    check_against_reference(*data.draw(streams(kind)), kind, bias)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), n=st.integers(2, 12), noise=st.sampled_from([0.0, 0.1]), bias=st.booleans())
def test_larger_streams_have_proofs(seed: int, n: int, noise: float, bias: bool) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, n)) * 2.0 ** rng.integers(-8, 8, n)
    u = rng.normal(size=n) / np.abs(X).max(axis=0)
    y = np.where((X @ u > 0) ^ (rng.random(150) < noise), 1, -1)
    assume(len(set(y.tolist())) == 2)
    proof = separable(X, y, fit_intercept=bias)
    assert proof.separable if noise == 0.0 else proof.separable is not None
    confirm_proof(X, y, proof, bias)


# --- What the answer must be ---


def test_two_equal_rows_with_different_labels_are_the_whole_proof() -> None:
    proof = separable([[1.5, 2.0], [3.0, 1.0], [1.5, 2.0], [0.0, 1.0]], ["a", "b", "b", "a"])
    assert isinstance(proof, NotSeparable)
    assert (proof.rows, proof.counts) == ((0, 2), (1, 1))


def test_a_row_of_zeros_is_a_proof_of_its_own_without_a_bias() -> None:
    X, y = [[1.0, 2.0], [0.0, 0.0], [-1.0, 0.0]], [1, 1, 0]
    proof = separable(X, y, fit_intercept=False)
    assert isinstance(proof, NotSeparable)
    assert (proof.rows, proof.weights) == ((1,), (1,))
    assert separable(X, y).separable


def test_opposite_rows_of_one_label_contradict_each_other_without_a_bias() -> None:
    X, y = [[1.0, 2.0], [-1.0, -2.0], [5.0, 0.0]], [1, 1, 0]
    proof = separable(X, y, fit_intercept=False)
    assert isinstance(proof, NotSeparable)
    assert proof.rows == (0, 1)


@pytest.mark.parametrize("bias", [True, False])
def test_constant_empty_and_equal_columns_do_not_change_the_answer(bias: bool) -> None:
    X = np.array([[x, 1.0, 0.0, x, 7.0] for x in (0.0, 1.0, 2.0, 3.0)])
    for y, answer in (([0, 0, 1, 1], True), ([0, 1, 1, 0], False)):
        proof = separable(X, y, fit_intercept=bias)
        assert proof.separable is answer
        confirm_proof(X, y, proof, bias)


def test_a_single_label_is_separable() -> None:
    X, y = orthonormal(20).to_arrays()
    proof = separable(X, y, fit_intercept=False)
    assert isinstance(proof, Separable)
    assert proof.allowance == pytest.approx(20)  # and the Perceptron makes them all
    assert proof.check(X, y)
    assert not proof.check(X, -y)


def test_the_first_weight_of_the_witness_is_the_bias() -> None:
    proof = separable([[0.0], [1.0], [5.0], [6.0]], ["cat", "cat", "dog", "dog"])
    assert isinstance(proof, Separable)
    assert (proof.about.negative, proof.about.positive) == ("cat", "dog")
    assert proof.witness.tolist() == [-3.0, 1.0]


def test_xor_repeats_its_weights() -> None:
    proof = separable(CORNERS, XOR)
    assert isinstance(proof, NotSeparable)
    assert proof.weights == (Fraction(1, 4),) * 4
    assert proof.cycle is not None
    assert proof.check(CORNERS, XOR)
    first, last, weights = proof.cycle
    for wrong in ((first + 1, last, weights), (last, last, weights), (-1, last, weights)):
        assert not replace(proof, cycle=cycling_perceptron.Cycle(*wrong)).check(CORNERS, XOR)
    assert not replace(proof, cycle=cycling_perceptron.Cycle(first, last, (weights[0] + 1, *weights[1:]))).check(
        CORNERS, XOR
    )


@pytest.mark.parametrize("name", CONCEPTS)
def test_separability_of_concepts_is_as_documented(name: str) -> None:
    size = {} if name in ("linear-threshold", "rectangle") else {"n": 30}
    X, y = CONCEPTS[name](examples=1500, **size).to_arrays()
    proof = separable(X, y)
    assert proof.separable == (name in ("conjunction", "disjunction", "m-of-n", "linear-threshold"))
    assert proof.check(X, y)


def test_the_perceptron_makes_no_more_mistakes_than_the_proof_allows() -> None:
    X, y = CONCEPTS["m-of-n"](examples=2000, n=40).to_arrays()
    proof = separable(X, y)
    assert isinstance(proof, Separable)
    assert Perceptron(passes=200).fit(X, y).ledger_.mistakes <= proof.allowance


def test_the_margin_is_nearly_the_widest() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 5))
    s = X @ [1, 2, 3, 4, 5]
    X, y = X[np.abs(s) > 0.5], (s > 0)[np.abs(s) > 0.5]
    proof = separable(X, y, fit_intercept=False)
    from sklearn.svm import SVC

    weights = SVC(kernel="linear", C=1e6).fit(np.vstack([X, -X]), np.concatenate([y, ~y])).coef_[0]
    widest = (np.where(y, 1, -1) * (X @ weights)).min() / np.linalg.norm(weights)
    assert isinstance(proof, Separable)
    assert proof.margin >= 0.99 * widest


def test_dense_sparse_and_data_frames_give_the_same_answer() -> None:
    import pandas as pd

    X, y = CONCEPTS["k-cnf"](examples=500, n=20).to_arrays()
    proofs = [separable(Z, y).as_dict() for Z in (X, X.toarray(), pd.DataFrame(X.toarray()), X.tocoo())]
    assert proofs[0] == proofs[1] == proofs[2] == proofs[3]


# --- Tampering ---


def test_a_changed_combination_fails_verification() -> None:
    X, y = CONCEPTS["dnf"](examples=800, n=12).to_arrays()
    proof = separable(X, y)
    assert isinstance(proof, NotSeparable)
    rows, counts = proof.rows, proof.counts
    others = [i for i in range(800) if i not in rows]
    for k in range(len(rows)):
        head, tail = slice(0, k), slice(k + 1, None)
        for count in (counts[k] + 1, counts[k] - 1, -counts[k], 0, 2 * counts[k]):
            assert not replace(proof, counts=(*counts[head], count, *counts[tail])).check(X, y)
        for row in (rows[k - 1], -1, 800, next(i for i in others if (X[i] != X[rows[k]]).nnz)):
            assert not replace(proof, rows=(*rows[head], row, *rows[tail])).check(X, y)
        flipped = y.copy()
        flipped[rows[k]] *= -1
        assert not proof.check(X, flipped)
    assert not replace(proof, rows=(), counts=()).check(X, y)
    assert not replace(proof, counts=counts[:-1]).check(X, y)
    assert not replace(proof, counts=tuple(map(float, counts))).check(X, y)  # type: ignore[arg-type]


def test_a_changed_separator_fails_verification() -> None:
    X, y = CONCEPTS["linear-threshold"](examples=300, n=6).to_arrays()
    proof = separable(X, y)
    assert isinstance(proof, Separable)
    for j in range(len(proof.witness)):
        for factor in (-1.0, 0.0, 1.001, math.nan, math.inf):
            changed = proof.witness.copy()
            changed[j] *= factor
            assert not replace(proof, witness=changed).check(X, y)
    for name in ("margin", "radius", "allowance"):
        for towards in (0.0, math.inf):
            assert not replace(proof, **{name: math.nextafter(getattr(proof, name), towards)}).check(X, y)
    assert not replace(proof, witness=-proof.witness).check(X, y)
    assert not replace(proof, witness=proof.witness[:-1]).check(X, y)
    for i in range(300):
        flipped = y.copy()
        flipped[i] *= -1
        assert not proof.check(X, flipped)


def test_a_proof_is_refused_for_other_data() -> None:
    for y in (XOR, [0, 1, 1, 1]):
        proof = separable(CORNERS, y)
        assert proof.check(CORNERS, y)
        assert not proof.check(CORNERS, XOR if y != XOR else [0, 1, 1, 1])
        assert not proof.check(CORNERS[:3], y[:3])
        assert not proof.check([[*row, 0] for row in CORNERS], y)
        assert not proof.check(CORNERS, ["no" if label else "yes" for label in y])
        assert not proof.check([[v + 0.5 for v in row] for row in CORNERS[::-1]], y)
        assert not replace(proof, about=proof.about._replace(bias=False)).check(CORNERS, y)


def test_invalid_proofs_are_refused() -> None:
    document = separable(CORNERS, XOR).as_dict()
    for key in document.keys() - {"cycle"}:
        with pytest.raises(InputError, match="not a proof of novikoff separable"):
            proof_from({k: v for k, v in document.items() if k != key})


# --- Undecided ---


def test_undecided_reports_what_was_tried_and_claims_nothing() -> None:
    X, y = CONCEPTS["xor"](examples=1000, n=20).to_arrays()
    proof = separable(X, y, passes=1, time_limit=1e-9)
    assert isinstance(proof, Undecided)
    assert proof.separable is None
    assert proof.check(X, y)
    rows = sign_rows(X, y, True)
    scores = [sum(a * Fraction(b) for a, b in zip(row, proof.witness.tolist(), strict=True)) for row in rows]
    assert proof.wrong == sum(score <= 0 for score in scores) > 0
    assert not replace(proof, wrong=proof.wrong - 1).check(X, y)
    assert not replace(proof, margin=proof.margin / 2).check(X, y)
    assert "undecided" in str(proof)
    assert proof_from(json.loads(json.dumps(proof.as_dict()))).check(X, y)


def test_a_margin_below_double_precision_is_not_claimed() -> None:
    """u₃ < 0 < u₂ + u₃ < 10⁻⁶·u₁ < 10⁻¹⁸·|u₃|: there is such a u, but u₂ would need more digits."""
    X = [[1e6, 0, 1e-6], [0, 0, -1], [-1, 1e6, 1e6], [0, 1, 1]]
    y = [-1, 1, -1, 1]
    assert is_separable_exactly(sign_rows(X, y, False))
    proof = separable(X, y, fit_intercept=False)
    assert isinstance(proof, Undecided)
    assert "a separator exists" in str(proof)
    assert proof.check(X, y)


@pytest.mark.parametrize(
    "wrong", [{"passes": 0}, {"time_limit": 0}, {"time_limit": math.nan}, {"fit_intercept": "yes"}]
)
def test_invalid_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        separable(CORNERS, XOR, **wrong)


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e200])
def test_nan_and_infinity_are_refused(bad: float) -> None:
    with pytest.raises(InputError):
        separable([[1.0], [bad]], [0, 1])
    with pytest.raises(InputError):
        separable([[1.0], [2.0], [3.0]], [0, 1])


# --- Exact numbers ---


@settings(max_examples=300)
@given(st.fractions(min_value=0, max_value=10**9).filter(bool), st.integers(-300, 300))
def test_roots_are_rounded_once(q: Fraction, e: int) -> None:
    q *= Fraction(2) ** e
    low, high = exact_arithmetic.sqrt_below(q), exact_arithmetic.sqrt_above(q)
    assert Fraction(low) ** 2 <= q <= Fraction(high) ** 2
    assert high in (low, math.nextafter(low, math.inf))
    assert Fraction(math.nextafter(exact_arithmetic.round_up(q), 0)) < q <= Fraction(exact_arithmetic.round_up(q))


@settings(max_examples=100)
@given(st.integers(0, 2**32), st.integers(1, 40), st.sampled_from([0, 8, 60, 400]))
def test_cancelling_sums_are_decided_exactly(seed: int, n: int, spread: int) -> None:
    """Rows that are nearly or exactly orthogonal to u, of sizes that differ widely."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, n)) * 2.0 ** rng.integers(-spread, spread + 1, (20, n))
    X = np.hstack([X, -X + (rng.random((20, n)) < 0.02) * X * 2.0**-50])
    u = np.tile(rng.normal(size=n), 2)
    signs = rng.choice([-1, 1], 20).astype(np.int8)
    examples = SignedExamples(X, signs, bias=False)
    true = [
        s * sum(Fraction(a) * Fraction(b) for a, b in zip(x, u, strict=True)) for s, x in zip(signs, X, strict=True)
    ]
    true = [Fraction(v) for v in true]
    assert exact_arithmetic.min_margin(examples, u) == min(true)
    assert exact_arithmetic.find_misclassified(examples, u).tolist() == [i for i, v in enumerate(true) if v <= 0]
    assert exact_arithmetic.separates(examples, u) == (min(true) > 0)
    assert exact_arithmetic.max_sq_norm(examples) == max(sum(Fraction(v) ** 2 for v in row) for row in X)


# --- The command line ---


def write_corners(path: Path, y: list[int]) -> str:
    path.write_text("".join(f"{label} 1:{a} 2:{b}\n" for (a, b), label in zip(CORNERS, y, strict=True)))
    return str(path)


def test_exit_codes_say_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    either, one = write_corners(tmp_path / "or.svm", [0, 1, 1, 1]), write_corners(tmp_path / "xor.svm", XOR)
    assert main(["separable", either, "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("separable")
    assert [line for line in err.splitlines() if not line.startswith("compiling ")] == []
    assert main(["separable", one]) == 1
    out, err = capsys.readouterr()
    assert "not separable" in out
    assert "1/4" in out
    assert "Perceptron" in err
    assert main(["separable", either, "--no-fit-intercept", "--quiet"]) == 1
    assert main(["separable", either, "--time-limit", "0"]) == 2
    assert main(["separable", str(tmp_path / "none.svm")]) == 2


def test_undecided_has_its_own_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "xor.svm")
    assert main(["generate", "xor", "--attributes", "20", "--output", path]) == 0
    assert main(["separable", path, "--passes", "1", "--time-limit", "1e-9", "--json", "--quiet"]) == 3
    assert json.loads(capsys.readouterr().out)["separable"] is None


def test_a_proof_is_saved_and_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    either, one = write_corners(tmp_path / "or.svm", [0, 1, 1, 1]), write_corners(tmp_path / "xor.svm", XOR)
    for data, other in ((either, one), (one, either)):
        path = tmp_path / "proof.json"
        main(["separable", data, "--proof", str(path), "--json", "--quiet"])
        shown, kept = json.loads(capsys.readouterr().out), json.loads(path.read_text())
        assert {key: shown[key] for key in kept} == kept
        assert main(["separable", data, "--check", str(path), "--quiet"]) == 0
        assert "holds" in capsys.readouterr().out
        assert main(["separable", other, "--check", str(path), "--quiet", "--json"]) == 1
        assert json.loads(capsys.readouterr().out)["holds"] is False
    path.write_text("[]")
    assert main(["separable", one, "--check", str(path)]) == 2
    path.write_text("{")
    assert main(["separable", one, "--check", str(path)]) == 2
    assert main(["separable", one, "--proof", str(tmp_path / "no" / "proof.json")]) == 2


def test_one_label_against_the_rest_is_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof = str(tmp_path / "proof.json")
    how = ["separable", "iris", "--quiet", "--positive-label"]
    assert main([*how, "setosa", "--proof", proof]) == 0
    assert json.loads(Path(proof).read_text())["labels"] == {"negative": "not setosa", "positive": "setosa"}
    assert main([*how, "setosa", "--check", proof]) == 0
    assert main([*how, "virginica", "--json"]) == 1
    assert main([*how, "tulip"]) == 2
    assert main(["separable", "iris", "--quiet"]) == 2  # three labels
    capsys.readouterr()


# --- Real and large data ---


@real_data
@pytest.mark.parametrize(
    ("name", "answer"), [("mushrooms.train", True), ("mushrooms.test", True), ("a9a.train", False)]
)
@pytest.mark.parametrize("bias", [True, False])
def test_real_data(name: str, answer: bool, bias: bool) -> None:
    X, y = load_svmlight_file(str(DATA_FOLDER / f"{name}.svm.gz"), dtype=np.float32)
    proof = separable(X, y, fit_intercept=bias)
    assert proof.separable is answer
    assert proof.check(X, y)


@real_data
def test_real_data_without_its_contradictions() -> None:
    """a9a without equal rows of different labels: the proof is then a combination of many rows."""
    X, y = load_svmlight_file(str(DATA_FOLDER / "a9a.train.svm.gz"))
    X, y = X[:6000], y[:6000]
    keys = X @ np.random.default_rng(0).random(X.shape[1])
    both = np.intersect1d(keys[y > 0], keys[y < 0])
    X, y = X[~np.isin(keys, both)], y[~np.isin(keys, both)]
    proof = separable(X, y)
    assert isinstance(proof, NotSeparable)
    assert len(proof.rows) > 2
    assert proof.check(X, y)


def make_large_stream(*, real: bool, noise: float, gap: float) -> tuple[Any, Any]:
    """Make a stream of 10⁵ rows and 10³ columns, with up to 20 terms a row."""
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 1000, 2 * 10**6)
    values = rng.random(2 * 10**6).astype(np.float32) if real else np.ones(2 * 10**6, np.float32)
    X = sp.csr_matrix((values, columns, np.arange(0, 2 * 10**6 + 1, 20)), shape=(10**5, 1000))
    X.sum_duplicates()
    u = rng.normal(size=1000)
    scores = X @ (u / np.linalg.norm(u))
    scores -= np.median(scores)
    y = np.where((scores > 0) ^ (rng.random(10**5) < noise), 1, -1)
    return X[np.abs(scores) >= gap], y[np.abs(scores) >= gap]


@pytest.mark.slow
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize(("noise", "gap"), [(0.0, 0.01), (0.0, 0.001), (0.05, 0.0), (0.5, 0.0)])
def test_large_data_within_a_minute(real: bool, noise: float, gap: float) -> None:
    X, y = make_large_stream(real=real, noise=noise, gap=gap)
    began = time.perf_counter()
    proof = separable(X, y)
    seconds = time.perf_counter() - began
    print(f"real={real} noise={noise} gap={gap}: {seconds:.1f} s, {type(proof).__name__}")
    assert proof.separable is (noise == 0.0)
    assert proof.check(X, y)
    assert seconds < 60
