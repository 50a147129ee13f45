"""Serves models over HTTP: predicts at once, learns when the label arrives, and loses nothing in a crash.

Without an action the server is started. `token` creates, lists and revokes tokens, `backup` copies the folder while it
is served, `erase` deletes the data of one client, prediction or request from the journal and from backups.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from novikoff.errors import InputError

if TYPE_CHECKING:
    from novikoff.server.ops.limits import Limits

ACTIONS = ("token", "backup", "erase")
REQUIRED_PACKAGES = ("starlette", "uvicorn", "msgspec", "httptools", "uvloop")
EPILOG = """\
The API is JSON under /v1 (described by /v1/openapi.json), the dashboard is at /. On loopback without tokens no request
needs a token. Once there are tokens every request needs one. Any other address than loopback needs tokens.

examples:
  novikoff serve --data-dir models                             at http://127.0.0.1:8000
  curl localhost:8000/v1/models -H 'Content-Type: application/json' -d '{"name": "spam"}'
  curl localhost:8000/v1/models/spam/learn -H 'Content-Type: application/json' \\
       -d '{"features": {"viagra": 1}, "label": "spam"}'
  novikoff serve token --data-dir models --name shop --scope predict --scope learn --expires-days 90
  novikoff serve token --data-dir models --list
  novikoff serve token --data-dir models --revoke shop
  novikoff serve --data-dir models --host 0.0.0.0 --tls-certificate cert.pem --tls-key key.pem
  novikoff serve backup --data-dir models --output backup-monday
  novikoff serve erase --data-dir models --backup backup-monday --client 5f2a90c1
"""


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("action", nargs="?", choices=ACTIONS, help="manage tokens, back up or erase instead of serving")
    parser.add_argument(
        "--data-dir", metavar="DIR", required=True, help="folder of models and journal; created if missing"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="port; 0 for any free port (default: 8000)")
    parser.add_argument("--tls-certificate", metavar="FILE", help="certificate for HTTPS; needs --tls-key")
    parser.add_argument("--tls-key", metavar="FILE", help="private key of the certificate")
    parser.add_argument("-q", "--quiet", action="store_true", help="log errors only, like --log-level error")
    parser.add_argument(
        "--log-format", choices=("text", "json"), default="text", help="format of the log (default: text)"
    )
    parser.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="info",
        help="minimum level that is logged (default: info)",
    )
    token = parser.add_argument_group("token")
    token.add_argument("--name", help="name of the client that uses the token")
    token.add_argument("--scope", action="append", help="predict, learn or admin; may be repeated")
    token.add_argument("--expires-days", metavar="DAYS", type=float, help="validity of the token (default: unlimited)")
    token.add_argument("--list", action="store_true", help="list all tokens")
    token.add_argument("--revoke", metavar="NAME", help="revoke a token")
    copy = parser.add_argument_group("backup")
    copy.add_argument("-o", "--output", metavar="DIR", help="folder to create")
    erase = parser.add_argument_group("erase", "the server must be stopped; one of --client, --prediction and --key")
    erase.add_argument("--client", metavar="TOKEN", help="erase everything sent with this token, by its id or name")
    erase.add_argument("--prediction", metavar="ID", help="erase a prediction, and its example if it was labelled")
    erase.add_argument("--key", metavar="KEY", help="erase the request with this Idempotency-Key")
    erase.add_argument("--backup", metavar="DIR", action="append", help="also erase from this backup; may be repeated")
    _add_limits(parser)


def _add_limits(parser: argparse.ArgumentParser) -> None:
    from novikoff.server.ops.limits import Limits

    group = parser.add_argument_group("limits", "sizes in bytes, times in seconds")
    for limit in fields(Limits):
        if "own_option" in limit.metadata:
            group.add_argument(
                f"--max-{limit.name.replace('_', '-')}", metavar="SIZE", help=limit.metadata["sentence"].rstrip(".")
            )
            continue
        sentence = f"{limit.metadata['sentence'].rstrip('.')} (default: {limit.default:,})"
        group.add_argument(limit.metadata["option"], dest=f"limit_{limit.name}", metavar="N", type=int, help=sentence)


def run(options: argparse.Namespace) -> int:
    missing = [name for name in REQUIRED_PACKAGES if find_spec(name) is None]
    if missing:
        raise InputError(f"serve needs {', '.join(missing)}: pip install 'novikoff[serve]'.")
    _check_action_options(options)
    return {None: _serve, "token": _manage_tokens, "backup": _backup, "erase": _erase}[options.action](options)


def _serve(options: argparse.Namespace) -> int:
    from novikoff.server.ops import logs
    from novikoff.server.server import ServerAddress, serve

    address = ServerAddress(options.host, options.port, options.tls_certificate, options.tls_key)
    limits = _build_limits(options)
    log_limit = logs.configure_logging(
        options.log_format, "error" if options.quiet else options.log_level, limits.log_lines
    )
    serve(Path(options.data_dir), address, limits, log_limit)
    return 0


def _build_limits(options: argparse.Namespace) -> Limits:
    from novikoff.server.ops.limits import Limits

    given = {name.removeprefix("limit_"): value for name, value in vars(options).items() if name.startswith("limit_")}
    given |= {
        name.removeprefix("max_"): _parse_size_option(name, value)
        for name, value in vars(options).items()
        if "max_" in name
    }
    return Limits.given(given)


def _parse_size_option(name: str, text: str | None) -> int | None:
    from novikoff.memory_limit import parse_size

    try:
        return None if text is None else parse_size(text)
    except InputError as problem:
        raise InputError(f"--{name.replace('_', '-')}: {problem}") from None


def _manage_tokens(options: argparse.Namespace) -> int:
    from novikoff.server.http import auth
    from novikoff.server.storage.recovery import prepare_folder

    folder = Path(options.data_dir)
    prepare_folder(folder)
    if options.list:
        for token in auth.list_tokens(folder):
            until = "for ever" if token.expires is None else f"until {token.expires:%Y-%m-%d %H:%M} UTC"
            print(f"{token.id}  {token.name:<20} {','.join(token.scopes):<20} {until}")
    elif options.revoke is not None:
        _print_message(f"revoked: {auth.revoke_token(folder, options.revoke).name}")
    else:
        if options.name is None or not options.scope:
            raise InputError("token needs --name and --scope (or --list, or --revoke NAME).")
        print(auth.create_token(folder, options.scope, options.expires_days, options.name))
        _print_message("The token is not shown again: only its hash is stored.")
    return 0


def _backup(options: argparse.Namespace) -> int:
    from novikoff.server.storage.backup import create_backup

    if options.output is None:
        raise InputError("backup needs --output DIR, a folder to create.")
    create_backup(Path(options.data_dir), Path(options.output))
    return 0


def _erase(options: argparse.Namespace) -> int:
    from novikoff.server.http import auth
    from novikoff.server.storage.erasure import ErasureSubject, erase

    subject = ErasureSubject(options.client, options.prediction, options.key)
    if sum(value is not None for value in subject) != 1:
        raise InputError("erase needs one of --client, --prediction and --key.")
    folders = [Path(options.data_dir), *map(Path, options.backup or [])]
    if options.client is not None and folders[0].is_dir():
        known = {token.name: token.id for token in auth.list_tokens(folders[0])}
        subject = subject._replace(client=known.get(options.client, options.client))
    found = False
    for folder in folders:
        report = erase(folder, subject, _build_limits(options))
        found = found or not report.is_empty
        print(
            f"{folder}: erased {report.examples:,} examples in {report.entries:,} entries, {report.waiting:,} waiting"
            f" predictions, {report.answers:,} labels of predictions"
        )
        if report.unattributed:
            _print_message(f"{folder}: {report.unattributed:,} entries have no recorded client and were not changed.")
        if report.streams:
            _print_message(
                f"{folder}: models keep what they have learned, but their streams can no longer be certified."
            )
    return 0 if found else 1


def _check_action_options(options: argparse.Namespace) -> None:
    """Raise InputError for an option of another action."""
    own = {
        "token": ("name", "scope", "expires_days", "list", "revoke"),
        "backup": ("output",),
        "erase": ("client", "prediction", "key", "backup"),
    }
    for action, names in own.items():
        given: list[Any] = [name for name in names if getattr(options, name)]
        if given and options.action != action:
            raise InputError(f"--{given[0].replace('_', '-')} is for `novikoff serve {action}`.")


def _print_message(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
