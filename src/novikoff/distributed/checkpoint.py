"""Checkpoints of distributed runs: the model and the ledger are written after each round, to a local file or by fsspec.

An interrupted run continues from its checkpoint, with a byte-identical result.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from pathlib import Path
from typing import Any

from novikoff.distributed.ledger import DistributedLedger
from novikoff.errors import InputError
from novikoff.model_file import write_atomically

MAGIC = b"novikoff checkpoint 1\n"


class Checkpoint:
    """A checkpoint file. `run` describes the run: another run can't continue from the file."""

    def __init__(self, path: str, run: dict[str, Any]) -> None:
        self.path, self.run = str(path), json.loads(json.dumps(run))

    def write(self, ledger: DistributedLedger, message: bytes) -> None:
        head = json.dumps({"run": self.run, "rounds": ledger.as_list()}).encode()
        content = len(head).to_bytes(8, "little") + head + message
        content = MAGIC + hashlib.sha256(content).digest() + content
        if "://" not in self.path:
            write_atomically(Path(self.path), content)
            return
        system, path = self._remote()
        temporary = f"{path}.{secrets.token_hex(6)}.part"
        with self._translate_errors("written"):
            system.pipe_file(temporary, content)
            system.mv(temporary, path)

    def read(self, rounds: int) -> tuple[DistributedLedger, bytes] | None:
        """Return the ledger of the finished rounds and the model after them, or None without a file."""
        content = self._content()
        if content is None:
            return None
        body = content[len(MAGIC) + 32 :]
        if content[: len(MAGIC)] != MAGIC or content[len(MAGIC) : len(MAGIC) + 32] != hashlib.sha256(body).digest():
            raise InputError(f"{self.path}: the file is damaged or not a checkpoint. Remove it to start the run again.")
        size = int.from_bytes(body[:8], "little")
        head = json.loads(body[8 : 8 + size])
        different = sorted(k for k in {*self.run, *head["run"]} if self.run.get(k) != head["run"].get(k))
        if different:
            raise InputError(
                f"{self.path}: the checkpoint is of another run (different {', '.join(different)}). Name another file,"
                " or remove it."
            )
        ledger = DistributedLedger.from_list(head["rounds"])
        if len(ledger.rounds) > rounds:
            raise InputError(
                f"{self.path}: the checkpoint has {len(ledger.rounds)} rounds, more than the requested {rounds}."
                " Request at least as many, or name another file."
            )
        return ledger, body[8 + size :]

    def _content(self) -> bytes | None:
        if "://" not in self.path:
            try:
                return Path(self.path).read_bytes()
            except FileNotFoundError:
                return None
        system, path = self._remote()
        with self._translate_errors("read"):
            return bytes(system.cat_file(path)) if system.exists(path) else None

    def _remote(self) -> tuple[Any, str]:
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise InputError(
                f"{self.path}: a URL needs fsspec. Run pip install fsspec, or name a local file."
            ) from None
        try:
            system, path = url_to_fs(self.path)
        except (ImportError, ValueError) as problem:
            raise InputError(f"{self.path}: {problem}.") from None
        return system, str(path)

    def _translate_errors(self, what: str) -> Any:
        return _ErrorTranslator(f"{self.path}: the checkpoint can't be {what}")


class _ErrorTranslator:
    """Converts exceptions of file systems to InputError."""

    def __init__(self, sentence: str) -> None:
        self.sentence = sentence

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: Any, problem: BaseException | None, trace: Any) -> None:
        if isinstance(problem, Exception):
            raise InputError(f"{self.sentence}: {problem}.") from None
