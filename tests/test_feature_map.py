"""Explicit feature maps: every column is the product in its name, and inner products equal the kernels."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

import novikoff
from novikoff import FeatureMap, InputError
from novikoff.cli.main import main
from novikoff.data import feature_maps
from novikoff.data.feature_maps import Mapper, MapSpec
from novikoff.data.feature_maps.product_index import count_product_columns, get_product_column, get_product_features
from novikoff.data.names.hashing import combine_hashes, hash_name
from novikoff.data.rows import Dense, Sparse
from tests.helpers.streams import csr

pytestmark = pytest.mark.plain_python_coverage


@pytest.mark.parametrize("repeated", [True, False])
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_columns_are_numbered_without_gaps(degree: int, repeated: bool) -> None:
    choose = combinations_with_replacement if repeated else combinations
    for features in range(6):
        products = [p for k in range(1, degree + 1) for p in choose(range(features), k)]
        numbers = [get_product_column(p, degree, repeated=repeated) for p in products]
        assert sorted(numbers) == list(range(count_product_columns(features, degree, repeated=repeated)))
        assert [get_product_features(j, degree, repeated=repeated) for j in numbers] == products


def map_dense(chosen: MapSpec, rows: Any, features: int) -> Any:
    """Return all mapped rows as a dense array."""
    count = len(rows.starts) - 1 if isinstance(rows, Sparse) else len(rows.values) // rows.width
    out, seen = np.zeros((count, chosen.columns(features)), rows.values.dtype), 0
    for piece, start, stop in Mapper(chosen).pieces(rows, features):
        assert start == seen
        seen = stop
        for i in range(stop - start):
            columns = piece.indices[piece.starts[i] : piece.starts[i + 1]]
            assert len(set(columns.tolist())) == len(columns)
            out[start + i, columns] = piece.values[piece.starts[i] : piece.starts[i + 1]]
    assert seen == count
    return out


ROWS = st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.integers(1, 4), st.sampled_from(["products", "poly", "powers"]), st.integers(1, 40))
def test_every_column_is_what_its_name_says(table: list[list[int]], degree: int, kind: str, at_once: int) -> None:
    chosen, X = MapSpec.parse(f"{kind}:{degree}"), np.array(table, float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feature_maps, "TERMS_PER_CHUNK", at_once)
        got = map_dense(chosen, Dense(X.reshape(-1), 4), 4)
    names = [chosen.name(j) for j in range(chosen.columns(4))]
    assert len(set(names)) == len(names)
    for j, name in enumerate(names):
        powers = [(*part.split("^"), "1")[:2] for part in name.split("*")]
        product = np.prod([X[:, int(i)] ** int(n) for i, n in powers], axis=0)
        if kind == "poly":  # the root of the multinomial coefficient
            share = Fraction(1)
            for k in range(sum(int(n) for _, n in powers)):
                share *= degree - k
            for _, n in powers:
                for k in range(1, int(n) + 1):
                    share /= k
            np.testing.assert_allclose(got[:, j] ** 2, product**2 * float(share), rtol=1e-12)
            assert (np.sign(got[:, j]) == np.sign(product)).all()
        else:
            assert (got[:, j] == product).all()


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_inner_products_are_those_of_the_kernel(degree: int) -> None:
    rng = np.random.default_rng(degree)
    X, Z = rng.standard_normal((2, 7, 5))
    mapped = [FeatureMap(f"poly:{degree}").fit_transform(part).toarray() for part in (X, Z)]
    np.testing.assert_allclose(1.0 + mapped[0] @ mapped[1].T, (1.0 + X @ Z.T) ** degree, rtol=1e-9, atol=1e-9)


def test_conjunctions_count_what_two_rows_share() -> None:
    X = (np.random.default_rng(0).random((9, 6)) < 0.6).astype(float)
    mapped = FeatureMap("conjunctions:3").fit_transform(X).toarray()
    shared = X @ X.T
    assert (mapped @ mapped.T == shared + shared * (shared - 1) / 2 + shared * (shared - 1) * (shared - 2) / 6).all()


def test_products_are_those_of_scikit_learn() -> None:
    X = np.random.default_rng(0).integers(-3, 4, (20, 5)).astype(float)
    theirs = PolynomialFeatures(3, interaction_only=True, include_bias=False).fit(X)
    ours = FeatureMap("products:3").fit(X)
    names = ours.get_feature_names_out().tolist()
    order = [names.index(name.replace(" ", "*")) for name in theirs.get_feature_names_out()]
    assert (ours.transform(X).toarray()[:, order] == theirs.transform(X)).all()


def test_columns_keep_their_positions_as_features_arrive() -> None:
    X = np.random.default_rng(0).standard_normal((5, 9))
    wide = FeatureMap("poly:3").fit_transform(X).toarray()
    narrow = FeatureMap("poly:3").fit_transform(X[:, :4]).toarray()
    X[:, 4:] = 0.0
    assert (FeatureMap("poly:3").fit_transform(X).toarray()[:, : narrow.shape[1]] == narrow).all()
    assert wide.shape[1] > narrow.shape[1]


def test_hashed_products_use_the_documented_hash() -> None:
    rows = Sparse(np.array([0, 3]), np.array([7, 2, 5], np.uint32), np.array([2.0, 3.0, 5.0]))
    bits = 20
    got = map_dense(MapSpec.parse("products:3", bits), rows, 8)[0]
    pair = {(i, j): int(combine_hashes(np.uint64(i), np.uint64(j))) for i, j in ((2, 5), (2, 7), (5, 7))}
    triple = int(combine_hashes(np.uint64(pair[2, 5]), np.uint64(7)))
    want = {2: 3.0, 5: 5.0, 7: 2.0} | {h % 2**bits: v for h, v in zip(pair.values(), (15.0, 6.0, 10.0), strict=True)}
    want[triple % 2**bits] = 30.0
    assert {int(j): got[j] for j in np.flatnonzero(got)} == want
    assert hash_name(b"") != hash_name(b"a")


@settings(max_examples=40, deadline=None)
@given(ROWS, st.integers(1, 5))
def test_colliding_products_are_summed(table: list[list[int]], bits: int) -> None:
    X = np.array(table, float)
    own, chosen = map_dense(MapSpec.parse("products:2"), Dense(X.reshape(-1), 4), 4), MapSpec.parse("products:2", bits)
    want = np.zeros((len(X), 2**bits))
    for j in range(own.shape[1]):
        parts = get_product_features(j, 2, repeated=False)
        name = parts[0] if len(parts) == 1 else int(combine_hashes(np.uint64(parts[0]), np.uint64(parts[1])))
        want[:, name % 2**bits] += own[:, j]
    assert (map_dense(chosen, Dense(X.reshape(-1), 4), 4) == want).all()


def test_rows_in_any_form_give_the_same_result() -> None:
    X = np.random.default_rng(0).integers(-2, 3, (12, 6)).astype(np.float32)
    table = FeatureMap("poly:2").fit(X)
    sparse = csr(X)
    backwards = sp.csr_matrix(
        (
            np.concatenate([sparse.data[a:b][::-1] for a, b in zip(sparse.indptr, sparse.indptr[1:], strict=False)]),
            np.concatenate([sparse.indices[a:b][::-1] for a, b in zip(sparse.indptr, sparse.indptr[1:], strict=False)]),
            sparse.indptr,
        ),
        X.shape,
    )
    want = table.transform(X)
    assert want.dtype == np.float32
    for other in (sparse, backwards):
        assert (table.transform(other).toarray() == want.toarray()).all()
    twice = sp.csr_matrix((np.ones(2), np.array([3, 3]), np.array([0, 2])), (1, 6))
    assert (table.transform(twice) != table.transform(np.eye(6)[3:4] * 2)).nnz == 0


def test_files_are_mapped_as_arrays_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 5)).astype(np.float32)
    y = np.where(X[:, 0] * X[:, 1] > X[:, 2], 1, -1)
    lines = [f"{label} " + " ".join(f"{j}:{v:g}" for j, v in enumerate(x) if v) for x, label in zip(X, y, strict=True)]
    path, model = tmp_path / "data.svm", tmp_path / "m.model"
    path.write_text("\n".join(lines) + "\n")
    assert main(["learn", str(path), "--feature-map", "poly:2", "--passes", "3", "--save", str(model), "--quiet"]) == 0
    mapped = FeatureMap("poly:2").fit_transform(X)
    direct = novikoff.Auto(passes=3, shuffle=False).fit(mapped, y)
    loaded = novikoff.load(model)
    assert loaded.ledger_.mistake_times.tolist() == direct.ledger_.mistake_times.tolist()
    assert (loaded.coef_ == direct.coef_).all()
    streamed, read_labels = novikoff.read(path, feature_map="poly:2").to_arrays()
    assert (streamed.toarray() == mapped.toarray()).all()
    assert read_labels.tolist() == y.tolist()

    capsys.readouterr()
    assert main(["inspect", str(model), "--json"]) == 0
    names = {w["feature"] for w in json.loads(capsys.readouterr().out)["weights"]}
    assert "0*1" in names
    predictions = tmp_path / "p.txt"
    assert main(["predict", str(model), str(path), "--output", str(predictions), "--quiet"]) == 0
    assert predictions.read_text().split() == [str(label) for label in direct.predict(mapped)]
    again = tmp_path / "again.model"  # going on takes the map from the model
    assert main(["learn", str(path), "--resume", str(model), "--save", str(again), "--quiet"]) == 0
    assert novikoff.load(again).ledger_.examples == 240
    assert main(["learn", str(path), "--resume", str(model), "--feature-map", "poly:3", "--quiet"]) == 2
    assert "leave out --feature-map" in capsys.readouterr().err


def test_certificates_record_the_feature_map(tmp_path: Path) -> None:
    path, certificate, model = tmp_path / "xor.csv", tmp_path / "c.json", tmp_path / "m.model"
    path.write_text(
        "a,b,label\n" + "".join(f"{a},{b},{'odd' if a * b < 0 else 'even'}\n" for a in (1, -1) for b in (1, -1)) * 9
    )
    learn = [
        "learn",
        str(path),
        "--learner",
        "perceptron",
        "--feature-map",
        "products:2",
        "--passes",
        "4",
        "--save",
        str(model),
        "--quiet",
    ]
    assert main(learn) == 0
    how = ["--feature-map", "products:2", "--passes", "4", "--output", str(certificate), "--quiet"]
    assert main(["certify", str(model), str(path), *how]) == 0
    document = json.loads(certificate.read_text())
    assert document["data"]["reading"]["feature_map"] == "products:2"
    assert {b["name"]: b["verdict"] for b in document["bounds"]}["novikoff"] == "holds"
    assert main(["verify", str(certificate), str(path)]) == 0
    assert main(["separable", str(path), "--quiet"]) == 1
    assert main(["separable", str(path), "--feature-map", "products:2", "--quiet"]) == 0


def test_names_of_columns_are_multiplied(tmp_path: Path) -> None:
    model, table = tmp_path / "m.model", tmp_path / "d.csv"
    table.write_text("size,age,label\n1,2,a\n3,1,b\n")
    assert main(["learn", str(table), "--feature-map", "poly:2", "--save", str(model), "--quiet"]) == 0
    names = novikoff.load(model).feature_names_in_.tolist()
    assert names == ["size", "size^2", "age", "size*age", "age^2"]
    hashed_model = tmp_path / "h.model"
    data = tmp_path / "d.jsonl"
    data.write_text('{"label": "a", "x": 1, "z": "u"}\n{"label": "b", "x": 2, "z": "v"}\n')
    assert (
        main(
            [
                "learn",
                str(data),
                "--feature-map",
                "products:2",
                "--hash-bits",
                "10",
                "--save",
                str(hashed_model),
                "--quiet",
            ]
        )
        == 0
    )
    assert novikoff.load(hashed_model).n_features_in_ == 1024


def test_learners_with_fixed_features_accept_a_mapped_table(tmp_path: Path) -> None:
    path = tmp_path / "b.csv"
    path.write_text("a,b,c,label\n1,1,0,yes\n1,0,0,no\n0,1,1,no\n1,1,1,yes\n")
    model = tmp_path / "m.model"
    how = ["--feature-map", "conjunctions:2", "--learner", "winnow", "--save", str(model), "--quiet"]
    assert main(["learn", str(path), *how]) == 0
    assert novikoff.load(model).n_features_in_ == 6


def test_bad_rows_are_reported_or_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "d.svm"
    path.write_text("1 1:1 2:1\n-1 1:2\n-1 1:1\n1 2:1\n-1 3:3 4:1\n")
    assert main(["learn", str(path), "--feature-map", "conjunctions:2", "--quiet"]) == 2
    assert f"{path}:2: conjunctions need features that are 0 or 1, got 2" in capsys.readouterr().err
    assert (
        main(["learn", str(path), "--feature-map", "conjunctions:2", "--bad-lines", "skip", "--json", "--quiet"]) == 0
    )
    about = json.loads(capsys.readouterr().out)
    assert about["examples"] == 3
    assert about["bad_lines"] == {"map": 2}
    path.write_text("1 1:1\n-1 1:1e15 2:1e15 3:1e15\n")
    assert main(["learn", str(path), "--feature-map", "poly:3", "--quiet"]) == 2
    assert f"{path}:2: the map poly:3 overflows on this example" in capsys.readouterr().err


def test_sizes_of_maps_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"makes 50,005,000 columns of 10,000 features.*--feature-map-bits 22"):
        MapSpec.parse("products:2").columns(10_000)
    monkeypatch.setattr(feature_maps, "MAX_TERMS_PER_ROW", 50)
    long = Dense(np.ones(30), 15)
    mapper = Mapper(MapSpec.parse("products:2"))
    with pytest.raises(feature_maps.UnmappableRowError, match="more than 50 features of this example's 15"):
        list(mapper.pieces(long, 15))
    with pytest.raises(InputError, match="Row 0: the map products:2 makes more than 50"):
        FeatureMap("products:2").fit_transform(np.ones((2, 15)))


@pytest.mark.parametrize(
    ("text", "bits"), [("poly", None), ("poly:0", None), ("poly:9", None), ("cubes:2", None), ("poly:²", None), ("", 3)]
)
def test_invalid_maps_are_refused(text: str, bits: int | None) -> None:
    with pytest.raises(InputError, match=r"map must be powers:N, products:N, poly:N or conjunctions:N"):
        FeatureMap(text, bits).fit(np.eye(2))
    with pytest.raises(InputError, match="map_bits must be from 1 to 31"):
        FeatureMap("poly:2", 32).fit(np.eye(2))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--feature-map-bits", "3"), "--feature-map-bits is for the products of a --feature-map"),
        (("--feature-map", "poly:2", "--hash-bits", "0"), "--feature-map can't name its products"),
    ],
)
def test_invalid_options_are_refused(
    options: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"label": "a", "x": 1}\n')
    assert main(["learn", str(path), *options, "--quiet"]) == 2
    assert said in capsys.readouterr().err


@parametrize_with_checks([FeatureMap("poly:2")])
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("kernel", ["poly:2", "quadratic", "linear"])
def test_an_explicit_map_equals_the_kernel_perceptron(
    kernel: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All predictions are equal; the rounding of roots does not matter for these numbers."""
    rng = np.random.default_rng(1)
    path = tmp_path / "d.csv"
    X = rng.standard_normal((80, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0.1, "in", "out")
    rows = [",".join([*(f"{v:.5f}" for v in x), label]) for x, label in zip(X, y, strict=True)]
    path.write_text("a,b,c,label\n" + "\n".join(rows) + "\n")
    reports = {}
    for representation in ("dual", "primal", "auto"):
        how = ["--kernel", kernel, "--kernel-form", representation, "--json", "--quiet"]
        assert main(["learn", str(path), "--learner", "kernel-perceptron", *how]) == 0
        reports[representation] = json.loads(capsys.readouterr().out)
    assert reports["dual"]["mistakes"] == reports["primal"]["mistakes"] > 5
    assert reports["dual"]["learner"] == "kernel-perceptron"
    assert reports["primal"]["learner"] == reports["auto"]["learner"] == "perceptron"  # 80 examples of 9 products each
    assert reports["primal"]["features"] == (3 if kernel == "linear" else 9)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--learner", "sgd", "--kernel-form", "auto"), "--kernel-form is for a new run of --learner kernel"),
        (("--kernel", "rbf:1", "--kernel-form", "primal"), "the kernel rbf:1 has no map among those of --feature-map"),
        (("--vote", "--kernel-form", "primal"), "--vote is for the dual form"),
        (("--feature-map", "poly:2", "--kernel-form", "primal"), "--feature-map is given already"),
    ],
)
def test_kernels_without_an_explicit_map_are_refused(
    options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    learner = () if "--learner" in options else ("--learner", "kernel-perceptron")
    assert main(["learn", "breast-cancer", *learner, *options, "--quiet"]) == 2
    assert said in capsys.readouterr().err
