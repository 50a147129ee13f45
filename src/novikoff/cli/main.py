"""The command `novikoff`: import the module of the command, run it, and map errors to messages and exit codes.

Exit codes: 0 success; 1 negative answer; 2 bad usage or bad input; 130 interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

# No command multiplies matrices, so starting OpenBLAS's threads would only cost time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from novikoff import __version__
from novikoff.cli import signals
from novikoff.cli.output.formatter import CommandParser
from novikoff.errors import NovikoffError, suggest

COMMANDS = {
    "learn": "learn a stream",
    "evaluate": "measure models on labelled data",
    "predict": "predict with a model",
    "explain": "show the contribution of each feature to one prediction",
    "export": "write a linear model as ONNX, or its weights as JSON",
    "inspect": "show what a model has learned",
    "certify": "bound the mistakes of a model on its stream, by theorems",
    "compare": "try linear learners side by side on the same stream",
    "verify": "check a certificate against its data",
    "separable": "decide whether data is linearly separable, with a proof",
    "generate": "generate a stream from a concept class, or the worst case of a learner",
    "theory": "compute sample sizes, error bounds, VC dimensions and mistake bounds",
    "cluster": "learn shards on a Dask cluster or on all processors of this machine",
    "experiment": "run an experiment that compares learners with their bounds",
    "serve": "predict and learn over HTTP, durably",
    "completion": "print shell completion",
}
EPILOG = """\
examples:
  novikoff learn breast-cancer                        learn a built-in stream, and show its ledger
  novikoff learn train.svm --passes 5 --save m.model  learn a file, and save the model
  novikoff predict m.model new.svm --scores           label and score of each line
  novikoff inspect m.model --top 10                   the most important features
"""


def build_parser(arguments: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return the parser of all commands. Only the module of the command that the arguments name is imported; None
    imports all of them, and gives `learn` the settings of all learners."""
    top = CommandParser(
        prog="novikoff",
        allow_abbrev=False,
        description="Learns linear classifiers from streams, one example at a time, and keeps a ledger of every run.",
        epilog=EPILOG,
    )
    top.add_argument("--version", action="store_true", help="show the version and exit")
    top.add_argument("--verbose", action="store_true", help="with --version: also the CPU level of the compiled code")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    asked = None if arguments is None else next((name for name in arguments[:1] if name in COMMANDS), "")
    for name, text in COMMANDS.items():
        if asked is not None and name != asked:
            if not asked:  # the help lists all commands
                commands.add_parser(name, help=text)
            continue
        module = import_module(f"novikoff.cli.{name.replace('-', '_')}")
        sub = commands.add_parser(name, help=text, allow_abbrev=False, description=module.__doc__, epilog=module.EPILOG)
        module.add_arguments(sub, arguments)
        sub.set_defaults(run=module.run, parser=sub)
    return top


def main(arguments: Sequence[str] | None = None) -> int:  # noqa: PLR0911 - one for each way to end
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # for terminals that can't show γ
    if arguments and set(arguments) <= {"--version", "--verbose"}:
        return _show_version(verbose="--verbose" in arguments)
    try:
        if arguments[:1] == ["learn"]:
            _defer_numpy()
        options = _parse(build_parser(arguments), arguments)
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        with signals.remember_interrupts(), _limit_model_memory(options):
            code: int = options.run(options)
            signals.raise_if_interrupted()
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except NovikoffError as problem:
        return _print_error(str(problem), 2)
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does. Python would report the error again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except MemoryError:
        return _print_error("there is not enough memory for this: hash or renumber the features, or use fewer.", 2)
    except OSError as problem:
        where = f"{problem.filename}: " if problem.filename else ""
        return _print_error(f"{where}{problem.strerror or problem}.", 2)
    except KeyboardInterrupt:
        return _print_error("interrupted; nothing was written.", 130)


def _limit_model_memory(options: argparse.Namespace) -> contextlib.AbstractContextManager[None]:
    """Return the context in which models respect --max-model-memory."""
    if getattr(options, "max_model_memory", None) is None:
        return contextlib.nullcontext()
    from novikoff.cli.options.run_options import max_model_memory
    from novikoff.memory_limit import limit_memory

    return limit_memory(max_model_memory(options))


def _show_version(*, verbose: bool) -> int:
    print(f"novikoff {__version__}")
    if verbose:
        from novikoff._compiled.library import load_library

        found = load_library()
        level = None if found is None else found.level
        built = [] if found is None else found.levels()
        print(f"kernels  {level or 'none: compiled by Numba when they are first used'}")
        print(f"built    {', '.join(built) or 'none'}")
        print(f"python   {sys.version.split()[0]}")
    return 0


def _parse(known: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        known.error(f"unknown command {arguments[0]!r}{suggest(arguments[0], COMMANDS)}")
    options, unknown = known.parse_known_args(arguments)
    if unknown:
        hint = ""
        if options.command in ("learn", "cluster"):
            from novikoff.cli.options.model_options import find_setting_owners

            hint = find_setting_owners(unknown[0])
        options.parser.refuse_unknown(unknown, hint)
    return options


def program() -> NoReturn:
    """Run `main` and end the process at once: Python's finalization would take a tenth of the time of a short run."""
    gc.disable()  # while modules are imported: they leave no garbage
    if sys.stdout is not None and isinstance(sys.stdout.buffer, io.RawIOBase):
        # PYTHONUNBUFFERED: Python silently loses the rest of a partial write, as when the reader closes the pipe.
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(sys.stdout.buffer), sys.stdout.encoding, line_buffering=True)
    try:
        code = main()
    except SystemExit:  # usage errors and --help: no threads yet
        raise
    except BaseException:
        import traceback

        code = 1
        with contextlib.suppress(OSError, ValueError):
            traceback.print_exc()
    # os._exit also after an unexpected exception. Finalization would stop the parser threads wherever they are, and
    # then wait for a lock that one of them holds.
    with contextlib.suppress(OSError, ValueError):
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    os._exit(code)


def _defer_numpy() -> None:
    """Use plain buffers instead of NumPy arrays until a step needs NumPy."""
    from novikoff._compiled import jit
    from novikoff._compiled.buffers import use_buffers

    if not jit.JIT_DISABLED:
        use_buffers()


def _print_error(sentence: str, code: int) -> int:
    with contextlib.suppress(OSError, ValueError):  # stderr may be the same broken pipe as stdout (2>&1 | head)
        print(f"novikoff: {sentence}", file=sys.stderr)
    return code
