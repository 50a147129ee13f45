"""Data sorted by label: counted exactly, reported in every interface, not found in ordinary data."""

from __future__ import annotations

import io
import json
import warnings
from collections import Counter
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine

from novikoff import (
    Auto,
    KernelPerceptron,
    Kesler,
    LabelRanking,
    MultiLabel,
    MultilayerPerceptron,
    Perceptron,
    SortedLabelsWarning,
    Winnow,
)
from novikoff.cli.main import main
from novikoff.data.labels.label_order import LabelOrder
from novikoff.distributed import DistributedLearner
from novikoff.model_file import from_bytes, to_bytes
from tests.helpers.paths import DATA_FOLDER
from tests.helpers.server.process import NDJSON, Server

REAL = pytest.mark.skipif(not DATA_FOLDER.is_dir(), reason="the data sets are not here: set NOVIKOFF_DATA")
SORTED = np.repeat([0, 1], 100)
X = np.random.default_rng(0).standard_normal((200, 3))


def naive(labels: list[Any]) -> tuple[int, int, float]:
    """Return examples, changes and expected changes."""
    n, counts = len(labels), Counter(labels)
    expected = (n * n - sum(c * c for c in counts.values())) / n if n else 0.0
    return n, sum(a != b for a, b in pairwise(labels)), expected


def get_counts(order: LabelOrder) -> tuple[int, int, float]:
    return order.examples, order.changes, order.expected_changes


# --- Counting ---


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_the_expected_number_of_changes_is_the_mean_over_all_orders(labels: list[int]) -> None:
    changes = [naive(list(order))[1] for order in permutations(labels)]
    assert naive(labels)[2] == pytest.approx(sum(changes) / len(changes))


@given(
    st.lists(st.integers(-1, 90), max_size=300),
    st.booleans(),
    st.lists(st.integers(0, 300), max_size=8).map(sorted),
)
def test_counts_do_not_depend_on_batches(labels: list[int], two: bool, cuts: list[int]) -> None:
    """Code −1 is a skipped example; with two labels, which are −1 and +1, 0 is."""
    codes = np.array([(label + 1) % 3 - 1 for label in labels] if two else labels, np.int8 if two else np.int64)
    absent = 0 if two else -1
    expected = naive([code for code in codes.tolist() if code != absent])
    order = LabelOrder()
    for start, stop in pairwise([0, *cuts, len(codes)]):
        order.add(codes[start:stop], classes=91)
    one_by_one = LabelOrder()
    for code in codes.tolist():
        if code != absent:
            one_by_one.add_one(code)
    mixed = LabelOrder()
    mixed.add(codes[: len(codes) // 2], classes=91)
    for code in codes[len(codes) // 2 :].tolist():
        if code != absent:
            mixed.add_one(code)
    assert get_counts(order) == get_counts(one_by_one) == get_counts(mixed) == expected


@pytest.mark.parametrize(
    ("runs", "is_sorted"),
    [
        ([20, 20], True),  # 20 changes are expected, 1 is less than 2
        ([20, 10, 0, 10], True),
        ([10, 20, 10], False),  # 2 changes are a tenth of 20
        ([20, 19], False),  # 19.5 are expected
        ([100, 100] * 5, True),  # 9 of 500
        ([10, 10] * 50, False),  # 99 of 500
        ([1000, 5], False),  # 9.95 are expected: too few of one label
        ([1000], False),
        ([], False),
    ],
)
def test_the_threshold_is_as_documented(runs: list[int], is_sorted: bool) -> None:
    order = LabelOrder()
    labels = np.repeat(np.arange(len(runs)) % 2, runs).astype(np.int64)
    order.add(labels, classes=2)
    assert order.is_sorted == is_sorted
    assert get_counts(order) == naive(labels.tolist())


def test_sets_of_labels_are_not_counted() -> None:
    order = LabelOrder()
    order.add([["a"], ["b"]], classes=2)
    assert get_counts(order) == (0, 0, 0.0)


# --- Python ---


@pytest.mark.parametrize(
    "model",
    [
        Perceptron(),
        Perceptron(passes=3),
        Winnow(threshold=1.0),
        KernelPerceptron(),
        MultilayerPerceptron(),
        Kesler(Perceptron()),
    ],
    ids=repr,
)
def test_partial_fit_warns_once_a_run(model: Any) -> None:
    rows = np.abs(np.tanh(X))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for start in range(0, 200, 25):
            model.partial_fit(rows[start : start + 25], SORTED[start : start + 25], classes=[0, 1])
    assert [warning.category for warning in caught] == [SortedLabelsWarning]
    assert "The data looks sorted by label: the label changed once in" in str(caught[0].message)
    assert "Shuffle the rows first." in str(caught[0].message)
    assert caught[0].filename == __file__
    assert model._state.label_order.examples == 200
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = from_bytes(to_bytes(model), "m")
        shuffled = np.random.default_rng(1).permutation(200)
        again.partial_fit(rows[shuffled], SORTED[shuffled])
    assert again._state.label_order.examples == 200


@pytest.mark.parametrize("chunk", [2003, 100])
def test_a_third_label_does_not_end_the_count_of_auto(chunk: int) -> None:
    y = np.repeat(["a", "b", "c"], [1000, 3, 1000])
    rows, model = np.random.default_rng(2).standard_normal((2003, 2)), Auto()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for start in range(0, 2003, chunk):
            model.partial_fit(rows[start : start + chunk], y[start : start + chunk])
    assert [warning.category for warning in caught] == [SortedLabelsWarning]
    assert caught[0].filename == __file__
    assert "the label changed 2 times" in str(caught[0].message)


@given(st.lists(st.sampled_from([-1, 1]), max_size=20), st.lists(st.integers(0, 3), max_size=20))
def test_counts_continue_with_class_numbers(signs: list[int], more: list[int]) -> None:
    order = LabelOrder()
    order.add(np.array(signs, np.int8), 2)
    going_on = order.with_class_numbers()
    going_on.add(np.array(more, np.int64), 4)
    assert get_counts(going_on) == naive([(sign + 1) // 2 for sign in signs] + more)


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=9), min_size=1, max_size=5))
def test_counts_of_parts_are_merged(parts: list[list[int]]) -> None:
    together = LabelOrder()
    for part in parts:
        order = LabelOrder()
        order.add(np.array(part, np.int64), 4)
        together.merge(order)
    examples, changes, expected = naive([label for part in parts for label in part])
    assert (together.examples, together.expected_changes) == (examples, expected)
    within = sum(naive(part)[1] for part in parts)
    assert changes <= together.changes == within + len(parts) - 1


def test_codes_may_be_overwritten_after_they_were_added() -> None:
    order, codes = LabelOrder(), np.zeros(8, np.int64)
    for _ in range(20):
        order.add(codes, 2)
        codes[:] = 1 - codes
    assert get_counts(order) == (160, 19, 80.0)


def test_alternating_and_shuffled_rows_give_no_warning() -> None:
    model = Perceptron()
    for start in range(0, 200, 7):
        rows = X[start : start + 7]
        model.partial_fit(rows, np.arange(len(rows)) % 2)
    for start in range(0, 200, 20):  # runs of twenty are at most half of a run of sorted data
        model.partial_fit(X[start : start + 20], np.repeat([0, 1], 10))
    assert not model._state.label_order.is_sorted


def test_single_examples_sets_and_rankings_are_not_checked() -> None:
    model = Perceptron()
    for x, y in zip(X, SORTED.tolist(), strict=True):
        model.learn_one(x, y)
    assert model._state.label_order is None
    sets = MultiLabel(Perceptron()).partial_fit(X, [["a"]] * 100 + [["b"]] * 100)
    ranked = LabelRanking(Perceptron()).partial_fit(X, [["a", "b"]] * 100 + [["b", "a"]] * 100)
    assert sets._state.label_order.examples == ranked._state.label_order.examples == 0


def test_a_refused_batch_is_not_counted() -> None:
    model = Perceptron().partial_fit(X[:10], np.arange(10) % 2)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((10, 3), np.nan), np.arange(10) % 2)
    assert model._state.label_order.examples == 10


# --- The command line ---


def write_csv(path: Path, data: Any, order: Any) -> str:
    buffer = io.StringIO()
    names = [f"f{k}" for k in range(data.data.shape[1])]
    buffer.write(",".join([*names, "label"]) + "\n")
    for i in order:
        values = [*map(repr, data.data[i].tolist()), str(data.target_names[data.target[i]])]
        buffer.write(",".join(values) + "\n")
    path.write_text(buffer.getvalue())
    return str(path)


def learn(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[list[str], str]:
    """Return the warnings in the JSON document, and the text on stderr."""
    capsys.readouterr()
    assert main(["learn", *arguments, "--json", "--quiet", "--learner", "perceptron"]) == 0
    printed = capsys.readouterr()
    return json.loads(printed.out)["warnings"], without_compiling(printed.err)


def without_compiling(text: str) -> str:
    """Drop the lines about compilation, which appear when a kernel is used for the first time."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("compiling "))


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_sorted_files_warn(load: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = load()
    count, expected = len(data.target), naive(data.target.tolist())[2]
    path = write_csv(tmp_path / "sorted.csv", data, range(count))
    for passes in ("1", "3"):  # the first pass counts
        (warning,), said = learn(capsys, path, "--passes", passes)
        assert said == f"warning: {warning}\n"
        assert f"sorted.csv looks sorted by label: the label changed 2 times in {count} examples" in warning
        assert f"about {expected:.0f} changes are expected in random order" in warning
        assert warning.endswith("forgets early classes on sorted data. Use --shuffle.")
    assert main(["learn", path, "--quiet", "--learner", "perceptron"]) == 0
    assert without_compiling(capsys.readouterr().err) == f"warning: {warning}\n"
    shuffled = write_csv(tmp_path / "shuffled.csv", data, np.random.default_rng(0).permutation(count))
    assert learn(capsys, shuffled) == ([], "")


def test_resumed_runs_and_standard_input_warn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sorted.svm").write_text("1 1:1\n" * 50 + "-1 2:1\n" * 50)
    Path("mixed.svm").write_text("1 1:1\n-1 2:1\n" * 50)
    (warning,), _ = learn(capsys, "sorted.svm", "--save", "m")
    assert "changed once in 100 examples" in warning
    assert learn(capsys, "mixed.svm", "--resume", "m", "--save", "m") == ([], "")
    (warning,), _ = learn(capsys, "sorted.svm", "--resume", "m")
    assert "in 100 examples" in warning
    (warning,), _ = learn(capsys, "sorted.svm", "sorted.svm")
    assert warning.startswith("sorted.svm with 1 more looks sorted by label: the label changed 3 times in 200")
    Path("bad.svm").write_text("1 1:1\n" * 50 + "what 2:1\n" + "-1 2:1\n" * 50)
    (warning,), _ = learn(capsys, "bad.svm", "--bad-lines", "skip")
    assert "changed once in 100 examples" in warning
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path("sorted.svm").read_bytes())))
    (warning,), _ = learn(capsys, "-")
    assert warning.startswith("standard input looks sorted")
    assert warning.endswith("Shuffle the lines first, for example with shuf.")


@REAL
@pytest.mark.parametrize(
    "arguments",
    [
        ["elec2.csv.gz", "--label", "class"],
        ["mushrooms.train.svm.gz"],
        ["bank_marketing.csv.gz", "--label", "y"],
        ["mq2008.S1.txt.gz", "--format", "svmlight"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_ordinary_data_gives_no_warning(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    name, *more = arguments
    warnings, printed = learn(capsys, str(DATA_FOLDER / name), *more)
    assert warnings == []
    assert "warning" not in printed


@REAL
@pytest.mark.parametrize(
    ("name", "column"), [("elec2.csv.gz", "class"), ("bank_marketing.csv.gz", "y")], ids=["elec2", "bank_marketing"]
)
@pytest.mark.parametrize("size", [10, 100, 1000])
def test_ordinary_streams_give_no_warning_at_any_time(name: str, column: str, size: int) -> None:
    pandas = pytest.importorskip("pandas")
    y = pandas.read_csv(DATA_FOLDER / name, sep=None, engine="python")[column].to_numpy()
    codes = np.unique(y, return_inverse=True)[1]
    order = LabelOrder()
    for start in range(0, len(codes), size):
        order.add(codes[start : start + size], classes=2)
        assert not order.is_sorted, start


# --- The cluster ---


def test_sorted_shards_warn(tmp_path: Path) -> None:
    shuffled = np.random.default_rng(0).permutation(200)
    with pytest.warns(SortedLabelsWarning, match=r"1 more shards look so\. Shuffle the examples before") as caught:
        learner = DistributedLearner(Perceptron(), rounds=3).fit(
            [(X, SORTED), (X[shuffled], SORTED[shuffled]), (X, SORTED)]
        )
    assert len(caught) == len(learner.warnings_) == 1
    assert caught[0].filename == __file__
    names = []
    for k, text in enumerate(["1 1:1\n" * 50 + "-1 2:1\n" * 50, "1 1:1\n-1 2:1\n" * 50]):
        names.append(str(tmp_path / f"{k}.svm"))
        Path(names[-1]).write_text(text)
    with pytest.warns(SortedLabelsWarning, match=r"0\.svm looks sorted by label: the label changed once in 100"):
        DistributedLearner(Perceptron(), rounds=2).fit(names)
    assert DistributedLearner(Perceptron(), rounds=2).fit(names[1:]).warnings_ == []
    halves = [(X[:100], SORTED[:100]), (X[100:], SORTED[100:])]  # neither is sorted by itself
    with pytest.warns(SortedLabelsWarning, match="1 more shards looks sorted by label: the label changed once in 200"):
        DistributedLearner(Perceptron(), rounds=2).fit(halves, classes=[0, 1])


# --- The server ---


def test_a_third_label_does_not_end_the_warning_of_a_served_model(server: Server) -> None:
    server.make("m", "auto")
    server.lines([({"a": 1.0}, label) for label in ["x"] * 100 + ["y"] * 100])
    for label in ("z", "z"):
        (warning,) = server.ask("GET", "/v1/models/m")[1]["warnings"]
        server.learn({"a": 1.0}, label)
    assert "the label changed 2 times in 201 examples" in warning


@pytest.mark.parametrize("learner", ["perceptron", "kesler"])
def test_the_status_of_a_served_model_warns(server: Server, learner: str) -> None:
    settings = {"estimator": {"name": "perceptron"}} if learner == "kesler" else {}
    server.make("m", learner, settings=settings)
    server.make("n", learner, settings=settings)
    for t in range(10):
        server.learn({"a": 1.0, "t": float(t)}, "first")
    half = [({"a": 1.0, "t": float(t)}, "first") for t in range(90)]
    assert server.lines([*half, *(({"b": 1.0}, "second") for _ in range(100))])[0] == 200
    _, status = server.ask("GET", "/v1/models/m")
    (warning,) = status["warnings"]
    assert "The stream looks sorted by label: the label changed once in 200 examples" in warning
    for t in range(40):
        server.learn({"a": 1.0}, ("first", "second")[t % 2], name="n")
    body = b"".join(b'{"features":{"a":1},"label":"%s"}\n' % (b"first", b"second")[t % 2] for t in range(40))
    assert server.ask("POST", "/v1/models/n/learn", body, NDJSON)[0] == 200
    _, models = server.ask("GET", "/v1/models")
    assert [bool(model["warnings"]) for model in models["models"]] == [True, False]
    server.connection.close()
    server.connection.request("GET", "/v1/events")
    heard = server.connection.getresponse()
    while not (line := heard.readline()).startswith(b"data: "):
        pass
    live = {model["name"]: model["warnings"] for model in json.loads(line[6:])["models"]}
    assert live == {"m": [warning], "n": []}
    heard.close()
    server.connection.close()
