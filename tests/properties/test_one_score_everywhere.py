"""One encoding: a raw row gets the same score from a file, in Python and by the server, to the last bit."""

from __future__ import annotations

import copy
import csv
import io
import json
import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from novikoff import (
    AROW,
    SGD,
    Kesler,
    OneVsAll,
    Perceptron,
    UnknownColumnsWarning,
    explain,
    learner_registry,
    load,
    save,
    scheme_registry,
)
from novikoff.cli.main import main
from novikoff.data.formats.base import ReadOptions
from novikoff.data.labels.binary_labels import to_plain_label
from novikoff.data.raw import encoding as encodings
from novikoff.data.raw import frames as table_frames
from novikoff.data.raw import records
from novikoff.distributed import DistributedLearner
from novikoff.errors import InputError
from novikoff.model_file import load_learner, to_bytes
from novikoff.server.models.served_model import ServedModel, _is_online
from novikoff.server.ops.limits import Limits
from tests.helpers.raw_rows import (
    FORMATS,
    JOBS,
    LABELS,
    LEARNERS,
    Row,
    draw_rows,
    draw_rows_for,
    format_label,
    is_learnable,
    predict_file,
    select_numbers,
    to_raw_rows,
    to_score_rows,
    to_text,
    train_from_file,
    write_rows,
)
from tests.helpers.server.process import NDJSON, ForkServer, Server, run_server

# --- The property: every interface gives a row the same score ---


@pytest.fixture(scope="module")
def server(fork_server: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Provide one server for all models, which have different names."""
    with run_server(fork_server, tmp_path_factory.mktemp("served") / "data") as made:
        yield made


def upload(server: Server, path: Path, name: str) -> None:
    headers = {"Content-Type": "application/octet-stream"}
    status, said = server.ask("POST", f"/v1/models?name={name}", path.read_bytes(), headers)
    assert status == 201, said


def drop(server: Server, name: str) -> None:
    """Delete a model: a server has 100 models at most."""
    assert server.ask("DELETE", f"/v1/models/{name}")[0] == 204


def to_server_answer(label: Any, score: Any) -> tuple[Any, float]:
    """Return the server's score of one row: that of the first label, or the highest if there is none."""
    if not isinstance(score, dict):
        return label, score
    labels = label if isinstance(label, list) else [label]
    return label, score[labels[0]] if labels else max(score.values())


def served_name(fmt: str, learner: str) -> str:
    return f"{fmt}-{learner}".replace(" ", "-")


def ask_server(server: Server, name: str, raw: list[Any]) -> list[tuple[Any, float]]:
    """Return labels and scores by the server: of one row alone, and of all rows line by line."""
    alone = server.predict(raw[0], name)
    body = b"".join(json.dumps({"features": x}).encode() + b"\n" for x in raw)
    status, content = server.ask("POST", f"/v1/models/{name}/predict?keep=false", body, NDJSON)
    assert status == 200, content
    lines = [json.loads(line) for line in content.splitlines()]
    found = [(line["label"], line["score"]) for line in lines]
    assert (alone["label"], alone["score"]) == found[0]
    return found


def check_all_ways(model: Any, server: Server, name: str, raw: list[Any], wanted: tuple[Any, Any]) -> None:
    """Check that batches and single rows in Python, and the server, agree with the command line."""
    labels, scores = wanted
    assert [format_label(label) for label in list(model.predict(raw))] == labels
    ones, one_by_one = [model.predict_one(x) for x in raw], [model.score_one(x) for x in raw]
    assert [format_label(label) for label in ones] == labels
    assert to_score_rows(one_by_one, len(raw)) == scores
    batch = model.decision_function(raw)
    if len(scores[0]) == 2 and batch.ndim == 1:  # two classes of a scheme: the second less the first
        assert batch.tolist() == [second - first for first, second in scores]
    else:
        assert to_score_rows(batch, len(raw)) == scores
    assert ask_server(server, name, raw) == [to_server_answer(*both) for both in zip(ones, one_by_one, strict=True)]


def ask_details(server: Server, name: str, x: Any, field: str) -> tuple[int, Any]:
    """Return the status and the answer of a request for one row; streams and lists must answer the same."""
    path = f"/v1/models/{name}/predict"
    status, alone = server.ask("POST", path, {"features": x, "keep": False, field: True})
    many = server.ask("POST", path, {"examples": [{"features": x}], "keep": False, field: True})
    line = json.dumps({"features": x}).encode() + b"\n"
    lines = server.ask("POST", f"{path}?keep=false&{field}=true", line, NDJSON)
    assert many[0] == lines[0] == status
    if status == 200:
        assert many[1] == {"predictions": [alone]}
        assert json.loads(lines[1]) == alone
    return status, alone


def check_probabilities(model: Any, server: Server, name: str, raw: list[Any]) -> None:
    """Check that the server has the probabilities of Python, or says that there are none."""
    for x in raw[:3]:
        status, answer = ask_details(server, name, x, "probabilities")
        if hasattr(model, "predict_proba_one"):
            found = [(to_plain_label(one["label"]), one["probability"]) for one in answer["probabilities"]]
            assert found == [(to_plain_label(label), p) for label, p in model.predict_proba_one(x).items()]
            assert [p for _, p in found] == model.predict_proba([x])[0].tolist()
        else:
            assert (status, answer["code"]) == (409, "no-probabilities")


def explain_as_json(model: Any, x: Any) -> Any:
    """Return the explanation as JSON, or the message that there is none."""
    try:
        return json.loads(json.dumps(explain(model, x).to_dict()))
    except InputError as problem:
        return str(problem)


def check_explanations(
    model: Any, server: Server, name: str, raw: list[Any], files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Check that the server and the command line explain as Python does, or say that there is no linear score."""
    for k, x in enumerate(raw[:3]):
        status, answer = ask_details(server, name, x, "explain")
        wanted = explain_as_json(model, x)
        if isinstance(wanted, str):
            assert (status, answer["code"]) == (409, "not-explainable")
            assert answer["detail"].split()[1:] == wanted.split()[1:]  # the first word is the class
            continue
        assert status == 200, answer
        assert answer["explanation"] == wanted
        capsys.readouterr()
        if k == 0 and not files[1].endswith(".parquet"):
            first = 2 if files[1].endswith((".csv", ".tsv")) else 1
            assert main(["explain", files[0], f"{files[1]}:{first}", "--json"]) == 0
            assert json.loads(capsys.readouterr().out) == wanted


def check_pair(fmt: str, learner: str, server: Server, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, name = draw_rows_for(learner, 40), served_name(fmt, learner)
    model, path = train_from_file(folder, fmt, learner, rows)
    upload(server, folder / "it.model", name)
    raw = to_raw_rows(FORMATS[fmt][0], rows)
    check_all_ways(model, server, name, raw, predict_file(folder, path))
    check_probabilities(model, server, name, raw)
    check_explanations(model, server, name, raw, [str(folder / "it.model"), str(path)], capsys)
    drop(server, name)


PAIRS = [(fmt, learner) for fmt in FORMATS for learner in LEARNERS if is_learnable(fmt, learner)]
COVERING = [
    ("csv", "auto"), ("csv", "arow"), ("csv with a dictionary", "kesler"), ("csv with signs", "perceptron"),
    ("csv with a map", "averaged-perceptron"), ("csv with a text column", "sgd"), ("numbers", "halving"),
    ("numbers", "rectangle"), ("numbers with a map", "margin-perceptron"), ("tsv", "p-norm-perceptron"),
    ("jsonl", "one-vs-all"), ("jsonl with a dictionary", "online-to-batch"), ("jsonl with text", "multi-label"),
    ("parquet", "all-vs-all"), ("svmlight", "voted-perceptron"), ("svmlight", "kernel-perceptron"),
    ("svmlight", "output-code"), ("vw", "balanced-winnow"), ("vw", "winnow"), ("vw", "elimination"),
    ("text", "winnow-r"), ("text", "hierarchical"), ("text with blanks", "online-bagging"),
    ("text with a dictionary", "online-boosting"), ("csv with a dictionary", "multilayer-perceptron"),
]  # fmt: skip
"""Every format and every learner once, for the quick tests. Learners without an entry learn svmlight."""
COVERING += [("svmlight", learner) for learner in LEARNERS if learner not in {name for _, name in COVERING}]


def test_every_servable_learner_is_covered() -> None:
    served = {
        name
        for name in [*learner_registry.names(), *scheme_registry.names()]
        if _is_online(scheme_registry.model_class(name))
    }
    assert served - {"label-ranking"} == LEARNERS.keys()  # no file has rankings of labels
    assert {fmt for fmt, _ in COVERING} == FORMATS.keys()
    assert {learner for _, learner in COVERING} == LEARNERS.keys()
    assert set(COVERING) <= set(PAIRS)


@pytest.mark.parametrize(("fmt", "learner"), COVERING)
def test_scores_are_the_same_in_every_interface(
    fmt: str, learner: str, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check_pair(fmt, learner, server, tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.parametrize(("fmt", "learner"), [pair for pair in PAIRS if pair not in COVERING])
def test_scores_are_the_same_in_every_interface_for_all_pairs(
    fmt: str, learner: str, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check_pair(fmt, learner, server, tmp_path, capsys)


MIXED = {
    "averaged-perceptron": Perceptron(average=True),
    "kesler": Kesler(Perceptron()),
    "arow": AROW(),
    "sgd": SGD(),
    "one-vs-all": OneVsAll(AROW()),
}
OF_CLUSTERS: dict[str, ReadOptions] = {
    "csv": ReadOptions(label="y", header=True, hash_bits=18),
    "csv with a text column": ReadOptions(label="y", header=True, text="job", char_ngrams=3),
    "numbers": ReadOptions(label="y", header=True),
    "tsv": ReadOptions(label="y", header=True),
    "jsonl": ReadOptions(label="y"),
    "jsonl with text": ReadOptions(label="y", text="job", word_ngrams=2),
    "parquet": ReadOptions(label="y"),
    "svmlight": ReadOptions(),
    "vw": ReadOptions(),
    "text": ReadOptions(format="text", word_ngrams=2, char_ngrams=3),
}


def check_cluster(fmt: str, learner: str, server: Server, folder: Path) -> None:
    """Check the scores of a model that was trained on two shards."""
    kind, shards = FORMATS[fmt][0], []
    for k in range(2):
        (folder / str(k)).mkdir()
        shards.append(write_rows(folder / str(k), kind, draw_rows_for(learner, 50, seed=k)))
    cluster = DistributedLearner(MIXED[learner], rounds=2)
    cluster.fit([str(shard) for shard in shards], options=replace(OF_CLUSTERS[fmt]))
    save(cluster.model_, folder / "it.model")
    raw, name = to_raw_rows(kind, draw_rows_for(learner, 50)), f"cluster-{served_name(fmt, learner)}"
    upload(server, folder / "it.model", name)
    model = load(folder / "it.model")
    check_all_ways(model, server, name, raw, predict_file(folder, shards[0]))
    drop(server, name)
    assert cluster.decision_function(raw).tolist() == model.decision_function(raw).tolist()


@pytest.mark.parametrize(
    ("fmt", "learner"), [("csv", "averaged-perceptron"), ("jsonl", "kesler"), ("text", "averaged-perceptron")]
)
def test_scores_of_a_cluster_model_are_the_same_in_every_interface(
    fmt: str, learner: str, server: Server, tmp_path: Path
) -> None:
    check_cluster(fmt, learner, server, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("fmt", OF_CLUSTERS)
@pytest.mark.parametrize("learner", MIXED)
def test_scores_of_models_of_clusters_are_the_same_for_all_pairs(
    fmt: str, learner: str, server: Server, tmp_path: Path
) -> None:
    check_cluster(fmt, learner, server, tmp_path)


cells = st.one_of(
    st.none(),
    st.sampled_from(JOBS),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
)
sizes = st.one_of(
    st.none(),
    st.integers(-(10**6), 10**6),
    st.floats(-1e15, 1e15, allow_nan=False),
    st.floats(width=32, min_value=-1.0, max_value=1.0, allow_nan=False),
)
raw_rows = st.lists(
    st.fixed_dictionaries(
        {"age": sizes, "job": cells, "balance": sizes, "code": st.sampled_from(["1", "2", "x"])},
        optional={"y": st.sampled_from(LABELS)},
    ),
    min_size=1,
    max_size=4,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("encoding")


def write_again(home: Path, kind: str, rows: list[Row]) -> Path:
    """Write a second file; in Parquet with the types of the first one."""
    if kind != "parquet":
        return write_rows(home, kind, rows)
    import pyarrow as pa
    import pyarrow.parquet

    kinds = [("age", pa.float64()), ("job", pa.string()), ("balance", pa.float64()), ("code", pa.string())]
    path = home / "new.parquet"
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows, pa.schema([*kinds, ("y", pa.string())])), path)
    return path


@pytest.mark.parametrize(
    ("fmt", "learner"),
    [
        ("csv", "auto"), ("csv with a dictionary", "kesler"), ("csv with a text column", "sgd"), ("numbers", "sgd"),
        ("tsv", "perceptron"), ("jsonl", "arow"), ("jsonl with text", "sgd"), ("parquet", "kesler"),
        ("svmlight", "perceptron"), ("vw", "arow"), ("text", "one-vs-all"),
    ],
)  # fmt: skip
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=raw_rows)
def test_any_row_gives_the_same_score_in_every_interface(
    fmt: str, learner: str, rows: list[Row], folder: Path, server: Server
) -> None:
    kind, name = FORMATS[fmt][0], f"any-{served_name(fmt, learner)}"
    home = folder / name
    if not home.exists():
        home.mkdir()
        train_from_file(home, fmt, learner, draw_rows_for(learner, 50))
        upload(server, home / "it.model", name)
    whole = [{"age": None, "job": None, "balance": None, "code": None, "y": "yes"} | row for row in rows]
    for row in whole:
        if kind == "jsonl":
            row["job"] = row["job"] or "none"
    raw = rows if kind in ("csv", "tsv", "parquet") else to_raw_rows(kind, whole)
    wanted = predict_file(home, write_again(home, kind, whole))
    check_all_ways(load(home / "it.model"), server, name, raw, wanted)


# --- Tables of many rows ---


def frames(rows: list[Row]) -> Iterator[tuple[str, Any]]:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed (extra dev)")
    polars = pytest.importorskip("polars", reason="polars is not installed (extra dev)")
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is in the dev extra")
    yield "pandas", pandas.DataFrame(rows)
    categories = dict.fromkeys({"job", "code"} & rows[0].keys(), "category")
    yield "pandas with categories", pandas.DataFrame(rows).astype(categories)
    yield "polars", polars.DataFrame(rows)
    yield "arrow", arrow.Table.from_pylist(rows)
    yield "a record batch", arrow.RecordBatch.from_pylist(rows)


@pytest.mark.parametrize("fmt", ["csv", "csv with a dictionary", "numbers", "jsonl", "parquet", "csv with a map"])
@pytest.mark.parametrize("without_arrow", [False, True])
def test_data_frames_and_arrow_tables_are_scored(
    fmt: str, without_arrow: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = draw_rows(60)
    model, _ = train_from_file(tmp_path, fmt, "arow", rows)
    raw = to_raw_rows(FORMATS[fmt][0], rows)
    wanted = model.decision_function(raw).tolist()
    if without_arrow:
        monkeypatch.setattr(records, "find_spec", lambda _: None)
    monkeypatch.setattr(table_frames, "CELLS_PER_CHUNK", 50)
    monkeypatch.setattr(encodings, "CHUNK_BYTES", 300)
    for name, frame in frames(raw):
        assert model.decision_function(frame).tolist() == wanted, name
    if fmt == "jsonl":  # there the order of fields is the order in which terms are added up
        return
    shuffled = [dict(sorted(row.items(), reverse=True)) for row in raw]
    assert model.decision_function(shuffled).tolist() == wanted
    for name, frame in frames(shuffled):
        assert model.decision_function(frame).tolist() == wanted, name


def test_a_table_without_names_is_matched_by_position(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed (extra dev)")
    path = tmp_path / "bare.csv"
    path.write_text("1,0.5,x\n-1,2,y\n1,3,x\n-1,4,y\n")
    how = ["--no-header", "--label", "1", "--quiet", "--json"]
    assert main(["learn", str(path), *how, "--save", str(tmp_path / "it.model")]) == 0
    model = load(tmp_path / "it.model")
    wanted = predict_file(tmp_path, path)[1]
    frame = pandas.read_csv(path, header=None)
    assert to_score_rows(model.decision_function(frame), 4) == wanted
    assert to_score_rows(model.decision_function(frame[[1, 2]]), 4) == wanted
    assert to_score_rows([model.score_one({"2": a, "3": b}) for _, a, b in frame.values.tolist()], 4) == wanted


def test_lists_of_texts_and_one_column_frames_are_scored(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed (extra dev)")
    rows = draw_rows(30)
    model, path = train_from_file(tmp_path, "text", "arow", rows)
    texts, wanted = [to_text(row) for row in rows], predict_file(tmp_path, path)[1]
    polars = pytest.importorskip("polars", reason="polars is not installed (extra dev)")
    others = (np.array(texts), np.array(texts, object), polars.Series(texts))
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is in the dev extra").array(texts)
    for many in (texts, tuple(texts), pandas.Series(texts), pandas.DataFrame({"message": texts}), arrow, *others):
        assert to_score_rows(model.decision_function(many), 30) == wanted
    nothing = model.score_one("")
    assert nothing == model.score_one(" \n\t") == model.decision_function(["", "nurse", "\n"])[0]
    assert model.decision_function(["", "nurse", "\n"]).tolist() == [nothing, model.score_one("nurse"), nothing]
    assert model.score_one("yes\tnurse") == model.score_one("yes nurse")  # a tab is a blank, not the end of a label


# --- What a row may have ---


@pytest.fixture(scope="module", params=["csv", "csv with a dictionary"])
def bank(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return train_from_file(tmp_path_factory.mktemp("bank"), request.param, "arow", draw_rows(80))[0]


def test_feature_names_are_accepted_as_columns(bank: Any) -> None:
    plain = bank.score_one({"age": 30, "job": "nurse"})
    assert plain == bank.score_one({"age": 30, "job=nurse": 1}) == bank.score_one({"age": 30.0, "job=nurse": True})
    assert plain == bank.score_one(["job=nurse"]) + plain - bank.score_one({"job": "nurse"})
    assert plain == bank.decision_function([{"age": 30, "job=nurse": 1, "code=x": 0}])[0]
    assert bank.score_one({"job=job=nurse": 1}) == bank.score_one({"job": "job=nurse"})
    assert plain != bank.score_one({"age": 30})
    with pytest.raises(InputError, match="is a category, whose value must be"):
        bank.score_one({"job=nurse": 0.5})
    with pytest.raises(InputError, match="second one"):
        bank.score_one({"job=nurse": 1, "job": "teacher"})
    with pytest.raises(InputError, match=r"Row 1: .*second one"):
        bank.predict([{"age": 1}, {"job=nurse": 1, "job=teacher": 1}])


def test_missing_values_and_missing_columns_are_the_same(bank: Any) -> None:
    wanted = bank.score_one({"code": "x"})
    for missing in (None, math.nan, "", "NA", np.float64("nan"), np.nan):
        assert bank.score_one({"age": missing, "job": missing, "balance": missing, "code": "x"}) == wanted
        assert bank.decision_function([{"age": missing, "job": missing, "code": "x"}])[0] == wanted
    assert bank.score_one({"code": "x", "y": "no"}) == bank.score_one({"code": "x", "y": None}) == wanted
    assert bank.score_one({}) == bank.score_one({"age": None})


def test_numbers_and_booleans_in_columns_are_scored(bank: Any) -> None:
    assert bank.score_one({"code": 1}) == bank.score_one({"code": "1"}) == bank.score_one({"code": 1.0})
    assert bank.score_one({"code": np.int64(1)}) == bank.score_one({"code": np.float32(1.0)})
    assert bank.score_one({"code": 1.5}) == bank.score_one({"code": "1.5"})
    assert bank.score_one({"age": True}) == bank.score_one({"age": 1}) == bank.score_one({"age": np.bool_(True)})
    assert bank.score_one({"age": "30"}) == bank.score_one({"age": np.int8(30)}) == bank.score_one({"age": 30})
    with pytest.raises(InputError, match="'age'"):
        bank.score_one({"age": "old"})
    with pytest.raises(InputError, match=r"Row 1: .*'age'"):
        bank.predict([{"age": 1}, {"age": "old"}])
    with pytest.raises(InputError, match="1e15"):
        bank.score_one({"age": math.inf})


def test_columns_that_the_model_does_not_know_are_ignored_with_one_warning(bank: Any) -> None:
    bank = copy.deepcopy(bank)
    wanted = bank.score_one({"age": 30})
    with pytest.warns(UnknownColumnsWarning, match="no column 'colour'"):
        assert bank.score_one({"age": 30, "colour": "red"}) == wanted
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bank.decision_function([{"age": 30, "colour": "red", "size": 3}])[0] == wanted


def test_integers_as_codes_are_categories_and_not_numbers(tmp_path: Path) -> None:
    path = tmp_path / "codes.csv"
    path.write_text("pclass,sex,y\n" + "1,f,yes\n2,m,no\n3,m,no\nfirst,f,yes\n" * 5)
    assert main(["learn", str(path), "--label", "y", "--save", str(tmp_path / "it.model"), "--quiet", "--json"]) == 0
    model = load(tmp_path / "it.model")
    for _ in range(3):  # also after the first, for which no lane is made
        assert model.score_one({"pclass": 3}) == model.score_one({"pclass": "3"}) == model.score_one({"pclass": 3.0})
        assert model.score_one({"pclass": 3}) != model.score_one({"pclass": 2})


@pytest.mark.parametrize("fmt", ["csv", "csv with a dictionary", "numbers", "jsonl with a dictionary", "text"])
@pytest.mark.parametrize("learner", ["arow", "auto", "kernel-perceptron", "one-vs-all"])
def test_learning_continues_from_raw_rows_as_from_a_file(fmt: str, learner: str, tmp_path: Path) -> None:
    rows = draw_rows_for(learner, 40)
    model, _ = train_from_file(tmp_path, fmt, learner, rows[:30])
    kind, new = FORMATS[fmt][0], rows[30:]
    new[-1]["job"] = "a new one"
    raw, labels = to_raw_rows(kind, new), [row["y"] for row in new]
    one_by_one, at_once = copy.deepcopy(model), copy.deepcopy(model)
    for x, y in zip(raw, labels, strict=True):
        one_by_one.learn_one(x, y)
    at_once.partial_fit(raw, labels)
    path = write_rows(tmp_path, kind, new)
    model_path = str(tmp_path / "it.model")
    assert main(["learn", str(path), "--resume", model_path, "--save", model_path, "--quiet", "--json"]) == 0
    for ours in (one_by_one, at_once):
        assert to_score_rows([ours.score_one(x) for x in raw], 10) == predict_file(tmp_path, path)[1]
    assert to_bytes(at_once) == Path(model_path).read_bytes()


def test_refused_raw_rows_leave_no_names_behind(tmp_path: Path) -> None:
    model, _ = train_from_file(tmp_path, "csv with a dictionary", "arow", draw_rows(40))
    before = to_bytes(model)
    for bad in ([{"job": "new"}, {"age": "old"}], [{"job": "new"}]):
        with pytest.raises(InputError):
            model.partial_fit(bad, ["yes", "no", "no"])
    with pytest.raises(InputError):
        model.learn_one({"job": "newer", "age": "old"}, "yes")
    assert to_bytes(model) == before


def test_arrays_and_numbered_columns_are_accepted(tmp_path: Path) -> None:
    rows = draw_rows(30)
    model, _ = train_from_file(tmp_path, "numbers", "perceptron", rows)
    X = np.array([[row["age"] or 0.0, row["balance"]] for row in rows], np.float32)
    with pytest.warns(UserWarning, match="feature names"):
        assert model.decision_function(X).tolist() == model.decision_function(to_raw_rows("numbers.csv", rows)).tolist()
    assert model.score_one(X[0]) == model.score_one(select_numbers(rows[0]))
    hashed, _ = train_from_file(tmp_path, "csv", "perceptron", rows)
    assert hashed.score_one({5: 1.0}) == hashed.score_one({5: 1.0, 6: 0.0})
    named = Perceptron().learn_one({"a": 1.0}, "x").learn_one({"b": 1.0}, "y")
    save(named, tmp_path / "named.model")
    with pytest.raises(InputError, match="must map features to numbers"):
        load(tmp_path / "named.model").predict_one({"a": "text"})


@pytest.mark.parametrize(
    ("name", "content", "options", "raw"),
    [
        ("it.svm", "1 1:1 3:0.5\n-1 2:1 # x\n1 1:2\n-1 3:1\n", [], ["1:1 3:0.5", "2:1 # x", "1 1:2", "3:1\n"]),
        ("it.vw", "1 |a x:1 y\n-1 |b z\n1 |a y\n-1 | w\n", [], ["|a x:1 y", "|b z", "1 |a y", "| w"]),
        ("it.vw", "1 |a x:1 y\n-1 |b z\n", ["--hash-bits", "0"], ["|a x:1 y", "|b z"]),
    ],
)
def test_lines_of_vw_and_svmlight_are_scored(
    name: str, content: str, options: list[str], raw: list[str], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert main(["learn", str(path), *options, "--save", str(tmp_path / "it.model"), "--quiet", "--json"]) == 0
    model, scores = load(tmp_path / "it.model"), predict_file(tmp_path, path)[1]
    assert to_score_rows(model.decision_function(raw), len(raw)) == scores
    assert to_score_rows([model.score_one(x) for x in raw], len(raw)) == scores
    assert model.score_one("") == model.score_one([])


@pytest.mark.parametrize("learner", ["bagging", "adaboost", "random-forest"])
def test_ensembles_accept_raw_rows(learner: str, tmp_path: Path) -> None:
    path, model = write_rows(tmp_path, "csv", draw_rows(60)), tmp_path / "it.model"
    how = ["--label", "y", "--multiclass", learner, "--hash-bits", "6"]
    assert main(["learn", str(path), *how, "--save", str(model), "--quiet", "--json"]) == 0
    assert load(model).predict(draw_rows(60)).tolist() == predict_file(tmp_path, path)[0]


# --- The server ---


@pytest.mark.parametrize(
    ("fmt", "learner"),
    [
        ("csv", "arow"), ("csv with a dictionary", "auto"), ("numbers", "kesler"), ("parquet", "sgd"),
        ("jsonl", "one-vs-all"), ("jsonl with text", "perceptron"), ("text", "arow"), ("csv with a map", "arow"),
    ],
)  # fmt: skip
def test_the_server_scores_and_learns_raw_rows_as_files(
    fmt: str, learner: str, fork_server: ForkServer, tmp_path: Path
) -> None:
    rows = draw_rows_for(learner, 40)
    model, path = train_from_file(tmp_path, fmt, learner, rows)
    labels, _ = predict_file(tmp_path, path)
    raw = to_raw_rows(FORMATS[fmt][0], rows)
    with run_server(fork_server, tmp_path / "data") as server:
        upload(server, tmp_path / "it.model", "m")
        wanted = [to_server_answer(model.predict_one(x), model.score_one(x)) for x in raw]
        answers = [server.predict(x) for x in raw[:10]]
        assert [(one["label"], one["score"]) for one in answers] == wanted[:10]
        body = b"".join(json.dumps({"features": x}).encode() + b"\n" for x in raw)
        status, content = server.ask("POST", "/v1/models/m/predict?keep=false", body, NDJSON)
        lines = [json.loads(line) for line in content.splitlines()]
        assert status == 200
        assert [(one["label"], one["score"]) for one in lines] == wanted
        assert [one["label"] for one in lines] == labels
        assert server.learn(raw[0], "no")[0] == 200
        assert server.ask("POST", "/v1/models/m/learn", {"id": answers[1]["id"], "label": "yes"})[0] == 200
        status, said = server.lines(zip(raw, labels, strict=True))
        assert (status, said["examples"]) == (200, 40), said
        model.learn_one(raw[0], "no").learn_one(raw[1], "yes")
        for x, y in zip(raw, labels, strict=True):
            model.learn_one(x, y)
        assert server.ask("GET", "/v1/models/m/download")[1] == to_bytes(model)
        server.kill()
    with run_server(fork_server, tmp_path / "data") as server:  # the journal has the rows as they were sent
        assert server.ask("GET", "/v1/models/m/download")[1] == to_bytes(model)


def test_the_server_explains_an_invalid_row(fork_server: ForkServer, tmp_path: Path) -> None:
    train_from_file(tmp_path, "csv", "arow", draw_rows(40))
    with run_server(fork_server, tmp_path / "data") as server:
        upload(server, tmp_path / "it.model", "m")
        for path, code in (("predict", "not-predicted"), ("learn", "not-learned")):
            label = {"label": "yes"} if path == "learn" else {}
            status, said = server.ask("POST", f"/v1/models/m/{path}", {"features": {"age": "old"}, **label})
            assert (status, said["code"]) == (422, code)
            assert "'age'" in said["error"]
            assert "'old'" in said["error"]
        assert server.ask("GET", "/v1/models/m")[1]["warnings"] == []
        assert server.predict({"age": 3, "colour": "red"})["score"] == server.predict({"age": 3})["score"]
        assert "colour" in server.ask("GET", "/v1/models/m")[1]["warnings"][0]
        server.make("plain")
        status, said = server.ask("POST", "/v1/models/plain/predict", {"features": {"age": "old"}})
        assert (status, said["code"]) == (422, "invalid-body")


@pytest.mark.parametrize("bits", [[], ["--hash-bits", "10"]], ids=["dictionary", "hashed"])
def test_columns_that_a_served_model_does_not_know_are_logged_once(
    bits: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, model = tmp_path / "t.csv", tmp_path / "it.model"
    path.write_text("y,a,b\n" + "1,2,x\n0,3,z\n" * 10)
    assert main(["learn", str(path), "--save", str(model), "--quiet", "--learner", "arow", *bits]) == 0
    served = ServedModel("m", load_learner(model), Limits(), created=0.0)
    with warnings.catch_warnings(), caplog.at_level("WARNING"):
        warnings.simplefilter("error")
        for _ in range(2):
            served.check_bounds({"a": 1, "colour": "red"}, 1)
            served.predict({"a": 1, "colour": "red"})
    [record] = caplog.records
    assert record.getMessage() == "columns that the model has not learned are ignored"
    assert record.fields == {"model": "m", "column": "colour"}


def test_a_file_whose_encoding_does_not_fit_is_refused(fork_server: ForkServer, tmp_path: Path) -> None:
    model, _ = train_from_file(tmp_path, "csv", "arow", draw_rows(40))
    good = model._state.reading
    with run_server(fork_server, tmp_path / "data") as server:
        for wrong in ({"target": 9}, {"numeric": [True]}, {"hash_bits": 60}, {"hash_bits": 7}, {"names": "abcde"}):
            model._state.reading = good | wrong
            body = to_bytes(model)
            status, said = server.ask("POST", "/v1/models?name=m", body, {"Content-Type": "application/octet-stream"})
            assert (status, said.get("code")) == (422, "invalid-model-file"), (wrong, said)


def test_rows_of_the_csv_module_are_scored_as_the_file(tmp_path: Path) -> None:
    """Numbers are texts, as csv.DictReader returns them."""
    model, path = train_from_file(tmp_path, "csv", "arow", draw_rows(60))
    rows = list(csv.DictReader(io.StringIO(path.read_text(), newline="")))
    assert to_score_rows(model.decision_function(rows), 60) == predict_file(tmp_path, path)[1]
