"""Conventions of scikit-learn: diagrams, metadata routing, output containers and names of columns."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from novikoff import (
    AROW,
    SGD,
    Auto,
    Bagging,
    FeatureMap,
    Halving,
    InputError,
    KernelPerceptron,
    Kesler,
    MulticlassSVM,
    OneVsAll,
    Perceptron,
    QueryRanking,
    RandomForest,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 3))
Y = (X[:, 0] + 0.3 * RNG.standard_normal(120) > 0.0).astype(int)
WEIGHTS = RNG.random(120)
MODELS = (AROW(), Kesler(AROW()), Auto(), KernelPerceptron(), MulticlassSVM(), RandomForest(), OneVsAll(SGD()))


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


# --- Diagrams ---


@pytest.mark.parametrize("model", [*MODELS, FeatureMap(), make_pipeline(FeatureMap(), AROW(r=2.0))])
def test_an_estimator_is_shown_as_a_diagram_in_notebooks(model: Any) -> None:
    html = model._repr_html_()
    assert html.startswith("<style")
    assert type(model).__name__ in html
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")


def test_the_diagram_shows_the_settings_and_the_inner_learner() -> None:
    html = Kesler(AROW(r=0.125))._repr_html_()
    assert "AROW" in html
    assert "0.125" in html


def test_novikoff_works_without_scikit_learn_and_does_not_import_it() -> None:
    code = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "sklearn":
            raise ImportError(name)
if len(sys.argv) > 1:
    sys.meta_path.insert(0, Refuse())
from novikoff import AROW, FeatureMap, InputError, Kesler
model = Kesler(AROW()).fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
assert not any(name.partition(".")[0] == "sklearn" for name in sys.modules), "imported"
assert FeatureMap().fit_transform([[1.0, 2.0]]).shape == (1, 5)
assert hasattr(model, "_repr_html_") == (len(sys.argv) == 1)
try:
    model.get_metadata_routing()
    assert len(sys.argv) == 1
except ImportError as problem:
    assert "novikoff[sklearn]" in str(problem), problem
"""
    for arguments in ([], ["without"]):
        done = subprocess.run([sys.executable, "-c", code, *arguments], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


# --- Metadata routing ---


@pytest.mark.usefixtures("routing")
def test_sample_weights_reach_a_learner_inside_a_pipeline() -> None:
    scale = StandardScaler().set_fit_request(sample_weight=False)
    model = make_pipeline(scale, AROW().set_fit_request(sample_weight=True).set_score_request(sample_weight=True))
    model.fit(X, Y, sample_weight=WEIGHTS)
    scaled = StandardScaler().fit_transform(X)
    weighted, plain = AROW().fit(scaled, Y, sample_weight=WEIGHTS), AROW().fit(scaled, Y)
    assert (model[-1].coef_ == weighted.coef_).all()
    assert (model[-1].coef_ != plain.coef_).any()
    assert model.score(X, Y, sample_weight=WEIGHTS) == weighted.score(scaled, Y, sample_weight=WEIGHTS)
    with pytest.raises(TypeError, match="not routed to any"):
        make_pipeline(scale, AROW().set_fit_request(sample_weight=False)).fit(X, Y, sample_weight=WEIGHTS)
    renamed = make_pipeline(scale, AROW().set_fit_request(sample_weight="importance")).fit(X, Y, importance=WEIGHTS)
    assert (renamed[-1].coef_ == weighted.coef_).all()


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("make", [SGD, lambda: Kesler(AROW()), lambda: OneVsAll(SGD())])
def test_sample_weights_reach_the_candidates_of_a_search(make: Any) -> None:
    model = make().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    name = "l2" if isinstance(model, SGD) else "estimator__passes"
    values = [0.0, 0.5] if isinstance(model, SGD) else [1, 3]
    search = GridSearchCV(model, {name: values}, cv=3).fit(X, Y, sample_weight=WEIGHTS)
    reference = make().set_params(**search.best_params_).fit(X, Y, sample_weight=WEIGHTS)
    assert (search.best_estimator_.coef_ == reference.coef_).all()
    splits = list(sklearn.model_selection.StratifiedKFold(3).split(X, Y))
    expected = [
        make()
        .set_params(**search.best_params_)
        .fit(X[train], Y[train], sample_weight=WEIGHTS[train])
        .score(X[test], Y[test], sample_weight=WEIGHTS[test])
        for train, test in splits
    ]
    found = cross_validate(
        clone(model).set_params(**search.best_params_), X, Y, cv=3, params={"sample_weight": WEIGHTS}
    )
    assert found["test_score"].tolist() == expected


@pytest.mark.usefixtures("routing")
def test_a_request_must_be_set_for_what_is_passed() -> None:
    with pytest.raises(UnsetMetadataPassedError, match="AROW"):
        make_pipeline(AROW()).fit(X, Y, sample_weight=WEIGHTS)
    with pytest.raises(TypeError, match="Unexpected args: \\['weight'\\] in fit"):
        AROW().set_fit_request(weight=True)
    with pytest.raises(ValueError, match=r"alias|str or True"):
        AROW().set_fit_request(sample_weight=1.5)
    for model in (Halving(), FeatureMap()):
        assert not hasattr(model, "set_fit_request")  # they take no weights
    assert FeatureMap().get_metadata_routing().fit.requests == {}


def test_requests_need_the_option_of_scikit_learn() -> None:
    with pytest.raises(RuntimeError, match="enable_metadata_routing=True"):
        AROW().set_fit_request(sample_weight=True)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("model", [AROW(), Kesler(AROW()), Auto(), Bagging(Perceptron())])
def test_clones_and_copies_keep_requests(model: Any) -> None:
    if not hasattr(model, "set_score_request"):
        pytest.skip("takes no weights")
    wanted = {"sample_weight": True}
    model = clone(model).set_score_request(**wanted)
    for copy in (model, clone(model), pickle.loads(pickle.dumps(model))):  # noqa: S301 - our own
        assert copy.get_metadata_routing().score.requests == wanted
    assert model.get_metadata_routing().fit.requests.get("sample_weight") is None


@pytest.mark.usefixtures("routing")
def test_partial_fit_has_requests_of_its_own() -> None:
    model = AROW().set_partial_fit_request(classes=True, sample_weight=False)
    assert model.get_metadata_routing().partial_fit.requests == {"classes": True, "sample_weight": False}
    assert model.get_metadata_routing().fit.requests == {"sample_weight": None}
    assert "qid" in QueryRanking().get_metadata_routing().fit.requests


# --- Output of transformers ---


@pytest.mark.parametrize(("container", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_a_feature_map_returns_data_frames_if_it_is_set_to(container: str, kind: Any) -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=range(7, 127))
    plain = FeatureMap("products:2").fit(frame)
    expected, names = plain.transform(frame).toarray(), plain.get_feature_names_out().tolist()
    assert names[:3] == ["a", "b", "a*b"]
    chosen = FeatureMap("products:2").set_output(transform=container)
    for model in (chosen, clone(chosen), FeatureMap("products:2")):
        with sklearn.config_context(transform_output=container):
            found = model.fit_transform(frame)
        assert isinstance(found, kind)
        assert list(found.columns) == names
        assert (found.to_numpy() == expected).all()
    if container == "pandas":
        assert chosen.fit_transform(frame).index.tolist() == list(range(7, 127))
    pipeline = make_pipeline(FeatureMap("products:2"), AROW()).set_output(transform=container).fit(frame, Y)
    assert pipeline[-1].feature_names_in_.tolist() == names
    assert not isinstance(chosen.set_output(transform="default").fit_transform(frame), kind)


def test_invalid_output_containers_and_names_are_refused() -> None:
    with pytest.raises(InputError, match="transform must be one of default, pandas, polars, or None, but is 'numpy'"):
        FeatureMap().set_output(transform="numpy")
    assert FeatureMap().set_output(transform=None).fit_transform(X).shape == (120, 9)
    with pytest.raises(NotFittedError):
        FeatureMap().get_feature_names_out()
    model = FeatureMap("products:2").fit(X)
    assert model.get_feature_names_out(["p", "q", "r"]).tolist()[:3] == ["p", "q", "p*q"]
    with pytest.raises(InputError, match="input_features should have length equal to number of features"):
        model.get_feature_names_out(["p", "q"])
    with pytest.raises(InputError, match="input_features is not equal to feature_names_in_"):
        FeatureMap().fit(pd.DataFrame(X, columns=list("abc"))).get_feature_names_out(["a", "c", "b"])


# --- Names of columns ---

TABLES = {
    "pandas": pd.DataFrame(X, columns=["a", "b", "c"]),
    "polars": pl.DataFrame(X, schema=["a", "b", "c"]),
    "pyarrow": pa.table({name: X[:, k] for k, name in enumerate("abc")}),
    "record batch": pa.record_batch({name: X[:, k] for k, name in enumerate("abc")}),
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("model", [*MODELS, FeatureMap()])
def test_names_of_columns_are_those_of_the_table(kind: str, model: Any) -> None:
    table, model = TABLES[kind], clone(model)
    model.fit(table, Y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    predict = getattr(model, "predict", None) or (lambda rows: model.transform(rows).toarray())
    reference = clone(model).fit(X, Y)
    expected = reference.predict(X) if hasattr(reference, "predict") else reference.transform(X).toarray()
    for other in TABLES.values():
        assert (predict(other) == expected).all()
    shuffled = pd.DataFrame(X, columns=["a", "c", "b"])
    with pytest.raises(InputError, match="Feature names must be in the same order"):
        predict(shuffled)


def test_tables_of_arrow_with_equal_names_are_refused() -> None:
    table = pa.table([pa.array([0.0, 1.0])] * 2, names=["a", "a"])
    with pytest.raises(InputError, match="columns 1 and 2 are both named 'a'"):
        AROW().fit(table, [0, 1])
