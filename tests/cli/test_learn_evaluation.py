"""`novikoff learn` with --test, --holdout and --early-stopping: what is learned, what is evaluated, what is refused."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from novikoff.base.internals import state_of
from novikoff.cli.main import main
from novikoff.model_file import load_learner

Learn = Callable[..., dict[str, Any]]


@pytest.fixture
def learn(capsys: pytest.CaptureFixture[str]) -> Learn:
    def run(*arguments: object) -> dict[str, Any]:
        assert main(["learn", *map(str, arguments), "--json", "--quiet"]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return run


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(*arguments: object) -> str:
        assert main(["learn", *map(str, arguments), "--quiet"]) == 2
        return capsys.readouterr().err

    return run


def write_svmlight(path: Path, rows: int, *, seed: int = 0, noise: float = 0.1) -> Path:
    draw = random.Random(seed)
    lines = []
    for _ in range(rows):
        x = [draw.random() for _ in range(6)]
        positive = (x[0] + x[1] > x[2] + x[3]) != (draw.random() < noise)
        lines.append(f"{'+1' if positive else '-1'} " + " ".join(f"{j}:{v:.4f}" for j, v in enumerate(x, 1)))
    path.write_text("\n".join(lines) + "\n")
    return path


def write_table(path: Path, rows: int) -> Path:
    draw = random.Random(5)
    lines = ["user,colour,size,label"]
    for i in range(rows):
        colour = draw.choice(["red", "green", f"rare{i}"])
        label = "yes" if (colour == "red") != (draw.random() < 0.1) else "no"
        lines.append(f"u{draw.randrange(40)},{colour},{draw.random():.3f},{label}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def train(tmp_path: Path) -> Path:
    return write_svmlight(tmp_path / "train.svm", 400)


@pytest.fixture
def test_file(tmp_path: Path) -> Path:
    return write_svmlight(tmp_path / "test.svm", 150, seed=1)


def evaluate(capsys: pytest.CaptureFixture[str], model: Path, data: Path) -> dict[str, Any]:
    assert main(["evaluate", str(model), str(data), "--json", "--quiet"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["models"][0]
    del found["model"]
    return found


# --- A test file ---


@pytest.mark.parametrize("learner", ["auto", "sgd", "perceptron", "arow"])
def test_figures_of_a_test_file_are_those_of_evaluate(
    learner: str, train: Path, test_file: Path, tmp_path: Path, learn: Learn, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "a.model"
    found = learn(train, "--learner", learner, "--test", test_file, "--save", model)["test"]
    assert found.pop("data") == str(test_file)
    assert found == evaluate(capsys, model, test_file)


@pytest.mark.parametrize("scheme", ["random-forest", "online-bagging"])
def test_ensembles_are_evaluated_on_a_test_file(
    scheme: str, train: Path, test_file: Path, tmp_path: Path, learn: Learn, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "a.model"
    arguments = ("--multiclass", scheme, "--n-estimators", 5, "--test", test_file, "--save", model)
    found = learn(train, *arguments)["test"]
    del found["data"]
    assert found == evaluate(capsys, model, test_file)


def test_one_label_against_the_rest_is_evaluated_on_a_test_file(
    tmp_path: Path, learn: Learn, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "three.svm"
    data.write_text("".join(f"{i % 3} {i % 3 + 1}:1 5:{i % 7}\n" for i in range(90)))
    other = tmp_path / "other.svm"
    other.write_text("".join(f"{i % 3} {i % 3 + 1}:1 5:{i % 5}\n" for i in range(30)))
    found = learn(data, "--positive-label", 2, "--test", other)["test"]
    assert found["examples"] == 30
    assert found["accuracy"] == 1.0


def test_the_text_says_which_figures_are_of_the_model(
    train: Path, test_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["learn", str(train), "--test", str(test_file), "--save", str(tmp_path / "a.model"), "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert "progressive error of the run" in shown
    assert f"test file {test_file}: figures of the saved model, not of the run" in shown
    assert "95 % interval" in shown
    assert main(["learn", str(train), "--test", str(test_file), "--quiet"]) == 0
    assert "figures of the learned model" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [("--passes", 3), ("--shuffle",), ("--learner", "sgd", "--passes", 2)])
def test_a_test_file_does_not_change_the_model(
    arguments: tuple[object, ...], train: Path, test_file: Path, tmp_path: Path, learn: Learn
) -> None:
    plain, tested = tmp_path / "plain.model", tmp_path / "tested.model"
    learn(train, *arguments, "--save", plain)
    learn(train, *arguments, "--test", test_file, "--save", tested)
    assert plain.read_bytes() == tested.read_bytes()


def test_a_resumed_model_is_evaluated_on_a_test_file(
    train: Path, test_file: Path, tmp_path: Path, learn: Learn, capsys: pytest.CaptureFixture[str]
) -> None:
    model, more = tmp_path / "a.model", write_svmlight(tmp_path / "more.svm", 50, seed=9)
    learn(train, "--save", model)
    found = learn(more, "--resume", model, "--save", model, "--test", test_file)["test"]
    del found["data"]
    assert found == evaluate(capsys, model, test_file)


def test_a_bad_test_file_is_refused(train: Path, tmp_path: Path, refused: Callable[..., str]) -> None:
    assert "no such file" in refused(train, "--test", tmp_path / "absent.svm")
    assert "learns from this data" in refused(train, "--test", train)
    assert "learns from this data" in refused("iris", "--test", "iris")
    assert "must be a file" in refused(train, "--test", "-")
    bad = tmp_path / "bad.svm"
    bad.write_text("+1 1:0.5\n-1 2:x\n")
    assert f"{bad}:2" in refused(train, "--test", bad)


def test_other_columns_of_a_test_file_are_noted_or_refused(
    tmp_path: Path, test_file: Path, refused: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    data, other = write_table(tmp_path / "t.csv", 100), tmp_path / "other.csv"
    other.write_text("shape,size,label\nround,1,yes\nflat,2,no\n")
    assert main(["learn", str(data), "--test", str(other)]) == 0
    shown = capsys.readouterr().err
    assert "other.csv: columns unknown to the model are ignored: shape" in shown
    assert "other.csv: absent columns count as missing: user, colour" in shown
    assert "none of the columns" in refused(data, "--test", test_file)


# --- Held-out rows ---


def read_held_out(path: Path, rows: list[str], mask: list[bool], *, held_out: bool) -> Path:
    path.write_text("".join(row for row, held in zip(rows, mask, strict=True) if held == held_out))
    return path


def random_mask(rows: int, share: float, seed: int) -> list[bool]:
    """Return the draws of the rule `random`, computed with Python's integers."""

    def mix(word: int) -> int:
        word = (word + 0x9E3779B97F4A7C15) % 2**64
        word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) % 2**64
        return word ^ (word >> 31)

    offset = mix(seed ^ int.from_bytes(b"holdout", "big"))
    return [(mix((row + offset) % 2**64) >> 11) * 2.0**-53 < share for row in range(rows)]


@pytest.mark.parametrize(("by", "seed"), [("random", 0), ("random", 7), ("time", 0)])
@pytest.mark.parametrize("arguments", [("--passes", 2), ("--shuffle", "--passes", 2)])
def test_the_model_is_that_of_the_other_rows(
    by: str,
    seed: int,
    arguments: tuple[object, ...],
    train: Path,
    tmp_path: Path,
    learn: Learn,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = train.read_text().splitlines(keepends=True)
    mask = random_mask(400, 0.25, seed) if by == "random" else [i >= 300 for i in range(400)]
    learned = read_held_out(tmp_path / "learned.svm", lines, mask, held_out=False)
    rest = read_held_out(tmp_path / "rest.svm", lines, mask, held_out=True)
    model, split = tmp_path / "a.model", tmp_path / "b.model"
    common = (*arguments, "--random-state", seed)
    learn(learned, *common, "--save", model)
    found = learn(train, *common, "--holdout", 0.25, "--holdout-by", by, "--save", split)["holdout"]
    state = state_of(load_learner(split))
    assert state.holdout.pop("by") == found.pop("by") == by
    assert {found.pop("share"), state.holdout.pop("share")} == {0.25}
    found.pop("random_state", None)
    expected = evaluate(capsys, model, rest)
    assert found == expected
    assert found["examples"] == sum(mask)
    assert state_of(load_learner(model)).updater.weights.tolist() == state.updater.weights.tolist()
    assert state_of(load_learner(model)).ledger.as_dict() == state.ledger.as_dict()


def test_held_out_rows_do_not_depend_on_threads_or_formats(tmp_path: Path, learn: Learn) -> None:
    data = write_table(tmp_path / "t.csv", 500)
    one = learn(data, "--holdout", 0.2, "--threads", 1, "--ignore", "user")["holdout"]
    two = learn(data, "--holdout", 0.2, "--threads", 2, "--ignore", "user")["holdout"]
    assert one == two
    assert one["examples"] == sum(random_mask(500, 0.2, 0))


@pytest.mark.parametrize("by", ["random", "time", "user", "1"])
def test_a_table_with_categories_that_only_held_out_rows_have(
    by: str, tmp_path: Path, learn: Learn, capsys: pytest.CaptureFixture[str]
) -> None:
    data, model = write_table(tmp_path / "t.csv", 300), tmp_path / "a.model"
    found = learn(data, "--ignore", "user", "--holdout", 0.3, "--holdout-by", by, "--passes", 2, "--save", model)
    assert found["examples"] == 2 * (300 - found["holdout"]["examples"])
    assert 30 < found["holdout"]["examples"] < 150
    assert main(["predict", str(model), str(data), "--quiet"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 300
    assert main(["inspect", str(model)]) == 0
    assert "held out    " in capsys.readouterr().out


def test_rows_with_the_same_value_are_on_the_same_side(tmp_path: Path, learn: Learn) -> None:
    data = write_table(tmp_path / "t.csv", 400)
    users = [line.split(",")[0] for line in data.read_text().splitlines()[1:]]
    found = learn(data, "--holdout", 0.2, "--holdout-by", "user", "--ignore", "user")
    sizes = {user: users.count(user) for user in users}
    reachable = {0}
    for size in sizes.values():
        reachable |= {total + size for total in reachable}
    assert found["examples"] + found["holdout"]["examples"] == 400
    assert found["holdout"]["examples"] in reachable
    # Doubling the rows of each user keeps the split: it depends on the value alone.
    lines = data.read_text().splitlines()
    double = tmp_path / "double.csv"
    double.write_text("\n".join([*lines, *lines[1:]]) + "\n")
    twice = learn(double, "--holdout", 0.2, "--holdout-by", "user", "--ignore", "user")
    assert twice["holdout"]["examples"] == 2 * found["holdout"]["examples"]


def test_queries_are_held_out_as_a_whole(tmp_path: Path, learn: Learn, refused: Callable[..., str]) -> None:
    draw, data = random.Random(3), tmp_path / "rank.svm"
    rows = [
        f"{draw.randrange(3)} qid:{q} 1:{draw.random():.3f} 2:{draw.random():.3f}" for q in range(50) for _ in "abcd"
    ]
    data.write_text("\n".join(rows) + "\n")
    found = learn(data, "--holdout", 0.3, "--holdout-by", "qid")
    assert found["examples"] + found["holdout"]["queries"] == 50
    assert 0.0 < found["holdout"]["ndcg"] <= 1.0
    assert "use --holdout-by qid" in refused(data, "--holdout", 0.3)


def test_label_sets_are_held_out(tmp_path: Path, learn: Learn) -> None:
    data = tmp_path / "sets.svm"
    data.write_text("".join(f"{['1,3', '2', '1,2,3'][i % 3]} {i % 3 + 1}:1\n" for i in range(120)))
    found = learn(data, "--holdout", 0.25)
    assert found["examples"] + found["holdout"]["examples"] == 120
    assert found["holdout"]["exact_match"] == 1.0


def test_several_files_are_numbered_through(train: Path, tmp_path: Path, learn: Learn) -> None:
    second = write_svmlight(tmp_path / "second.svm", 100, seed=4)
    both = tmp_path / "both.svm"
    both.write_text(train.read_text() + second.read_text())
    for by in ("random", "time"):
        joined = learn(both, "--holdout", 0.2, "--holdout-by", by)
        parts = learn(train, second, "--holdout", 0.2, "--holdout-by", by)
        for name in ("log_loss", "brier"):  # sums, whose last digits depend on the batches
            assert parts["holdout"].pop(name) == pytest.approx(joined["holdout"].pop(name), rel=1e-12)
        assert parts["holdout"] == joined["holdout"]
        assert parts["mistakes"] == joined["mistakes"]


def test_the_cache_gives_the_same_held_out_rows(train: Path, learn: Learn) -> None:
    plain = learn(train, "--holdout", 0.2)
    for _ in range(2):
        assert learn(train, "--holdout", 0.2, "--cache")["holdout"] == plain["holdout"]


def test_a_copied_or_resumed_model_keeps_the_record(train: Path, tmp_path: Path, learn: Learn) -> None:
    model, more = tmp_path / "a.model", write_svmlight(tmp_path / "more.svm", 50, seed=9)
    learn(train, "--holdout", 0.2, "--save", model)
    learn(more, "--resume", model, "--save", model)
    assert state_of(load_learner(model)).holdout == {"by": "random", "share": 0.2, "random_state": 0}


def test_combinations_with_a_holdout_that_would_mislead_are_refused(
    train: Path, test_file: Path, tmp_path: Path, learn: Learn, refused: Callable[..., str]
) -> None:
    model = tmp_path / "a.model"
    learn(train, "--save", model)
    share = ("--holdout", 0.2)
    assert "add --holdout SHARE" in refused(train, "--holdout-by", "time")
    assert "from its beginning" in refused(train, *share, "--resume", model)
    for flag in ("--certificate", "--report"):
        assert f"{flag} can't be used with --holdout" in refused(train, *share, flag, tmp_path / "x")
    assert "can be read once only" in refused("-", *share, "--holdout-by", "time")
    assert "the data has no columns" in refused(train, *share, "--holdout-by", "user")
    assert "the data has no columns" in refused("iris", *share, "--holdout-by", "user")
    assert "its rows have no queries" in refused(train, *share, "--holdout-by", "qid")
    assert "leave out --bad-lines skip" in refused(train, *share, "--holdout-by", "user", "--bad-lines", "skip")
    assert "not for random-forest" in refused(train, *share, "--multiclass", "random-forest")
    assert "no row is held out" in refused(train, "--holdout", 1e-9)
    assert "every row is held out" in refused(train, "--holdout", 0.9999999)
    table = write_table(tmp_path / "t.csv", 50)
    assert "--holdout-by must be a column" in refused(table, *share, "--holdout-by", "nope")


@pytest.mark.parametrize("share", ["0", "1", "-0.1", "nan", "20%"])
def test_shares_out_of_range_are_refused(share: str, train: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["learn", str(train), f"--holdout={share}"])
    assert "must be a share between 0 and 1" in capsys.readouterr().err


def test_a_model_of_a_holdout_is_not_certified(
    train: Path, tmp_path: Path, learn: Learn, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "a.model"
    learn(train, "--learner", "perceptron", "--holdout", 0.2, "--save", model)
    assert main(["certify", str(model), str(train)]) == 2
    assert "were held out" in capsys.readouterr().err


# --- Several passes ---


def test_each_pass_prints_its_loss(train: Path, test_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", str(train), "--passes", "3", "--test", str(test_file)]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("pass ")]
    assert [line.split()[1] for line in lines] == ["1", "2", "3"]
    assert all("test error" in line for line in lines)
    assert "best so far" in lines[0]


def test_the_losses_of_the_passes_are_those_of_shorter_runs(train: Path, test_file: Path, learn: Learn) -> None:
    found = learn(train, "--learner", "sgd", "--passes", 4, "--test", test_file)
    shorter = [learn(train, "--learner", "sgd", "--passes", n, "--test", test_file)["test"] for n in range(1, 5)]
    for measure, key in (("error", "error"), ("loss", "log_loss")):
        assert [figures[measure] for figures in found["per_pass"]] == [test[key] for test in shorter]
    losses = [test["log_loss"] for test in shorter]
    assert found["best_pass"] == 1 + losses.index(min(losses))


@pytest.mark.parametrize("patience", [1, 2])
def test_early_stopping_saves_the_best_pass(
    patience: int, train: Path, test_file: Path, tmp_path: Path, learn: Learn, capsys: pytest.CaptureFixture[str]
) -> None:
    noisy, model = write_svmlight(tmp_path / "noisy.svm", 200, noise=0.3), tmp_path / "a.model"
    common = (noisy, "--learner", "perceptron", "--test", test_file, "--passes", 12)
    losses = [figures["loss"] for figures in learn(*common)["per_pass"]]
    best, expected = 0, len(losses)
    for k, loss in enumerate(losses):
        best = k if loss < losses[best] else best
        if k - best >= patience:
            expected = k + 1
            break
    found = learn(*common, "--early-stopping", patience, "--save", model)
    assert [figures["loss"] for figures in found["per_pass"]] == losses[:expected]
    assert found["saved_pass"] == found["best_pass"] == best + 1
    assert found["examples"] == 200 * (best + 1)
    assert evaluate(capsys, model, test_file)["error"] == losses[best]


def test_early_stopping_on_held_out_rows_keeps_the_record(train: Path, tmp_path: Path, learn: Learn) -> None:
    model = tmp_path / "a.model"
    found = learn(train, "--holdout", 0.3, "--passes", 5, "--early-stopping", 1, "--save", model)
    assert state_of(load_learner(model)).holdout["share"] == 0.3
    assert found["holdout"]["error"] == found["per_pass"][found["saved_pass"] - 1]["error"]


def test_the_text_says_which_pass_was_saved(train: Path, test_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["learn", str(train), "--holdout", "0.2", "--test", str(test_file), "--passes", "4", "--quiet"]
    assert main([*command, "--early-stopping", "1"]) == 0
    shown = capsys.readouterr().out
    assert "best pass   " in shown
    assert shown.count("these rows chose the pass, so the figures are optimistic") == 1
    assert main(command) == 0
    assert "best pass" not in capsys.readouterr().out


def test_early_stopping_without_data_or_passes_is_refused(
    train: Path, test_file: Path, tmp_path: Path, refused: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert "add --holdout 0.2 or --test FILE" in refused(train, "--passes", 3, "--early-stopping", 1)
    assert "add --passes N" in refused(train, "--test", test_file, "--early-stopping", 1)
    several = ("--test", test_file, "--passes", 3, "--early-stopping", 1)
    assert "can't be used with --early-stopping" in refused(train, *several, "--certificate", tmp_path / "x")
    for text in ("0", "-1", "two"):
        with pytest.raises(SystemExit):
            main(["learn", str(train), f"--early-stopping={text}"])
        assert "must be a number of passes" in capsys.readouterr().err
