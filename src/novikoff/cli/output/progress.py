"""The progressive error of a run on stderr: a line at 1, 2, 4, 8 … examples."""

from __future__ import annotations

import sys
import time

from novikoff.ledger import Ledger


class TrainingProgress:
    """Prints mistakes, progressive error so far and since the last line, and the rate."""

    def __init__(self, *, already: int = 0, mistakes: int = 0) -> None:
        self.began = time.perf_counter()
        self.start = already
        self.next = self.start + 1
        self.examples, self.mistakes = already, mistakes

    def examples_until_line(self, ledger: Ledger) -> int:
        """Return how many examples to learn before the next line is due."""
        return self.next - ledger.examples

    def show(self, ledger: Ledger) -> None:
        """Print a line if one is due."""
        if ledger.examples < self.next:
            return
        if self.next == self.start + 1:
            print("    examples    mistakes  progressive error   since last   examples/s", file=sys.stderr)
        since = (ledger.mistakes - self.mistakes) / (ledger.examples - self.examples)
        rate = (ledger.examples - self.start) / max(time.perf_counter() - self.began, 1e-9)
        print(
            f"{ledger.examples:>12,}{ledger.mistakes:>12,}{ledger.progressive_error:>19.4f}{since:>13.4f}{rate:>13,.0f}",
            file=sys.stderr,
        )
        self.examples, self.mistakes = ledger.examples, ledger.mistakes
        self.next = self.start + 2 * (self.next - self.start)
