"""Warning about labels with many distinct values, which may be numbers to predict, not classes."""

from __future__ import annotations

from collections.abc import Sequence

MANY_CLASSES = 50
MAX_SHOWN_LABELS = 3
CLASSIFIER_ADVICE = "These learners classify, they don't predict numbers."


def describe_many_classes(distinct: Sequence[str], rows: int, column: str | None = None) -> str:
    """Return the warning for first rows with more than MANY_CLASSES labels; `column` is the label of a table."""
    shown = ", ".join(distinct[:MAX_SHOWN_LABELS])
    if column is None:
        return (
            f"{len(distinct):,} different labels in the first {rows:,} rows ({shown}, …), each a class."
            f" {CLASSIFIER_ADVICE}"
        )
    return (
        f"the label {column!r} has {len(distinct):,} different values in {rows:,} rows ({shown}, …), and each is a"
        f" class: is it the right column? {CLASSIFIER_ADVICE}"
    )
