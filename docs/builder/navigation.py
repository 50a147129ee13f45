"""What the site's contents are, in which order. A page that no line leads to ends the build: add it here, unless it
lies in a folder of which all pages are taken (learners, commands)."""

from __future__ import annotations

from typing import NamedTuple


class Part(NamedTuple):
    caption: str
    pages: tuple[str, ...]
    """Without .md; * stands for all that are not there yet, by name."""


PARTS = (
    Part("Begin", ("docs/tutorial", "docs/guide", "docs/reading", "notebooks/*")),
    Part("Commands", ("docs/commands/README", "docs/commands/*")),
    Part("Learners", ("docs/learners/README", "docs/learners/*")),
    Part(
        "In depth",
        (
            "docs/certificates",
            "docs/separable",
            "docs/online_to_batch",
            "docs/multiclass",
            "docs/kernels",
            "docs/ensembles",
            "docs/network",
            "docs/probabilities",
            "docs/concepts",
            "docs/experiments",
        ),
    ),
    Part("Theory", ("docs/proofs", "docs/theory")),
    Part("In production", ("docs/service", "docs/cluster", "docs/scale")),
    Part(
        "Reference",
        (
            "docs/README",
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


def contents(pages: set[str]) -> str:
    """The tables of contents, as MyST writes them; `pages` are those that there are."""
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
