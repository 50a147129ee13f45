"""NamedTuple, and what is needed of dataclasses, for all that `novikoff learn FILE` imports.

Python's own have the same meaning, but `dataclasses` imports half of the compiler, makes the methods of each class from
text, and `typing.NamedTuple` compiles every annotation: together that took longer than learning a small file. Type
checkers see Python's own. A class that is based on one of these is made by the same function, and whatever is done with
its objects (`replace`, `asdict`) is done by those from here.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

__all__ = ["NamedTuple", "asdict", "dataclass", "field", "replace"]

# --- Tuples with names ---


class _Named(type):
    """Of the body of a class: its annotations are the fields."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        if not bases:
            return super().__new__(cls, name, bases, body)
        fields = tuple(body.get("__annotations__", ()))
        defaults = {field: body.pop(field) for field in fields if field in body}
        if tuple(defaults) != fields[len(fields) - len(defaults) :]:
            raise TypeError(f"{name} has a field without a default after one that has one.")
        made: Any = namedtuple(name, fields, defaults=defaults.values(), module=body["__module__"])  # type: ignore[misc]
        for key, value in body.items():
            setattr(made, key, value)
        return made


# --- Classes of data ---

REQUIRED = object()  # in place of a default


class _Made:
    """A default that is made anew for each object."""

    def __init__(self, default_factory: Callable[[], Any]) -> None:
        self.default_factory = default_factory


class _Record:
    """The methods that a class of data gets."""

    _record: dict[str, Any]
    """Its fields, and their defaults."""

    def __init__(self, *values: Any, **named: Any) -> None:
        given = dict(zip(self._record, values, strict=False))
        if len(given) < len(values) or given.keys() & named or named.keys() - self._record:
            raise TypeError(f"{type(self).__name__} takes each of {', '.join(self._record)} once, and nothing else.")
        given |= named
        for name, default in self._record.items():
            if name not in given:
                if default is REQUIRED:
                    raise TypeError(f"{type(self).__name__} needs {name}.")
                given[name] = default.default_factory() if type(default) is _Made else default
        self.__dict__.update(given)  # which is not refused where it is frozen
        if hasattr(self, "__post_init__"):
            self.__post_init__()

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in _asdict(self).items())})"

    def __eq__(self, other: object) -> bool:
        return _values(self) == _values(other) if type(other) is type(self) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


class _Frozen(_Record):
    """… whose objects stay as they are."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete field {name!r}")

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(_values(self))


def _dataclass(cls: Any = None, /, *, frozen: bool = False) -> Any:
    if cls is None:
        return lambda cls: _dataclass(cls, frozen=frozen)
    fields: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        fields |= base.__dict__.get("_record", {})
    for name, kind in cls.__dict__.get("__annotations__", {}).items():  # noqa: RUF063 - inspect is what is to be left out
        if not kind.startswith("ClassVar"):
            fields[name] = cls.__dict__.get(name, REQUIRED)
            if type(fields[name]) is _Made:
                delattr(cls, name)
    cls._record = fields
    methods = {**vars(_Record), **(vars(_Frozen) if frozen else {})}
    for name in ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__"):
        if name in methods and cls.__dict__.get(name) is None:
            setattr(cls, name, methods[name])
    return cls


def _values(record: Any) -> tuple[Any, ...]:
    return tuple(_asdict(record).values())


def _asdict(record: Any) -> dict[str, Any]:
    """The fields as they are: they are plain values."""
    return {name: getattr(record, name) for name in record._record}


def _replace(record: Any, /, **changes: Any) -> Any:
    return type(record)(**_asdict(record) | changes)


if TYPE_CHECKING:
    from dataclasses import asdict, dataclass, field, replace
    from typing import NamedTuple
else:
    NamedTuple = _Named("NamedTuple", (), {})
    asdict, dataclass, field, replace = _asdict, _dataclass, _Made, _replace
