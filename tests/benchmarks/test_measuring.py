"""A measurement's process: what it prints, how it ends, what it leaves behind."""

import signal
import time
from pathlib import Path

import pytest

from benchmarks import child, measuring, processes
from benchmarks.exceptions import Unavailable, Wrong
from benchmarks.peers import marks
from benchmarks.processes import PIDS, Fleet
from benchmarks.system import Progress
from tests import programs


def run(folder: Path, *words: str) -> dict:
    return measuring.measure(["tests.benchmarks.measured", *words], {}, folder)


def test_the_last_line_is_what_it_found(tmp_path):
    assert run(tmp_path, "good", "7") == {"orders": 7}


def test_the_callers_settings_are_not_those_of_what_is_measured(tmp_path, monkeypatch):
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "somebody.elses")
    monkeypatch.setenv("SAS_RUN_DIR", "somewhere else")

    assert run(tmp_path, "surroundings") == {"settings": None, "folder": str(tmp_path)}


@pytest.mark.parametrize(
    ("case", "error", "said"),
    [
        ("away", Unavailable, "no server here"),
        ("wrong", Wrong, "9 of 10"),
        ("crash", measuring.Failed, "ZeroDivisionError: division by zero"),
        (
            "unknown",
            measuring.Failed,
            "Name one of good, away, wrong, crash, leaving, surroundings.",
        ),
    ],
)
def test_how_it_ended_is_told_by_its_exit_code(case, error, said, tmp_path):
    with pytest.raises(error) as raised:
        run(tmp_path, case)

    assert str(raised.value) == said


def test_what_a_killed_measurement_started_is_ended(tmp_path):
    with pytest.raises(measuring.Failed):
        run(tmp_path, "leaving")

    left = Path("/proc", (tmp_path / PIDS).read_text().strip(), "stat")
    end = time.monotonic() + 10
    # Nobody waits for it here, so it may stay as a zombie.
    while left.exists() and left.read_text().split()[2] != "Z":
        assert time.monotonic() < end, "what it started is still running"
        time.sleep(0.01)


def test_fleet_stops_its_processes_and_removes_pid_file(tmp_path):
    fleet = Fleet(tmp_path, {"WORD": "hello"})
    fleet.start(
        "one", "-c", "import os, time; print(os.environ['WORD'], flush=True); time.sleep(60)"
    )
    started = fleet.running["one"]
    fleet.wait_for("one", "hello")

    fleet.stop()

    assert started.returncode == -signal.SIGTERM
    assert not (tmp_path / PIDS).exists()


def test_a_role_that_does_not_run_is_not_waited_for(tmp_path):
    fleet = Fleet(tmp_path, {})
    fleet.start("one", "-c", "raise SystemExit('no port is free')")

    with pytest.raises(RuntimeError, match="one does not run: no port is free"):
        fleet.wait_for("one", "ready")


def test_a_case_needs_a_name(tmp_path):
    done = programs.python("-m", "tests.benchmarks.measured")

    assert done.returncode == 1
    assert done.stderr.startswith("Name one of good")
    assert (child.UNAVAILABLE, child.WRONG) == (3, 4)


def test_marks_count_orders_and_seconds(tmp_path, monkeypatch):
    lines = ["begun 0 10.0", "begun 1 10.5", "ended 1 11.0", "ended 0 12.5"]
    (tmp_path / "marks").write_text("\n".join(lines) + "\n")

    assert (marks.progress(tmp_path), marks.check(tmp_path, 2)) == (Progress(2, 10.0, 12.5), None)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["begun 0 1", "begun 1 1", "ended 0 2"], "1 of 2 orders have ended"),
        (["begun 0 1", "begun 1 1", "ended 0 2", "ended 0 3"], "order 0 has ended twice"),
        ([], "0 of 2 orders have begun"),
    ],
)
def test_marks_tell_what_was_lost_or_happened_twice(lines, said, tmp_path):
    (tmp_path / "marks").write_text("\n".join(lines))

    with pytest.raises(Wrong, match=said):
        marks.check(tmp_path, 2)


def test_a_line_is_seen_when_it_is_printed(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    monkeypatch.setattr(processes, "READY_SECONDS", 10)

    with processes.fleet(tmp_path, {}) as fleet:
        fleet.start("one", "-c", "import time; print('ready'); time.sleep(60)")
        fleet.wait_for("one", "ready")
