"""From features as requests name them to what a model takes, and from a model to one answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from novikoff.errors import InputError
from novikoff.learners.events import OneByOne
from novikoff.stream.hashing import hashed

HASHED_BY_NAME = ("jsonl", "csv")  # formats whose numeric fields have the hash of their name, and no other


def as_named(x: Any) -> Any:
    return x


def encoder(model: Any) -> Callable[[Any], Any]:
    """What makes, of a dict of name → number or a list of names, what `learn_one` and `predict_one` of this model take.

    A model that was learned by names, or that has learned nothing yet, takes them as they are. The names of columns
    with numbers are these numbers. Where features were hashed, names are hashed as they were in the files.
    """
    state = getattr(model, "_state", None)
    if state is None:
        return as_named
    reading = getattr(state, "reading", None) or {}
    if reading.get("map") is not None:
        raise InputError(
            "This model was learned from products of features (--map), which single examples don't have: it can be"
            " asked by novikoff predict only."
        )
    if state.names is not None or state.features == 0:
        return as_named
    bits = reading.get("bits")
    if bits:
        if reading.get("format") not in HASHED_BY_NAME or reading.get("largest"):
            raise InputError(
                f"This model was learned from hashed features of the format {reading.get('format')}, whose hashes are"
                " made of more than names: it can be asked by novikoff predict only."
            )
        return lambda x: _hashed(x, bits, bool(reading.get("signed")))
    return _numbered


def is_plain(model: Any) -> bool:
    """Whether the model takes names as they are."""
    return encoder(model) is as_named


def _items(x: Any) -> Iterable[tuple[Any, Any]]:
    return x.items() if isinstance(x, dict) else ((name, 1.0) for name in x)


def _numbered(x: Any) -> dict[int, float]:
    out: dict[int, float] = {}
    for name, value in _items(x):
        digits = str(name)
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 10):
            raise InputError(f"The features of this model are columns with numbers, but {name!r} is not a number.")
        out[int(digits)] = out.get(int(digits), 0.0) + value if int(digits) in out else value
    return out


def _hashed(x: Any, bits: int, signed: bool) -> dict[int, float]:
    out: dict[int, float] = {}
    for name, value in _items(x):
        h = hashed(str(name).encode("utf-8", "surrogatepass"))
        slot, sign = h & ((1 << bits) - 1), -1.0 if signed and h >> 63 else 1.0
        out[slot] = out.get(slot, 0.0) + sign * value
    return out


def answer(model: Any, x: Any) -> tuple[Any, float]:
    """The label that is predicted for one example that is encoded, and its score; of several labels that of the first,
    or the highest where none is predicted. None and 0 before anything was learned."""
    if model._state is None:
        return None, 0.0
    score = model.score_one(x)
    if type(model).predict_one is OneByOne.predict_one:  # the label is the score's sign: no need to ask twice
        return model.label_of(score), score
    label = model.predict_one(x)
    if not isinstance(score, dict):
        return label, float(score)
    if isinstance(label, list):
        return label, float(score[label[0]] if label else max(score.values(), default=0.0))
    return label, float(score[label])
