"""One model object in several threads: predictions see complete models, and learning calls are serialised.

Each check runs in its own process, so that a crash of compiled code fails one test only.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.helpers.learners import ALL_LEARNERS, VARIANTS
from tests.helpers.multiclass_schemes import SCHEMES

OTHERS = ["auto", "online-to-batch", "online-bagging", "online-boosting", "adaboost", "bagging", "random-forest"]
"""Models that neither table has; the last three learn by fit alone."""
EVERYDAY_SECONDS, LONG_SECONDS = 0.03, 2.0


def run(names: list[str], seconds: float) -> None:
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.helpers.thread_safety_check", str(seconds), *names]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120 + 20 * seconds * len(names))
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


def test_every_learner_can_be_used_by_several_threads() -> None:
    run([f"learner:{name}" for name in ALL_LEARNERS if name not in VARIANTS], EVERYDAY_SECONDS)


def test_every_scheme_can_be_used_by_several_threads() -> None:
    run([f"scheme:{name}" for name in SCHEMES], EVERYDAY_SECONDS)


def test_every_ensemble_can_be_used_by_several_threads() -> None:
    run([f"other:{name}" for name in OTHERS], EVERYDAY_SECONDS)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_process_that_is_forked_while_a_thread_uses_a_model_does_not_hang() -> None:
    """The child uses models that no thread was learning, and refuses the one that is half updated."""
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.helpers.fork_safety_check"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [f"learner:{name}" for name in ALL_LEARNERS]
    + [f"scheme:{name}" for name in SCHEMES]
    + [f"other:{name}" for name in OTHERS],
)
def test_models_survive_long_use_by_several_threads(name: str) -> None:
    run([name], LONG_SECONDS)
