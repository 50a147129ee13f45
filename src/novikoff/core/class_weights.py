"""Class weights: a factor of the weight of each example, by its class.

The state is one array: empty where classes have no weights; otherwise two numbers, then one for each class.

    given      −1, 0, the weight of each class
    balanced   n, k, the number of examples of each class so far: an example of class c has the weight n/(k·n_c), with
               n examples of k classes so far, n_c of them of class c, this one included

Running frequencies depend on the order of the examples alone, so balanced weights are the same for batches, single
examples and files.
"""

from __future__ import annotations

from novikoff._compiled.jit import compiled
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.schema import MAX_COUNT, ArraySpec, Constraint, InRange, NamedSize, Schema

N_EXAMPLES, N_CLASSES, FIRST_CLASS = 0, 1, 2
"""Entries of the state."""
GIVEN = -1.0
"""The first entry where the weights are given."""

CLASS_COUNTS_SCHEMA = Schema(
    {"examples": ArraySpec("float64", NamedSize("listed labels") + FIRST_CLASS, checks=[InRange(0.0, MAX_COUNT)])},
    [
        Constraint(
            "the examples of all classes add up",
            lambda arrays, _: arrays["examples"][N_EXAMPLES] == arrays["examples"][FIRST_CLASS:].sum(),
        ),
        Constraint(
            "the classes with examples are counted",
            lambda arrays, _: arrays["examples"][N_CLASSES] == np.count_nonzero(arrays["examples"][FIRST_CLASS:]),
        ),
    ],
)
"""The schema of the counts of balanced weights in a model file."""


@compiled
def class_weight(class_weights: NDArray[np.float64], c: int) -> float:
    """Return the weight of the next example, which is of class c; 1 where classes have no weights."""
    if len(class_weights) == 0:
        return 1.0
    if class_weights[N_EXAMPLES] < 0.0:
        return class_weights[FIRST_CLASS + c]
    n_of_class = class_weights[FIRST_CLASS + c]
    n_classes = class_weights[N_CLASSES] + (1.0 if n_of_class == 0.0 else 0.0)
    return (class_weights[N_EXAMPLES] + 1.0) / (n_classes * (n_of_class + 1.0))


@compiled
def count_class(class_weights: NDArray[np.float64], c: int) -> None:
    """Count an example of class c that was learned, if weights are balanced."""
    if len(class_weights) == 0 or class_weights[N_EXAMPLES] < 0.0:
        return
    class_weights[N_EXAMPLES] += 1.0
    class_weights[N_CLASSES] += 1.0 if class_weights[FIRST_CLASS + c] == 0.0 else 0.0
    class_weights[FIRST_CLASS + c] += 1.0
