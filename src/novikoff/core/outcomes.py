"""The outcome of every row of a run, for callers of the loop that follow its hypotheses.

The ledger's counters are an array. Where it has entries beyond those of the ledger, the loop records there what
happened at each row: an argument of its own would make every kernel longer, and ordinary runs slower.
"""

from __future__ import annotations

from novikoff._compiled.jit import compiled
from novikoff.ledger import EXAMPLES, N_COUNTS, LedgerCounters

# Entries of LedgerCounters.counts after those of the ledger; the outcome of row i is at FIRST_OUTCOME + i.
IS_PROBING = N_COUNTS
FIRST_OUTCOME = IS_PROBING + 1
# Outcomes. A row that was predicted correctly and changed nothing has 0, as one that was left out.
MISTAKE_ONLY, UPDATE = 1, 2


@compiled
def record_outcome(counters: LedgerCounters, i: int, outcome: int) -> None:
    """Record a mistake or an update at row i, where the counters have an entry for it.

    Before, the entry is the number of examples to skip after the row: 0, or, where a log of examples is learned again,
    those between this row and the next.
    """
    counts = counters.counts
    if len(counts) > FIRST_OUTCOME:
        counts[EXAMPLES] += counts[FIRST_OUTCOME + i]
        counts[FIRST_OUTCOME + i] = outcome


@compiled
def is_probing(counters: LedgerCounters) -> bool:
    """Return whether rows of weight 0 are predicted, with their outcomes recorded, and not left out."""
    return len(counters.counts) > FIRST_OUTCOME and counters.counts[IS_PROBING] != 0
