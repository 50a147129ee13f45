"""Rows of a summary that state the guarantee of an online-to-batch hypothesis."""

from __future__ import annotations

from typing import Any


def format_guarantee(guarantee: dict[str, Any]) -> list[tuple[str, str]]:
    """Return titles and texts of the rows."""
    rows = []
    if "stop_reason" in guarantee:
        rows = [("this model", f"{guarantee['chosen']} ({guarantee['method']})"), ("reason", guarantee["stop_reason"])]
        if guarantee["stopped"]:
            rows.append(("used", f"{guarantee['examples_used']:,} examples; it is frozen since then"))
        if guarantee.get("later"):
            wrong, later = guarantee["later_mistakes"], guarantee["later"]
            about = f"(error of this model on the {later:,} examples after it was frozen: {wrong:,} wrong)"
            rows.append(("later", f"{wrong / later:.4f}   {about}"))
    rows.append(("guarantee", guarantee["sentence"]))
    return [*rows, ("assumes", guarantee["assumes"])] if guarantee["bound"] is not None else rows
