"""Define the navigation of the site. A page without an entry ends the build: add it here, unless its folder is listed
as a whole (learners, commands)."""

from __future__ import annotations

from typing import NamedTuple


class Part(NamedTuple):
    caption: str
    pages: tuple[str, ...]
    """Without .md; * stands for all pages that are not listed yet, by name."""


PARTS = (
    Part("Start here", ("docs/tutorial", "docs/guide", "docs/reading", "notebooks/*")),
    Part("Commands", ("docs/commands/README", "docs/commands/*")),
    Part("Learners", ("docs/learners/README", "docs/learners/*")),
    Part(
        "Topics",
        (
            "docs/certificates",
            "docs/separable",
            "docs/online_to_batch",
            "docs/multiclass",
            "docs/kernels",
            "docs/ensembles",
            "docs/network",
            "docs/probabilities",
            "docs/imbalance",
            "docs/river",
            "docs/concepts",
            "docs/experiments",
        ),
    ),
    Part("Theory", ("docs/proofs", "docs/theory")),
    Part("Production", ("docs/service", "docs/cluster", "docs/scale")),
    Part(
        "Reference",
        (
            "docs/README",
            "docs/glossary",
            "docs/comparison",
            "docs/benchmarks",
            "docs/accuracy",
            "docs/formats",
            "docs/design",
            "docs/own-loss",
            "CONTRIBUTING",
            "SECURITY",
            "CHANGELOG",
        ),
    ),
)


def build_contents(pages: set[str]) -> str:
    """Return the tables of contents in MyST syntax for the existing `pages`."""
    left, written = set(pages), []
    for part in PARTS:
        listed: list[str] = []
        for name in part.pages:
            under = name.removesuffix("*")
            listed += sorted(p for p in left if p.startswith(under) and p not in listed) if name != under else [name]
        left -= set(listed)
        shown = [page for page in listed if page in pages]
        written.append("\n".join((f"```{{toctree}}\n:hidden:\n:caption: {part.caption}\n", *shown, "```")))
    return "\n\n".join(written)
