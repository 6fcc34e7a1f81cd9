"""A file that shows a probe that a long-running process lives.

The process marks it from a thread; `python -m workers.alive ROLE` reads it without the
application, a database or a broker, so that an outage of those restarts nothing.
"""

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

#: The variable that names the file; without it a process writes none.
VARIABLE = "SAS_ALIVE_FILE"
ROLES = ("worker", "beat", "consumer", "watch")
MARK_SECONDS = 5.0
#: Age of the last mark after which a process counts as frozen or dead.
SILENT_SECONDS = 20.0


def keep(role: str, is_stuck: Callable[[], bool] = lambda: False) -> None:
    """Have a thread mark the file for as long as this process lives; without a file do nothing.

    Ends the process (``SystemExit``) if the file cannot be written.  A frozen process stops
    marking it, and so does one that ``is_stuck``: whatever logs in it waits for good.  One whose
    work has stopped does not: the engine's duties report that.
    """
    name = os.environ.get(VARIABLE)
    if not name:
        return
    try:
        _write(Path(name), role)
    except OSError as error:
        raise SystemExit(
            f"{VARIABLE} must name a file that this process may write, got {name!r}: "
            f"{error.strerror}."
        ) from None
    threading.Thread(
        target=_mark, args=(Path(name), role, is_stuck), name="alive", daemon=True
    ).start()


def _write(path: Path, role: str) -> None:
    path.write_text(f"{role} {os.getpid()}\n", encoding="ascii")


def _mark(path: Path, role: str, is_stuck: Callable[[], bool]) -> None:
    while True:
        time.sleep(MARK_SECONDS)
        if is_stuck():
            continue
        try:
            # Works on a full disk, and never shows a reader a half-written file.
            os.utime(path)
        except FileNotFoundError:
            with suppress(OSError):
                _write(path, role)


def problem(role: str, name: str | None, now: float | None = None) -> str:
    """Return why a process does not count as alive, or ""; ``now`` is in seconds, UTC."""
    if not name:
        return f"{VARIABLE} must name the file that the process writes. Set it for both."
    try:
        path = Path(name)
        seconds = (time.time() if now is None else now) - path.stat().st_mtime
        writer = path.read_text(encoding="ascii", errors="replace").partition(" ")[0]
    except OSError as error:
        return f"{name} cannot be read: {error.strerror}. Is the {role} running?"
    if writer != role:
        return f"{name} must be written by a {role}, got one of a {writer!r}. Give each its own."
    if seconds > SILENT_SECONDS:
        return f"The {role} marked {name} {seconds:.0f} s ago: it is frozen or gone."
    return ""


def main(words: list[str]) -> int:
    """Print why a process does not live and return 1; 2 for a wrong call, 0 if it lives."""
    if len(words) != 1 or words[0] not in ROLES:
        sys.stderr.write(f"usage: python -m workers.alive {{{','.join(ROLES)}}}\n")
        return 2
    if message := problem(words[0], os.environ.get(VARIABLE)):
        sys.stderr.write(f"{message}\n")
    return 1 if message else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
