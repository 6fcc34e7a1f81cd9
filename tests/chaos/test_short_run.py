"""One short run of the whole runner, on private servers: it strikes, it heals, it judges."""

import json
import os
import subprocess

import pytest

from tests import programs
from tests.chaos.instances import postgresql, rabbitmq
from tests.chaos.instances.server import NotHere
from tests.services import missing

pytestmark = pytest.mark.slow
SEED = 7
FAULTS = ("kill", "kill-child", "freeze", "broker-stop", "database-crash")
SECONDS, LONGEST_SECONDS = 40, 600


def chaos(*words: str, seconds: float) -> subprocess.CompletedProcess[str]:
    # Its processes have settings of their own, not those of this test run.
    environment = {
        name: text for name, text in os.environ.items() if not name.startswith(("SAS_", "DJANGO_"))
    }
    return programs.python("-m", "tests.chaos", *words, env=environment, seconds=seconds)


@pytest.fixture(autouse=True)
def _programs() -> None:
    try:
        postgresql.programs()
        rabbitmq.programs()
    except NotHere as error:
        missing(str(error))


@pytest.mark.smoke
@pytest.mark.volume
def test_a_short_run_holds_everything(tmp_path):
    done = chaos(
        *("--seed", str(SEED), "--seconds", str(SECONDS), "--faults", ",".join(FAULTS)),
        *("--report", str(tmp_path / "report")),
        seconds=LONGEST_SECONDS,
    )

    assert done.returncode == 0, f"seed {SEED}: {done.stdout}\n{done.stderr[-4000:]}"
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["holds"] is True
    promises = ("lost", "duplicate_effects", "violations", "unexplained")
    assert [found[promise] for promise in promises] == [0, 0, 0, 0]
    assert found["accepted"] >= 60
    assert set(found["strikes"]) == set(FAULTS)
    assert all(found["strikes"].values()), found["strikes"]
    assert found["left_out"] == []
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    assert report["holds"] is True
    assert "Everything held" in (tmp_path / "report" / "report.html").read_text()


def test_a_run_without_a_fault_that_was_asked_for_fails():
    done = chaos(
        *("--seed", str(SEED), "--seconds", "1", "--orders", "3", "--on", "sqlite+filesystem"),
        *("--faults", "kill,database-crash"),
        seconds=LONGEST_SECONDS,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 1, done.stderr[-2000:]
    why = "database-crash needs postgresql, and the run is on sqlite+filesystem"
    assert (found["failings"], found["gaps"]) == ([], [why])
    assert found["lost"] == 0
