"""The system under test is the one that ships: its processes run with production's settings."""

import pytest

from tests import programs
from tests.chaos.backend import Backend
from tests.chaos.chronicle import Chronicle
from tests.chaos.system import System

SEEN = """
from django.conf import settings
print(settings.DEBUG, settings.SECURE_SSL_REDIRECT, settings.BEHIND_PROXY, settings.EMAIL_FILE_PATH)
"""


@pytest.mark.volume
def test_its_processes_run_with_production_settings(tmp_path):
    system = System(Backend("sqlite+filesystem", tmp_path, {}, {}), Chronicle())

    done = programs.python(
        "manage.py", "shell", "-v", "0", "-c", SEEN, env=system.env(), seconds=120, check=True
    )

    # The mails lie where the witness reads them.
    assert done.stdout.split() == ["False", "True", "True", str(tmp_path / "run" / "mail")]
