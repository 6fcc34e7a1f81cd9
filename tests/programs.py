"""Programs that tests run, to their end or for a while, and waiting for what they do."""

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from django.core.management import call_command

ROOT = Path(__file__).resolve().parents[1]
Done = subprocess.CompletedProcess[str]


def run(
    *words: object,
    cwd: Path | str = ROOT,
    env: Mapping[str, str] | None = None,
    seconds: float = 600,
    check: bool = False,
) -> Done:
    """Run a program to its end; what it printed is text."""
    return subprocess.run(
        [*map(str, words)],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=check,
    )


def python(*words: object, **options: Any) -> Done:
    return run(sys.executable, *words, **options)


def said(*words: object, **options: Any) -> str:
    """Run a management command in this process; return what it printed."""
    out = StringIO()
    call_command(*map(str, words), stdout=out, **options)
    return out.getvalue()


def rabbitmqctl(*words: str) -> str:
    return run("rabbitmqctl", "-q", *words, seconds=60, check=True).stdout


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(condition: Callable[[], bool], seconds: float = 10) -> None:
    """Wait for a condition; fail when it does not come true in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.05)
