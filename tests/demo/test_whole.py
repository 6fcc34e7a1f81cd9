"""The demo as CI runs it: one command, its last line, its exit code, and nothing left behind."""

import json
import os

import pytest

from sasproject.stack import processes
from tests import programs

LEFT_OUT = ("DATABASE_URL", "BROKER_URL", "DJANGO_SETTINGS_MODULE")
FIGURES = {
    *("orders", "processed", "compensated", "cancelled", "error", "lost", "duplicate_effects"),
    *("recovered", "kills", "faults", "seconds"),
}


@pytest.mark.slow
def test_nothing_is_lost_and_nothing_happens_twice(tmp_path):
    env = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
    done = programs.python(
        *("manage.py", "demo", "--headless", "--orders", "20", "--seed", "7"),
        *("--web-port", "0", "--sandbox-port", "0"),
        env={**env, "SAS_RUN_DIR": str(tmp_path)},
        seconds=240,
    )
    said = f"{done.stdout}\n{done.stderr}"
    assert done.returncode == 0, said
    tally = json.loads(done.stdout.splitlines()[-1])
    assert set(tally) == FIGURES
    assert tally["orders"] == 20
    ends = ("processed", "compensated", "cancelled", "error")
    assert sum(tally[state] for state in ends) == 20, said
    assert (tally["lost"], tally["duplicate_effects"]) == (0, 0)
    assert tally["processed"] >= 15, said
    # The workers, and the private broker where this machine has one.
    assert tally["kills"] >= 2
    assert tally["recovered"] > 0
    assert sum(tally["faults"].values()) > 0
    assert processes.marked(tmp_path / "demo") == []
    assert not (tmp_path / "demo" / "stack.json").exists()
