"""Examples for served models, and requests at the same time."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from novikoff import Perceptron, load
from tests.helpers.server.process import Server


def draw_examples(count: int, seed: int = 0, names: int = 40) -> list[tuple[dict[str, float], str]]:
    rng = random.Random(seed)
    drawn = []
    for _ in range(count):
        x = {f"n{rng.randrange(names)}": rng.gauss(0, 1) for _ in range(6)}
        drawn.append((x, "spam" if sum(v for n, v in x.items() if int(n[1:]) % 2) > 0 else "ham"))
    return drawn


def learn_stream(stream: Any, learner: Any = None) -> Any:
    learner = learner or Perceptron()
    for x, y in stream:
        learner.learn_one(x, y)
    return learner


def download_model(server: Server, folder: Path, name: str = "m") -> Any:
    status, content = server.ask("GET", f"/v1/models/{name}/download")
    assert status == 200, content
    (folder / "got.model").write_bytes(content)
    return load(folder / "got.model")


def call_concurrently(*calls: Callable[[], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(lambda call: call(), calls))
