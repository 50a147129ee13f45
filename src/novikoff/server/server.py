"""Start the server: open the data folder, bind the port, and serve until SIGINT or SIGTERM."""

from __future__ import annotations

import asyncio
import contextlib
import gc
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
from novikoff.server.http.app import ApiHandlers
from novikoff.server.http.auth import TokenStore
from novikoff.server.http.connections import build_protocol
from novikoff.server.http.middleware import Security
from novikoff.server.http.same_origin import is_loopback_host
from novikoff.server.models.registry import ModelRegistry
from novikoff.server.models.served_model import precompile_lines
from novikoff.server.ops.audit import AuditLog
from novikoff.server.ops.limits import Limits
from novikoff.server.ops.log_limits import LogRateLimit
from novikoff.server.ops.logs import log_suppressed, report_suppressed
from novikoff.server.ops.maintenance import MaintenanceTask
from novikoff.server.ops.metrics import Metrics
from novikoff.server.storage.recovery import lock_folder, open_registry, prepare_folder

SWITCH_INTERVAL_SECONDS = 0.001  # how long a computing thread may hold the GIL
KEEP_ALIVE_SECONDS = 75  # how long an idle connection stays open
GC_THRESHOLDS = (50_000, 20, 50)  # collect rarely: requests create hardly any reference cycles
SHUTDOWN_TIMEOUT_SECONDS = 10  # for requests in progress when the server stops
log = logging.getLogger("novikoff.server")


class ServerAddress(NamedTuple):
    host: str = "127.0.0.1"
    port: int = 8000
    certificate: str | None = None
    """File of the TLS certificate."""
    key: str | None = None
    """File of the key of the TLS certificate."""


def serve(folder: Path, address: ServerAddress, limits: Limits, log_limit: LogRateLimit) -> None:
    """Serve until SIGINT or SIGTERM. `log_limit` is the rate limit of the log."""
    prepare_folder(folder)
    lock = lock_folder(folder)
    try:
        tokens = TokenStore(folder)
        _check_address(address, tokens, folder)
        registry = open_registry(folder, limits)
        for message in registry.said:
            log.warning(message)
        with _bind(address) as listener:
            sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
            gc.freeze()  # collections need not traverse the long-lived objects
            gc.set_threshold(*GC_THRESHOLDS)
            _run(registry, tokens, address, listener, log_limit)
    finally:
        os.close(lock)


def _run(
    registry: ModelRegistry,
    tokens: TokenStore,
    address: ServerAddress,
    listener: socket.socket,
    log_limit: LogRateLimit,
) -> None:
    metrics, audit = Metrics(), AuditLog(registry.folder)
    protocol = build_protocol(registry.limits)
    loopback, tls = _is_loopback(address.host), address.certificate is not None
    url = f"{'https' if tls else 'http'}://{_format_host(address.host)}:{listener.getsockname()[1]}"

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        registry.start()
        maintenance = MaintenanceTask(registry)
        tasks = [asyncio.create_task(maintenance.run()), asyncio.create_task(report_suppressed(log_limit))]
        compiling = asyncio.create_task(asyncio.to_thread(precompile_lines))
        fields = {"url": url, "data": str(registry.folder), "models": len(registry.models)}
        started = (
            f"novikoff serves at {url} (data in {registry.folder}; {len(registry.models)} models). Ctrl-C stops it."
        )
        log.info(started, extra={"banner": True, "fields": fields})
        yield
        await compiling
        for task in tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        log_suppressed(log_limit)
        await maintenance.save_all()
        await registry.stop()
        audit.close()

    clients = protocol.monitor.clients
    security = Security(tokens, registry.limits, loopback, audit, metrics.http.observe, tls, clients)
    metrics.watch(log_limit, security.clients, clients)
    app = ApiHandlers(registry, metrics, security)
    config = uvicorn.Config(
        app.build(lifespan),
        http=protocol,
        loop="uvloop",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
    )
    server = uvicorn.Server(config)
    app.event_stream.ended = lambda: server.should_exit or not registry.open
    server.run(sockets=[listener])


def _check_address(address: ServerAddress, tokens: TokenStore, folder: Path) -> None:
    if not _is_loopback(address.host) and not tokens.requires_token():
        raise InputError(
            f"{address.host} can be reached from other machines, but there are no tokens. Create one with `novikoff"
            f" serve token --data-dir {folder} --scope predict --name NAME`, or listen on 127.0.0.1."
        )
    if (address.certificate is None) != (address.key is None):
        raise InputError("TLS needs both --tls-certificate and --tls-key. Give the missing one.")
    if address.certificate is not None and address.key is not None:
        _check_certificate(address.certificate, address.key)


def _check_certificate(certificate: str, key: str) -> None:
    """Raise InputError if the certificate and its key can't be loaded."""
    for path in (certificate, key):
        try:
            with open(path, "rb"):
                pass
        except OSError as problem:
            raise InputError(f"{path}: can't be read: {problem.strerror}.") from None
    try:  # OpenSSL would prompt for a password
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: "")
    except (ssl.SSLError, ValueError) as problem:
        raise InputError(
            f"{certificate} and {key} must be a certificate and its key in PEM format, without a password: {problem}."
        ) from None


def _is_loopback(host: str) -> bool:
    return is_loopback_host(_format_host(host).encode())


def _format_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


@contextlib.contextmanager
def _bind(address: ServerAddress) -> Any:
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        listener = socket.create_server((address.host, address.port), family=family, backlog=1024)
    except (OSError, OverflowError) as problem:
        why = getattr(problem, "strerror", None) or problem
        raise InputError(f"Can't listen on {address.host}:{address.port}: {why}.") from None
    with listener:
        yield listener
