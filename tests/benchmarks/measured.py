"""Stands in for a measurement: ends in every way there is."""

import os
import signal
import sys
from pathlib import Path

from benchmarks import child
from benchmarks.exceptions import Unavailable, Wrong
from benchmarks.processes import Fleet


def good(folder: Path, orders: str) -> dict[str, int]:
    print("something on the way")
    return {"orders": int(orders)}


def away(folder: Path) -> None:
    raise Unavailable("no server here")


def wrong(folder: Path) -> None:
    raise Wrong("9 of 10")


def crash(folder: Path) -> float:
    return 1 / 0


def leaving(folder: Path) -> None:
    Fleet(folder, {}).start("left", "-c", "import time; time.sleep(60)")
    os.kill(os.getpid(), signal.SIGKILL)


def surroundings(folder: Path) -> dict[str, str | None]:
    return {"settings": os.environ.get("DJANGO_SETTINGS_MODULE"), "folder": str(folder)}


if __name__ == "__main__":
    child.ensure_folder()
    cases = {
        "good": good,
        "away": away,
        "wrong": wrong,
        "crash": crash,
        "leaving": leaving,
        "surroundings": surroundings,
    }
    child.serve(cases, sys.argv[1:])
