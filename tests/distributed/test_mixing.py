"""Parameter mixing without a cluster: the loop that Dask schedules, in this process."""

from __future__ import annotations

import contextlib
import gzip
import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import dump_svmlight_file

from novikoff import (
    AROW,
    SGD,
    AllVsAll,
    Auto,
    BalancedWinnow,
    DefaultLearnerWarning,
    InputError,
    KernelPerceptron,
    Kesler,
    Ledger,
    MarginPerceptron,
    MultilayerPerceptron,
    OneVsAll,
    OnlineBagging,
    OutputCode,
    Perceptron,
    PNormPerceptron,
    VotedPerceptron,
    Winnow,
    load,
)
from novikoff.cli.main import main
from novikoff.data.reader import ReadOptions
from novikoff.distributed import DistributedLearner, worker_tasks
from novikoff.distributed.certificate import find_differences
from novikoff.distributed.checkpoint import Checkpoint
from novikoff.distributed.compatibility import prepare_model
from novikoff.distributed.coordinator import MAX_CHAINED_ROUNDS, TREE_FANOUT, Plan, run_rounds, start_round
from novikoff.distributed.dask_executor import MAX_CALLS_PER_MESSAGE, DaskExecutor
from novikoff.distributed.delta_encoding import decode_arrays, encode_arrays
from novikoff.distributed.ledger import DistributedLedger, ledger_at_step, merge_ledgers
from novikoff.distributed.shards import BatchShard
from novikoff.ledger import EXAMPLES, MAX_LISTED_MISTAKES, count_mistake
from novikoff.model_file import to_bytes
from tests.helpers.learners import ALL_LEARNERS, clip_to_range, make_learner
from tests.helpers.model_bytes import to_bytes_without_calibration
from tests.helpers.multiclass_schemes import draw_examples
from tests.helpers.streams import real

# Most tests leave the choice of the learner to the default, which is not their subject.
pytestmark = pytest.mark.filterwarnings("ignore::novikoff.DefaultLearnerWarning")
ALONE = ("auto", "voted", "elimination", "halving", "rectangle", "kernel")
MIXABLE = [name for name in ALL_LEARNERS if not name.startswith(ALONE)]


def parts(X: Any, y: Any, shards: int) -> list[tuple[Any, Any]]:
    cuts = np.linspace(0, len(y), shards + 1).astype(int)
    return [(X[a:b], y[a:b]) for a, b in pairwise(cuts)]


@pytest.mark.filterwarnings("error::novikoff.DefaultLearnerWarning")
def test_a_warning_names_the_learner_that_replaces_the_default() -> None:
    data = [([[1.0], [2.0]], [0, 1])]
    for default in (DistributedLearner(rounds=1), DistributedLearner(OneVsAll(), rounds=1)):
        with pytest.warns(DefaultLearnerWarning, match="AROW is used, because Auto, the default elsewhere"):
            default.fit(data)
    DistributedLearner(AROW(), rounds=1).fit(data)


# --- One shard is the learner itself ---


@pytest.mark.parametrize("name", MIXABLE)
def test_one_shard_equals_fit(name: str) -> None:
    X, y = real(3, rows=80)
    X = clip_to_range(name, X)
    alone = DistributedLearner(make_learner(name), rounds=3).fit([(X, y)])
    alone_bytes = to_bytes_without_calibration(alone.model_)
    assert alone_bytes == to_bytes_without_calibration(make_learner(name, passes=3).fit(X, y))
    assert [one.records[0].examples for one in alone.ledger_.rounds] == [80] * 3
    assert alone.ledger_.mistakes == alone.ledger_.mixture_sum("mistakes") == alone.model_.ledger_.mistakes


def test_one_shard_equals_fit_for_many_classes() -> None:
    X, y = draw_examples(1, rows=90)
    alone = DistributedLearner(Kesler(Perceptron(average=True)), rounds=2).fit([(X, y)])
    by_fit = Kesler(Perceptron(average=True, passes=2, shuffle=False)).fit(X, y)
    assert to_bytes_without_calibration(alone.model_) == to_bytes_without_calibration(by_fit)


def files(folder: Path, shards: int = 3, rows: int = 200, suffix: str = "") -> list[str]:
    names = []
    for k, (X, y) in enumerate(parts(*real(5, rows=rows, columns=20, kind=np.float32), shards)):
        name = folder / f"part-{k}.svm"
        dump_svmlight_file(X, y, str(name), zero_based=False)
        if suffix:
            packed_name = folder / f"part-{k}.svm{suffix}"
            packed_name.write_bytes(gzip.compress(name.read_bytes()))
            name = packed_name
        names.append(str(name))
    return names


def test_one_file_equals_learn(tmp_path: Path) -> None:
    (name,) = files(tmp_path, 1, suffix=".gz")
    model = str(tmp_path / "m.model")
    how = ["--learner", "perceptron", "--average", "--passes", "3"]
    assert main(["learn", name, *how, "--save", model, "--quiet"]) == 0
    alone = DistributedLearner(Perceptron(average=True), rounds=3).fit(name)
    assert to_bytes_without_calibration(alone.model_) == to_bytes_without_calibration(load(model))
    assert (alone.ledger_.examples, alone.ledger_.mistakes) == (600, alone.model_.ledger_.mistakes)


# --- What mixing is ---


def reference_mixture(pairs: list[tuple[Any, Any]], rounds: int) -> tuple[Any, Any]:
    """Iterative parameter mixing of the averaged Perceptron in plain Python: w, and the mean of all hypotheses."""
    w = mean = np.zeros(pairs[0][0].shape[1] + 1)
    steps = 0
    for _ in range(rounds):
        ends, means = [], []
        for X, y in pairs:
            v, own = w.copy(), np.zeros_like(w)
            for x, label in zip(np.hstack([np.ones((len(X), 1)), X]), y, strict=True):
                if (1 if v @ x >= 0 else -1) != label:
                    v += label * x
                own += v
            ends.append(v)
            means.append(own / len(y))
        made = sum(len(y) for _, y in pairs)
        w = np.mean(ends, axis=0)
        mean = (steps * mean + made * np.mean(means, axis=0)) / (steps + made)
        steps += made
    return w, mean


@pytest.mark.parametrize("shards", [2, 3, TREE_FANOUT + 3])
def test_the_model_is_the_mean_of_the_shards(shards: int) -> None:
    X, y = real(2, rows=120, columns=5)
    pairs = parts(X, y, shards)
    w, mean = reference_mixture(pairs, 4)
    last = DistributedLearner(Perceptron(), rounds=4).fit(pairs).model_
    averaged = DistributedLearner(Perceptron(average=True), rounds=4).fit(pairs).model_
    for model, expected in ((last, w), (averaged, mean)):
        found = np.concatenate([model.intercept_, model.coef_[0]])
        assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", MIXABLE)
def test_equal_shards_give_the_model_of_one_of_them(name: str) -> None:
    """A mean of equals, whatever the geometry: hypotheses that predict are those of one shard."""
    X, y = real(4, rows=40)
    X = clip_to_range(name, X)
    one = make_learner(name).fit(X, y)
    same = DistributedLearner(make_learner(name), rounds=1).fit([(X, y)] * 3)
    assert same.model_.coef_ == pytest.approx(one.coef_, rel=1e-9, abs=1e-9)
    assert same.model_.intercept_ == pytest.approx(one.intercept_, rel=1e-9, abs=1e-9)
    assert same.ledger_.mistakes == 3 * one.ledger_.mistakes
    assert same.ledger_.mixture_sum("mistakes") == one.ledger_.mistakes


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(
    "learner",
    [SGD(loss="hinge", l1=0.01, l2=0.02), SGD(schedule="sqrt", l2=0.3), Winnow(threshold=3.0)],
    ids=["adagrad-elastic", "ridge", "winnow"],
)
def test_penalised_and_multiplicative_learners_are_mixed_in_either_precision(learner: Any, kind: Any) -> None:
    X, y = real(4, rows=40)
    X = np.clip(np.abs(X), 0.0, 1.0).astype(kind)
    one = type(learner)(**{**learner.get_params(), "shuffle": False}).fit(X, y)
    same = DistributedLearner(learner, rounds=1).fit([(X, y)] * 3)
    assert same.model_.coef_ == pytest.approx(one.coef_, rel=1e-5, abs=1e-6)
    assert same.ledger_.mistakes == 3 * one.ledger_.mistakes > 0


def test_winnow_is_mixed_by_geometric_means_and_keeps_eliminated_features() -> None:
    X, y = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]), np.array([1, -1])
    other = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), np.array([1, -1])
    two = DistributedLearner(Winnow(threshold=2.5, alpha=4.0), rounds=1).fit([(X, y), other])
    alone = [Winnow(threshold=2.5, alpha=4.0, shuffle=False).fit(*pair).coef_[0] for pair in ((X, y), other)]
    assert two.model_.coef_[0] == pytest.approx(np.sqrt(alone[0] * alone[1]))
    killing = [Winnow(threshold=1.0, elimination=True, shuffle=False).fit(*pair).coef_[0] for pair in ((X, y), other)]
    mixed = DistributedLearner(Winnow(threshold=1.0, elimination=True), rounds=1).fit([(X, y), other])
    assert ((mixed.model_.coef_[0] == 0.0) == ((killing[0] == 0.0) | (killing[1] == 0.0))).all()


@pytest.mark.parametrize(
    "scheme",
    [
        Kesler(Perceptron(average=True, shuffle=False)),
        OneVsAll(SGD(shuffle=False)),
        AllVsAll(Perceptron(shuffle=False)),
        OutputCode(Perceptron(shuffle=False), code_length=7),
    ],
)
@pytest.mark.slow
def test_many_classes_are_mixed_in_all_schemes(scheme: Any) -> None:
    """Shards are learned in the given order, so fit must not shuffle either."""
    X, y = draw_examples(7, rows=60)
    one = type(scheme)._from_settings(scheme._plain_settings()).fit(X, y)
    same = DistributedLearner(scheme, rounds=1).fit([(X, y)] * 3)
    assert same.classes_.tolist() == one.classes_.tolist()
    assert same.model_.coef_ == pytest.approx(one.coef_, rel=1e-9, abs=1e-9)
    assert same.model_._run_facts()["unmet"] == 3 * one._run_facts()["unmet"]
    done = DistributedLearner(scheme, rounds=3).fit(parts(X, y, 4))
    assert done.model_.ledger_.examples == 3 * 60
    assert to_bytes(worker_tasks.deserialize_model(worker_tasks.serialize_model(done.model_))) == to_bytes(done.model_)


def test_features_may_grow_from_shard_to_shard(tmp_path: Path) -> None:
    for k, text in enumerate(["1 1:1\n-1 2:1\n", "1 1:1\n-1 90:1\n1 3:2\n"]):
        (tmp_path / f"{k}.svm").write_text(text)
    done = DistributedLearner(SGD(), rounds=2).fit(str(tmp_path / "*.svm"))
    assert done.model_.n_features_in_ in (90, 91)
    assert done.model_.predict_one({90: 1.0}) == -1


@pytest.mark.parametrize("mixing", ["uniform", "mistakes", "examples"])
def test_mixture_weights_sum_to_one(mixing: str) -> None:
    X, y = real(6, rows=90)
    pairs = [(X[:50], y[:50]), (X[50:60], y[50:60]), (X[60:], y[60:])]
    done = DistributedLearner(Perceptron(), rounds=3, mixing=mixing).fit(pairs)
    assert [sum(one.shares) for one in done.ledger_.rounds] == [Fraction(1)] * 3
    assert DistributedLedger.from_list(done.ledger_.as_list()).rounds == done.ledger_.rounds


def test_a_mixed_model_makes_no_claims_of_a_plain_run() -> None:
    X, y = real(6, rows=90)
    for name in ("perceptron", "margin-perceptron", "p-norm-perceptron", "sgd-hinge-constant"):
        assert not DistributedLearner(make_learner(name), rounds=1).fit(parts(X, y, 2)).model_.bounds()


# --- Messages and ledgers ---


@settings(max_examples=40)
@given(
    arrays(np.float32, st.tuples(st.integers(0, 30), st.just(2)), elements=st.floats(width=32)),
    arrays(np.float32, st.tuples(st.integers(0, 30), st.just(2)), elements=st.floats(width=32)),
    st.lists(st.integers(0, 29)),
)
def test_messages_round_trip_to_the_last_bit(new: Any, base: Any, same: list[int]) -> None:
    for k in same:
        if k < min(len(new), len(base)):
            new[k] = base[k]
    for known in (None, {"a": base}):
        header, found = decode_arrays(encode_arrays({"b": [1]}, {"a": new, "c": np.arange(3)}, known), known)
        assert header == {"b": [1]}
        assert found["a"].tobytes() == new.tobytes()
        assert found["a"].shape == new.shape
        assert found["c"].tolist() == [0, 1, 2]


def test_unchanged_weights_are_not_sent() -> None:
    base = np.random.default_rng(0).standard_normal((100_000, 2)).astype(np.float32)
    new = base.copy()
    new[::1000] += 1.0
    assert len(encode_arrays({}, {"a": new}, {"a": base})) < 2500
    assert len(encode_arrays({}, {"a": new})) < new.nbytes + 200
    assert len(encode_arrays({}, {"a": np.arange(100_000) % 7})) < 20_000  # what gives way is squeezed


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(1, 9000), st.integers(0, 100)), min_size=1, max_size=4), st.integers(0, 5000))
def test_merged_ledgers_list_mistakes_to_within_a_stride(shards: list[tuple[int, int]], before: int) -> None:
    def record_mistakes(ledger: Ledger, examples: int, share: int) -> list[int]:
        times = []
        for _ in range(examples):
            ledger.book.counts[EXAMPLES] += 1
            if ledger.examples * 7919 % 101 < share:
                count_mistake.function(ledger.book)
                times.append(ledger.examples)
        return times

    start = Ledger()
    true = record_mistakes(start, before, 50)
    books, passed = [], start.examples
    for examples_, share in shards:
        books.append(ledger_at_step(start.examples))
        true += [t - start.examples + passed for t in record_mistakes(books[-1], examples_, share)]
        passed += examples_
    whole = merge_ledgers(start, books)
    assert (whole.examples, whole.mistakes, whole.weighted) == (passed, len(true), passed)
    listed, stride = whole.mistake_times, whole.stride
    assert len(listed) == len(true) // stride < MAX_LISTED_MISTAKES
    if stride == 1:
        assert listed.tolist() == true
    for k, time in enumerate(listed.tolist()):
        assert true[(k + 1) * stride - 1] <= time <= ([*true, passed] + [passed] * stride)[(k + 2) * stride - 1]


# --- Rounds that are scheduled before the previous one is done ---


class Later:
    """Handles are calls that are done when a result is asked for, once; now and then all is lost."""

    ahead = True

    def __init__(self, pairs: list[Any], lost: set[int]) -> None:
        self.pairs, self.lost, self.shared, self.asked, self.most_waiting = pairs, lost, 0, 0, 0
        self.waiting = 0

    def share(self, value: Any) -> Any:
        self.shared += 1
        return [lambda: value]

    def data(self, shard: int) -> Any:
        return self.pairs[shard]

    def call(self, function: Any, *arguments: Any, part: int | None = None) -> Any:
        self.waiting += function is worker_tasks.train_shard
        return [lambda: function(*map(self._value, arguments))]

    def _value(self, handle: Any) -> Any:
        if isinstance(handle, list) and len(handle) == 1 and callable(handle[0]):
            found = handle[0]()
            handle[0] = lambda: found
            return found
        return [self._value(one) for one in handle] if isinstance(handle, list) else handle

    def results(self, handles: Any) -> list[Any]:
        self.asked += 1
        self.most_waiting, self.waiting = max(self.most_waiting, self.waiting), 0
        if self.asked in self.lost:
            raise ConnectionError
        return [self._value(one) for one in handles]

    def run_with_retry(self, round_: Any) -> Any:
        while True:
            with contextlib.suppress(ConnectionError):
                return round_()


def test_scheduled_rounds_of_one_shard_equal_fit() -> None:
    X, y = real(2, rows=60)
    plan = Plan(prepare_model(Perceptron(), 4), 4, "uniform", classes=[-1, 1])
    message, ledger = run_rounds(Later([[(X, y)]], {3}), [BatchShard("batch 0")], plan)
    alone = DistributedLearner(Perceptron(), rounds=4).fit([(X, y)])
    by_fit = Perceptron(passes=4, shuffle=False).fit(X, y)
    assert to_bytes(worker_tasks.deserialize_model(message)) == to_bytes(alone.model_)
    assert to_bytes_without_calibration(alone.model_) == to_bytes_without_calibration(by_fit)
    assert ledger.rounds == alone.ledger_.rounds


@pytest.mark.parametrize("mixing", ["uniform", "mistakes"])
@pytest.mark.parametrize("lost", [set(), {2, 3, 9, 10, 11}])
def test_scheduling_rounds_ahead_gives_the_same_model(mixing: str, lost: set[int]) -> None:
    pairs = parts(*real(2, rows=120), 3)
    rounds = 2 * MAX_CHAINED_ROUNDS + 3
    here = DistributedLearner(Perceptron(average=True), rounds=rounds, mixing=mixing).fit(pairs)
    plan = Plan(prepare_model(Perceptron(average=True), rounds), rounds, mixing)
    engine = Later(pairs, lost)
    message, ledger = run_rounds(engine, [BatchShard(f"batch {k}") for k in range(3)], plan)
    assert to_bytes(worker_tasks.deserialize_model(message)) == to_bytes(here.model_)
    assert ledger.rounds == here.ledger_.rounds
    looks = 1  # shares the model, too
    if mixing == "uniform" and not lost:
        assert engine.shared == looks + 3  # the first, and where a chain has become long
        assert engine.most_waiting == 6
    elif mixing == "mistakes":  # the shares of a round must be known before its end is
        assert engine.most_waiting == 3
    else:
        assert engine.shared > looks + len(lost)  # each time from the model that had come back


# --- Checkpoints ---


def test_a_resumed_run_gives_the_same_bytes(tmp_path: Path) -> None:
    pairs = parts(*real(8, rows=90), 3)
    whole = DistributedLearner(AROW(), rounds=4).fit(pairs)
    for path in (str(tmp_path / "run.checkpoint"), "memory://run.checkpoint"):
        if "://" in path:
            pytest.importorskip("fsspec")

        def crash(number: int, _: Any) -> None:
            if number == 2:
                raise RuntimeError("power cut")

        with pytest.raises(RuntimeError, match="power cut"):
            DistributedLearner(AROW(), rounds=4, checkpoint=path).fit(pairs, on_round=crash)
        seen: list[int] = []
        again = DistributedLearner(AROW(), rounds=4, checkpoint=path)
        again.fit(pairs, on_round=lambda number, _, seen=seen: seen.append(number))
        assert seen == [3, 4]
        assert to_bytes(again.model_) == to_bytes(whole.model_)
        assert again.ledger_.rounds == whole.ledger_.rounds
        with pytest.raises(InputError, match=r"is of another run \(different mixing\)"):
            DistributedLearner(AROW(), rounds=4, checkpoint=path, mixing="mistakes").fit(pairs)
        with pytest.raises(InputError, match="has 4 rounds"):
            DistributedLearner(AROW(), rounds=3, checkpoint=path).fit(pairs)
        with pytest.raises(InputError, match=r"is of another run \(different content\)"):
            DistributedLearner(AROW(), rounds=4, checkpoint=path).fit(pairs[::-1])


@pytest.mark.filterwarnings("ignore::novikoff.SortedLabelsWarning")
def test_a_checkpoint_of_changed_files_is_refused(tmp_path: Path) -> None:
    names = files(tmp_path, 2)
    learner = DistributedLearner(rounds=1, checkpoint=str(tmp_path / "c"))
    before = to_bytes(learner.fit(names).model_)
    assert to_bytes(learner.fit(names).model_) == before
    content = Path(names[1]).read_bytes()
    for changed in (content + b"1 1:1\n", content[:-1] + b"0", b"#" + content[1:]):
        Path(names[1]).write_bytes(changed)
        with pytest.raises(InputError, match=r"is of another run \(different content\)"):
            learner.fit(names)
    Path(names[1]).unlink()
    with pytest.raises(InputError, match=r"part-1\.svm: the file does not exist"):
        learner.fit(names)
    builtin = DistributedLearner(Kesler(), rounds=1, checkpoint=str(tmp_path / "d"))
    assert to_bytes(builtin.fit("iris").model_) == to_bytes(builtin.fit("iris").model_)


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c"
    pairs = parts(*real(8, rows=30), 2)
    DistributedLearner(rounds=1, checkpoint=str(path)).fit(pairs)
    content = path.read_bytes()
    for k in (0, 40, 200, len(content) - 1):
        path.write_bytes(content[:k] + bytes([content[k] ^ 1]) + content[k + 1 :])
        with pytest.raises(InputError, match="damaged or not a checkpoint"):
            DistributedLearner(rounds=2, checkpoint=str(path)).fit(pairs)
    path.write_bytes(content[:-1])
    with pytest.raises(InputError, match="damaged or not a checkpoint"):
        Checkpoint(str(path), {}).read(1)
    with pytest.raises(InputError, match="nowhere-at-all"):
        Checkpoint("nowhere-at-all://x", {}).read(1)


# --- Sentences ---


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (VotedPerceptron(), "Use Perceptron\\(average=True\\)"),
        (KernelPerceptron(), "--feature-map poly:2"),
        (Auto(), "Use AROW, SGD or"),
        (MultilayerPerceptron(), "Use Kesler"),
        (make_learner("halving-stumps"), "Use Winnow"),
        (OneVsAll(VotedPerceptron()), "VotedPerceptron can't be learned on a cluster"),
        (OnlineBagging(Perceptron()), "OnlineBagging can't be learned on a cluster"),
        ("perceptron", "only linear learners are supported"),
        (Perceptron(passes=2), "leave out passes=2"),
    ],
)
def test_learners_that_cannot_be_mixed_are_refused(model: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        DistributedLearner(model, rounds=3).fit([([[1.0], [2.0]], [0, 1])])


@pytest.mark.slow
def test_incompatible_shards_are_named(tmp_path: Path) -> None:
    X, y = real(1, rows=30, columns=4)

    def check_refused(sentence: str, data: Any, labels: Any = None, **how: Any) -> None:
        with pytest.raises(InputError, match=sentence):
            DistributedLearner(how.pop("learner", None), rounds=2, **how.pop("to", {})).fit(data, labels, **how)

    check_refused("shard 1 of 2 has 4 and shard 2 of 2 has 3", [(X, y), (X[:, :3], y)])
    check_refused("shard 2 of 2: .*must be batches", [(X, y), None])
    check_refused("shard 2 of 2: Found input variables with inconsistent numbers", [(X, y), (X, y[:5])])
    check_refused(r"the data has 4 classes \(-1, 1, 6, 8\)", [(X, y), (X, y + 7)])
    check_refused("shard 2 of 2: must be batches .* got a list of int", [(X, y), [1, 2]])
    check_refused("Shards must be file names or batches .* got a ndarray without labels", X)
    check_refused("Shards must be file names or batches .* got a NoneType", None)
    check_refused("The list of shards is empty", [])
    check_refused("no-such.*the file does not exist on this worker", [str(tmp_path / "no-such.svm")] * 1)
    check_refused("no file matches", str(tmp_path / "*.nothing"))
    check_refused("standard input", ["-"])
    check_refused("mixing must be one of uniform, mistakes, examples", [(X, y)], to={"mixing": "best"})
    names = files(tmp_path, 3)
    check_refused("is named twice", [names[0], names[0]])
    Path(names[1]).unlink()
    check_refused("part-1.svm: the file does not exist", names)
    Path(names[1]).write_text("1 1:x\n")
    check_refused("part-1.svm:1: ", names)
    Path(names[1]).write_bytes(gzip.compress(b"1 1:1\n" * 9)[:-9])
    check_refused("part-1.svm: can't be read to its end", names)
    Path(names[1]).write_text("3 1:1\n")
    check_refused(r"part-1.svm:1: .*the data has 3 classes \(-1, 1, 3\)", names)
    for k, text in enumerate(["1 | a b\n-1 | c\n", "1 | d\n-1 | a\n"]):
        (tmp_path / f"{k}.vw").write_text(text)
    check_refused("Hash the names", str(tmp_path / "*.vw"), options=ReadOptions(hash_bits=0))
    check_refused("keep-names", names, options=ReadOptions(keep_names=1))
    for k, text in enumerate(["y,a,b\n1,2,3\n0,1,1\n", "z,a,b\n1,2,3\n0,1,1\n"]):
        (tmp_path / f"{k}.csv").write_text(text)
    check_refused(r"1\.csv:2: the label, column 'y', is missing", str(tmp_path / "*.csv"))
    (tmp_path / "one.svm").write_text("1 1:1\n1 2:1\n")
    check_refused("all labels are 1|All labels are 1", [str(tmp_path / "one.svm")])


# --- Names ---


def tables(folder: Path, kind: str) -> list[str]:
    """Provide three shards of a table, each with a category that the others don't have."""
    draw, names = np.random.default_rng(1), ["job", "age", "y"]
    paths = []
    for k in range(3):
        jobs = draw.choice(["p", "q", f"only{k}"], 40).tolist()
        rows = [
            dict(zip(names, row, strict=True)) for row in zip(jobs, draw.random(40).tolist(), [0, 1] * 20, strict=True)
        ]
        paths.append(folder / f"{k}.{kind}")
        lines = [json.dumps(row) if kind == "jsonl" else ",".join(map(str, row.values())) for row in rows]
        paths[-1].write_text("\n".join([*([] if kind == "jsonl" else [",".join(names)]), *lines]) + "\n")
    return [str(path) for path in paths]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("model", [Perceptron(), AROW(), Kesler(SGD())], ids=repr)
def test_shards_share_a_dictionary_of_few_names(kind: str, model: Any, tmp_path: Path) -> None:
    paths = tables(tmp_path, kind)
    done = DistributedLearner(model, rounds=3).fit(paths)
    assert set(done.model_.feature_names_in_) == {"job=p", "job=q", "age", "job=only0", "job=only1", "job=only2"}
    assert len(to_bytes(done.model_)) < 10_000
    hashed = DistributedLearner(model, rounds=3).fit(paths, options=ReadOptions(hash_bits=18))
    assert hashed.model_.n_features_in_ == 1 << 18
    rows = [{"job": job, "age": 0.5} for job in ("p", "only1", "only2", "new")]
    assert done.decision_function(rows).tolist() == pytest.approx(hashed.decision_function(rows).tolist(), rel=1e-5)
    assert done.ledger_.as_list() == hashed.ledger_.as_list()


def test_columns_of_shards_are_matched_by_name(tmp_path: Path) -> None:
    """Their order is free, and a column that a shard lacks has missing values there, which count as empty cells."""
    shards = {
        "first": "y,a,b\n1,2,3\n0,1,4\n",
        "copy": "y,a,b\n1,2,3\n0,1,4\n",
        "reordered": "b,y,a\n3,1,2\n4,0,1\n",
        "empty cells": "y,a,b\n1,2,\n0,1,\n",
        "narrow": "y,a\n1,2\n0,1\n",
    }
    for name, text in shards.items():
        (tmp_path / f"{name}.csv").write_text(text)

    def learn(*names: str) -> bytes:
        return to_bytes(DistributedLearner(AROW(), rounds=2).fit([str(tmp_path / f"{n}.csv") for n in names]).model_)

    assert learn("first", "reordered") == learn("first", "copy")
    assert learn("first", "narrow") == learn("first", "empty cells") != learn("first", "copy")


def test_one_shard_of_a_table_equals_learn(tmp_path: Path) -> None:
    path, model = tables(tmp_path, "csv")[0], tmp_path / "m.model"
    assert main(["learn", path, "--learner", "arow", "--passes", "3", "--save", str(model), "--quiet"]) == 0
    distributed = DistributedLearner(AROW(), rounds=3).fit([path]).model_
    assert to_bytes_without_calibration(distributed) == to_bytes_without_calibration(load(model))


def test_a_run_with_a_dictionary_resumes_and_is_certified(tmp_path: Path) -> None:
    paths, kept = tables(tmp_path, "csv"), str(tmp_path / "run.checkpoint")
    whole = DistributedLearner(Perceptron(), rounds=4).fit(paths)

    def stop(number: int, _: Any) -> None:
        if number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        DistributedLearner(Perceptron(), rounds=4, checkpoint=kept).fit(paths, on_round=stop)
    done = DistributedLearner(Perceptron(), rounds=4, checkpoint=kept).fit(paths)
    assert to_bytes(done.model_) == to_bytes(whole.model_)
    assert find_differences(done.certify().document, paths) == []


def test_shards_with_many_names_are_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = tables(tmp_path, "csv")
    for most in (4, 5):  # in one shard, in all of them
        monkeypatch.setattr("novikoff.data.reader.MAX_DICTIONARY_NAMES", most)
        done = DistributedLearner(Perceptron(), rounds=1).fit(paths)
        assert done.model_.n_features_in_ == 1 << 18
        [note] = done.notes_
        assert note == f"the shards have more than {most} different names, which are hashed as with --hash-bits 18"
    assert DistributedLearner(Perceptron(), rounds=1).fit(paths, options=ReadOptions(hashes_names=True)).notes_ == []


def test_labels_are_agreed_on_before_anything_is_learned(tmp_path: Path) -> None:
    """The first file has one label only, so the other files are read too."""
    for k, text in enumerate(["y,one,two\nb,1,0\nb,0,1\n", "y,one,two\nb,1,0\na,0,1\n"]):
        (tmp_path / f"{k}.csv").write_text(text)
    done = DistributedLearner(rounds=1).fit(str(tmp_path / "*.csv"), options=ReadOptions(label="y"))
    assert done.model_._state.labels.listed() == [
        "b",
        "a",
    ]  # as in a stream: the first label that is not a number is negative
    for k, text in enumerate(["1 1:1\n2 2:1\n", "3 1:1\n1 2:1\n"]):
        (tmp_path / f"{k}.svm").write_text(text)
    many = DistributedLearner(Kesler(), rounds=1)
    assert many.fit(str(tmp_path / "*.svm")).classes_.tolist() == [1, 2, 3]
    assert many.fit(str(tmp_path / "*.svm"), classes=[3, 2, 1]).classes_.tolist() == [1, 2, 3]
    with pytest.raises(InputError, match=r"1\.svm: the label 3 is not among the given classes"):
        many.fit(str(tmp_path / "*.svm"), classes=[2, 1])
    two = DistributedLearner(rounds=1).fit(str(tmp_path / "*.svm"), positive_label="3")
    assert two.classes_.tolist() == ["not 3", "3"]
    with pytest.raises(InputError, match="no example of any shard has that label"):
        DistributedLearner(rounds=1).fit(str(tmp_path / "*.svm"), positive_label="30")


def test_tasks_are_pure() -> None:
    X, y = real(1, rows=60)
    shard, data = tasks_of(X, y)
    start = DistributedLearner(SGD(), rounds=1).fit(parts(X, y, 2))
    message = worker_tasks.serialize_model(start.model_)
    first, second = (worker_tasks.train_shard(shard, data, message, False) for _ in range(2))
    assert first == second
    assert worker_tasks.serialize_model(worker_tasks.deserialize_model(message)) == message
    once, twice = (worker_tasks.sum_deltas(message, [first, second], [0.5, 0.5]) for _ in range(2))
    assert once == twice
    assert worker_tasks.apply_mixture(message, once) == worker_tasks.apply_mixture(message, twice)


def tasks_of(X: Any, y: Any) -> Any:
    from novikoff.distributed.shards import BatchShard

    return BatchShard("it"), [(X, y)]


def test_sparse_and_float32_batches_are_learned() -> None:
    X, y = real(9, rows=60, kind=np.float32)
    dense = DistributedLearner(SGD(), rounds=2).fit(parts(X, y, 2))
    sparse = DistributedLearner(SGD(), rounds=2).fit([(sp.csr_matrix(a), b) for a, b in parts(X, y, 2)])
    assert to_bytes(dense.model_) == to_bytes(sparse.model_)
    assert dense.model_._state.kind == np.float32


def test_a_model_is_saved_as_any_other(tmp_path: Path) -> None:
    from novikoff import save

    done = DistributedLearner(BalancedWinnow(), rounds=2).fit(parts(*_make_small_data(), 2))
    save(done.model_, tmp_path / "m")
    assert to_bytes(load(tmp_path / "m")) == to_bytes(done.model_)
    for other in (MarginPerceptron(gamma=0.1), PNormPerceptron(p=3)):
        assert DistributedLearner(other, rounds=2).fit(parts(*_make_small_data(), 2)).score(*_make_small_data()) > 0.5


def _make_small_data() -> tuple[Any, Any]:
    X, y = real(10, rows=60)
    return np.clip(X, -1, 1), y


# --- Messages to a scheduler ---


class Counting:
    """A client that counts how many tasks each message has."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def nthreads(self) -> dict[str, int]:
        return {"a": 1, "b": 1}

    def compute(self, handles: list[Any], **_: Any) -> list[Any]:
        self.sizes.append(len({key for one in handles for key in one.dask}))
        return [object() for _ in handles]


@pytest.mark.parametrize(("shards", "messages"), [(8, 1), (300, 13)])
def test_rounds_of_many_shards_are_scheduled_in_several_messages(shards: int, messages: int) -> None:
    """Dask walks unsubmitted tasks for each call that depends on them: rounds of few shards are one message, and
    messages do not grow with the number of shards."""
    pytest.importorskip("dask", reason="Dask, the extra novikoff[cluster], is not installed")
    engine = DaskExecutor.__new__(DaskExecutor)
    engine.client, engine._workers, engine._pending_calls, engine._data = Counting(), [], [], None
    named = [BatchShard(f"batch {k}") for k in range(shards)]
    now = start_round(engine, named, engine.share(b""), "uniform")
    later = start_round(engine, named, now.end, "uniform")
    engine._submit_pending()
    assert later.end.value is not None
    assert len(engine.client.sizes) <= messages
    assert max(engine.client.sizes) <= MAX_CALLS_PER_MESSAGE
    assert sum(engine.client.sizes) >= 2 * shards
