"""Run a command in a sandbox like that of deploy/novikoff.service, by mount and process namespaces.

    unshare --mount --pid --fork python tests/helpers/sandbox.py DATA COMMAND …

Everything is read-only but DATA, which the command finds at /srv/data. /tmp is empty, /dev has four devices, /proc has
processes only (no cpuinfo), capabilities are dropped, and memory can't become executable after it was writable. A line
of JSON on standard output says what was denied; then the command replaces this process.

Not emulated: SystemCallFilter and RestrictAddressFamilies (seccomp), DynamicUser, MemoryMax; ProtectHome where the
interpreter is in a home folder.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import mmap
import os
import subprocess
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_MDWE, REFUSE_EXEC_GAIN = 38, 65, 1
DEVICES = ("null", "zero", "random", "urandom")
DATA = "/srv/data"
WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)


def make_read_only() -> None:
    """Make all mounts read-only except those made below, as ProtectSystem=strict does."""
    mount("--make-rprivate", "/")
    with open("/proc/self/mountinfo") as file:
        found = [line.split() for line in file]
    points = [row[4].encode().decode("unicode_escape") for row in found if "ro" not in row[5].split(",")]
    for point in points:
        if not point.startswith(("/proc", "/dev", "/srv", "/sys")):
            with contextlib.suppress(subprocess.CalledProcessError):  # hidden by another mount
                mount("-o", "remount,bind,ro", point)


def mount_all(data: str) -> None:
    mount("-t", "tmpfs", "tmpfs", "/srv")
    os.mkdir(DATA)
    mount("--bind", data, DATA)
    os.mkdir("/srv/dev")
    for name in DEVICES:
        with open(f"/srv/dev/{name}", "xb"):
            pass
        mount("--bind", f"/dev/{name}", f"/srv/dev/{name}")
    make_read_only()
    mount("--rbind", "/srv/dev", "/dev")
    mount("-t", "tmpfs", "tmpfs", "/tmp")  # noqa: S108 - PrivateTmp
    if not os.path.realpath(sys.base_prefix).startswith(("/root", "/home")):
        for home in ("/root", "/home"):
            mount("-t", "tmpfs", "-o", "ro,size=4k", "tmpfs", home)
    mount("-t", "proc", "-o", "subset=pid,hidepid=invisible", "proc", "/proc")


def is_denied(do: object) -> bool:
    try:
        do()  # type: ignore[operator]
    except OSError:
        return True
    return False


def main() -> None:
    data, *command = sys.argv[1:]
    libc = ctypes.CDLL(None, use_errno=True)
    mount_all(data)
    mdwe = libc.prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) == 0
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    checks = {
        "write to the root": is_denied(lambda: os.open("/written", WRITE)),
        "write beside the program": is_denied(lambda: os.open(f"{__file__}.written", WRITE)),
        "read /proc/cpuinfo": is_denied(lambda: os.open("/proc/cpuinfo", os.O_RDONLY)),
        "read /proc/sys": is_denied(lambda: os.listdir("/proc/sys")),
        "see the data at its place": is_denied(lambda: os.listdir(data)),
        "writable and executable memory": mdwe
        and is_denied(lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)),
    }
    print(json.dumps(checks), flush=True)
    os.execvp("setpriv", ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command])  # noqa: S606


if __name__ == "__main__":
    main()
