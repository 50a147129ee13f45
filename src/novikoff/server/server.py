"""The server: a folder opened, a port taken, requests answered until somebody says stop."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import logging
import os
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn

from novikoff.errors import InputError
from novikoff.server.http.app import App
from novikoff.server.http.auth import Tokens
from novikoff.server.http.connections import build_protocol
from novikoff.server.http.middleware import Security
from novikoff.server.models.registry import House
from novikoff.server.models.served_model import compile_lines
from novikoff.server.ops.audit import Audit
from novikoff.server.ops.limits import Limits
from novikoff.server.ops.log_limits import LogRateLimit
from novikoff.server.ops.logs import report_suppressed, write_report
from novikoff.server.ops.maintenance import Keeping
from novikoff.server.ops.metrics import Metrics
from novikoff.server.storage.recovery import locked, opened, prepare

SWITCH = 0.001  # seconds that a thread which computes lets the others wait
IDLE = 75  # seconds that a connection may be kept without a request
GARBAGE = (50_000, 20, 50)  # objects until a look for cycles: requests make hardly any
LEAVE = 10  # seconds for requests under way when the server stops


log = logging.getLogger("novikoff.server")


class Address(NamedTuple):
    host: str = "127.0.0.1"
    port: int = 8000
    certificate: str | None = None
    """For TLS, with its key."""
    key: str | None = None


def serve(folder: Path, address: Address, limits: Limits, log_limit: LogRateLimit) -> None:
    """Serve until SIGINT or SIGTERM. Log lines pass `log_limit`."""
    prepare(folder)
    lock = locked(folder)
    try:
        tokens = Tokens(folder)
        _may_bind(address, tokens, folder)
        house = opened(folder, limits)
        for sentence in house.said:
            log.warning(sentence)
        with _bound(address) as taken:
            sys.setswitchinterval(SWITCH)
            gc.freeze()  # what is there now stays: no need to look through it again and again
            gc.set_threshold(*GARBAGE)
            _run(house, tokens, address, taken, log_limit)
    finally:
        os.close(lock)


def _run(house: House, tokens: Tokens, address: Address, taken: socket.socket, log_limit: LogRateLimit) -> None:
    numbers, audit = Metrics(), Audit(house.folder)
    protocol = build_protocol(house.limits)
    loopback, tls = _is_loopback(address.host), address.certificate is not None
    url = f"{'https' if tls else 'http'}://{_host(address.host)}:{taken.getsockname()[1]}"

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        house.start()
        keeping = Keeping(house)
        tasks = [asyncio.create_task(keeping.run()), asyncio.create_task(report_suppressed(log_limit))]
        compiling = asyncio.create_task(asyncio.to_thread(compile_lines))
        fields = {"url": url, "data": str(house.folder), "models": len(house.models)}
        started = f"novikoff serves at {url} (data in {house.folder}; {len(house.models)} models). Ctrl-C stops it."
        log.info(started, extra={"banner": True, "fields": fields})
        yield
        await compiling
        for task in tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        write_report(log_limit)
        await keeping.save_all()
        await house.stop()
        audit.close()

    clients = protocol.monitor.clients
    security = Security(tokens, house.limits, loopback, audit, numbers.http.observe, tls, clients)
    numbers.watch(log_limit, security.clients, clients)
    app = App(house, numbers, security)
    config = uvicorn.Config(
        app.build(lifespan),
        http=protocol,
        loop="uvloop",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=LEAVE,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
    )
    server = uvicorn.Server(config)
    app.live.ended = lambda: server.should_exit or not house.open
    server.run(sockets=[taken])


def _may_bind(address: Address, tokens: Tokens, folder: Path) -> None:
    if not _is_loopback(address.host) and not tokens.closed():
        raise InputError(
            f"{address.host} can be reached from elsewhere, and there are no tokens: make some first, with `novikoff"
            f" serve token --data {folder} --scope predict --name NAME`, or serve at 127.0.0.1."
        )
    if (address.certificate is None) != (address.key is None):
        raise InputError("TLS needs both --tls-certificate and --tls-key.")
    if address.certificate is not None and address.key is not None:
        _look_at(address.certificate, address.key)


def _look_at(certificate: str, key: str) -> None:
    """Whether these can be served with, before anything else is done."""
    for path in (certificate, key):
        try:
            with open(path, "rb"):
                pass
        except OSError as problem:
            raise InputError(f"{path}: can't be read: {problem.strerror}.") from None
    try:  # nobody is there to be asked for a password
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: "")
    except (ssl.SSLError, ValueError) as problem:
        raise InputError(
            f"{certificate} and {key} must be a certificate and its key, both PEM and without a password: {problem}."
        ) from None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


@contextlib.contextmanager
def _bound(address: Address) -> Any:
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        taken = socket.create_server((address.host, address.port), family=family, backlog=1024)
    except (OSError, OverflowError) as problem:
        why = getattr(problem, "strerror", None) or problem
        raise InputError(f"{address.host}:{address.port} can't be listened at: {why}.") from None
    with taken:
        yield taken
