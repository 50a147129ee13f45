"""The setting `class_weight`: weights of examples by their class, given or balanced (core/class_weights.py)."""

from __future__ import annotations

from typing import Any

from novikoff._compiled import buffers
from novikoff.core.class_weights import FIRST_CLASS, GIVEN, N_EXAMPLES
from novikoff.data.labels.binary_labels import to_plain_label
from novikoff.errors import InputError, LabelError
from novikoff.ledger import Ledger

BALANCED = "balanced"
MAX_CLASS_WEIGHT = 1e100


def class_weight_of(model: Any) -> Any:
    """Return the setting of the model, or of its inner learner; None where classes have no weights."""
    return getattr(model._inner_learner, "class_weight", None)


def check_class_weight(value: Any) -> None:
    """Raise InputError unless the setting is None, "balanced", or positive weights of labels."""
    if value is None or (isinstance(value, str) and value == BALANCED):
        return
    if not isinstance(value, dict):
        raise InputError(f'class_weight must be "balanced", a dict of label → weight, or None, but is {value!r}.')
    if not value:
        raise InputError("class_weight names no label: give a dict of label → weight, or None.")
    for label, weight in value.items():
        name_label(label)
        if isinstance(weight, (bool, str)) or not 0.0 < weight <= MAX_CLASS_WEIGHT:
            raise InputError(
                f"class_weight must be a number above 0 and at most 1e100 for each label, but is {weight!r} for"
                f" {label!r}. Leave out examples of a class, or give them the sample weight 0."
            )


def refuse_class_weight(model: Any, reason: str) -> None:
    """Raise InputError if the model, or its inner learner, weighs classes."""
    if class_weight_of(model) is not None:
        raise InputError(f"{type(model).__name__} does not take class_weight: {reason}. Leave it out.")


def name_label(label: Any) -> str:
    """Return the text by which a label is found among the weights: it is the same in files and in Python."""
    try:
        return str(to_plain_label(label))
    except LabelError as problem:
        raise InputError(f"class_weight has the label {label!r}. {problem}") from None


def to_weights_by_name(value: Any) -> Any:
    """Return the setting as a model file has it: the labels are texts."""
    return {name_label(label): float(weight) for label, weight in value.items()} if isinstance(value, dict) else value


def prepare_class_weights(model: Any, ledger: Ledger, labels: Any) -> None:
    """Set the weights of all known classes before their examples are learned."""
    setting = class_weight_of(model)
    if setting is None:
        return
    listed = labels.listed()
    state, needed = ledger.book.class_weights, FIRST_CLASS + len(listed)
    if len(state) < needed:
        grown = buffers.zeros(FIRST_CLASS + 2 * len(listed))
        grown[: len(state)] = state
        ledger.book = ledger.book._replace(class_weights=grown)
        state = grown
    if setting != BALANCED:
        weights = to_weights_by_name(setting)
        state[N_EXAMPLES] = GIVEN
        for c, label in enumerate(listed):
            state[FIRST_CLASS + c] = 1.0 if label is None else weights.get(str(label), 1.0)


def check_weighted_labels(model: Any, labels: Any) -> None:
    """Raise InputError if a label has a weight, but no example."""
    setting = class_weight_of(model)
    if not isinstance(setting, dict):
        return
    known = [str(label) for label in labels.known()]
    missing = [name for name in to_weights_by_name(setting) if name not in known]
    if missing:
        raise InputError(
            f"class_weight names {', '.join(map(repr, missing))}, but no example has that label: the labels are"
            f" {', '.join(map(repr, known[:20]))}{', …' if len(known) > 20 else ''}."
        )


def counts_of_classes(ledger: Ledger, labels: Any) -> Any:
    """Return the counts of balanced weights for a model file; None where there are none."""
    state = ledger.book.class_weights
    if len(state) == 0 or state[N_EXAMPLES] < 0.0:
        return None
    return state[: FIRST_CLASS + len(labels.listed())]
