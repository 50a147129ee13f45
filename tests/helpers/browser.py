"""The path of Chromium, and a parser that checks the tags of a page."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

CHROMIUM = "/usr/bin/chromium"
VOID_TAGS = {"meta", "br", "link", "img", "input", "hr"}


class ParsedPage(HTMLParser):
    """A parsed page; parsing asserts that every tag is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str | None, str] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID_TAGS:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[self.tags[-1][1].get("id")] = data
