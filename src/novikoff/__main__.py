"""`python -m novikoff` is `novikoff`."""

from __future__ import annotations

import gc
from typing import NoReturn


def program() -> NoReturn:
    gc.disable()  # as long as modules are imported: there is no garbage
    from novikoff.cli.main import program

    program()


if __name__ == "__main__":
    program()
