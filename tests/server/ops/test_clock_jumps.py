"""Clock jumps: ages neither expire at once nor last forever."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("msgspec", reason="the service is an extra: novikoff[serve]")

from novikoff.learner_registry import learner_class
from novikoff.server.http import auth
from novikoff.server.http.auth import Grant, TokenStore
from novikoff.server.models.registry import ModelRegistry
from novikoff.server.models.validation import RequestError
from novikoff.server.ops import clock
from novikoff.server.ops.limits import DAY_SECONDS, Limits
from novikoff.server.ops.maintenance import MaintenanceTask
from novikoff.server.storage.attribution import CURRENT_CLIENT
from novikoff.server.storage.recovery import open_registry
from tests.helpers.server.middleware import JSON_TYPE, MiddlewareStack, bearer_header, request, stack_with_tokens

DAYS = [-30, -8, 8, 3_000]
LIMITS = Limits.given({"retain_days": 1, "checkpoint_examples": 1})


def jump(monkeypatch: pytest.MonkeyPatch, days: float) -> None:
    """Set the clock of the machine forward or back."""
    true, seconds = time.time, days * DAY_SECONDS
    monkeypatch.setattr(time, "time", lambda: true() + seconds)
    monkeypatch.setattr(time, "time_ns", lambda: int((true() + seconds) * 1e9))


@pytest.mark.parametrize("days", DAYS)
def test_the_steady_clock_does_not_jump_and_reports_a_jump_once(monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    steady = clock.SteadyClock()
    before = steady.now()
    assert steady.new_jump() is None
    jump(monkeypatch, days)
    assert 0 <= steady.now() - before < 60
    assert steady.new_jump() == pytest.approx(days * DAY_SECONDS, abs=60)
    assert steady.new_jump() is None
    jump(monkeypatch, -days)
    assert steady.new_jump() == pytest.approx(-days * DAY_SECONDS, abs=60)


async def start_registry(folder: Path) -> tuple[ModelRegistry, MaintenanceTask]:
    registry = open_registry(folder, LIMITS)
    registry.start()
    if not registry.models:
        await registry.create("m", learner_class("perceptron")(), None)
    return registry, MaintenanceTask(registry)


def learn(registry: ModelRegistry, body: bytes, key: str | None = None) -> Any:
    served = registry.find("m")
    registry.streams[served.stream].check_accepts_examples(served)
    return registry.streams[served.stream].learn_one(body, key)


def entries(registry: ModelRegistry) -> int:
    return int(registry.journal.connection.execute("SELECT count(*) FROM entries").fetchone()[0])


@pytest.mark.parametrize("days", DAYS)
def test_predictions_keys_and_examples_survive_a_jump(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    example = b'{"features": {"a": 1}, "label": "x"}'

    async def run() -> None:
        registry, keeping = await start_registry(tmp_path / "data")
        await learn(registry, example, "key")
        name = registry.keep(registry.find("m"), {"b": 1.0}, clock.now())
        await keeping.once()
        jump(monkeypatch, days)
        await keeping.once()
        await keeping.once()
        assert entries(registry) == 1  # it is not a day old
        assert (await learn(registry, example, "key")).status == "already learned"
        late = b'{"id": "%b", "label": "y"}' % name.encode()
        assert (await learn(registry, late)).status == "learned"
        await keeping.once()
        assert entries(registry) == 2
        await registry.stop()

    asyncio.run(run())


def test_entries_with_future_times_expire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock was years ahead in an earlier run: after it is right again, ages count from the start of the server."""

    async def jump_ahead() -> str:
        monkeypatch.setattr(clock.CLOCK, "_offset", clock.CLOCK._offset + 3_000 * DAY_SECONDS)
        registry, _ = await start_registry(tmp_path / "data")
        await learn(registry, b'{"features": {"a": 1}, "label": "x"}', "key")
        name = registry.keep(registry.find("m"), {"b": 1.0}, clock.now())
        await registry.stop()
        return name

    async def set_clock_right(name: str) -> None:
        monkeypatch.undo()
        registry, keeping = await start_registry(tmp_path / "data")
        stream = registry.streams[registry.find("m").stream]
        assert stream.waiting.kept[name].time <= clock.now()
        assert stream.keys["key"].time <= clock.now()
        await keeping.save_all()
        later = clock.now() + DAY_SECONDS + 60
        monkeypatch.setattr(clock, "now", lambda: later)
        await keeping.once()
        assert (entries(registry), len(stream.waiting.kept), len(stream.keys)) == (0, 0, 0)
        with pytest.raises(RequestError) as caught:
            await learn(registry, b'{"id": "%b", "label": "y"}' % name.encode())
        assert caught.value.status == 410
        await registry.stop()

    asyncio.run(set_clock_right(asyncio.run(jump_ahead())))


@pytest.mark.parametrize("days", [-8, 8])
def test_rate_limits_do_not_depend_on_the_wall_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    secret = auth.create_token(tmp_path, ["predict"], None, "a")
    stack: MiddlewareStack = stack_with_tokens(tmp_path, Limits(rate=10))
    me = JSON_TYPE | {"authorization": f"Bearer {secret}"}
    statuses = [request(stack, "POST", "/v1/models/m/predict", me, [b"{}"]).status for _ in range(12)]
    assert statuses.count(429) >= 1
    jump(monkeypatch, days)
    assert request(stack, "POST", "/v1/models/m/predict", me, [b"{}"]).status == 429
    time.sleep(0.2)
    assert request(stack, "POST", "/v1/models/m/predict", me, [b"{}"]).status == 200


def test_an_expired_token_is_not_revived_by_a_clock_that_is_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = auth.create_token(tmp_path, ["predict"], 1, "a")
    reader = TokenStore(tmp_path)
    assert isinstance(reader.check(bearer_header(secret)), Grant)
    monkeypatch.setattr(clock.CLOCK, "_offset", clock.CLOCK._offset + 2 * DAY_SECONDS)  # two days have passed
    jump(monkeypatch, -30)
    assert not isinstance(reader.check(bearer_header(secret)), Grant)


def test_without_a_token_no_client_is_recorded() -> None:
    assert CURRENT_CLIENT.get() is None
