"""Multiclass certificates: sound against exact rationals in the space of preferences, equal to those of the binary data
of Kesler's construction, and verifiable from the data.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from novikoff import SGD, InputError, Kesler, Perceptron, QueryRanking, certify, verify
from novikoff._compiled.jit import JIT_DISABLED
from novikoff.certificates.certificate import build_certificate
from novikoff.certificates.compare import compare
from novikoff.certificates.data_source import ArraySource, FileSource
from novikoff.certificates.measure import build_evidence, canonicalize_batches, measure
from novikoff.certificates.verify import parse_certificate
from novikoff.cli.main import main
from novikoff.data import validation
from novikoff.data.canonical_rows import to_sparse
from novikoff.data.reader import ReadOptions
from novikoff.data.rows import Dense, count_rows
from novikoff.multiclass.label_ranking import parse_preferences
from novikoff.reports.certificate_page import build_page
from novikoff.reports.report_data import build_report_data
from tests.helpers.certificate_changes import change_leaf, iter_leaves
from tests.helpers.multiclass_schemes import (
    BASE_LEARNERS,
    PATHS,
    SCHEMES,
    SINGLE_LABEL_SCHEMES,
    draw_labelled,
    make_scheme,
    slow_unless,
)

PREFERRING = ["kesler", "kesler-uniform", "multi-label-uniform", "label-ranking", "hierarchical"]
REDUCING = ["one-vs-all", "all-vs-all", "all-vs-all-tournament", "code-dense", "code-exhaustive", "multi-label"]


def exact(value: Any) -> Fraction:
    return Fraction(float(value))


def unpack_witness(packed: dict[str, Any], columns: int) -> Any:
    u = np.zeros(packed["slots"], np.float32)
    places = np.frombuffer(base64.b64decode(packed["places"]), "<u4")
    u[places] = np.frombuffer(base64.b64decode(packed["values"]), "<f4")
    return u.reshape(-1, columns)


# --- Preferences in rationals, made without the code that is tested ---


def pairs(name: str, labels: list[Any], one: Any) -> list[tuple[Any, Any]]:
    """Return the preferences of an example: tuples of the weight columns that are compared."""
    number = {label: c for c, label in enumerate(labels)}
    if name.startswith("kesler"):
        return [((number[one],), (c,)) for c in range(len(labels)) if c != number[one]]
    if name.startswith("multi-label"):
        has = [(number[label] + 1,) for label in one]
        others = [(c + 1,) for c in range(len(labels)) if (c + 1,) not in has]
        return [(a, b) for a in has for b in [(0,), *others]] + [((0,), b) for b in others]
    if name.startswith("label-ranking"):
        return [((number[a],), (number[b],)) for a, b in parse_preferences(one)]
    paths = nodes(labels)
    return [(tuple(paths[one]), tuple(paths[other])) for other in labels if other != one]


def nodes(labels: list[str]) -> dict[str, list[int]]:
    numbers: dict[str, int] = {}
    out = {}
    for label in labels:
        parts = label.split("/")
        out[label] = [numbers.setdefault("/".join(parts[: k + 1]), len(numbers)) for k in range(len(parts))]
    return out


def stretch(name: str, labels: list[Any]) -> int:
    return 2 * max(label.count("/") + 1 for label in labels) if name == "hierarchical" else 2


def mark_slow_except(names: Iterable[str], *some: str) -> list[Any]:
    """Return all names; mark those that are not in `some` as slow."""
    return [name if name in some else mark_slow(name) for name in names]


def mark_slow(name: str) -> Any:
    """Mark a scheme as slow: its kernels are compiled for this test alone."""
    return pytest.param(name, marks=pytest.mark.slow)


class Truth:
    """Measure u in exact arithmetic."""

    def __init__(self, name: str, X: Any, y: Any, labels: list[Any], u: Any, bias: bool) -> None:
        self.least: list[Fraction] = []
        squares = []
        for x, one in zip(X.tolist(), y, strict=True):
            row = [exact(bias), *map(exact, x)]
            scores = [sum(a * exact(w) for a, w in zip(row, column, strict=True)) for column in u.T.tolist()]
            squares.append(sum(a * a for a in row))
            found = pairs(name, labels, one)
            if found:
                self.least.append(min(sum(scores[c] for c in a) - sum(scores[c] for c in b) for a, b in found))
        self.squared_radius = stretch(name, labels) * max(squares)
        self.squared_norm = sum((exact(w) ** 2 for w in u.ravel()), Fraction(0))
        self.hinge = sum((max(Fraction(0), 1 - m) for m in self.least), Fraction(0))

    def squared_slack(self, width: float) -> Fraction:
        return sum((max(Fraction(0), exact(width) - m) ** 2 for m in self.least), Fraction(0))


def make_small_stream(name: str, seed: int) -> tuple[Any, Any]:
    """Make a small stream of simple fractions with labels for this scheme."""
    rng = np.random.default_rng(seed)
    rows, classes = int(rng.integers(2, 9)), int(rng.integers(2, 5))
    X, y = draw_labelled(name, seed, rows=rows, classes=classes, columns=int(rng.integers(1, 4)))
    X = np.round(2 * X) / float(rng.choice([1.0, 3.0, 10.0]))
    return X, y


def check_soundness(name: str, seed: int) -> int:
    """Check that no number is below the exact one, and no bound below its formula for the exact numbers."""
    X, y = make_small_stream(name, seed)
    model = make_scheme(name, Perceptron(fit_intercept=bool(seed % 2), passes=1 + seed % 2)).fit(X, y)
    document = certify(model, X, y, search_effort=1.0 if seed % 40 == 0 else 1e-5).document
    labels, columns = model._require_fitted().labels.known(), len(model._column_names())
    passes = document["passes"]
    truths = {}
    for title, packed in document["witnesses"].items():
        found = packed["measured"]
        truth = truths[title] = Truth(name, X, y, labels, unpack_witness(packed, columns), model.fit_intercept)
        assert exact(found["squared_radius"]) >= truth.squared_radius
        assert exact(found["hinge"]) >= truth.hinge
        assert exact(found["hinge"]) <= truth.hinge * (1 + Fraction(1, 10**9)) + Fraction(1, 10**6)
        if truth.least:
            assert exact(found["margin"]) <= min(truth.least)
        for width, total in zip(packed["widths"], found["squared_slacks"], strict=True):
            assert exact(total) >= truth.squared_slack(width)
    for bound in document["bounds"]:
        if "bound" not in bound:
            continue
        assert bound["verdict"] == "holds"
        truth, allowed = truths[bound["witness"]], exact(bound["bound"])
        a, loss = truth.squared_radius * truth.squared_norm, passes * truth.hinge
        if bound["name"] == "novikoff":
            assert allowed * min(truth.least) ** 2 >= a
        if bound["name"] == "hinge":  # the largest M with (M − L)² ≤ a·M
            assert (allowed - loss) ** 2 >= a * allowed
            assert allowed >= loss
    assert document["observed"]["mistakes"] <= document["observed"]["updates"] + document["observed"]["new"]
    return len(document["bounds"])


@pytest.mark.parametrize("name", mark_slow_except(PREFERRING, "kesler"))
def test_no_certificate_claims_more_than_is_true(name: str) -> None:
    assert sum(check_soundness(name, seed) for seed in range(6 if JIT_DISABLED else 60)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 2000, 500))
@pytest.mark.parametrize("name", PREFERRING)
def test_no_certificate_of_ten_thousand_claims_more_than_is_true(name: str, start: int) -> None:
    assert sum(check_soundness(name, 100 + seed) for seed in range(start, start + 500)) > 0


def check_column_sums(name: str, seed: int) -> int:
    """Check that the mistakes of each column, and their sum, are within the bounds."""
    X, y = make_small_stream(name, seed)
    model = make_scheme(
        name, Perceptron(fit_intercept=bool(seed % 2), tie=("positive", "negative")[seed // 2 % 2])
    ).fit(X, y)
    document = certify(model, X, y, search_effort=1e-3).document
    stated = [bound for bound in document["bounds"] if "bound" in bound]
    for bound in stated:
        assert bound["verdict"] == "holds"
        assert bound["observed"] <= bound["bound"]
    return len(stated)


@pytest.mark.parametrize("name", mark_slow_except(REDUCING, "one-vs-all"))
def test_sums_over_columns_hold(name: str) -> None:
    assert sum(check_column_sums(name, seed) for seed in range(3 if JIT_DISABLED else 10)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", REDUCING)
def test_sums_over_columns_hold_on_many_streams(name: str) -> None:
    assert sum(check_column_sums(name, seed) for seed in range(10, 300)) > 0


# --- Kesler's construction, written out ---


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("bias", [False, True])
def test_the_numbers_equal_those_of_the_kesler_construction(classes: int, bias: bool) -> None:
    """With each example's worst preference written out in R^{k(n+1)}, the binary measuring sees the same."""
    X, y = draw_labelled("kesler", 5, rows=40, classes=classes)
    document = certify(Kesler(Perceptron(fit_intercept=bias)).fit(X, y), X, y).document
    labels = document["labels"]
    for packed in document["witnesses"].values():
        u = unpack_witness(packed, len(labels))
        Z = np.hstack([np.full((len(X), 1), float(bias)), X])
        scores, rows = Z @ u.astype(np.float64), []
        for z, s, label in zip(Z, scores, y, strict=True):
            own = labels.index(label)
            others = [c for c in range(len(labels)) if c != own]
            worst = others[int(np.argmax(s[others]))]
            x = np.zeros((len(labels), Z.shape[1]))
            x[own], x[worst] = z, -z
            rows.append(x.T.ravel())
        flat = np.array(rows)
        batch = (to_sparse(Dense(flat.ravel(), flat.shape[1])), np.ones(len(flat), np.int8))
        v = np.concatenate([[np.float32(0)], u.ravel()])
        (found,) = measure([batch], [v], bias=False, widths=[packed["widths"]])
        seen = packed["measured"]
        assert seen["squared_radius"] == pytest.approx(found.squared_radius, rel=1e-9)
        assert seen["margin"] == pytest.approx(found.margin, rel=1e-9, abs=1e-12)
        assert seen["hinge"] == pytest.approx(found.hinge, rel=1e-9)
        assert seen["squared_slacks"] == pytest.approx(list(found.slacks.values()), rel=1e-9)
        e = build_evidence(found, bias=False, passes=1, batches=list)
        assert e.norm == pytest.approx(float(np.linalg.norm(u.astype(np.float64))), rel=1e-9)


def test_two_classes_have_the_bound_of_the_binary_learner() -> None:
    """Kesler with two classes is the binary learner on ±x with half the witness on either side: the same bounds."""
    X, y = draw_labelled("kesler", 9, rows=50, classes=2)
    signs = np.where(np.array(y) == sorted(set(y))[1], 1, -1)
    many = {b["name"]: b.get("bound") for b in certify(Kesler(Perceptron()).fit(X, y), X, y).bounds}
    two = {b["name"]: b.get("bound") for b in certify(Perceptron().fit(X, signs), X, signs).bounds}
    assert many["hinge"] == pytest.approx(two["hinge"], rel=0.01)


def test_the_bound_on_digits_is_at_most_four_times_the_mistakes() -> None:
    X, y = load_digits(return_X_y=True)
    certificate = certify(Kesler(Perceptron(shuffle=False)).fit(X, y), X, y)
    assert certificate.headline is not None
    assert certificate.headline["bound"] < 1210
    assert certificate.headline["observed"] == 310
    (novikoff,) = (b for b in certificate.bounds if b["name"] == "novikoff")
    assert novikoff["verdict"] == "holds"


# --- Every scheme, every change ---


@pytest.mark.parametrize("name", mark_slow_except(SCHEMES, "kesler", "one-vs-all"))
def test_every_scheme_can_be_certified_and_verified(name: str) -> None:
    X, y = draw_labelled(name, 3)
    certificate = certify(make_scheme(name, Perceptron(passes=2)).fit(X, y), X, y)
    assert certificate.document["observed"]["examples"] == 2 * len(X)
    assert not [b for b in certificate.bounds if b["verdict"] == "violated"]
    assert verify(json.loads(certificate.as_json()), X, y) == []
    assert str(certificate).startswith(f"{certificate.document['observed']['mistakes']:,} mistakes")


PREFERRED = ["margin-perceptron", "p-norm-perceptron", "sgd-logistic-adagrad", "sgd-hinge-constant", "balanced-winnow"]


@pytest.mark.parametrize(
    "inner",
    [
        pytest.param(name, marks=slow_unless(name == "perceptron-thick"))
        for name in ("perceptron-thick", "perceptron-averaged", *PREFERRED)
    ],
)
def test_no_bound_of_a_learner_in_the_construction_is_broken(inner: str) -> None:
    stated = 0
    for seed in range(2 if JIT_DISABLED else 12):
        X, y = draw_labelled("kesler", seed, rows=30, classes=3)
        X = np.clip(X, -1.0, 1.0)
        model = make_scheme(("kesler", "kesler-uniform")[seed % 2], BASE_LEARNERS[inner]).fit(X, y)
        certificate = certify(model, X, y, search_effort=0.01)
        assert not [b for b in certificate.bounds if b["verdict"] == "violated"]
        stated += len(certificate.bounds)
    assert stated > 0


def test_a_mean_of_losses_bounds_no_mistakes() -> None:
    X, y = draw_labelled("kesler", 1)
    assert Kesler(SGD(), update="top").fit(X, y).bounds()
    assert not Kesler(SGD(), update="uniform").fit(X, y).bounds()


def test_sample_weights_withdraw_the_bounds() -> None:
    X, y = draw_labelled("kesler", 1)
    for name in ("kesler", "one-vs-all"):
        assert not make_scheme(name).fit(X, y, sample_weight=np.linspace(0.5, 2.0, len(X))).bounds()


@pytest.mark.parametrize("name", ["kesler", "one-vs-all", *map(mark_slow, ("multi-label-uniform", "hierarchical"))])
def test_any_change_of_the_certificate_is_found(name: str) -> None:
    X, y = draw_labelled(name, 5, rows=20, classes=3, columns=3)
    certificate = certify(make_scheme(name, Perceptron()).fit(X, y), X, y)
    # Confidence and widths are questions, not answers: a little more of one may have the same answer.
    every = [leaf for leaf in iter_leaves(certificate.document) if not {"delta", "widths"} & set(leaf[0])]
    for path, value in every[:: 10 if JIT_DISABLED else 1]:
        document = copy.deepcopy(certificate.document)
        place = document
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = change_leaf(value)
        try:
            found = verify(parse_certificate(json.dumps(document), "c"), X, y)
        except InputError:
            found = ["refused"]
        assert found, path
    assert len(every) > 40


@pytest.mark.parametrize("change", ["value", "label", "order", "fewer"])
@pytest.mark.parametrize("name", ["kesler", *map(mark_slow, ("multi-label", "label-ranking"))])
def test_any_change_of_the_data_is_found(name: str, change: str) -> None:
    X, y = draw_labelled(name, 6, rows=30, columns=4)
    certificate = certify(make_scheme(name).fit(X, y), X, y)
    other, labels = X.copy(), list(y)
    if change == "value":
        other[17, 1] = np.nextafter(other[17, 1], 10.0)
    if change == "label":
        labels[9] = next(one for one in y if set(one) != set(labels[9]))
    if change == "order":
        other[[3, 4]], labels[3], labels[4] = other[[4, 3]], labels[4], labels[3]
    if change == "fewer":
        other, labels = other[:-1], labels[:-1]
    assert "other data" in verify(certificate, other, labels)[0]
    if change == "fewer":  # even if the digest were forged, the numbers would tell
        forged = copy.deepcopy(certificate.document)
        forged["data"] = ArraySource(other, labels).describe()
        assert verify(forged, other, labels)


def test_a_changed_setting_is_named() -> None:
    X, y = draw_labelled("kesler", 6)
    document = certify(Kesler(Perceptron(), update="top").fit(X, y), X, y).document
    for change, expected in (
        ({"update": "uniform"}, ""),
        ({"learner": {"name": "perceptron", "settings": {"margin": 3.0}}}, ""),
        ({"estimator": {"name": "perceptor", "settings": {}}}, "there is no learner with these settings"),
        ({"updates": "top"}, "there is no learner with these settings"),
    ):
        other = copy.deepcopy(document)
        other["settings"] |= change
        found = verify(other, X, y)
        assert found
        assert expected in found[0]


def test_the_order_of_a_label_set_does_not_change_the_fingerprint() -> None:
    X = np.eye(2)
    one, other = [{"a", "b", "c"}, set()], [{"c", "b", "a"}, set()]
    assert (
        ArraySource(X, one).describe() == ArraySource(X, other).describe() != ArraySource(X, [{"a"}, set()]).describe()
    )


def test_duplicate_features_are_measured_as_their_sum() -> None:
    """This also holds in a row after one that is canonical already."""
    X = sp.csr_matrix((np.ones(4), np.array([0, 1, 0, 0]), np.array([0, 2, 4])), shape=(2, 2))
    parts = list(canonicalize_batches([(validation.validate_batch(X).rows, np.array([1, -1], np.int8))], 2))
    assert [count_rows(rows) for rows, _ in parts] == [1, 1]
    assert parts[1][0].values.tolist() == [2.0]
    model = Perceptron(fit_intercept=False).fit(X, [1, -1])
    document = certify(model, X, [1, -1]).document
    assert all(b["numbers"]["radius"] >= 2.0 for b in document["bounds"] if "bound" in b)


# --- Queries ---


def ranking(seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, int(rng.integers(1, 6)))
    X = rng.integers(-2 if seed % 2 else 0, 4, (int(sizes.sum()), 3)) / rng.choice([1.0, 3.0])
    return X, rng.integers(0, 3, len(X)), np.repeat(np.arange(len(sizes)), sizes)


def test_rankings_are_sound() -> None:
    stated = 0
    for seed in range(8 if JIT_DISABLED else 80):
        X, grades, qid = ranking(seed)
        model = QueryRanking(Perceptron()).fit(X, grades, qid)
        document = certify(model, X, grades, qid=qid).document
        assert verify(document, X, grades, qid=qid) == []
        for packed in document["witnesses"].values():
            u, least, radius = unpack_witness(packed, 1)[1:, 0], [], Fraction(0)
            scores = [sum(exact(a) * exact(w) for a, w in zip(x, u, strict=True)) for x in X.tolist()]
            for q in set(qid.tolist()):
                there = [i for i in range(len(X)) if qid[i] == q]
                both = [(i, j) for i in there for j in there if grades[i] > grades[j]]
                for i, j in both:
                    apart = [(exact(a) - exact(b)) ** 2 for a, b in zip(X[i], X[j], strict=True)]
                    radius = max(radius, sum(apart, Fraction(0)))
                if both:
                    least.append(min(scores[i] - scores[j] for i, j in both))
            assert exact(packed["measured"]["squared_radius"]) >= radius
            assert exact(packed["measured"]["hinge"]) >= sum(max(Fraction(0), 1 - m) for m in least)
            assert exact(packed["measured"]["margin"]) <= min(least)
        for bound in document["bounds"]:
            assert bound["verdict"] != "violated"
            stated += "bound" in bound
    assert stated > 0


# --- Files ---


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.svm"
    X, y = draw_labelled("kesler", 4, rows=120)
    names = sorted(set(y))
    rows = (
        f"{names.index(c)} " + " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(x)) for x, c in zip(X, y, strict=True)
    )
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.slow
def test_the_bound_allows_for_new_classes(data: Path) -> None:
    source = FileSource([str(data)], ReadOptions())
    certificate, model = build_certificate(Kesler(Perceptron()), source, passes=2)
    seen = certificate.document["observed"]
    assert seen["new"] == seen["classes"] == len(certificate.document["labels"])
    assert seen["mistakes"] <= seen["updates"] + seen["new"]
    (hinge,) = (b for b in certificate.bounds if b["name"] == "hinge")
    assert f"{seen['new']} more, for new classes" in hinge["statement"]
    assert hinge["verdict"] == "holds"
    assert [b.name for b in model.bounds()] == [b["name"] for b in certificate.bounds]


@pytest.mark.parametrize("name", ["kesler", mark_slow("ova")])
def test_certify_and_verify_from_the_command_line(
    name: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, first, second = (str(tmp_path / file) for file in ("m.model", "one.json", "two.json"))
    learn = [
        "learn",
        str(data),
        "--multiclass",
        name,
        "--passes",
        "2",
        "--save",
        model,
        "--certificate",
        first,
        "--quiet",
    ]
    assert main(learn) == 0
    assert "mistakes at most" in capsys.readouterr().out
    assert main(["certify", model, str(data), "--passes", "2", "--output", second, "--quiet"]) == 0
    assert Path(first).read_bytes() == Path(second).read_bytes()
    capsys.readouterr()
    assert main(["verify", first, str(data)]) == 0
    assert capsys.readouterr().out == "verified\n"
    text = Path(first).read_text()
    Path(first).write_text(text.replace('"new": 5', '"new": 6'))
    assert main(["verify", first, str(data)]) == 1
    assert "observed.new: the certificate says 6, the data say 5" in capsys.readouterr().out
    lines = data.read_text().splitlines()
    data.write_text("\n".join([lines[1], lines[0], *lines[2:]]) + "\n")
    assert main(["verify", second, str(data)]) == 1
    assert "other data" in capsys.readouterr().out


@pytest.mark.slow
def test_trees_label_sets_and_queries_of_files_are_certified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    X = [" ".join(f"{j + 1}:{v:.3f}" for j, v in enumerate(rng.standard_normal(4))) for _ in range(60)]
    tree = ["label,a,b", *(f"{rng.choice(PATHS)},{a},{b}" for a, b in rng.integers(-3, 4, (60, 2)))]
    sets = [f"{','.join(map(str, sorted(rng.choice(5, int(rng.integers(1, 4)), replace=False))))} {x}" for x in X]
    queries = [f"{int(rng.integers(0, 3))} qid:{1 + i // 6} {x}" for i, x in enumerate(X)]
    for name, lines, more in (
        ("tree.csv", tree, ["--multiclass", "hierarchical", "--separator", "/"]),
        ("sets.svm", sets, ["--update", "uniform"]),
        ("sets.svm", sets, []),
        ("queries.svm", queries, []),
    ):
        path, target = tmp_path / name, str(tmp_path / "c.json")
        path.write_text("\n".join(lines) + "\n")
        assert main(["learn", str(path), *more, "--certificate", target, "--quiet"]) == 0
        assert "bound" in capsys.readouterr().out
        assert main(["verify", target, str(path)]) == 0, name
        assert capsys.readouterr().out == "verified\n"


def test_the_report_shows_many_classes() -> None:
    X, y = draw_labelled("kesler", 2)
    for name in ("kesler", "one-vs-all", "multi-label-uniform"):
        X, y = draw_labelled(name, 2)
        model = make_scheme(name, Perceptron()).fit(X, y)
        certificate, source = certify(model, X, y), ArraySource(X, y)
        shown = build_report_data(certificate, model, source)
        assert {w.speaks_for for w in shown.weights or ()} == set(model._column_names())
        assert (shown.witness_margins is not None) == (name != "one-vs-all")
        text = build_page(shown)
        assert "5 labels" in text
        assert "lowers the score" in text


@pytest.mark.slow
def test_learners_are_compared_on_many_classes(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = compare([str(data)], ReadOptions(), only=["perceptron", "winnow"])
    assert {e.name for e in found.entries} == {
        "kesler(perceptron)",
        "one-vs-all(perceptron)",
        "all-vs-all(perceptron)",
        "output-code(perceptron)",
    }
    assert "kesler(winnow)" in found.skipped
    for entry in found.entries:
        assert entry.bound is not None
        assert entry.bound["verdict"] == "holds"
    assert main(["compare", str(data), "--learners", "perceptron", "--json", "--quiet"]) == 0
    assert "kesler(perceptron)" in {e["learner"] for e in json.loads(capsys.readouterr().out)["learners"]}


def test_every_scheme_is_covered_by_these_tests() -> None:
    assert set(SINGLE_LABEL_SCHEMES) <= {*PREFERRING, *REDUCING, "code-sparse-loss"}
