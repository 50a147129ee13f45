"""Certificates: sound against exact rationals, tight against reference solvers, and verifiable from the data."""

from __future__ import annotations

import copy
import gzip
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_svmlight_file
from sklearn.preprocessing import StandardScaler

import novikoff
from novikoff import InputError, Perceptron
from novikoff._compiled.jit import JIT_DISABLED
from novikoff.certificates.certificate import Certificate, build_certificate, certify
from novikoff.certificates.data_source import ArraySource, FileSource
from novikoff.certificates.measure import build_evidence, measure
from novikoff.certificates.verify import find_differences, parse_certificate, verify
from novikoff.cli.main import main
from novikoff.data.canonical_rows import to_sparse
from novikoff.data.reader import ReadOptions
from novikoff.data.rows import Dense
from tests.helpers.certificate_changes import change_leaf, iter_leaves
from tests.helpers.learners import ALL_LEARNERS, clip_to_range, make_learner
from tests.helpers.paths import DATA_FOLDER
from tests.helpers.streams import csr, real, streams


def exact(value: Any) -> Fraction:
    return Fraction(float(value))


class Exact:
    """Measure the witness in rational arithmetic."""

    def __init__(self, X: Any, y: Any, u: Any, bias: bool) -> None:
        rows = [[exact(bias), *map(exact, x)] for x in X.tolist()]
        weights = [exact(w) for w in u]
        self.margins = [
            int(s) * sum(a * b for a, b in zip(x, weights, strict=True)) for x, s in zip(rows, y, strict=True)
        ]
        self.squared_radius = max(sum(a * a for a in x) for x in rows)
        self.squared_norm = sum(w * w for w in weights)
        self.hinge = sum(max(Fraction(0), 1 - m) for m in self.margins)

    def squared_slack(self, width: float) -> Fraction:
        return sum((max(Fraction(0), exact(width) - m) ** 2 for m in self.margins), Fraction(0))


def check_measuring(X: Any, y: Any, u: Any, bias: bool) -> None:
    u = (u * np.concatenate([[float(bias)], np.ones(X.shape[1])])).astype(np.float32)
    rows = to_sparse(Dense(np.ascontiguousarray(X).ravel(), X.shape[1]))
    widths = [0.1, 1.0]
    (found,) = measure([(rows, y.astype(np.int8))], [u], bias=bias, widths=[widths])
    truth = Exact(X, y, u, bias)
    assert exact(found.squared_radius) >= truth.squared_radius
    assert exact(found.margin) <= min(truth.margins)
    assert exact(found.hinge) >= truth.hinge
    facts = build_evidence(found, bias=bias, passes=1, batches=list)
    assert exact(facts.radius) ** 2 >= truth.squared_radius
    assert exact(facts.norm) ** 2 >= truth.squared_norm
    for width in widths:
        assert exact(found.slacks[width]) >= truth.squared_slack(width)
    near = 1 + Fraction(1, 10**9)
    assert exact(found.squared_radius) <= truth.squared_radius * near
    assert exact(found.hinge) <= truth.hinge * near + Fraction(1, 10**6)


@settings(max_examples=5 if JIT_DISABLED else 100, deadline=None)
@given(stream=streams(), bias=st.booleans(), kind=st.sampled_from([np.float32, np.float64]))
def test_every_number_is_rounded_outward(stream: Any, bias: bool, kind: Any) -> None:
    X, y, u = stream
    check_measuring(X[:20].astype(kind), y[:20], u, bias)


def check_soundness(seed: int) -> int:
    """Check that each bound of a small stream is at least the value of its formula for the exact numbers."""
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    X = rng.integers(-3, 4, (rows, columns)) / rng.choice([1.0, 3.0, 10.0])
    y = np.where(rng.random(rows) < 0.5, 1, -1)
    y[:2] = [-1, 1]
    model = Perceptron(fit_intercept=bool(seed % 2)).fit(X, y)
    document = certify(model, X, y, search_effort=1e-5).document
    for bound in document["bounds"]:
        if "bound" not in bound:
            continue
        assert bound["verdict"] == "holds"
        u = unpack_witness(document["witnesses"][bound["witness"]])
        truth = Exact(X, y, u, model.fit_intercept)
        made, allowed = Fraction(bound["observed"]), exact(bound["bound"])
        assert made <= allowed
        a, loss = truth.squared_radius * truth.squared_norm, truth.hinge
        if bound["name"] == "novikoff":
            assert allowed * min(truth.margins) ** 2 >= a
        if bound["name"] == "hinge":  # the largest M with (M − L)² ≤ a·M
            assert (allowed - loss) ** 2 >= a * allowed
            assert allowed >= loss
    return len(document["bounds"])


def unpack_witness(packed: dict[str, Any]) -> Any:
    import base64

    u = np.zeros(packed["slots"], np.float32)
    u[np.frombuffer(base64.b64decode(packed["places"]), "<u4")] = np.frombuffer(
        base64.b64decode(packed["values"]), "<f4"
    )
    return u


def test_no_certificate_claims_more_than_is_true() -> None:
    assert sum(check_soundness(seed) for seed in range(20 if JIT_DISABLED else 400)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 100_000, 5000))
def test_no_certificate_of_a_hundred_thousand_claims_more_than_is_true(start: int) -> None:
    assert sum(check_soundness(seed) for seed in range(start, start + 5000)) > 0


def sharper_hinge_bound(u: Any, Z: Any, y: Any, radius: float) -> float:
    """Compute the sharper hinge bound for u from its definition."""
    loss = np.maximum(0.0, 1.0 - y * (Z @ u)).sum()
    a = radius**2 * (u @ u)
    return float((a + 2 * loss + math.sqrt(a * a + 4 * a * loss)) / 2)


def reference(Z: Any, y: Any) -> float:
    """The best sharper hinge bound, by a general optimiser: √B = (r + √(r² + 4L))/2 is convex in u; smoothed, from a
    start of its own, and never below the truth because it is evaluated as it stands."""
    from sklearn.svm import LinearSVC

    radius = float(np.sqrt((Z.multiply(Z) if sp.issparse(Z) else Z * Z).sum(axis=1).max()))
    best = math.inf
    for power in np.arange(-5.0, 0.5, 0.25):
        machine = LinearSVC(loss="hinge", C=10.0**power / radius**2, fit_intercept=False, max_iter=200_000, tol=1e-7)
        u = machine.fit(Z, y).coef_[0]
        scaled = minimize(lambda s, u=u: sharper_hinge_bound(s[0] * u, Z, y, radius), [1.0], method="Nelder-Mead")
        best = min(best, float(scaled.fun))
    return best


def read_shared(name: str) -> Any:
    path = DATA_FOLDER / name
    if not path.exists():
        pytest.skip(f"the shared data set {name} is not here")
    return path


def with_bias(X: Any) -> Any:
    return sp.hstack([np.ones((X.shape[0], 1)), X]).tocsr() if sp.issparse(X) else np.hstack([np.ones((len(X), 1)), X])


def sets(name: str) -> tuple[Any, Any]:
    if name == "breast-cancer":
        X, y = load_breast_cancer(return_X_y=True)
        return StandardScaler().fit_transform(X), np.where(y, 1, -1)
    if name == "sms_spam":
        from sklearn.feature_extraction.text import TfidfVectorizer

        with gzip.open(read_shared("sms_spam.tsv.gz"), "rt", encoding="utf-8") as file:
            lines = [line.rstrip("\n").split("\t", 1) for line in file]
        X = TfidfVectorizer(token_pattern=r"\S+").fit_transform([text for _, text in lines])  # noqa: S106 - no password
        return X, np.array([1 if label == "spam" else -1 for label, _ in lines])
    with gzip.open(read_shared(f"{name}.train.svm.gz")) as file:
        X, y = load_svmlight_file(file)
    return X, np.where(y > 0, 1, -1)


@pytest.mark.parametrize(("name", "published"), [("breast-cancer", 260), ("mushrooms", 263), ("a9a", 12_606)])
def test_certificates_are_as_tight_as_published(name: str, published: float) -> None:
    X, y = sets(name)
    certificate = certify(Perceptron().fit(X, y), X, y)
    bounds = {b["name"]: b for b in certificate.bounds}
    assert bounds["hinge"]["verdict"] == "holds"
    assert bounds["hinge"]["bound"] <= published
    assert certificate.headline is not None
    assert certificate.headline["bound"] <= bounds["hinge"]["bound"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["breast-cancer", "a9a", "sms_spam"])
def test_margins_are_within_two_percent_of_the_convex_optimum(name: str) -> None:
    X, y = sets(name)
    certificate = certify(Perceptron().fit(X, y), X, y)
    (hinge,) = (b for b in certificate.bounds if b["name"] == "hinge")
    assert hinge["bound"] <= 1.02 * reference(with_bias(X), y)


def test_the_margin_of_mushrooms_is_nearly_optimal() -> None:
    """The largest margin by quadratic programming on the support of a machine with a very large C."""
    from sklearn.svm import LinearSVC

    X, y = sets("mushrooms")
    certificate = certify(Perceptron().fit(X, y), X, y)
    (bound,) = (b for b in certificate.bounds if b["name"] == "novikoff")
    Z = with_bias(X)
    u = LinearSVC(loss="hinge", C=1e4, fit_intercept=False, max_iter=500_000, tol=1e-8).fit(Z, y).coef_[0]
    margin = float((y * (Z @ u)).min()) / float(np.linalg.norm(u))
    radius = float(np.sqrt(Z.multiply(Z).sum(axis=1).max()))
    assert bound["verdict"] == "holds"
    assert bound["bound"] <= 1.05 * (radius / margin) ** 2


# --- Every learner, every change ---


@pytest.mark.parametrize("name", ALL_LEARNERS)
def test_every_learner_can_be_certified_and_verified(name: str) -> None:
    X, y = real(3, rows=40)
    X = clip_to_range(name, X)
    certificate = certify(make_learner(name, passes=2).fit(X, y), X, y)
    assert certificate.document["observed"]["examples"] == 80
    assert not [b for b in certificate.bounds if b["verdict"] == "violated"]
    again = json.loads(certificate.as_json())
    assert verify(again, X, y) == []
    assert str(certificate).startswith(f"{certificate.document['observed']['mistakes']:,} mistakes")


def test_any_change_of_the_certificate_is_found() -> None:
    X, y = real(5, rows=30, columns=4)
    certificate = certify(make_learner("perceptron-thick").fit(X, y), X, y)
    count = 0
    for path, value in iter_leaves(certificate.document):
        document = copy.deepcopy(certificate.document)
        place = document
        for key in path[:-1]:
            place = place[key]
        # One unit in the last place of δ changes no bound: the certificate is then one for that δ.
        place[path[-1]] = value * 1.001 if path[-1] == "delta" else change_leaf(value)
        try:
            found = verify(parse_certificate(json.dumps(document), "c"), X, y)
        except InputError:
            found = ["refused"]
        assert found, path
        count += 1
    assert count > 40


@pytest.mark.parametrize("change", ["value", "label", "order", "fewer"])
def test_any_change_of_the_data_is_found(change: str) -> None:
    X, y = real(6, rows=30, columns=4)
    certificate = certify(Perceptron().fit(X, y), X, y)
    other, labels = X.copy(), y.copy()
    if change == "value":
        other[17, 2] = np.nextafter(other[17, 2], 10.0)
    if change == "label":
        labels[9] = -labels[9]
    if change == "order":
        other[[3, 4]], labels[[3, 4]] = other[[4, 3]], labels[[4, 3]]
    if change == "fewer":
        other, labels = other[:-1], labels[:-1]
    assert "other data" in verify(certificate, other, labels)[0]
    if change in ("label", "fewer"):  # even if the digest were forged, the numbers would tell
        forged = copy.deepcopy(certificate.document)
        forged["data"] = ArraySource(other, labels).describe()
        assert verify(forged, other, labels)


def test_a_model_of_other_data_is_not_certified() -> None:
    X, y = real(7)
    model = Perceptron().fit(X, y)
    with pytest.raises(InputError, match="not what fit, or one call of partial_fit, gives"):
        certify(model, X[::-1], y[::-1])


def test_dense_and_sparse_give_the_same_bounds() -> None:
    X, y = real(8)
    dense, sparse = (certify(Perceptron().fit(form(X), y), form(X), y).document for form in (np.asarray, csr))
    assert dense["observed"] == sparse["observed"]
    for a, b in zip(dense["bounds"], sparse["bounds"], strict=True):
        assert a.get("bound", 0.0) == pytest.approx(b.get("bound", 0.0), rel=1e-6)


# --- The command line ---


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path / "data.svm"
    lines = []
    for _ in range(200):
        x = rng.standard_normal(5)
        label = "+1" if x[0] + 0.3 * rng.standard_normal() > 0 else "-1"
        lines.append(label + " " + " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(x)))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_certify_and_verify_from_the_command_line(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, first, second = (str(tmp_path / name) for name in ("m.model", "one.json", "two.json"))
    learn = ["learn", str(data), "--learner", "perceptron", "--passes", "3", "--save", model]
    assert main([*learn, "--certificate", first, "--quiet"]) == 0
    assert "mistakes at most (hinge: holds)" in capsys.readouterr().out
    assert main(["certify", model, str(data), "--passes", "3", "--output", second, "--threads", "2"]) == 0
    assert "at most" in capsys.readouterr().out
    assert Path(first).read_bytes() == Path(second).read_bytes()
    assert main(["verify", first, str(data)]) == 0
    assert capsys.readouterr().out == "verified\n"
    assert main(["certify", model, str(data)]) == 2
    assert "in 1 passes" in capsys.readouterr().err
    moved = data.rename(tmp_path / "moved.svm")
    assert main(["verify", first, str(moved), "--json"]) == 0
    text = Path(first).read_text()
    Path(first).write_text(text.replace('"passes": 3', '"passes": 2'))
    assert main(["verify", first, str(moved)]) == 1
    assert "observed.examples: the certificate says 600, the data say 400" in capsys.readouterr().out
    moved.write_text(moved.read_text().replace("0.", "1.", 1))
    assert main(["verify", first, str(moved)]) == 1
    assert "other data" in capsys.readouterr().out


@pytest.mark.parametrize(
    "more", [[], ["--positive-label", "spam"], ["--multiclass", "adaboost", "--n-estimators", "3"]]
)
def test_stored_names_do_not_change_a_certificate(
    more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mail, model, one, two = (str(tmp_path / name) for name in ("mail.txt", "m.model", "one.json", "two.json"))
    Path(mail).write_text("spam\twin money\nham\tsee you\nspam\tmoney now\nham\tat noon\n" * 3)
    assert main(["learn", mail, "--keep-names", "--save", model, "--certificate", one, "--quiet", *more]) == 0
    assert main(["inspect", model]) == 0
    assert "adaboost" in more or "money" in capsys.readouterr().out
    assert main(["certify", model, mail, "--output", two, "--quiet", *more[: 2 * ("--positive-label" in more)]]) == 0
    assert Path(one).read_bytes() == Path(two).read_bytes()
    assert main(["verify", one, mail, "--quiet"]) == 0
    assert main(["learn", mail, "--certificate", two, "--quiet", *more]) == 0
    assert Path(one).read_bytes() == Path(two).read_bytes()


def test_standard_input_and_invalid_certificates_are_refused(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = str(tmp_path / "c.json")
    assert main(["learn", "-", "--certificate", target, "--quiet"]) == 2
    assert "not with --resume or standard input" in capsys.readouterr().err
    for text in ("", "{}", "[1]", '{"certificate": 99}', '{"certificate": 1}'):
        Path(target).write_text(text)
        assert main(["verify", target, str(data)]) == 2
    assert not (tmp_path / "no").exists()
    assert main(["verify", str(tmp_path / "no"), str(data)]) == 2


def test_files_larger_than_the_sample_are_certified(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = build_certificate(Perceptron(), FileSource([str(data)], ReadOptions()), passes=1)
    monkeypatch.setattr("novikoff.certificates.sampling.MAX_SAMPLE_TERMS", 400)
    monkeypatch.setattr("novikoff.certificates.sampling.CHUNK_ROWS", 8)
    part, _ = build_certificate(Perceptron(), FileSource([str(data)], ReadOptions()), passes=1)
    assert part.document["observed"] == whole.document["observed"]
    for certificate in (part, whole):
        assert find_differences(certificate.document, FileSource([str(data)], ReadOptions())) == []
        assert all(b["verdict"] != "violated" for b in certificate.bounds)
    found = [{b["name"]: b.get("bound") for b in c.bounds}["hinge"] for c in (part, whole)]
    assert found[1] <= found[0] * 1.0001


def test_certificates_compare_equal_and_have_public_names() -> None:
    X, y = real(1)
    a, b = (novikoff.certify(Perceptron().fit(X, y), X, y) for _ in range(2))
    assert a == b
    assert hash(a) == hash(b)
    assert isinstance(a, Certificate)
    assert novikoff.verify(a, X, y) == []


def test_learners_are_compared_on_one_stream(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(data), "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"perceptron", "sgd", "voted-perceptron", "rectangle"} <= {entry["learner"] for entry in found["learners"]}
    assert "halving" in found["skipped"]
    made = [entry["mistakes"] for entry in found["learners"]]
    assert made == sorted(made)
    for entry in found["learners"]:
        if entry["learner"] in ("perceptron", "sgd"):
            assert main(["learn", str(data), "--learner", entry["learner"], "--json", "--quiet"]) == 0
            alone = json.loads(capsys.readouterr().out)
            assert (alone["mistakes"], alone["updates"]) == (entry["mistakes"], entry["updates"])
        if entry["bound"] is not None:
            assert entry["mistakes"] <= entry["bound"]
    assert main(["compare", str(data), "--learners", "perceptron,voted-perceptron", "--passes", "2"]) == 0
    text = capsys.readouterr().out
    assert "made the fewest mistakes" in text
    assert main(["compare", str(data), "--learners", "rectangle,elimination", "--quiet"]) == 0
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["compare", str(data), "--learners", "winnie"])


def test_advice_follows_the_theorems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A disjunction of few among many features favours multiplicative updates."""
    path = str(tmp_path / "d.svm")
    generate = [
        "generate",
        "disjunction",
        "--attributes",
        "300",
        "--relevant",
        "2",
        "--density",
        "0.3",
        "--examples",
        "600",
    ]
    assert main([*generate, "--output", path, "--quiet"]) == 0
    assert main(["compare", path, "--learners", "perceptron,balanced-winnow", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["multiplicative"] is not None
    assert "The theorems favour" in found["advice"]
    better = "multiplicative" if found["multiplicative"] < found["additive"] else "additive"
    assert f"favour {better} updates" in found["advice"]


TARGETS = [
    ("winnow-n", "winnow"),
    ("winnow-r", "winnow-r"),
    ("elimination", "elimination"),
    ("rectangle", "tightest fit"),
]


@pytest.mark.parametrize(("name", "theorem"), TARGETS)
def test_target_concepts_are_shown_where_they_exist(name: str, theorem: str) -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((150, 12)) < 0.3).astype(float)
    either, both = (X[:, 3] > 0) | (X[:, 7] > 0), (X[:, 3] > 0) & (X[:, 7] == 0)
    y = np.where(both if name in ("elimination", "rectangle") else either, 1, -1)
    changes = {"threshold": 12.0} if name == "winnow-r" else {}
    certificate = certify(make_learner(name, **changes).fit(X, y), X, y)
    shown = {b["name"]: b for b in certificate.bounds}[theorem]
    assert shown["verdict"] == "holds"
    assert verify(certificate, X, y) == []
    if name == "winnow-n":
        assert certificate.document["target"]["disjunction"] == 2.0
    noisy = y.copy()
    noisy[X[:, 3] * (1 - X[:, 7]) > 0] = rng.choice([-1, 1], int((X[:, 3] * (1 - X[:, 7]) > 0).sum()))
    other = certify(make_learner(name, **changes).fit(X, noisy), X, noisy)
    assert {b["name"]: b for b in other.bounds}[theorem]["verdict"] == "not applicable"
