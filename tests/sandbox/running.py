"""The sandbox as a process of its own."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

from tests.programs import ROOT


class Running:
    """``manage.py sandbox`` with a run folder of its own, for the length of a block."""

    def __init__(self, run_dir: Path, *options: str) -> None:
        settings = {"SAS_RUN_DIR": str(run_dir), "DJANGO_SETTINGS_MODULE": "sasproject.settings"}
        self._process = subprocess.Popen(
            [sys.executable, "manage.py", "sandbox", *options],
            cwd=ROOT,
            env=os.environ | settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.line = self._process.stdout.readline()
        self.url = self.line.removeprefix("Sandbox at ").partition(",")[0]

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    def end(self, ending: signal.Signals) -> tuple[int, str, str]:
        self._process.send_signal(ending)
        output, errors = self._process.communicate(timeout=10)
        return self._process.returncode, output, errors

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.kill()
