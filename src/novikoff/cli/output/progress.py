"""Progress on stderr: the progressive error at 1, 2, 4, 8 … examples, or lines with the time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from novikoff.cli import signals
from novikoff.ledger import Ledger


class TrainingProgress:
    """Prints mistakes, progressive error so far and since the last line, and the rate.

    `before_line` is called before each line, to erase what stands on it.
    """

    def __init__(self, *, already: int = 0, mistakes: int = 0, before_line: Callable[[], None] = lambda: None) -> None:
        self.before_line = before_line
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
        self.before_line()
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


def elapsed_time_printer(*, quiet: bool) -> Callable[[str], None]:
    """Return a function that prints a line with the elapsed time, unless `quiet`, and raises KeyboardInterrupt."""
    began = time.perf_counter()

    def report(line: str) -> None:
        signals.raise_if_interrupted()
        if not quiet:
            print(f"{time.perf_counter() - began:6.1f} s   {line}", file=sys.stderr)

    return report
