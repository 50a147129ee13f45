"""Experiments that compare the mistakes of learners with their bounds on generated streams.

Each experiment is one file with a function `run`, which takes its settings and returns an `ExperimentResult`.
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
    """Return the experiment of this name; only its own module is imported."""
    return import_module(f"{__name__}.{name.replace('-', '_')}").run
