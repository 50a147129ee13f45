"""A process that has imported everything and forks a server for each request, so that tests need not wait for imports.

A request is a line of JSON: {"arguments": [...], "log": path, "limit": bytes or null, "die": null or a kill point}.
A kill point is [module, function, n, when]: the server kills itself "before" or "after" the n-th call of the function.
The response is the process id of the server.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
from typing import Any


def kill_at_call(module: str, function: str, count: int, when: str) -> None:
    """Kill this process before or after the `count`-th call of a function."""
    *path, name = function.split(".")
    place: Any = importlib.import_module(module)
    for part in path:
        place = getattr(place, part)
    original, left = getattr(place, name), count

    def count_call(*arguments: Any, **named: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0 and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        answer = original(*arguments, **named)
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    setattr(place, name, count_call)


def main() -> None:
    import safetensors.numpy  # noqa: F401 - these imports take long
    import zstandard  # noqa: F401

    import novikoff.server.server
    from novikoff import SGD, Kesler, Perceptron
    from novikoff.cli.main import main as command

    for learner in (Perceptron(), SGD(), Kesler()):
        novikoff.server.models.served_model.precompile(learner)
    novikoff.server.models.served_model.precompile_lines()
    novikoff.server.storage.wal_check.compute_checksum(bytes(8), "<u4", 0, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        number = os.fork()
        if number == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            nothing = os.open(os.devnull, os.O_RDONLY)
            for where, what in ((0, nothing), (1, log), (2, log)):
                os.dup2(what, where)
            if request.get("limit"):
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (request["limit"], request["limit"]))
            if request.get("die"):
                kill_at_call(*request["die"])
            os._exit(command(["serve", *request["arguments"]]))
        print(number, flush=True)


if __name__ == "__main__":
    main()
