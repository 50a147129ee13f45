"""fit on data frames with texts and categories, dicts and texts: the encoding becomes part of the model."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from novikoff import (
    AROW,
    Auto,
    DoubtfulColumnsWarning,
    InputError,
    Kesler,
    Perceptron,
    SortedLabelsWarning,
    certify,
    load,
    save,
    verify,
    with_columns,
)
from novikoff.cli.main import main
from novikoff.data.raw.table import is_raw
from novikoff.model_file import to_bytes

pandas = pytest.importorskip("pandas", reason="pandas is not installed (extra dev)")


def rows(count: int = 60) -> list[dict[str, Any]]:
    draw = random.Random(4)
    return [
        {
            "age": draw.randint(18, 90),
            "job": draw.choice(["nurse", "cook, chef", None, "pilot"]),
            "zip": draw.choice([50667.0, 50668.0, None]),
            "note": " ".join(draw.choice(["red", "blue", "Green", "good"]) for _ in range(5)),
            "size": draw.gauss(0, 3),
            "new": draw.random() < 0.5,
        }
        for _ in range(count)
    ]


LABELS = ["good" if "good" in row["note"].split()[:2] else "other" for row in rows()]
FRAME = pandas.DataFrame(rows())
COLUMN_TYPES: dict[str, Any] = {"text": "note", "categorical": ["zip"], "ignore": "size"}


@pytest.mark.parametrize("model", [Auto(), Perceptron(average=True), AROW(passes=2), Kesler(Perceptron())], ids=repr)
@pytest.mark.parametrize("data", [FRAME, rows()], ids=["frame", "dicts"])
def test_scores_of_raw_rows_are_the_same_everywhere(model: Any, data: Any, tmp_path: Path) -> None:
    model = type(model)(**model.get_params(deep=False)).fit(with_columns(data, **COLUMN_TYPES), LABELS)
    save(model, tmp_path / "m.model")
    loaded = load(tmp_path / "m.model")
    scores = model.decision_function(FRAME)
    for other in (
        loaded.decision_function(FRAME),
        loaded.decision_function(rows()),
        loaded.decision_function(FRAME[FRAME.columns[::-1]]),
        model.decision_function(with_columns(FRAME, **COLUMN_TYPES)),
    ):
        np.testing.assert_array_equal(other, scores)
    single = [loaded.score_one(row) for row in rows()]
    if isinstance(model, Kesler):
        single = [score["other"] - score["good"] for score in single]
        scores = scores[:, 1] - scores[:, 0] if scores.ndim == 2 else scores
    np.testing.assert_allclose(single, scores, rtol=1e-15 if isinstance(model, Kesler) else 0)
    FRAME.astype({"zip": "Int64"}).assign(label=LABELS).to_csv(tmp_path / "d.csv", index=False)
    assert main(["predict", str(tmp_path / "m.model"), str(tmp_path / "d.csv"), "--output", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_text().split("\n")[:-1] == model.predict(FRAME).tolist()


def test_a_frame_and_dicts_give_the_same_model() -> None:
    models = [to_bytes(Perceptron().fit(with_columns(data, **COLUMN_TYPES), LABELS)) for data in (FRAME, rows())]
    assert models[0] == models[1]


def test_a_file_and_a_frame_have_the_same_features(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    FRAME.drop(columns="new").assign(label=LABELS).to_csv(path, index=False)
    arguments = ["--learner", "perceptron", "--categorical", "zip", "--quiet", "--no-shuffle"]
    assert main(["learn", str(path), *arguments, "--save", str(tmp_path / "m.model")]) == 0
    columns = ["age", "job", "zip", "note", "size"]
    frame = with_columns(FRAME[columns].astype({"zip": object}), categorical="zip", ignore="note")
    mine = Perceptron().partial_fit(frame, LABELS, classes=["good", "other"])
    theirs = load(tmp_path / "m.model")
    assert sorted(theirs.feature_names_in_)[:4] == ["age", "job=cook, chef", "job=nurse", "job=pilot"]
    assert "zip=50667.0" in theirs.feature_names_in_  # as the file has it
    assert "zip=50667" in mine.feature_names_in_


def test_certificates_of_raw_rows() -> None:
    with pytest.warns(DoubtfulColumnsWarning):
        model = Perceptron().fit(FRAME, LABELS)
    certificate = certify(model, FRAME, LABELS)  # which does not warn once more
    assert verify(certificate, FRAME, LABELS) == []
    assert verify(certificate, FRAME.assign(job="cook"), LABELS) != []
    said = with_columns(FRAME, **COLUMN_TYPES)
    assert verify(certify(Perceptron().fit(said, LABELS), said, LABELS), said, LABELS) == []


def test_lists_of_texts_can_be_fitted() -> None:
    texts = [row["note"] for row in rows()]
    model = Perceptron().fit(texts, LABELS)
    assert model.n_features_in_ == 1 << 18
    assert model.predict(np.array(texts)).tolist() == model.predict(pandas.Series(texts)).tolist()
    assert [model.predict_one(text) for text in texts] == model.predict(texts).tolist()
    model.partial_fit(["bad bad bad"] * 3, ["other"] * 3).learn_one("good good", "good")
    assert model.ledger_.examples == 64
    pairs = Perceptron().fit(with_columns(texts, word_ngrams=2, char_ngrams=3), LABELS)
    assert pairs.predict_one("a good one") in ("good", "other")


def test_a_warning_names_suspicious_columns() -> None:
    with pytest.warns(DoubtfulColumnsWarning) as caught:
        Perceptron().fit(FRAME.assign(code=[k % 7 for k in range(60)]), LABELS)
    said = " ".join(str(warning.message) for warning in caught)
    assert "Column 'note' (" in said
    assert "with_columns(X, text='note') makes features of the words" in said
    assert "with_columns(X, categorical='code') if so" in said
    assert all(warning.filename == __file__ for warning in caught)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DoubtfulColumnsWarning)
        Perceptron().fit(with_columns(FRAME, **COLUMN_TYPES), LABELS)


def test_invalid_columns_are_refused() -> None:
    for said, message in (
        ({"text": "nothing"}, "--text must be a column"),
        ({"ignore": list(FRAME.columns)}, "no column is left"),
        ({"missing": "maybe"}, "missing must be one of absent, indicator, error"),
    ):
        with pytest.raises(InputError, match=message):
            Perceptron().fit(with_columns(FRAME, **said), LABELS)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"Row \d+: column 'job' has no value, which --missing error refuses"):
        Perceptron().fit(
            with_columns(FRAME, **{**COLUMN_TYPES, "ignore": "zip", "categorical": ()}, missing="error"), LABELS
        )
    with pytest.raises(InputError, match="Row 1: rows must all be dicts, got NoneType"):
        Perceptron().fit([rows()[0], None], ["good", "other"])
    with pytest.raises(InputError, match="Raw rows must be a data frame, a list of dicts"):
        Perceptron().fit(with_columns([[1, 2]]), [0])


def test_tables_with_other_columns_are_refused() -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed (extra dev)")
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is in the dev extra")
    model = Perceptron().fit(with_columns(FRAME, **COLUMN_TYPES), LABELS)
    other = {"colour": ["red", "blue"], "label": ["good", "other"]}
    for frame in (pandas.DataFrame(other), polars.DataFrame(other), arrow.table(other)):
        with pytest.raises(InputError, match=r"has the columns age, job, .* has none of them: colour, label"):
            model.predict(frame)
    twice = pandas.DataFrame([["a", "b", 3]], columns=["job", "job", "age"])
    for frame in (twice, arrow.Table.from_arrays([["a"], ["b"]], ["job", "job"])):
        with pytest.raises(InputError, match="X: columns 1 and 2 are both named 'job': rename one"):
            model.predict(frame)
    with pytest.raises(InputError, match="both named 'job'"):
        Perceptron().fit(pandas.concat([twice] * 2), ["good", "other"])


def test_missing_texts_are_read_as_empty() -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed (extra dev)")
    texts = [None, *(row["note"] for row in rows())]
    labels = ["other", *LABELS]
    model = Perceptron().fit(["", *texts[1:]], labels)
    for some in (texts, pandas.Series(texts), pandas.Series(texts, dtype="string"), np.array(texts, object)):
        assert to_bytes(Perceptron().fit(some, labels)) == to_bytes(model)
        assert model.decision_function(some).tolist() == model.decision_function(["", *texts[1:]]).tolist()
    assert model.predict(polars.Series(texts)).tolist() == model.predict(["", *texts[1:]]).tolist()
    with pytest.raises(InputError, match="Row 1: rows must all be of one kind, got int"):
        model.predict(["a", 3])


def test_tables_of_numbers_are_not_raw_rows() -> None:
    numbers = FRAME[["age", "size"]]
    for data in (numbers, numbers.to_numpy(), numbers.to_numpy().tolist(), FRAME["age"].to_numpy(), []):
        assert not is_raw(data)
    assert is_raw(FRAME)
    model = Perceptron().fit(numbers, LABELS)
    assert model._state is not None
    assert model._state.reading is None


def test_missing_values_can_be_features() -> None:
    model = AROW().fit(with_columns(FRAME, **COLUMN_TYPES, missing="indicator", hash_bits=0), LABELS)
    assert {"job is missing", "zip is missing"} <= set(model.feature_names_in_)
    bare = {name: value for name, value in rows()[0].items() if name not in ("job", "zip")}
    assert model.score_one(bare) == model.score_one({**bare, "job": None, "zip": float("nan")})


def test_other_table_types_are_accepted() -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed (extra dev)")
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is in the dev extra")
    expected = to_bytes(Perceptron().fit(with_columns(rows(), **COLUMN_TYPES), LABELS))
    for data in (polars.DataFrame(rows()), arrow.Table.from_pylist(rows())):
        assert is_raw(data)
        assert to_bytes(Perceptron().fit(with_columns(data, **COLUMN_TYPES), LABELS)) == expected


def test_partial_fit_continues_with_raw_rows() -> None:
    model = Perceptron()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SortedLabelsWarning)
        for start in range(0, 60, 20):
            data = FRAME[start : start + 20]
            model.partial_fit(with_columns(data, **COLUMN_TYPES), LABELS[start : start + 20], classes=["good", "other"])
    whole = Perceptron().partial_fit(with_columns(FRAME, **COLUMN_TYPES), LABELS, classes=["good", "other"])
    np.testing.assert_array_equal(model.decision_function(FRAME), whole.decision_function(FRAME))


@pytest.mark.parametrize("arrow", [True, False])
def test_repeated_texts_are_encoded_correctly(arrow: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not arrow:
        monkeypatch.setattr("novikoff.data.raw.records.find_spec", lambda _: None)
    frame = pandas.DataFrame({"t": ["some words of a text", "other words"] * 500, "b": ["x", "y"] * 500})
    labels = [0, 1] * 500
    said = with_columns(frame, text=["t", "b"], word_ngrams=3, char_ngrams=2)
    model = Perceptron().fit(said, labels)
    assert model.predict(frame).tolist() == labels
    single = [model.score_one(row) for row in frame[:2].to_dict("records")]
    assert model.decision_function(frame[:2]).tolist() == single


def test_columns_whose_names_are_numbers() -> None:
    frame = pandas.DataFrame({0: ["a", "b"] * 10, 1: [k * 7 % 23 for k in range(20)], "x": [1.5, 2.5] * 10})
    model = Perceptron(passes=3).fit(with_columns(frame, ignore="x"), [0, 1] * 10)
    assert set(model.feature_names_in_) == {"0=a", "0=b", "1"}
    assert model.score(frame, [0, 1] * 10) > 0.9
    numbered = frame[[0, 1]]
    model = Perceptron(passes=3).fit(with_columns(numbered, ignore="1"), [0, 1] * 10)
    assert model.score(numbered, [0, 1] * 10) == 1.0


def test_columns_of_other_types_are_named() -> None:
    for values in (pandas.date_range("2026-01-01", periods=4), [[1], [2], [3], [4]]):
        frame = pandas.DataFrame({"when": values, "job": list("abab")})
        with pytest.raises(InputError, match=r"Column 'when' has neither numbers nor texts.*ignore='when'"):
            Perceptron().fit(frame, [0, 1, 0, 1])
        assert Perceptron().fit(with_columns(frame, ignore="when"), [0, 1, 0, 1]).predict_one({"job": "a"}) in (0, 1)


def test_advice_can_be_followed() -> None:
    frame = FRAME.assign(**{"my code": [k % 7 for k in range(60)], "other code": [k % 5 for k in range(60)]})
    with pytest.warns(DoubtfulColumnsWarning, match=r"with_columns\(X, categorical=\['my code', 'other code'\]\)"):
        Perceptron().fit(with_columns(frame, text="note"), LABELS)


def test_handwritten_reading_settings_are_refused(tmp_path: Path) -> None:
    model = Perceptron().fit(with_columns(FRAME, **COLUMN_TYPES), LABELS)
    assert model._state is not None
    assert model._state.reading is not None
    good = dict(model._state.reading)
    for change in (
        {"weight": 99},
        {"texts": ("x",)},
        {"word_ngrams": None},
        {"hash_bits": 64},
        {"hash_bits": 5},
        {"missing": "?"},
    ):
        model._state.reading, model._state.encoding = {**good, **change}, None
        with pytest.raises(InputError):
            model.predict(FRAME)
