"""Experiments in which the theorems can be seen at work: what learners make beside what is allowed to them.

One file = one experiment: a function `run` with the experiment's settings, which returns a `Result`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

EXPERIMENTS = {
    "irrelevant-attributes": "Perceptron against Winnow, as irrelevant attributes are added",
    "irrelevant-dimensions": "the margin beside ‖x‖, as dimensions of noise are added",
    "drift": "Winnow against Winnow-R, as a disjunction changes",
    "margin": "Perceptron against Margin Perceptron, as the margin shrinks",
    "noise": "Perceptron, Winnow and Balanced Winnow, averaged and not, as labels are flipped",
}


def experiment(name: str) -> Any:
    """The function of that name; only its own file is imported."""
    return import_module(f"{__name__}.{name.replace('-', '_')}").run
