"""`python -m benchmarks [--full] [TABLE ...]`: the quick tables, with --full all of them, or those that are named.

The quick ones read texts of 60 MB at most; the others have 2.7 GB of texts made, once, in the folder NOVIKOFF_BENCH.
"""

from __future__ import annotations

import argparse

from benchmarks import (
    certifying,
    from_text,
    growth,
    in_memory,
    kernels,
    loading,
    per_event,
    serving,
    start_up,
    twenty_classes,
    whole_process,
)
from benchmarks.measure import show

TABLES = {
    "in-memory": ("One pass in memory", "novikoff", "scikit-learn", in_memory.run),
    "per-event": ("One example at a time", "novikoff", "River", per_event.run),
    "start-up": ("Start-up, second run", "novikoff", "peer", start_up.run),
    "from-text-quick": ("From text, training, 50k and 100k rows", "novikoff", "vw", from_text.quick),
    "from-text": ("From text, training, 500k and 1M rows", "novikoff", "vw", from_text.run),
    "classes-quick": ("Twenty classes, 20k rows", "novikoff", "peer", twenty_classes.quick),
    "classes": ("Twenty classes, 200k rows", "novikoff", "peer", twenty_classes.run),
    "loading": ("Loading text", "novikoff", "peer", loading.run),
    "whole-process": ("From text, whole process", "novikoff", "vw", whole_process.run),
    "cache": ("From the binary cache", "novikoff", "vw", whole_process.cache),
    "certifying-quick": ("What a certificate costs, 50k rows", "certify", "learn", certifying.quick),
    "certifying": ("What a certificate costs", "certify", "learn", certifying.run),
    "kernels": ("Kernels, training in memory", "novikoff", "SVC", kernels.run),
    "serving": ("The service", "novikoff", "peer", serving.run),
    "growth": ("Growth: at most", "smaller", "larger", growth.run),
}
QUICK = ("in-memory", "per-event", "start-up", "from-text-quick", "classes-quick", "certifying-quick")

parser = argparse.ArgumentParser(prog="python -m benchmarks", description="novikoff beside its peers.")
parser.add_argument("tables", metavar="TABLE", nargs="*", help=", ".join(TABLES))
parser.add_argument("--full", action="store_true", help="all tables, on the large texts")
asked = parser.parse_args()
unknown = [name for name in asked.tables if name not in TABLES]
if unknown:
    parser.error(f"no table {', '.join(unknown)}; there are {', '.join(TABLES)}")

for name in asked.tables or ([n for n in TABLES if not n.endswith("-quick")] if asked.full else QUICK):
    heading, left, right, run = TABLES[name]
    show(heading, left, right, run())
