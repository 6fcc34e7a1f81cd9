"""The system under test is the one that ships: its processes run with production's settings."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.backend import Backend
from tests.chaos.chronicle import Chronicle
from tests.chaos.system import ROOT, System

SEEN = """
from django.conf import settings
print(settings.DEBUG, settings.SECURE_SSL_REDIRECT, settings.BEHIND_PROXY, settings.EMAIL_FILE_PATH)
"""


@pytest.mark.volume
def test_its_processes_run_with_production_settings(tmp_path: Path) -> None:
    system = System(Backend("sqlite+filesystem", tmp_path, {}, {}), Chronicle())

    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "-v", "0", "-c", SEEN],
        cwd=ROOT,
        env=system.env(),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    # The mails lie where the witness reads them.
    assert done.stdout.split() == ["False", "True", "True", str(tmp_path / "run" / "mail")]
