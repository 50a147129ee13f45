"""The compiled reader of dicts equals the Python one, and leaves other input untouched."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from novikoff import Perceptron
from novikoff._compiled import dict_reader
from novikoff._compiled.jit import Like
from novikoff._compiled.simd.dot import pack_block
from novikoff.model_file import to_bytes

COLUMNS = {"a": 0, "b": 7, "é": 2**31, "": 3}


class Text(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise AssertionError("code of the user's was run")

    __hash__ = str.__hash__


class Number(float):
    def __float__(self) -> float:
        raise AssertionError("code of the user's was run")


class Whole(int):
    def __float__(self) -> float:
        raise AssertionError("code of the user's was run")


def terms(room: int, kind: Any) -> dict_reader.DictTerms:
    return dict_reader.DictTerms(
        dict_reader.allocate_workspace(guarded=False), np.zeros(room, np.uint32), np.zeros(room, kind)
    )


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_dicts_are_read_as_in_python(kind: Any) -> None:
    got, meant = terms(3, kind), terms(3, kind)
    block = pack_block(got)
    read = dict_reader.read_dict.bound(block, Like(got), 0, 0)
    numbered: list[dict[Any, Any]] = [{}, {5: 1.5, 0: -2.0}, {2**32 - 1: 1e308}, {2**32: 1.0}, {-1: 1.0}, {2**70: 1.0}]
    numbered += [
        {1: v} for v in (3, True, 2**53 + 1, -(10**30), 10**400, np.float64(0.1), Number(2.5), Whole(4), -1, -1.0)
    ]
    numbered += [{1: v} for v in (np.float32(0.1), np.int64(3), "1", None, 1j, [], float("nan"), float("inf"), 5e-324)]
    numbered += [{True: 1.0}, {1.0: 1.0}, {"a": 1.0}, {np.int64(1): 1.0}, {None: 1.0}, {2**70: None}, {(1,): 1.0}]
    numbered += [{1: 1.0, 2: 1.0, 3: 1.0}, {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0}]
    named: list[dict[Any, Any]] = [{"a": 1.0, "b": 2}, {"é": 1.0}, {"": 1.0}, {"c": 1.0}, {0: 1.0}, {Text("a"): 1.0}]
    for columns, examples in ((None, numbered), (COLUMNS, named)):
        at = 0 if columns is None else id(columns)
        for x in examples:
            found = read(block, None, id(x), at)
            assert found == dict_reader._read_terms(id(x), at, *meant), x
            assert found == dict_reader.NOT_PLAIN or found == len(x)
            assert np.array_equal(got.indices[:found], meant.indices[:found])
            assert np.array_equal(got.values[:found], meant.values[:found], equal_nan=True)


def test_reading_leaks_no_references() -> None:
    """The reference counts of the interpreter are the same before and after."""
    import sys

    got = terms(4, np.float64)
    block = pack_block(got)
    read = dict_reader.read_dict.bound(block, Like(got), 0, 0)
    key, value = "a" * 50, 123456.5
    x, columns = {key: value}, {key: 77777}
    before = [sys.getrefcount(each) for each in (key, value, x, columns, columns[key])]
    for _ in range(1000):
        assert read(block, None, id(x), id(columns)) == 1
    assert [sys.getrefcount(each) for each in (key, value, x, columns, columns[key])] == before


@pytest.mark.parametrize("named", [False, True])
def test_models_are_the_same_without_the_dict_reader(named: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(4)

    def example() -> dict[Any, Any]:
        columns = rng.sample(range(30), rng.randint(1, 20))
        kinds = (float, np.float32, lambda v: round(10 * v), lambda v: v > 0)
        return {f"f{j}" if named else j: rng.choice(kinds)(rng.gauss(0, 1)) for j in columns}

    events = [(example(), rng.choice("xy")) for _ in range(300)]
    rng.seed(5)
    files, scores = [], []
    for there in (True, False):
        monkeypatch.setattr(dict_reader, "can_read_dicts", lambda there=there: there)
        model = Perceptron(average=True)
        for x, y in events:
            model.learn_one(x, y)
        files.append(to_bytes(model))
        scores.append(
            [model.score_one(x | {"new" if named else 99: 1.0} if rng.random() < 0.1 else x) for x, _ in events]
        )
        rng.seed(5)
    assert files[0] == files[1]
    assert scores[0] == scores[1]
