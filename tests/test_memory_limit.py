"""The memory limit of a model: its source, growth of arrays within it, and the errors beyond it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import novikoff.model_file
from novikoff import (
    AROW,
    SGD,
    AdaBoost,
    AllVsAll,
    Auto,
    Bagging,
    DecisionTree,
    Hierarchical,
    InputError,
    KernelPerceptron,
    Kesler,
    ModelTooLarge,
    MulticlassSVM,
    MultiLabel,
    MultilayerPerceptron,
    OneVsAll,
    Perceptron,
    RandomForest,
    VotedPerceptron,
)
from novikoff import memory_limit as ml
from novikoff.cli.main import main
from novikoff.data.feature_limit import check_isolated_terms
from novikoff.data.rows import Sparse
from novikoff.ensemble import sklearn_trees
from novikoff.ensemble.members import run_parallel
from novikoff.linear.auto import BinaryAuto
from novikoff.memory_limit import Growth, limit_memory
from novikoff.model_file import to_bytes

MB = 1 << 20


def proc(root: Path, **files: str) -> str:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


def test_the_memory_of_the_machine_is_the_smallest_reported_limit(tmp_path: Path) -> None:
    meminfo = "MemTotal:  8000 kB\nMemFree: 1 kB\nMemAvailable:   6000 kB\n"
    assert ml.read_machine_memory(proc(tmp_path / "plain", proc__meminfo=meminfo)) == 8000 * 1024
    assert ml.read_machine_memory(str(tmp_path / "nothing")) is None
    second = proc(tmp_path / "v2", proc__meminfo=meminfo, proc__self__cgroup="0::/a/b\n")
    proc(tmp_path / "v2", sys__fs__cgroup__a__memory_dot_max="5000000\n", sys__fs__cgroup__a__b__memory_dot_max="max\n")
    assert ml.read_machine_memory(second) == 5_000_000
    inside = proc(tmp_path / "box", proc__self__cgroup="0::/../x\n", sys__fs__cgroup__memory_dot_max="123456\n")
    assert ml.read_machine_memory(inside) == 123_456
    first = proc(tmp_path / "v1", proc__meminfo=meminfo, proc__self__cgroup="3:cpu:/\n4:memory,x:/box\n")
    (tmp_path / "v1/sys/fs/cgroup/memory/box").mkdir(parents=True)
    (tmp_path / "v1/sys/fs/cgroup/memory/memory.limit_in_bytes").write_text("9223372036854771712")
    (tmp_path / "v1/sys/fs/cgroup/memory/box/memory.limit_in_bytes").write_text("4194304")
    assert ml.read_machine_memory(first) == 4_194_304


@pytest.mark.parametrize("text", ["", "2Q", "-1", "0", "1e3", "nan", "9999999T", "١G"])
def test_invalid_sizes_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="such as 512M or 2G"):
        ml.parse_size(text)


def test_the_limit_comes_from_the_block_then_the_environment_then_the_machine(monkeypatch: Any) -> None:
    monkeypatch.delenv(ml.ENVIRONMENT_VARIABLE, raising=False)
    assert ml.model_limit() == ml.default_memory(ml.MODEL_MEMORY_FRACTION)
    monkeypatch.setenv(ml.ENVIRONMENT_VARIABLE, "3M")
    assert ml.model_limit() == 3 * MB
    with limit_memory(MB):
        assert ml.model_limit() == MB
        with limit_memory(None):
            assert ml.model_limit() == MB
    monkeypatch.setenv(ml.ENVIRONMENT_VARIABLE, "much")
    with pytest.raises(InputError, match=ml.ENVIRONMENT_VARIABLE):
        ml.model_limit()


def test_spare_capacity_is_reduced_before_an_example_is_refused() -> None:
    with limit_memory(1000):
        assert ml.choose_capacity(50, 100, lambda n: 10 * n, "x", "y") == 100
        assert ml.choose_capacity(80, 160, lambda n: 10 * n, "x", "y") == 100
        assert ml.choose_capacity(100, 200, lambda n: 10 * n, "x", "y") == 100
        with pytest.raises(ModelTooLarge, match=r"x would need 1010 bytes .* limit is 1000 bytes\. y, or raise"):
            ml.choose_capacity(101, 200, lambda n: 10 * n, "x", "y")


ONE_BY_ONE = [
    Perceptron(),
    AROW(),
    SGD(schedule="adagrad", average=True),
    BinaryAuto(),
    VotedPerceptron(),
    KernelPerceptron(kernel="poly:2"),
    KernelPerceptron(kernel="poly:2", budget=20, drop="project"),
    MultilayerPerceptron(hidden_layer_sizes=(4,)),
    Kesler(Perceptron()),
    Kesler(BinaryAuto()),
    OneVsAll(AROW()),
    AllVsAll(Perceptron()),
    Hierarchical(Perceptron()),
    MultiLabel(Perceptron()),
]


def make_next_example(model: Any, k: int) -> tuple[dict[str, float], Any, list[Any]]:
    """Return an example with new features, and with a new label at times if the model allows it."""
    x = {f"feature {k} {j}": 1.0 + j for j in range(30)} | {"all": 1.0}
    many = not isinstance(model, (Perceptron, AROW, SGD, BinaryAuto, VotedPerceptron, KernelPerceptron))
    label: Any = f"a/{k // 7}/{k % 2}" if many else f"{k % 2}"
    return x, ([label] if isinstance(model, MultiLabel) else label), [label]


@pytest.mark.parametrize("model", ONE_BY_ONE, ids=str)
def test_estimates_cover_the_allocated_memory(model: Any) -> None:
    """Every example is learned within the memory that was estimated for it, and the arrays are not larger than that."""
    model = type(model)(**model.get_params(deep=False))
    for k in range(40):
        x, y, labels = make_next_example(model, k)
        state = model._state
        known = [] if state is None else state.labels.known()
        names = {} if state is None else state.names.columns
        new = [name for name in x if name not in names]
        growth = Growth(
            features=len(names) + len(new),
            labels=tuple(label for label in labels if label not in known),
            examples=1,
            terms=len(x),
            name_bytes=sum(ml.NAME_BYTES + 2 * len(name) for name in new),
        )
        with limit_memory(model._memory_needed(growth)):
            model.learn_one(x, y)
        assert model._memory_needed(Growth()) <= model._state.bytes_used() + 8 * len(names) + 4096


@pytest.mark.parametrize("model", ONE_BY_ONE, ids=str)
def test_a_refused_example_leaves_the_model_as_it_was(model: Any) -> None:
    model = type(model)(**model.get_params(deep=False))
    for k in range(3):
        x, y, _ = make_next_example(model, k)
        model.learn_one(x, y)
    before = to_bytes(model)
    with limit_memory(model._state.bytes_needed() + 100), pytest.raises(ModelTooLarge, match="but the limit is"):
        model.learn_one({f"new {j}": 1.0 for j in range(100_000)}, make_next_example(model, 1)[1])
    assert to_bytes(model) == before
    x, y, _ = make_next_example(model, 4)
    model.learn_one(x, y)  # succeeds without that limit


def learn_all(model: Any, examples: list[tuple[Any, Any]]) -> None:
    for x, y in examples:
        model.learn_one(x, y)


def test_features_times_classes_are_limited_together() -> None:
    model = Kesler(Perceptron())
    with limit_memory(8 * MB):
        for k in range(200):
            model.learn_one({"a": 1.0}, f"label {k}")
        examples = [({f"{k} {j}": 1.0 for j in range(100)}, "label 1") for k in range(200)]
        with pytest.raises(ModelTooLarge, match=r"features with .* columns of weights would need"):
            learn_all(model, examples)
        assert model._state.bytes_used() < 9 * MB
    many = Kesler(Perceptron())
    examples = [({f"{k} {j}": 1.0 for j in range(10)}, f"label {k}") for k in range(1000)]
    with limit_memory(8 * MB), pytest.raises(ModelTooLarge, match=r"columns of weights would need"):
        learn_all(many, examples)
    assert many._state.bytes_used() < 9 * MB


@pytest.mark.parametrize("model", [KernelPerceptron(kernel="poly:2"), VotedPerceptron()], ids=str)
def test_stored_examples_are_limited_in_batches(model: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 20)), rng.integers(0, 2, 4000)
    with limit_memory(200_000), pytest.raises(ModelTooLarge, match="kept"):
        model.fit(X, y)


def test_batches_that_are_far_too_wide_are_refused_before_memory_is_asked_for() -> None:
    scipy = pytest.importorskip("scipy.sparse")
    X = scipy.csr_array((np.ones(2), ([0, 1], [0, 2_000_000_000])), shape=(2, 2_000_000_001))
    for model in (Perceptron(), Auto(), Kesler(Perceptron()), OneVsAll(AROW())):
        with limit_memory(1 << 30), pytest.raises(InputError, match=r"2,000,000,001 features would need"):
            model.fit(X, [0, 1])
        with limit_memory(1 << 30), pytest.raises(InputError, match=r"2,000,000,001 features would need"):
            model.partial_fit(X, [0, 1])


def learn(*arguments: str, text: str | None = None) -> Any:
    command = [sys.executable, "-m", "novikoff", "learn", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)


def test_learn_names_the_row_and_the_index_that_would_need_too_much(tmp_path: Path) -> None:
    done = learn("--max-model-memory", "2G", "-", text="1 200000000:1\n")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "novikoff: standard input:1: feature index 200000000 would need 26.1 GiB for the model, but the limit is 2 GiB."
        " Renumber the features, or raise --max-model-memory."
    )
    data = tmp_path / "data.svm"
    data.write_text("1 3:1\n-1 100000:1\n1 7:1\n-1 1:2 150000:1\n")
    done = learn("--max-model-memory", "17M", "--no-shuffle", str(data))
    assert f"{data}:4: feature index 150000 would need" in done.stderr
    assert "Traceback" not in done.stderr
    assert learn("--max-model-memory", "much", str(data)).stderr.startswith("novikoff: --max-model-memory: A size")


def test_learn_names_the_row_of_a_name_or_reports_too_many_bits(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("".join(f'{{"label": {k % 2}, "name{k}": 1}}\n' for k in range(3000)))
    done = learn("--max-model-memory", "300K", "--no-shuffle", "--hash-bits", "0", str(data))
    assert "would need" in done.stderr
    assert "Use --hash-bits to hash features, or raise --max-model-memory." in done.stderr
    text = tmp_path / "data.vw"
    text.write_text("1 | a\n-1 | b\n")
    done = learn("--max-model-memory", "1M", "--hash-bits", "24", str(text))
    assert "Use fewer --hash-bits, or raise --max-model-memory." in done.stderr


# --- The default limit, and few large indices ---


@pytest.fixture
def large_machine(monkeypatch: Any) -> None:
    """Pretend that half of the memory is 64 GiB."""
    monkeypatch.delenv(ml.ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.setattr(ml, "default_memory", lambda share: int(share * (128 << 30)))


@pytest.mark.usefixtures("large_machine")
def test_the_limit_of_indices_is_a_limit_that_was_set_or_1_gib() -> None:
    assert ml.index_limit() == 1 << 30
    with limit_memory(5 << 30):
        assert ml.index_limit() == 5 << 30
        with limit_memory(None):
            assert ml.index_limit() == 5 << 30
    with ml.share_limits(4):
        assert (ml.model_limit(), ml.index_limit()) == (16 << 30, 1 << 28)
    with ml.reserve_work_arrays():
        assert (ml.model_limit(), ml.index_limit()) == (64 << 30, 1 << 26)
    with limit_memory(5 << 30), ml.reserve_work_arrays():
        assert ml.index_limit() == 5 << 30


COMMANDS_WITH_WIDE_ROWS = [
    ["learn"],
    ["learn", "--learner", "arow"],
    ["learn", "--multiclass", "bagging"],
    ["learn", "--multiclass", "bagging", "--learner", "perceptron"],
    ["learn", "--multiclass", "adaboost"],
    ["learn", "--multiclass", "adaboost", "--learner", "perceptron"],
    ["learn", "--multiclass", "random-forest"],
    ["learn", "--multiclass", "one-vs-all"],
    ["learn", "--multiclass", "kesler"],
    ["learn", "--multiclass", "online-bagging"],
    ["separable"],
    ["compare", "--learners", "perceptron,arow,winnow"],
    ["certify", "auto.model"],
    ["certify", "perceptron.model"],
    ["cluster", "learn", "--workers", "1", "--learner", "perceptron"],
]


@pytest.mark.usefixtures("large_machine")
@pytest.mark.parametrize("command", COMMANDS_WITH_WIDE_ROWS, ids=" ".join)
def test_a_wide_row_is_refused_without_a_limit(
    command: list[str], tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wide.svm").write_text(WIDE)
    for name, model in {"auto": Auto(), "perceptron": Perceptron()}.items():
        novikoff.model_file.save(model.fit([[0.0, 1.0], [1.0, 0.0]] * 4, [0, 1] * 4), f"{name}.model")
    if command[0] == "cluster":
        pytest.importorskip("distributed")
    said = run_refused(capsys, *command, "wide.svm", "--quiet")
    assert "wide.svm:3: feature index 200000000 would need " in said
    assert "Renumber the features, or raise --max-model-memory." in said


@pytest.mark.usefixtures("large_machine")
def test_a_wide_row_after_many_others_is_refused(tmp_path: Path, capsys: Any) -> None:
    data = tmp_path / "wide.svm"
    data.write_text("1 1:1\n-1 2:1\n" * 200_000 + "1 200000000:1\n")
    assert f"{data}:400001: feature index 200000000 would need " in run_refused(capsys, "learn", str(data), "--quiet")


def wide_batch(columns: list[int]) -> Any:
    rows = Sparse(np.arange(len(columns) + 1), np.array(columns, np.uint32), np.ones(len(columns), np.float32))
    return SimpleNamespace(rows=rows, get_location=lambda row: f"data:{row + 1}")


@pytest.mark.usefixtures("large_machine")
def test_many_large_indices_may_take_all_memory() -> None:
    def check(columns: list[int], before: int = 0) -> None:
        check_isolated_terms(wide_batch(columns), max(columns) + 1, lambda features: 44 * features, before)

    far = 200_000_000
    check([1, 2, *range(far, far + 1000)])
    with pytest.raises(ModelTooLarge, match=r"data:3: feature index 200000000 would need 8\.2 GiB"):
        check([1, 2, *range(far, far + 999)])
    check([1, 2, far], before=far - 1000)
    with limit_memory(10 << 30):
        check([1, 2, far])


# --- Commands that fit a model to all examples, or search for one ---

WIDE = "1 1:1\n-1 2:1\n1 200000000:1\n-1 3:1\n"


def run_refused(capsys: Any, *arguments: str) -> str:
    """Run a command in this process; return the last line of its error output."""
    assert main([*arguments]) == 2
    return str(capsys.readouterr().err.splitlines()[-1])


@pytest.mark.parametrize("learner", [None, "perceptron", "winnow", "multilayer-perceptron"])
@pytest.mark.parametrize("scheme", ["bagging", "adaboost", "random-forest"])
def test_ensembles_from_files_name_the_row_and_the_index(
    scheme: str, learner: str | None, tmp_path: Path, capsys: Any
) -> None:
    if scheme == "random-forest" and learner is not None:
        pytest.skip("a random forest is made of trees")
    data = tmp_path / "wide.svm"
    data.write_text(WIDE)
    more = [] if learner is None else ["--learner", learner]
    said = run_refused(capsys, "learn", str(data), "--quiet", "--max-model-memory", "1G", "--multiclass", scheme, *more)
    assert said.startswith(f"novikoff: {data}:3: feature index 200000000 would need ")
    assert said.endswith("for the model, but the limit is 1 GiB. Renumber the features, or raise --max-model-memory.")


@pytest.mark.parametrize(
    ("command", "limit"), [(["separable"], "100 MiB"), (["compare", "--learners", "perceptron,arow"], "50 MiB")]
)
def test_other_commands_name_the_row_and_the_index(command: list[str], limit: str, tmp_path: Path, capsys: Any) -> None:
    """The models that are compared share the limit."""
    data = tmp_path / "wide.svm"
    data.write_text(WIDE)
    said = run_refused(capsys, *command, str(data), "--quiet", "--max-model-memory", "100M")
    assert f"{data}:3: feature index 200000000 would need " in said
    assert f"but the limit is {limit}" in said


@pytest.mark.parametrize(
    "model", [Perceptron(), Bagging(n_estimators=3), AdaBoost(n_estimators=3), RandomForest(n_estimators=3)]
)
def test_certify_names_the_row_and_the_index(model: Any, tmp_path: Path, capsys: Any) -> None:
    data = tmp_path / "wide.svm"
    data.write_text(WIDE)
    novikoff.model_file.save(model.fit([[0.0, 1.0], [1.0, 0.0]] * 4, [0, 1] * 4), tmp_path / "it.model")
    said = run_refused(
        capsys, "certify", str(tmp_path / "it.model"), str(data), "--quiet", "--max-model-memory", "100M"
    )
    assert f"{data}:3: feature index 200000000 would need " in said


def test_certify_says_that_a_model_learns_from_arrays_only(tmp_path: Path, capsys: Any) -> None:
    data = tmp_path / "data.svm"
    data.write_text("0 1:1\n1 2:1\n2 3:1\n")
    novikoff.model_file.save(MulticlassSVM().fit(np.eye(3), [0, 1, 2]), tmp_path / "it.model")
    said = run_refused(capsys, "certify", str(tmp_path / "it.model"), str(data), "--quiet")
    assert "MulticlassSVM learns from arrays, not from files" in said


def test_queries_name_the_row_of_the_query_that_is_too_wide(tmp_path: Path, capsys: Any) -> None:
    data = tmp_path / "wide.svm"
    data.write_text("1 qid:1 1:1\n2 qid:1 2:1\n1 qid:2 3:1\n3 qid:2 200000000:1\n2 qid:3 3:1\n")
    said = run_refused(capsys, "learn", str(data), "--quiet", "--max-model-memory", "100M")
    assert f"{data}:4: feature index 200000000 would need 2.98 GiB" in said


def test_a_map_that_is_too_wide_is_named_with_its_option(tmp_path: Path, capsys: Any) -> None:
    data = tmp_path / "data.svm"
    data.write_text("1 1:1\n-1 2:1\n")
    arguments = [
        "learn",
        str(data),
        "--quiet",
        "--max-model-memory",
        "100M",
        "--feature-map",
        "poly:2",
        "--feature-map-bits",
        "28",
    ]
    assert "Use fewer --feature-map-bits, or raise --max-model-memory." in run_refused(capsys, *arguments)


def test_trees_of_wide_rows_are_grown_on_the_columns_that_have_values(tmp_path: Path) -> None:
    scipy = pytest.importorskip("scipy.sparse")
    far, rows = sklearn_trees.MIN_WIDE_FEATURES + 5, 40
    rng = np.random.default_rng(0)
    values, y = rng.normal(size=(rows, 3)), np.arange(rows) % 3
    values[:, 1] += y
    columns = np.array([7, far, far + 1])
    X = scipy.csr_array((values.ravel(), np.tile(columns, rows), np.arange(0, 3 * rows + 1, 3)), shape=(rows, far + 2))
    narrow = scipy.csr_array(values)
    for make in (
        lambda: DecisionTree(max_depth=3),
        lambda: AdaBoost(n_estimators=5),
        lambda: Bagging(n_estimators=5, n_jobs=2),
    ):
        wide, plain = make().fit(X, y), make().fit(narrow, y)
        assert np.array_equal(wide.predict(X), plain.predict(narrow))
        trees, same = wide._require_fitted().members, plain._require_fitted().members
        inner = same.left >= 0
        assert np.array_equal(trees.feature[inner], columns[same.feature[inner]])
        assert np.array_equal(novikoff.model_file.from_bytes(to_bytes(wide), "m").predict(X), wide.predict(X))


def test_members_of_an_ensemble_are_limited_together() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 2, 300)
    with limit_memory(100_000), pytest.raises(ModelTooLarge, match=r"\d+ members would need"):
        RandomForest(n_estimators=200, n_jobs=2).fit(X, y)
    with limit_memory(100_000):
        RandomForest(n_estimators=3).fit(X, y)
    with limit_memory(20_000), pytest.raises(ModelTooLarge, match=r"500 features would need"):
        Bagging(Perceptron(), n_estimators=50).fit(rng.normal(size=(20, 500)), y[:20])
    with limit_memory(20_000), pytest.raises(ModelTooLarge, match=r"500 features with 2 classes would need"):
        MulticlassSVM().fit(rng.normal(size=(20, 500)), y[:20])


def test_threads_of_an_ensemble_have_the_limit_of_the_caller() -> None:
    with limit_memory(12345):
        assert run_parallel(lambda _: ml.model_limit(), 4, 2) == [12345] * 4
