"""Lines of a summary that state an error, each with the model or the run that it is about."""

from __future__ import annotations


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
