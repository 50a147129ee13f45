"""Schedules: how long the step number t is, r_t = r / t^power with power 0 (constant), ½ or 1."""

from __future__ import annotations

import math
from typing import NamedTuple

from novikoff._compiled.jit import compiled

SCHEDULE_POWERS = {"constant": 0.0, "sqrt": 0.5, "inverse": 1.0}


class Schedule(NamedTuple):
    rate: float
    power: float


@compiled
def step_size(schedule: Schedule, t: int) -> float:
    if schedule.power == 0.0:
        return schedule.rate
    if schedule.power == 0.5:
        return schedule.rate / math.sqrt(t)
    return schedule.rate / t
