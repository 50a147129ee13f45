"""`python -m benchmarks [in-memory] [per-event] [start-up]`: all tables, or those that are named."""

from __future__ import annotations

import sys

from benchmarks import in_memory, per_event, start_up
from benchmarks.measure import show

TABLES = {
    "in-memory": ("One pass in memory", "scikit-learn", in_memory.run),
    "per-event": ("One example at a time", "River", per_event.run),
    "start-up": ("Start-up, second run", "numba + kernel", start_up.run),
}

for name in sys.argv[1:] or TABLES:
    heading, peer, run = TABLES[name]
    show(heading, peer, run())
