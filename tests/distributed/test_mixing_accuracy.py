"""Several shards are as accurate as one machine after the same number of passes, on real data."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from benchmarks import cluster, multiclass_data
from novikoff import AROW, SGD, Kesler, Perceptron
from novikoff.distributed import DistributedLearner

SETS: dict[str, Any] = {"a9a": (cluster._a9a, lambda learner: learner), "mnist": (multiclass_data.mnist, Kesler)}
ROUNDS = 5  # what `novikoff cluster learn` does when nothing is said
POINTS = 0.3


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SETS))
def test_two_shards_are_as_good_as_one_machine(name: str) -> None:
    """Both learn the rows in the given order: fit alone would shuffle them in each pass, which shards don't."""
    split, around = SETS[name]
    try:
        X, y, X_test, y_test = split()
    except OSError as problem:
        pytest.skip(f"{name} is not here: {problem}")
    cuts = np.linspace(0, len(y), 3).astype(int)
    shards = [(X[a:b], y[a:b]) for a, b in pairwise(cuts)]
    for learner, settings in ((Perceptron, {"average": True}), (SGD, {}), (AROW, {})):
        alone = around(learner(passes=ROUNDS, shuffle=False, **settings)).fit(X, y).score(X_test, y_test)
        mixed = DistributedLearner(around(learner(**settings)), rounds=ROUNDS).fit(shards).score(X_test, y_test)
        assert 100 * (alone - mixed) <= POINTS, (learner, alone, mixed)
