"""`python -m benchmarks [--full] [TABLE ...]`: measure the quick tables, with --full all of them, or the named ones.

The quick ones generate about 1 GB of texts in the folder NOVIKOFF_BENCH, once; all of them about 20 GB.
Tables, plots and numbers are written to `benchmarks/results/speed.md`, `.html` and `.json`; a table that is measured
again replaces the old one. `--render` renders tables and plots from the stored numbers.
"""

from __future__ import annotations

import argparse

from benchmarks import (
    certifying,
    converged,
    from_text,
    growth,
    in_memory,
    kernels,
    loading,
    per_event,
    predicting,
    serving,
    start_up,
    twenty_classes,
    whole_process,
)
from benchmarks.measure import show
from benchmarks.tables import RESULTS, Table, describe_machine, load_tables, save_tables

TABLES = {
    "in-memory": ("One pass in memory", "novikoff", "scikit-learn", in_memory.run),
    "per-event": ("One example at a time", "novikoff", "River", per_event.run),
    "start-up": ("Start-up, second run", "novikoff", "peer", start_up.run),
    "from-text-quick": ("From text, training, 50k and 100k rows", "novikoff", "vw", from_text.quick),
    "from-text": ("From text, training, 500k and 1M rows", "novikoff", "vw", from_text.run),
    "auto-quick": ("Nothing set, training, 50k and 100k rows", "novikoff", "vw", from_text.automatic_quick),
    "auto": ("Nothing set, training, 500k and 1M rows", "novikoff", "vw", from_text.automatic),
    "classes-quick": ("Twenty classes, 20k rows", "novikoff", "peer", twenty_classes.quick),
    "classes": ("Twenty classes, 200k rows", "novikoff", "peer", twenty_classes.run),
    "loading-quick": ("Loading text, up to 92 MB", "novikoff", "peer", loading.quick),
    "loading": ("Loading text", "novikoff", "peer", loading.run),
    "whole-process-quick": ("From text, whole process, 50k rows", "novikoff", "vw", whole_process.quick),
    "whole-process": ("From text, whole process", "novikoff", "vw", whole_process.run),
    "huge": ("From text, whole process, 5.7 GB", "novikoff", "vw", whole_process.huge),
    "cache": ("From the binary cache", "novikoff", "vw", whole_process.cache),
    "predicting-quick": ("Predicting, up to 100k rows", "novikoff", "peer", predicting.quick),
    "predicting": ("Predicting", "novikoff", "peer", predicting.run),
    "certifying-quick": ("What a certificate costs, 50k rows", "certify", "learn", certifying.quick),
    "certifying": ("What a certificate costs", "certify", "learn", certifying.run),
    "converged-quick": ("As accurate as LIBLINEAR, 50k rows", "novikoff", "LIBLINEAR", converged.quick),
    "converged": ("As accurate as LIBLINEAR", "novikoff", "LIBLINEAR", converged.run),
    "growth-quick": ("Growth, up to 10^6 rows and features", "smallest", "largest", growth.quick),
    "growth": ("Growth, up to 10^7 rows and features", "smallest", "largest", growth.run),
    "memory-quick": ("Memory, up to 92 MB of text", "smaller", "larger", growth.memory_quick),
    "memory": ("Memory", "smaller", "larger", growth.memory),
    "kernels": ("Kernels, training in memory", "novikoff", "SVC", kernels.run),
    "serving": ("The service", "novikoff", "peer", serving.run),
}
QUICK = ("in-memory", "per-event", "start-up", *(name for name in TABLES if name.endswith("-quick")))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Compare novikoff with its peers.")
    parser.add_argument("tables", metavar="TABLE", nargs="*", help=", ".join(TABLES))
    parser.add_argument("--full", action="store_true", help="all tables, on the large texts")
    parser.add_argument("--render", action="store_true", help="only render tables and plots of the stored numbers")
    asked = parser.parse_args()
    unknown = [name for name in asked.tables if name not in TABLES]
    if unknown:
        parser.error(f"no table {', '.join(unknown)}; there are {', '.join(TABLES)}")
    names = asked.tables or ([n for n in TABLES if not n.endswith("-quick")] if asked.full else QUICK)
    known = {table.name: table for table in load_tables() if table.name in TABLES}
    for name in () if asked.render else names:
        heading, left, right, run = TABLES[name]
        on = describe_machine()
        known[name] = Table(name, heading, left, right, show(heading, left, right, run()), on)
        save_tables([known[each] for each in TABLES if each in known])
    save_tables([known[each] for each in TABLES if each in known])
    print(f"\n{RESULTS / 'speed.md'}, {RESULTS / 'speed.html'} and {RESULTS / 'speed.json'} contain all tables.")


if __name__ == "__main__":
    main()
