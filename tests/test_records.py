"""Classes made without `dataclasses` and `typing` are what Python's own would have been."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import typing
from types import ModuleType
from typing import Any, ClassVar

import pytest

from novikoff import _records
from novikoff.stream.formats.vw import VowpalWabbit
from novikoff.stream.rows import Sparse


def point(base: Any, name: str) -> Any:
    """The same class, by Python's NamedTuple or by ours."""

    class Point(base):  # type: ignore[misc]
        """A point."""

        x: float
        y: float = 2.0
        name: str = "here"

        @property
        def sum(self) -> float:
            return float(self.x + self.y)

        def moved(self, by: float) -> Any:
            return self._replace(x=self.x + by)

    Point.__name__ = Point.__qualname__ = name
    return Point


OwnTuple = point(_records.NamedTuple, "OwnTuple")
PythonsTuple = point(typing.NamedTuple, "PythonsTuple")
PAIR = (OwnTuple, PythonsTuple)


class Nothing(_records.NamedTuple):
    """No fields."""


@pytest.mark.parametrize("kind", PAIR)
def test_a_tuple_with_names(kind: Any) -> None:
    point = kind(1.0, name="there")
    assert (point.x, point.y, point.name, point.sum) == (1.0, 2.0, "there", 3.0)
    assert point == (1.0, 2.0, "there")
    assert tuple(point) == point
    assert hash(point) == hash((1.0, 2.0, "there"))
    assert repr(point) == f"{kind.__name__}(x=1.0, y=2.0, name='there')"
    assert point._fields == kind.__match_args__ == ("x", "y", "name")
    assert kind._field_defaults == {"y": 2.0, "name": "here"}
    assert point._asdict() == {"x": 1.0, "y": 2.0, "name": "there"}
    assert type(point.moved(1.0)) is kind
    assert point.moved(1.0) == (2.0, 2.0, "there")
    assert kind._make([1, 2, 3]) == (1, 2, 3)
    for again in (pickle.loads(pickle.dumps(point)), copy.copy(point), copy.deepcopy(point)):  # noqa: S301 - our own
        assert again == point
        assert type(again) is kind
    assert kind.__doc__ == "A point."
    assert list(inspect.signature(kind).parameters) == ["x", "y", "name"]
    assert [p.default for p in inspect.signature(kind).parameters.values()] == [inspect.Parameter.empty, 2.0, "here"]
    assert kind.__mro__[-2:] == (tuple, object)
    assert type(kind) is type


@pytest.mark.parametrize("kind", PAIR)
def test_a_tuple_with_names_refuses_what_python_refuses(kind: Any) -> None:
    point = kind(1.0)
    for wrong in (kind, lambda: kind(1, 2, 3, 4), lambda: kind(1, z=3), lambda: kind._make([1])):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(ValueError, match=r"Got unexpected field names: \['z'\]"):
        point._replace(z=1)
    for name in ("x", "another"):
        with pytest.raises(AttributeError):
            setattr(point, name, 3.0)


def test_a_tuple_may_be_empty_but_fields_without_a_default_come_first() -> None:
    assert Nothing() == ()
    assert repr(Nothing()) == "Nothing()"
    with pytest.raises(TypeError, match="without a default"):

        class Wrong(_records.NamedTuple):
            x: float = 1.0
            y: float  # type: ignore[misc]


def test_numba_takes_it_for_what_it_is() -> None:
    assert Sparse.__mro__[1] is OwnTuple.__mro__[1]  # made here, and compiled everywhere
    assert issubclass(Sparse, tuple)


def classes(by: ModuleType | Any) -> tuple[Any, Any, Any]:
    """The same three, made by Python's module or by ours."""

    @by.dataclass
    class Base:
        first: int
        more: dict[str, int] = by.field(default_factory=dict)
        shared: ClassVar[int] = 5

        def __post_init__(self) -> None:
            self.seen = self.first

    @by.dataclass
    class Larger(Base):
        last: str = "z"

    @by.dataclass(frozen=True)
    class Fixed:
        bits: int = 18
        names: tuple[str, ...] = ()

    return Base, Larger, Fixed


@pytest.mark.parametrize("by", [dataclasses, _records], ids=["dataclasses", "_records"])
def test_a_class_of_data(by: Any) -> None:
    Base, Larger, Fixed = classes(by)
    one, other = Larger(1), Larger(1)
    assert (one.first, one.more, one.last, one.seen, one.shared) == (1, {}, "z", 1, 5)
    assert one.more is not other.more
    assert one == other != Larger(1, {"a": 1})
    assert one != Base(1)
    assert repr(one).endswith("Larger(first=1, more={}, last='z')")
    assert by.asdict(Larger(1, {"a": 2}, last="y")) == {"first": 1, "more": {"a": 2}, "last": "y"}
    assert by.replace(one, first=7) == Larger(7)
    assert by.replace(one, first=7).seen == 7
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    one.first = 3
    assert one == Larger(3)
    fixed = Fixed(names=("a",))
    assert hash(fixed) == hash(Fixed(18, ("a",)))
    assert copy.deepcopy(fixed) == fixed == by.replace(Fixed(), names=("a",))
    with pytest.raises(AttributeError, match="cannot assign to field 'bits'"):
        fixed.bits = 3
    with pytest.raises(AttributeError, match="cannot delete field 'bits'"):
        del fixed.bits
    for wrong in (Base, lambda: Base(1, {}, 3), lambda: Base(1, first=1), lambda: Base(1, another=1)):
        with pytest.raises(TypeError):
            wrong()
    assert not hasattr(Base, "more")


def test_a_format_can_be_sent_elsewhere() -> None:
    kept = VowpalWabbit(bits=20)
    assert pickle.loads(pickle.dumps(kept)) == kept  # noqa: S301 - our own
    assert kept.settings() == {"format": "vw", "bits": 20, "signed": False, "interactions": (), "largest": False}
