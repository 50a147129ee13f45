"""Crafted model files: each is refused with a ModelFileError, or gives a model that can be used."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import novikoff
from novikoff import ModelFileError
from novikoff._compiled.jit import JIT_DISABLED
from novikoff.core.column_scaling import N_DENSE
from novikoff.core.updaters.stacked_learners import (
    BIAS_FEATURE,
    DRIFT_PRECISION,
    ERRORS,
    FORECAST_LOSS,
    FORECAST_WEIGHTS,
    LIKELIHOODS,
    MIXTURE,
    NEXT_INVERSE,
    SCORE_SQUARES,
)
from novikoff.ledger import N_LISTED, STRIDE
from novikoff.model_file import _build_content, from_bytes, to_bytes, to_header_and_tensors
from novikoff.schema import (
    FEATURES,
    ArraySpec,
    Constraint,
    DistinctWithin,
    Entries,
    FreeSize,
    Increasing,
    IndexInto,
    InRange,
    NamedSize,
    Offsets,
    OneOf,
    Schema,
    SchemaError,
    verify_arrays,
)
from novikoff.server.models.served_model import load_uploaded
from novikoff.server.models.validation import RequestError
from tests.helpers import model_file_mutations as mutations
from tests.helpers.learners import ALL_LEARNERS, clip_to_range, make_learner
from tests.helpers.paths import ROOT

MUTANTS = 2000
"""In everyday tests, of all families together."""
MUTANTS_OF_A_FAMILY = 100_000
"""In the slow set."""


def craft_file(model: Any, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> bytes:
    """Return the file of a model after a change of its header or its arrays, with a correct checksum."""
    header, tensors = to_header_and_tensors(model)
    header, tensors = json.loads(json.dumps(header)), {name: array.copy() for name, array in tensors.items()}
    change(header, tensors)
    return _build_content(header, tensors)


def entry(name: str, at: Any, value: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def change(_: dict[str, Any], tensors: dict[str, Any]) -> None:
        tensors[name][at] = value

    return change


def fit_model(name: str) -> Any:
    X = np.random.default_rng(0).standard_normal((30, 4))
    return make_learner(name).fit(clip_to_range(name, X), np.arange(30) % 2)


def check_refused(content: bytes, match: str) -> None:
    with pytest.raises(ModelFileError, match=match):
        from_bytes(content, "m")
    with pytest.raises(RequestError):
        load_uploaded(content)


# --- The defects that were found: each file ended the process ---


@pytest.mark.parametrize("value", [4096, 10**6, -7, 2**62])
def test_a_ledger_that_lists_more_mistakes_than_it_has_room_for_is_refused(value: int) -> None:
    check_refused(craft_file(fit_model("perceptron"), entry("ledger.counts", N_LISTED, value)), "listed_mistakes")


@pytest.mark.parametrize("value", [0, 3, -1, -(2**63), 2**62])
def test_a_ledger_whose_stride_is_not_a_power_of_two_is_refused(value: int) -> None:
    check_refused(craft_file(fit_model("perceptron"), entry("ledger.counts", STRIDE, value)), "stride")


@pytest.mark.parametrize(("at", "value"), [(1, 10**9), (1, -1), (1, 5), (0, 2), (slice(2), [0, 2])])
def test_a_conjunction_with_more_literals_than_features_is_refused(at: Any, value: Any) -> None:
    check_refused(craft_file(fit_model("elimination"), entry("updater.scalars", at, value)), "scalars|literal")


def test_a_conjunction_of_features_that_are_not_there_is_refused() -> None:
    check_refused(
        craft_file(fit_model("elimination"), entry("updater.members", 0, 2**32 - 1)), "members must be numbers from 0"
    )


@pytest.mark.parametrize("value", [-1, 10**9])
def test_more_clauses_left_than_there_are_is_refused(value: int) -> None:
    check_refused(craft_file(fit_model("elimination-2"), entry("updater.scalars", 0, value)), "left")


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [("sizes", 0, 10**9), ("sizes", 1, 10**9), ("ends", 1, 10**12), ("ends", 1, -(2**62)), ("indices", 0, 2**32 - 1)],
)
def test_a_voted_perceptron_whose_mistakes_lie_elsewhere_is_refused(name: str, at: int, value: int) -> None:
    check_refused(
        craft_file(fit_model("voted-perceptron"), entry(f"updater.{name}", at, value)), f"updater.(ends|born|{name})"
    )


@pytest.mark.parametrize(("name", "at", "value"), [("version", 0, 2**32 - 1), ("scalars", 0, 10**9), ("scalars", 0, 0)])
def test_a_version_space_of_other_hypotheses_is_refused(name: str, at: int, value: int) -> None:
    check_refused(craft_file(fit_model("halving-stumps"), entry(f"updater.{name}", at, value)), f"updater.{name}")


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("name", "at", "value", "match"),
    [
        ("dense_slots", 0, 10**9, "dense_slots begins"),
        ("dense_slots", 0, 5, "dense_slots begins"),
        ("dense_slots", 0, 0, "dense_slots begins"),
        ("dense_slots", slice(2), [2, 2], "dense_slots begins"),
        ("dense_slots", slice(2), [3, 2], "dense_slots begins"),
        ("totals", N_DENSE, 10**9, "dense_slots begins"),
        ("totals", N_DENSE, 5.0, "dense_slots begins"),
        ("totals", N_DENSE, 1.5, "dense_slots begins"),
        ("totals", N_DENSE, -1.0, "totals"),
        ("totals", N_DENSE, np.nan, "totals"),
        ("totals", 0, -1.0, "totals"),
        ("statistics", (1, 0), -1.0, "statistics"),
        ("statistics", (1, 1), np.nan, "statistics"),
        ("statistics", (1, 4), -1.0, "statistics"),
        ("weights", (0, 3), -1.0, "weights"),
        ("weights", (0, 0), np.nan, "weights"),
        ("sums", (0, 0), np.nan, "sums"),
        ("stack", MIXTURE, 0.0, "stack"),
        ("stack", MIXTURE, 2.0, "stack"),
        ("stack", slice(MIXTURE, MIXTURE + 2), [0.25, 0.25], "stack"),
        ("stack", FORECAST_LOSS, -1.0, "stack"),
        ("stack", FORECAST_LOSS + LIKELIHOODS, 0.0, "stack"),
        ("stack", BIAS_FEATURE, 0.75, "stack"),
        ("stack", ERRORS, -1.0, "stack"),
        ("stack", SCORE_SQUARES, -1.0, "stack"),
        ("stack", FORECAST_WEIGHTS, 1e200, "stack"),
        ("stack", DRIFT_PRECISION, np.inf, "stack"),
        ("stack", NEXT_INVERSE, -1.0, "stack"),
        ("stack", NEXT_INVERSE, np.nan, "stack"),
    ],
)
def test_a_state_of_auto_that_no_run_reaches_is_refused(
    classes: int, name: str, at: Any, value: Any, match: str
) -> None:
    X = np.random.default_rng(0).standard_normal((30, 4))
    model = novikoff.Auto().fit(X, np.arange(30) % classes)
    check_refused(craft_file(model, entry(f"updater.{name}", at, value)), match)


# --- Headers ---


def field_of(value: Any, *path: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def change(header: dict[str, Any], _: dict[str, Any]) -> None:
        holder: Any = header
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("path", "value", "match"),
    [
        (("features",), 10**9, "shape"),
        (("features",), -1, "features must be a whole number from 0"),
        (("features",), True, "features must be a whole number"),
        (("features",), 2**70, "features must be a whole number"),
        (("precision",), "float16", "precision must be float32 or float64"),
        (("labels",), [1, 1], "labels must be distinct"),
        (("labels",), [1, [2]], "each label must be"),
        (("labels",), [None, None], "labels must be those of a model that has learned something"),
        (("labels",), [0, 1, 2], "labels must be two"),
        (("rest",), "some", "rest must be one of"),
        (("shuffle",), {"random_state": 1}, "shuffle must be a record"),
        (("holdout",), {"by": "colour", "share": 0.2}, "holdout must be a record"),
        (("holdout",), {"by": ["time"], "share": 0.2}, "holdout must be a record"),
        (("holdout",), {"by": "time", "share": 2}, "the share of holdout must be a number between 0 and 1"),
        (("holdout",), {"by": "column", "share": 0.2, "column": 3}, "the column of holdout must be"),
        (("reading",), [1], "reading must be an object"),
        (("reading",), {"format": "../x"}, "format of reading must be one of"),
        (("learner",), "os.path", "learner must be one that this novikoff knows"),
        (("learner",), ["perceptron"], "learner must be a text"),
        (("settings",), {"learning_rate": "fast"}, "learning_rate must be a number"),
        (("settings",), {"colour": 1}, "settings must be those of perceptron"),
        (("settings",), [], "settings must be an object"),
        (("settings", "averaging_power"), [[[1]]], "averaging_power must be a number"),
    ],
)
def test_a_header_with_a_wrong_field_is_refused(path: Any, value: Any, match: str) -> None:
    check_refused(craft_file(fit_model("perceptron"), field_of(value, *path)), match)


def test_a_message_says_what_is_wrong_what_was_expected_and_what_to_do() -> None:
    with pytest.raises(ModelFileError) as problem:
        from_bytes(craft_file(fit_model("perceptron"), field_of("float16", "precision")), "it.model")
    assert str(problem.value) == (
        "it.model: is not a model that can be used: precision must be float32 or float64, but is 'float16'. Restore it"
        " from a backup, or save the model again."
    )


def test_a_deeply_nested_header_is_refused() -> None:
    check_refused(
        craft_file(fit_model("perceptron"), field_of(mutations._nest_lists(300), "reading")), "nested at most"
    )
    with pytest.raises(ModelFileError):
        from_bytes(craft_file(fit_model("perceptron"), field_of(mutations._nest_lists(900), "reading")), "m")


@pytest.mark.parametrize("name", ["lane", "..errors", "state", "cli.main", "this"])
def test_the_learner_inside_a_scheme_imports_no_other_module(name: str) -> None:
    model = novikoff.OneVsAll(novikoff.Perceptron()).fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    before = set(sys.modules)
    check_refused(craft_file(model, field_of(name, "settings", "estimator", "name")), "There is no learner")
    assert set(sys.modules) == before


def test_names_must_be_distinct_texts_for_all_features() -> None:
    model = make_learner("perceptron").learn_one({"a": 1.0, "b": 1.0}, "x").learn_one({"c": 1.0}, "y")
    for names in (["a", "b"], ["a", "b", "b"], ["a", "b", 3], {"a": 1}, "abc"):

        def change(_: Any, tensors: dict[str, Any], names: Any = names) -> None:
            tensors["names"] = np.frombuffer(json.dumps(names).encode(), np.uint8)

        check_refused(craft_file(model, change), "names must be")


def test_arrays_that_no_learner_asks_for_are_refused() -> None:
    def add(_: Any, tensors: dict[str, Any]) -> None:
        tensors["updater.more"] = np.zeros(3)

    check_refused(craft_file(fit_model("perceptron"), add), "more than that: 'updater.more'")


def test_a_small_file_that_claims_to_be_large_takes_no_memory() -> None:
    """Each file would need gigabytes if its header were trusted."""
    script = """
import resource, sys
from tests.test_mutated_model_files import LARGE_CLAIMS, from_bytes, ModelFileError
contents = [make() for make in LARGE_CLAIMS]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for k, content in enumerate(contents):
    try:
        from_bytes(content, "m")
        sys.exit(f"claim {k} was believed")
    except ModelFileError:
        pass
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
sys.exit(0 if grown < 50_000 else f"{grown} kB")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr


LARGE_CLAIMS: list[Callable[[], bytes]] = [
    *(
        lambda name=name: craft_file(fit_model(name), field_of(2**30, "features"))
        for name in ALL_LEARNERS
        if "kernel" not in name
    ),
    lambda: craft_file(fit_model("halving-stumps"), field_of(2**50, "settings", "steps")),
    lambda: craft_file(fit_model("halving-stumps"), field_of(500_000, "settings", "steps")),
    lambda: craft_file(fit_model("elimination-2"), field_of(4, "settings", "k")),
    lambda: craft_file(
        mutations.FAMILIES["network"]["plain"](), field_of([2**16, 2**16], "settings", "hidden_layer_sizes")
    ),
    lambda: craft_file(mutations.FAMILIES["schemes"]["code-dense"](), field_of(2**40, "settings", "code_length")),
    lambda: craft_file(
        mutations.FAMILIES["online-ensembles"]["boosting"](), field_of(2**40, "settings", "n_estimators")
    ),
]


# --- All of a model works after it was loaded ---


@pytest.mark.skipif(JIT_DISABLED, reason="guard pages are for compiled code")
def test_mutants_are_refused_or_work() -> None:
    share = -(-MUTANTS // len(mutations.FAMILIES))
    seen, failures = mutations.run(",".join(mutations.FAMILIES), 0, share)
    assert not failures, "\n".join(failures)
    assert seen["tried"] >= MUTANTS
    assert seen["refused"] > MUTANTS / 2
    assert seen["works"] > MUTANTS / 10


@pytest.mark.slow
@pytest.mark.parametrize("family", mutations.FAMILIES)
def test_many_mutants_of_each_family_are_refused_or_work(family: str) -> None:
    seen, failures = mutations.run(family, 10**6, MUTANTS_OF_A_FAMILY)
    assert not failures, "\n".join(failures)
    assert seen["tried"] == MUTANTS_OF_A_FAMILY


@pytest.mark.parametrize("family", mutations.FAMILIES)
def test_the_files_before_mutation_are_valid(family: str) -> None:
    for sample in mutations.samples(family):
        content = _build_content(sample.header, sample.tensors)
        assert to_bytes(from_bytes(content, "m")) == content, sample.name


# --- The schema vocabulary ---


def problem_of(array: Any, wanted: ArraySpec, **sizes: int) -> str | None:
    try:
        verify_arrays(Schema({"a": wanted}), {"a": np.asarray(array)}, dict(sizes), "float64")
    except SchemaError as problem:
        return str(problem)
    return None


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (InRange(0, 5), [0, 5, 3], [0, 6]),
        (IndexInto(FEATURES), [0, 3], [4]),
        (IndexInto(FEATURES), [2], [-1]),
        (Increasing(), [1, 2, 5], [1, 1]),
        (Increasing(strictly=False), [1, 1, 5], [2, 1]),
        (Offsets(FEATURES), [0, 2, 2, 4], [0, 3, 2, 4]),
        (Offsets(FEATURES), [0, 4], [0, 3]),
        (Offsets(FEATURES), [0, 4], [1, 4]),
        (OneOf((-1, 1)), [1, -1], [0]),
        (Entries(x=(0, FEATURES)), [4, 99], [5]),
        (Entries(x=(0, 9), y=(0, NamedSize("x"))), [4, 3], [4, 5]),
        (Entries(x=(0, 9), y=(0, 9)), [4, 3], [4]),
    ],
)
def test_checks_of_numbers(check: Any, good: list[int], bad: list[int]) -> None:
    wanted = ArraySpec("int64", FreeSize("n"), checks=[check])
    assert problem_of(good, wanted, features=4) is None
    assert "the array a must be" in str(problem_of(bad, wanted, features=4))


def test_nan_is_in_no_range() -> None:
    assert problem_of([0.0, np.nan], ArraySpec("float64", 2, checks=[InRange(-np.inf, np.inf)])) is not None


def test_duplicate_values_within_a_part_are_detected() -> None:
    schema = Schema(
        {
            "ends": ArraySpec("int64", 3, checks=[Offsets(4)]),
            "of": ArraySpec("uint32", 4, checks=[DistinctWithin("ends")]),
        },
        [Constraint("the first is 1", lambda arrays, _: arrays["of"][0] == 1)],
    )
    ends = np.array([0, 2, 4])
    verify_arrays(schema, {"ends": ends, "of": np.array([1, 2, 2, 1], np.uint32)}, {}, "float64")
    with pytest.raises(SchemaError, match="distinct within each part of ends"):
        verify_arrays(schema, {"ends": ends, "of": np.array([1, 2, 1, 1], np.uint32)}, {}, "float64")
    with pytest.raises(SchemaError, match="such that the first is 1"):
        verify_arrays(schema, {"ends": ends, "of": np.array([2, 1, 2, 1], np.uint32)}, {}, "float64")
    with pytest.raises(SchemaError, match="the array of must be there"):
        verify_arrays(schema, {"ends": ends}, {}, "float64")
