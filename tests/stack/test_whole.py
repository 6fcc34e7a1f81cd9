"""The real thing, started as people start it: `python manage.py stack`."""

import json
import os
import signal
import subprocess
import sys
import urllib.request

import pytest

from sasproject.stack import processes
from tests.programs import ROOT, until

from .fakes import alive

ROLES = {"scheduler", "agents", "beat", "web", "sandbox"}


@pytest.mark.slow
@pytest.mark.smoke
def test_the_stack_comes_up_heals_and_goes_without_a_trace(tmp_path):
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DATABASE_URL", "BROKER_URL", "DJANGO_SETTINGS_MODULE")
    }
    with (tmp_path / "progress").open("w") as progress:
        stack = subprocess.Popen(
            [sys.executable, "manage.py", "stack", "--web-port", "0", "--sandbox-port", "0"],
            cwd=ROOT,
            env={**env, "SAS_RUN_DIR": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=progress,
            text=True,
        )
    try:
        assert stack.stdout is not None
        line = stack.stdout.readline()
        assert line, (tmp_path / "progress").read_text()
        ready = json.loads(line)
        assert ready["ready"] is True
        for url in (ready["web"] + "/readyz", ready["sandbox"] + "/healthz"):
            with urllib.request.urlopen(url, timeout=5) as answer:
                assert answer.status == 200

        def listed() -> dict[str, list[int]]:
            listing: dict[str, list[int]] = json.loads((tmp_path / "stack.json").read_text())
            return listing

        before = listed()
        assert set(before) >= ROLES
        assert before["stack"] == [stack.pid]
        os.kill(before["agents"][0], signal.SIGKILL)
        until(lambda: listed()["agents"][:1] not in ([], before["agents"][:1]))
        assert not any(alive(pid) for pid in before["agents"])
        assert listed()["scheduler"] == before["scheduler"]

        stack.terminate()
        assert stack.wait(60) == 0
        assert stack.stdout.read() == ""
        assert processes.marked(tmp_path) == []
        assert not (tmp_path / "stack.json").exists()
    finally:
        stack.kill()
        stack.communicate()
