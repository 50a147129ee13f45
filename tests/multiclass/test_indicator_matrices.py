"""MultiLabel predicts a matrix of 0 and 1 if it was fitted to one."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.metrics import f1_score, hamming_loss
from sklearn.model_selection import cross_val_score

from novikoff import InputError, ModelFileError, MultiLabel, Perceptron, evaluate, load, save
from novikoff.cli.main import main
from novikoff.model_file import from_bytes, to_bytes
from tests.helpers.model_file_mutations import NO_CHECKSUM, with_checksum

RNG = np.random.default_rng(1)
X = RNG.standard_normal((90, 4))
Y = (X @ RNG.standard_normal((4, 3)) > 0.3).astype(int)
Y = np.insert(Y, 1, 0, axis=1)  # a label that no example has
SETS = [np.flatnonzero(row).tolist() for row in Y]


def make(update: Any = "each") -> MultiLabel:
    return MultiLabel(Perceptron(passes=3), update=update)


@pytest.mark.parametrize("update", ["each", "top", "uniform"])
@pytest.mark.parametrize("convert", [np.asarray, csr_matrix, pd.DataFrame, lambda y: y.astype(bool)])
def test_a_model_fitted_to_a_matrix_predicts_a_matrix(update: Any, convert: Any) -> None:
    model = make(update).fit(X, convert(Y))
    found = model.predict(X)
    assert isinstance(found, np.ndarray)
    assert (found.shape, found.dtype) == (Y.shape, np.int64)
    assert set(np.unique(found)) <= {0, 1}
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert model.decision_function(X).shape == Y.shape
    assert [np.flatnonzero(row).tolist() for row in found] == [model.predict_one(x) for x in X]
    assert model.score(X, Y) == model.score(X, SETS) == np.mean((found == Y).all(axis=1))


def test_a_model_fitted_to_sets_predicts_sets() -> None:
    model = make().fit(X, SETS)
    assert isinstance(model.predict(X), list)
    assert model.partial_fit(X, Y).predict(X[:1]) == [model.predict_one(X[0])]


def test_the_form_is_kept_by_files_copies_and_partial_fit(tmp_path: Path) -> None:
    model = make().fit(X, Y)
    expected = model.predict(X)
    save(model, tmp_path / "m.model")
    copies = [load(tmp_path / "m.model"), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]  # noqa: S301 - ours
    for one in copies:
        assert (one.predict(X) == expected).all()
        assert to_bytes(one) == to_bytes(model)
        one.partial_fit(X, Y)
        assert one.predict(X).shape == Y.shape
        one.learn_one(X[0], [0, 3])
        assert one.predict(X).shape == Y.shape
        assert to_bytes(one) == to_bytes(copies[0])
    stream = make()
    for start in range(0, 90, 30):
        stream.partial_fit(X[start : start + 30], Y[start : start + 30])
    assert stream.predict(X).shape == Y.shape
    declared = make().partial_fit(X, Y, classes=range(4))
    assert to_bytes(declared) == to_bytes(make().partial_fit(X, Y))
    assert isinstance(clone(model).fit(X, SETS).predict(X), list)


def test_a_matrix_with_other_columns_is_refused() -> None:
    model = make().fit(X, Y)
    before = to_bytes(model)
    for wrong in (Y[:, :3], np.hstack([Y, Y])):
        with pytest.raises(InputError, match=rf"y has {wrong.shape[1]} columns, but the model has learned 4 labels"):
            model.partial_fit(X, wrong)
        with pytest.raises(InputError, match="y must have a column for each of the 4 labels"):
            evaluate(model, X, wrong)
    with pytest.raises(InputError, match="matrix of 0 and 1"):
        model.partial_fit(X, Y + 1)
    assert to_bytes(model) == before


def test_metrics_take_matrices() -> None:
    model = make().fit(X[:60], Y[:60])
    predicted = model.predict(X[60:])
    for y in (Y[60:], csr_matrix(Y[60:]), pd.DataFrame(Y[60:]), SETS[60:]):
        found = evaluate(model, X[60:], y)
        assert found.hamming_loss == pytest.approx(hamming_loss(Y[60:], predicted), abs=1e-12)
        assert found.micro.f1 == pytest.approx(f1_score(Y[60:], predicted, average="micro"), abs=1e-12)
    scores = cross_val_score(make(), X, Y, cv=3, scoring="f1_micro")
    assert (scores > 0.5).all()


def test_the_command_line_evaluates_a_model_of_a_matrix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = make().fit(X, Y)
    save(model, tmp_path / "m.model")
    lines = [
        f"{','.join(map(str, s))} " + " ".join(f"{k}:{v!r}" for k, v in enumerate(x.tolist()))
        for s, x in zip(SETS, X, strict=True)
    ]
    (tmp_path / "a.svm").write_text("\n".join(lines) + "\n")
    assert main(["evaluate", str(tmp_path / "m.model"), str(tmp_path / "a.svm"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    text = json.dumps(document)
    assert json.dumps(evaluate(model, X, Y).to_dict()["hamming_loss"]) in text


@pytest.mark.parametrize("change", ["no truth value", "another model"])
def test_a_forged_form_is_refused(change: str) -> None:
    model: Any = make().fit(X, Y) if change == "no truth value" else Perceptron().fit(X, Y[:, 0])
    content = to_bytes(model)
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    inner = json.loads(header["__metadata__"]["novikoff"])
    inner["indicator"] = 1 if change == "no truth value" else True
    header["__metadata__"]["novikoff"] = json.dumps(inner | {"checksum": NO_CHECKSUM})
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    forged = with_checksum(len(text).to_bytes(8, "little") + text + content[8 + size :])
    with pytest.raises(ModelFileError, match="indicator must be true"):
        from_bytes(forged, "the file")
