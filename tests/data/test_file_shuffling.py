"""`learn --shuffle`: files in the order of data/shuffle/permutation.py, in bounded memory, without leftover files."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import novikoff
from novikoff import model_file
from novikoff._compiled.jit import JIT_DISABLED
from novikoff.cli.main import main
from novikoff.data import datasets
from novikoff.data.formats.base import ReadOptions
from novikoff.data.reader import DataReader
from novikoff.data.shuffle.buckets import Sizes
from novikoff.data.shuffle.external import BATCH_WORDS, Shuffler, get_recorded_seed
from novikoff.data.shuffle.permutation import describe_shuffle, permutation
from novikoff.errors import InputError
from tests.helpers.model_bytes import without_calibration
from tests.helpers.read_files import collect_batches, read_files

ROWS = 120 if JIT_DISABLED else 3000
MB = 1 << 20
TINY = Sizes(run_words=300, bucket_words=120, bits=2)
ALL_SIZES = [Sizes(), Sizes(20_000, 1500, 7), TINY, Sizes(run_words=8, bucket_words=1, bits=1)]


# --- The order ---


def svmlight(rng: random.Random, i: int) -> str:
    terms = sorted(rng.sample(range(1, 400), rng.randrange(0, 12)))
    return f"{1 if i < ROWS // 2 else -1} " + " ".join(f"{j}:{rng.uniform(-3, 3):.4f}" for j in terms)


def sets(rng: random.Random, i: int) -> str:
    labels = ",".join(str(k) for k in sorted(rng.sample(range(5), rng.randrange(1, 4))))
    return f"{labels} {1 + i % 7}:1 {20 + i % 11}:0.5"


def vw(rng: random.Random, i: int) -> str:
    weight = f" {rng.uniform(0.5, 2):.3f}" if rng.random() < 0.5 else ""
    return f"{1 if i < ROWS // 2 else -1}{weight} |a w{rng.randrange(50)} x:{rng.random():.3f} |b z{i % 9}"


def format_unweighted_row(rng: random.Random, i: int) -> str:
    return f"{1 if i % 2 else -1} |a w{rng.randrange(50)} x:{rng.random():.3f}"


def table(rng: random.Random, i: int) -> str:
    return f"{'low' if i < ROWS // 2 else 'high'}," + ",".join(f"{rng.uniform(-1, 1):.5f}" for _ in range(5))


def format_mixed_row(rng: random.Random, i: int) -> str:
    return f"{i * 3 // ROWS}\t{rng.choice(['red', 'green', 'blue'])}\t{rng.random():.4f}"


def objects(rng: random.Random, i: int) -> str:
    return json.dumps({"label": "abc"[i * 3 // ROWS], "n": rng.random(), "word": rng.choice("xyz")})


def two_types(rng: random.Random, i: int) -> str:
    return json.dumps({"label": ["a", 2, True][i * 3 // ROWS], "n": rng.random()})


def label_lists(rng: random.Random, i: int) -> str:
    return json.dumps({"label": rng.sample(["red", "green", "blue"], rng.randrange(1, 3)), "n": rng.random()})


def text(rng: random.Random, i: int) -> str:
    words = " ".join(rng.choice(["win", "money", "see", "you", "soon", "now"]) for _ in range(rng.randrange(1, 9)))
    return f"{'spam' if i < ROWS // 2 else 'ham'}\t{words}"


class Kind(NamedTuple):
    line: Callable[[random.Random, int], str]
    name: str
    header: str = ""
    options: dict[str, Any] = {}  # noqa: RUF012 - read only


KINDS = {
    "svmlight": Kind(svmlight, "d.svm"),
    "sets of labels": Kind(sets, "d.svm"),
    "vw with some weights": Kind(vw, "d.vw"),
    "vw with names": Kind(format_unweighted_row, "d.vw", options={"hash_bits": 0}),
    "csv of numbers": Kind(table, "d.csv", "label,a,b,c,d,e\n"),
    "csv with texts": Kind(format_mixed_row, "d.tsv", "label\tcolour\tsize\n"),
    "jsonl": Kind(objects, "d.jsonl"),
    "jsonl with labels of two types": Kind(two_types, "d.jsonl"),
    "jsonl with lists": Kind(label_lists, "d.jsonl"),
    "text": Kind(text, "d.txt", options={"format": "text"}),
    "mapped": Kind(table, "d.csv", "label,a,b,c,d,e\n", {"feature_map": "poly:2"}),
}


def lines_of(kind: Kind, seed: int = 7) -> list[str]:
    rng = random.Random(seed)
    return [kind.line(rng, i) for i in range(ROWS)]


def write(path: Path, kind: Kind, lines: list[str]) -> Path:
    path.write_text(kind.header + "".join(f"{line}\n" for line in lines))
    return path


def read_shuffled(*paths: Path, seed: int = 0, sizes: Sizes | None = None, **options: Any) -> DataReader:
    reading = DataReader([str(path) for path in paths], ReadOptions(**options))
    reading.shuffler = Shuffler(seed, sizes=sizes)
    return reading


def permute(seen: dict[str, Any], order: Any) -> dict[str, Any]:
    """Reorder what was collected from files; queries are dropped."""
    listed = ("rows", "labels", "weights", "sets", "where")
    return {**seen, **{k: [seen[k][i] for i in order] for k in listed if seen[k]}, "groups": []}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("sizes", [Sizes(), TINY], ids=["in memory", "tiny buckets"])
def test_rows_of_every_format_follow_the_permutation(name: str, sizes: Sizes, tmp_path: Path) -> None:
    kind = KINDS[name]
    path = write(tmp_path / kind.name, kind, lines_of(kind))
    expected = read_files(path, **kind.options)
    reading = read_shuffled(path, seed=5, sizes=sizes, **kind.options)
    assert reading.shuffler is not None
    for number in range(3):
        assert collect_batches(reading) == permute(expected, permutation(5, number, ROWS))
    assert reading.shuffle_record() == describe_shuffle(5, ROWS)
    assert (reading.shuffler.temporary_bytes > 0) == (sizes is TINY)


@pytest.mark.parametrize("sizes", ALL_SIZES, ids=str)
def test_buffer_and_bucket_sizes_do_not_change_the_order(sizes: Sizes, tmp_path: Path) -> None:
    kind = KINDS["svmlight"]
    path = write(tmp_path / kind.name, kind, lines_of(kind)[:500])
    expected = permute(read_files(path), permutation(2, 0, min(ROWS, 500)))
    assert collect_batches(read_shuffled(path, seed=2, sizes=sizes)) == expected


def test_a_row_longer_than_all_buffers_is_shuffled(tmp_path: Path) -> None:
    path = tmp_path / "d.svm"
    long = "1 " + " ".join(f"{j}:1" for j in range(1, 3000))
    path.write_text("".join(f"{line}\n" for line in ["-1 1:1", long, "-1 2:1", "1 3:1", long]))
    assert collect_batches(read_shuffled(path, sizes=TINY)) == permute(read_files(path), permutation(0, 0, 5))


def test_parquet_and_compressed_files_are_shuffled(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is in the parquet extra")
    parquet = pytest.importorskip("pyarrow.parquet")
    rng = random.Random(1)
    columns = {"label": ["a"] * 50 + ["b"] * 50, "x": [rng.random() for _ in range(100)]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "d.parquet")
    plain = write(tmp_path / "e.svm", KINDS["svmlight"], lines_of(KINDS["svmlight"])[:100])
    packed = tmp_path / "e.svm.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    for path in (tmp_path / "d.parquet", packed):
        for sizes in (Sizes(), TINY):
            assert collect_batches(read_shuffled(path, seed=1, sizes=sizes)) == permute(
                read_files(path), permutation(1, 0, 100)
            )


def test_files_are_shuffled_together_and_rows_keep_their_location(tmp_path: Path) -> None:
    kind = KINDS["csv of numbers"]
    lines = lines_of(kind)
    paths = [write(tmp_path / f"{k}.csv", kind, lines[k::3][:40]) for k in range(3)]
    seen = collect_batches(read_shuffled(*paths, seed=9, sizes=TINY))
    assert seen == permute(read_files(*paths), permutation(9, 0, 120))
    assert {where.rsplit(":", 1)[0] for where in seen["where"][:30]} == {str(path) for path in paths}


def test_skipped_lines_are_not_numbered(tmp_path: Path) -> None:
    path = tmp_path / "d.svm"
    path.write_text("".join(f"{'nonsense' if i % 5 == 2 else 1 - i % 2 * 2} {i + 1}:1\n" for i in range(100)))
    expected = read_files(path, bad_lines="skip")
    assert len(expected["labels"]) == 80
    assert collect_batches(read_shuffled(path, sizes=TINY, bad_lines="skip")) == permute(
        expected, permutation(0, 0, 80)
    )
    with pytest.raises(InputError, match=r"d\.svm:3: "):
        collect_batches(read_shuffled(path))


def test_a_cache_gives_the_same_rows(tmp_path: Path) -> None:
    kind = KINDS["svmlight"]
    path = write(tmp_path / kind.name, kind, lines_of(kind))
    expected = collect_batches(read_shuffled(path))
    assert collect_batches(read_shuffled(path, cache=True)) == expected  # writes it
    assert collect_batches(read_shuffled(path, cache=True, sizes=TINY)) == expected  # reads it


def test_long_data_is_split_into_batches(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    wide = ",".join(["0.5"] * 400)
    path.write_text("".join(f"{i % 2},{i},{wide}\n" for i in range(BATCH_WORDS // 100)))
    batches = [(len(batch), batch.rows.values[0]) for batch in read_shuffled(path, header=False, label="1").batches()]
    assert len(batches) > 1
    order = permutation(0, 0, BATCH_WORDS // 100)
    firsts = np.cumsum([0, *(count for count, _ in batches[:-1])])
    assert [value for _, value in batches] == order[firsts].tolist()


def test_files_with_other_columns_are_refused(tmp_path: Path) -> None:
    for name, header in (("a", "label,p,q"), ("b", "label,r,s")):
        (tmp_path / f"{name}.csv").write_text(f"{header}\n1,2,3\n0,1,1\n")
    with pytest.raises(InputError, match=r"b\.csv"):
        collect_batches(read_shuffled(tmp_path / "a.csv", tmp_path / "b.csv"))
    with pytest.raises(InputError, match=r"wine: its columns are not those of iris"):
        collect_batches(read_shuffled(Path("iris"), Path("wine")))


@pytest.mark.parametrize(
    "record", [None, {}, [], {"algorithm": "other", "random_state": 0}, {"algorithm": "splitmix64-keys"}]
)
def test_records_of_another_permutation_are_refused(record: Any) -> None:
    with pytest.raises(InputError, match=r"order|random state"):
        get_recorded_seed(record)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, True, "0", None])
def test_seeds_are_64_bit_integers(seed: Any) -> None:
    with pytest.raises(InputError, match="whole number from 0"):
        get_recorded_seed(describe_shuffle(0, 5) | {"random_state": seed})


# --- The command line ---


@pytest.fixture(autouse=True)
def _small_buckets(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The command works on disk even with the small files of these tests."""
    if request.node.name.startswith("test_learn"):
        monkeypatch.setattr("novikoff.data.shuffle.external.Sizes", lambda: TINY)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Provide a folder for temporary files, which must be empty at the end."""
    room = tmp_path / "temporary"
    room.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(room))
    yield room
    assert list(room.iterdir()) == []


def sorted_file(path: Path, kind: str = "csv of numbers") -> Path:
    return write(path, KINDS[kind], lines_of(KINDS[kind]))


def shuffle_of(path: Path | str) -> Any:
    """Return the order that a model file says its run began with."""
    return novikoff.load(path)._working_model()._state.shuffle


def contents(path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the content of a model file, except how its rows were ordered, and the calibration, which later passes
    leave unchanged."""
    header, tensors = model_file.to_header_and_tensors(without_calibration(novikoff.load(path)._working_model()))
    plain = {key: value for key, value in header.items() if key not in ("settings", "shuffle")}
    return plain, {name: array.tobytes() for name, array in tensors.items()}


@pytest.mark.parametrize(
    ("kind", "learner"),
    [*((kind, "perceptron") for kind in ("svmlight", "vw with some weights", "csv with texts", "jsonl", "text")),
     ("csv of numbers", "auto"), ("csv of numbers", "sgd"), ("sets of labels", "perceptron"), ("mapped", "arow")],
)  # fmt: skip
def test_learn_equals_learning_a_file_in_that_order(kind: str, learner: str, folder: Path, tmp_path: Path) -> None:
    # Names in a dictionary are numbered in the order of the file.
    options = {"text": ["--format", "text"], "mapped": ["--feature-map", "poly:2"], "jsonl": ["--hash-bits", "18"]}
    how = [*options.get(kind, []), "--learner", learner, "--quiet"]
    lines, suffix = lines_of(KINDS[kind]), KINDS[kind].name
    path = write(tmp_path / suffix, KINDS[kind], lines)
    passes = 1 if learner == "auto" else 2  # the forecasts of Auto pause in later passes
    ordered = [lines[i] for number in range(passes) for i in permutation(4, number, ROWS)]
    other = write(tmp_path / f"ordered.{suffix}", KINDS[kind], ordered)
    models = [tmp_path / "shuffled.model", tmp_path / "ordered.model"]
    shuffle = ["--shuffle", "--random-state", "4", "--passes", str(passes)]
    assert main(["learn", str(path), *shuffle, *how, "--save", str(models[0])]) == 0
    assert main(["learn", str(other), "--no-shuffle", *how, "--save", str(models[1])]) == 0
    assert contents(models[0]) == contents(models[1])
    assert shuffle_of(models[0]) == describe_shuffle(4, ROWS)
    assert shuffle_of(models[1]) is None


def test_learn_and_fit_learn_the_same_sequence(folder: Path, tmp_path: Path) -> None:
    path, model = sorted_file(tmp_path / "d.svm", "svmlight"), tmp_path / "m.model"
    options = ["--shuffle", "--random-state", "4", "--passes", "3", "--learner", "perceptron", "--quiet"]
    assert main(["learn", str(path), *options, "--save", str(model)]) == 0
    X, y = novikoff.read(path).to_arrays()
    fitted, learned = novikoff.Perceptron(passes=3, random_state=4).fit(X, y), novikoff.load(model)
    assert learned.ledger_.as_dict() == fitted.ledger_.as_dict()
    assert (learned.coef_ == fitted.coef_).all()
    assert learned._state.shuffle == fitted._state.shuffle


def test_learn_keeps_the_order_of_files_by_default(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = sorted_file(tmp_path / "d.csv")
    assert main(["learn", str(path), "--json", "--quiet"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert "shuffle" not in plain
    assert main(["learn", str(path), "--json", "--quiet", "--shuffle"]) == 0
    about = json.loads(capsys.readouterr().out)["shuffle"]
    assert (about["random_state"], about["rows"]) == (0, ROWS)
    assert about["temporary_bytes"] > 8 * 4 * ROWS


def test_learn_states_the_temporary_space(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = sorted_file(tmp_path / "d.csv")
    assert main(["learn", str(path), "--shuffle"]) == 0
    out, error = capsys.readouterr()
    assert f"Shuffling {path}: about 0." in error
    assert f"MB of temporary files in {folder}" in error
    assert "shuffled    random state 0, 0." in out
    packed = tmp_path / "d.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert main(["learn", str(packed), str(packed), "--shuffle"]) == 0
    error = capsys.readouterr().err
    assert "Shuffling 2 files: the size of the unpacked data of temporary files" in error


@pytest.mark.parametrize("copies", [1, 3])
def test_the_stated_temporary_space_is_used(
    copies: int, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The estimate is within a tenth for files of similar lines; the first batch alone exceeds the buffer."""
    path = tmp_path / "wide.svm"
    terms = " ".join(f"{j}:0.{j}" for j in range(1, 101))
    path.write_text("".join(f"{'+-'[i % 2]}1 {terms}\n" for i in range(12_000)))
    assert main(["learn", *[str(path)] * copies, "--shuffle", "--learner", "perceptron"]) == 0
    out, error = capsys.readouterr()
    stated = float(re.search(r"about ([\d.]+) MB of temporary files", error)[1])  # type: ignore[index]
    used = float(re.search(r", ([\d.]+) MB of temporary files", out)[1])  # type: ignore[index]
    assert used / 1.1 <= stated <= used * 1.1


def test_compare_shuffles_built_in_sets_and_warns_of_sorted_files(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run_compare(*arguments: str) -> tuple[list[int], list[str], str]:
        assert main(["compare", *arguments, "--learners", "perceptron,arow", "--json", "--quiet"]) == 0
        out, error = capsys.readouterr()
        document = json.loads(out)
        return [entry["mistakes"] for entry in document["learners"]], document["warnings"], error

    shuffled, warnings, _ = run_compare("iris")
    assert warnings == []
    given, warnings, error = run_compare("iris", "--no-shuffle")
    assert min(shuffled) > 3 * min(given)
    assert "looks sorted by label" in warnings[0]
    assert "warning: iris looks sorted by label" in error
    assert run_compare("iris", "--random-state", "1")[0] != shuffled
    path = sorted_file(tmp_path / "d.csv")
    assert len(run_compare(str(path))[1]) == 1
    assert run_compare(str(path), "--shuffle")[1] == []


def test_learn_shows_progress_while_it_partitions(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("novikoff.cli.options.run_options.SECONDS_BETWEEN_LINES", 0.0)
    assert main(["learn", str(sorted_file(tmp_path / "d.csv")), "--shuffle"]) == 0
    assert f"Shuffling: {ROWS:,} examples read (" in capsys.readouterr().err


@pytest.mark.parametrize("data", ["-", "pipe"])
def test_learn_refuses_to_shuffle_a_pipe(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if data == "pipe":
        data = str(tmp_path / "pipe")
        os.mkfifo(data)
    assert main(["learn", data, "--shuffle"]) == 2
    error = capsys.readouterr().err
    assert "--shuffle needs a file" in error
    assert "Write the data to a file first" in error


def test_learn_refuses_to_shuffle_rankings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "q.svm"
    path.write_text("".join(f"{i % 2} qid:{i // 4} 1:{i} 2:1\n" for i in range(40)))
    model = tmp_path / "m.model"
    assert main(["learn", str(path), "--shuffle", "--quiet"]) == 2
    assert "--shuffle is not for rankings" in capsys.readouterr().err
    assert main(["learn", str(path), "--quiet", "--learner", "perceptron", "--save", str(model)]) == 0
    assert main(["learn", str(path), "--quiet", "--shuffle", "--resume", str(model)]) == 2
    assert main(["learn", str(path), "--quiet", "--shuffle", "--multiclass", "binary"]) == 0


def test_learn_selects_the_scheme_from_all_labels(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A single last row of a third class doesn't make the run start with two classes and restart."""
    path = tmp_path / "d.csv"
    path.write_text("label,x\n" + "".join(f"{'ab'[i % 2]},{i}\n" for i in range(200)) + "c,1\n")
    assert main(["learn", str(path), "--shuffle", "--json"]) == 0
    out, error = capsys.readouterr()
    assert json.loads(out)["multiclass"] == "kesler"
    assert "--multiclass kesler" not in error


def test_learn_names_the_line_of_a_value_out_of_range(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path in paths:
        path.write_text("label,p,q\n" + "".join(f"{i % 2},{i % 3 / 4},1\n" for i in range(50)))
    paths[1].write_text(paths[1].read_text().replace("1,0.25,1\n", "1,25,1\n", 1))
    line = paths[1].read_text().splitlines().index("1,25,1") + 1
    model = tmp_path / "m.model"
    winnow = ["--learner", "winnow", "--threshold", "2", "--shuffle", "--quiet", "--save", str(model)]
    assert main(["learn", *map(str, paths), *winnow]) == 2
    assert f"b.csv:{line}: " in capsys.readouterr().err
    assert not model.exists()
    assert main(["learn", *map(str, paths), *winnow, "--bad-lines", "skip"]) == 0
    assert novikoff.load(model).ledger_.examples == 99


def test_learn_names_the_line_of_an_invalid_label(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text("".join(f'{{"label": {1.5 if i == 33 else i % 2}, "n": {i}}}\n' for i in range(60)))
    assert main(["learn", str(path), "--shuffle", "--quiet"]) == 2
    assert "d.jsonl:34: Unknown label type" in capsys.readouterr().err


def test_learn_resumes_with_new_data_shuffled(folder: Path, tmp_path: Path) -> None:
    path, kind = tmp_path / "d.csv", KINDS["csv of numbers"]
    lines = lines_of(kind)
    write(path, kind, lines)
    ordered = write(tmp_path / "o.csv", kind, [lines[i] for i in permutation(8, 0, ROWS)])
    first, models = str(tmp_path / "m.model"), [tmp_path / "a.model", tmp_path / "b.model"]
    assert main(["learn", str(path), "--save", first, "--quiet"]) == 0
    resume = ["--resume", first, "--quiet", "--save"]
    assert main(["learn", str(path), "--shuffle", "--random-state", "8", *resume, str(models[0])]) == 0
    assert main(["learn", str(ordered), *resume, str(models[1])]) == 0
    assert models[0].read_bytes() == models[1].read_bytes()
    assert shuffle_of(models[0]) is None
    assert main(["learn", str(path), "--shuffle", "--save", first, "--quiet"]) == 0
    assert main(["learn", str(path), "--shuffle", "--random-state", "8", *resume, str(models[0])]) == 0
    assert shuffle_of(models[0]) == describe_shuffle(0, ROWS)


@pytest.mark.parametrize(
    "name", ["bagging", *(pytest.param(name, marks=pytest.mark.slow) for name in ("adaboost", "random-forest"))]
)
def test_learn_takes_the_option_with_ensembles_in_memory(
    name: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = sorted_file(tmp_path / "d.csv")
    assert (
        main(["learn", str(path), "--multiclass", name, "--shuffle", "--random-state", "3", "--quiet", "--json"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["examples"] == ROWS


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(["--multiclass", "online-bagging"], marks=pytest.mark.slow),
        ["--learner", "multilayer-perceptron"],
        ["--learner", "perceptron", "--online-to-batch", "random-stopping"],
        pytest.param(["--multiclass", "random-forest", "--n-estimators", "3"], marks=pytest.mark.slow),
    ],
    ids=lambda how: how[1],
)
def test_learn_passes_the_random_state_on(how: list[str], tmp_path: Path) -> None:
    path, model = sorted_file(tmp_path / "d.csv"), tmp_path / "m.model"
    contents = set()
    for number in ("1", "2", "1"):
        assert main(["learn", str(path), *how, "--random-state", number, "--quiet", "--save", str(model)]) == 0
        contents.add(model.read_bytes())
    made = novikoff.load(model)
    parts = [made, getattr(made, "_inner_learner", made)]
    assert 1 in [getattr(part, "random_state", None) for part in parts]
    assert len(contents) == 2


def test_learn_refuses_other_random_states(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in ("-1", str(2**64), "x"):
        with pytest.raises(SystemExit):
            main(["learn", "iris", "--random-state", wrong])
        assert "--random-state" in capsys.readouterr().err


# --- Certificates ---


@pytest.mark.parametrize("kind", ["csv of numbers", "csv with texts"])
@pytest.mark.parametrize("passes", ["1", "3"])
def test_learn_certifies_a_shuffled_run(
    kind: str, passes: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, certificate, model = sorted_file(tmp_path / KINDS[kind].name, kind), tmp_path / "c.json", tmp_path / "m.model"
    options = ["--shuffle", "--random-state", "6", "--passes", passes, "--learner", "perceptron", "--quiet"]
    files = ["--certificate", str(certificate), "--report", str(tmp_path / "r.html"), "--save", str(model)]
    assert main(["learn", str(path), *options, *files]) == 0
    document = json.loads(certificate.read_text())
    assert document["shuffle"] == describe_shuffle(6, ROWS)
    assert main(["verify", str(certificate), str(path), "--quiet"]) == 0
    again = tmp_path / "again.json"
    assert main(["certify", str(model), str(path), "--passes", passes, "--output", str(again), "--quiet"]) == 0
    assert json.loads(again.read_text()) == document
    capsys.readouterr()
    for changed in ({"random_state": 7}, {"rows": ROWS + 1}, {"algorithm": "other"}, {"random_state": "x"}):
        certificate.write_text(json.dumps({**document, "shuffle": {**document["shuffle"], **changed}}))
        assert main(["verify", str(certificate), str(path), "--quiet"]) == 1, changed
    del document["shuffle"]
    certificate.write_text(json.dumps(document))
    assert main(["verify", str(certificate), str(path), "--quiet"]) == 1
    assert "verified\n" not in capsys.readouterr().out


def test_certificates_of_unshuffled_files_do_not_mention_the_order(tmp_path: Path) -> None:
    path, certificate = sorted_file(tmp_path / "d.csv"), tmp_path / "c.json"
    assert main(["learn", str(path), "--certificate", str(certificate), "--quiet"]) == 0
    document = json.loads(certificate.read_text())
    assert "shuffle" not in document
    assert main(["verify", str(certificate), str(path), "--quiet"]) == 0
    certificate.write_text(json.dumps({**document, "shuffle": describe_shuffle(0, ROWS)}))
    assert main(["verify", str(certificate), str(path), "--quiet"]) == 1


# --- Built-in data sets ---


@pytest.mark.parametrize(("name", "least"), [("iris", 0.9), ("wine", 0.85), ("breast-cancer", 0.88), ("digits", 0.9)])
def test_built_in_data_sets_are_shuffled(name: str, least: float, tmp_path: Path) -> None:
    model, labels = str(tmp_path / "m.model"), str(tmp_path / "labels.txt")
    accuracy, (_, expected, _) = {}, datasets.load_builtin_dataset(name)
    for option in ("--shuffle", "--no-shuffle", ""):
        assert main(["learn", name, *filter(None, [option]), "--save", model, "--quiet"]) == 0
        shuffle = shuffle_of(model)
        assert (shuffle is None) == (option == "--no-shuffle")
        assert main(["predict", model, name, "--output", labels, "--quiet"]) == 0
        accuracy[option] = np.mean(np.array(Path(labels).read_text().split("\n")[:-1]) == expected)
    assert accuracy[""] == accuracy["--shuffle"] >= least


def test_built_in_data_sets_follow_the_permutation(tmp_path: Path) -> None:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    model = tmp_path / "m.model"
    assert main(["learn", "breast-cancer", "--random-state", "2", "--quiet", "--save", str(model)]) == 0
    order = permutation(2, 0, len(y))
    names = np.array(["malignant", "benign"])
    expected = novikoff.Auto().partial_fit(X[order], names[y[order]])
    assert (novikoff.load(model).coef_ == expected.coef_).all()
    assert main(["learn", "breast-cancer", "--no-shuffle", "--quiet", "--save", str(model)]) == 0
    expected = novikoff.Auto().partial_fit(X, names[y])
    assert (novikoff.load(model).coef_ == expected.coef_).all()


# --- Space, interruptions, memory ---


def test_learn_stops_where_the_disk_is_full(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.pwritev, iter(range(10**6))

    def raise_no_space(*args: Any) -> int:
        if next(calls) < 3:
            return real(*args)
        raise OSError(28, "No space left on device")

    path, model = sorted_file(tmp_path / "d.csv"), tmp_path / "m.model"
    monkeypatch.setattr("novikoff.data.shuffle.buckets.os.pwritev", raise_no_space)
    assert main(["learn", str(path), "--shuffle", "--save", str(model)]) == 2
    error = capsys.readouterr().err
    assert f"{folder}: no space left for the temporary files of --shuffle" in error
    assert "TMPDIR" in error
    assert not model.exists()


def test_learn_checks_the_free_space_in_advance(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(folder)._replace(free=20_000)
    monkeypatch.setattr("novikoff.data.shuffle.external.shutil.disk_usage", lambda _: usage)
    written: list[Any] = []
    monkeypatch.setattr("novikoff.data.shuffle.buckets.os.pwritev", lambda *args: written.append(args))
    assert main(["learn", str(sorted_file(tmp_path / "d.csv")), "--shuffle"]) == 2
    error = capsys.readouterr().err
    assert "--shuffle needs about 0 MB for temporary files, but 0 MB are free" in error
    assert "TMPDIR" in error
    assert written == []


def test_a_file_size_limit_is_reported_as_a_full_disk(tmp_path: Path) -> None:
    """Check the system's file size limit, in a separate process."""
    path, model = sorted_file(tmp_path / "d.csv"), tmp_path / "m.model"
    code = f"{SMALL}import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n{LEARN}"
    room = tmp_path / "temporary"
    room.mkdir()
    assert (
        run(f"{SMALL}{LEARN}", room, str(path), "--shuffle").returncode == 0
    )  # the limit also applies to files of compiled code
    done = run(code, room, str(path), "--shuffle", "--save", str(model))
    assert done.returncode == 2
    assert "no space left for the temporary files" in done.stderr
    assert "Traceback" not in done.stderr
    assert not model.exists()
    assert list(room.iterdir()) == []


SMALL = f"""
from novikoff.data.shuffle import external
from novikoff.data.shuffle.buckets import Sizes
external.Sizes = lambda: Sizes{tuple(TINY)}
"""
LEARN = """
import sys
from novikoff.cli.main import main
sys.exit(main(["learn", *sys.argv[1:]]))
"""


def run(code: str, room: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "TMPDIR": str(room)}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], env=env, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL], ids=["interrupt", "kill"])
def test_an_interrupted_run_leaves_no_temporary_files(end: int, tmp_path: Path) -> None:
    """The run is interrupted while its rows are on disk, before the first example is learned."""
    path, model, room = sorted_file(tmp_path / "d.csv"), tmp_path / "m.model", tmp_path / "temporary"
    room.mkdir()
    slow = (
        "import time\n"
        "from novikoff.data.shuffle import buckets\n"
        "real = buckets.Buckets._write_run\n"
        "def write_run(self, *added):\n"
        "    real(self, *added)\n"
        "    print('written', flush=True)\n"
        "    time.sleep(0.2)\n"
        "buckets.Buckets._write_run = write_run\n"
    )
    command = [sys.executable, "-c", SMALL + slow + LEARN, str(path), "--shuffle", "--save", str(model), "--quiet"]
    env = {**os.environ, "TMPDIR": str(room)}
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "written\n"
    process.send_signal(end)
    _, error = process.communicate(timeout=60)
    assert process.returncode == (130 if end == signal.SIGINT else -signal.SIGKILL)
    assert "Traceback" not in error
    assert list(room.iterdir()) == []
    assert not model.exists()


MEASURED = """
import sys, numpy  # numpy is a library that shuffling needs and other runs sometimes do without
from novikoff.cli.main import main
code = main(["learn", *sys.argv[1:]])
with open("/proc/self/status") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
sys.exit(code)
"""


def peak(path: Path, room: Path, *options: str) -> int:
    """Return the most memory of a process that learns a file, in bytes."""
    done = run(MEASURED, room, str(path), "--learner", "perceptron", "--quiet", *options)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1]) << 10


def compare_memory(megabytes: int, folder: Path) -> None:
    status = Path("/proc/self/status")
    if not status.exists() or "VmHWM" not in status.read_text():
        pytest.skip("this system does not tell in /proc how much memory a process had at most")
    if JIT_DISABLED:
        pytest.skip("without compilation so much text takes hours")
    rng, path = random.Random(0), folder / "d.svm"
    lines = []
    for _ in range(2500):
        columns = sorted(rng.sample(range(1000), 60))
        lines.append(f"{rng.choice((-1, 1))} " + " ".join(f"{j}:{rng.random():.5f}" for j in columns) + "\n")
    part = "".join(lines).encode()
    with open(path, "wb") as file:
        for _ in range(megabytes * MB // len(part)):
            file.write(part)
    for options in ([], ["--shuffle"]):
        peak(path, folder, *options)  # compiles, which takes memory
    plain = max(peak(path, folder) for _ in range(2))
    shuffled = min(peak(path, folder, "--shuffle") for _ in range(2))
    found = f"{megabytes} MB of text: {plain / MB:.1f} MB in order, {shuffled / MB:.1f} MB shuffled"
    print(found)
    assert shuffled - plain <= 25 * MB, found


def test_shuffling_takes_little_memory(tmp_path: Path) -> None:
    compare_memory(60, tmp_path)


@pytest.mark.slow
def test_shuffling_a_large_file_takes_little_memory(tmp_path: Path) -> None:
    compare_memory(570, tmp_path)
