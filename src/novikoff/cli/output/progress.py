"""The progressive error of a run: lines on stderr at 1, 2, 4, 8 … examples, and lines of the summary."""

from __future__ import annotations

import sys
import time

from novikoff.ledger import Ledger


class TrainingProgress:
    """Prints mistakes, progressive error so far and since the last line, and the rate."""

    def __init__(self, *, quiet: bool, already: int = 0, mistakes: int = 0) -> None:
        self.quiet = quiet
        self.began = time.perf_counter()
        self.start = already
        self.next = self.start + 1
        self.examples, self.mistakes = already, mistakes

    def examples_until_line(self, ledger: Ledger) -> int:
        """Return how many examples to learn before the next line is due."""
        return sys.maxsize if self.quiet else self.next - ledger.examples

    def show(self, ledger: Ledger) -> None:
        """Print a line if one is due."""
        if self.quiet or ledger.examples < self.next:
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


def progressive_error_lines(mistakes: int, examples: int, first_pass: dict[str, int] | None = None) -> list[str]:
    """Return the line for the progressive error of a run and, over several passes, that of the first pass alone.

    >>> print("\\n".join(progressive_error_lines(6, 60, {"mistakes": 4, "examples": 20})))
    error       0.1000   (progressive error of the run: 6 of 60 predictions made while learning were wrong)
    first pass  0.2000   (progressive error: 4 of 20 predictions; later passes have seen the labels)
    """
    made = f"{mistakes:,} of {examples:,} predictions made while learning were wrong"
    lines = [f"error       {mistakes / max(examples, 1):.4f}   (progressive error of the run: {made})"]
    if first_pass is not None:
        wrong, seen = first_pass["mistakes"], first_pass["examples"]
        share = wrong / max(seen, 1)
        lines.append(
            f"first pass  {share:.4f}   (progressive error: {wrong:,} of {seen:,} predictions; later passes have seen"
            " the labels)"
        )
    return lines
