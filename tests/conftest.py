"""Hypothesis profiles, markers that depend on parameters, and fixtures of servers.

Hypothesis has no deadlines, and derandomised examples except in `make test-slow`. Variants of learners are in the slow
set, except in tests of reference implementations. A kernel of the package that the compiled library lacks is an error:
only kernels that tests define are compiled.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("NOVIKOFF_JIT", "0")  # before novikoff is imported, and for the processes that tests start

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("tests.helpers")

from tests.helpers.learners import VARIANTS  # noqa: E402 - after the rewriting of its asserts is registered
from tests.helpers.server.process import ForkServer, Server, run_server  # noqa: E402

settings.register_profile("everyday", deadline=None, derandomize=True)  # the same kernels are called each time
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "everyday"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.name.startswith("test_scikit_learn_checks"):  # which learn sorted data
            item.add_marker(pytest.mark.filterwarnings("ignore::novikoff.SortedLabelsWarning"))
        chosen = getattr(item, "callspec", None)
        if chosen is None or item.path.name == "test_reference_implementations.py":
            continue
        if any(isinstance(value, str) and value in VARIANTS for value in chosen.params.values()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    """Provide a process that forks servers, one for each test module."""
    process = ForkServer()
    yield process
    process.close()


@pytest.fixture
def server(fork_server: ForkServer, tmp_path: Path) -> Iterator[Server]:
    """Provide a server without models."""
    with run_server(fork_server, tmp_path / "data") as one:
        yield one
