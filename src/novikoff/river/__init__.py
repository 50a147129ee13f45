"""Learners of novikoff as estimators of River. River is an optional package, which the extra `river` installs.

`Classifier` is imported on first use, so that this package can be imported without River.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Classifier"]


def __getattr__(name: str) -> Any:
    if name == "Classifier":
        from novikoff.river.classifier import Classifier

        return Classifier
    raise AttributeError(f"module 'novikoff.river' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
