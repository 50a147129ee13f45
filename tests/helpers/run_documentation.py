"""Run a page of the documentation as a reader would, from top to bottom, in its own folder.

    python    executed; all blocks of a page share their names
    sh        run by bash, up to the first command that fails
    console   the commands after "$ ", each with the output that is shown below it; `novikoff serve` runs in the
              background until the page ends. Commands that install software are skipped
    text      the exact output of the block before it; … stands for any text, and a line of … for any lines
    json      must be JSON; other languages are not run

Port 8000 and /var/lib/novikoff of a page are replaced by a free port and a temporary folder.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

CODE_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WAIT = 60.0
INSTALLS = "pip install"
SERVES = re.compile(r"novikoff serve (?!token|backup|erase)")


class Block(NamedTuple):
    language: str
    code: str
    line: int
    """Of the first line of the code, counted from 1."""


def parse_blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in CODE_BLOCK.finditer(text):
        yield Block(found[1], found[2], text.count("\n", 0, found.start()) + 2)


def matches(shown: str, printed: str) -> bool:
    """Return whether a page shows the printed text.

    >>> matches("a … c\\n…\\nz\\n", "a b c\\nd\\ne\\nz\\n"), matches("a\\n", "b\\n")
    (True, False)
    """
    lines = (
        "(?:.*\n)*" if line == "…\n" else ".*".join(re.escape(part) for part in line.split("…"))
        for line in shown.splitlines(keepends=True)
    )
    return re.fullmatch("".join(lines), printed) is not None


class PageRunner:
    """Takes the blocks of one page, one after another, in the folder where it is."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.names: dict[str, Any] = {"__name__": "page"}
        self.printed: str | None = None
        self.servers: list[subprocess.Popen[str]] = []
        self.port = find_free_port()
        self.env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self.servers:
            server.send_signal(signal.SIGTERM)
        for server in self.servers:
            server.communicate(timeout=WAIT)

    def read(self) -> None:
        for block in parse_blocks(self.page):
            place = f"{self.page.name}:{block.line}"
            code = block.code.replace(":8000", f":{self.port}").replace("--port 8000", f"--port {self.port}")
            code = code.replace("/var/lib/novikoff", str(self.folder / "var-lib-novikoff"))
            if block.language == "text":
                assert self.printed is not None, f"{place}: there is no block before that prints"
                assert matches(code, self.printed), f"{place} shows\n{code}\nbut what is printed is\n{self.printed}"
                self.printed = None
            else:
                take = getattr(self, f"run_{block.language}", None)
                self.printed = take(code, place, block.line) if take else None

    def run_python(self, code: str, place: str, line: int) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (line - 1) + code, str(self.page), "exec"), self.names)  # noqa: S102 - our own page
        return printed.getvalue()

    def run_sh(self, code: str, place: str, line: int) -> str:
        trap = "trap 'echo \"this failed: $BASH_COMMAND\" >&2' ERR\n"
        done = subprocess.run(
            ["bash", "-e", "-c", trap + code], capture_output=True, text=True, env=self.env, check=False
        )
        assert done.returncode == 0, f"{place}: exit code {done.returncode}\n{done.stderr}"
        return done.stdout

    def run_console(self, code: str, place: str, line: int) -> None:
        for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
            command, shown = part.split("\n", 1)
            if command.startswith(INSTALLS):
                continue
            if SERVES.match(command):
                self.serve(command, shown)
                continue
            printed = self.run_sh(command, place, line)
            printed += "" if printed.endswith("\n") else "\n"
            assert not shown.strip() or matches(shown, printed), f"{place}: {command}\nprints\n{printed}"

    def run_json(self, code: str, place: str, line: int) -> None:
        json.loads(code)

    def serve(self, command: str, shown: str) -> None:
        server = subprocess.Popen(
            ["bash", "-c", f"exec {command}"], env=self.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self.servers.append(server)
        assert server.stdout is not None
        said, until = "", time.monotonic() + WAIT
        while "serves at" not in said:
            said = server.stdout.readline()
            assert said, f"{command} ended"
            assert time.monotonic() < until, f"{command} does not answer"
        assert matches(shown, said), f"{command} says {said}"


def find_free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
