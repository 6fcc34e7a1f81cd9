"""Starting processes that end with the runner, however the runner ends."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

#: Linux ends such a process when the *thread* that made it ends, so one thread makes all.
_maker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="chaos-spawner")


def spawn(
    argv: Sequence[str], *, log: Path, env: Mapping[str, str], cwd: Path, user: str | None = None
) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own, its output in ``log``."""
    return _maker.submit(_spawn, [*_leash(user), *argv], log, dict(env), cwd).result()


def _spawn(argv: list[str], log: Path, env: dict[str, str], cwd: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as stream:
        return subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )


def _leash(user: str | None) -> list[str]:
    """Return the words before a command that tie it to us, as another user where asked."""
    setpriv = shutil.which("setpriv")
    if sys.platform != "linux" or setpriv is None:
        return []
    words = [setpriv, "--pdeathsig", "KILL"]
    if user is not None:
        words += ["--reuid", user, "--regid", str(pwd.getpwnam(user).pw_gid), "--init-groups"]
    return words


def signal_family(process: subprocess.Popen[bytes], number: signal.Signals) -> bool:
    """Send a signal to a process and everything in its group.  False: nobody is left."""
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return False
    return True


def bury(process: subprocess.Popen[bytes]) -> None:
    """End a process and its group at once, and wait until it is gone."""
    signal_family(process, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(20)
