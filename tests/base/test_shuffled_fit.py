"""fit learns in random order: the permutation depends on the seed, the pass and the number of rows only."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from novikoff import (
    AROW,
    SGD,
    Auto,
    Bagging,
    FeatureRangeError,
    InputError,
    KernelPerceptron,
    Kesler,
    LabelRanking,
    MultiLabel,
    OnlineToBatch,
    Perceptron,
    QueryRanking,
    WeightOverflowError,
    Winnow,
    certify,
    load,
    save,
    verify,
)
from novikoff.base.internals import require_state
from novikoff.data.rows import Dense, Sparse
from novikoff.data.shuffle.gather import BLOCK_TERMS, gather_blocks, gather_rows
from novikoff.data.shuffle.permutation import ALGORITHM, permutation, sort_keys
from novikoff.model_file import to_header_and_tensors
from tests.helpers.learners import ALL_LEARNERS, VARIANTS, clip_to_range, make_learner
from tests.helpers.model_bytes import without_calibration
from tests.helpers.multiclass_schemes import slow_unless
from tests.helpers.streams import csr, real

# --- The permutation ---


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 4, 7, 8, 9, 1000, 4097])
def test_an_order_has_every_row_once_and_is_that_of_the_keys(rows: int) -> None:
    order = permutation(5, 2, rows)
    assert sorted(order.tolist()) == list(range(rows))
    assert order.tolist() == np.argsort(sort_keys(5, 2, 0, rows), kind="stable").tolist()


def test_the_key_of_a_row_does_not_depend_on_which_rows_are_asked_for() -> None:
    whole = sort_keys(9, 1, 0, 1000)
    assert len(np.unique(whole)) == 1000
    for start, stop in ((0, 1), (17, 400), (999, 1000)):
        np.testing.assert_array_equal(sort_keys(9, 1, start, stop), whole[start:stop])


def test_every_seed_and_pass_gives_another_order() -> None:
    orders = {(seed, number): permutation(seed, number, 50).tolist() for seed in range(5) for number in range(5)}
    assert len({tuple(order) for order in orders.values()}) == 25


def test_every_place_is_as_likely_for_every_row() -> None:
    """χ² of the table of rows and places over 4,000 seeds; 225 degrees of freedom: 350 is 6 standard deviations off."""
    counts = np.zeros((16, 16))
    for seed in range(4000):
        counts[np.arange(16), permutation(seed, 0, 16)] += 1
    assert ((counts - 250.0) ** 2 / 250.0).sum() < 350.0


def test_neighbours_in_the_data_are_not_neighbours_in_the_order() -> None:
    order = permutation(0, 0, 100_000)
    assert abs(np.corrcoef(order[:-1], order[1:])[0, 1]) < 0.02
    assert abs(np.corrcoef(order, np.arange(100_000))[0, 1]) < 0.02


# --- Copies of rows ---


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gathered_rows_are_those_that_were_chosen(dtype: Any) -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 40)).astype(dtype) * (rng.random((300, 40)) < 0.3)
    table = sp.csr_matrix(X)
    rows = Sparse(table.indptr.astype(np.int64), table.indices.astype(np.uint32), table.data)
    chosen = rng.integers(0, 300, 500)
    found: Any = gather_rows(rows, chosen)
    again = sp.csr_matrix((found.values, found.indices.astype(np.int32), found.starts), (500, 40)).toarray()
    np.testing.assert_array_equal(again, X[chosen])
    dense: Any = gather_rows(Dense(X.reshape(-1), 40), chosen)
    np.testing.assert_array_equal(dense.values.reshape(-1, 40), X[chosen])


def test_blocks_cover_the_order_and_fit_into_the_cache() -> None:
    count, width = 5000, 60
    rows = Sparse(
        np.arange(0, count * width + 1, width),
        np.tile(np.arange(width, dtype=np.uint32), count),
        np.repeat(np.arange(count, dtype=np.float32), width),
    )
    order, seen = permutation(1, 0, count), []
    for part, block in gather_blocks(rows, order):
        assert part.start == len(seen)
        assert len(order[part]) * width <= BLOCK_TERMS
        seen += np.asarray(block.values[::width])[: part.stop - part.start].tolist()
    assert seen == order.tolist()


# --- fit ---


def learn_in_order(model: Any) -> tuple[Any, Any]:
    """All that a model file holds but the settings, the record of the order and the calibration, which later passes
    leave unchanged."""
    header, tensors = to_header_and_tensors(without_calibration(model))
    return {k: v for k, v in header.items() if k not in ("settings", "shuffle")}, {
        k: v.tobytes() for k, v in tensors.items()
    }


@pytest.mark.parametrize("form", [np.asarray, pytest.param(csr, marks=slow_unless(False))])
@pytest.mark.parametrize("name", [name for name in ALL_LEARNERS if name not in VARIANTS])
def test_fit_equals_learning_the_rows_in_that_order(name: str, form: Any) -> None:
    X, y = real(3, 90, 6)
    X = clip_to_range(name, X)
    model = make_learner(name, shuffle=True, random_state=7, passes=3).fit(form(X), y)
    other = make_learner(name, passes=3)
    for number in range(3):
        order = permutation(7, number, len(y))
        known = {"classes": np.unique(y)} if number == 0 else {}
        if number:  # fit learns probabilities in the first pass only, and those of Auto are a part of its model
            require_state(other).pause_probabilities()
        other.partial_fit(form(X[order]), y[order], **known)
    assert learn_in_order(model) == learn_in_order(other)
    assert to_header_and_tensors(model)[0]["shuffle"] == {"algorithm": ALGORITHM, "random_state": 7, "rows": 90}
    assert "shuffle" not in to_header_and_tensors(other)[0]


def test_sample_weights_stay_with_their_rows() -> None:
    X, y = real(5, 80, 4)
    weights = np.random.default_rng(1).random(80) * (np.arange(80) % 5 > 0)
    order = permutation(0, 0, 80)
    for learner in (Perceptron, SGD, AROW, Auto, lambda **s: Kesler(AROW(**s))):
        model = learner().fit(X, y, sample_weight=weights)
        other = learner(shuffle=False).fit(X[order], y[order], sample_weight=weights[order])
        assert learn_in_order(model) == learn_in_order(other)


def test_labels_of_every_kind_stay_with_their_rows() -> None:
    X, y = real(6, 60, 5)
    order = permutation(0, 0, 60)
    sets = [["a"] if label > 0 else ["b", "c"] for label in y]
    ranks = [["a", "b", "c"] if label > 0 else [("c", "a")] for label in y]
    for scheme, labels in ((MultiLabel, sets), (LabelRanking, ranks)):
        model = scheme(Perceptron()).fit(X, labels)
        other = scheme(Perceptron(shuffle=False)).fit(X[order], [labels[i] for i in order])
        assert learn_in_order(model) == learn_in_order(other)


def test_queries_stay_whole() -> None:
    X, _ = real(8, 60, 5)
    grades, qid = np.random.default_rng(2).integers(0, 3, 60), np.repeat(np.arange(15), 4)
    order = permutation(4, 0, 15)
    rows = (4 * order[:, None] + np.arange(4)).reshape(-1)
    model = QueryRanking(Perceptron(random_state=4)).fit(X, grades, qid)
    other = QueryRanking(Perceptron(shuffle=False)).fit(X[rows], grades[rows], qid[rows])
    assert learn_in_order(model) == learn_in_order(other)
    assert to_header_and_tensors(model)[0]["shuffle"]["rows"] == 15


def test_a_gram_matrix_keeps_its_columns() -> None:
    X, y = real(9, 40, 4)
    by_matrix = KernelPerceptron(kernel="precomputed", passes=3).fit(X @ X.T, y)
    by_kernel = KernelPerceptron(kernel="linear", passes=3).fit(X, y)
    assert by_matrix.ledger_.mistakes == by_kernel.ledger_.mistakes
    np.testing.assert_allclose(by_matrix.decision_function(X @ X.T), by_kernel.decision_function(X), atol=1e-9)


def test_members_of_an_ensemble_learn_sorted_data() -> None:
    X, y = load_iris(return_X_y=True)
    assert Bagging(Kesler(AROW(passes=3)), n_estimators=5).fit(X, y).score(X, y) > 0.9
    unshuffled = Bagging(Kesler(AROW(passes=3, shuffle=False)), n_estimators=5).fit(X, y)
    assert unshuffled._require_fitted() is not None


def test_an_online_to_batch_run_is_shuffled_as_its_learner_says() -> None:
    X, y = real(4, 200, 3)
    order = permutation(3, 0, 200)
    model = OnlineToBatch(Perceptron(random_state=3)).fit(X, y)
    other = OnlineToBatch(Perceptron(shuffle=False)).fit(X[order], y[order])
    assert learn_in_order(model) == learn_in_order(other)


# --- What users see ---


def test_errors_name_the_rows_of_the_user() -> None:
    X, y = real(2, 50, 3)
    low = np.abs(X) / np.abs(X).max()
    low[37, 1] = 3.0
    with pytest.raises(FeatureRangeError, match=r"row 37, column 1 has 3\.0"):
        Winnow().fit(low, y)
    bad = X.copy()
    bad[23, 2] = np.nan
    with pytest.raises(InputError, match="NaN"):
        Perceptron().fit(bad, y)
    wild = np.where(np.arange(50)[:, None] == 41, 1e30, X)
    with pytest.raises(WeightOverflowError, match=r"before row \d+"):
        SGD(loss="squared", schedule="constant", passes=50).fit(wild * 1e8, y)


def test_mistake_rows_are_those_of_the_data() -> None:
    X, y = real(3, 70, 5)
    model = Perceptron(passes=3, random_state=2).fit(X, y)
    replay, expected = Perceptron(shuffle=False), []
    for number in range(3):
        for i in permutation(2, number, 70):
            before = replay._state.ledger.mistakes if replay._state is not None else 0
            replay.partial_fit(X[i : i + 1], y[i : i + 1], classes=np.unique(y))
            expected += [int(i)] * (replay.ledger_.mistakes - before)
    assert model.mistake_rows_.tolist() == expected
    plain = Perceptron(shuffle=False).fit(X, y)
    assert plain.mistake_rows_.tolist() == (plain.ledger_.mistake_times - 1).tolist()
    several = Perceptron(shuffle=False, passes=3).fit(X, y)
    assert several.mistake_rows_.tolist() == ((several.ledger_.mistake_times - 1) % 70).tolist()
    half = np.arange(70) % 2.0
    unknown = [
        model.partial_fit(X[:5], y[:5]),
        Perceptron().fit(X, y).partial_fit(X, y),
        Perceptron(passes=2).fit(X, y, half),
        Perceptron(shuffle=False).fit(X, y, half),
        Perceptron().partial_fit(X, y),
        QueryRanking(Perceptron()).fit(X, np.arange(70) % 3, np.arange(70) // 7),
    ]
    for other in unknown:
        with pytest.raises(AttributeError, match="mistake_rows_"):
            _ = other.mistake_rows_


def test_certificates_use_the_settings_of_the_run_not_the_current_ones() -> None:
    X, y = real(4, 60, 4)
    streamed = Perceptron()
    for x, label in zip(X, y.tolist(), strict=True):
        streamed.learn_one(x, label)
    changed = Perceptron(passes=2, random_state=4).fit(X, y).set_params(random_state=8)
    for model in (Perceptron().partial_fit(X, y, classes=np.unique(y)), streamed, changed):
        certificate = certify(model, X, y)
        assert certificate.document["observed"]["mistakes"] == model.ledger_.mistakes
        assert verify(certificate, X, y) == []
    assert changed.random_state == 8
    with pytest.raises(InputError, match="one call of partial_fit"):
        certify(Perceptron().partial_fit(X[::-1], y[::-1], classes=np.unique(y)), X, y)


def test_permutations_of_passes_are_not_stored() -> None:
    X, y = np.ones((100_000, 1)), np.arange(100_000) % 2
    peaks = []
    for passes in (2, 12):
        Perceptron(passes=passes).fit(X, y)
        tracemalloc.start()
        Perceptron(passes=passes).fit(X, y)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 1_000_000  # one order takes 800,000 bytes


def test_settings_of_fit_are_checked_and_do_not_restrict_partial_fit() -> None:
    X, y = real(3, 30, 3)
    for settings in ({"shuffle": "yes"}, {"random_state": -1}, {"random_state": 1.5}, {"random_state": None}):
        with pytest.raises(InputError, match=next(iter(settings))):
            Perceptron(**settings).fit(X, y)
    model = Perceptron().fit(X, y)
    model.set_params(shuffle=False, random_state=9).partial_fit(X, y)
    assert model.ledger_.examples == 60


def test_the_model_file_records_the_order(tmp_path: Any) -> None:
    X, y = real(3, 30, 3)
    path = tmp_path / "a.model"
    save(Perceptron(random_state=11).fit(X, y), path)
    loaded = load(path)
    assert loaded._state.shuffle == {"algorithm": ALGORITHM, "random_state": 11, "rows": 30}
    save(loaded, tmp_path / "b.model")
    assert path.read_bytes() == (tmp_path / "b.model").read_bytes()


# --- Certificates ---


@pytest.mark.parametrize(
    "model", [Perceptron(passes=2, random_state=5), Kesler(Perceptron(passes=2)), Auto(random_state=3)], ids=repr
)
def test_certificates_of_shuffled_runs_are_verified(model: Any) -> None:
    X, y = real(3, 60, 4)
    certificate = certify(model.fit(X, y), X, y)
    document = certificate.document
    assert document["shuffle"]["rows"] == 60
    assert verify(certificate, X, y) == []
    order = np.random.default_rng(0).permutation(60)
    assert verify(certificate, X[order], y[order])  # other data


def test_a_certificate_with_another_seed_or_number_of_passes_is_refused() -> None:
    X, y = real(3, 60, 4)
    document = certify(Perceptron(passes=3, random_state=5).fit(X, y), X, y).document
    for changes in (
        {"shuffle": {**document["shuffle"], "random_state": 6}},
        {"settings": {**document["settings"], "random_state": 6}},
        {"settings": {**document["settings"], "shuffle": False}},
        {"passes": 1},
        {"passes": 2, "settings": {**document["settings"], "passes": 2}},
    ):
        assert verify({**document, **changes}, X, y)


# --- Sorted data ---

SORTED = {"iris": load_iris, "wine": load_wine, "breast-cancer": load_breast_cancer, "digits": load_digits}


@pytest.mark.parametrize("name", SORTED)
def test_data_that_is_sorted_by_class_is_learned_as_well_as_in_random_order(name: str) -> None:
    """The mean over 20 seeds of fit on sorted rows, and over 20 orders that NumPy draws: within a point of each other,
    but for what chance does to the difference of two such means. No seed falls far below."""
    X, y = SORTED[name](return_X_y=True)
    by_class = np.argsort(y, kind="stable")
    X, y = X[by_class], y[by_class]
    ours = np.array([Auto(random_state=seed).fit(X, y).score(X, y) for seed in range(20)])
    theirs = []
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(y))
        theirs.append(Auto(shuffle=False).fit(X[order], y[order]).score(X, y))
    chance = np.sqrt((np.var(ours) + np.var(theirs)) / 20.0)
    assert abs(ours.mean() - np.mean(theirs)) < 0.01 + 2.0 * chance
    assert ours[0] > np.mean(theirs) - 0.01  # the default seed
    assert ours.min() > min(theirs) - 0.05
