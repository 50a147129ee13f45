"""The files of deploy/: the unit is started in an emulated sandbox, the Dockerfile is checked by its structure.

Neither systemd nor a container engine runs here: the commands of both files are started in namespaces with a read-only
root (tests/helpers/sandbox.py). What seccomp filters would refuse is not tested.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("msgspec", reason="the service is an extra: novikoff[serve]")

from novikoff.cli.main import build_parser
from novikoff.server.http import auth
from tests.helpers.paths import ROOT

UNIT, DOCKERFILE = ROOT / "deploy" / "novikoff.service", ROOT / "deploy" / "Dockerfile"
UNSHARE = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--mount", "--pid", "--fork"]


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile with their arguments."""
    lines = [line for line in DOCKERFILE.read_text().splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in joined.splitlines())]


def of_unit() -> list[str]:
    [line] = [line for line in UNIT.read_text().splitlines() if line.startswith("ExecStart=")]
    return shlex.split(line.partition("=")[2])[1:]


def of_dockerfile() -> list[str]:
    found = dict(instructions())
    return [*json.loads(found["ENTRYPOINT"])[1:], *json.loads(found["CMD"])]


# --- Their structure ---


def test_the_documented_unit_equals_the_file() -> None:
    page = (ROOT / "docs" / "service.md").read_text()
    assert f"```ini\n{UNIT.read_text()}```" in page


@pytest.mark.parametrize("arguments", [of_unit(), of_dockerfile()], ids=["unit", "Dockerfile"])
def test_the_command_has_options_that_exist(arguments: list[str]) -> None:
    options = build_parser(arguments).parse_args(arguments)
    assert options.command == "serve"
    assert options.data_dir == "/var/lib/novikoff"
    assert options.log_format == "json"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "novikoff.service"
    unit.write_text(UNIT.read_text().replace("/opt/novikoff/bin/novikoff", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert "novikoff.service" not in done.stderr, done.stderr


def test_the_dockerfile_is_consistent() -> None:
    """The image is not built: that needs a container engine."""
    found = instructions()
    known = {
        "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT",
        "CMD",
    }  # fmt: skip
    assert {name for name, _ in found} == known
    for _, rest in (pair for pair in found if pair[0] == "COPY"):
        sources = rest.split()[:-1]
        if not sources[0].startswith("--from="):
            assert all((ROOT / source).exists() for source in sources), sources
            ignored = (DOCKERFILE.parent / "Dockerfile.dockerignore").read_text().splitlines()
            assert all(f"!{source}" in ignored for source in sources), sources
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    for _, image in (pair for pair in found if pair[0] == "FROM"):
        version = re.match(r"python:3\.(\d+)-slim", image)
        assert version
        assert int(version[1]) >= int(wanted.partition(".")[2])
    arguments = dict(found)
    assert int(arguments["USER"]) > 0
    assert arguments["VOLUME"] == "/var/lib/novikoff"
    assert found.index(("USER", arguments["USER"])) < [name for name, _ in found].index("ENTRYPOINT")
    check = json.loads(arguments["HEALTHCHECK"].partition("CMD ")[2])
    compile(check[2], "HEALTHCHECK", "exec")


# --- In a sandbox ---


def why_no_sandbox() -> str | None:
    if sys.platform != "linux" or any(shutil.which(name) is None for name in ("unshare", "setpriv", "mount")):
        return "namespaces need Linux with unshare, setpriv and mount"
    if any(path.resolve().is_relative_to("/tmp") for path in (ROOT, Path(sys.prefix))):  # noqa: S108 - is hidden
        return "the checkout is in /tmp, which the sandbox hides"
    script = "mount --make-rprivate / && mount -t tmpfs tmpfs /srv && mount -t proc -o subset=pid proc /proc"
    done = subprocess.run([*UNSHARE, "sh", "-c", script], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"namespaces are not permitted here: {done.stderr.strip()}"


NO_SANDBOX = why_no_sandbox()


@contextmanager
def run_sandboxed(data: Path, arguments: list[str]) -> Iterator[tuple[dict[str, bool], int, subprocess.Popen[str]]]:
    """Run a server in the sandbox; yield the denied operations, its port, and its process."""
    command = [sys.executable, "-m", "novikoff", *arguments]
    sandbox = [*UNSHARE, "--kill-child", sys.executable, str(ROOT / "tests" / "sandbox.py"), str(data), *command]
    variables = {**os.environ, "HOME": "/srv/data", "PYTHONDONTWRITEBYTECODE": "1"}
    log = data.with_name("log")
    with (
        open(log, "xb") as errors,
        subprocess.Popen(sandbox, stdout=subprocess.PIPE, stderr=errors, text=True, env=variables, cwd="/") as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, log.read_text()
            denied, deadline = json.loads(line), time.monotonic() + 60
            while not (found := re.search(r'"url": "http://[^"]*:(\d+)"', log.read_text())):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.02)
            yield denied, int(found[1]), process
        finally:
            process.kill()


def stop(process: subprocess.Popen[str]) -> int:
    """Stop the server, which is the only child of `unshare`, as systemd and engines do; return its exit code."""
    child = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(child[0]), signal.SIGTERM)
    return process.wait(30)


def ask(port: int, method: str, path: str, body: Any, secret: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content


@pytest.mark.skipif(NO_SANDBOX is not None, reason=str(NO_SANDBOX))
@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [pytest.param(of_unit(), id="unit"), pytest.param(of_dockerfile(), id="Dockerfile")],
)
def test_it_serves_from_a_read_only_system(tmp_path: Path, arguments: list[str]) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    secret = auth.create_token(data, ["admin"], 1, "me")
    changed = {"/var/lib/novikoff": "/srv/data", "8000": "0"}
    with run_sandboxed(data, [changed.get(one, one) for one in arguments]) as (denied, port, process):
        executable = denied.pop("writable and executable memory")  # only newer kernels can forbid it
        assert all(denied.values()), denied
        assert executable or _kernel() < (6, 3)
        assert ask(port, "POST", "/v1/models", {"name": "m", "learner": "perceptron"}, secret)[0] == 201
        for k in range(20):
            lesson = {"features": {f"a{k % 4}": 1.0}, "label": ("x", "y")[k % 2]}
            assert ask(port, "POST", "/v1/models/m/learn", lesson, secret)[0] == 200
        status, said = ask(port, "POST", "/v1/models/m/predict", {"features": {"a1": 1.0}}, secret)
        assert (status, json.loads(said)["label"]) == (200, "y")
        assert ask(port, "GET", "/readyz", None, secret)[0] == 200
        assert stop(process) == 0
    assert len(list((data / "models").glob("*.model"))) == 1
    assert {path.stat().st_mode & 0o077 for path in data.rglob("*")} == {0}


def _kernel() -> tuple[int, int]:
    major, minor = os.uname().release.split(".")[:2]
    return int(major), int(re.match(r"\d+", minor)[0])  # type: ignore[index]
